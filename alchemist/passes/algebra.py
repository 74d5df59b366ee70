"""Arithmetic as sums of products: one normal form for all spellings of a formula, and its cheapest sequence of steps."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import shape

# --- Values as sums of products of powers: a normal form for all spellings of a value. ---

Dims = tuple[int, ...]
Product = tuple[tuple[int, Fraction], ...]
"""Atoms by number, ascending, and their powers; () is 1."""
Terms = tuple[tuple[Product, float], ...]
"""Products and their coefficients, in order; () is 0."""

_DIGITS = 9
"""Significant digits of coefficients: more than float32 has, fewer than the noise of their own arithmetic."""


@dataclass(frozen=True, slots=True)
class Atom:
    """An opaque factor: a program value (`value`), a sum in brackets (`terms`), or a sum or mean (`name`) of a product (`of`) over dims.

    shape: its dims, at the rank that all values share.
    """

    shape: Dims
    value: Hashable = None
    terms: Terms = ()
    dims: Dims = ()
    of: Product = ()
    name: str = ""

    @property
    def is_reduction(self) -> bool:
        return bool(self.name)


def _rounded(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")


def terms_of(summands: Iterable[tuple[Product, float]]) -> Terms:
    """Adds up the summands to one coefficient per product; products that cancel are dropped."""
    total: dict[Product, float] = {}
    largest: dict[Product, float] = {}
    for product, coefficient in summands:
        total[product] = total.get(product, 0.0) + coefficient
        largest[product] = max(largest.get(product, 0.0), abs(coefficient))
    nonzero = {product: number for product, number in total.items() if abs(number) > 1e-6 * largest[product]}
    return tuple(sorted((product, _rounded(number)) for product, number in nonzero.items()))


def times(first: Product, second: Product) -> Product:
    powers = dict(first)
    for atom, power in second:
        powers[atom] = powers.get(atom, Fraction(0)) + power
    return tuple(sorted((atom, power) for atom, power in powers.items() if power))


def to_power(product: Product, power: Fraction) -> Product:
    return tuple((atom, exponent * power) for atom, exponent in product)


def over(first: Product, second: Product) -> Product:
    return times(first, to_power(second, Fraction(-1)))


def divides(part: Product, product: Product) -> bool:
    """Whether `product` contains each power of `part`: the same sign, and at least as large."""
    powers = dict(product)
    return all(powers.get(atom, Fraction(0)) * power > 0 and abs(powers[atom]) >= abs(power) for atom, power in part)


def scaled(terms: Terms, factor: float) -> Terms:
    return terms_of((product, number * factor) for product, number in terms)


def plus(first: Terms, second: Terms) -> Terms:
    return terms_of((*first, *second))


@dataclass(slots=True)
class Algebra:
    """Numbers atoms, and does the arithmetic that creates new ones.

    instead: atom -> product that replaces it. pairs: atom -> (atom, product) whose product it is.
    names: (dims, product) -> whether the atom is their sum or their mean: the kind requested first, or `only`.
    """

    atoms: list[Atom] = field(default_factory=list)
    numbers: dict[Atom, int] = field(default_factory=dict)
    instead: dict[int, Product] = field(default_factory=dict)
    pairs: dict[int, tuple[int, Product]] = field(default_factory=dict)
    names: dict[tuple[Dims, Product], str] = field(default_factory=dict)
    only: str = ""

    def number(self, atom: Atom) -> int:
        if atom not in self.numbers:
            self.numbers[atom] = len(self.atoms)
            self.atoms.append(atom)
        return self.numbers[atom]

    def atom(self, atom: Atom) -> Product:
        number = self.number(atom)
        return self.instead.get(number, ((number, Fraction(1)),))

    def shape(self, product: Product) -> Dims:
        """The broadcast shape of the product's atoms; () for a number."""
        shapes = [self.atoms[atom].shape for atom, _ in product]
        return tuple(max(sizes) for sizes in zip(*shapes, strict=True))

    def shape_of(self, terms: Terms) -> Dims:
        shapes = [shape for product, _ in terms if (shape := self.shape(product))]
        return tuple(max(sizes) for sizes in zip(*shapes, strict=True))

    def as_product(self, terms: Terms) -> tuple[Product, float]:
        """Factors out the common factors of all terms: (common factors * bracket of the rest, coefficient)."""
        if len(terms) == 1:
            return terms[0]
        if not terms:
            return (), 0.0
        content = self.content(terms)
        factor = abs(terms[0][1]) * (1 if any(number > 0 for _, number in terms) else -1)
        rest = terms_of((over(product, content), number / factor) for product, number in terms)
        return times(content, self.atom(Atom(self.shape_of(rest), terms=rest))), factor

    def grouped(self, terms: Terms) -> Terms:
        """Factors out the factor that most terms share: these terms become one product with a bracket; the others stay."""
        if len(terms) < 3 or self.content(terms):
            return terms
        having: dict[tuple[int, bool], list[tuple[Product, float]]] = {}
        for term in terms:
            for atom, power in term[0]:
                having.setdefault((atom, power > 0), []).append(term)
        together = max(having.values(), key=len, default=[])
        if len(together) < 2:
            return terms
        rest = [term for term in terms if term not in together]
        return terms_of([*rest, self.as_product(terms_of(together))])

    @staticmethod
    def content(terms: Terms) -> Product:
        """The greatest common divisor of all products; it has a negative power only if all products have one."""
        shared = dict(terms[0][0])
        for product, _ in terms[1:]:
            powers = dict(product)
            for atom, power in list(shared.items()):
                exponent = powers.get(atom, Fraction(0))
                shared[atom] = min(exponent, power, key=abs) if exponent * power > 0 else Fraction(0)
        return tuple(sorted((atom, power) for atom, power in shared.items() if power))

    def multiply(self, first: Terms, second: Terms) -> Terms:
        if not first or not second:
            return ()
        for factor, terms in ((first, second), (second, first)):
            if len(factor) == 1 and factor[0][0] == ():
                return scaled(terms, factor[0][1])
        (left, a), (right, b) = self.as_product(first), self.as_product(second)
        return terms_of([(times(left, right), a * b)])

    def power(self, terms: Terms, power: Fraction) -> Terms | None:
        """None where the result has no normal form: roots of products or of negative numbers, negative powers of 0."""
        product, number = self.as_product(terms)
        if number == 0.0 and power < 0:
            return None
        if power.denominator == 1:
            return terms_of([(to_power(product, power), number**power.numerator)])
        is_atom = len(product) == 1 and product[0][1] == 1
        return terms_of([(to_power(product, power), math.pow(number, float(power)))]) if number > 0 and (is_atom or not product) else None

    def reduce(self, name: str, terms: Terms, dims: Dims, count: int) -> Terms:
        """The sum or mean over dims with `count` elements. Factors of size 1 along the dims move out; brackets that cancel inside are dropped."""
        summands: list[tuple[Product, float]] = []
        for product, number in terms:
            inner = tuple((atom, power) for atom, power in product if any(self.atoms[atom].shape[dim] != 1 for dim in dims))
            outer = over(product, inner)
            if name == "sum":
                number *= count
            if not inner:
                summands.append((outer, number))
                continue
            bracket: Terms = ()
            if len(inner) == 1 and inner[0][1] == 1:
                alone, along = self.pairs.get(inner[0][0], (inner[0][0], ()))
                bracket, outside = self.atoms[alone].terms, times(outer, along)
            opened = self.reduce("mean", bracket, dims, count) if bracket else None
            if opened is not None and len(opened) <= 1:
                summands += [(times(outside, reduced), number * factor) for reduced, factor in opened]
                continue
            if self.names.setdefault((dims, inner), self.only or name) == "sum":
                number /= self.elements(inner, dims)
            shape = tuple(1 if dim in dims else size for dim, size in enumerate(self.shape(inner)))
            summands.append((times(outer, self.atom(Atom(shape, dims=dims, of=inner, name=self.names[dims, inner]))), number))
        return terms_of(summands)

    def elements(self, product: Product, dims: Dims) -> int:
        """The number of elements of the product along the dims."""
        return math.prod(self.shape(product)[dim] for dim in dims)


