"""TTIR: reductions of reductions are one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.builder import Builder
from alchemist.ir.op_class import short_names
from alchemist.ops.axes import dims_of
from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import Exact, Once, V


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


MERGED = Rules(
    "ttir",
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
