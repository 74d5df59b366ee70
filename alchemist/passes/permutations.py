"""TTIR: look-ups that undo the order of earlier ones, as in layers of experts, which sort tokens and weights by expert and put the results back."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining, replace, rewrite, single_use
from alchemist.ir.location import sources_of
from alchemist.ir.value import Value
from alchemist.ops.constants import constant_of
from alchemist.passes.registry import Pass, register

_LOOK_UP = "ttir.embedding"
_RESHAPE = "ttir.reshape"
_CAST = "ttir.typecast"


@register("unsorted-factors", fusing=True)
class UnsortedFactors(Pass):
    """(x * w[order])[inverse] becomes x[inverse] * w for factors w of rows, where `inverse` undoes `order`: one look-up less, and exact.

    The look-up comes before a cast of x: routing weights are float32 in bfloat16 models, whose rows `ttnn.embedding` reads in one program.
    """

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _multiply_last, _LOOK_UP)


def _multiply_last(op: Operation) -> None:
    inverse, table = op.operands
    product = defining(table, "ttir.multiply") if single_use(table) else None
    for place, factor in enumerate(product.operands if product is not None else ()):
        look_up = defining(_without(factor, _RESHAPE), _LOOK_UP)
        x = product.operands[1 - place] if product is not None else factor
        if look_up is None or shape(factor) != (*shape(inverse), 1) or shape(x) != shape(table) or not _undoes(inverse, look_up.operands[0]):
            continue
        b = Builder.in_place_of(op)
        cast = defining(x, _CAST) if single_use(x) else None
        rows = b.value(_LOOK_UP, [inverse, x if cast is None else cast.operands[0]], {})
        b.source = sources_of(product) if product is not None else None
        if cast is not None:
            rows = b.make(_CAST, [rows], of=element_type(x)).results[0]
        weights = Value(b, look_up.operands[1]).reshape(*shape(factor)).ssa
        replace(op, [b.value("ttir.multiply", [rows, weights], {})])
        return


def _without(value: SSAValue, *views: str) -> SSAValue:
    while (op := defining(value, *views)) is not None:
        value = op.operands[0]
    return value


def _undoes(inverse: SSAValue, order: SSAValue) -> bool:
    """Whether `inverse` is written as zeros with `inverse[order] = arange(n)`, for the order of n sorted values."""
    written = defining(_without(inverse, _RESHAPE, _CAST), "ttir.scatter")
    if written is None or access.attr(written, "scatter_reduce_type") != "invalid":
        return False
    places, numbers = _without(written.operands[1], _RESHAPE, _CAST), constant_of(written.operands[2])
    if places is not _without(order, _RESHAPE, _CAST) or not isinstance(places, OpResult) or (places.op.name, places.index) != ("ttir.sort", 1):
        return False
    dims = shape(places)
    counts = numbers is not None and np.array_equal(numbers, np.arange(math.prod(dims)))
    return counts and len(dims) == 1 and shape(order) == shape(inverse) == shape(written.operands[0]) == dims
