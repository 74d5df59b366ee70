"""TTNN: x * cos + turned x * sin as one program, where the library has one for these columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources
from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ops.spec import NOTE
from alchemist.passes.columns import Columns, Integers, Matrix
from alchemist.passes.columns_by_product import Products, may_round
from alchemist.passes.lower.configs import wide_sums_config

WIDEST_IN_TILES = 256
"""Columns of a head that rotary_embedding_llama takes."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """result = x * cos + turned * sin. op: makes the result. turned: columns of x. free: columns of which sin is zero, so that it does not matter what
    turns into them."""

    op: Operation
    x: SSAValue
    turned: Columns
    cos: SSAValue
    sin: SSAValue
    free: frozenset[int] = frozenset()

    def written(self, products: Products, replaced: Sequence[Operation]) -> list[Operation]:
        """The rotation as one program in front of its op, and a cast where the op's result is of another type; nothing where the library has none.

        replaced: what it stands for, the last op first.

        rotary_embedding and rotary_embedding_hf turn halves of one tile or of whole tiles, the latter in float32 too; rotary_embedding_llama multiplies
        each tile by one and the same matrix, in bfloat16.
        """
        x, result = self.x, self.op.results[0]
        of = layout_of(x.type)
        if of is None or not self._fits():
            return []
        b = Builder.before(self.op)
        operands, size = [x, products.table(self.cos), products.table(self.sin)], shape(x)[-1]
        if turns_halves(self.turned.picked) and (size == TILE_EDGE or size % (2 * TILE_EDGE) == 0):
            if of.dtype == "bf16" and size > TILE_EDGE and shape(x)[-2] % TILE_EDGE == 0:
                made = [b.make("ttnn.rotary_embedding", operands, {}, [x.type])]
            else:
                sums = {"compute_config": wide_sums_config(products.options)} if of.dtype == "f32" else {}
                made = [b.make("ttnn.rotary_embedding_hf", operands, {"is_decode_mode": False, **sums}, [x.type])]
        else:
            matrix = tile_matrix(self.turned.picked, self.free) if of.dtype == "bf16" and size <= WIDEST_IN_TILES else None
            if matrix is None:
                return []
            turn = products.matrix(matrix, of, self.op, (1, 1, TILE_EDGE, TILE_EDGE))
            made = [b.make("ttnn.rotary_embedding_llama", [*operands, turn], {"is_decode_mode": False}, [x.type])]
        set_source(made[0], *sources_of(self.op))
        add_sources(made[0], *reversed(replaced[1:]))
        if result.type != x.type:
            note = {NOTE: self.op.attributes[NOTE]} if NOTE in self.op.attributes else {}
            made.append(b.make("ttnn.typecast", [made[-1].results[0]], note, [result.type]))
            set_source(made[-1], *sources_of(self.op))
        return made

    def _fits(self) -> bool:
        """What the kernels take: heads of whole tiles in interleaved memory, one table for all batches and heads, all of one type."""
        dims, result = shape(self.x), self.op.results[0]
        if len(dims) != 4 or shape(result) != dims or dims[-1] % TILE_EDGE or self.turned.rows != dims[:-1] or self.turned.cut is not None:
            return False
        tables = [shape(table) for table in (self.cos, self.sin)]
        if self.turned.picked.size != dims[-1] or any(table[-2:] != dims[2:] or any(size != 1 for size in table[:-2]) for table in tables):
            return False
        layouts = [layout_of(value.type) for value in (self.x, self.cos, self.sin)]
        kinds = {None if one is None else (one.dtype, one.page, one.is_sharded, one.buffer) for one in layouts}
        return kinds in ({("bf16", "tile", False, "dram")}, {("f32", "tile", False, "dram")}) and may_round(self.x, result)


def half_turn(size: int) -> Integers:
    """(-x2, x1) of two halves, as columns count from 1."""
    order = np.arange(1, size + 1)
    return np.concatenate([-order[size // 2 :], order[: size // 2]])


def turns_halves(picked: Integers) -> bool:
    """Whether columns (x1, x2) of two halves become (-x2, x1)."""
    return picked.size % 2 == 0 and np.array_equal(picked.reshape(-1), half_turn(picked.size))


def tile_matrix(picked: Integers, free: Sequence[int] | frozenset[int] = frozenset()) -> Matrix | None:
    """The matrix of 0, 1 and -1 that makes the columns of every tile of those of the same tile; None where there is no one for all tiles.

    free: columns that may become anything.
    """
    found = np.zeros((TILE_EDGE, TILE_EDGE), dtype=np.float32)
    for column, number in enumerate(picked.reshape(-1)):
        source = abs(int(number)) - 1
        if column in free:
            continue
        if source // TILE_EDGE != column // TILE_EDGE:
            return None
        wanted = np.zeros(TILE_EDGE, dtype=np.float32)
        wanted[source % TILE_EDGE] = np.sign(number)
        have = found[:, column % TILE_EDGE]
        if have.any() and not np.array_equal(have, wanted):
            return None
        found[:, column % TILE_EDGE] = wanted
    return found
