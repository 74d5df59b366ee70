"""An argument that is accepted and ignored is a defect: every optional argument of every op with a kernel is varied.

A varied argument must show: in values, dtype, layout, shape, memory config, the device programs (cores, cycles, attributes), or by
being refused. What cannot show is listed with the reason, in NO_EFFECT by name and in NO_EFFECT_HERE by op; kernels that ignore an argument are
in DEFECTS. All three are strict: an entry that shows an effect in some op fails.
"""

from __future__ import annotations

import csv
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ttnn
from ttnn import _core, _facts
from ttnn._binding import BoundOverload
from ttnn._enums import enum_class, enum_names
from ttnn._operation import Operation

# Parameters that rightly show nothing on one simulated device.
NO_EFFECT = {
    "sub_device_id": "one sub-device, 0, is the whole device",
    "cq_id": "one queue in order",
    "reshape_tile_mode": "a hint about caching of the mapping",
    "skip_padding_fill": "padding holds no values in the simulator",
    "pad_value": "padding holds no values in the simulator",
    "use_low_perf": "a hint: the device program is the same",
    "use_welford": "accuracy hint",
    "num_out_blocks": "how the real kernel cuts its work; results are the same",
    "ceil_mode": "the sample's sizes divide evenly",
}
# (op, parameter) -> reason: it takes more than the generic variation to see the effect.
NO_EFFECT_HERE = {
    **{(f"ttnn.{name}", "memory_config"): "a tensor filled on the host does not remember it, as in the real package" for name in ("full", "ones", "zeros")},
    ("ttnn.embedding", "padding_idx"): "its row is read as any other: the program only keeps it in L1",
    ("ttnn.to_memory_config", "dtype"): "not looked at where the memory is the same, as in the real package",
    **{(f"ttnn.{op}", "reverse_order"): "the sample runs along a dimension of size 1; tests/ops_numeric checks it" for op in ("cumsum", "cumprod")},
    ("ttnn.cumsum", "disable_compensated_sum"): "accuracy hint: sums are exact to float32 either way",
    **{
        (f"ttnn.{op}", "fast_and_approximate_mode"): "accuracy hint: results are within the documented tolerance either way"
        for op in (
            "add",
            "add_",
            "subtract",
            "subtract_",
            "rsub",
            "rsub_",
            "multiply",
            "multiply_",
            "div",
            "divide_",
            "bias_gelu",
            "sum",
            "mean",
            "max",
            "min",
            "layer_norm_pre_all_gather",
            "rms_norm_pre_all_gather",
        )
    },
    ("ttnn.pad", "use_multicore"): "the sample's device program is the same",
    ("ttnn.experimental.dropout", "use_per_device_seed"): "one device",
    **{(f"ttnn.{op}", "stable"): "results are always stable" for op in ("sort", "topk")},
    ("ttnn.topk", "sorted"): "results are always sorted, which sorted=False allows",
    ("ttnn.softplus", "threshold"): "the samples lie far below both thresholds",
    ("ttnn.split", "dim"): "dimensions 0 and 1 have size 1",
    ("ttnn.reshape_on_device", "memory_config"): "views stay where they are, as in the real package",
    ("ttnn.geglu", "variant"): "accuracy hint",
    ("ttnn.transformer.attention_softmax_", "memory_config"): "works in place",
    ("ttnn.transformer.attention_softmax", "causal_mask"): "says how a mask is read, the sample has none",
    ("ttnn.transformer.scaled_dot_product_attention", "windowed_q_token_offset"): "only with windows",
    ("ttnn.transformer.scaled_dot_product_attention", "output_concat_heads"): "the sample has one head; tests/optimizer/test_encoders.py joins several",
    ("ttnn.logical_not_", "memory_config"): "works in place",
    **{(f"ttnn.{op}_like", "device"): "the sample is on that device" for op in ("zeros", "ones", "empty", "full")},
    **{
        (f"ttnn.prepare_conv_{what}", name): "tells the real package which convolution follows; the values do not depend on it"
        for what in ("weights", "bias", "transpose2d_weights", "transpose2d_bias")
        for name in ("output_dtype", "compute_config", "dram_slice_config" if "transpose2d" in what else "slice_config")
    },
    ("ttnn.transformer.split_query_key_value_and_split_heads", "num_kv_heads"): "the sample has one head",
    ("ttnn.experimental.nlp_create_qkv_heads", "num_kv_heads"): "the sample has one head",
    ("ttnn.experimental.nlp_create_qkv_heads_decode", "num_kv_heads"): "the sample has one head",
    ("ttnn.experimental.nlp_create_qkv_heads_decode", "memory_config"): "the real package puts one user on each core in L1 whatever this says",
    ("ttnn.prepare_conv_transpose2d_weights", "output_padding"): "tells which convolution follows",
    **{(f"ttnn.{op}", "correction"): "only variances have a correction" for op in ("sum", "mean", "max", "min")},
    **{
        (f"ttnn.{op}", "memory_config"): "the sample is in DRAM, from where the real package works through slices into interleaved DRAM whatever this says"
        for op in ("conv1d", "conv2d", "conv_transpose2d")
    },
    **{(f"ttnn.{pool}", "deallocate_input"): "the real package frees sharded inputs alone" for pool in ("avg_pool2d", "max_pool2d")},
    ("ttnn.experimental.isin", "assume_unique"): "the real package's documentation says that it has no effect",
    **{("ttnn.mesh_partition", name): "on one chip a tensor is its own part; tests/mesh has several" for name in ("cluster_axis", "memory_config")},
    ("ttnn.fold", "collapse_output"): "the sample is one row of pixels, which is flat already",
    **{("ttnn.fold", name): "the sample is interleaved; only shards are dealt to a grid" for name in ("grid_size", "override_memory_config")},
    **{("ttnn.sharded_to_interleaved", name): "the sample is interleaved, which comes back as it is" for name in ("memory_config", "output_dtype")},
}
PREALLOCATED = ("output_tensor", "optional_output_tensor", "optional_tensor", "output")
# (op, parameter) -> what the kernel does wrong. Strict: an entry that shows an effect fails.
DEFECTS: dict[tuple[str, str], str] = {}


