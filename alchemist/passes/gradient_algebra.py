"""TTIR: the arithmetic of a module and of its gradient in fewer ops, found in the form that all ways of writing it have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, erase_dead, functions, made_by, rewrite, single_use
from alchemist.ir.location import sources_of
from alchemist.ir.scopes import chain_of_source
from alchemist.ir.value import Value
from alchemist.ops.axes import dims_of
from alchemist.ops.constants import number
from alchemist.ops.constants import scaled as scaled_by
from alchemist.passes.algebra import (
    HALF,
    ONE,
    Algebra,
    Atom,
    Made,
    Product,
    Step,
    Terms,
    Writing,
    cost_of,
    dims_of_made,
    of_rank,
    plus,
    products_of,
    scaled,
    shared_products,
    terms_of,
    times,
)
from alchemist.passes.registry import Pass, register

_POWERS = {"ttir.square": Fraction(2), "ttir.reciprocal": -ONE, "ttir.sqrt": HALF, "ttir.rsqrt": -HALF}
_MOST_PAIRS = 4
"""Values that are tried in normalised form, per module."""
_MOST_OPS = 2000
"""Ops of a module; more stay as they are."""
_MOST_TERMS = 12
"""Longer sums are left as they are: they are no formula of one module."""


@register("gradient-algebra", fusing=True)
class GradientAlgebra(Pass):
    """Sums, products, roots and means of a module and its gradient are written anew where that takes fewer ops: norms, softmax, activations, losses.

    Rounding differs as it does between two ways of writing the same formula.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            place = {op: index for index, op in enumerate(func.body.block.ops)}
            changed = False
            for ops in _by_module(func):
                changed = _rewrite(ops, place) or changed
            if changed:
                erase_dead(func)


def _by_module(func: FuncOp) -> Iterator[list[Operation]]:
    """Arithmetic of the modules that have a gradient, as far as it hangs together."""
    groups: dict[tuple[object, ...], list[Operation]] = {}
    for op in func.body.block.ops:
        sources = sources_of(op)
        if sources and _is_arithmetic(op):
            key = (chain_of_source(sources[-1]), element_type(op.results[0]), len(shape(op.results[0])))
            groups.setdefault(key, []).append(op)
    for ops in groups.values():
        if any(sources_of(op)[-1].is_gradient for op in ops):
            yield from (part for part in _connected(ops) if len(part) <= _MOST_OPS)


def _connected(ops: list[Operation]) -> list[list[Operation]]:
    """Parts that share values, inputs too, each in order."""
    part: dict[Operation, Operation] = {op: op for op in ops}

    def first(op: Operation) -> Operation:
        while part[op] is not op:
            part[op] = op = part[part[op]]
        return op

    reader: dict[SSAValue, Operation] = {}
    for op in ops:
        for value in op.operands:
            if number(value) is None:
                part[first(op)] = first(reader.setdefault(value, op))
                if isinstance(value.owner, Operation) and value.owner in part:
                    part[first(op)] = first(value.owner)
    members: dict[Operation, list[Operation]] = {}
    for op in ops:
        members.setdefault(first(op), []).append(op)
    return list(members.values())


def _is_arithmetic(op: Operation) -> bool:
    if not has_trait(op, "algebraic"):
        return False
    dims, of = shape(op.results[0]), element_type(op.results[0])
    if not of.startswith(("f", "bf")) or any(element_type(value) != of for value in op.operands):
        return False
    if has_trait(op, "reduction"):
        return bool(access.attr(op, "keep_dim"))
    return len(dims) == max(len(shape(value)) for value in op.operands)


