"""Values as C++ expressions: one renderer per class of value, literals typed by the argument's kind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from alchemist.errors import EmitError
from alchemist.ops.spec import Arg, EnumRef, Kind
from alchemist.program import model
from alchemist.program.config_calls import ConfigCall
from alchemist.program.constants import Ranges
from alchemist.program.text import float_digits
from emit_cpp import layout
from emit_cpp.text import quoted

_PLAIN_MEMORY = {
    ("dram", "interleaved"): "ttnn::DRAM_MEMORY_CONFIG",
    ("l1", "interleaved"): "ttnn::L1_MEMORY_CONFIG",
    ("l1", "block_sharded"): "ttnn::L1_BLOCK_SHARDED_MEMORY_CONFIG",
    ("l1", "height_sharded"): "ttnn::L1_HEIGHT_SHARDED_MEMORY_CONFIG",
    ("l1", "width_sharded"): "ttnn::L1_WIDTH_SHARDED_MEMORY_CONFIG",
}
_CLASSES = {
    "ttnn.WormholeComputeKernelConfig": "ttnn::ComputeKernelConfig",
    "ttnn.Conv2dConfig": "ttnn::Conv2dConfig",
    "ttnn.LayerNormShardedMultiCoreProgramConfig": "ttnn::prim::LayerNormShardedMultiCoreProgramConfig",
    "ttnn.SDPAProgramConfig": "ttnn::operations::transformer::SDPAProgramConfig",
}
_ENUMS = {"ttnn.UnaryOpType": "UnaryOpType"}
_MATMUL = "ttnn::operations::matmul::"
SHORT_NAMES = {name: f"ttnn::operations::unary::{name}" for name in ("EltwiseUnaryWithParam", "UnaryOpType", "UnaryWithParam")}
"""Names of the library that are written without their namespace, like Tensor."""
CONSTANT_TYPES = {
    Kind.MEMORY_CONFIG: "ttnn::MemoryConfig",
    Kind.COMPUTE_CONFIG: "ttnn::ComputeKernelConfig",
    Kind.CONV2D_CONFIG: "ttnn::Conv2dConfig",
}


def render(value: model.Value, arg: Arg | None = None) -> str:
    """Raises EmitError for a value that has no C++ form. arg: the argument it is for, which types its literals."""
    match value:
        case model.TensorRef(name) | model.ParameterRef(name) | model.ConstantRef(name):
            return name
        case model.InverseRoot(of):
            return f"std::pow({render(of)}, -0.5)"
        case model.Element(name, index):
            if isinstance(index, int):
                return f"{name}[{index}]"
            return f"{name}[{index.expression}]"
        case model.NumberRef():
            return _number(value, arg)
        case model.WeightRef(key, stored, collection, taken):
            return f"{collection}.take({render_key(key)})" if taken else f"{'stored' if stored else collection}[{render_key(key)}]"
        case model.DeviceRef(stored):
            return "stored.device()" if stored else "device"
        case model.Literal(literal):
            return render_literal(literal, arg)
        case model.KeyText(key):
            return render_key(key)
        case model.HasWeight(key, collection):
            return f"{collection}.contains({render_key(key)})"
        case model.Items(items):
            return _items(items, arg)
        case model.DType(name):
            return f"ttnn::DataType::{name.upper()}"
        case model.Layout(name):
            return f"ttnn::{name.upper()}_LAYOUT"
        case model.MemoryConfig():
            return render_memory_config(value)
        case model.Record(class_name, fields):
            return _record(class_name, fields)
        case model.Bundle(type_, fields):
            return f"{type_}{{{', '.join(f'.{name} = {render(part)}' for name, part in fields)}}}"
        case model.Unary(op, parameters, named=named):
            numbers = [render(named)] if named is not None else [render_float(number) for number in parameters]
            return f"UnaryWithParam({', '.join([f'UnaryOpType::{op}', *numbers])})"
        case EnumRef(enum, member):
            return f"{_ENUMS.get(enum, enum.replace('.', '::'))}::{member}"
        case _:
            raise EmitError("a value without C++ form", got=repr(value))


def render_literal(value: bool | int | float | str | None, arg: Arg | None = None) -> str:
    if value is None:
        return "nullopt"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"std::string({quoted(value)})"
    if isinstance(value, float) or (arg is not None and arg.kind is Kind.FLOAT):
        return render_float(float(value))
    if arg is not None and arg.kind in (Kind.INT_LIST, Kind.SHAPE) and arg.cpp_type:
        return f"{arg.cpp_type}{{{value}, {value}}}" if arg.cpp_type.endswith(", 2>") else f"{arg.cpp_type}{{{value}}}"
    if value == -(1 << 31):
        return "(-2147483647 - 1)"  # -2147483648 is a long: the minus is not part of the literal
    return f"static_cast<int>({value}U)" if value >= 1 << 31 else str(value)


def render_float(value: float) -> str:
    """A float literal with the fewest digits that give the same float32."""
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}std::numeric_limits<float>::infinity()"
    if math.isnan(value):
        return "std::numeric_limits<float>::quiet_NaN()"
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if not np.isfinite(single):
        return f"{'-' if value < 0 else ''}std::numeric_limits<float>::max()"
    return f"{float_digits(float(str(single)))}f"


def _number(value: model.NumberRef, arg: Arg | None) -> str:
    text = value.name.replace("//", "/")  # both are positive
    if arg is None or arg.kind not in (Kind.INT_LIST, Kind.SHAPE) or not arg.cpp_type:
        return text
    element = _element(value, unsigned="uint" in arg.cpp_type)
    return f"{arg.cpp_type}{{{element}, {element}}}" if arg.cpp_type.endswith(", 2>") else f"{arg.cpp_type}{{{element}}}"


def _element(item: model.Value, *, unsigned: bool) -> str:
    """An element of a braced list, in which an int does not become a uint32_t by itself."""
    if isinstance(item, model.NumberRef) and unsigned:
        return f"uint32_t({render(item)})"
    if isinstance(item, model.Items):
        return f"{{{', '.join(_element(part, unsigned=unsigned) for part in item.items)}}}"
    return render(item)


def _items(items: tuple[model.Value, ...], arg: Arg | None) -> str:
    shape = arg is not None and (arg.kind is Kind.SHAPE or arg.name == "shape")
    inside = ", ".join(_element(item, unsigned=arg is not None and ("uint" in arg.cpp_type or shape)) for item in items)
    if arg is None:
        return f"{{{inside}}}"
    numbers = [item.value for item in items if isinstance(item, model.Literal)]
    shape_like = arg.kind is Kind.SHAPE or (arg.name == "shape" and arg.kind is Kind.INT_LIST)
    if shape_like and all(isinstance(number, int) and number >= 0 for number in numbers):
        return f"ttnn::Shape({{{inside}}})"
    if arg.kind is Kind.TENSOR_LIST:
        return f"std::vector<Tensor>{{{inside}}}"
    if arg.kind is Kind.UNARY_LIST:
        return unary_list(items).flat()
    if arg.cpp_type.startswith("std::array<") and len(items) != _array_size(arg.cpp_type):
        return f"{arg.cpp_type.rpartition(',')[0]}, {len(items)}>{{{inside}}}"
    if arg.cpp_type:
        return f"{arg.cpp_type}{{{inside}}}"
    return f"ttsl::SmallVector<int>{{{inside}}}"


def unary_list(items: Sequence[model.Value]) -> layout.Call:
    """A vector of unary ops, as functions take them; broken into lines like a call's arguments."""
    return layout.Call("std::vector", [f"Eltwise{render(item)}" for item in items], opening="{", closing="}")


