"""TTIR: attention that a model writes out, as one op."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources, defining, erase_dead, functions, replace, single_use
from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.location import sources_of
from alchemist.ops.constants import constant_of, number, scaled
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import permuted, reshaped

LOWEST_SCORE = -1e4
"""Scores at or below this are masked."""
_LOWEST = -1e30
"""Value of masked scores: finite in bfloat16, and far enough from its limit for sums."""


@dataclass(slots=True)
class _Scores:
    """What softmax is taken of: query times key, a factor, a mask that is added or that says where `fill` stands."""

    product: Operation
    scale: float = 1.0
    bias: SSAValue | None = None
    chosen: SSAValue | None = None
    fill: float = 0.0
    inverted: bool = False
    ops: list[Operation] = field(default_factory=list)


@register("fuse-attention", fusing=True)
class FuseAttention(Pass):
    """matmul(softmax(scale * query key^T + mask), value) becomes scaled_dot_product_attention."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            position = {op: index for index, op in enumerate(func.body.block.ops)}
            found = False
            for op in list(func.body.block.ops):
                if op.name == "ttir.matmul" and len(shape(op.results[0])) == 4:
                    found = _fuse(op, position) or found
            if found:
                erase_dead(func)


def _plain(value: SSAValue, ops: list[Operation]) -> SSAValue:
    """Behind casts of values that nothing else reads."""
    while (cast := defining(value, "ttir.typecast")) is not None and single_use(value):
        ops.append(cast)
        value = cast.operands[0]
    return value


def _fuse(op: Operation, position: dict[Operation, int]) -> bool:
    ops: list[Operation] = []
    probabilities, value = op.operands
    if access.attr(op, "transpose_a"):
        turn = _turn(probabilities)
        if turn is None or not single_use(probabilities) or access.attr(turn, "permutation") != (0, 1, 3, 2):
            return False
        ops.append(turn)
        probabilities = turn.operands[0]
    turned_value = _turn(value) if access.attr(op, "transpose_b") else None
    if access.attr(op, "transpose_b") and turned_value is None:
        return False
    softmax = defining(_plain(probabilities, ops), "ttir.softmax")
    if softmax is None or not single_use(softmax.results[0]) or access.attr(softmax, "dimension") not in (3, -1):
        return False
    scores = _scores(softmax.operands[0])
    if scores is None or access.attr(scores.product, "transpose_a"):
        return False
    query, key = scores.product.operands
    factor = scaled(key)
    if factor is not None and single_use(key) and shape(factor[0]) == shape(key):  # exporters of ONNX scale both sides by a root
        key = factor[0]
        scores.scale *= factor[1]
        scores.ops += factor[2]
    if len(shape(query)) != 4 or len(shape(key)) != 4:
        return False
    turned = None if access.attr(scores.product, "transpose_b") else defining(key, "ttir.permute")
    if turned is None and not access.attr(scores.product, "transpose_b"):
        return False
    factor = scaled(query)
    if factor is not None and single_use(query) and shape(factor[0]) == shape(query):
        query = factor[0]
        scores.scale *= factor[1]
        scores.ops += factor[2]
    b, h, rows, size = shape(query)
    columns = shape(key)[2 if turned is None else 3]
    right = shape(key) == ((b, h, columns, size) if turned is None else (b, h, size, columns)) and _value_dims(value, turned_value) == (b, h, columns, size)
    if not right or columns < 2 or size % TILE_EDGE or (rows < 2 and not _is_written(key if turned is None else turned.operands[0])):
        return False
    mask = scores.bias if scores.bias is not None else scores.chosen
    if mask is not None and not _fits(shape(mask), (b, h, rows, columns)):
        return False
    maker = Builder.before(op)
    if turned is not None:
        key = _turned_back(maker, turned)
        scores.ops.append(turned)
    if turned_value is not None:
        value = _turned_back(maker, turned_value)
        scores.ops.append(turned_value)
    of = element_type(op.results[0])
    if is_causal := _is_causal(scores, rows, columns):
        mask = None
    elif scores.chosen is not None:
        dims = (1,) * (4 - len(shape(scores.chosen))) + shape(scores.chosen)
        chosen = reshaped(maker, scores.chosen, dims)
        low, zero = (
            maker.op("ttir.full", [], {"shape": (1, 1, 1, 1), "fill_value": one}, [tensor((1, 1, 1, 1), of)]) for one in (max(scores.fill, _LOWEST), 0.0)
        )
        mask = maker.op("ttir.where", [chosen, zero, low] if scores.inverted else [chosen, low, zero], {}, [tensor(dims, of)])
    attributes = {"is_causal": is_causal, "scale": scores.scale}
    made = maker.make("ttir.scaled_dot_product_attention", [query, key, value, mask], attributes, [op.results[0].type])
    position[made] = position[op]
    add_sources(made, *sorted(dict.fromkeys([*scores.ops, scores.product, softmax, *ops]), key=position.__getitem__), op)
    replace(op, [_without_keys(maker, made.results[0], scores)])
    return True


