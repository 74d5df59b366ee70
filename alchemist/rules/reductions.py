"""TTIR: a reduction of a reduction becomes one; a variance is computed from differences to the mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.builder import Builder
from alchemist.ir.op_class import short_names
from alchemist.ir.value import Value
from alchemist.ops.axes import dims_of
from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import NEAR, Exact, Num, Once, Op, Pattern, Reduce, V, short


def _at_once(b: Builder, bound: Mapping[str, Any]) -> SSAValue | None:
    """None where only one keeps its dims, and the inner one's are not those that the outer one takes away."""
    inner, outer = bound["inner"], bound["outer"]
    outer_keep, inner_keep = access.attr(outer, "keep_dim"), access.attr(inner, "keep_dim")
    first = dims_of(access.attrs(inner), len(shape(bound["x"])))
    left = [dim for dim in range(len(shape(bound["x"]))) if inner_keep or dim not in first]
    second = {left[dim] for dim in dims_of(access.attrs(outer), len(left))}
    if outer_keep != inner_keep and (outer_keep or not second.issuperset(first)):
        return None
    return b.like(outer, {0: bound["x"]}, dim_arg=sorted({*first, *second}))


def _difference(kind: str) -> Pattern:
    """Matches a * kind(x * y) - b * kind(x) * kind(y) over the same dims: the variance (x is y) or the covariance in one pass."""
    x, y = V("x"), V("y")
    total = Num("a") * Reduce(kind, x * y, "over", aligned=False)
    of_totals = Num("b") * Reduce(kind, x, "over", aligned=False) * Reduce(kind, y, "over", aligned=False)
    return Op("subtract", total, of_totals, name="difference") | Op("add", total, of_totals, name="difference")


def _is_covariance(kind: str, bound: Mapping[str, Any]) -> bool:
    dims, result = shape(bound["x"]), bound["difference"].results[0]
    count = math.prod(dims[dim] for dim in bound["over"])
    sign = 1 if short(result) == "subtract" else -1
    same = shape(bound["y"]) == dims and math.prod(shape(result)) * count == math.prod(dims)
    of_floats = {element_type(value) for value in (bound["x"], bound["y"], result)} in ({"f32"}, {"bf16"})
    return same and of_floats and math.isclose(sign * bound["b"] * (count if kind == "sum" else 1), bound["a"], rel_tol=NEAR)


def _of_differences(b: Builder, kind: str, bound: Mapping[str, Any]) -> SSAValue:
    x, y = (Value(b, bound[name]) for name in "xy")
    dims = [dim % len(x.shape) for dim in bound["over"]]
    from_mean = x - x.reduce("mean", dims)
    product = from_mean.op("square") if x.ssa is y.ssa else from_mean * (y - y.reduce("mean", dims))
    total = product.reduce(kind, dims)
    return (total if bound["a"] == 1 else total * bound["a"]).reshape(*shape(bound["difference"].results[0])).ssa


def _two_passes(kind: str) -> Rule:
    """float32 holds 24 bits: next to a large mean the difference of squares keeps few of them."""
    name, before = f"{kind} of products of differences", _difference(kind)
    return Rule(name, before, lambda b, bound: _of_differences(b, kind, bound), guard=lambda bound: _is_covariance(kind, bound))


MERGED = Rules(
    "ttir",
    _two_passes("mean"),
    _two_passes("sum"),
    *(
        Rule(
            f"{name} of a {name}",  # sum(sum(x, a), b) -> sum(x, a and b)
            Exact(name, Once(Exact(name, V("x"), name="inner")), name="outer"),
            _at_once,
            guard=lambda bound: element_type(bound["inner"].results[0]) == element_type(bound["outer"].results[0]),
        )
        for name in sorted(short_names("ttir", "reduction"))
    ),
)
