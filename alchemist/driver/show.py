"""`alchemist show INPUT.mlir`: a table of ops, shapes and memory per function."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ttnn_shim.command_line import CommandParser
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

from alchemist.driver import mlir_files
from alchemist.ir.access import argument_attrs, element_type, shape
from alchemist.ir.attributes import numpy_dtype
from alchemist.ir.layout import layout_of, tile_padded
from alchemist.ir.location import from_location, sources_of

_BFP_BITS = {"bfp_bf8": 8.5, "bfp_bf4": 4.5, "bfp_bf2": 2.5, "bfp_f8": 8.5, "bfp_f4": 4.5, "bfp_f2": 2.5}


def main(arguments: Sequence[str]) -> int:
    parser = CommandParser(prog="alchemist show", description="List ops, shapes and memory of each function.")
    parser.add_argument("input", metavar="INPUT.mlir")
    args = parser.parse_args(arguments)
    for text in tables(mlir_files.Chunk(mlir_files.read_text(args.input), args.input)):
        print(text)
    return 0


def tables(chunk: mlir_files.Chunk) -> Iterator[str]:
    """One table per function with a body.

    Raises:
        ParseError, VerifyError: see `mlir_files.read`.
    """
    module = mlir_files.read(chunk)
    for op in module.walk():
        if isinstance(op, FuncOp) and op.body.blocks:
            yield _table(op)


def size_bytes(type_: Attribute) -> int:
    """Bytes of a tensor where its layout puts it: padded to 32 x 32 tiles when tiled; 0 for what is no tensor."""
    if not isinstance(type_, TensorType):
        return 0
    dims, of = list(shape(type_)), element_type(type_)
    layout = layout_of(type_)
    if layout is not None:
        of = layout.dtype
        if layout.page == "tile":
            dims = list(tile_padded(dims))
    bits = _BFP_BITS.get(of)
    if bits is None:
        bits = {"si32": 32.0, "u32": 32.0, "u16": 16.0, "u8": 8.0, "f32": 32.0, "bf16": 16.0, "f16": 16.0}.get(of)
    if bits is None:
        bits = numpy_dtype(of).itemsize * 8.0
    return int(math.prod(dims) * bits / 8)


def where(type_: Attribute) -> str:
    """`dram tile interleaved`, or "" without a layout."""
    layout = layout_of(type_)
    if layout is None:
        return ""
    return " ".join(filter(None, (layout.buffer, layout.page, layout.memory)))


def readable(size: int) -> str:
    """1536 -> "1.5 KiB"."""
    if size < 1024:
        return f"{size} B"
    value = size / 1024
    for unit in ("KiB", "MiB"):
        if value < 1024:
            return f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def type_text(value: SSAValue) -> str:
    if not isinstance(value.type, TensorType):
        return str(value.type.name)
    return f"{'x'.join(map(str, shape(value))) or 'scalar'} {element_type(value)}"


def _table(func: FuncOp) -> str:
    rows = [("", "op", "result", "memory", "size", "source")]
    facts = argument_attrs(func)
    total_arguments = 0
    for index, arg in enumerate(func.args):
        size = size_bytes(arg.type)
        total_arguments += size
        described = facts[index] if index < len(facts) else {}
        kind = str(described.get("ttcore.argument_type", "argument"))
        infos = from_location(arg.location)
        name = str(described.get("ttir.name") or (infos[0].name if infos else ""))
        rows.append((f"%arg{index}", kind, type_text(arg), where(arg.type), readable(size), name))
    count = 0
    block = func.body.block
    for op in block.ops:
        if isinstance(op, ReturnOp):
            continue
        count += 1
        infos = sources_of(op)
        text = ""
        if infos and infos[0].scopes:
            text = infos[0].scopes[-1].path or infos[0].scopes[-1].class_name
        elif infos and infos[0].frames:
            text = f"{infos[0].frames[-1].file}:{infos[0].frames[-1].line}"
        elif infos:
            text = infos[0].name
        results = list(op.results)
        rows.append(
            (
                str(count - 1),
                op.name,
                ", ".join(type_text(result) for result in results),
                where(results[0].type) if results else "",
                readable(sum(size_bytes(result.type) for result in results)) if results else "",
                text,
            )
        )
    widths = [min(max(len(row[column]) for row in rows), 60) for column in range(len(rows[0]))]
    lines = [f"@{func.sym_name.data}: {count} ops, arguments {readable(total_arguments)}, peak of values {readable(_peak(func))}"]
    for row in rows:
        cells = (cell[:60].replace("\n", " ").ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _peak(func: FuncOp) -> int:
    """Maximum number of bytes of simultaneously live values in the function."""
    ops = list(func.body.block.ops)
    number = {op: index for index, op in enumerate(ops)}
    ends: dict[int, int] = {}
    alive = peak = 0
    for index, op in enumerate(ops):
        for result in op.results:
            size = size_bytes(result.type)
            last = max((number.get(use.operation, len(ops)) for use in result.uses), default=index)
            ends[last] = ends.get(last, 0) + size
            alive += size
        peak = max(peak, alive)
        alive -= ends.pop(index, 0)
    return peak
