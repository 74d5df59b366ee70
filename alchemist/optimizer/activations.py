"""The exact GELU as a product with its error function: the chip's program for it takes a longer series than the error function alone.

gelu(x) = x * (1 + erf(x / sqrt(2))) / 2. The chain runs in bfloat16 as the GELU does; both stay within the rounding of bfloat16.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.builder import Builder
from alchemist.ir.layout import layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ops.spec import NOTE
from alchemist.optimizer.matmul import FAST

ONE_PLUS_ERF = (
    {"op_type": "mul_unary_sfpu", "params": (1 / math.sqrt(2),)},
    {"op_type": "erf", "params": (0.0,)},
    {"op_type": "add_unary_sfpu", "params": (1.0,)},
    {"op_type": "mul_unary_sfpu", "params": (0.5,)},
)
"""(1 + erf(x / sqrt(2))) / 2."""
_PRODUCTS = ("ttnn.linear", "ttnn.matmul")


def exact_gelus(func: FuncOp) -> Iterator[Operation]:
    """Products with a GELU behind them and GELUs of their own, on tiles of bfloat16."""
    for op in func.body.block.ops:
        fused = op.name in _PRODUCTS and access.attr(op, "activation") == "gelu" and FAST not in op.attributes
        alone = op.name == "ttnn.gelu" and access.attr(op, "alchemist.variant") is None
        layout = layout_of(op.results[0].type) if fused or alone else None
        if layout is not None and layout.dtype == "bf16" and layout.page == "tile":
            yield op


def split_gelus(func: FuncOp) -> None:
    """Every exact GELU becomes a chain of functions and a product."""
    for op in list(exact_gelus(func)):
        build = Builder.after(op)
        kind = op.results[0].type
        x: SSAValue = op.operands[0] if op.name == "ttnn.gelu" else op.results[0]
        chain = build.make("ttnn.unary_chain", [x], {"chain": ONE_PLUS_ERF, NOTE: "gelu(x) is x * (1 + erf(x / sqrt(2))) / 2"}, [kind])
        product = build.make("ttnn.multiply", [x, chain.results[0]], {}, [kind])
        for made in (chain, product):
            set_source(made, *sources_of(op))
        for use in [use for use in op.results[0].uses if use.operation not in (chain, product)]:
            use.operation.operands[use.index] = product.results[0]
        if op.name == "ttnn.gelu":
            Rewriter.erase_op(op)
        else:
            op.properties.pop("activation", None)
            op.attributes.pop("activation", None)
