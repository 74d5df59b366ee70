"""Patterns over SSA values.

Operators of Python make patterns: `x * Op("sigmoid", x)` is silu. A commutative op matches in either order. A product matches its factors and its constant
in any order and nesting, written with multiply, div, neg, square and pow. Ops are seen through broadcasts and reshapes that only add or spread dims of
size 1. On the right of a rule `Op` and `Like` say what is built.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation, OpResult, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.dialects import TTOp, has_trait
from alchemist.ir.edit import defining, single_use
from alchemist.ir.op_class import short_names
from alchemist.ops.constants import number

NEAR = 2e-3
"""Relative difference up to which two constants are equal: bfloat16 models have rounded ones."""
DEPTH = 5
"""Nested multiplications through which a product is taken apart."""
PRODUCTS = short_names("ttir", "factor") | short_names("ttnn", "factor")
"""Ops that products are written with."""
LAST = (-1,)
"""Dims of a reduction over the last one."""

Frame = tuple[int | None, ...] | None
"""Per dim of a value its position among the dims of the rule's root, counted from the last (-1), None for a dim of size 1.

None instead of a tuple: each dim has its own position.
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What a match has bound so far: values, ops, numbers and dims by name; and the ops that it has walked over."""

    at: Mapping[str, Any] = field(default_factory=dict)
    ops: tuple[Operation, ...] = ()

    def over(self, *ops: Operation) -> Found:
        return Found(self.at, (*self.ops, *ops))

    def bind(self, name: str, value: Any) -> Found | None:
        """None if the name is bound to something else."""
        if name not in self.at:
            return Found({**self.at, name: value}, self.ops)
        bound = self.at[name]
        same = bound is value or (isinstance(value, float) and math.isclose(bound, value, rel_tol=NEAR)) or (isinstance(value, tuple) and bound == value)
        return self if same else None


def short(value: SSAValue | Operation) -> str:
    """The name of an op, or of the op that computes a value, without its dialect; "" for an argument."""
    op = value.owner if isinstance(value, (OpResult, SSAValue)) else value  # OpResult first: the test for the abstract class is slow
    return op.name.partition(".")[2] if isinstance(op, Operation) else ""


def behind(value: SSAValue, frame: Frame, stop: Callable[[SSAValue], bool]) -> tuple[SSAValue, Frame, list[Operation]]:
    """The first value for which `stop` holds, else the last, behind views that only add or spread dims of size 1; the positions of its dims; the views."""
    views: list[Operation] = []
    while not stop(value) and (op := defining(value, "ttir.broadcast", "ttir.reshape")) is not None:
        source = op.operands[0]
        if op.name == "ttir.reshape":
            dims, sizes = shape(source), shape(value)
            if [n for n in dims if n != 1] != [n for n in sizes if n != 1]:
                break
            positions = iter([position for position, n in zip(frame or range(-len(sizes), 0), sizes, strict=True) if n != 1])
            moved = tuple(next(positions) if n != 1 else None for n in dims)
            frame = None if all(position in (None, index - len(dims)) for index, position in enumerate(moved)) else moved
        elif len(shape(source)) != len(shape(value)):
            break
        value = source
        views.append(op)
    return value, frame, views


def cut(frame: Frame, operand: SSAValue) -> Frame:
    """The positions of an operand's dims, which an elementwise op aligns at the last one."""
    return None if frame is None else frame[len(frame) - len(shape(operand)) :]


class Pattern:
    """What a value and the ops behind it have to be."""

    parts: Sequence[Pattern] = ()
    roots: frozenset[str] = frozenset()
    """Short names of the ops that it may end at; empty if any value may fit."""

    def match(self, value: SSAValue, frame: Frame, found: Found) -> Iterator[Found]:
        raise NotImplementedError

    def binds(self) -> frozenset[str]:
        """Names that each match binds."""
        return frozenset().union(*(part.binds() for part in self.parts))

    def uses(self) -> frozenset[str]:
        """Names that have to be bound where it stands on the right."""
        return frozenset().union(*(part.uses() for part in self.parts))

    def may_match(self, value: SSAValue) -> bool:
        """A cheap test in front of `match`."""
        return not self.roots or short(behind(value, None, lambda one: short(one) in self.roots)[0]) in self.roots

    def where(self, holds: Callable[[Mapping[str, Any]], bool]) -> Pattern:
        return Where(self, holds)

    def __mul__(self, other: Pattern | float) -> Pattern:
        return Product(self, as_pattern(other))

    def __rmul__(self, other: float) -> Pattern:
        return Product(Num(other), self)

    def __neg__(self) -> Pattern:
        return Product(Num(-1.0), self)

    def __add__(self, other: Pattern | float) -> Pattern:
        return Op("add", self, other)

    def __sub__(self, other: Pattern | float) -> Pattern:
        return Op("subtract", self, other)

    def __truediv__(self, other: Pattern | float) -> Pattern:
        return Op("div|divide", self, other)

    def __rtruediv__(self, other: float) -> Pattern:
        return Op("div|divide", other, self) | Op("reciprocal", self) if other == 1 else Op("div|divide", other, self)

    def __or__(self, other: Pattern) -> Pattern:
        return Either(self, other)