@dataclass(slots=True)
class _Reading:
    """The terms of the values of one module.

    inside: its ops. opaque: values that stay as they are: what roots are taken of. apart: sums that others read, too, so that they are made anyway.
    """

    inside: set[Operation]
    algebra: Algebra
    opaque: set[SSAValue]
    apart: set[SSAValue]
    normalised: dict[SSAValue, tuple[SSAValue, SSAValue]]
    rank: int
    found: dict[SSAValue, Terms] = field(default_factory=dict)

    def terms(self, value: SSAValue) -> Terms:
        if value not in self.found:
            formula = self.made(value)
            self.found[value] = self.atom(value) if len(formula) > 1 and value in self.apart else formula
        return self.found[value]

    def atom(self, value: SSAValue) -> Terms:
        return terms_of([(self.algebra.atom(Atom(of_rank(shape(value), self.rank), value)), 1.0)])

    def made(self, value: SSAValue) -> Terms:
        """How the value is made, whoever reads it."""
        constant = number(value)
        if constant is not None:
            return terms_of([((), constant)]) if constant and math.isfinite(constant) else (() if not constant else self.atom(value))
        if value in self.normalised:
            share, total = self.normalised[value]
            return self.algebra.multiply(self.atom(share), self.atom(total))
        op = value.owner
        if not isinstance(op, Operation) or op not in self.inside or value in self.opaque or len(shape(value)) != self.rank:
            return self.atom(value)
        terms = self._calculated(op)
        return self.atom(value) if terms is None or len(terms) > _MOST_TERMS else terms

    def _calculated(self, op: Operation) -> Terms | None:
        x, *more = [self.terms(value) for value in op.operands]
        algebra = self.algebra
        if op.name in _POWERS:
            return algebra.power(x, _POWERS[op.name])
        if has_trait(op, "reduction"):
            dims = dims_of(access.attrs(op), len(shape(op.operands[0])))
            return algebra.reduce(op.name.removeprefix("ttir."), x, dims, math.prod(shape(op.operands[0])[dim] for dim in dims))
        if op.name == "ttir.neg":
            return scaled(x, -1.0)
        if has_trait(op, "arithmetic") and op.name != "ttir.multiply":
            return plus(x, more[0] if op.name == "ttir.add" else scaled(more[0], -1.0))
        if op.name == "ttir.div":
            below = algebra.power(more[0], -ONE)
            return None if below is None else algebra.multiply(x, below)
        return algebra.multiply(x, more[0])


def _normalised(ops: Sequence[Operation]) -> dict[SSAValue, tuple[SSAValue, SSAValue]]:
    """exp(x - m) -> softmax(x) and the sum of the exponentials that it is divided by, where all three are there."""
    normalized: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}
    for op in ops:
        top = op.operands[0].owner if op.name == "ttir.sum" else None
        if not isinstance(top, Operation) or top.name != "ttir.exp" or not isinstance(top.operands[0].owner, Operation):
            continue
        difference, dims = top.operands[0].owner, dims_of(access.attrs(op), len(shape(op.operands[0])))
        if difference.name != "ttir.subtract" or len(dims) != 1 or shape(difference.operands[1])[dims[0]] != 1:
            continue
        x = difference.operands[0]
        for use in x.uses:
            share = use.operation
            if share.name == "ttir.softmax" and access.attr(share, "dimension") % len(shape(x)) == dims[0] and share.results[0].type == top.results[0].type:
                normalized[top.results[0]] = (share.results[0], op.results[0])
    return normalized


def _rewrite(ops: list[Operation], place: dict[Operation, int]) -> bool:
    inside = set(ops)
    opaque = {op.operands[0] for op in ops if abs(_POWERS.get(op.name, ONE)) == HALF}
    kept_ops = _makers(opaque, inside)
    roots: list[SSAValue] = [op.results[0] for op in ops if op not in kept_ops and any(use.operation not in inside for use in op.results[0].uses)]
    if not roots:
        return False
    module = _Module(inside, opaque, kept_ops, roots, _normalised(ops))
    best = min((module.written(Algebra(only=name)) for name in ("", "mean")), key=lambda writing: writing.cost)
    for pair in _pairs(best.algebra, best.terms, opaque)[:_MOST_PAIRS]:
        best = min(best, module.written(_with_pair(best.algebra, *pair)), key=lambda writing: writing.cost)
    before = sum(cost_of(op) for op in ops if op not in kept_ops)
    return best.cost < before - 0.5 and _replace(roots, best.made, place, inside)


@dataclass(frozen=True, slots=True)
class _Written:
    """The roots' terms, what the steps to them cost, and what makes them."""

    algebra: Algebra
    terms: list[Terms]
    cost: float
    made: list[Made]


@dataclass(frozen=True, slots=True)
class _Module:
    """Arithmetic ops that hang together. kept: those that lead to opaque values, and stay. roots: what others read."""

    inside: set[Operation]
    opaque: set[SSAValue]
    kept: set[Operation]
    roots: list[SSAValue]
    normalised: dict[SSAValue, tuple[SSAValue, SSAValue]]

    def written(self, algebra: Algebra) -> _Written:
        totals = {total for _, total in self.normalised.values()}
        rank = len(shape(self.roots[0]))
        readers = {op.results[0]: {use.operation in self.inside for use in op.results[0].uses} for op in self.inside}
        apart: set[SSAValue] = {value for value, inside in readers.items() if len(inside) == 2}
        reading = _Reading(self.inside, algebra, self.opaque | totals, apart, self.normalised, rank)
        terms = [reading.made(root) for root in self.roots]
        existing: dict[Terms, SSAValue] = {reading.terms(op.results[0]): op.results[0] for op in self.kept if op.results[0] not in self.opaque}
        tries = [self._steps(algebra, rank, form, existing) for form in (terms, [algebra.grouped(form_terms) for form_terms in terms])]
        values, cost = min(tries, key=lambda attempt: attempt[1])
        return _Written(algebra, terms, cost, values)

    @staticmethod
    def _steps(algebra: Algebra, rank: int, terms: list[Terms], existing: dict[Terms, SSAValue]) -> tuple[list[Made], float]:
        writing = Writing(algebra, rank, shared_products(algebra, products_of(algebra, terms)), existing)
        values = [writing.sum(root) for root in terms]
        return values, sum(step.cost for step in writing.steps)


