"""TTIR: a product of flattened images reads them with channels last, as convolutions and pools leave them; its weights take the other order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import operand, shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, defining, erase_dead, functions
from alchemist.ir.location import sources_of
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import NOTE
from alchemist.passes.channels_last import ELEMENTWISE
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import permuted, reshaped

_CHANNELS_FIRST = (0, 3, 1, 2)
_CHANNELS_LAST = (0, 2, 3, 1)


@register("order-in-weights", fusing=True, from_level=1)
class OrderInWeights(Pass):
    """linear(reshape(x [N, C, H, W] -> [N, C*H*W]), w) becomes linear(reshape(permute(x) -> [N, H*W*C]), w') where x lies in memory with channels last.

    The same numbers are added in another order. w' is made at const-eval; x is neither turned nor taken apart.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            products = [op for op in func.body.block.ops if has_trait(op, "product")]
            fixed = FixedValues(func)
            for op in products:
                if operand(op, "b") in fixed:
                    _turn(op)
            erase_dead(func)


def _turn(product: Operation) -> None:
    rows, weight = product.operands[:2]
    flatten = defining(rows, "ttir.reshape")
    if flatten is None or access.attr(product, "transpose_a") or len(shape(weight)) != 2:
        return
    image = flatten.operands[0]
    dims = shape(image)
    if len(dims) != 4 or shape(rows) != (dims[0], math.prod(dims[1:])) or 1 in (dims[1], dims[2] * dims[3]) or not _has_channels_last(image):
        return
    b = Builder.before(product)
    b.source = sources_of(flatten)
    product.operands[0] = reshaped(b, permuted(b, image, _CHANNELS_LAST), shape(rows))
    b.source = sources_of(product)
    product.operands[1] = _turned_weight(b, weight, dims[1:], bool(access.attr(product, "transpose_b")))
    add_sources(product, flatten)


def _turned_weight(b: Builder, weight: SSAValue, dims: Sequence[int], is_transposed: bool) -> SSAValue:
    """The rows (or, transposed, columns) of a weight from the order C, H, W in the order H, W, C.

    Pixels are one dim: tiles of [H, W] would be nearly all padding.
    """
    channels, pixels = dims[0], math.prod(dims[1:])
    outputs = shape(weight)[0 if is_transposed else 1]
    if is_transposed:
        turned = permuted(b, reshaped(b, weight, (outputs, channels, pixels)), (0, 2, 1))
    else:
        turned = permuted(b, reshaped(b, weight, (channels, pixels, outputs)), (1, 0, 2))
    if isinstance(turned.owner, Operation):
        access.set_attr(turned.owner, NOTE, "pixels before channels: as the image lies in memory")
    return reshaped(b, turned, shape(weight))


def _has_channels_last(image: SSAValue) -> bool:
    """Whether [N, C, H, W] comes from a convolution or a pool, through ops that work element by element."""
    maker = defining(image, "ttir.conv2d", "ttir.permute", *ELEMENTWISE)
    while maker is not None and maker.name in ELEMENTWISE:
        whole = [value for value in maker.operands if shape(value) == shape(image)]
        maker = defining(whole[0], "ttir.conv2d", "ttir.permute", *ELEMENTWISE) if whole else None
    if maker is None:
        return False
    if maker.name == "ttir.permute":
        return tuple(access.attr(maker, "permutation")) == _CHANNELS_FIRST
    return int(access.attr(maker, "channel_dim")) == 1