# --- Sums of products as sequences of steps: common subexpressions are computed once, small operands are combined before large ones. ---

ONE, HALF = Fraction(1), Fraction(1, 2)
_ELEMENTS_PER_PROGRAM = 1 << 17
"""Elements of a float32 tensor that a card processes in about the time that it takes to start a program."""
_MOST_SHARED = 12
"""Limit of common subproducts that `shared_products` looks for."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """An op to create. operands: steps, existing values, and numbers."""

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
    """Creates the steps that compute terms; common subexpressions share a step.

    shared: products that several others contain, longest first. known: values that exist anyway.
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
            if (swapped := self._turned(atom, power, factor)) is not None:
                base, factor = swapped
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
            is_integer = abs(inverse - round(inverse)) < 1e-6 * abs(inverse) and abs(inverse) > 1
            if factor == -1.0:
                above[0] = self._step("neg", above[0])
            elif below and self._size(below[0]) < count:
                below[0] = self._step("div", factor, below[0])
                above.insert(0, below.pop())  # the smallest
            else:
                above[0] = self._step("div", above[0], round(inverse)) if is_integer else self._step("multiply", above[0], factor)
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
        """The step or value that computes an atom."""
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
        """Swaps a sum for a mean or a mean for a sum if the remaining factor is 1 or -1: (new value, this factor). None if not."""
        atom = self.algebra.atoms[number]
        if not atom.is_reduction or abs(factor) == 1:
            return None
        count = float(self.algebra.elements(atom.of, atom.dims)) ** float(power)
        rest = factor * count if atom.name == "sum" else factor / count
        if not math.isclose(abs(rest), 1.0):
            return None
        return self._reduced("mean" if atom.name == "sum" else "sum", atom), math.copysign(1.0, rest)

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
        existing = self.made[key]
        assert isinstance(existing, Step)
        return existing


