"""Which ops are offered, and which of them the core computes."""

from __future__ import annotations

from ttnn import _core
from ttnn._facts import facts, spellings
from ttnn._homes import HOME


def ops_without_kernel() -> list[str]:
    """Offered ops that the core does not implement."""
    names = _core.op_names()
    computed = {name for name in facts()["functions"] if not names.isdisjoint(spellings(name))}
    by_hand = {name.removeprefix("ttnn.") for name in computed}.union(*HOME.values())  # computed, or functions of this package
    ops = [name for name, (_, kind) in facts()["functions"].items() if kind == "op" or name in facts()["wrapped"]]
    return [name for name in ops if name.removeprefix("ttnn.") not in by_hand]


def unreachable_kernels() -> list[str]:
    """Ops of the core that no offered name reaches."""
    reached = {spelling for name in facts()["functions"] for spelling in spellings(name)}
    return sorted(_core.op_names() - reached)
