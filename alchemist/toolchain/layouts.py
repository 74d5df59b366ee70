"""Tensor encodings of 2024 and 2025: `#tt.layout`, and `#ttnn.ttnn_layout` with a grid that today's do not have.

An old layout tells the grid of every tensor and the shard of each core. Today's has a grid only where a tensor is sharded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from alchemist.errors import ParseError
from alchemist.ir.attributes import ELEMENT_DTYPES, Range, TileType, element_name
from alchemist.ir.dialect_parser import AttributeParser
from alchemist.ir.layout import TILE_EDGE, TTNNLayout
from alchemist.ir.lexer import BARE
from alchemist.ir.older import OlderText

_DIMENSION = re.compile(r"\d+ *x *")
_BUFFERS = {"system": "system_memory", "mmio": "system_memory", "system_memory": "system_memory", "dram": "dram", "l1": "l1", "l1_small": "l1_small"}
_MEMORY = {"none_layout": "", "undef": "", "single_bank": "interleaved", "interleaved": "interleaved"} | {
    name: name for name in ("height_sharded", "width_sharded", "block_sharded")
}
_GRID_COLUMNS = 8
"""Columns of the worker grid of the cards for which these texts were written."""


@dataclass(frozen=True, slots=True)
class OldLayout:
    """linear: logical index -> physical index. shard: memref extents of a core, in tiles or elements. memory: "" if the text has none."""

    linear: AffineMap
    grid: tuple[int, ...]
    shard: tuple[int, ...]
    dtype: str
    tile: bool
    buffer: str
    memory: str

    def physical(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Extents of the tensor in memory, without padding."""
        last = [dim - 1 for dim in shape]
        return tuple(value(result, last) + 1 for result in self.linear.results)

    def expected_shard(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Extents of a core's part: the physical ones over the grid, rounded up, in tiles for the last two of a tiled tensor."""
        cores = [-(-dim // count) for dim, count in zip(self.physical(shape), self.grid, strict=True)]
        if self.tile:
            cores[-2:] = [-(-dim // TILE_EDGE) for dim in cores[-2:]]
        return tuple(cores)


def read_layout(body: str, older: OlderText, shape: Sequence[int] = ()) -> OldLayout:
    """An old layout from its text in `<...>`, aliases expanded. shape: of the tensor, for the form with strides.

    Raises:
        ValueError: the text is no such layout.
    """
    p = AttributeParser(body, "")
    p.older = older
    try:
        return _read(p, shape)
    except ParseError as error:
        raise ValueError(f"the layout cannot be read: {error.message}") from None


def _read(p: AttributeParser, shape: Sequence[int]) -> OldLayout:
    p.expect("<")
    linear = p.affine_map() if p.peek("(") else _from_strides(p.dimension_list(), len(shape))
    p.expect(",")
    if not p.peek("<"):
        p.need(BARE, "a value for what is out of bounds")
        p.expect(",")
    p.expect("<")
    grid = p.dimension_list()
    if p.accept(","):
        p.affine_map()
    p.expect(">")
    p.expect(",")
    p.expect("memref")
    p.expect("<")
    shard: list[int] = []
    while (count := p.match(_DIMENSION)) is not None:
        shard.append(int(count.rstrip("x ")))
    of = p.parse_type()
    p.expect(",")
    space = p.attribute()
    p.expect(">")
    memory = ""
    if p.accept(","):
        sharp = p.accept("<")
        memory = p.need(BARE, "a memory layout")
        if sharp:
            p.expect(">")
    buffer = _BUFFERS.get(str(getattr(space, "data", "")), "")
    if not buffer and isinstance(getattr(space, "data", None), tuple):
        buffer = _BUFFERS.get(space.data[1].strip("<>"), "")  # type: ignore[attr-defined]
    if not buffer or memory not in (*_MEMORY, ""):
        p.fail(f"no memory space or memory layout of that name: {space}, {memory}")
    tile = isinstance(of, TileType)
    dtype = of.dtype if isinstance(of, TileType) else ELEMENT_DTYPES.get(element_name(of), element_name(of))
    return OldLayout(linear, grid, tuple(shard), dtype, tile, buffer, _MEMORY.get(memory, ""))


def _from_strides(strides: Sequence[int], rank: int) -> AffineMap:
    """`8192x128x1`: elements between neighbours of each dimension, in front of them the size of the whole."""
    if len(strides) != rank + 1 or not strides or strides[-1] != 1 or min(strides) < 1:
        raise ValueError(f"the layout has {len(strides)} strides, a tensor of rank {rank} needs {rank + 1}, the last of them 1")
    own = strides[1:]
    row: AffineExpr = AffineExpr.constant(0)
    for index, stride in enumerate(own[:-1]):
        if stride % own[-2]:
            raise ValueError(f"a stride of {stride} is no whole number of rows of {own[-2]}")
        factor = stride // own[-2]
        term: AffineExpr = AffineExpr.dimension(index)
        term = term * factor if factor != 1 else term
        row = term if index == 0 else row + term
    return AffineMap(rank, 0, (row, AffineExpr.dimension(rank - 1)))


def value(expr: AffineExpr, index: Sequence[int]) -> int:
    match expr:
        case AffineConstantExpr():
            return expr.value
        case AffineDimExpr():
            return index[expr.position]
        case AffineBinaryOpExpr():
            left, right = value(expr.lhs, index), value(expr.rhs, index)
            match expr.kind:
                case AffineBinaryOpKind.Add:
                    return left + right
                case AffineBinaryOpKind.Mul:
                    return left * right
                case AffineBinaryOpKind.FloorDiv:
                    return left // right if right else 0
                case AffineBinaryOpKind.Mod:
                    return left % right if right else 0
                case AffineBinaryOpKind.CeilDiv:
                    return -(-left // right) if right else 0
    raise ValueError(f"the layout's map has an expression without value: {expr}")


def check(layout: OldLayout, shape: Sequence[int]) -> None:
    """Raises ValueError where the map, the grid or the shard do not fit the tensor; both numbers are in the message."""
    if layout.linear.num_dims != len(shape):
        raise ValueError(f"the layout's map has {layout.linear.num_dims} dimensions, the tensor {len(shape)}")
    if len(layout.grid) != len(layout.linear.results):
        raise ValueError(f"the layout's grid has {len(layout.grid)} dimensions, its map gives {len(layout.linear.results)}")
    if min(layout.grid, default=1) < 1:
        raise ValueError(f"the layout's grid is empty: {'x'.join(map(str, layout.grid))}")
    expected = layout.expected_shard(shape)
    if layout.shard != expected:
        unit = "tiles" if layout.tile else "elements"
        raise ValueError(f"a core of the grid holds {'x'.join(map(str, expected))} {unit}, the layout's memref says {'x'.join(map(str, layout.shard))}")


def today(layout: OldLayout, shape: tuple[int, ...]) -> TTNNLayout:
    """Today's layout of the tensor. A grid stays where the text names a sharding; the runtime of that day kept all else interleaved."""
    if not layout.memory.endswith("sharded"):
        return TTNNLayout.make(shape, layout.dtype, "tile" if layout.tile else "row_major", layout.buffer)
    rows, columns = layout.grid[-2:] if len(layout.grid) > 1 else (1, layout.grid[0])
    return TTNNLayout.make(
        shape, layout.dtype, "tile" if layout.tile else "row_major", layout.buffer, layout.memory, (rows, columns), _cores(layout.memory, rows, columns)
    )


def _cores(memory: str, rows: int, columns: int) -> tuple[Range, ...]:
    """A grid of blocks is a rectangle of cores; a row or a column of shards goes through the worker grid row by row."""
    if memory == "block_sharded" or rows * columns <= _GRID_COLUMNS:
        width = columns if memory == "block_sharded" else rows * columns
        return (((0, 0), (width - 1, (rows if memory == "block_sharded" else 1) - 1)),)
    count = rows * columns
    full, rest = divmod(count, _GRID_COLUMNS)
    ranges: tuple[Range, ...] = (((0, 0), (_GRID_COLUMNS - 1, full - 1)),)
    return (*ranges, ((0, full), (rest - 1, full))) if rest else ranges


def encoding_of(shape: tuple[int, ...], body: str, older: OlderText, *, checked: bool) -> Attribute:
    """Today's encoding for the text of an old one. checked: refuse a map, grid or shard that does not fit; tt-mlir did not look at those of 2025.

    Raises:
        ValueError: it cannot be read, or does not fit.
    """
    layout = read_layout(body, older, shape)
    if checked:
        check(layout, shape)
    return today(layout, shape)
