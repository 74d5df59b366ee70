"""The rule tables: ATen overload -> rule (emits TTIR) or recipe (a torch function of simpler ops)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from alchemist.errors import InternalError

Rule = Callable[..., Any]
F = TypeVar("F", bound=Rule)

RULES: dict[str, Rule] = {}
RECIPES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[F], F]:
    """Registers a rule for ATen overloads ("aten.softmax.int")."""
    return _register(RULES, names)


def recipe(*names: str) -> Callable[[F], F]:
    """Registers a torch function that computes the op from simpler ops."""
    return _register(RECIPES, names)


def _register(table: dict[str, Rule], names: Sequence[str]) -> Callable[[F], F]:
    def add(function: F) -> F:
        for name in names:
            if name in RULES or name in RECIPES:
                raise InternalError("two rules", op=name)
            table[name] = function
        return function

    return add
