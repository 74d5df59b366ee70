"""Configurations of single ops and their prices, for tests of the clock."""

from __future__ import annotations

from typing import Any

from ttnn_shim.simlib import Priced, Simulator


def tensor(shape: list[int], dtype: str = "bfloat16", layout: str = "tile", buffer: str = "dram") -> dict[str, Any]:
    return {
        "logical": shape,
        "padded": shape,
        "dtype": dtype,
        "layout": layout,
        "buffer": buffer,
        "memory": "interleaved",
    }


def price(sim: Simulator, config: dict[str, Any], card: str, grid: tuple[int, int] = (0, 0)) -> Priced:
    return sim.price(sim.arch(card, grid), sim.config(config))


def sharded(shape: list[int], shard: tuple[int, int], cores: int, grid: tuple[int, int], memory: str) -> dict[str, Any]:
    spec = {"shape": list(shard), "cores": cores, "grid": list(grid)}
    return {**tensor(shape, buffer="l1"), "memory": memory, "shard": spec}