def _is_causal(scores: _Scores, rows: int, columns: int) -> bool:
    """Whether the mask is a constant that shows each query the keys up to its own position."""
    mask = scores.bias if scores.chosen is None else scores.chosen
    known = None if mask is None else constant_of(mask)
    if known is None or known.size != rows * columns or rows != columns:
        return False
    visible = known == scores.inverted if scores.chosen is not None else known == 0
    is_mask = scores.chosen is not None or bool((visible | (known <= LOWEST_SCORE)).all())
    return is_mask and bool((visible.reshape(rows, columns) == np.tri(rows, dtype=bool)).all())


def _without_keys(b: Builder, value: SSAValue, scores: _Scores) -> SSAValue:
    """The attention with NaN in rows whose scores are all -inf, as softmax has it: the fused op's lowest score is finite, and gives a mean there."""
    if scores.chosen is None or scores.fill != -math.inf:
        return value
    chosen = scores.chosen
    known = constant_of(chosen)
    if known is not None and bool((known == scores.inverted).any(-1).all()):
        return value
    dims = (1,) * (4 - len(shape(chosen))) + shape(chosen)
    visible = reshaped(b, chosen, dims)
    visible = visible if scores.inverted else b.value("ttir.logical_not", [visible], {}, [tensor(dims, "i1")])
    rows, of = (*dims[:-1], 1), element_type(value)
    keyed = b.value("ttir.reduce_or", [visible], {"dim_arg": [3], "keep_dim": True}, [tensor(rows, "i1")])
    zero, nan = (b.op("ttir.full", [], {"shape": (1, 1, 1, 1), "fill_value": one}, [tensor((1, 1, 1, 1), of)]) for one in (0.0, math.nan))
    added = b.value("ttir.where", [keyed, zero, nan], {}, [tensor(rows, of)])
    return b.value("ttir.add", [value, added], {}, [value.type])


def _turn(value: SSAValue) -> Operation | None:
    """The permute that makes a value."""
    op = defining(value, "ttir.permute")
    return op if op is not None and len(shape(value)) == 4 else None


def _value_dims(value: SSAValue, turned: Operation | None) -> tuple[int, ...]:
    dims = shape(value)
    return dims if turned is None else (*dims[:-2], dims[-1], dims[-2])


def _is_written(key: SSAValue) -> bool:
    """Whether the keys are a cache that a new row is written into: of one query, only decoding makes an attention."""
    op = defining(key, "ttir.scatter", "ttir.where")
    return op is not None and any(isinstance(value, BlockArgument) and shape(value) == shape(key) for value in op.operands)


def _turned_back(b: Builder, turned: Operation) -> SSAValue:
    """What the permute gives with its last two dims the other way round."""
    source, (*first, third, last) = turned.operands[0], access.attr(turned, "permutation")
    b.source = sources_of(turned) or None
    made = permuted(b, source, (*first, last, third))
    b.source = None
    return made


def _fits(given: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    own = (1,) * (4 - len(given)) + given
    return len(own) == 4 and all(one in (1, extent) for one, extent in zip(own, wanted, strict=True))


def _scores(value: SSAValue) -> _Scores | None:
    """Peels casts, mask and scale off the softmax's input, as long as nothing else reads them."""
    found = _Scores(None)  # type: ignore[arg-type]
    while single_use(value):
        value = _plain(value, found.ops)
        if not single_use(value):
            return None
        product = defining(value, "ttir.matmul")
        if product is not None:
            found.product = product
            return found
        masked = found.bias is not None or found.chosen is not None
        where, total, one = defining(value, "ttir.where"), defining(value, "ttir.add"), scaled(value)
        if where is not None and not masked and found.scale == 1.0:
            fills = [number(where.operands[1]), number(where.operands[2])]
            side = next((index for index, fill in enumerate(fills) if fill is not None and fill <= LOWEST_SCORE), None)
            if side is None:
                return None
            found.chosen, found.fill, found.inverted = where.operands[0], fills[side] or 0.0, side == 1
            found.ops.append(where)
            value = where.operands[2 - side]
        elif one is not None:
            found.scale *= one[1]
            found.ops += one[2]
            value = one[0]
        elif total is not None and not masked and found.scale == 1.0:
            scored = next((pair for pair in (total.operands, total.operands[::-1]) if _is_score(pair[0])), None)
            if scored is None:
                return None
            value, found.bias = scored
            found.ops.append(total)
        else:
            return None
    return None


def _is_score(value: SSAValue) -> bool:
    """A product of matrices, perhaps scaled."""
    while (one := scaled(value)) is not None:
        value = one[0]
    return defining(value, "ttir.matmul") is not None
