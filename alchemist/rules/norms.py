"""TTIR: recognizes softmax and normalizations that a model writes as elementwise ops and reductions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from xdsl.ir import SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining
from alchemist.ir.value import Value
from alchemist.ops.constants import number
from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import LAST, NEAR, Exact, Like, Maybe, Num, Once, Op, Pattern, Reduce, Seen, V, Vector

WIDE_SUMS = "alchemist.wide_sums"
"""Marks a norm of bfloat16 values that the model sums in float32."""
Mean = Callable[[Pattern], Pattern]

x, w, b, epsilon = V("x"), Vector("w"), Vector("b"), Num("epsilon")


def last_mean(p: Pattern) -> Pattern:
    return Reduce("mean", p, LAST) | (Reduce("sum", p, LAST) * Num("share")).where(lambda m: math.isclose(m["share"] * width(m)[-1], 1, rel_tol=NEAR))


def variance(p: Pattern, mean: Mean) -> Pattern:
    """Matches mean((p - mean(p))^2) or max(0, mean(p^2) - mean(p)^2)."""
    powers = mean(p * p) - mean(p) * mean(p)
    return mean((p - mean(p)) * (p - mean(p))) | powers | Op("relu", powers) | Op("maximum", powers, 0.0)


def over_root(p: Pattern, power: Pattern) -> Pattern:
    """Matches p / sqrt(power), optionally times a weight, which flax multiplies with the root."""
    root = Op("sqrt", power + epsilon)
    inverse = Op("rsqrt", power + epsilon) | 1.0 / root
    return p * inverse | p * inverse * w | p / root | Once(p * w) / root


def fits(bound: Mapping[str, Any]) -> bool:
    """Whether weight and bias are as wide as the last dim."""
    return all(shape(bound[name]) == shape(bound["x"])[-1:] for name in ("w", "b") if name in bound)


def width(bound: Mapping[str, Any]) -> tuple[int, ...]:
    return shape(bound["x"])[-1:]


# Group norm as flax writes it: x is reshaped to groups of channels only for the statistics, which are then broadcast to the channels.
groups = Op("reshape", x, name="groups")


def group_mean(p: Pattern) -> Pattern:
    return Reduce("mean", p, "over", aligned=False)


def spread(p: Pattern) -> Pattern:
    return Seen(Op("reshape", Op("broadcast", p)), _is_spread)


def _is_spread(value: SSAValue) -> bool:
    """Whether each channel gets the statistic of its group: [N, G, 1] -> [N, G, C / G] -> [N, 1, ..., 1, C]."""
    regrouped = defining(value, "ttir.reshape")
    by_group = defining(regrouped.operands[0], "ttir.broadcast") if regrouped is not None else None
    dims = shape(by_group.results[0]) if by_group is not None else ()
    if by_group is None or len(dims) != 3 or shape(by_group.operands[0]) != (*dims[:2], 1):
        return False
    return shape(value) == (dims[0], *(1 for _ in shape(value)[2:]), dims[1] * dims[2])


def _is_grouped(bound: Mapping[str, Any]) -> bool:
    dims = shape(bound["groups"].results[0])
    return fits(bound) and len(dims) > 3 and bound["over"] == tuple(dim for dim in range(1 - len(dims), 0) if dim != -2) and dims[:-2] == shape(bound["x"])[:-1]


peak = Reduce("max", x, "dims")
exponent = Op("exp", x - (peak | Op("maximum", peak, -math.inf)))  # jax guards against empty reductions
total = Reduce("sum", exponent, "dims") | Op("typecast", Reduce("sum", Op("typecast", exponent), "dims"))  # jax sums bfloat16 in float32


selected = Exact("where", V("mask"), V("chosen"), x, name="narrow")
narrow = Exact("typecast", x, name="narrow") | Exact("softmax", x, name="narrow") | Exact("div", x, V("divisor"), name="narrow") | selected
compared = narrow | Exact("typecast", narrow)


def _is_masked_by_nan(b: Builder, bound: Mapping[str, Any]) -> SSAValue | None:
    x, mask, dims = Value(b, bound["x"]), Value(b, bound["mask"]), shape(bound["narrow"].results[0])
    fills = [number(bound[name]) for name in ("chosen", "x")]
    is_nan = [fill is not None and math.isnan(fill) for fill in fills]
    if mask.of != "i1" or is_nan[0] == is_nan[1]:
        return None
    mask = mask.reshape(*[1] * (len(dims) - len(mask.shape)), *mask.shape).broadcast(*dims)
    return mask.op("logical_or", x.op("ne", x)).ssa if is_nan[0] else mask.op("logical_not").ssa


def _is_nan(b: Builder, bound: Mapping[str, Any]) -> SSAValue | None:
    """isnan of a bfloat16 value from what it is computed of: TT-NN stores NaN as infinity in bfloat16."""
    x, op = Value(b, bound["x"]), bound["narrow"]
    if element_type(op.results[0]) != "bf16" or (op.name == "ttir.typecast" and x.of != "f32"):
        return None
    if op.name == "ttir.where":
        return _is_masked_by_nan(b, bound)
    if op.name != "ttir.softmax":
        wide = x if op.name == "ttir.typecast" else x.cast("f32") / Value(b, bound["divisor"]).cast("f32")
        return wide.op("ne", wide).ssa
    peak = x.reduce("max", [access.attr(op, "dimension") % len(x.shape)])  # -inf where all of a row is masked
    return peak.op("abs").op("eq", math.inf).broadcast(*x.shape).ssa


def wide(p: Pattern) -> Pattern:
    return Op("typecast", p)


def _is_narrow(bound: Mapping[str, Any]) -> bool:
    """Whether a bfloat16 model uses float32 only to compute the norm; the kernel takes weights of either type."""
    return element_type(bound["norm"].results[0]) == "f32" and all(element_type(value) == "bf16" for value in (bound["cast"].results[0], bound["x"]))


NUMBERS = {"epsilon": 1e-3, "share": 1 / 64}
SOFTMAX = Rule(
    "softmax",
    exponent / total,
    Op("softmax", x, dimension=lambda bound: bound["dims"][0] % len(shape(bound["x"])), numericStable=True),
    guard=lambda bound: len(bound["dims"]) == 1,
)
NORMS = Rules(
    "ttir",
    SOFTMAX,
    Rule(
        "layer_norm",
        over_root(x - last_mean(x), variance(x, last_mean)),
        Op("layer_norm", x, Maybe(w), normalized_shape=width, epsilon=epsilon),
        guard=fits,
        samples=NUMBERS,
    ),
    Rule("isnan in bfloat16", Exact("ne", compared, compared), _is_nan),
    Rule("rms_norm", over_root(x, last_mean(x * x)), Op("rms_norm", x, Maybe(w), normalized_shape=width, epsilon=epsilon), guard=fits, samples=NUMBERS),
    Rule(
        "group_norm",
        over_root(x - spread(group_mean(groups)), spread(variance(groups, group_mean))),
        Op(
            "group_norm",
            x,
            None,
            Maybe(w),
            num_groups=lambda bound: shape(bound["groups"].results[0])[-2],
            epsilon=epsilon,
            channel_dim=lambda bound: len(shape(bound["x"])) - 1,
        ),
        guard=_is_grouped,
        dead=True,
        samples=None,
    ),
    Rule("weight of a norm", Once(Op("rms_norm|layer_norm", x, name="norm")) * w, Like("norm", x, w), guard=fits),
    Rule("bias of a norm", Once(Op("layer_norm", x, Maybe(V("w")), name="norm")) + b, Like("norm", x, Maybe(w), b), guard=fits),
    Rule(  # the kernel takes bfloat16 and sums in float32 by its compute config
        "narrow norm",
        Op("typecast", Once(Op("rms_norm|layer_norm", wide(x), Maybe(wide(V("w")) | V("w")), Maybe(wide(V("b")) | V("b")), name="norm")), name="cast"),
        Like("norm", x, Maybe(w), Maybe(b), more={WIDE_SUMS: True}),
        guard=_is_narrow,
        samples=None,
    ),
)
