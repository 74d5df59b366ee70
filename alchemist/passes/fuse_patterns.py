"""Ops that frameworks write out, put together again: sigmoid, silu, gelu, softmax, rms_norm, layer_norm, group_norm."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, operand, shape
from alchemist.ir.builder import Builder
from alchemist.passes.fold import constant_of, uniform
from alchemist.passes.registry import Pass, add_sources, defining, erase_dead, functions, register, replace

WIDE_SUMS = "alchemist.wide_sums"
"""Marks a norm of bfloat16 values that the model sums in float32."""
Match = tuple[str, list[SSAValue | None], dict[str, Any], list[Operation]]
"""TTIR op, operands, attributes, the ops that it stands for (the last one excluded)."""


def skip(value: SSAValue) -> SSAValue:
    """Behind broadcasts and reshapes that only add dims of size 1."""
    while (op := defining(value, "ttir.broadcast", "ttir.reshape", "ttir.typecast")) is not None:
        if op.name == "ttir.typecast":
            return value
        if op.name == "ttir.reshape" and [n for n in shape(value) if n != 1] != [n for n in shape(op.operands[0]) if n != 1]:
            return value
        value = op.operands[0]
    return value


def number(value: SSAValue) -> float | None:
    """The number that a constant holds everywhere."""
    found = uniform(constant_of(skip(value)))
    return None if found is None else float(found)


def near(found: float | None, wanted: float) -> bool:
    return found is not None and math.isclose(found, wanted, rel_tol=2e-3)


def binary(value: SSAValue, name: str) -> tuple[SSAValue, SSAValue, Operation] | None:
    op = defining(value, f"ttir.{name}")
    return None if op is None else (op.operands[0], op.operands[1], op)


def scaled(value: SSAValue) -> tuple[SSAValue, float, list[Operation]] | None:
    """x * c, c * x or x / c with a constant c: (x, factor)."""
    if (pair := binary(value, "multiply")) is not None:
        for x, other in (pair[:2], pair[1::-1]):
            if (factor := number(other)) is not None:
                return x, factor, [pair[2]]
    if (pair := binary(value, "div")) is not None and (factor := number(pair[1])):
        return pair[0], 1.0 / factor, [pair[2]]
    return None


def silu(op: Operation) -> Match | None:
    """x * sigmoid(x)"""
    for x, other in (op.operands, reversed(op.operands)):
        gate = defining(other, "ttir.sigmoid")
        if gate is not None and gate.operands[0] is x:
            return "ttir.silu", [x], {}, [gate]
    return None


def sigmoid(op: Operation) -> Match | None:
    """1 / (1 + exp(-x)), and x / (1 + exp(-x)), which is silu."""
    total = binary(skip(op.operands[-1]), "add")
    for one, grown in (total[:2], total[1::-1]) if total is not None else ():
        exponent = defining(grown, "ttir.exp")
        negated = defining(exponent.operands[0], "ttir.neg") if exponent is not None else None
        if number(one) != 1.0 or exponent is None or negated is None or total is None:
            continue
        x, ops = negated.operands[0], [negated, exponent, total[2]]
        if op.name == "ttir.reciprocal" or number(op.operands[0]) == 1.0:
            return "ttir.sigmoid", [x], {}, ops
        if op.operands[0] is x:
            return "ttir.silu", [x], {}, ops
    return None


def factors(value: SSAValue, depth: int = 3) -> tuple[list[SSAValue], float, list[Operation]]:
    """A product as its factors that are not constants, and the constant part."""
    if depth == 0 or (pair := binary(value, "multiply")) is None:
        if (constant := number(value)) is not None:
            return [], constant, []
        one = scaled(value) if depth and defining(value, "ttir.div") is not None else None
        return ([value], 1.0, []) if one is None else ([one[0]], one[1], one[2])
    left, left_constant, left_ops = factors(pair[0], depth - 1)
    right, right_constant, right_ops = factors(pair[1], depth - 1)
    return left + right, left_constant * right_constant, [*left_ops, *right_ops, pair[2]]


def gelu(op: Operation) -> Match | None:
    """0.5 * x * (1 + erf(x / sqrt(2))), and the form with erfc(-x / sqrt(2))."""
    parts, constant, ops = factors(op.results[0])
    if len(parts) != 2 or not near(constant, 0.5):
        return None
    for x, other in (parts, reversed(parts)):
        complement = defining(other, "ttir.erfc")
        if complement is not None:
            inner = _scaled_argument(complement.operands[0])
            if inner is not None and inner[0] is x and near(inner[1], -1 / math.sqrt(2)):
                return "ttir.gelu", [x], {}, [*inner[2], complement, *ops[:-1]]
        total = binary(other, "add")
        if total is None:
            continue
        for one, error in (total[:2], total[1::-1]):
            function = defining(error, "ttir.erf")
            if number(one) != 1.0 or function is None:
                continue
            inner = _scaled_argument(function.operands[0])
            if inner is not None and inner[0] is x and near(inner[1], 1 / math.sqrt(2)):
                return "ttir.gelu", [x], {}, [*inner[2], function, total[2], *ops[:-1]]
    return None


def gelu_tanh(op: Operation) -> Match | None:
    """0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))"""
    parts, constant, ops = factors(op.results[0])
    if len(parts) != 2 or not near(constant, 0.5):
        return None
    for x, other in (parts, reversed(parts)):
        total = binary(other, "add")
        for one, curve in (total[:2], total[1::-1]) if total is not None else ():
            function = defining(curve, "ttir.tanh")
            inner = scaled(function.operands[0]) if number(one) == 1.0 and function is not None else None
            cubic = _cubic(inner[0], x) if inner is not None and near(inner[1], math.sqrt(2 / math.pi)) else None
            if cubic is None and function is not None and number(one) == 1.0:
                inner, cubic = (x, 1.0, []), _factored_cubic(function.operands[0], x)
            if total is not None and function is not None and inner is not None and cubic is not None:
                attributes = {"alchemist.variant": "Tanh"}
                return "ttir.gelu", [x], attributes, [*cubic, *inner[2], function, total[2], *ops[:-1]]
    return None


def _cubic(value: SSAValue, x: SSAValue) -> list[Operation] | None:
    """x + 0.044715 * x**3"""
    total = binary(value, "add")
    for own, power in (total[:2], total[1::-1]) if total is not None else ():
        if own is not x or total is None:
            continue
        parts, constant, ops = factors(power, 4)
        if not near(constant, 0.044715):
            continue
        if parts == [x, x, x]:
            return [*ops, total[2]]
        cube = binary(parts[0], "pow") if len(parts) == 1 else None
        if cube is not None and cube[0] is x and number(cube[1]) == 3.0:
            return [cube[2], *ops, total[2]]
    return None


def _factored_cubic(value: SSAValue, x: SSAValue) -> list[Operation] | None:
    """sqrt(2 / pi) * x * (1 + 0.044715 * x**2)"""
    parts, constant, ops = factors(value)
    if len(parts) != 2 or not near(constant, math.sqrt(2 / math.pi)):
        return None
    for own, other in (parts, reversed(parts)):
        total = binary(other, "add") if own is x else None
        for one, power in (total[:2], total[1::-1]) if total is not None else ():
            squares, factor, inner = factors(power)
            squared = _squared(squares[0]) if len(squares) == 1 else None
            if number(one) == 1.0 and near(factor, 0.044715) and total is not None:
                if squares == [x, x]:
                    return [*inner, total[2], *ops]
                if squared is not None and squared[0] is x:
                    return [*squared[1], *inner, total[2], *ops]
    return None


def _scaled_argument(value: SSAValue) -> tuple[SSAValue, float, list[Operation]] | None:
    negated = defining(value, "ttir.neg")
    if negated is not None:
        inner = _scaled_argument(negated.operands[0]) or (negated.operands[0], 1.0, [])
        return inner[0], -inner[1], [*inner[2], negated]
    one = scaled(value)
    if one is None:
        return None
    deeper = defining(one[0], "ttir.neg")
    return one if deeper is None else (deeper.operands[0], -one[1], [deeper, *one[2]])


def softmax(op: Operation) -> Match | None:
    """exp(x - max(x)) / sum(exp(x - max(x))) over one dim; the sum may be made in float32, as jax makes that of bfloat16."""
    top, total = op.operands
    exponent = defining(top, "ttir.exp")
    total = skip(total)
    narrowed = defining(total, "ttir.typecast")
    summed = defining(total if narrowed is None else skip(narrowed.operands[0]), "ttir.sum")
    if exponent is None or summed is None:
        return None
    widened = defining(summed.operands[0], "ttir.typecast") if narrowed is not None else None
    if (summed.operands[0] if widened is None else widened.operands[0]) is not top:
        return None
    difference = binary(exponent.operands[0], "subtract")
    dims = access.attr(summed, "dim_arg")
    if difference is None or dims is None or len(dims) != 1:
        return None
    x = difference[0]
    highest = skip(difference[1])
    ops = [one for one in (difference[2], exponent, widened, summed, narrowed) if one is not None]
    clamp = binary(highest, "maximum")
    if clamp is not None:  # jax guards against empty reductions: max(-inf, max(x))
        ops.insert(0, clamp[2])
        highest = skip(clamp[1] if number(clamp[0]) == -math.inf else clamp[0])
    peak = defining(highest, "ttir.max")
    if peak is None or peak.operands[0] is not x or tuple(access.attr(peak, "dim_arg") or ()) != tuple(dims):
        return None
    rank = len(shape(x))
    return "ttir.softmax", [x], {"dimension": dims[0] % rank, "numericStable": True}, [peak, *ops]


def _is_last_dim(op: Operation) -> bool:
    return tuple(access.attr(op, "dim_arg") or ()) in ((-1,), (len(shape(op.operands[0])) - 1,))


def _last_dim_mean(value: SSAValue) -> tuple[SSAValue, list[Operation]] | None:
    """mean over the last dim, as ttir.mean or sum / n."""
    value = skip(value)
    mean = defining(value, "ttir.mean")
    if mean is not None:
        return (mean.operands[0], [mean]) if _is_last_dim(mean) else None
    one = scaled(value)
    summed = defining(skip(one[0]), "ttir.sum") if one is not None else None
    if one is None or summed is None or not _is_last_dim(summed):
        return None
    width = shape(summed.operands[0])[-1]
    return (summed.operands[0], [summed, *one[2]]) if near(one[1] * width, 1.0) else None


def _squared(value: SSAValue) -> tuple[SSAValue, list[Operation]] | None:
    if (square := defining(value, "ttir.square")) is not None:
        return square.operands[0], [square]
    pair = binary(value, "multiply")
    if pair is not None and pair[0] is pair[1]:
        return pair[0], [pair[2]]
    pair = binary(value, "pow")
    return (pair[0], [pair[2]]) if pair is not None and number(pair[1]) == 2.0 else None


def _with_epsilon(value: SSAValue) -> tuple[SSAValue, float, list[Operation]] | None:
    total = binary(skip(value), "add")
    if total is None:
        return None
    for x, other in (total[:2], total[1::-1]):
        if (epsilon := number(other)) is not None:
            return x, epsilon, [total[2]]
    return None


def _vector(value: SSAValue, width: int) -> SSAValue | None:
    """A 1-D weight behind broadcasts."""
    while (op := defining(value, "ttir.broadcast", "ttir.reshape")) is not None and shape(value) != (width,):
        value = op.operands[0]
    return value if shape(value) == (width,) else None


def _over_roots(op: Operation) -> Iterator[tuple[SSAValue, SSAValue | None, SSAValue, list[Operation]]]:
    """(x, weight, y, ops) for x * rsqrt(y) and x / sqrt(y); the weight may be joined to the root (flax) or to x before it is divided."""
    if op.name == "ttir.multiply":
        for x, joined in (op.operands, reversed(op.operands)):
            root, weight, extra = _root_and_weight(joined, shape(x)[-1]) if shape(x) else (joined, None, [])
            inverse = defining(root, "ttir.rsqrt")
            if inverse is not None:
                yield x, weight, inverse.operands[0], [inverse, *extra]
        return
    top, below = op.operands[0], defining(skip(op.operands[1]), "ttir.sqrt")
    if below is None or not shape(top):
        return
    yield top, None, below.operands[0], [below]
    pair = binary(top, "multiply")
    for x, other in (pair[:2], pair[1::-1]) if pair is not None else ():
        weight = _vector(other, shape(top)[-1])
        if weight is not None and pair is not None and _one_use(top):
            yield x, weight, below.operands[0], [pair[2], below]


def rms_norm(op: Operation) -> Match | None:
    """x * rsqrt(mean(x * x) + epsilon) or x / sqrt(...), perhaps with the weight."""
    for x, weight, power, roots in _over_roots(op):
        guarded = _with_epsilon(power)
        mean = _last_dim_mean(guarded[0]) if guarded is not None else None
        square = _squared(mean[0]) if mean is not None else None
        if guarded is None or mean is None or square is None or square[0] is not x:
            continue
        attributes = {"normalized_shape": shape(x)[-1:], "epsilon": guarded[1]}
        return "ttir.rms_norm", [x, weight, None], attributes, [*square[1], *mean[1], *guarded[2], *roots]
    return None


def weighted_norm(op: Operation) -> Match | None:
    """norm(x) * weight"""
    for inner, other in (op.operands, reversed(op.operands)):
        norm = defining(inner, "ttir.rms_norm", "ttir.layer_norm")
        if norm is None or len(norm.operands) != 1 or not _one_use(inner):
            continue
        weight = _vector(other, shape(inner)[-1])
        if weight is None:
            continue
        return norm.name, [norm.operands[0], weight, None], _norm_attributes(norm), [norm]
    return None


def narrow_norm(op: Operation) -> Match | None:
    """norm(x) that a bfloat16 model computes in float32 and rounds: the kernel takes bfloat16 and sums in float32 by its compute config."""
    norm = defining(op.operands[0], "ttir.rms_norm", "ttir.layer_norm")
    if norm is None or not _one_use(op.operands[0]) or (element_type(op.operands[0]), element_type(op.results[0])) != ("f32", "bf16"):
        return None
    widened = [value if value is None else defining(value, "ttir.typecast") for value in (norm.operands[0], operand(norm, "weight"), operand(norm, "bias"))]
    if widened[0] is None or any(value is None for value in widened[1 : len(norm.operands)]):
        return None
    casts = [cast for cast in widened if isinstance(cast, Operation)]
    if any(element_type(cast.operands[0]) != "bf16" for cast in casts):
        return None
    operands = [cast.operands[0] if isinstance(cast, Operation) else None for cast in widened]
    return norm.name, operands, _norm_attributes(norm) | {WIDE_SUMS: True}, [*casts, norm]


def biased_norm(op: Operation) -> Match | None:
    """norm(x) * weight + bias"""
    for inner, other in (op.operands, reversed(op.operands)):
        norm = defining(inner, "ttir.layer_norm")
        if norm is None or access.operand(norm, "bias") is not None or not _one_use(inner):
            continue
        bias = _vector(other, shape(inner)[-1])
        if bias is None:
            continue
        return norm.name, [norm.operands[0], access.operand(norm, "weight"), bias], _norm_attributes(norm), [norm]
    return None


def _norm_attributes(norm: Operation) -> dict[str, Any]:
    return {key: found for key in ("normalized_shape", "epsilon", WIDE_SUMS) if (found := access.attr(norm, key)) is not None}


def _one_use(value: SSAValue) -> bool:
    return sum(1 for _ in value.uses) == 1


def layer_norm(op: Operation) -> Match | None:
    """(x - mean) * rsqrt(variance + epsilon) or (x - mean) / sqrt(...), perhaps with the weight."""
    for centred, weight, power, roots in _over_roots(op):
        difference = binary(centred, "subtract")
        mean = _last_dim_mean(difference[1]) if difference is not None else None
        if difference is None or mean is None or mean[0] is not difference[0]:
            continue
        x = difference[0]
        guarded = _with_epsilon(power)
        variance = _variance(guarded[0], x, _last_dim_mean) if guarded is not None else None
        if guarded is None or variance is None:
            continue
        attributes = {"normalized_shape": shape(x)[-1:], "epsilon": guarded[1]}
        return "ttir.layer_norm", [x, weight, None], attributes, [*mean[1], difference[2], *variance, *guarded[2], *roots]
    return None


def group_norm(op: Operation) -> Match | None:
    """The same over the pixels and a group of the last dim's channels, as flax writes it: x itself is seen in groups for the statistics alone.

    Not where something else reads the root, as a training step's backward pass does.
    """
    for centred, weight, power, roots in _over_roots(op):
        difference = binary(centred, "subtract")
        mean = _group_mean(difference[1]) if difference is not None else None
        if difference is None or mean is None or not all(_one_use(root.results[0]) for root in roots):
            continue
        x, grouped = difference[0], mean[0]
        view = defining(grouped, "ttir.reshape")
        if view is None or view.operands[0] is not x or shape(grouped)[:-2] != shape(x)[:-1]:
            continue
        guarded = _with_epsilon(power)
        variance = _variance(_in_groups(guarded[0]), grouped, _group_mean) if guarded is not None else None
        if guarded is None or variance is None:
            continue
        attributes = {"num_groups": shape(grouped)[-2], "epsilon": guarded[1], "channel_dim": len(shape(x)) - 1}
        ops = [*mean[1], difference[2], *variance, *guarded[2], *roots]
        return "ttir.group_norm", [x, None, weight, None], attributes, [*(view for each in ops for view in _views_in_front(each)), *ops]
    return None


def _views_in_front(op: Operation) -> Iterator[Operation]:
    """The reshapes and broadcasts that an op reads, and those that they read."""
    for value in op.operands:
        while (view := defining(value, "ttir.reshape", "ttir.broadcast")) is not None:
            yield view
            value = view.operands[0]


def _group_mean(value: SSAValue) -> tuple[SSAValue, list[Operation]] | None:
    """The mean over all but the first dim, an image, and the last but one, a group."""
    mean = defining(_in_groups(value), "ttir.mean")
    if mean is None:
        return None
    rank = len(shape(mean.operands[0]))
    over = {dim % rank for dim in access.attr(mean, "dim_arg") or ()}
    return (mean.operands[0], [mean]) if rank > 3 and over == {*range(1, rank)} - {rank - 2} else None


def _in_groups(value: SSAValue) -> SSAValue:
    """Behind what gives each channel the number of its group: [N, G] as [N, 1, ..., 1, C]."""
    value = skip(value)
    joined = defining(value, "ttir.reshape")
    spread = defining(joined.operands[0], "ttir.broadcast") if joined is not None else None
    if joined is None or spread is None or len(shape(spread.results[0])) != 3 or shape(spread.operands[0]) != (*shape(spread.results[0])[:2], 1):
        return value
    images, groups, channels = shape(spread.results[0])
    return skip(spread.operands[0]) if shape(value) == (images, *(1 for _ in shape(value)[2:]), groups * channels) else value


def _root_and_weight(value: SSAValue, width: int) -> tuple[SSAValue, SSAValue | None, list[Operation]]:
    value = skip(value)
    pair = binary(value, "multiply")
    if pair is not None:
        for root, other in (pair[:2], pair[1::-1]):
            if defining(skip(root), "ttir.rsqrt") is not None and (weight := _vector(other, width)) is not None:
                return skip(root), weight, [pair[2]]
    return value, None, []


def _variance(value: SSAValue, x: SSAValue, mean_of: Callable[[SSAValue], tuple[SSAValue, list[Operation]] | None]) -> list[Operation] | None:
    """mean((x - mean)^2) or max(0, mean(x^2) - mean^2)."""
    value = skip(value)
    ops: list[Operation] = []
    clamp = binary(value, "maximum")
    if clamp is not None and 0.0 in (number(clamp[0]), number(clamp[1])):
        ops.append(clamp[2])
        value = skip(clamp[1] if number(clamp[0]) == 0.0 else clamp[0])
    positive = defining(value, "ttir.relu")
    if positive is not None:  # how front ends write max(0, x)
        ops.append(positive)
        value = skip(positive.operands[0])
    difference = binary(value, "subtract")
    if difference is not None:
        power, square = mean_of(difference[0]), _squared(skip(difference[1]))
        inner = _squared(power[0]) if power is not None else None
        mean = mean_of(square[0]) if square is not None else None
        if power is None or inner is None or mean is None or square is None or inner[0] is not x or mean[0] is not x:
            return None
        return [*inner[1], *power[1], *square[1], difference[2], *ops]
    outer = mean_of(value)
    square = _squared(outer[0]) if outer is not None else None
    centred = binary(square[0], "subtract") if square is not None else None
    if outer is None or square is None or centred is None or centred[0] is not x:
        return None
    mean = mean_of(centred[1])
    return [centred[2], *square[1], *outer[1], *ops] if mean is not None and mean[0] is x else None


RULES: dict[str, tuple[Callable[[Operation], Match | None], ...]] = {
    "ttir.multiply": (silu, gelu, gelu_tanh, layer_norm, group_norm, rms_norm, weighted_norm),
    "ttir.div": (softmax, layer_norm, group_norm, rms_norm, sigmoid),
    "ttir.reciprocal": (sigmoid,),
    "ttir.add": (biased_norm,),
    "ttir.typecast": (narrow_norm,),
}


@register("fuse-patterns", fusing=True)
class FusePatterns(Pass):
    """Written-out sigmoid, silu, gelu, softmax, rms_norm, layer_norm and group_norm become one op each."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            position = {op: index for index, op in enumerate(func.body.block.ops)}
            for op in list(func.body.block.ops):
                for pattern in RULES.get(op.name, ()):
                    match = pattern(op)
                    if match is None or match[1][0] is None or shape(match[1][0]) != shape(op.results[0]):
                        continue
                    name, operands, attributes, others = match
                    made = Builder.before(op).make(name, operands, attributes, [op.results[0].type])
                    position[made] = position[op]
                    add_sources(made, *sorted(dict.fromkeys(others), key=position.__getitem__), op)
                    replace(op, list(made.results))
                    break
            erase_dead(func)