def _array_size(cpp_type: str) -> int:
    return int(cpp_type.rpartition(",")[2].strip(" >"))


def record_class(class_name: str) -> str:
    """The C++ type of a config object."""
    name = _CLASSES.get(class_name)
    if name is None:
        short = class_name.rpartition(".")[2]
        name = _MATMUL + short if short.startswith("Matmul") else class_name.replace(".", "::")
    return name


def _record(class_name: str, fields: tuple[tuple[str, model.Value], ...]) -> str:
    if class_name in ("ttnn.CoreGrid", "ttnn.CoreCoord"):
        return f"{class_name.replace('.', '::')}({', '.join(render(part) for _, part in fields)})"
    return f"{record_class(class_name)}{{{', '.join(f'.{key} = {_field(part)}' for key, part in with_derived(class_name, fields))}}}"


def with_derived(class_name: str, fields: tuple[tuple[str, model.Value], ...]) -> tuple[tuple[str, model.Value], ...]:
    """Fields of a config object in C++: with those that only Python's constructor derives from others, in the struct's order."""
    if not class_name.startswith("ttnn.MatmulMultiCoreReuseMultiCast") or "DRAMSharded" in class_name:
        return fields
    given = dict(fields)
    derived = {name: given[source] for name, source in (("out_block_h", "per_core_M"), ("out_block_w", "per_core_N")) if name not in given}
    place = next(index for index, (name, _) in enumerate(fields) if name == "per_core_M")
    return (*fields[:place], *derived.items(), *fields[place:])


