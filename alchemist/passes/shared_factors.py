"""TTIR: products of several batches with one and the same matrix, their rows below one another: fewer batches, and the matrix is not repeated."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import ops_named, replace
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import permuted, reshaped

_TILE = 32


@register("shared-factors", fusing=True)
class SharedFactors(Pass):
    """matmul of [B, H, M, K] and [B, 1, K, N] becomes matmul of [B, H*M, K] and [B, K, N], if the rows lie so already or share tiles then."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttir.matmul", const_eval=False):
            _merge(op)


def _merge(op: Operation) -> None:
    left, right = op.operands
    a, b, dims = shape(left), shape(right), shape(op.results[0])
    if access.attr(op, "transpose_a") or len(a) != len(b) or len(a) < 3:
        return
    batch = range(len(a) - 2)
    shared = [place for place in batch if b[place] == 1 < a[place]]
    own = [place for place in batch if b[place] > 1]
    if not shared or any(a[place] != b[place] for place in own) or not _pays(a, own, shared):
        return
    build = Builder.in_place_of(op)
    order = [*(place for place in batch if place not in shared), *shared, len(a) - 2, len(a) - 1]
    kept, count = tuple(a[place] for place in own), math.prod(a[place] for place in shared)
    rows = reshaped(build, permuted(build, left, order), (*kept, count * a[-2], a[-1]))
    made = build.op(
        "ttir.matmul",
        [rows, reshaped(build, right, (*kept, *b[-2:]))],
        {"transpose_b": bool(access.attr(op, "transpose_b"))},
        [tensor((*kept, count * a[-2], dims[-1]), element_type(op.results[0]))],
    )
    back = reshaped(build, made, tuple(dims[place] for place in order))
    replace(op, [permuted(build, back, [order.index(place) for place in range(len(order))])])


def _pays(a: tuple[int, ...], own: list[int], shared: list[int]) -> bool:
    """Whether no row moves, or whether the rows of all batches fill half as many tiles together."""
    if a[-2] % _TILE == 0 and max(own, default=-1) < shared[0]:
        return True
    count = math.prod(a[place] for place in shared)
    return -(-count * a[-2] // _TILE) * 2 <= count * -(-a[-2] // _TILE)
