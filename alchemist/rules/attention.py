"""TTIR: what attention takes as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from alchemist.ir.access import attr, shape
from alchemist.ir.builder import Builder
from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import Exact, Maybe, Pattern, V


def repeated(name: str) -> Pattern:
    """Heads [B, KV, S, D] of which each is repeated in place: by one op, or by a dim of its own."""
    apart = Exact("broadcast|repeat", Exact("reshape", V(name), name=f"{name} apart"), name=f"{name} spread")
    return Exact("repeat_interleave", V(name), name=f"{name} repeat") | Exact("reshape", apart)


def _is_repeated(at: Mapping[str, Any], name: str) -> bool:
    dims = shape(at[name])
    if len(dims) != 4 or f"{name} repeat" in at:
        return len(dims) == 4 and attr(at[f"{name} repeat"], "dim") % 4 == 1
    times = shape(at["attention"].operands[1])[1] // dims[1]
    wide = (dims[0], dims[1] * times, *dims[2:])
    spread, apart = (shape(at[f"{name} {which}"].results[0]) for which in ("spread", "apart"))
    return apart == (*dims[:2], 1, *dims[2:]) and spread == (*dims[:2], times, *dims[2:]) and shape(at["attention"].operands["qkv".index(name)]) == wide


def _are_groups(at: Mapping[str, Any]) -> bool:
    return _is_repeated(at, "k") and _is_repeated(at, "v") and shape(at["k"])[1] == shape(at["v"])[1]


def _of_groups(b: Builder, at: Mapping[str, Any]) -> SSAValue:
    return b.like(at["attention"], {1: at["k"], 2: at["v"]})


GROUPED_HEADS = Rules(
    "ttir",
    Rule(
        "heads for groups",  # attention(q, repeat(k), repeat(v)) -> attention(q, k, v)
        Exact("scaled_dot_product_attention", V("q"), repeated("k"), repeated("v"), Maybe(V("mask")), Maybe(V("sink")), name="attention"),
        _of_groups,
        guard=_are_groups,
    ),
)
