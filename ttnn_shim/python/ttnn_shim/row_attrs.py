"""Attributes of a profiled op (as recorded by the profiler) -> attributes of an op configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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
    """Sliding-window description shared by conv, halo and pool."""
    return {
        "batch": config.get("batch_size", 1),
        "input_hw": pair(config["input_hw"]),
        "window_hw": pair(config["window_hw"]),
        "stride_hw": pair(config["stride_hw"]),
        "dilation_hw": pair(config.get("dilation_hw", 1)),
        "padding": paddings(config.get("padding", 0)),
        "num_cores_nhw": config.get("num_cores_nhw", 1),
        "num_cores_c": config.get("num_cores_c", 1),
    }


def matmul(attrs: Attrs) -> dict[str, Any]:
    program = attrs.get("program_config") or {}
    out: dict[str, Any] = {"selector": "table"}
    for key in ("transpose_a", "transpose_b"):
        out[key] = bool(attrs.get(key))
    if isinstance(program, dict) and "in0_block_w" in program:
        out["program_config"] = program.get("_", "")
        for key in (
            "in0_block_w",
            "per_core_M",
            "per_core_N",
            "out_block_h",
            "out_block_w",
            "out_subblock_h",
            "out_subblock_w",
        ):
            if key in program:
                out[key] = program[key]
        if "mcast_in0" in program:
            out["mcast_in0"] = bool(program["mcast_in0"])
    return out


def minimal_matmul(attrs: Attrs) -> dict[str, Any]:
    config = attrs.get("config") or {}
    return {key: config[key] for key in ("M_block_size", "N_block_size", "K_block_size") if key in config}


def conv2d(attrs: Attrs) -> dict[str, Any]:
    block, parallel = attrs.get("block_config") or {}, attrs.get("parallelization_config") or {}
    out = window(attrs["sliding_window_config"]) if "sliding_window_config" in attrs else {}
    out |= {
        "act_block_h": block.get("act_block_h_ntiles", 1),
        "act_block_w": block.get("act_block_w_ntiles", 1),
        "subblock_h": block.get("out_subblock_h_ntiles", 1),
        "subblock_w": block.get("out_subblock_w_ntiles", 1),
        "per_core_m": parallel.get("per_core_out_matrix_height_ntile", 1),
        "per_core_n": parallel.get("per_core_out_matrix_width_ntile", 1),
        "num_cores_nhw": parallel.get("num_cores_nhw", 1),
        "num_cores_c_in": parallel.get("num_cores_c_in", parallel.get("num_cores_c", 1)),
        "num_cores_c_out": parallel.get("num_cores_c_out", parallel.get("num_cores_c", 1)),
        "untilize_out": bool(attrs.get("untilize_out")),
        "groups": attrs.get("groups", 1),
        "split_reader": bool(attrs.get("enable_split_reader")),
        "act_double_buffer": bool(attrs.get("enable_act_double_buffer")),
        "weights_double_buffer": bool(attrs.get("enable_weights_double_buffer")),
    }
    return out


def halo(attrs: Attrs) -> dict[str, Any]:
    config = attrs.get("config") or {}
    out = window(config)
    scheme = (attrs.get("parallel_config") or {}).get("shard_scheme", "HEIGHT_SHARDED")
    grid = (attrs.get("out_shard") or {}).get("n", 1)
    out |= {
        "is_out_tiled": bool(attrs.get("is_out_tiled")),
        "config_in_dram": bool(attrs.get("config_tensors_in_dram")),
        "max_out_nsticks": attrs.get("max_out_nsticks_per_core", 0),
        "in_nsticks": attrs.get("in_nsticks_per_core", 0),
        "scheme": scheme,
        "grid_cores": grid,
    }
    return out


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
        "inplace": bool(program.get("inplace")),
        "grid": [grid.get("x", 0), grid.get("y", 0)],
        "out_blocks": program.get("num_out_blocks", 1),
    }


def copy_keys(*keys: str) -> Callable[[Attrs], dict[str, Any]]:
    def pick(attrs: Attrs) -> dict[str, Any]:
        return {
            key: attrs[key]
            for key in keys
            if isinstance(attrs.get(key), (bool, int, float, str)) or (isinstance(attrs.get(key), list) and all(isinstance(v, int) for v in attrs[key]))
        }

    return pick


def pool2d(attrs: Attrs) -> dict[str, Any]:
    out = window(attrs["sliding_window_config"]) if "sliding_window_config" in attrs else {}
    return out | {"max": "MAX" in str(attrs.get("pool_type", "MAX"))}


def upsample(attrs: Attrs) -> dict[str, Any]:
    return {
        "scale_hw": [attrs.get("scale_factor_h", 1), attrs.get("scale_factor_w", 1)],
        "mode": str(attrs.get("mode", "nearest")),
    }


def layernorm(attrs: Attrs) -> dict[str, Any]:
    return {"rms": attrs.get("norm_type") == "RMSNORM"}


def grid_sample(attrs: Attrs) -> dict[str, Any]:
    return {
        "batch_output_channels": bool(attrs.get("batch_output_channels")),
        "precomputed": bool(attrs.get("use_precomputed_grid")),
    }


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
    "grid_sample": grid_sample,
    "slice": copy_keys("slice_start", "slice_end", "step"),
    "padded_slice": copy_keys("padded_slice_start", "padded_slice_end", "slice_start", "slice_end", "step"),
    "slice_write": copy_keys("slice_start", "slice_end", "step"),
    "concat": copy_keys("dim"),
    "split": copy_keys("dim", "num_splits"),
    "transpose": copy_keys("dim"),
    "permute": copy_keys("dims"),
    "softmax": copy_keys("dim", "numeric_stable", "inplace"),
    "reduce": copy_keys("dim"),
    "accumulation": copy_keys("dim"),
    "embedding": copy_keys("tilized"),
    "sharded_to_interleaved": copy_keys("num_slices", "slice_index"),
    "tilize": copy_keys("use_low_perf"),
    "untilize": copy_keys("use_pack_untilize"),
    "create_heads": copy_keys("num_q_heads", "num_kv_heads", "head_dim"),
}


def op_attributes(op: str, attrs: Attrs, row: Mapping[str, str]) -> dict[str, Any]:
    """Attributes of the configuration of one `ops` row. Older kernels of the same op are told apart by their kernel names."""
    out = {"selector": "table", "traced": True} | (MAPPERS[op](attrs) if op in MAPPERS else {})
    kernels = row.get("kernels") or ""
    if op == "binary" and ("eltwise_binary_kernel" in kernels or "bcast_h" in kernels):
        out["legacy"] = True
    if op == "tilize_with_val_padding":
        if kernels:
            out["blocks_2d"] = "both_dims" in kernels
    return out
