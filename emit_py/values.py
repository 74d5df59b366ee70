"""Values as Python expressions: one renderer per class of value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from alchemist.errors import EmitError
from alchemist.ops.spec import EnumRef
from alchemist.program import model
from alchemist.program.config_calls import ConfigCall
from alchemist.program.constants import Ranges
from alchemist.program.text import float_digits
from emit_py.text import quoted, quoted_format

_PLAIN_MEMORY = {
    ("dram", "interleaved"): "ttnn.DRAM_MEMORY_CONFIG",
    ("l1", "interleaved"): "ttnn.L1_MEMORY_CONFIG",
    ("l1", "block_sharded"): "ttnn.L1_BLOCK_SHARDED_MEMORY_CONFIG",
    ("l1", "height_sharded"): "ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG",
    ("l1", "width_sharded"): "ttnn.L1_WIDTH_SHARDED_MEMORY_CONFIG",
}


def render(value: model.Value) -> str:
    """Raises EmitError for a value that has no Python form."""
    match value:
        case model.TensorRef(name) | model.NumberRef(name) | model.ParameterRef(name) | model.ConstantRef(name):
            return name
        case model.InverseRoot(of):
            return f"{render(of)}**-0.5"
        case model.Element(name, index):
            return f"{name}[{index if isinstance(index, int) else index.expression}]"
        case model.WeightRef(key, stored, collection, taken):
            return f"{collection}.pop({render_key(key)})" if taken else f"{'stored' if stored else collection}[{render_key(key)}]"
        case model.DeviceRef(stored):
            return "stored.device" if stored else "device"
        case model.Literal(literal):
            return render_literal(literal)
        case model.KeyText(key):
            return render_key(key)
        case model.HasWeight(key, collection):
            return f"{render_key(key)} in {collection}"
        case model.Items(items):
            return f"[{', '.join(render(item) for item in items)}]"
        case model.DType(name):
            return f"ttnn.{name}"
        case model.Layout(name):
            return f"ttnn.{name.upper()}_LAYOUT"
        case model.MemoryConfig():
            return render_memory_config(value)
        case model.Record("ttnn.CoreCoord", fields):
            return f"ttnn.CoreCoord({', '.join(render(part) for _, part in fields)})"
        case model.Record(class_name, fields):
            return f"{class_name}({', '.join(f'{name}={render(part)}' for name, part in fields)})"
        case model.Bundle(type_, fields):
            return f"{type_}({', '.join(f'{name}={render(part)}' for name, part in fields)})"
        case model.Unary(op, parameters, named=named):
            single = render(named) if named is not None else render_float(parameters[0]) if len(parameters) == 1 else ""
            tail = "" if not parameters else f", {single or [*parameters]}"
            return f"ttnn.UnaryWithParam(ttnn.UnaryOpType.{op}{tail})"
        case EnumRef(enum, member):
            return f"{enum}.{member}"
        case _:
            raise EmitError("a value without Python form", got=repr(value))


def render_literal(value: bool | int | float | str | None) -> str:
    if isinstance(value, float):
        return render_float(value)
    return quoted(value) if isinstance(value, str) else repr(value)


def render_float(value: float) -> str:
    """Shortest text; a float32 value is written with float32's digits (1e-12, not 9.999999960041972e-13)."""
    if not math.isfinite(value):
        return f'float("{value}")'
    with np.errstate(over="ignore"):
        single = np.float32(value)
    return float_digits(float(str(single)) if float(single) == value else value)


def render_key(key: model.Key) -> str:
    if len(key) == 1 and isinstance(key[0], model.Index) and key[0].text:
        return key[0].variable
    return quoted_format([(piece, False) if isinstance(piece, str) else (render_index(piece), True) for piece in key])


def render_index(index: model.Index) -> str:
    return index.expression


def _grid(ranges: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> str | None:
    """The cores as a grid from the first core on, or as the first cores of one, row by row; None for others."""
    (begin, (columns, rows)), *rest = ranges
    if begin != (0, 0) or len(rest) > 1:
        return None
    if not rest:
        return f"ttnn.CoreGrid(x={columns + 1}, y={rows + 1})"
    (start, (last, row)) = rest[0]
    if start != (0, rows + 1) or row != rows + 1 or last >= columns:
        return None
    cores = (columns + 1) * (rows + 1) + last + 1
    return f"ttnn.num_cores_to_corerangeset({cores}, ttnn.CoreCoord({columns + 1}, {row + 1}), row_wise=True)"


def render_cores(ranges: Ranges) -> str:
    """A set of cores by itself."""
    return _grid(ranges) or _core_range_set(ranges)


def _core_range_set(ranges: Ranges) -> str:
    cores = ", ".join(f"ttnn.CoreRange(ttnn.CoreCoord({x0}, {y0}), ttnn.CoreCoord({x1}, {y1}))" for (x0, y0), (x1, y1) in ranges)
    return f"ttnn.CoreRangeSet([{cores}])"


def render_memory_config(config: model.MemoryConfig, names: Mapping[Ranges, str] | None = None) -> str:
    """names: of sets of cores that have one."""
    plain = _PLAIN_MEMORY.get((config.buffer, config.memory))
    if config.shard is None and plain is not None:
        return plain
    head = f"ttnn.TensorMemoryLayout.{config.memory.upper()}, ttnn.BufferType.{config.buffer.upper()}"
    if config.shard is None:
        return f"ttnn.MemoryConfig({head})"
    shape, ranges, orientation = config.shard
    grid = _grid(ranges) if config.buffer == "l1" and orientation == "row_major" and len(shape) == 2 else None
    if grid is not None:
        strategy = config.memory.removesuffix("_sharded").upper()
        grid = (names or {}).get(ranges, grid)
        return f"ttnn.create_sharded_memory_config(({shape[0]}, {shape[1]}), {grid}, ttnn.ShardStrategy.{strategy}, use_height_and_width_as_shard_shape=True)"
    cores = (names or {}).get(ranges) or _core_range_set(ranges)
    spec = f"ttnn.ShardSpec({cores}, {[*shape]}, ttnn.ShardOrientation.{orientation.upper()})"
    return f"ttnn.MemoryConfig({head}, {spec})"


def render_config_call(call: ConfigCall, names: Mapping[Ranges, str]) -> str:
    """names: of sets of cores that have one."""

    def part(value: model.Value | tuple[int, int]) -> str:
        if isinstance(value, tuple):
            return f"({value[0]}, {value[1]})"
        if isinstance(value, model.MemoryConfig) and value.shard is not None:
            return names.get(value.shard[1]) or render_cores(value.shard[1])
        return render(value)

    return f"utils.{call.function}({', '.join(f'{name}={part(value)}' if name else part(value) for name, value in call.parts if value != model.Literal(None))})"
