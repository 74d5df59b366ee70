"""TTIR: removes ops on the operands of attention that attention does itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from alchemist.ir.access import attr, shape
from alchemist.ir.builder import Builder
from alchemist.ir.value import Value
from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import Exact, Maybe, Pattern, V


def repeated(name: str) -> Pattern:
    """Matches heads [B, KV, S, D] that are repeated per group: by repeat_interleave, or by a broadcast of an inserted dim."""
    split = Exact("broadcast|repeat", Exact("reshape", V(name), name=f"{name} split"), name=f"{name} spread")
    return Exact("repeat_interleave", V(name), name=f"{name} repeat") | Exact("reshape", split)


def _heads(bound: Mapping[str, Any], name: str) -> tuple[int, ...]:
    """Shape [B, KV, S, D] of the heads before they are repeated for the groups of attention; () where something else is repeated."""
    if f"{name} repeat" in bound:
        dims = shape(bound[name])
        return dims if len(dims) == 4 and attr(bound[f"{name} repeat"], "dim") % 4 == 1 else ()
    # not of bound[name]: one head's permute is a reshape, which the reshape that splits absorbs
    wide = shape(bound["attention"].operands["qkv".index(name)])
    split, spread = (shape(bound[f"{name} {view}"].results[0]) for view in ("split", "spread"))
    if len(split) != 5 or split[2] != 1 or (*split[:2], spread[2], *split[3:]) != spread or wide != (split[0], split[1] * spread[2], *split[3:]):
        return ()
    return *split[:2], *split[3:]


def _are_groups(bound: Mapping[str, Any]) -> bool:
    keys, values = _heads(bound, "k"), _heads(bound, "v")
    return len(keys) == len(values) == 4 and keys[1] == values[1]


def _of_groups(b: Builder, bound: Mapping[str, Any]) -> SSAValue:
    keys, values = (Value(b, bound[name]).reshape(*_heads(bound, name)).ssa for name in "kv")
    return b.like(bound["attention"], {1: keys, 2: values})


GROUPED_HEADS = Rules(
    "ttir",
    Rule(
        "heads for groups",  # attention(q, repeat(k), repeat(v)) -> attention(q, k, v)
        Exact("scaled_dot_product_attention", V("q"), repeated("k"), repeated("v"), Maybe(V("mask")), Maybe(V("sink")), name="attention"),
        _of_groups,
        guard=_are_groups,
    ),
)
