"""Patterns over SSA values.

Python's operators build patterns: `x * Op("sigmoid", x)` is silu. A commutative op matches in either order. A product matches its factors and its constant
in any order and nesting, written with multiply, div, neg, square and pow. Patterns look through views: broadcasts and reshapes that only add or spread dims
of size 1. On the right side of a rule, `Op` and `Like` describe the op to build.
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
"""Relative difference up to which two constants count as equal: bfloat16 models store rounded constants."""
DEPTH = 5
"""Levels of nested multiplications that `products` flattens."""
PRODUCTS = short_names("ttir", "factor") | short_names("ttnn", "factor")
"""Ops that may be part of a product."""
LAST = (-1,)
"""Dims of a reduction over the last dim."""

Frame = tuple[int | None, ...] | None
"""Per dim of a value its position among the dims of the rule's root, counted from the last (-1), None for a dim of size 1.

None instead of a tuple: each dim has its own position.
"""


@dataclass(frozen=True, slots=True)
class Bindings:
    """The names that a partial match has bound to values, ops, numbers and dims; and the ops that it has visited."""

    values: Mapping[str, Any] = field(default_factory=dict)
    ops: tuple[Operation, ...] = ()

    def visiting(self, *ops: Operation) -> Bindings:
        return Bindings(self.values, (*self.ops, *ops))

    def bind(self, name: str, value: Any) -> Bindings | None:
        """None if the name is bound to something else."""
        if name not in self.values:
            return Bindings({**self.values, name: value}, self.ops)
        bound = self.values[name]
        same = bound is value or (isinstance(value, float) and math.isclose(bound, value, rel_tol=NEAR)) or (isinstance(value, tuple) and bound == value)
        return self if same else None


def short(value: SSAValue | Operation) -> str:
    """The name of an op, or of the op that computes a value, without its dialect; "" for an argument."""
    op = value.owner if isinstance(value, (OpResult, SSAValue)) else value  # OpResult first: the test for the abstract class is slow
    return op.name.partition(".")[2] if isinstance(op, Operation) else ""


def through_views(value: SSAValue, frame: Frame, stop: Callable[[SSAValue], bool]) -> tuple[SSAValue, Frame, list[Operation]]:
    """Looks through views that only add or spread dims of size 1, until `stop` holds; returns the value, its frame and the views."""
    views: list[Operation] = []
    while not stop(value) and (op := defining(value, "ttir.broadcast", "ttir.reshape")) is not None:
        source = op.operands[0]
        if op.name == "ttir.reshape":
            dims, sizes = shape(source), shape(value)
            if [n for n in dims if n != 1] != [n for n in sizes if n != 1]:
                break
            positions = iter([position for position, n in zip(frame or range(-len(sizes), 0), sizes, strict=True) if n != 1])
            source_positions = tuple(next(positions) if n != 1 else None for n in dims)
            frame = None if all(position in (None, index - len(dims)) for index, position in enumerate(source_positions)) else source_positions
        elif len(shape(source)) != len(shape(value)):
            break
        value = source
        views.append(op)
    return value, frame, views


def align_at_last(frame: Frame, operand: SSAValue) -> Frame:
    """The frame of an operand, which broadcasting aligns at the last dim."""
    return None if frame is None else frame[len(frame) - len(shape(operand)) :]


class Pattern:
    """A pattern that matches a value and the ops that compute it."""

    parts: Sequence[Pattern] = ()
    roots: frozenset[str] = frozenset()
    """Short names of the ops whose result may match; empty if any value may match."""

    def match(self, value: SSAValue, frame: Frame, bindings: Bindings) -> Iterator[Bindings]:
        raise NotImplementedError

    def binds(self) -> frozenset[str]:
        """Names that each match binds."""
        return frozenset().union(*(part.binds() for part in self.parts))

    def uses(self) -> frozenset[str]:
        """Names that have to be bound where the pattern is the right side of a rule."""
        return frozenset().union(*(part.uses() for part in self.parts))

    def may_match(self, value: SSAValue) -> bool:
        """Tests cheaply whether `match` can succeed."""
        return not self.roots or short(through_views(value, None, lambda candidate: short(candidate) in self.roots)[0]) in self.roots

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
    """Matches any value; each further occurrence of the name matches only the same value."""

    def __init__(self, name: str) -> None:
        self.name = name

    def match(self, value: SSAValue, frame: Frame, bindings: Bindings) -> Iterator[Bindings]:
        dims = shape(value)
        in_place = frame is None or all(n == 1 or position == index - len(dims) for index, (n, position) in enumerate(zip(dims, frame, strict=True)))
        if in_place and (bound := bindings.bind(self.name, value)) is not None:
            yield bound

    def binds(self) -> frozenset[str]:
        return frozenset({self.name})

    uses = binds


class Vector(V):
    """Matches a value of one dim, which is the root's last dim, through views."""

    def match(self, value: SSAValue, frame: Frame, bindings: Bindings) -> Iterator[Bindings]:
        source, frame, views = through_views(value, frame, lambda candidate: len(shape(candidate)) == 1)
        if len(shape(source)) == 1:
            yield from super().match(source, frame, bindings.visiting(*views))


