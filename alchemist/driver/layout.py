"""`alchemist layout TYPE`: how a tensor with a layout is stored, of today's `#ttnn.ttnn_layout` and the `#tt.layout` of 2024."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from ttnn_shim.command_line import CommandParser
from ttnn_shim.dtypes import BYTES, tile_bytes
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from alchemist.errors import ParseError, UserError
from alchemist.ir.attributes import OpaqueAttr, element_name
from alchemist.ir.dialect_parser import AttributeParser
from alchemist.ir.layout import TILE_EDGE, TTNNLayout
from alchemist.ops.library_names import DTYPES
from alchemist.toolchain import layouts
from alchemist.toolchain.layouts import OldLayout
from alchemist.toolchain.spellings import OldSpellings


class _Kept(OldSpellings):
    """Keeps the old layouts that the parser meets."""

    def __init__(self) -> None:
        super().__init__()
        self.old: OldLayout | None = None

    def encoding(self, shape: tuple[int, ...], of: Attribute, encoding: Attribute) -> Attribute:
        if isinstance(encoding, OpaqueAttr) and encoding.data[0] == "#tt.layout":
            self.old = layouts.read_layout(encoding.data[1], self, shape)
            layouts.check(self.old, shape)
        return super().encoding(shape, of, encoding)


def main(arguments: Sequence[str]) -> int:
    parser = CommandParser(prog="alchemist layout", description="Print how a tensor type is stored: physical shape, shard of a core, tiles, padding.")
    parser.add_argument("type", metavar="TYPE", help="'tensor<64x128xf32, #ttnn.ttnn_layout<...>>', also with #tt.layout of 2024; - reads stdin")
    args = parser.parse_args(list(arguments))
    print("\n".join(describe(sys.stdin.read() if args.type == "-" else args.type)))
    return 0


def describe(text: str) -> list[str]:
    """Lines of `name  value`.

    Raises:
        ParseError: not a type; a map, grid or shard that does not fit the tensor, with both numbers. UserError: not a tensor.
    """
    recorder = _Kept()
    p = AttributeParser(" ".join(text.split()), "TYPE")
    p.older = recorder
    type_ = p.parse_type()
    if p.skip() < len(p.source):
        raise ParseError("unexpected text after the type", location=p.position(p.offset), got=p.source[p.offset :][:60])
    if not isinstance(type_, TensorType):
        raise UserError("no tensor type", expected="tensor<64x128xf32, #ttnn.ttnn_layout<...>>", got=text.strip()[:80])
    if not isinstance(type_.encoding, TTNNLayout):
        return [f"tensor    {_by(tuple(type_.get_shape()))} {element_name(type_.element_type)}", "layout    none: the compiler chooses one"]
    shape, today = tuple(type_.get_shape()), type_.encoding
    old = recorder.old
    if old is not None:
        return _lines(shape, element_name(type_.element_type), old.physical(shape), old.grid, old.shard, old.tile, old.dtype, old.buffer, old.memory)
    last = [dim - 1 for dim in shape]
    physical = tuple(layouts.value(result, last) + 1 for result in today.data.linear.results)
    return _lines(shape, element_name(type_.element_type), physical, today.grid, today.data.shape, today.data.tile, today.dtype, today.buffer, today.memory)


def _lines(
    shape: Sequence[int], element: str, physical: Sequence[int], grid: Sequence[int], shard: Sequence[int], tile: bool, dtype: str, buffer: str, memory: str
) -> list[str]:
    edges = [1] * (len(shard) - 2) + [TILE_EDGE if tile else 1] * min(len(shard), 2)
    elements = [count * edge for count, edge in zip(shard, edges, strict=True)]
    stored = [count * cores for count, cores in zip(elements, grid, strict=True)]
    padding = math.prod(stored) - math.prod(shape)
    cores = math.prod(grid)
    name = DTYPES.get(dtype, dtype)
    size_bytes = math.prod(shard) * (tile_bytes(name) if tile else BYTES.get(name, 2))
    rows = {
        "tensor": f"{_by(shape)} {element}",
        "physical": f"{_by(physical)} elements",
        "grid": f"{_by(grid)} cores",
        "shard": f"{_by(elements)} elements" + (f", {_by(shard)} tiles of {TILE_EDGE}x{TILE_EDGE}" if tile else ""),
        "stored": f"{_by(stored)} elements, of which {padding} are padding",
        "memory": f"{buffer}{' ' + memory if memory else ''}, {dtype}, {'tiles' if tile else 'row-major'}",
        "size": f"{size_bytes} bytes a core, {size_bytes * cores} bytes in all",
    }
    return [f"{name:<10}{value}" for name, value in rows.items()]


def _by(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes)) or "scalar"