def _with_pair(algebra: Algebra, alone: int, along: Product) -> Algebra:
    """The algebra in which x is written as (x / sqrt(y)) * sqrt(y), the former an atom."""
    other = Algebra(list(algebra.atoms), dict(algebra.numbers), dict(algebra.instead), dict(algebra.pairs), only=algebra.only)
    name = other.number(Atom(algebra.atoms[alone].shape, value=(alone, along)))
    other.pairs[name] = (alone, along)
    other.instead[alone] = times(((name, ONE),), tuple((atom, -power) for atom, power in along))
    return other


def _makers(values: set[SSAValue], inside: set[Operation]) -> set[Operation]:
    """The ops among `inside` that lead to the values."""
    makers: set[Operation] = set()
    pending = list(values)
    while pending:
        op = pending.pop().owner
        if isinstance(op, Operation) and op in inside and op not in makers:
            makers.add(op)
            pending.extend(op.operands)
    return makers


def _pairs(algebra: Algebra, roots: Sequence[Terms], opaque: set[SSAValue]) -> list[tuple[int, Product]]:
    """x and 1 / sqrt(y) of a y that is constant along some dims of x: what is normalised."""
    pairs: dict[tuple[int, Product], None] = {}
    for product in products_of(algebra, roots):
        for below, power in product:
            dims = algebra.atoms[below].shape
            if algebra.atoms[below].value not in opaque or power.denominator != 2 or power > 0:
                continue
            for above, own in product:
                if own >= 1 and algebra.atoms[above].terms and math.prod(algebra.atoms[above].shape) > math.prod(dims):
                    pairs[above, ((below, -HALF),)] = None
    return list(pairs)


def _replace(roots: Sequence[SSAValue], new_values: Sequence[Made], place: dict[Operation, int], inside: set[Operation]) -> bool:
    """Makes the steps in front of the first root that needs them; False where one would stand before what it reads."""
    for root, value in zip(roots, new_values, strict=True):
        if isinstance(value, float) or dims_of_made(value, len(shape(root))) != shape(root) or _last(value, place, {}) >= place[_maker(root)]:
            return False
    done: dict[Step, SSAValue] = {}
    stands: dict[Step, int] = {}
    values = []
    for root, value in zip(roots, new_values, strict=True):
        op = _maker(root)
        inner = _before(op, inside, roots)
        for operand in value.operands if isinstance(value, Step) and value not in done and inner is not None else ():
            if isinstance(operand, Step) and inner is not None and _last(operand, place, {}) < place[inner] and _is_before(operand, stands, place[inner]):
                _materialised(Builder.in_place_of(inner), operand, root.type, done)
                stands = dict.fromkeys(done, place[inner]) | stands
        values.append(_materialised(Builder.in_place_of(op), value, root.type, done))
        stands = dict.fromkeys(done, place[op]) | stands
    for root, new in zip(roots, values, strict=True):
        root.replace_all_uses_with(new)
    return True


def _is_before(step: Step, stands: dict[Step, int], limit: int) -> bool:
    """Whether those of the steps that lead to this one which are made already stand before the limit."""
    if step in stands:
        return stands[step] <= limit
    return all(_is_before(operand, stands, limit) for operand in step.operands if isinstance(operand, Step))


def _before(op: Operation, inside: set[Operation], roots: Sequence[SSAValue]) -> Operation | None:
    """The op whose result a sum adds to another root: the gradient of a norm beside the residual's. What leads to it stays in its place and its module."""
    makers = {value.owner for value in op.operands if value not in roots and isinstance(value.owner, Operation) and value.owner in inside}
    return makers.pop() if len(makers) == 1 else None


def _maker(value: SSAValue) -> Operation:
    assert isinstance(value.owner, Operation)
    return value.owner