def as_pattern(part: Pattern | float | None) -> Pattern:
    return part if isinstance(part, Pattern) else Maybe() if part is None else Num(part)


class V(Pattern):
    """Any value; the same one wherever the name occurs again."""

    def __init__(self, name: str) -> None:
        self.name = name

    def match(self, value: SSAValue, frame: Frame, found: Found) -> Iterator[Found]:
        dims = shape(value)
        in_place = frame is None or all(n == 1 or position == index - len(dims) for index, (n, position) in enumerate(zip(dims, frame, strict=True)))
        if in_place and (bound := found.bind(self.name, value)) is not None:
            yield bound

    def binds(self) -> frozenset[str]:
        return frozenset({self.name})

    uses = binds


class Vector(V):
    """A value of one dim, the root's last, behind its views."""

    def match(self, value: SSAValue, frame: Frame, found: Found) -> Iterator[Found]:
        source, frame, views = behind(value, frame, lambda one: len(shape(one)) == 1)
        if len(shape(source)) == 1:
            yield from super().match(source, frame, found.over(*views))


class Maybe(Pattern):
    """An operand that may be absent; without a pattern, has to be."""

    def __init__(self, inner: Pattern | None = None) -> None:
        self.inner = inner

    def match(self, value: SSAValue | None, frame: Frame, found: Found) -> Iterator[Found]:
        if value is None:
            yield found
        elif self.inner is not None:
            yield from self.inner.match(value, frame, found)


class Num(Pattern):
    """A constant that is one number everywhere: this one, or any, by name."""

    def __init__(self, wanted: float | str) -> None:
        self.wanted = wanted

    def match(self, value: SSAValue, frame: Frame, found: Found) -> Iterator[Found]:
        constant = number(value)
        bound = found if constant == self.wanted else found.bind(self.wanted, constant) if isinstance(self.wanted, str) and constant is not None else None
        if bound is not None:
            yield bound

    def binds(self) -> frozenset[str]:
        return frozenset({self.wanted} if isinstance(self.wanted, str) else ())

    uses = binds


class Op(Pattern):
    """An op by its name without dialect ("ge|gt": one of them), its operands in the order of the table, and attributes.

    Operands that are left out have to be absent. An attribute is a value; a `Num` whose name is bound to it or gives it; on the right also a function of
    what is bound. name: what the op itself is bound to.
    """

    def __init__(self, names: str, *operands: Pattern | float | None, name: str = "", **attributes: Any) -> None:
        self.roots, self.operands, self.name, self.attributes = frozenset(names.split("|")), [as_pattern(one) for one in operands], name, attributes
        self.first = names.split("|")[0]
        self.parts = [*self.operands, *(one for one in attributes.values() if isinstance(one, Num))]

    def binds(self) -> frozenset[str]:
        return super().binds() | ({self.name} - {""})

    def seen(self, value: SSAValue, frame: Frame) -> tuple[SSAValue, Frame, list[Operation]]:
        """What may be the op's result, the positions of its dims, and the views in front of it."""
        return behind(value, frame, lambda one: short(one) in self.roots - {"reshape"})  # one that is no such view ends the way by itself

    def match(self, value: SSAValue, frame: Frame, found: Found) -> Iterator[Found]:
        value, frame, views = self.seen(value, frame)
        op = value.owner
        bound = self.bound(op, frame, found.over(*views, op)) if isinstance(op, TTOp) and short(op) in self.roots else None
        if bound is None or not isinstance(op, TTOp):
            return
        operands: list[SSAValue | None] = [value for group in op.info.operands for value in access.operands(op, group.name) or [None]]
        operands += [None] * (len(self.operands) - len(operands))
        patterns = [*self.operands, *(Maybe() for _ in operands[len(self.operands) :])]
        for order in [operands, operands[::-1]] if has_trait(op, "commutative") and operands[0] is not operands[1] else [operands]:
            pairs = list(zip(patterns, order, strict=True))
            if all(one is not None and pattern.may_match(one) if not isinstance(pattern, Maybe) else True for pattern, one in pairs):
                yield from _each(pairs, self.frame(frame), bound)

    def frame(self, frame: Frame) -> Frame:
        """The positions of dims among the operands."""
        return frame

    def bound(self, op: TTOp, frame: Frame, found: Found) -> Found | None:
        """With the op and its attributes; None if they differ."""
        after = found.bind(self.name, op) if self.name else found
        for key, wanted in self.attributes.items():
            has = access.attr(op, key)
            if not isinstance(wanted, Num):
                after = after if has == wanted else None
            elif after is not None:
                after = after.bind(str(wanted.wanted), float(has))
        return after


