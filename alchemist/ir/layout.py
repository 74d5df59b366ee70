"""`#ttnn.ttnn_layout`: the encoding of every TTNN tensor type, from which dtype, page layout and memory config derive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr, AffineMap

from alchemist.errors import InternalError
from alchemist.ir.attributes import DTYPE_ELEMENTS, Range, TTAttr, range_set_body, tensor

TILE_EDGE = 32
"""Rows and columns of a tile, in elements."""
HELD_AS = {
    "f32": "f32", "f64": "f32", "f16": "bf16", "bf16": "bf16", "i1": "bf16", "ui1": "bf16",
    "i8": "si32", "i16": "si32", "i32": "si32", "i64": "si32", "si8": "si32",
    "si16": "si32", "si32": "si32", "si64": "si32", "ui8": "u8", "ui16": "u16", "ui32": "u32", "ui64": "u32",
}  # fmt: skip
"""Element type of the model -> device data type. Booleans are 0.0 and 1.0, or as the op that computes them writes them."""


def tile_padded(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of the tiles that hold a tensor: rank 2 or more, the last two extents whole tiles."""
    *lead, rows, columns = (*(1,) * (2 - len(shape)), *shape)
    return (*lead, -(-rows // TILE_EDGE) * TILE_EDGE, -(-columns // TILE_EDGE) * TILE_EDGE)


@dataclass(frozen=True, slots=True)
class LayoutData:
    """linear: logical index -> (row, column) of the collapsed 2-D tensor. shape: memref shape per core, in tiles or elements."""

    linear: AffineMap
    grid: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: str
    tile: bool
    buffer: str
    memory: str = ""
    ranges: tuple[Range, ...] | None = None
    mesh: str = ""
    ignore_physical: bool = False


class TTNNLayout(TTAttr):
    """`#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>`.

    dtype: "f32", "bf16", "si32", "u32", "u16", "u8", "bfp_bf8", "bfp_bf4". page: "tile" | "row_major".
    buffer: "dram" | "l1" | "system_memory" | ... memory: "interleaved" | "height_sharded" | ... , "" on the host.
    """

    name = "ttnn.ttnn_layout"
    data: LayoutData

    @staticmethod
    def make(
        shape: tuple[int, ...],
        dtype: str,
        page: str = "tile",
        buffer: str = "dram",
        memory: str = "interleaved",
        grid: tuple[int, int] = (1, 1),
        ranges: tuple[Range, ...] | None = None,
    ) -> TTNNLayout:
        """Layout of a tensor of logical `shape`, leading dims collapsed into rows (padded to the tile for tiled pages)."""
        return _make(tuple(shape), dtype, page, buffer, "" if buffer == "system_memory" else memory, tuple(grid), ranges)

    @property
    def dtype(self) -> str:
        return self.data.dtype

    @property
    def page(self) -> str:
        return "tile" if self.data.tile else "row_major"

    @property
    def buffer(self) -> str:
        return self.data.buffer

    @property
    def memory(self) -> str:
        return self.data.memory

    @property
    def grid(self) -> tuple[int, ...]:
        return self.data.grid

    @property
    def on_host(self) -> bool:
        return self.data.buffer == "system_memory"

    @property
    def is_sharded(self) -> bool:
        return self.data.memory.endswith("sharded")

    @property
    def orientation(self) -> str:
        """Which way shards follow each other over the cores: "col_major" where R x C blocks lie on C rows of R cores, a row of blocks on a column of
        cores, else "row_major"; square grids are row-major."""
        if self.data.memory != "block_sharded" or self.data.ranges is None or len(self.data.ranges) != 1 or self.grid[0] == self.grid[1]:
            return "row_major"
        (x0, y0), (x1, y1) = self.data.ranges[0]
        return "col_major" if (x1 - x0 + 1, y1 - y0 + 1) == self.grid else "row_major"

    def shard_shape(self) -> tuple[int, ...]:
        """Elements per core (rows, columns)."""
        scale = TILE_EDGE if self.data.tile else 1
        return tuple(dim * scale for dim in self.data.shape)

    def with_(self, shape: tuple[int, ...], *, dtype: str = "", page: str = "", buffer: str = "") -> TTNNLayout:
        """The same layout for `shape` with some properties changed; a host layout that moves to the device is interleaved."""
        grid, ranges = ((self.grid[0], self.grid[1]), self.data.ranges) if self.is_sharded else ((1, 1), None)
        return TTNNLayout.make(shape, dtype or self.dtype, page or self.page, buffer or self.buffer, self.memory or "interleaved", grid, ranges)

    def type_for(self, shape: tuple[int, ...]) -> TensorType[Attribute]:
        """`tensor<shape x element, #layout>`; block formats use the tile type as element, as tt-mlir does."""
        return tensor(shape, DTYPE_ELEMENTS.get(self.dtype, self.dtype), self)

    def memref_body(self) -> str:
        data = self.data
        of = f"!ttcore.tile<32x32, {data.dtype}>" if data.tile else DTYPE_ELEMENTS[data.dtype]
        return "".join(f"{dim}x" for dim in data.shape) + of

    def body(self) -> str:
        return self.body_with(f"#ttnn.buffer_type<{self.data.buffer}>")

    def body_with(self, space: str) -> str:
        """Text with `space` (an alias or the full attribute) as memory space."""
        data = self.data
        parts = [affine_map_text(data.linear), f"<{'x'.join(str(dim) for dim in data.grid)}>"]
        parts += [f'mesh = <"{data.mesh}">'] if data.mesh else []
        parts.append(f"memref<{self.memref_body()}, {space}>")
        parts += [f"<{data.memory}>"] if data.memory else []
        parts += [f"core_ranges = {range_set_body(data.ranges)}"] if data.ranges is not None else []
        parts += ["ignorePhysicalLayout = true"] if data.ignore_physical else []
        return f"<{', '.join(parts)}>"

    def python(self) -> Any:
        return self


def affine_map_text(map_: AffineMap) -> str:
    """`(d0, d1) -> (d0 * 32 + d1, 0)` with MLIR's parentheses."""
    dims = ", ".join(f"d{index}" for index in range(map_.num_dims))
    symbols = f"[{', '.join(f's{index}' for index in range(map_.num_symbols))}]" if map_.num_symbols else ""
    return f"({dims}){symbols} -> ({', '.join(_expr_text(expr) for expr in map_.results)})"


def _expr_text(expr: AffineExpr, tight: bool = False) -> str:
    if isinstance(expr, AffineBinaryOpExpr):
        if expr.kind is AffineBinaryOpKind.Add:
            text = f"{_expr_text(expr.lhs)} + {_expr_text(expr.rhs)}"
            return f"({text})" if tight else text
        return f"{_expr_text(expr.lhs, True)} {expr.kind.get_token()} {_expr_text(expr.rhs, True)}"
    return str(expr)


def layout_of(type_: Attribute) -> TTNNLayout | None:
    """The layout of a tensor type, None for a tensor without one (or no tensor)."""
    encoding = type_.encoding if isinstance(type_, TensorType) else None
    return encoding if isinstance(encoding, TTNNLayout) else None


def _ceil_div(value: int, by: int) -> int:
    return -(-value // by)


@lru_cache(maxsize=65536)
def _make(
    shape: tuple[int, ...],
    dtype: str,
    page: str,
    buffer: str,
    memory: str,
    grid: tuple[int, int],
    ranges: tuple[Range, ...] | None,
) -> TTNNLayout:
    if page not in ("tile", "row_major"):
        raise InternalError(f"unknown page layout {page!r}")
    tile = page == "tile"
    rank = len(shape)
    dims = [AffineExpr.dimension(index) for index in range(rank)]
    zero = AffineExpr.constant(0)
    height = shape[-2] if rank > 1 else 1
    padded = _ceil_div(height, TILE_EDGE) * TILE_EDGE if tile else height
    # (d0 * s1 * s2 + d1 * s2 + d2, d3): collapsed strides count padded rows, written flat as tt-mlir prints it
    row: AffineExpr = zero
    if rank >= 2:
        stride = padded
        terms = [dims[rank - 2]]
        for index in range(rank - 3, -1, -1):
            terms.insert(0, dims[index] * stride if stride != 1 else dims[index])
            stride *= shape[index]
        row = terms[0]
        for term in terms[1:]:
            row = row + term
    linear = AffineMap(rank, 0, (row, dims[-1] if rank else zero))
    rows = padded if rank > 1 else (TILE_EDGE if tile else 1)
    for dim in shape[:-2]:
        rows *= dim
    columns = shape[-1] if rank else 1
    scale = TILE_EDGE if tile else 1
    per_core = (_ceil_div(_ceil_div(rows, scale), grid[0]), _ceil_div(_ceil_div(columns, scale), grid[1]))
    if memory == "height_sharded" and grid[1] != 1:
        cores = grid[0] * grid[1]
        per_core = (_ceil_div(_ceil_div(rows, scale), cores), _ceil_div(columns, scale))
    elif memory == "width_sharded" and grid[0] != 1:
        cores = grid[0] * grid[1]
        per_core = (_ceil_div(rows, scale), _ceil_div(_ceil_div(columns, scale), cores))
    return TTNNLayout(LayoutData(linear, grid, per_core, dtype, tile, buffer, memory, ranges))
