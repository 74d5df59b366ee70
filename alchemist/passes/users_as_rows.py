"""TTIR: one token of each user as the rows of a tile, instead of a tile per user that is empty but for one row."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp

from alchemist.ir.access import shape
from alchemist.ir.edit import erase_dead, functions
from alchemist.passes.registry import Pass, register
from alchemist.passes.rows import Dims, as_rows, has_rows, rearranged


@register("users-as-rows", fusing=True)
class UsersAsRows(Pass):
    """In a step of decoding, ops on [B, 1, K] and [B, H, 1, D] work on [1, B, K] and [1, B, H, D]: users share tiles."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            if any(op.name == "ttir.scaled_dot_product_attention_decode" for op in func.body.block.ops):
                for op in list(func.body.block.ops):
                    if len(op.results) == 1 and _is_thin(shape(op.results[0])) and (rows := as_rows(op, moved, _broadcast)) is not None:
                        rearranged(op, rows)
                erase_dead(func)


def _is_thin(dims: Dims) -> bool:
    """Whether tiles of [..., N, 1, K] hold one row each of several that one tile could hold."""
    return len(dims) in (3, 4) and dims[-2] == 1 and math.prod(dims[:-2]) > 1 and dims[-1] > 1


def moved(dims: Dims) -> Dims:
    """The same elements with the dim of size 1 in front of all others."""
    return (1, *dims[:-2], dims[-1])


def _broadcast(dims: Dims, result: Dims) -> Dims | None:
    """An operand that is broadcast, in the result's new order."""
    if not has_rows(dims):
        return dims
    full = (1,) * (len(result) - len(dims)) + dims
    return moved(full) if full[-2] == 1 else None
