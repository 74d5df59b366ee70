"""softmax(scale * q k^T + mask) v -> ttir.scaled_dot_product_attention, seen through einsum's unit dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from alchemist.frontends.stablehlo.matching import Replace, number, op_of, pairs
from alchemist.frontends.stablehlo.moves import trace
from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.attributes import to_python

_MASKED = -1e4
"""Scores at or below this are masked."""
_LOWEST = -1e30
"""Value of masked scores: finite in bfloat16, and far enough from its limit for sums."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What softmax is taken of: product [B, H, Q, K], the factor, and the mask."""

    product: Operation
    scale: float
    mask: SSAValue | None
    fill: float
    additive: bool
    to_product: tuple[int, ...]
    """For each dimension of the softmax input the dimension of the product, -1 for unit ones."""
    inverted: bool = False
    """Whether the mask names the scores to leave out."""


def softmax_input(value: SSAValue) -> tuple[SSAValue, int] | None:
    """(x, dimension) of a softmax, written out or not."""
    softmax = op_of(value, "ttir.softmax")
    if softmax is not None:
        return softmax.operands[0], access.attr(softmax, "dimension") % len(shape(value))
    quotient = op_of(value, "ttir.div")
    exponent = op_of(quotient.operands[0], "ttir.exp") if quotient is not None else None
    total = op_of(quotient.operands[1], "ttir.sum") if quotient is not None else None
    difference = op_of(exponent.operands[0], "ttir.subtract") if exponent is not None else None
    if exponent is None or total is None or difference is None:
        return None
    x = difference.operands[0]
    dims = access.attr(total, "dim_arg")
    if total.operands[0] is not exponent.results[0] or dims is None or len(dims) != 1:
        return None
    dim = dims[0] % len(shape(x))
    return (x, dim) if _is_peak(difference.operands[1], x, dim) else None


def _is_peak(value: SSAValue, x: SSAValue, dim: int) -> bool:
    """Whether `value` is the maximum of `x` over `dim`, moves of unit dimensions on either side apart."""
    while (op := op_of(value, "ttir.reshape")) is not None:
        value = op.operands[0]
    peak = op_of(value, "ttir.max")
    reduced = access.attr(peak, "dim_arg") if peak is not None else None
    if peak is None or reduced is None or len(reduced) != 1:
        return False
    ours, theirs = trace(x), trace(peak.operands[0])
    if ours.root is not theirs.root or theirs.dims[reduced[0] % len(theirs.dims)] != ours.dims[dim]:
        return False
    real = [[d for d in path.dims if d >= 0 and shape(path.root)[d] != 1] for path in (ours, theirs)]
    return real[0] == real[1]


def scores_of(x: SSAValue) -> Scores | None:
    """Peels mask and scale off the softmax input."""
    mask: SSAValue | None = None
    fill, additive, inverted = 0.0, False, False
    where = op_of(x, "ttir.where")
    inner = x
    if where is not None:
        found, flipped = number(where.operands[2]), number(where.operands[1])
        if found is not None and found <= _MASKED:
            mask, inner, fill = where.operands[0], where.operands[1], found
        elif flipped is not None and flipped <= _MASKED:
            mask, inner, fill, inverted = where.operands[0], where.operands[2], flipped, True
        else:
            return None
        if fill == -math.inf and op_of(mask, "ttir.constant") is None:
            return None  # a row without keys is NaN, which the fused op does not give: the pass fuse-attention adds it
    else:
        for scored, bias in pairs(x, "ttir.add"):
            if op_of(trace(scored).root, "ttir.multiply", "ttir.div", "ttir.matmul") is not None and number(bias) is None:
                mask, inner, additive = bias, scored, True
                break
    scale = 1.0
    dims = tuple(range(len(shape(inner))))
    while True:
        path = trace(inner)
        dims = tuple(path.dims[d] if d >= 0 else -1 for d in dims)
        inner = path.root
        product = op_of(inner, "ttir.matmul")
        if product is not None:
            return Scores(product, scale, mask, fill, additive, dims, inverted)
        factor: float | None = None
        for value, constant in pairs(inner, "ttir.multiply"):
            factor = number(constant)
            if factor is not None:
                inner = value
                break
        quotient = op_of(inner, "ttir.div") if factor is None else None
        if quotient is not None:
            divisor = number(quotient.operands[1])
            factor = 1.0 / divisor if divisor else None
            inner = quotient.operands[0]
        if factor is None:
            return None
        scale *= factor


def _sides(op: Operation) -> tuple[SSAValue, SSAValue, bool, bool]:
    return (op.operands[0], op.operands[1], bool(access.attr(op, "transpose_a")), bool(access.attr(op, "transpose_b")))


