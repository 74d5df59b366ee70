"""TTIR: a matrix product that is turned around is the product of its operands turned around."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining, replace, rewrite, single_use
from alchemist.ir.location import sources_of
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import permuted


@register("turned-products", fusing=True)
class TurnedProducts(Pass):
    """permute(x @ y) that lets rows and columns change places becomes y^T @ x^T, and a permute of the rest: gradients of weights in JAX."""

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _turn, "ttir.permute")


def _turn(op: Operation) -> None:
    product = defining(op.operands[0], "ttir.matmul")
    if product is None or not single_use(product.results[0]):
        return
    order = list(access.attr(op, "permutation"))
    rank = len(order)
    if any(len(shape(value)) != rank for value in product.operands) or order.index(rank - 1) > order.index(rank - 2):
        return
    left, right = product.operands
    dims = shape(product.results[0])
    type_ = tensor((*dims[:-2], dims[-1], dims[-2]), element_type(product.results[0]))
    turned = {"transpose_a": not access.attr(product, "transpose_b"), "transpose_b": not access.attr(product, "transpose_a")}
    b = Builder.before(op)
    b.source = (*sources_of(product), *sources_of(op)) or None
    value = b.op("ttir.matmul", [right, left], turned, [type_])
    there = {rank - 1: rank - 2, rank - 2: rank - 1}
    rest = [there.get(dim, dim) for dim in order]
    b.source = sources_of(op) or None
    replace(op, [permuted(b, value, rest)])