def _field(value: model.Value) -> str:
    return quoted(value.value) if isinstance(value, model.Literal) and isinstance(value.value, str) else render(value)


def render_key(key: model.Key) -> str:
    """A weight name; loop variables are joined with `+`, which needs a std::string on one side."""
    if all(isinstance(piece, str) for piece in key):
        return quoted("".join(str(piece) for piece in key))
    return " + ".join(quoted(piece) if isinstance(piece, str) else render_index(piece) for piece in key)


def render_index(index: model.Index) -> str:
    if index.text:
        return index.variable
    return f"std::to_string({index.expression})"


def render_memory_config(config: model.MemoryConfig) -> str:
    call = memory_config_call(config)
    return call if isinstance(call, str) else call.flat()


def render_cores(ranges: Ranges) -> str:
    cores = ", ".join(f"ttnn::CoreRange(ttnn::CoreCoord({x0}, {y0}), ttnn::CoreCoord({x1}, {y1}))" for (x0, y0), (x1, y1) in ranges)
    return f"ttnn::CoreRangeSet(std::vector{{{cores}}})"


def memory_config_call(config: model.MemoryConfig, names: Mapping[Ranges, str] | None = None) -> str | layout.Call:
    """A name of the library, or the call that makes it, with the shards as a call of its own. names: of sets of cores that have one."""
    plain = _PLAIN_MEMORY.get((config.buffer, config.memory))
    if config.shard is None and plain is not None:
        return plain
    parts: list[str | layout.Call] = [f"ttnn::TensorMemoryLayout::{config.memory.upper()}", f"ttnn::BufferType::{config.buffer.upper()}"]
    if config.shard is not None:
        shape, ranges, orientation = config.shard
        extents = ", ".join(str(extent) for extent in shape)
        grid = (names or {}).get(ranges) or render_cores(ranges)
        shard = [grid, f"std::array<uint32_t, 2>{{{extents}}}", f"ttnn::ShardOrientation::{orientation.upper()}"]
        parts.append(layout.Call("ttnn::ShardSpec", shard))
    return layout.Call("ttnn::MemoryConfig", parts)


def config_call(head: str, call: ConfigCall, names: Mapping[Ranges, str]) -> layout.Call:
    """The definition of a constant by a call of a function of utils. head: its left side (`const auto L1 = `). names: constants for sets of cores."""

    def part(value: model.Value | tuple[int, int]) -> str:
        if isinstance(value, tuple):
            return f"{{{value[0]}, {value[1]}}}"
        if isinstance(value, model.MemoryConfig) and value.shard is not None:
            ranges = value.shard[1]
            ((_, (columns, rows)), *others) = ranges
            return names.get(ranges) or (render_cores(ranges) if others else f"ttnn::CoreGrid({columns + 1}, {rows + 1})")
        return render(value)

    parts = [f"/*{name}=*/{part(value)}" if name else part(value) for name, value in call.parts]
    return layout.Call(f"{head}utils::{call.function}", parts, ";")