def _each(pairs: Sequence[tuple[Pattern, SSAValue | None]], frame: Frame, found: Found) -> Iterator[Found]:
    """Matches of all patterns with their values."""
    if not pairs:
        yield found
        return
    (pattern, value), *rest = pairs
    for after in pattern.match(value, frame if value is None else cut(frame, value), found):  # type: ignore[arg-type]
        yield from _each(rest, frame, after)


class Exact(Op):
    """An op that is not seen through views: rules about views themselves. It says nothing of the positions of dims."""

    def seen(self, value: SSAValue, frame: Frame) -> tuple[SSAValue, Frame, list[Operation]]:
        return value, None, []

    def may_match(self, value: SSAValue) -> bool:
        return short(value) in self.roots


class Like(Op):
    """On the right: an op of the name and attributes of the bound op, with other operands and further attributes."""

    def __init__(self, name: str, *operands: Pattern | None, more: Mapping[str, Any] | None = None) -> None:
        super().__init__("", *operands, **(more or {}))
        self.like = name

    def uses(self) -> frozenset[str]:
        return super().uses() | {self.like}


class Reduce(Op):
    """A reduction of a value over dims, counted from the last (a name is bound to them), whose result is aligned with the value, with or without the dims."""

    def __init__(self, names: str, of: Pattern, dims: tuple[int, ...] | str, aligned: bool = True) -> None:
        super().__init__(names, of)
        self.dims, self.aligned = dims, aligned

    def binds(self) -> frozenset[str]:
        return super().binds() | ({self.dims} if isinstance(self.dims, str) else frozenset())

    def frame(self, frame: Frame) -> Frame:
        return None

    def bound(self, op: TTOp, frame: Frame, found: Found) -> Found | None:
        rank, sizes = len(shape(op.operands[0])), shape(op.results[0])
        over = tuple(sorted(dim % rank - rank for dim in access.attr(op, "dim_arg") or ()))
        kept = [dim for dim in range(-rank, 0) if access.attr(op, "keep_dim") or dim not in over]
        positions = frame or range(-len(sizes), 0)
        if not over or len(sizes) != len(kept):
            return None
        if self.aligned and any(n != 1 and position != dim for n, position, dim in zip(sizes, positions, kept, strict=True)):
            return None
        return found.bind(self.dims, over) if isinstance(self.dims, str) else found if over == self.dims else None


