"""TTIR: a gather that takes the same columns of all rows, as a product with ones where the columns are."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, elements, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import sources_of
from alchemist.optimizer.movement import ones_gather_columns
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, defining, erase_dead, functions, register, replace

PRODUCTS = ("ttir.matmul", "ttir.linear", "ttir.conv2d")
_MOVES = ("ttir.reshape", "ttir.permute", "ttir.slice_static")
"""What leaves values as they are."""


@register("gather-by-product", fusing=True, from_level=1)
class GatherByProduct(Pass):
    """gather(x [B, R, K], broadcast(index [B, 1, M]), -1) becomes x @ (range(K)[:, None] == index).

    So deformable attention samples images at points; the library's gather takes its time per element. bfloat16 values stay as they are; float32 ones are
    rounded as any product rounds them, so those are left alone that do not come from another product. Where the clock prices it as faster.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            gathers = [op for op in func.body.block.ops if op.name == "ttir.gather"]
            for op in gathers:
                self._replace(op)
            if gathers:
                erase_dead(func)

    def _replace(self, op: Operation) -> None:
        x, index = op.operands
        spread = defining(index, "ttir.broadcast")
        dims, of = shape(x), element_type(x)
        if spread is None or len(dims) != 3 or access.attr(op, "dim") not in (2, -1) or dims[1] == 1:
            return
        columns = shape(spread.operands[0])
        if columns != (dims[0], 1, shape(index)[2]) or of not in ("bf16", "f32") or (of == "f32" and not _comes_from_product(x)):
            return
        if not ones_gather_columns(dims, columns[2], of, self.options.card):
            return
        b = Builder.before(op)
        b.source = sources_of(op)
        numbered = elements(np.arange(dims[2], dtype=np.int32).reshape(1, dims[2], 1), "si32")
        numbers = b.value("ttir.constant", [], {"value": numbered}, [tensor((1, dims[2], 1), "si32")])
        asked = b.value("ttir.typecast", [spread.operands[0]], {}, [tensor(columns, "si32")])
        hits = b.value("ttir.eq", [numbers, asked], {}, [tensor((dims[0], dims[2], columns[2]), "i1")])
        ones = b.value("ttir.typecast", [hits], {}, [tensor((dims[0], dims[2], columns[2]), of)])
        replace(op, [b.value("ttir.matmul", [x, ones], {}, [op.results[0].type])])


def _comes_from_product(value: SSAValue) -> bool:
    """Whether it was rounded before: since then it is moved, masked or has a bias."""
    op = defining(value, *PRODUCTS, *_MOVES, "ttir.where", "ttir.add")
    if op is None or op.name in PRODUCTS:
        return op is not None
    return any(_comes_from_product(operand) for operand in (op.operands[:1] if op.name in _MOVES else op.operands[-2:]))