class Maybe(Pattern):
    """Matches an optional operand; without a pattern, the operand has to be absent."""

    def __init__(self, inner: Pattern | None = None) -> None:
        self.inner = inner

    def match(self, value: SSAValue | None, frame: Frame, bindings: Bindings) -> Iterator[Bindings]:
        if value is None:
            yield bindings
        elif self.inner is not None:
            yield from self.inner.match(value, frame, bindings)


class Num(Pattern):
    """Matches a splat constant: with this number, or any number, which it binds to a name."""

    def __init__(self, expected: float | str) -> None:
        self.value = expected

    def match(self, value: SSAValue, frame: Frame, bindings: Bindings) -> Iterator[Bindings]:
        constant = number(value)
        bound = bindings if constant == self.value else bindings.bind(self.value, constant) if isinstance(self.value, str) and constant is not None else None
        if bound is not None:
            yield bound

    def binds(self) -> frozenset[str]:
        return frozenset({self.value} if isinstance(self.value, str) else ())

    uses = binds


class Op(Pattern):
    """Matches an op by its name without dialect ("ge|gt": either), its operands in the order of the op table, and its attributes.

    Omitted operands have to be absent. An attribute is a value, or a `Num` that binds it to a name; on the right side also a function of the bindings.
    name: the name that the op itself is bound to.
    """

    def __init__(self, names: str, *operands: Pattern | float | None, name: str = "", **attributes: Any) -> None:
        self.roots, self.operands, self.name, self.attributes = frozenset(names.split("|")), [as_pattern(part) for part in operands], name, attributes
        self.first = names.split("|")[0]
        self.parts = [*self.operands, *(part for part in attributes.values() if isinstance(part, Num))]

    def binds(self) -> frozenset[str]:
        return super().binds() | ({self.name} - {""})

    def look_through(self, value: SSAValue, frame: Frame) -> tuple[SSAValue, Frame, list[Operation]]:
        """The value behind the views that may be the op's result, its frame, and the views."""
        return through_views(value, frame, lambda candidate: short(candidate) in self.roots - {"reshape"})  # through_views stops at any other reshape by itself

    def match(self, value: SSAValue, frame: Frame, bindings: Bindings) -> Iterator[Bindings]:
        value, frame, views = self.look_through(value, frame)
        op = value.owner
        bound = self.bound(op, frame, bindings.visiting(*views, op)) if isinstance(op, TTOp) and short(op) in self.roots else None
        if bound is None or not isinstance(op, TTOp):
            return
        operands: list[SSAValue | None] = [value for group in op.info.operands for value in access.operands(op, group.name) or [None]]
        operands += [None] * (len(self.operands) - len(operands))
        patterns = [*self.operands, *(Maybe() for _ in operands[len(self.operands) :])]
        for order in [operands, operands[::-1]] if has_trait(op, "commutative") and operands[0] is not operands[1] else [operands]:
            pairs = list(zip(patterns, order, strict=True))
            if all(operand is not None and pattern.may_match(operand) if not isinstance(pattern, Maybe) else True for pattern, operand in pairs):
                yield from _match_all(pairs, self.frame(frame), bound)

    def frame(self, frame: Frame) -> Frame:
        """The frame of the op's operands."""
        return frame

    def bound(self, op: TTOp, frame: Frame, bindings: Bindings) -> Bindings | None:
        """The bindings extended by the op and its attributes; None if an attribute differs."""
        after = bindings.bind(self.name, op) if self.name else bindings
        for key, expected in self.attributes.items():
            has = access.attr(op, key)
            if not isinstance(expected, Num):
                after = after if has == expected else None
            elif after is not None:
                after = after.bind(str(expected.value), float(has))
        return after


