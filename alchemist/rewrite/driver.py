"""Rewrite rules and the driver that applies them.

A rule is `before -> after` with an optional guard. The driver visits each op of a function once, in order, and tries the rules whose pattern may have this
op as its root. It visits new ops again. A new op gets the source locations of all matched ops, in program order.
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
from alchemist.rewrite.match import Bindings, Like, Maybe, Num, Op, Pattern, V

STEP_LIMIT = 32
"""Consecutive rewrites of one op; more of them mean that rules undo each other."""
Build = Callable[[Builder, Mapping[str, Any]], SSAValue | None]
"""Builds ops in place of the matched root, with the source locations of all matched ops. Returns None to refuse."""
Faster = Callable[[Operation, Sequence[Operation]], bool]
"""Whether an op takes less time than those that it replaces."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule replaces a value that matches `before` by `after`, a value of the same type.

    after: an op, or a function that builds the value from the bindings (None: refused). guard: a condition on the bindings.
    dead: apply only if no other op reads an inner value, so that all matched ops become dead. when_faster: apply only if the caller's cost model agrees.
    samples: numbers for the names in `before` with which `check` tests an `after` that is an op; None if such samples lack its types or layouts.
    place: file and line where the rule is created.
    """

    name: str
    before: Pattern
    after: Op | Build
    guard: Callable[[Mapping[str, Any]], bool] = lambda bound: True
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

    def apply(self, module: ModuleOp, is_faster: Faster = lambda new_op, replaced: True) -> None:
        """Rewrites all functions. is_faster: the cost model for rules with `when_faster`. Raises: InternalError for rules that do not terminate."""
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
            while op.parent is not None and (new_op := self._rewrite(op, by_root.get(op.name, ()), positions, fired)) is not None:
                positions[new_op], op = positions[op], new_op
                if len(fired) > STEP_LIMIT:
                    last = fired[-1]
                    raise InternalError(f"rule {last.name!r} does not end", op=op.name, got=f"{len(fired)} rewrites of one op", expected=last.place)
        erase_dead(func)

    def _rewrite(self, op: Operation, rules: Any, positions: Mapping[Operation, int], fired: list[Rule]) -> Operation | None:
        """Applies the first rule that matches `op`; returns the new op, None if no rule matches."""
        for rule in rules:
            for bindings in rule.before.match(op.results[0], None, Bindings()):
                between = sorted({walked for walked in bindings.ops if walked is not op}, key=lambda walked: positions.get(walked, positions[op]))
                if not rule.guard(bindings.values) or (rule.dead and not _all_dead(between, op)):
                    continue
                if not isinstance(rule.after, Op):
                    new_op = self._call_builder(rule.after, bindings, between, op)
                elif (new_op := self._build_op(rule.after, bindings, op)) is not None:
                    add_sources(new_op, *between, op)
                if new_op is not None and rule.when_faster and not self.is_faster(new_op, [*between, op]):
                    erase(new_op)
                elif new_op is not None:
                    replace(op, list(new_op.results))
                    for inner_op in reversed(between):
                        if not any(True for _ in inner_op.results[0].uses):
                            erase(inner_op)
                    fired.append(rule)
                    return new_op
        return None

    def _call_builder(self, build: Build, bindings: Bindings, between: Sequence[Operation], root: Operation) -> Operation | None:
        b = Builder.before(root)
        b.source = tuple(dict.fromkeys(info for op in (*between, root) for info in sources_of(op))) or None
        value = build(b, bindings.values)
        if value is None:
            return None
        return value.owner if isinstance(value.owner, Operation) else None

    def _build_op(self, after: Op, bindings: Bindings, root: Operation) -> Operation | None:
        """None if the first operand's shape (TTNN: type) differs from the result's: then the match looked through a broadcast."""
        values = [self._operand(operand, bindings) for operand in after.operands]
        out, first = root.results[0], values[0]
        if first is None or shape(first) != shape(out) or (self.dialect == "ttnn" and first.type != out.type):
            return None
        attributes = {key: _attribute(value, bindings) for key, value in after.attributes.items()}
        if isinstance(after, Like):
            template: Operation = bindings.values[after.template]
            return Builder.before(root).make(template.name, values, {**access.attrs(template), **attributes}, [out.type])
        return Builder.before(root).make(f"{self.dialect}.{after.first}", values, attributes, [out.type])

    def _operand(self, pattern: Pattern, bindings: Bindings) -> SSAValue | None:
        """A named value; None for an operand that is absent."""
        inner = pattern.inner if isinstance(pattern, Maybe) else pattern
        name = inner.name if isinstance(inner, V) else ""
        value: SSAValue | None = bindings.values.get(name)
        return value


def _attribute(value: Any, bindings: Bindings) -> Any:
    return bindings.values[str(value.value)] if isinstance(value, Num) else value(bindings.values) if callable(value) else value


def _all_dead(ops: list[Operation], root: Operation) -> bool:
    """Whether only these ops and the root read the ops' results. Constants do not count."""
    return all(has_trait(op, "constant") or all(use.operation is root or use.operation in ops for use in op.results[0].uses) for op in ops)
