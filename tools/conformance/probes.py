"""Probes: small independent TTNN calls made from the samples of every op record, and variations of each.

A sample is varied in dtype, layout and memory config (L1, height/width/block sharded inputs, an L1 result, a host tensor);
ops that keep the shape also get edge shapes. `written_rows.py` adds calls of ops whose record has no sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from alchemist.ir.dialects import op_info
from alchemist.ops import TTNN_OPS
from alchemist.ops.spec import REQUIRED, Arg, EnumRef, ErrorSample, Kind, OpSpec, Sample

Input = tuple[tuple[int, ...], str, str, str]  # shape, dtype, layout, "host" or memory config expression

DRAM, L1 = "ttnn.DRAM_MEMORY_CONFIG", "ttnn.L1_MEMORY_CONFIG"
DTYPES = ("float32", "bfloat8_b", "bfloat4_b", "int32", "uint32", "uint16", "uint8")
EDGE_SHAPES: tuple[tuple[int, ...], ...] = ((7,), (1, 1, 1, 1), (2, 3, 4, 5, 6), (3, 100), (2, 1, 64, 33), (1, 2, 1, 1, 32, 32))
HOST_WEIGHTS = ("ttnn.conv2d", "ttnn.conv1d", "ttnn.conv_transpose2d")
VARIED_SAMPLES = 2  # of each op; the other samples are probed as they are
_IR_DTYPES = {"f32": "float32", "bf16": "bfloat16", "si32": "int32", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bfp_bf8": "bfloat8_b"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Probe:
    """id: unique text. op: name of the record. inputs and call: see runner.py."""

    id: str
    op: str
    inputs: tuple[Input, ...]
    call: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def sharded(kind: str, shape: Sequence[int]) -> str:
    """A memory config that shards `shape` over a few cores, "" when it has no even split in tiles."""
    if len(shape) < 2 or shape[-1] % 32 or shape[-2] % 32 or 0 in shape:
        return ""
    rows, width = math.prod(shape[:-1]) // 32, shape[-1] // 32

    def split(tiles: int) -> int:
        return max(n for n in (1, 2, 3, 4) if tiles % n == 0)

    y, x = (split(rows), 1) if kind == "HEIGHT" else (1, split(width)) if kind == "WIDTH" else (split(rows), split(width))
    grid = f"ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord({x - 1}, {y - 1}))])"
    spec = f"ttnn.ShardSpec({grid}, [{rows * 32 // y}, {width * 32 // x}], ttnn.ShardOrientation.ROW_MAJOR)"
    return f"ttnn.MemoryConfig(ttnn.TensorMemoryLayout.{kind}_SHARDED, ttnn.BufferType.L1, {spec})"


def _unary(part: Any) -> str:
    """A fused activation by name, or with its parameters."""
    op, parameters = (part["op_type"], part.get("params") or ()) if isinstance(part, Mapping) else (part, ())
    return f"ttnn.UnaryWithParam({', '.join([f'ttnn.UnaryOpType.{op.upper()}', *map(repr, parameters)])})"


def literal(value: Any, arg: Arg) -> str:
    match arg.kind:
        case Kind.DTYPE:
            return f"ttnn.{_IR_DTYPES.get(value, value)}"
        case Kind.LAYOUT:
            return f"ttnn.{value.upper()}_LAYOUT"
        case Kind.ENUM:
            return f"{value.enum}.{value.member}" if isinstance(value, EnumRef) else f"{arg.default.enum}.{value}"
        case Kind.CORE_GRID:
            return f"ttnn.CoreGrid(x={value[0]}, y={value[1]})"
        case Kind.PAIR_LIST:
            return repr([tuple(value[i : i + 2]) for i in range(0, len(value), 2)])
        case Kind.UNARY_LIST:
            return "[" + ", ".join(_unary(part) for part in value) + "]"
        case Kind.COMPUTE_CONFIG | Kind.CONV2D_CONFIG | Kind.PROGRAM_CONFIG:
            return "None"
        case _:
            if isinstance(value, float) and not math.isfinite(value):
                return f'float("{value}")'
            return repr(list(value) if isinstance(value, tuple) else value)


def call_text(spec: OpSpec, sample: Sample | ErrorSample, memory: str = "") -> str:
    """The Python call of a sample; input i is `a[i]`."""
    groups = [group.name for group in op_info(spec.name).operands]
    count = len(sample.inputs)
    words = []
    keyword = False
    for arg in spec.args:
        source, _, name = arg.source.partition(":")
        text = ""
        if source == "operand":
            if arg.kind is Kind.TENSOR_LIST:
                text = "[" + ", ".join(f"a[{i}]" for i in range(count)) + "]"
            elif groups.index(name) < count:
                text = f"a[{groups.index(name)}]"
        elif source == "attr" and sample.attributes.get(name) is not None:
            text = literal(sample.attributes[name], arg)
        elif source == "const":
            text = name
        elif source == "device":
            text = "device"
        elif source == "memory_config":
            text = memory or (DRAM if arg.default is REQUIRED else "")
        elif source == "dtype" and (arg.default is REQUIRED or not sample.inputs):
            text = "ttnn.float32" if sample.inputs else "ttnn.bfloat16"
        elif source == "layout" and (arg.default is REQUIRED or not sample.inputs) and isinstance(sample, Sample):
            text = f"ttnn.{sample.layout.upper()}_LAYOUT"
        elif source == "shape" and isinstance(sample, Sample):
            text = repr(list(sample.outputs[0]))
        if not text:
            keyword = True
            continue
        keyword = keyword or arg.keyword
        words.append(f"{arg.name}={text}" if keyword else text)
    return f"{spec.target}({', '.join(words)})"


def base_inputs(spec: OpSpec, sample: Sample | ErrorSample) -> tuple[Input, ...]:
    layout = getattr(sample, "layout", "tile")
    rows = []
    for i, (shape, dtype) in enumerate(sample.inputs):
        host = spec.name in HOST_WEIGHTS and i > 0
        rows.append((tuple(shape), dtype, "row_major" if host else layout, "host" if host else DRAM))
    return tuple(rows)


def varied(inputs: tuple[Input, ...]) -> Iterator[tuple[str, tuple[Input, ...]]]:
    for dtype in DTYPES:
        yield dtype, tuple((s, dtype if d == "bfloat16" else d, layout, m) for s, d, layout, m in inputs)
    other = {"tile": "row_major", "row_major": "tile"}
    yield "layout", tuple((s, d, other[layout], m) for s, d, layout, m in inputs)
    yield "l1", tuple((s, d, layout, L1 if m == DRAM else m) for s, d, layout, m in inputs)
    yield "host", tuple((s, d, layout, "host") for s, d, layout, m in inputs)
    if len(inputs) > 1:
        yield "mixed", (inputs[0], *((s, "float32" if d == "bfloat16" else d, layout, m) for s, d, layout, m in inputs[1:]))
        yield "mixed-layout", (*inputs[:-1], (*inputs[-1][:2], other[inputs[-1][2]], inputs[-1][3]))
    for kind in ("HEIGHT", "WIDTH", "BLOCK"):
        config = sharded(kind, inputs[0][0])
        if config:
            yield kind.lower(), ((*inputs[0][:3], config), *inputs[1:])
            if len(inputs) > 1 and all(i[0] == inputs[0][0] for i in inputs):
                yield kind.lower() + "-all", tuple((*i[:3], config) for i in inputs)


def probes_of(spec: OpSpec) -> Iterator[Probe]:
    takes_memory = any(arg.source == "memory_config" for arg in spec.args)
    distinct = sorted(spec.samples, key=lambda s: -int(all(d % 32 == 0 for shape, _ in s.inputs for d in shape[-2:])))
    for number, sample in enumerate(distinct):
        inputs, call = base_inputs(spec, sample), call_text(spec, sample)
        name = f"{spec.name}/{number}"
        yield Probe(name, spec.name, inputs, call)
        if number >= VARIED_SAMPLES:
            continue
        if takes_memory:
            yield Probe(f"{name}/out-l1", spec.name, inputs, call_text(spec, sample, L1))
            for kind in ("HEIGHT", "BLOCK"):
                config = sharded(kind, sample.outputs[0]) if sample.outputs else ""
                if config and number == 0:
                    yield Probe(f"{name}/out-{kind.lower()}", spec.name, inputs, call_text(spec, sample, config))
        if inputs:
            for label, changed in varied(inputs):
                yield Probe(f"{name}/{label}", spec.name, changed, call)
    first = next((s for s in spec.samples if s.inputs), None)
    if first and first.outputs and all(shape == first.outputs[0] for shape, _ in first.inputs) and not spec.name.startswith("ttnn.conv"):
        inputs, call = base_inputs(spec, first), call_text(spec, first)
        for shape in EDGE_SHAPES:
            yield Probe(f"{spec.name}/{shape}", spec.name, tuple((shape, *row[1:]) for row in inputs), call)
        if len(inputs) == 2:
            for left, right in (((32, 64), (1, 64)), ((32, 64), (32, 1)), ((2, 3, 32, 32), (1, 1, 32, 32)), ((64,), (3, 64)), ((31, 33), (33,)), ((32, 64), (32, 32)), ((2, 32, 32), (3, 32, 32))):  # fmt: skip
                pair = ((left, *inputs[0][1:]), (right, *inputs[1][1:]))
                yield Probe(f"{spec.name}/{left}{right}", spec.name, pair, call)
    for number, wrong in enumerate(spec.error_samples):
        yield Probe(f"{spec.name}/error{number}", spec.name, base_inputs(spec, wrong), call_text(spec, wrong))


def all_probes() -> list[Probe]:
    import config_rows
    import random_rows
    import rule_rows
    import written_rows

    made = [probe for spec in TTNN_OPS.values() for probe in probes_of(spec)]
    for letter, table in (
        ("x", written_rows.ROWS),
        ("y", rule_rows.grouped(rule_rows.rows())),
        ("z", rule_rows.grouped(random_rows.rows())),
        ("c", rule_rows.grouped(config_rows.rows())),
    ):
        for name, rows in table.items():
            for number, (inputs, call) in enumerate(rows):
                shaped = tuple((tuple(row[0]), *(tuple(row[1:]) + ("bfloat16", "tile", DRAM)[len(row) - 1 :])) for row in inputs)
                made.append(Probe(f"ttnn.{name}/{letter}{number}", f"ttnn.{name}", shaped, call))  # type: ignore[arg-type]
    return made