def _match_all(pairs: Sequence[tuple[Pattern, SSAValue | None]], frame: Frame, bindings: Bindings) -> Iterator[Bindings]:
    """Yields the bindings of each way to match all patterns with their values."""
    if not pairs:
        yield bindings
        return
    (pattern, value), *rest = pairs
    for after in pattern.match(value, frame if value is None else align_at_last(frame, value), bindings):  # type: ignore[arg-type]
        yield from _match_all(rest, frame, after)


class Exact(Op):
    """Matches an op itself, without looking through views, for rules about views. It ignores the positions of dims."""

    def look_through(self, value: SSAValue, frame: Frame) -> tuple[SSAValue, Frame, list[Operation]]:
        return value, None, []

    def may_match(self, value: SSAValue) -> bool:
        return short(value) in self.roots


class Like(Op):
    """On the right side: builds an op with the name and attributes of the bound op, with other operands and further attributes."""

    def __init__(self, name: str, *operands: Pattern | None, more: Mapping[str, Any] | None = None) -> None:
        super().__init__("", *operands, **(more or {}))
        self.template = name

    def uses(self) -> frozenset[str]:
        return super().uses() | {self.template}


class Reduce(Op):
    """Matches a reduction over dims counted from the last, or binds them to a name. aligned: each kept dim is at its position in the root."""

    def __init__(self, names: str, of: Pattern, dims: tuple[int, ...] | str, aligned: bool = True) -> None:
        super().__init__(names, of)
        self.dims, self.aligned = dims, aligned

    def binds(self) -> frozenset[str]:
        return super().binds() | ({self.dims} if isinstance(self.dims, str) else frozenset())

    def frame(self, frame: Frame) -> Frame:
        return None

    def bound(self, op: TTOp, frame: Frame, bindings: Bindings) -> Bindings | None:
        rank, sizes = len(shape(op.operands[0])), shape(op.results[0])
        over = tuple(sorted(dim % rank - rank for dim in access.attr(op, "dim_arg") or ()))
        kept_dims = [dim for dim in range(-rank, 0) if access.attr(op, "keep_dim") or dim not in over]
        positions = frame or range(-len(sizes), 0)
        if not over or len(sizes) != len(kept_dims):
            return None
        if self.aligned and any(n != 1 and position != dim for n, position, dim in zip(sizes, positions, kept_dims, strict=True)):
            return None
        return bindings.bind(self.dims, over) if isinstance(self.dims, str) else bindings if over == self.dims else None


class Product(Pattern):
    """Matches the product of these factors and numbers."""

    def __init__(self, *factors: Pattern) -> None:
        self.parts = [part for factor in factors for part in (factor.parts if isinstance(factor, Product) else [factor])]
        numbers = [part.value for part in self.parts if isinstance(part, Num)]
        self.constant = math.prod(part for part in numbers if not isinstance(part, str))
        self.free = next((part for part in numbers if isinstance(part, str)), "")
        self.factors = sorted((part for part in self.parts if not isinstance(part, Num)), key=lambda part: not part.roots)
        if len(self.factors) > 1 or not self.free:
            self.roots = PRODUCTS
        elif self.factors[0].roots:  # with a free constant of 1 the product is its only factor
            self.roots = PRODUCTS | self.factors[0].roots

    def match(self, value: SSAValue, frame: Frame, bindings: Bindings) -> Iterator[Bindings]:
        for constant, factors, ops in products(value, frame, len(self.factors), DEPTH):
            if len(factors) != len(self.factors):
                continue
            if self.free:
                after = bindings.bind(self.free, constant / self.constant)
            else:
                after = bindings if math.isclose(constant, self.constant, rel_tol=NEAR) else None
            if after is not None:
                yield from self._assign(self.factors, factors, after.visiting(*ops))

    def _assign(self, patterns: Sequence[Pattern], factors: Sequence[tuple[SSAValue, Frame]], bindings: Bindings) -> Iterator[Bindings]:
        if not patterns:
            yield bindings
        for index, (factor, frame) in enumerate(factors):
            if factor not in [earlier for earlier, _ in factors[:index]] and patterns[0].may_match(factor):
                for after in patterns[0].match(factor, frame, bindings):
                    yield from self._assign(patterns[1:], [*factors[:index], *factors[index + 1 :]], after)