def _is_read_besides(weights: SSAValue, root: SSAValue) -> bool:
    """Whether anything but the product reads the probabilities, as a backward pass does: they are computed in any case then."""
    while len(list(weights.uses)) == 1:
        if weights is root:
            return False
        assert isinstance(weights.owner, Operation)
        weights = weights.owner.operands[0]
    return True


def attention(op: Operation, r: Replace) -> SSAValue | None:
    """`op` is the product of probabilities and values, in either order."""
    left, right, flip_left, flip_right = _sides(op)
    if len(shape(op.results[0])) != 4 or len(shape(left)) != 4 or len(shape(right)) != 4:
        return None
    for turned, weights, values, flip_weights, flip_values in (
        (False, left, right, flip_left, flip_right),
        (True, right, left, flip_right, flip_left),
    ):
        path = trace(weights)
        soft = softmax_input(path.root)
        if soft is None or _is_read_besides(weights, path.root):
            continue
        x, dim = soft
        scores = scores_of(x)
        if scores is None or len(shape(scores.product.results[0])) != 4:
            continue
        # rows and columns of the weights operand as the matmul reads it
        k_axis = 2 if turned != flip_weights else 3
        q_axis = 5 - k_axis
        to_product = [scores.to_product[d] if d >= 0 else -1 for d in path.dims]
        wanted = {0: 0, 1: 1, q_axis: 2, k_axis: 3}
        if any(to_product[axis] not in (goal, -1) for axis, goal in wanted.items()):
            continue
        batch, heads, rows, columns = shape(scores.product.results[0])
        if path.dims[k_axis] != dim or rows == 1 or columns == 1:
            continue
        return _build(op, r, scores, x, values, (batch, heads, rows, columns), turned, flip_values)
    return None


def _build(
    op: Operation,
    r: Replace,
    scores: Scores,
    x: SSAValue,
    values: SSAValue,
    dims: tuple[int, int, int, int],
    turned: bool,
    flip_values: bool,
) -> SSAValue | None:
    swap = (0, 1, 3, 2)
    query, key, flip_query, flip_key = _sides(scores.product)
    if len(shape(query)) != 4 or len(shape(key)) != 4:
        return None
    if turned:
        r.forget_values()
    query = r.permute(query, swap) if flip_query else query
    key = key if flip_key else r.permute(key, swap)
    # values as [B, H, K, D]: as left operand they come as [B, H, D, K]
    values = r.permute(values, swap) if turned != flip_values else values
    mask, causal = _mask(r, scores, x, dims)
    if mask is None and scores.mask is not None and not causal:
        return None
    attributes = {"is_causal": causal, "scale": scores.scale}
    like = op.results[0]
    out = (*dims[:3], shape(values)[3])
    made = r.op("ttir.scaled_dot_product_attention", [query, key, values, mask], attributes, out, access.element_type(like))
    return r.permute(made, swap) if turned else made


def _mask(r: Replace, scores: Scores, x: SSAValue, dims: tuple[int, int, int, int]) -> tuple[SSAValue | None, bool]:
    """(additive mask [B|1, H|1, Q, K] or None, whether it is the causal one)."""
    if scores.mask is None:
        return None, False
    sizes = [1, 1, 1, 1]
    given = shape(scores.mask)
    order = []
    for axis, goal in enumerate(scores.to_product):
        if given[axis] != 1:
            if goal < 0 or given[axis] != dims[goal]:
                return None, False
            sizes[goal] = given[axis]
            order.append(goal)
    if order != sorted(order):
        return None, False
    known = op_of(scores.mask, "ttir.constant")
    if known is not None and not scores.additive and dims[2] == dims[3] and sizes[:2] == [1, 1]:
        array = np.asarray(to_python(known.properties["value"])).reshape(sizes[2:])
        array = ~array if scores.inverted else array
        if array.shape == dims[2:] and (array == np.tri(dims[2], dtype=bool)).all():
            return None, True
    of = access.element_type(x)
    mask = r.reshape(scores.mask, sizes)
    if not scores.additive:
        zero = r.op("ttir.full", [], {"shape": (1, 1, 1, 1), "fill_value": 0.0}, (1, 1, 1, 1), of)
        low = r.op("ttir.full", [], {"shape": (1, 1, 1, 1), "fill_value": max(scores.fill, _LOWEST)}, (1, 1, 1, 1), of)
        mask = r.op("ttir.where", [mask, low, zero] if scores.inverted else [mask, zero, low], {}, sizes, of)
    full = (sizes[0], sizes[1], dims[2], dims[3])
    if tuple(sizes) != full:
        factors = [a // b for a, b in zip(full, sizes, strict=True)]
        mask = r.op("ttir.broadcast", [mask], {"broadcast_dimensions": factors}, full, of)
    return mask, False