def products_of(algebra: Algebra, roots: Sequence[Terms]) -> list[Product]:
    """All products that are computed on the way to the roots, without duplicates."""
    products: dict[Product, None] = {}

    def visit(product: Product) -> None:
        if product in products:
            return
        products[product] = None
        for number, _ in product:
            atom = algebra.atoms[number]
            if number in algebra.pairs:
                alone, along = algebra.pairs[number]
                visit(times(((alone, ONE),), along))
            if atom.of:
                visit(atom.of)
            for inner, _ in atom.terms:
                visit(inner)

    for terms in roots:
        parts = [algebra.as_product(terms)[0]] if len(terms) > 1 and algebra.content(terms) else [product for product, _ in terms]
        for part in parts:
            visit(part)
    return list(products)


def shared_products(algebra: Algebra, products: Sequence[Product]) -> list[Product]:
    """Finds products that several of `products` contain, longest first."""
    rests: list[list[Product]] = [[((atom, _unit(power)),) for atom, power in product] for product in products]
    chosen: list[Product] = []
    for _ in range(_MOST_SHARED):
        gains: dict[Product, float] = {}
        for parts in rests:
            for index, factor in enumerate(parts):
                for partner in parts[index + 1 :]:
                    pair = times(factor, partner)
                    gains[pair] = gains.get(pair, -1.0) + 1.0
        worth = {pair: gain * math.prod(algebra.shape(pair)) for pair, gain in gains.items() if gain > 0}
        if not worth:
            break
        best = max(worth, key=lambda pair: (worth[pair], pair))
        chosen.append(best)
        for parts in rests:
            both = next(((first, second) for index, first in enumerate(parts) for second in parts[index + 1 :] if times(first, second) == best), None)
            if both is not None:
                parts[:] = [best, *(part for part in parts if part not in both)]
    return sorted(chosen, key=len, reverse=True)


def _unit(power: Fraction) -> Fraction:
    size = HALF if power.denominator == 2 else ONE
    return size if power > 0 else -size


def cost_of(op: Operation) -> float:
    """The cost of an op in the unit of `Step.cost`."""
    elements = max(math.prod(shape(value)) for value in (*op.operands, *op.results))
    return 1 + elements / _ELEMENTS_PER_PROGRAM
