"""The rule table: (op, version it came with) -> rule. The rule of a node is the newest that its opset has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from alchemist.errors import InternalError

Rule = Callable[..., Any]
F = TypeVar("F", bound=Rule)

FIRST_OPSET, LAST_OPSET = 13, 28
READ_OPSET = 21
"""Rules know the attributes of this opset; one that came later is refused, unless the rule says that it is of a later one."""
RULES: dict[str, dict[int, Rule]] = {}


def rule(*names: str, since: int = 1) -> Callable[[F], F]:
    """Registers a rule `f(c, node, *inputs)` for standard ops, from the opset `since` on; inputs left out are None."""

    def add(function: F) -> F:
        for name in names:
            if since in RULES.setdefault(name, {}):
                raise InternalError("two rules", op=name)
            RULES[name][since] = function
        return function

    return add


def find(name: str, opset: int) -> tuple[Rule, int] | None:
    """The rule of an op in a model of this opset, and the opset whose attributes it knows."""
    versions = [since for since in RULES.get(name, {}) if since <= opset]
    return (RULES[name][max(versions)], max(READ_OPSET, *versions)) if versions else None


@dataclass(slots=True)
class Node:
    """The node of a rule. attributes: plain Python values and numpy arrays. wanted: which outputs are read.

    counted: whether something reads an output otherwise than by casting it to floats."""

    op: str
    opset: int
    name: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    wanted: tuple[bool, ...] = (True,)
    counted: bool = True

    def get(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def wants(self, output: int) -> bool:
        return output < len(self.wanted) and self.wanted[output]
