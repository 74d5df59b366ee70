"""Rules and the one loop that applies them.

A rule is `before -> after` with an optional guard. The driver looks at each op of a function once, in order, and tries the rules whose pattern may end
there; what a rule makes is looked at again. It threads the sources of all ops that the match has walked over, in the order of the function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import InternalError
from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, erase, erase_dead, functions, replace
from alchemist.ir.location import sources_of
from alchemist.rewrite.match import Found, Like, Maybe, Num, Op, Pattern, V

STEP_LIMIT = 32
"""Rewrites in a row of one op: more of them are rules that undo each other."""
Build = Callable[[Builder, Mapping[str, Any]], SSAValue | None]
"""Makes ops at the place of the one that ends the match, with the sources of all that it has walked over."""
Faster = Callable[[Operation, Sequence[Operation]], bool]
"""Whether an op takes less time than those that it replaces."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of a table: what `before` matches becomes `after`, a value of the same type.

    after: an op, or a function that builds the value from what is bound, None where it refuses. guard: whether it may, from what is bound.
    dead: only where no other op reads a value between, so that all of them go away. when_faster: only where the caller's clock says so.
    samples: numbers for the names of `before` in the samples that `check` tries of an `after` that is an op, None where those have not its types or layouts.
    place: file and line, found out when it is made.
    """

    name: str
    before: Pattern
    after: Op | Build
    guard: Callable[[Mapping[str, Any]], bool] = lambda at: True
    dead: bool = False
    when_faster: bool = False
    samples: Mapping[str, float] | None = field(default_factory=dict)
    place: str = field(default_factory=lambda: _place())

    def __post_init__(self) -> None:
        if not self.before.roots:
            raise InternalError(f"rule {self.name!r} matches any value: `before` has to end at an op", got=self.place)
        if isinstance(self.after, Op) and (unbound := sorted(self.after.uses() - self.before.binds())):
            raise InternalError(f"rule {self.name!r} builds from a name that `before` does not bind: {', '.join(unbound)}", got=self.place)


def _place() -> str:
    frame = sys._getframe(3)  # _place, the default, __init__, the table
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


class Rules:
    """A table of rules for one dialect, in the order in which they are tried."""

    def __init__(self, dialect: str, *rules: Rule) -> None:
        self.dialect, self.rules = dialect, list(rules)

    def apply(self, module: ModuleOp, is_faster: Faster = lambda made, replaced: True) -> None:
        """Rewrites all functions. is_faster: asked for rules `when_faster`. Raises: InternalError for rules that do not end."""
        self.is_faster = is_faster
        by_root: dict[str, list[Rule]] = {}
        for rule in self.rules:
            for root in rule.before.roots:
                by_root.setdefault(f"{self.dialect}.{root}", []).append(rule)
        for func in functions(module):
            self._apply(func, by_root)

    def _apply(self, func: FuncOp, by_root: Mapping[str, list[Rule]]) -> None:
        positions = {op: index for index, op in enumerate(func.body.block.ops)}
        for op in list(positions):
            fired: list[Rule] = []
            while op.parent is not None and (made := self._rewritten(op, by_root.get(op.name, ()), positions, fired)) is not None:
                positions[made], op = positions[op], made
                if len(fired) > STEP_LIMIT:
                    last = fired[-1]
                    raise InternalError(f"rule {last.name!r} does not end", op=op.name, got=f"{len(fired)} rewrites of one op", expected=last.place)
        erase_dead(func)

    def _rewritten(self, op: Operation, rules: Any, positions: Mapping[Operation, int], fired: list[Rule]) -> Operation | None:
        """The op that a rule puts in place of `op`, if one matches."""
        for rule in rules:
            for found in rule.before.match(op.results[0], None, Found()):
                between = sorted({one for one in found.ops if one is not op}, key=lambda one: positions.get(one, positions[op]))
                if not rule.guard(found.at) or (rule.dead and not _all_dead(between, op)):
                    continue
                if not isinstance(rule.after, Op):
                    made = self._built(rule.after, found, between, op)
                elif (made := self._made(rule.after, found, op)) is not None:
                    add_sources(made, *between, op)
                if made is not None and rule.when_faster and not self.is_faster(made, [*between, op]):
                    erase(made)
                elif made is not None:
                    replace(op, list(made.results))
                    for one in reversed(between):
                        if not any(True for _ in one.results[0].uses):
                            erase(one)
                    fired.append(rule)
                    return made
        return None

    def _built(self, build: Build, found: Found, between: Sequence[Operation], root: Operation) -> Operation | None:
        b = Builder.before(root)
        b.source = tuple(dict.fromkeys(info for one in (*between, root) for info in sources_of(one))) or None
        value = build(b, found.at)
        if value is None:
            return None
        return value.owner if isinstance(value.owner, Operation) else None

    def _made(self, after: Op, found: Found, root: Operation) -> Operation | None:
        """None where the first operand is of another shape (TTNN: type) than the result: then dims were spread on the way."""
        values = [self._operand(one, found) for one in after.operands]
        out, first = root.results[0], values[0]
        if first is None or shape(first) != shape(out) or (self.dialect == "ttnn" and first.type != out.type):
            return None
        attributes = {key: _attribute(value, found) for key, value in after.attributes.items()}
        if isinstance(after, Like):
            like: Operation = found.at[after.like]
            return Builder.before(root).make(like.name, values, {**access.attrs(like), **attributes}, [out.type])
        return Builder.before(root).make(f"{self.dialect}.{after.first}", values, attributes, [out.type])

    def _operand(self, pattern: Pattern, found: Found) -> SSAValue | None:
        """A named value; None for an operand that is absent."""
        inner = pattern.inner if isinstance(pattern, Maybe) else pattern
        name = inner.name if isinstance(inner, V) else ""
        value: SSAValue | None = found.at.get(name)
        return value


def _attribute(value: Any, found: Found) -> Any:
    return found.at[str(value.wanted)] if isinstance(value, Num) else value(found.at) if callable(value) else value


def _all_dead(ops: list[Operation], root: Operation) -> bool:
    """Whether only each other and the root read the ops' results. Constants do not count."""
    return all(has_trait(op, "constant") or all(use.operation is root or use.operation in ops for use in op.results[0].uses) for op in ops)
