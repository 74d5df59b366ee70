"""The scale of a masked attention as part of the query's weights: the library divides the mask by any other scale than 1, in every attention again."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, operand, set_attr, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining, made_by, ops_named, single_use
from alchemist.passes.registry import Pass, register

SPLIT = "ttir.split_query_key_value_and_split_heads"


@register("scale-queries", fusing=True, from_level=1)
class ScaleQueries(Pass):
    """A masked attention's scale goes into the query's weights where that loses no bit."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttir.scaled_dot_product_attention"):
            scale = access.attr(op, "scale")
            scale = 1.0 / math.sqrt(shape(op.operands[0])[-1]) if scale is None else float(scale)
            if operand(op, "attention_mask") is None or scale == 1.0 or not _is_power_of_two(scale):
                continue
            places = _places_of_weights(op.operands[0])
            if places is not None:
                for reader, index in places:
                    _scale(reader, index, scale)
                set_attr(op, "scale", 1.0)


def _is_power_of_two(number: float) -> bool:
    """Whether a product with it keeps every bit of a float."""
    return math.frexp(number)[0] == 0.5


def _places_of_weights(query: SSAValue) -> list[tuple[Operation, int]] | None:
    """Where the parameters are read (ops and places among their operands) of the product that alone makes the query; None for any other query."""
    value = query
    while (move := made_by(value, "rearrangement")) is not None and single_use(value):
        value = move.operands[0]
    split = defining(value, SPLIT)
    if split is not None and value is split.results[0] and single_use(value) and len(split.operands) == 1:
        product, width = made_by(split.operands[0], "product"), shape(value)[1] * shape(value)[3]
        joined = [defining(each, "ttir.concat") for each in product.operands[1:]] if product is not None else []
        places = [(each, 0) for each in joined if each is not None and shape(each.operands[0])[int(access.attr(each, "dim"))] == width]
        if product is None or len(places) != len(joined) or not single_use(split.operands[0]):
            return None
    else:
        product = made_by(value, "product")
        if product is None or not single_use(value):
            return None
        places = [(product, index) for index in range(1, len(product.operands))]
    values = [op.operands[index] for op, index in places]
    return places if all(isinstance(each, BlockArgument) and element_type(each) in ("bf16", "f32") for each in values) else None


def _scale(op: Operation, index: int, scale: float) -> None:
    value = op.operands[index]
    build = Builder.in_place_of(op)
    ones = (1,) * len(shape(value))
    factor = build.op("ttir.full", [], {"shape": ones, "fill_value": scale}, [tensor(ones, element_type(value))])
    op.operands[index] = build.op("ttir.multiply", [value, factor], {}, [tensor(shape(value), element_type(value))])
