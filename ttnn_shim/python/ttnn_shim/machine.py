"""The modelled cards: facts of `arch/cards.csv`, the table that the core is built from as well."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from ttnn_shim.paths import arch_dir


@dataclass(frozen=True, slots=True)
class Card:
    """name, architecture: "n150", "wormhole_b0". grid: columns and rows of worker cores; tensix_grid: of the chip, before harvesting and dispatch.

    l1_unreserved_bytes: of a core, as TT-NN reports it; l1_core_bytes: all of
    it; l1_bytes: shared by tensors and circular buffers. dram_bytes: of the card; dram_gb_s: peak of all banks.
    """

    name: str
    architecture: str
    clock_ghz: float
    grid: tuple[int, int]
    tensix_grid: tuple[int, int]
    l1_unreserved_bytes: int
    l1_core_bytes: int
    l1_bytes: int
    l1_align_bytes: int
    dram_align_bytes: int
    dram_banks: int
    dram_bytes: int
    dram_bank_gb_s: float

    @property
    def dram_gb_s(self) -> float:
        return self.dram_banks * self.dram_bank_gb_s


@cache
def cards() -> dict[str, Card]:
    """By every name that means a card: those of architectures first."""
    rows: dict[str, dict[str, str]] = {}
    with open(arch_dir() / "cards.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["card"], {})[row["name"]] = row["value"]
    result = {name: _card(name, values) for name, values in rows.items()}
    return {alias: result[name] for name, values in rows.items() for alias in values.get("names", "").split()} | result


def _card(name: str, values: dict[str, str]) -> Card:
    whole = {key: int(values[key]) for key in ("grid_x", "grid_y", "tensix_x", "tensix_y")}
    sizes = {key: int(values[key]) for key in ("l1_unreserved_bytes", "l1_core_bytes", "l1_bytes", "dram_banks", "dram_bytes")}
    return Card(
        name=name, architecture=values["family"], clock_ghz=float(values["clock_ghz"]), grid=(whole["grid_x"], whole["grid_y"]),
        tensix_grid=(whole["tensix_x"], whole["tensix_y"]), l1_align_bytes=int(values["l1_align"]), dram_align_bytes=int(values["dram_align"]),
        dram_bank_gb_s=float(values["dram_bank_gb_s"]), **sizes,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class System:
    """A machine of several chips. chip: the card that each of them is, as `card_of` takes it; mesh: rows and columns of all of them.

    pcie_chips: those that the host reaches by themselves. meshes, parts: of all chips, and of some, that a plan considers ("2x4").
    """

    name: str
    chip: str
    mesh: tuple[int, int]
    pcie_chips: int
    meshes: tuple[str, ...]
    parts: tuple[str, ...]


@cache
def systems() -> dict[str, System]:
    """The systems of `arch/systems.csv` by name."""
    with open(arch_dir() / "systems.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {row["system"]: _system(row) for row in rows}


def _system(row: dict[str, str]) -> System:
    chip, mesh = row["chip"], _extents(row["meshes"].split()[0])
    return System(row["system"], chip, mesh, mesh[0] * mesh[1] // int(row["board_chips"]), tuple(row["meshes"].split()), tuple(row["parts"].split()))


def _extents(mesh: str) -> tuple[int, int]:
    """Rows and columns of "2x4"."""
    rows, columns = mesh.split("x")
    return int(rows), int(columns)


def card_of(name: str) -> Card:
    """The card of a name, or of a system's chips; it may state a grid of its own ("n150:7x10"), or a mesh ("t3000@2x4").

    Raises: ValueError for an unknown one.
    """
    table = cards()
    system = systems().get(name.partition("@")[0])
    card = table.get((system.chip if system else name).partition(":")[0])
    if card is None:
        raise ValueError(f"unknown card or architecture {name[:100]!r}; known: {', '.join(table)}")
    return card


ARCHITECTURES = tuple(dict.fromkeys(card.architecture for card in cards().values()))
