"""Rewrites an exact GELU to a product with its error function: the chip's GELU program takes a longer series than erf alone.

gelu(x) = x * (1 + erf(x / sqrt(2))) / 2. The chain runs in bfloat16 as the GELU does; both stay within the rounding of bfloat16. If the only
reader of the result is a product, its weights are halved instead: a power of two changes only the exponent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ops.spec import INLINE, NOTE
from alchemist.optimizer.matmul import FAST
from alchemist.optimizer.stream import maker_of_weight

ONE_PLUS_ERF = (
    {"op_type": "mul_unary_sfpu", "params": (1 / math.sqrt(2),)},
    {"op_type": "erf", "params": (0.0,)},
    {"op_type": "add_unary_sfpu", "params": (1.0,)},
)
"""1 + erf(x / sqrt(2))."""
HALF = {"op_type": "mul_unary_sfpu", "params": (0.5,)}


def exact_gelus(func: FuncOp) -> Iterator[Operation]:
    """Products followed by a GELU, and separate GELUs, on tiles of bfloat16."""
    for op in func.body.block.ops:
        fused = has_trait(op, "product") and access.attr(op, "activation") == "gelu" and FAST not in op.attributes
        alone = op.name == "ttnn.gelu" and access.attr(op, "alchemist.variant") is None
        layout = layout_of(op.results[0].type) if fused or alone else None
        if layout is not None and layout.dtype == "bf16" and layout.page == "tile":
            yield op


def split_gelus(func: FuncOp) -> None:
    """Replaces every exact GELU by a chain of functions and a product."""
    for op in list(exact_gelus(func)):
        build = Builder.after(op)
        kind = op.results[0].type
        x: SSAValue = op.operands[0] if op.name == "ttnn.gelu" else op.results[0]
        weight = _only_reader(op)
        steps, note = (ONE_PLUS_ERF, "gelu(x) is x * (1 + erf(x / sqrt(2))) / 2; the weights behind it are halved") if weight else (
            (*ONE_PLUS_ERF, HALF), "gelu(x) is x * (1 + erf(x / sqrt(2))) / 2")  # fmt: skip
        chain = build.make("ttnn.unary_chain", [x], {"chain": steps, NOTE: note}, [kind])
        product = build.make("ttnn.multiply", [x, chain.results[0]], {}, [kind])
        for new_op in (chain, product):
            set_source(new_op, *sources_of(op))
        for use in [use for use in op.results[0].uses if use.operation not in (chain, product)]:
            use.operation.operands[use.index] = product.results[0]
        if weight is not None:
            _halve(weight)
        if op.name == "ttnn.gelu":
            Rewriter.erase_op(op)
        else:
            access.set_attr(op, "activation", None)


def _only_reader(op: Operation) -> FuncOp | None:
    """The const-eval function of the weight, if the only reader of the op's result is a product."""
    uses = list(op.results[0].uses)
    if len(uses) != 1 or uses[0].index != 0 or not has_trait(uses[0].operation, "product"):
        return None
    maker = maker_of_weight(uses[0].operation)
    return maker if isinstance(maker, FuncOp) else None


def _halve(weight: FuncOp) -> None:
    end = weight.get_return_op()
    assert end is not None
    value = end.operands[0]
    layout = layout_of(value.type)
    assert layout is not None
    build = Builder.before(end)
    half = build.make("ttnn.full", [], {"shape": (), "fill_value": 0.5, INLINE: UnitAttr()}, [TTNNLayout.make((), layout.dtype).type_for(())])
    halved = build.make("ttnn.multiply", [value, half.results[0]], {NOTE: "the half of gelu(x) = x * (1 + erf(x / sqrt(2))) / 2"}, [value.type])
    if isinstance(value.owner, Operation):
        set_source(halved, *sources_of(value.owner))
    end.operands[0] = halved.results[0]
