"""TTIR: removes ops on the operands of attention that attention does itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from alchemist.ir.access import attr, shape
from alchemist.ir.builder import Builder
from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import Exact, Maybe, Pattern, V


def repeated(name: str) -> Pattern:
    """Matches heads [B, KV, S, D] that are repeated per group: by repeat_interleave, or by a broadcast of an inserted dim."""
    split = Exact("broadcast|repeat", Exact("reshape", V(name), name=f"{name} split"), name=f"{name} spread")
    return Exact("repeat_interleave", V(name), name=f"{name} repeat") | Exact("reshape", split)


def _is_repeated(bound: Mapping[str, Any], name: str) -> bool:
    dims = shape(bound[name])
    if len(dims) != 4 or f"{name} repeat" in bound:
        return len(dims) == 4 and attr(bound[f"{name} repeat"], "dim") % 4 == 1
    times = shape(bound["attention"].operands[1])[1] // dims[1]
    wide = (dims[0], dims[1] * times, *dims[2:])
    spread, split = (shape(bound[f"{name} {view}"].results[0]) for view in ("spread", "split"))
    return split == (*dims[:2], 1, *dims[2:]) and spread == (*dims[:2], times, *dims[2:]) and shape(bound["attention"].operands["qkv".index(name)]) == wide


def _are_groups(bound: Mapping[str, Any]) -> bool:
    return _is_repeated(bound, "k") and _is_repeated(bound, "v") and shape(bound["k"])[1] == shape(bound["v"])[1]


def _of_groups(b: Builder, bound: Mapping[str, Any]) -> SSAValue:
    return b.like(bound["attention"], {1: bound["k"], 2: bound["v"]})


GROUPED_HEADS = Rules(
    "ttir",
    Rule(
        "heads for groups",  # attention(q, repeat(k), repeat(v)) -> attention(q, k, v)
        Exact("scaled_dot_product_attention", V("q"), repeated("k"), repeated("v"), Maybe(V("mask")), Maybe(V("sink")), name="attention"),
        _of_groups,
        guard=_are_groups,
    ),
)
