"""Attributes of a profiled op (as recorded by the profiler) -> attributes of an op configuration."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ttnn_shim.dtypes import TILE_SIDE
from ttnn_shim.machine import ARCHITECTURES

Attrs = Mapping[str, Any]


def pair(value: Any) -> list[int]:
    """A scalar or a pair as a pair."""
    return [int(value), int(value)] if isinstance(value, (int, float)) else [int(v) for v in value]


def paddings(value: Any) -> list[int]:
    """[top, bottom, left, right] from [[t, b], [l, r]], [v, h] or a scalar."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [int(x) for side in value for x in side]
    h, w = pair(value)
    return [h, h, w, w]


def window(config: Attrs) -> dict[str, Any]:
    """Sliding-window description of a halo."""
    return {
        "batch": config.get("batch_size", 1),
        "input_hw": pair(config["input_hw"]),
        "window_hw": pair(config["window_hw"]),
        "stride_hw": pair(config["stride_hw"]),
        "dilation_hw": pair(config.get("dilation_hw", 1)),
        "padding": paddings(config.get("padding", config.get("pad_hw", 0))),
        "num_cores_nhw": config.get("num_cores_nhw", 1),
    }


def window_size(attrs: Attrs) -> dict[str, Any]:
    """Size of a convolution's or pool's window."""
    config = attrs.get("sliding_window_config")
    return {"window_hw": pair(config["window_hw"])} if config is not None else {}


def matmul(attrs: Attrs) -> dict[str, Any]:
    program = attrs.get("program_config") or {}
    out: dict[str, Any] = {}
    for key in ("transpose_a", "transpose_b"):
        out[key] = bool(attrs.get(key))
    if isinstance(program, dict) and program.get("_") and "in0_block_w" in program:
        out["program_config"] = program["_"]
        for key in ("in0_block_w", "per_core_M", "per_core_N", "out_block_h", "out_block_w", "out_subblock_h", "out_subblock_w"):
            if key in program:
                out[key] = program[key]
        if "mcast_in0" in program:
            out["mcast_in0"] = bool(program["mcast_in0"])
    return out


def minimal_matmul(attrs: Attrs) -> dict[str, Any]:
    config = attrs.get("config") or {}
    return {key: config[key] for key in ("M_block_size", "N_block_size", "K_block_size") if key in config}