class Product(Pattern):
    """A product of these factors and of the numbers among them."""

    def __init__(self, *factors: Pattern) -> None:
        self.parts = [one for factor in factors for one in (factor.parts if isinstance(factor, Product) else [factor])]
        numbers = [one.wanted for one in self.parts if isinstance(one, Num)]
        self.constant = math.prod(one for one in numbers if not isinstance(one, str))
        self.free = next((one for one in numbers if isinstance(one, str)), "")
        self.factors = sorted((one for one in self.parts if not isinstance(one, Num)), key=lambda one: not one.roots)
        if len(self.factors) > 1 or not self.free:
            self.roots = PRODUCTS
        elif self.factors[0].roots:  # the free constant may be 1, and the product its one factor
            self.roots = PRODUCTS | self.factors[0].roots

    def match(self, value: SSAValue, frame: Frame, found: Found) -> Iterator[Found]:
        for constant, factors, ops in products(value, frame, len(self.factors), DEPTH):
            if len(factors) != len(self.factors):
                continue
            if self.free:
                after = found.bind(self.free, constant / self.constant)
            else:
                after = found if math.isclose(constant, self.constant, rel_tol=NEAR) else None
            if after is not None:
                yield from self._assigned(self.factors, factors, after.over(*ops))

    def _assigned(self, patterns: Sequence[Pattern], factors: Sequence[tuple[SSAValue, Frame]], found: Found) -> Iterator[Found]:
        if not patterns:
            yield found
        for index, (factor, frame) in enumerate(factors):
            if factor not in [one for one, _ in factors[:index]] and patterns[0].may_match(factor):
                for after in patterns[0].match(factor, frame, found):
                    yield from self._assigned(patterns[1:], [*factors[:index], *factors[index + 1 :]], after)


def products(value: SSAValue, frame: Frame, limit: int, depth: int) -> Iterator[tuple[float, list[tuple[SSAValue, Frame]], tuple[Operation, ...]]]:
    """A value as a constant and at most `limit` factors, in each way of taking it apart; and the ops between."""
    if (constant := number(value)) is not None:
        yield constant, [], ()
        return
    if limit:
        yield 1.0, [(value, frame)], ()
    inner, frame, views = behind(value, frame, lambda one: short(one) in PRODUCTS)
    op, kind = inner.owner, short(inner)
    if not depth or not isinstance(op, Operation) or kind not in PRODUCTS:
        return
    left, right = op.operands[0], op.operands[-1]
    second = number(right)
    if kind == "multiply":
        for one, factors, ops in products(left, cut(frame, left), limit, depth - 1):
            for other, more, between in products(right, cut(frame, right), limit - len(factors), depth - 1):
                yield one * other, [*factors, *more], (*ops, *between, *views, op)
        return
    power = {"square": 2, "neg": 1, "pow": int(second) if second in (2.0, 3.0) else 0}.get(kind, 1 if second else 0)
    scale = -1.0 if kind == "neg" else 1 / second if kind.startswith("div") and second else 1.0
    for one, factors, ops in products(left, cut(frame, left), limit // power, depth - 1) if power else ():
        yield scale * one**power, factors * power, (*ops, *views, op)


class Either(Pattern):
    """One of several patterns."""

    def __init__(self, *options: Pattern) -> None:
        self.parts = [one for option in options for one in (option.parts if isinstance(option, Either) else [option])]
        self.roots = frozenset().union(*(one.roots for one in self.parts)) if all(one.roots for one in self.parts) else frozenset()

    def binds(self) -> frozenset[str]:
        return frozenset.intersection(*(one.binds() for one in self.parts))

    def match(self, value: SSAValue, frame: Frame, found: Found) -> Iterator[Found]:
        for option in self.parts:
            if option.may_match(value):
                yield from option.match(value, frame, found)


class Where(Pattern):
    """A pattern of which something holds, by what is bound then."""

    def __init__(self, inner: Pattern, holds: Callable[[Mapping[str, Any]], bool]) -> None:
        self.parts, self.roots, self.holds = [inner], inner.roots, holds

    def match(self, value: SSAValue, frame: Frame, found: Found) -> Iterator[Found]:
        yield from (after for after in self.parts[0].match(value, frame, found) if self.holds(after.at))


class Seen(Pattern):
    """A pattern of which something holds, by the value behind its views."""

    def __init__(self, inner: Pattern, holds: Callable[[SSAValue], bool]) -> None:
        self.parts, self.roots, self.holds = [inner], inner.roots, holds

    def match(self, value: SSAValue, frame: Frame, found: Found) -> Iterator[Found]:
        if self.holds(behind(value, frame, lambda one: short(one) in self.roots - {"reshape"})[0]):
            yield from self.parts[0].match(value, frame, found)


class Once(Pattern):
    """A value that nothing else reads."""

    def __init__(self, inner: Pattern) -> None:
        self.parts, self.roots = [inner], inner.roots

    def match(self, value: SSAValue, frame: Frame, found: Found) -> Iterator[Found]:
        if single_use(value):
            yield from self.parts[0].match(value, frame, found)
