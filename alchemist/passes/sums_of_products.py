"""Values as sums of products of powers: one form, however a value is written."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

Dims = tuple[int, ...]
Product = tuple[tuple[int, Fraction], ...]
"""Atoms by number, ascending, and their powers; () is 1."""
Terms = tuple[tuple[Product, float], ...]
"""Products and their coefficients, in order; () is 0."""

_DIGITS = 9
"""Significant digits of coefficients: more than float32 has, fewer than the noise of their own arithmetic."""


@dataclass(frozen=True, slots=True)
class Atom:
    """What a product cannot look into: a value of the program (`value`), a sum in brackets (`terms`) or a sum or mean (`name`) over dims of a product (`of`).

    shape: its dims, of the rank that all values have.
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


def terms_of(found: Iterable[tuple[Product, float]]) -> Terms:
    """The sum with one coefficient per product; what cancels is gone."""
    total: dict[Product, float] = {}
    largest: dict[Product, float] = {}
    for product, coefficient in found:
        total[product] = total.get(product, 0.0) + coefficient
        largest[product] = max(largest.get(product, 0.0), abs(coefficient))
    left = {product: number for product, number in total.items() if abs(number) > 1e-6 * largest[product]}
    return tuple(sorted((product, _rounded(number)) for product, number in left.items()))


def times(first: Product, second: Product) -> Product:
    powers = dict(first)
    for atom, power in second:
        powers[atom] = powers.get(atom, Fraction(0)) + power
    return tuple(sorted((atom, power) for atom, power in powers.items() if power))


def to_power(product: Product, power: Fraction) -> Product:
    return tuple((atom, own * power) for atom, own in product)


def over(first: Product, second: Product) -> Product:
    return times(first, to_power(second, Fraction(-1)))


def divides(part: Product, product: Product) -> bool:
    """Whether every power of `part` is a part of that in `product`, of the same sign."""
    powers = dict(product)
    return all(powers.get(atom, Fraction(0)) * power > 0 and abs(powers[atom]) >= abs(power) for atom, power in part)


def scaled(terms: Terms, factor: float) -> Terms:
    return terms_of((product, number * factor) for product, number in terms)


def plus(first: Terms, second: Terms) -> Terms:
    return terms_of((*first, *second))


@dataclass(slots=True)
class Algebra:
    """Atoms by number, and the arithmetic that makes new ones.

    instead: atom -> the product that is written in its place. pairs: atom -> the atom and the power that it is the product of.
    names: dims and product -> whether their sum or their mean is the atom: what was asked for first, or `only`.
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
        """Broadcast over its atoms; () of a number."""
        shapes = [self.atoms[atom].shape for atom, _ in product]
        return tuple(max(sizes) for sizes in zip(*shapes, strict=True))

    def shape_of(self, terms: Terms) -> Dims:
        shapes = [shape for product, _ in terms if (shape := self.shape(product))]
        return tuple(max(sizes) for sizes in zip(*shapes, strict=True))

    def as_product(self, terms: Terms) -> tuple[Product, float]:
        """The common factors of all terms, times what is left in brackets."""
        if len(terms) == 1:
            return terms[0]
        if not terms:
            return (), 0.0
        content = self.content(terms)
        factor = abs(terms[0][1]) * (1 if any(number > 0 for _, number in terms) else -1)
        left = terms_of((over(product, content), number / factor) for product, number in terms)
        return times(content, self.atom(Atom(self.shape_of(left), terms=left))), factor

    def grouped(self, terms: Terms) -> Terms:
        """The terms that have most in common as one product with what is left of them in brackets, and the others."""
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
        """What divides every product, negative powers only where all have them."""
        shared = dict(terms[0][0])
        for product, _ in terms[1:]:
            powers = dict(product)
            for atom, power in list(shared.items()):
                own = powers.get(atom, Fraction(0))
                shared[atom] = min(own, power, key=abs) if own * power > 0 else Fraction(0)
        return tuple(sorted((atom, power) for atom, power in shared.items() if power))

    def multiply(self, first: Terms, second: Terms) -> Terms:
        if not first or not second:
            return ()
        for one, other in ((first, second), (second, first)):
            if len(one) == 1 and one[0][0] == ():
                return scaled(other, one[0][1])
        (left, a), (right, b) = self.as_product(first), self.as_product(second)
        return terms_of([(times(left, right), a * b)])

    def power(self, terms: Terms, power: Fraction) -> Terms | None:
        """None where it has no such form: roots of products, of negative numbers, of 0."""
        product, number = self.as_product(terms)
        if number == 0.0 and power < 0:
            return None
        if power.denominator == 1:
            return terms_of([(to_power(product, power), number**power.numerator)])
        whole = len(product) == 1 and product[0][1] == 1
        return terms_of([(to_power(product, power), math.pow(number, float(power)))]) if number > 0 and (whole or not product) else None

    def reduce(self, name: str, terms: Terms, dims: Dims, count: int) -> Terms:
        """The sum or mean over dims with `count` elements: what has size 1 along them comes out of it, brackets that cancel inside it are gone."""
        found: list[tuple[Product, float]] = []
        for product, number in terms:
            inner = tuple((atom, power) for atom, power in product if any(self.atoms[atom].shape[dim] != 1 for dim in dims))
            outer = over(product, inner)
            if name == "sum":
                number *= count
            if not inner:
                found.append((outer, number))
                continue
            bracket: Terms = ()
            if len(inner) == 1 and inner[0][1] == 1:
                alone, along = self.pairs.get(inner[0][0], (inner[0][0], ()))
                bracket, outside = self.atoms[alone].terms, times(outer, along)
            opened = self.reduce("mean", bracket, dims, count) if bracket else None
            if opened is not None and len(opened) <= 1:
                found += [(times(outside, one), number * factor) for one, factor in opened]
                continue
            if self.names.setdefault((dims, inner), self.only or name) == "sum":
                number /= self.elements(inner, dims)
            shape = tuple(1 if dim in dims else size for dim, size in enumerate(self.shape(inner)))
            found.append((times(outer, self.atom(Atom(shape, dims=dims, of=inner, name=self.names[dims, inner]))), number))
        return terms_of(found)

    def elements(self, product: Product, dims: Dims) -> int:
        """How many elements of the product lie along the dims."""
        return math.prod(self.shape(product)[dim] for dim in dims)