def products(value: SSAValue, frame: Frame, limit: int, depth: int) -> Iterator[tuple[float, list[tuple[SSAValue, Frame]], tuple[Operation, ...]]]:
    """Yields each way to write a value as a constant times at most `limit` factors, and the ops in between."""
    if (constant := number(value)) is not None:
        yield constant, [], ()
        return
    if limit:
        yield 1.0, [(value, frame)], ()
    inner, frame, views = through_views(value, frame, lambda candidate: short(candidate) in PRODUCTS)
    op, kind = inner.owner, short(inner)
    if not depth or not isinstance(op, Operation) or kind not in PRODUCTS:
        return
    left, right = op.operands[0], op.operands[-1]
    second = number(right)
    if kind == "multiply":
        for constant_factor, factors, ops in products(left, align_at_last(frame, left), limit, depth - 1):
            for right_constant, more, between in products(right, align_at_last(frame, right), limit - len(factors), depth - 1):
                yield constant_factor * right_constant, [*factors, *more], (*ops, *between, *views, op)
        return
    power = {"square": 2, "neg": 1, "pow": int(second) if second in (2.0, 3.0) else 0}.get(kind, 1 if second else 0)
    scale = -1.0 if kind == "neg" else 1 / second if kind.startswith("div") and second else 1.0
    for constant_factor, factors, ops in products(left, align_at_last(frame, left), limit // power, depth - 1) if power else ():
        yield scale * constant_factor**power, factors * power, (*ops, *views, op)


class Either(Pattern):
    """Matches any one of several patterns."""

    def __init__(self, *options: Pattern) -> None:
        self.parts = [part for option in options for part in (option.parts if isinstance(option, Either) else [option])]
        self.roots = frozenset().union(*(part.roots for part in self.parts)) if all(part.roots for part in self.parts) else frozenset()

    def binds(self) -> frozenset[str]:
        return frozenset.intersection(*(part.binds() for part in self.parts))

    def match(self, value: SSAValue, frame: Frame, bindings: Bindings) -> Iterator[Bindings]:
        for option in self.parts:
            if option.may_match(value):
                yield from option.match(value, frame, bindings)


class Where(Pattern):
    """A pattern with a condition on its bindings."""

    def __init__(self, inner: Pattern, holds: Callable[[Mapping[str, Any]], bool]) -> None:
        self.parts, self.roots, self.holds = [inner], inner.roots, holds

    def match(self, value: SSAValue, frame: Frame, bindings: Bindings) -> Iterator[Bindings]:
        yield from (after for after in self.parts[0].match(value, frame, bindings) if self.holds(after.values))


class Seen(Pattern):
    """A pattern with a condition on the value behind its views."""

    def __init__(self, inner: Pattern, holds: Callable[[SSAValue], bool]) -> None:
        self.parts, self.roots, self.holds = [inner], inner.roots, holds

    def match(self, value: SSAValue, frame: Frame, bindings: Bindings) -> Iterator[Bindings]:
        if self.holds(through_views(value, frame, lambda candidate: short(candidate) in self.roots - {"reshape"})[0]):
            yield from self.parts[0].match(value, frame, bindings)


class Once(Pattern):
    """Matches a value that has a single use."""

    def __init__(self, inner: Pattern) -> None:
        self.parts, self.roots = [inner], inner.roots

    def match(self, value: SSAValue, frame: Frame, bindings: Bindings) -> Iterator[Bindings]:
        if single_use(value):
            yield from self.parts[0].match(value, frame, bindings)