def _last(value: Made, place: dict[Operation, int], seen: dict[Step, int]) -> int:
    """Where the last value that is read stands."""
    if isinstance(value, Step):
        if value not in seen:
            seen[value] = max((_last(operand, place, seen) for operand in value.operands), default=-1)
        return seen[value]
    return place.get(value.owner, -1) if isinstance(value, SSAValue) and isinstance(value.owner, Operation) else -1


def _materialised(b: Builder, value: Made, type_like: Attribute, ssa_of: dict[Step, SSAValue]) -> SSAValue:
    of = element_type(type_like)
    if isinstance(value, float):
        ones = (1,) * len(shape(type_like))
        return b.value("ttir.full", [], {"shape": ones, "fill_value": value}, [tensor(ones, of)])
    if not isinstance(value, Step):
        return value
    if value not in ssa_of:
        operands = [_materialised(b, operand, type_like, ssa_of) for operand in value.operands]
        attributes = {"dim_arg": list(value.reduced), "keep_dim": True} if value.reduced else {}
        ssa_of[value] = b.op(f"ttir.{value.name}", operands, attributes, [tensor(value.dims, of)])
    return ssa_of[value]


# --- A product of two scaled operands: one factor does. ---


@register("merge-factors", fusing=True)
class MergeFactors(Pass):
    """matmul(a * x, b * y) becomes matmul(a * b * x, y). The gradients, products with the same operands, multiply by what makes up for it.

    Before: scores = (s * q) (s * k)^T, d_q = s * d_scores (s * k), d_k = s * d_scores^T (s * q). After: scores = (s^2 * q) k^T,
    d_q = s^2 * d_scores k, d_k = d_scores^T (s^2 * q).
    """

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _merge_factors, "ttir.matmul")


def _merge_factors(product: Operation) -> None:
    kept, dropped = (_scaled_operand(value, product) for value in product.operands)
    if kept is None or dropped is None or kept.scaled is dropped.scaled:
        return
    changed = [one.scaled for one in (*kept.gradients, *dropped.gradients)]
    if len(set(changed)) < len(changed):
        return
    add_sources(_maker(kept.scaled), _maker(dropped.scaled), before=False)
    _multiply(kept, kept.factor * dropped.factor)
    dropped.scaled.replace_all_uses_with(dropped.value)
    for one in kept.gradients:
        _multiply(one, one.factor / dropped.factor)
    for one in dropped.gradients:
        _multiply(one, one.factor * dropped.factor)


@dataclass(frozen=True, slots=True)
class _Scaled:
    """scaled = factor * value. gradients: where `scaled` is the operand of a product, the results of other products with it, which have factors, too."""

    scaled: SSAValue
    value: SSAValue
    factor: float
    gradients: Sequence[_Scaled] = ()


def _scaled_operand(value: SSAValue, product: Operation) -> _Scaled | None:
    while (move := made_by(value, "rearrangement")) is not None:
        value = move.operands[0]
    found = scaled_by(value)
    if found is None or found[1] <= 0 or found[0].type != value.type:
        return None
    gradients = []
    for other in _readers(value):
        if other is product:
            continue
        gradient = _scaled_result(other) if other.name == "ttir.matmul" else None
        if gradient is None:
            return None
        gradients.append(gradient)
    return _Scaled(value, found[0], found[1], gradients)


def _scaled_result(product: Operation) -> _Scaled | None:
    """The only reader of the product, behind rearrangements, if it multiplies by a constant."""
    result: SSAValue = product.results[0]
    while (reader := _only_reader(result)) is not None and has_trait(reader, "rearrangement"):
        result = reader.results[0]
    found = scaled_by(reader.results[0]) if reader is not None and reader.results else None
    return _Scaled(reader.results[0], result, found[1]) if reader is not None and found is not None and found[0] is result else None


def _only_reader(value: SSAValue) -> Operation | None:
    return next(iter(value.uses)).operation if single_use(value) else None


def _readers(value: SSAValue) -> Iterator[Operation]:
    """What reads the value or a rearrangement of it, once for each operand."""
    for use in value.uses:
        if has_trait(use.operation, "rearrangement"):
            yield from _readers(use.operation.results[0])
        else:
            yield use.operation


def _multiply(product: _Scaled, factor: float) -> None:
    """Gives the multiplication by a constant another one."""
    if factor == 1.0:
        add_sources(_maker(product.value), _maker(product.scaled), before=False)
        product.scaled.replace_all_uses_with(product.value)
    else:
        product.scaled.replace_all_uses_with((Value(Builder.in_place_of(_maker(product.scaled)), product.value) * factor).ssa)
