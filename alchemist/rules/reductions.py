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


def _at_once(b: Builder, at: Mapping[str, Any]) -> SSAValue | None:
    """None where only one keeps its dims, and the inner one's are not those that the outer one takes away."""
    inner, outer = at["inner"], at["outer"]
    keep, kept = access.attr(outer, "keep_dim"), access.attr(inner, "keep_dim")
    first = dims_of(access.attrs(inner), len(shape(at["x"])))
    left = [dim for dim in range(len(shape(at["x"]))) if kept or dim not in first]
    second = {left[dim] for dim in dims_of(access.attrs(outer), len(left))}
    if keep != kept and (keep or not second.issuperset(first)):
        return None
    return b.like(outer, {0: at["x"]}, dim_arg=sorted({*first, *second}))


MERGED = Rules(
    "ttir",
    *(
        Rule(
            f"{name} of a {name}",  # sum(sum(x, a), b) -> sum(x, a and b)
            Exact(name, Once(Exact(name, V("x"), name="inner")), name="outer"),
            _at_once,
            guard=lambda at: element_type(at["inner"].results[0]) == element_type(at["outer"].results[0]),
        )
        for name in sorted(short_names("ttir", "reduction"))
    ),
)