class Samples:
    """Arguments by type, and by op where the type is not enough."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.rng = np.random.default_rng(3)

    def tensor(self, shape: tuple[int, ...] = (1, 1, 64, 64), dtype: Any = ttnn.bfloat16, layout: Any = ttnn.TILE_LAYOUT) -> Any:
        """Both signs and zeros; small non-negative numbers for unsigned types."""
        if dtype in (ttnn.int32, ttnn.uint32, ttnn.uint16):
            low = -5 if dtype is ttnn.int32 else 0
            return ttnn.Tensor(self.rng.integers(low, 6, shape).astype(np.int32), dtype, self.device, layout)
        values = self.rng.normal(size=shape) * (self.rng.random(shape) > 0.3)
        return ttnn.Tensor(values.astype(np.float32), dtype, self.device, layout)

    def value(self, op: str, name: str, type_: str) -> Any:
        """A value for a required parameter."""
        if (op, name) in BY_OP:
            return BY_OP[op, name](self)
        if name in BY_NAME:
            return BY_NAME[name](self)
        kinds = type_.split(" | ")
        for kind in ("Tensor", "MeshDevice", "float", "int", "bool", "DataType", "Layout", "MemoryConfig"):
            if kind in kinds:
                return BY_TYPE[kind](self)
        if type_ == "Sequence[Tensor]":
            return [self.tensor(), self.tensor()]
        raise LookupError(f"no sample for {op} {name}: {type_}")


def host(samples: Samples, shape: tuple[int, ...]) -> Any:
    return ttnn.Tensor(samples.rng.normal(size=shape).astype(np.float32), ttnn.bfloat16)


def wide(samples: Samples, shape: tuple[int, ...], cores: int) -> Any:
    """A tensor in L1 whose columns are dealt to some cores."""
    return ttnn.to_memory_config(samples.tensor(shape), ttnn.create_sharded_memory_config(
        (32, shape[-1] // cores), ttnn.CoreGrid(y=1, x=cores), ttnn.ShardStrategy.WIDTH, use_height_and_width_as_shard_shape=True))  # fmt: skip


IMAGE_OPS = ("conv2d", "conv_transpose2d", "avg_pool2d", "max_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d")


def with_nans(samples: Samples) -> Any:
    """Half NaN, the rest within 0.3 of each other."""
    values = samples.rng.random((32, 32)) * 0.3
    values[:16] = np.nan
    return ttnn.Tensor(values.astype(np.float32), ttnn.bfloat16, samples.device, ttnn.TILE_LAYOUT)


BY_TYPE: dict[str, Callable[[Samples], Any]] = {
    "Tensor": lambda s: s.tensor(),
    "MeshDevice": lambda s: s.device,
    "float": lambda s: 0.5,
    "int": lambda s: 1,
    "bool": lambda s: True,
    "DataType": lambda s: ttnn.float32,
    "Layout": lambda s: ttnn.ROW_MAJOR_LAYOUT,
    "MemoryConfig": lambda s: ttnn.DRAM_MEMORY_CONFIG,
}
BY_NAME: dict[str, Callable[[Samples], Any]] = {
    "dims": lambda s: [0, 1, 3, 2],
    "ops_chain": lambda s: [ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)],
    "slice_start": lambda s: [0, 0, 0, 0],
    "slice_end": lambda s: [1, 1, 32, 32],
    "dim1": lambda s: -1,
    "dim2": lambda s: -2,
    "shape": lambda s: [32, 64],
    "end": lambda s: 10,
    "start": lambda s: 0,
    "in_channels": lambda s: 32,
    "out_channels": lambda s: 32,
    "channels": lambda s: 32,
    "batch_size": lambda s: 1,
    **dict.fromkeys(("input_height", "input_width", "input_h", "input_w"), lambda s: 8),
    "input_length": lambda s: 64,
    "kernel_size": lambda s: [3, 3],
    "stride": lambda s: [1, 1],
    "padding": lambda s: [1, 1],
    "dilation": lambda s: [1, 1],
    "groups": lambda s: 1,
    "weights_format": lambda s: "OIHW",
    "has_bias": lambda s: True,
    "input_layout": lambda s: ttnn.ROW_MAJOR_LAYOUT,
    "input_dtype": lambda s: ttnn.bfloat16,
    "weight_tensor": lambda s: host(s, (32, 32, 3, 3)),
    "bias_tensor": lambda s: host(s, (1, 1, 1, 32)),
}
INTEGER_OPS = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift", "logical_left_shift",
               "logical_right_shift", "gcd", "lcm")  # fmt: skip
BY_OP: dict[tuple[str, str], Callable[[Samples], Any]] = {
    **{(f"ttnn.{op}", name): lambda s: s.tensor(dtype=ttnn.int32) for op in INTEGER_OPS for name in ("input_tensor", "input_tensor_a", "input_tensor_b")},
    **{(f"ttnn.{op}", "input_tensor"): lambda s: s.tensor((1, 1, 64, 32), layout=ttnn.ROW_MAJOR_LAYOUT) for op in IMAGE_OPS},
    ("ttnn.conv1d", "input_tensor"): lambda s: s.tensor((1, 1, 64, 32), layout=ttnn.ROW_MAJOR_LAYOUT),
    ("ttnn.conv1d", "weight_tensor"): lambda s: host(s, (32, 32, 3)),
    ("ttnn.conv1d", "kernel_size"): lambda s: 3,
    ("ttnn.prepare_conv_transpose2d_weights", "weights_format"): lambda s: "IOHW",
    ("ttnn.experimental.nlp_create_qkv_heads", "input"): lambda s: s.tensor((1, 1, 64, 192)),
    ("ttnn.experimental.nlp_create_qkv_heads_decode", "input_tensor"): lambda s: wide(s, (1, 1, 8, 192), 3),
    ("ttnn.transformer.split_query_key_value_and_split_heads", "input_tensor"): lambda s: s.tensor((1, 64, 192)),
    ("ttnn.roll", "dim"): lambda s: 3,
    ("ttnn.reshape", "shape"): lambda s: [1, 1, 32, 128],
    ("ttnn.expand", "input_tensor"): lambda s: s.tensor((1, 64)),
    ("ttnn.expand", "output_shape"): lambda s: [64, 64],
    ("ttnn.experimental.broadcast_to", "input"): lambda s: s.tensor((1, 1, 1, 64)),
    ("ttnn.experimental.broadcast_to", "output_shape"): lambda s: [1, 1, 64, 64],
    ("ttnn.repeat", "repeat_dims"): lambda s: [1, 1, 2, 1],
    ("ttnn.repeat_interleave", "repeats"): lambda s: 2,
    ("ttnn.pad", "padding"): lambda s: [(0, 0), (0, 0), (0, 32), (0, 32)],
    ("ttnn.pad", "value"): lambda s: 0.0,
    **{
        (f"ttnn.{op}", "input_tensor"): lambda s: s.tensor((1, 1, 50, 50), layout=ttnn.ROW_MAJOR_LAYOUT)
        for op in ("tilize_with_zero_padding", "tilize_with_val_padding")
    },
    ("ttnn.tilize", "input_tensor"): lambda s: s.tensor(layout=ttnn.ROW_MAJOR_LAYOUT),
    ("ttnn.tilize_with_val_padding", "output_tensor_shape"): lambda s: [1, 1, 64, 64],
    ("ttnn.tilize_with_val_padding", "pad_value"): lambda s: 0.0,
    ("ttnn.untilize_with_unpadding", "output_tensor_end"): lambda s: [0, 0, 40, 40],
    ("ttnn.roll", "shifts"): lambda s: 3,
    ("ttnn.polyval", "coeffs"): lambda s: [1.0, 2.0, 3.0],
    ("ttnn.reshape_on_device", "W"): lambda s: 1,
    **{("ttnn.reshape_on_device", side): lambda s: 64 for side in ("Y", "X")},
    ("ttnn.outer", "input_tensor_a"): lambda s: s.tensor((1, 1, 1, 64)),
    ("ttnn.outer", "input_tensor_b"): lambda s: s.tensor((1, 1, 1, 64)),
    ("ttnn.isclose", "input_tensor_a"): lambda s: with_nans(s),
    ("ttnn.isclose", "input_tensor_b"): lambda s: with_nans(s),
    ("ttnn.split", "split_size"): lambda s: 32,
    ("ttnn.split", "dim"): lambda s: -1,
    ("ttnn.embedding", "input_tensor"): lambda s: s.tensor((1, 32), ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT),
    ("ttnn.embedding", "weight"): lambda s: s.tensor((32, 64), layout=ttnn.ROW_MAJOR_LAYOUT),
    ("ttnn.where", "true_value"): lambda s: s.tensor(),
    ("ttnn.where", "false_value"): lambda s: s.tensor(),
    ("ttnn.where", "predicate"): lambda s: s.tensor(),
    ("ttnn.typecast", "dtype"): lambda s: ttnn.float32,
}


def varied(samples: Samples, name: str, type_: str, default: Any, output: Any) -> Any:
    """A value that differs from the default; LookupError where there is no generic one."""
    if name == "head_size":
        return 4
    if name == "attention_sink" and output.shape[0] == 1:
        return samples.tensor((1, output.shape[1], 1, 1))
    if name in ("bias_tensor", "bias", "weight", "running_mean", "running_var") and "Tensor" in type_:
        return host(samples, (1, 1, 1, 32)) if name == "bias_tensor" else samples.tensor((1, 1, 1, output.shape[-1]))
    if "Op2DSliceConfig" in type_:
        return ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dDRAMSliceHeight, num_slices=2)
    if "SDPAProgramConfig" in type_:
        return ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(1, 2), q_chunk_size=32, k_chunk_size=32)
    if "Conv2dConfig" in type_:
        return ttnn.Conv2dConfig(activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU), weights_dtype=ttnn.bfloat8_b)
    if type_.startswith("Sequence[int]") and isinstance(default, str):
        return [one + 1 for one in json.loads(default)]
    if "MeshDevice" in type_:
        return samples.device
    if type_.startswith("tuple["):
        raise LookupError(f"no variation for {name}: {type_}")
    if name in PREALLOCATED:
        return ttnn.Tensor(np.full(tuple(output.shape), 77, np.float32), output.dtype, samples.device, output.layout)
    kinds = type_.split(" | ")
    if "DataType" in kinds:
        return ttnn.float32 if output.dtype is ttnn.bfloat16 else ttnn.uint32 if output.dtype is ttnn.int32 else ttnn.bfloat16
    if "MemoryConfig" in kinds:
        return ttnn.L1_MEMORY_CONFIG
    if "EltwiseUnaryWithParam" in type_:
        return [ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)]
    if "CoreRangeSet" in kinds:
        return ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 0))])
    if "CoreGrid" in kinds:
        return ttnn.CoreGrid(x=1, y=2)
    if "WormholeComputeKernelConfig" in kinds:
        return ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.LoFi, fp32_dest_acc_en=False)
    if "Layout" in kinds:
        return ttnn.ROW_MAJOR_LAYOUT if output.layout is ttnn.TILE_LAYOUT else ttnn.TILE_LAYOUT
    if kinds[0] in enum_names():
        return next(member for member in enum_class(enum_names()[kinds[0]]) if f"{kinds[0]}.{member.name}" != default)
    if "MatmulMultiCoreReuseMultiCastProgramConfig" in kinds:
        return ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(
            compute_with_storage_grid_size=(1, 2), in0_block_w=1, out_subblock_h=1, out_subblock_w=1, per_core_M=1, per_core_N=2, transpose_mcast=False
        )
    if kinds == ["Tensor", "None"]:
        return samples.tensor((1, 1, 1, output.shape[-1]))
    if type_ in ("bool", "bool | None"):
        return not default
    if "float" in kinds:
        return (default if isinstance(default, int | float) and not isinstance(default, bool) else 0.0) + 0.37
    if "int" in kinds:
        return (default if isinstance(default, int) else 0) + 1
    if "str" in kinds:
        return "no_such_choice"
    raise LookupError(f"no variation for {name}: {type_}")


# The overload to vary: the one with this parameter.
OVERLOAD = {
    "ttnn.slice": ("slice_start", "int"),
    "ttnn.clamp": ("min", "float"),
    "ttnn.clip": ("min", "float"),
}
# Optional arguments that the unvaried call needs as well.
BASE: dict[str, dict[str, Any]] = {
    "ttnn.upsample": {"mode": "bilinear"},  # nearest computes nothing
    "ttnn.clamp": {"min": -0.5, "max": 0.5},
    "ttnn.clip": {"min": -0.5, "max": 0.5},
    "ttnn.bernoulli": {"seed": 7},  # 0 draws anew at each call
    "ttnn.slice": {"slice_step": [1, 1, 1, 1]},
    "ttnn.group_norm": {"inplace": False},  # the sample is interleaved
    "ttnn.var": {"dim": -1},
    "ttnn.std": {"dim": -1},
    "ttnn.batch_norm": {name: lambda s: s.tensor((1, 1, 1, 1)) for name in ("running_mean", "running_var")} | {"training": True},
}


def outputs_of(result: Any) -> list[Any]:
    if isinstance(result, ttnn.Tensor):
        return [result]
    return [one for part in result for one in outputs_of(part)] if isinstance(result, list | tuple) else []


def shape_of(result: Any) -> Any:
    """What comes back, without the tensors."""
    if isinstance(result, list | tuple):
        return [shape_of(part) for part in result]
    return "tensor" if isinstance(result, ttnn.Tensor) else repr(result)


def run(device: Any, operation: Operation, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, str]:
    """(result, everything observable as text)."""
    device.clock_reset()
    result = operation(*args, **kwargs)
    seen: list[Any] = []
    for tensor in outputs_of(result):
        values = tensor._read(ttnn.float32 if tensor.dtype in (ttnn.bfloat8_b, ttnn.bfloat4_b) else None).tobytes().hex()
        seen.append([values, repr(tensor.storage_type()), repr(tensor.dtype), repr(tensor.layout), list(tensor.shape), repr(tensor.memory_config())])
    for tensor in outputs_of([*args, *kwargs.values()]):  # works in place, gives memory back
        seen.append([tensor.is_allocated(), tensor.is_allocated() and hash(tensor._read().tobytes())])
    seen.append(shape_of(result))
    names = ("name", "factory", "cores", "grid_x", "grid_y", "cycles", "attributes", "fidelity")
    events = [{name: event[name] for name in names} for event in device.events()]
    return result, json.dumps([seen, events])


def overload_for(operation: Operation) -> BoundOverload:
    """The overload to vary: the one with two tensors where there is a choice, else the first."""
    wanted = OVERLOAD.get(operation.name)
    if wanted is not None:
        return next(one for one in operation.overloads.bound if any(param.name == wanted[0] and wanted[1] in param.type for param in one.overload.params))
    return max(operation.overloads.bound, key=lambda one: sum(param.type == "Tensor" for param in one.overload.params if param.required))


def arguments(operation: Operation, device: Any) -> tuple[list[Any], dict[str, Any]]:
    """Required arguments, the same at each call."""
    samples = Samples(device)
    args: list[Any] = []
    kwargs: dict[str, Any] = {name: value(samples) if callable(value) else value for name, value in BASE.get(operation.name, {}).items()}
    skipped = False
    for param in overload_for(operation).overload.params:
        if param.required:
            value = samples.value(operation.name, param.name, param.type)
            if param.kind == "K" or skipped:
                kwargs[param.name] = value
            else:
                args.append(value)
        elif param.kind == "":
            skipped = True
    return args, kwargs


def cases() -> list[tuple[str, str]]:
    rows = []
    for name in sorted(_facts.facts()["functions"]):
        operation = Operation(name)
        if _core.find_op(operation.names) is None or operation.name in SKIPPED_OPS:
            continue
        for param in overload_for(operation).overload.params:
            if not param.required:
                rows.append((name, param.name))
    return rows


# Ops that take arguments of another kind than these samples; test_behaviour and the kernels' own tests cover them.
SKIPPED_OPS = {
    "ttnn.deallocate", "ttnn.copy", "ttnn.copy_host_to_device_tensor", "ttnn.copy_device_to_host_tensor", "ttnn.to_device", "ttnn.from_device",
    "ttnn.to_dtype", "ttnn.move", "ttnn.reallocate", "ttnn.assign",
}  # fmt: skip


UNTRIED = Path(__file__).parents[1] / "data" / "untried_arguments.csv"
"""Arguments that this test cannot judge by a generic call: "not tried" with the reason, or "refused" with words of the refusal."""


def outcome(name: str, parameter: str, device: Any) -> tuple[str, str]:
    """("shows" | "ignored" | "refused" | "not tried", in words what there is to say)."""
    operation = Operation(name)
    samples = Samples(device)
    one = overload_for(operation)
    try:
        args, kwargs = arguments(operation, device)
        base, before = run(device, operation, args, kwargs)
        tensors = outputs_of(base)
        facts = next(param for param in one.overload.params if param.name == parameter)
        default = BASE.get(operation.name, {}).get(parameter, facts.default)
        value = varied(samples, parameter, facts.type, default, tensors[0] if tensors else None)
    except (LookupError, RuntimeError, TypeError) as error:
        return "not tried", said(error)
    args, kwargs = arguments(operation, device)  # anew: the op may work in place
    try:
        result, after = run(device, operation, args, {**kwargs, parameter: value})
    except RuntimeError as error:
        return "refused", said(error)
    shows = after != before
    if parameter in PREALLOCATED:
        shows = value.to_numpy().tobytes() == outputs_of(result)[0].to_numpy().tobytes() == tensors[0].to_numpy().tobytes()
    return ("shows" if shows else "ignored"), f"{parameter}={value!r}"


def said(error: Exception) -> str:
    """The first line, without numbers."""
    text = str(error.args[0] if isinstance(error, LookupError) and error.args else error)
    return " ".join(re.sub(r"\d+", "N", text.splitlines()[0]).split())[:80]


def test_every_argument_has_an_effect_or_is_refused(device: Any) -> None:
    device.events_enable(True)
    with UNTRIED.open(newline="", encoding="utf-8") as file:
        untried = {(row["op"], row["parameter"]): (row["outcome"], row["words"]) for row in csv.DictReader(file)}
    wrong = []
    for name, parameter in cases():
        key, found = (Operation(name).name, parameter), outcome(name, parameter, device)
        if found[0] in ("refused", "not tried"):
            if untried.get((name, parameter)) != found:
                wrong.append(f"{name} {parameter}: {found}, {UNTRIED.name} has {untried.get((name, parameter))}")
        elif (name, parameter) in untried:
            wrong.append(f"{name} {parameter}: {found}: take it out of {UNTRIED.name}")
        elif (key in DEFECTS or key in NO_EFFECT_HERE or parameter in NO_EFFECT) == (found[0] == "shows"):
            wrong.append(f"{name} {parameter}: {found}: " + ("take it out of the list" if found[0] == "shows" else "it is accepted and ignored"))
    assert not wrong, "\n".join(wrong)
    assert untried.keys() <= set(cases())


@pytest.mark.parametrize("name", ["ttnn.relu", "ttnn.add"])
def test_sub_core_grids(name: str, device: Any) -> None:
    """Fewer cores, and so another duration."""
    device.events_enable(True)
    operation, samples = Operation(name), Samples(device)
    args = [samples.tensor() for param in overload_for(operation).overload.params if param.required]
    core = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 0))])
    run(device, operation, args, {"sub_core_grids": core})
    assert [event["cores"] for event in device.events()] == [1]


def test_every_kernel_is_reachable() -> None:
    """Names of the core that no Python name reaches: C++-only ones."""
    from ttnn._coverage import unreachable_kernels

    assert [name for name in unreachable_kernels() if not name.endswith("_unary")] == []


def test_operation_objects_describe_themselves() -> None:
    signature = inspect.signature(ttnn.softmax)
    assert list(signature.parameters) == ["input_tensor", "dim", "memory_config", "compute_kernel_config", "numeric_stable"]
    assert ttnn.softmax.__name__ == "ttnn.softmax"
    assert "numeric_stable" in (ttnn.softmax.__doc__ or "")


def test_every_listed_argument_is_tried() -> None:
    """An entry for an op or a parameter that is gone says nothing."""
    tried = set(cases())
    assert not [key for key in (*NO_EFFECT_HERE, *DEFECTS) if (_facts.resolve_alias(key[0]), key[1]) not in tried and key[0] not in SKIPPED_OPS]
    assert not [name for name in NO_EFFECT if all(parameter != name for _, parameter in tried)]