def per_core_tiles(parallel: Attrs, side: str) -> int:
    """Tiles of a core's output along "height" or "width": written as tiles, under two names, or as elements."""
    name = f"per_core_out_matrix_{side}"
    tiles = parallel.get(f"{name}_ntile", parallel.get(f"{name}_ntiles"))
    return int(tiles if tiles is not None else -(-parallel.get(name, 1) // TILE_SIDE))


def conv2d(attrs: Attrs) -> dict[str, Any]:
    block, parallel = attrs.get("block_config") or {}, attrs.get("parallelization_config") or {}
    return window_size(attrs) | {
        "act_block_h": block.get("act_block_h_ntiles", 1),
        "act_block_w": block.get("act_block_w_ntiles", 1),
        "subblock_h": block.get("out_subblock_h_ntiles", 1),
        "subblock_w": block.get("out_subblock_w_ntiles", 1),
        "per_core_m": per_core_tiles(parallel, "height"),
        "per_core_n": per_core_tiles(parallel, "width"),
        "num_cores_nhw": parallel.get("num_cores_nhw", 1),
        "num_cores_c_in": parallel.get("num_cores_c_in", parallel.get("num_cores_c", 1)),
        "num_cores_c_out": parallel.get("num_cores_c_out", parallel.get("num_cores_c", 1)),
        "untilize_out": bool(attrs.get("untilize_out")),
        "groups": attrs.get("groups", 1),
        "split_reader": bool(attrs.get("enable_split_reader")),
        "act_double_buffer": bool(attrs.get("enable_act_double_buffer")),
        "weights_double_buffer": bool(attrs.get("enable_weights_double_buffer")),
    }


def halo(attrs: Attrs) -> dict[str, Any]:
    return window(attrs.get("config") or {}) | {
        "is_out_tiled": bool(attrs.get("is_out_tiled")),
        "config_in_dram": bool(attrs.get("config_tensors_in_dram")),
        "in_nsticks": attrs.get("in_nsticks_per_core", 0),
    }


def names(ops: Any) -> list[str]:
    """Op names of a unary chain: strings or {op, param}."""
    return [str(o["op"] if isinstance(o, dict) else o).split("(")[0] for o in ops or []]


def unary(attrs: Attrs) -> dict[str, Any]:
    return {"ops": names(attrs.get("unary_ops"))}


def binary(attrs: Attrs) -> dict[str, Any]:
    return {
        "op": str(attrs.get("binary_op_type", "ADD")),
        "broadcast": str(attrs.get("subtile_broadcast_type", "NONE")),
        "is_sfpu": bool(attrs.get("is_sfpu")),
        "scalar": "scalar" in attrs,
        "post_ops": names(attrs.get("post_activations") or attrs.get("activations")),
    }


def groupnorm(attrs: Attrs) -> dict[str, Any]:
    program = attrs.get("program_config") or {}
    grid = program.get("compute_with_storage_grid_size") or {}
    return {
        "num_groups": attrs.get("num_groups", 1),
        "out_row_major": program.get("output_layout") == "ROW_MAJOR",
        "grid": [grid.get("x", 0), grid.get("y", 0)],
    }


def integers(value: Any) -> list[int] | None:
    """A list of whole numbers, or None."""
    return value if isinstance(value, list) and all(isinstance(v, int) for v in value) else None


def of_type(kind: type) -> Callable[[Any], Any]:
    """The value when it has this type, or None."""
    return lambda value: value if type(value) is kind else None


INTEGER, FLAG, TEXT = of_type(int), of_type(bool), of_type(str)


def renamed(**wanted: tuple[str, Callable[[Any], Any]]) -> Callable[[Attrs], dict[str, Any]]:
    """Attributes taken over: our name = (the profiler's name, what it must be); others are left out."""

    def pick(attrs: Attrs) -> dict[str, Any]:
        found = {ours: check(attrs.get(theirs)) for ours, (theirs, check) in wanted.items()}
        return {ours: value for ours, value in found.items() if value is not None}

    return pick


def pool2d(attrs: Attrs) -> dict[str, Any]:
    return window_size(attrs) | {"max": "MAX" in str(attrs.get("pool_type", "MAX"))}


def upsample(attrs: Attrs) -> dict[str, Any]:
    return {"scale_hw": [attrs.get("scale_factor_h", 1), attrs.get("scale_factor_w", 1)], "mode": str(attrs.get("mode", "nearest"))}


def layernorm(attrs: Attrs) -> dict[str, Any]:
    return {"rms": attrs.get("norm_type") == "RMSNORM"}


MAPPERS: dict[str, Callable[[Attrs], dict[str, Any]]] = {
    "matmul": matmul,
    "minimal_matmul": minimal_matmul,
    "conv2d": conv2d,
    "halo": halo,
    "unary": unary,
    "binary": binary,
    "groupnorm": groupnorm,
    "pool2d": pool2d,
    "upsample": upsample,
    "layernorm": layernorm,
    "grid_sample": renamed(prepared=("use_precomputed_grid", FLAG)),
    "slice": renamed(begins=("slice_start", integers), ends=("slice_end", integers), step=("step", integers)),
    "padded_slice": renamed(padded_slice_start=("padded_slice_start", integers), padded_slice_end=("padded_slice_end", integers)),
    "slice_write": renamed(begins=("slice_start", integers), ends=("slice_end", integers)),
    "concat": renamed(dim=("dim", INTEGER)),
    "split": renamed(dim=("dim", INTEGER)),
    "transpose": renamed(dim=("dim", TEXT)),
    "permute": renamed(dims=("dims", integers)),
    "softmax": renamed(dim=("dim", INTEGER), numeric_stable=("numeric_stable", FLAG), inplace=("inplace", FLAG)),
    "reduce": renamed(dim=("dim", TEXT)),
    "accumulation": renamed(dim=("dim", INTEGER)),
    "embedding": renamed(tilized=("tilized", FLAG)),
    "sharded_to_interleaved": renamed(num_slices=("num_slices", INTEGER)),
    "create_heads": renamed(num_heads=("num_q_heads", INTEGER), num_kv_heads=("num_kv_heads", INTEGER)),
}


EARLY = "2025_06"
"""Files of earlier months were measured with kernels that waited for each tile which they wrote back."""
OLDEST = "2024_09"
"""Month of the oldest programs that measured rows show; nothing says what those before did."""
BROADCASTS = {"bcast_hw": "SCALAR_B", "bcast_h": "ROW_B", "bcast_w": "COL_B"}
"""Kernel of the former op for broadcasts -> which operand it spreads, and how."""
ON_OWN_SHARDS = frozenset({"unary", "binary", "typecast", "reduce", "sharded_to_interleaved", "halo"})
"""Ops that run on the cores which hold the input's shards."""


def release_of(row: Mapping[str, str]) -> str | None:
    """Selector of the release that a row was measured with: by the month in its file's name. Files without one are of 2025 in the first collection, of
    2026 (today's release: None) in the third."""
    month = month_of(row)
    if month:
        return "early" if month < EARLY else "table"
    return None if row.get("source3") else "table"


def month_of(row: Mapping[str, str]) -> str:
    """2025_09, the in a row's file name; "" without one."""
    dated = re.search(r"20\d\d_\d\d", row.get("source_file") or "")
    return dated[0] if dated else ""


def without_model(row: Mapping[str, str]) -> str:
    """Which chip or release of a row has no model; "" where both have one."""
    chip, month = (row.get("arch") or "").strip(), month_of(row)
    if chip and chip not in ARCHITECTURES:
        return f"no model of the chip {chip[:40]!r}"
    return f"no model of the release of {month.replace('_', '-')}" if month and month < OLDEST else ""


def own_shard(tensor: Mapping[str, Any], shard: Mapping[str, Any] | None, cores: int) -> Mapping[str, Any] | None:
    """The shard of a tensor on `cores` cores: the one inferred from another op if it fits, else an even one."""
    shape = tensor["padded"]
    rows, width, kind = math.prod(shape[:-1]), int(shape[-1]), str(tensor["mem"]).partition("_")[2]
    if kind not in SHARDED or not cores:
        return shard
    if shard and "shape" in shard:
        height, across = shard["shape"]
        if -(-rows // height) * -(-width // across) == cores:
            return shard
    deep, wide = SHARDED[kind](cores)
    unit = TILE_SIDE if tensor["layout"] == "tile" else 1
    return {"shape": [-(-rows // deep // unit) * unit, -(-width // wide // unit) * unit], "n": cores}


def grid_of(cores: int) -> tuple[int, int]:
    """Rows and columns of a block-sharded grid: as many rows as a Wormhole has, where that divides."""
    deep = next(n for n in range(min(WORMHOLE_ROWS, cores), 0, -1) if cores % n == 0)
    return deep, cores // deep


WORMHOLE_ROWS = 8
SHARDED: dict[str, Callable[[int], tuple[int, int]]] = {
    "height_sharded": lambda cores: (cores, 1),
    "width_sharded": lambda cores: (1, cores),
    "block_sharded": grid_of,
}


def shards_of(op: str, inputs: Sequence[Mapping[str, Any]], inferred: Sequence[Any], output: Mapping[str, Any], own: Any, cores: int) -> list[Any]:
    """Shards of the inputs. They were inferred from other ops of the same shape: an elementwise op has its output's, and an op that runs on the cores of
    its shards one for as many cores as were counted."""
    shards = [inferred[i] if i < len(inferred) else None for i in range(len(inputs))]
    if op not in ON_OWN_SHARDS:
        return shards
    for i, tensor in enumerate(inputs):
        same = own and (tensor["padded"], tensor["mem"]) == (output["padded"], output["mem"])
        shards[i] = own if same else own_shard(tensor, shards[i], cores)
    return shards


def op_attributes(op: str, attrs: Attrs, row: Mapping[str, str]) -> dict[str, Any]:
    """Attributes of the configuration of one `ops` row. Older kernels of the same op are told apart by their kernel names."""
    out: dict[str, Any] = {"traced": True} | (MAPPERS[op](attrs) if op in MAPPERS else {})
    release = release_of(row)
    if release:
        out["selector"] = release
    kernels = row.get("kernels") or ""
    if op == "reduce" and "FastReduceNC" in (row.get("op_code") or ""):
        out["dim"] = "NC"
    if op == "binary" and out["broadcast"] == "NONE":
        out["broadcast"] = next((how for kernel, how in BROADCASTS.items() if kernel in kernels.split(";")), "NONE")
    if op == "binary" and ("eltwise_binary_kernel" in kernels or "bcast_h" in kernels):
        out["legacy"] = True
    if op == "update_cache" and ("PagedUpdate" in (row.get("op_code") or "") or "UPDATE" in str(attrs.get("op_type", "")).upper()):
        out |= {"op": "UPDATE", "positions": len(json.loads(row.get("inputs") or "[]")) > 2}
    if op == "tilize_with_val_padding":
        if kernels:
            out["blocks_2d"] = "both_dims" in kernels
    return out
