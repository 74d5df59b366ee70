"""Sums of products as the steps that make them: what is needed twice is made once, small operands meet before large ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import shape
from alchemist.passes.sums_of_products import Algebra, Atom, Dims, Product, Terms, divides, over, terms_of, times

ONE, HALF = Fraction(1), Fraction(1, 2)
_ELEMENTS_PER_PROGRAM = 1 << 17
"""Elements of a float32 tensor that take about as long as a program takes to begin, on the cores of a card."""
_MOST_SHARED = 12
"""Products that are looked for in several others."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """An op to be made. operands: steps, values that are there, and numbers."""

    name: str
    operands: tuple[Step | SSAValue | float, ...]
    dims: Dims
    reduced: Dims = ()

    @property
    def cost(self) -> float:
        read = max(
            [
                math.prod(self.dims),
                *(math.prod(value.dims if isinstance(value, Step) else shape(value)) for value in self.operands if not isinstance(value, float)),
            ]
        )
        return 1 + read / _ELEMENTS_PER_PROGRAM


Made = Step | SSAValue | float


def of_rank(dims: Dims, rank: int) -> Dims:
    return (1,) * (rank - len(dims)) + dims


def dims_of_made(value: Step | SSAValue, rank: int) -> Dims:
    return value.dims if isinstance(value, Step) else of_rank(shape(value), rank)


@dataclass(slots=True)
class Writing:
    """Steps that make terms; what is needed twice is one step.

    shared: products that several others contain, longest first. known: values that are there anyway.
    """

    algebra: Algebra
    rank: int
    shared: list[Product] = field(default_factory=list)
    known: dict[Terms, SSAValue] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    made: dict[object, Made] = field(default_factory=dict)

    def sum(self, terms: Terms) -> Made:
        if terms in self.known:
            return self.known[terms]
        if len(terms) == 1:
            return self.product(*terms[0])
        if not terms:
            return 0.0
        sizes = {abs(factor) for _, factor in terms}
        if self.algebra.content(terms) or (len(sizes) == 1 and sizes != {1.0}):
            return self.product(*self.algebra.as_product(terms))
        return self._bracket(terms)

    def _added(self, terms: Terms) -> Made:
        order = sorted(terms, key=lambda term: (term[1] < 0, not term[0], math.prod(self.algebra.shape(term[0]))))
        (product, factor), *rest = order
        total = self.product(product, factor)
        for product, factor in rest:
            name = "subtract" if factor < 0 else "add"
            total = self._step(name, total, self.product(product, abs(factor)))
        return total

    def product(self, product: Product, factor: float = 1.0) -> Made:
        if not product:
            return factor
        key = ("product", product, factor)
        if key not in self.made:
            self.made[key] = self._multiplied(product, factor)
        return self.made[key]

    def _multiplied(self, product: Product, factor: float) -> Made:
        terms = terms_of([(product, factor)])
        if terms in self.known:
            return self.known[terms]
        above: list[Made] = []
        below: list[Made] = []
        rest = product
        for part in self.shared:
            if part != product and divides(part, rest):
                above.append(self.product(part))
                rest = over(rest, part)
        for atom, power in rest:
            steps = abs(power)
            base = self.base(atom)
            if (turned := self._turned(atom, power, factor)) is not None:
                base, factor = turned
            if steps.denominator == 2:
                root = self._step("rsqrt" if power < 0 else "sqrt", base)
                above.append(root)
                steps -= HALF
            if steps:
                (above if power > 0 else below).extend([self._powered(base, int(steps))])
        above.sort(key=self._size)
        below.sort(key=self._size)
        while len(below) > 1:
            below[:2] = [self._step("multiply", *below[:2])]
        if factor != 1.0 and above:
            count = self._size(above[0])
            inverse = 1 / factor
            whole = abs(inverse - round(inverse)) < 1e-6 * abs(inverse) and abs(inverse) > 1
            if factor == -1.0:
                above[0] = self._step("neg", above[0])
            elif below and self._size(below[0]) < count:
                below[0] = self._step("div", factor, below[0])
                above.insert(0, below.pop())  # the smallest
            else:
                above[0] = self._step("div", above[0], round(inverse)) if whole else self._step("multiply", above[0], factor)
        elif not above:
            above.append(factor)
        if below and self._size(below[0]) <= self._size(above[0]):
            above[0] = self._step("div", above[0], below.pop())
        while len(above) > 1:
            above[:2] = [self._step("multiply", *above[:2])]
        return self._step("div", above[0], below[0]) if below else above[0]

    def _size(self, value: Made) -> int:
        return 0 if isinstance(value, float | int) else math.prod(dims_of_made(value, self.rank))

    def _powered(self, base: Made, power: int) -> Made:
        total = base
        for _ in range(power - 1):
            total = self._step("multiply", total, base)
        return total

    def base(self, number: int) -> Made:
        """The value of an atom."""
        atom = self.algebra.atoms[number]
        if number in self.algebra.pairs:
            alone, along = self.algebra.pairs[number]
            return self.product(times(((alone, ONE),), along))
        if isinstance(atom.value, SSAValue):
            return atom.value
        if atom.terms:
            return self.known.get(atom.terms) or self._bracket(atom.terms)
        return self._reduced(atom.name, atom)

    def _reduced(self, name: str, atom: Atom) -> Made:
        return self._step(name, self.product(atom.of), reduced=atom.dims, dims=atom.shape)

    def _turned(self, number: int, power: Fraction, factor: float) -> tuple[Made, float] | None:
        """The mean in place of a sum, or the sum in place of a mean, and the factor that is left, where that is 1."""
        atom = self.algebra.atoms[number]
        if not atom.is_reduction or abs(factor) == 1:
            return None
        count = float(self.algebra.elements(atom.of, atom.dims)) ** float(power)
        left = factor * count if atom.name == "sum" else factor / count
        if not math.isclose(abs(left), 1.0):
            return None
        return self._reduced("mean" if atom.name == "sum" else "sum", atom), math.copysign(1.0, left)

    def _bracket(self, terms: Terms) -> Made:
        key = ("sum", terms)
        if key not in self.made:
            self.made[key] = self._added(terms)
        return self.made[key]

    def _step(self, name: str, *operands: Made, dims: Dims = (), reduced: Dims = ()) -> Step:
        shapes = [dims_of_made(value, self.rank) for value in operands if isinstance(value, Step | SSAValue)]
        dims = dims or tuple(max(sizes) for sizes in zip(*shapes, strict=True))
        key = (name, *(id(value) if isinstance(value, Step | SSAValue) else value for value in operands), reduced)
        if key not in self.made:
            step = Step(name, tuple(float(value) if isinstance(value, int) else value for value in operands), dims, reduced)
            self.made[key] = step
            self.steps.append(step)
        found = self.made[key]
        assert isinstance(found, Step)
        return found


def products_of(algebra: Algebra, roots: Sequence[Terms]) -> list[Product]:
    """All that are multiplied on the way to the roots, each once."""
    found: dict[Product, None] = {}

    def visit(product: Product) -> None:
        if product in found:
            return
        found[product] = None
        for number_, _ in product:
            atom = algebra.atoms[number_]
            if number_ in algebra.pairs:
                alone, along = algebra.pairs[number_]
                visit(times(((alone, ONE),), along))
            if atom.of:
                visit(atom.of)
            for inner, _ in atom.terms:
                visit(inner)

    for terms in roots:
        parts = [algebra.as_product(terms)[0]] if len(terms) > 1 and algebra.content(terms) else [product for product, _ in terms]
        for part in parts:
            visit(part)
    return list(found)


def shared_products(algebra: Algebra, products: Sequence[Product]) -> list[Product]:
    """Products that several of `products` contain, longest first."""
    rests: list[list[Product]] = [[((atom, _unit(power)),) for atom, power in product] for product in products]
    chosen: list[Product] = []
    for _ in range(_MOST_SHARED):
        gains: dict[Product, float] = {}
        for parts in rests:
            for index, one in enumerate(parts):
                for other in parts[index + 1 :]:
                    pair = times(one, other)
                    gains[pair] = gains.get(pair, -1.0) + 1.0
        worth = {pair: gain * math.prod(algebra.shape(pair)) for pair, gain in gains.items() if gain > 0}
        if not worth:
            break
        best = max(worth, key=lambda pair: (worth[pair], pair))
        chosen.append(best)
        for parts in rests:
            both = next(((one, other) for index, one in enumerate(parts) for other in parts[index + 1 :] if times(one, other) == best), None)
            if both is not None:
                parts[:] = [best, *(part for part in parts if part not in both)]
    return sorted(chosen, key=len, reverse=True)


def _unit(power: Fraction) -> Fraction:
    size = HALF if power.denominator == 2 else ONE
    return size if power > 0 else -size


def cost_of(op: Operation) -> float:
    """As that of a step."""
    elements = max(math.prod(shape(value)) for value in (*op.operands, *op.results))
    return 1 + elements / _ELEMENTS_PER_PROGRAM
