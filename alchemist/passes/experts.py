"""TTIR: layers of experts that sort the tokens by expert, multiply each expert's rows by its weights, and put the rows back."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import defining, replace, rewrite, single_use
from alchemist.ir.location import sources_of, with_role
from alchemist.ir.value import Value
from alchemist.ops.constants import constant_of, number, uniform
from alchemist.ops.evaluate import Array, can_evaluate, evaluate, storage_dtype
from alchemist.ops.spec import CHOICE_WEIGHTS, EXPERT_MASK, LIFTED_NAME, ROUTING_WEIGHTS
from alchemist.passes.registry import Pass, register
from alchemist.passes.signs import interval, multiple_of

_CAST = "ttir.typecast"
_RESHAPE = "ttir.reshape"
_LOOK_UP = "ttir.embedding"
_MOST_EXPERTS = 4096


@register("dense-experts", fusing=True)
class DenseExperts(Pass):
    """Every expert multiplies all tokens once, and a [experts, tokens, 1] tensor of routing weights, 0 where a token has not chosen the expert, adds them up.

        rows = f(tokens[order // top_k])[inverse] * weights; sum over the top_k rows of each token  ->  sum over experts of f_expert(tokens) * routing

    Exact for finite values: a token's other experts add 0. Replaces products of all experts with tokens * top_k rows, two sorts of rows and two sums.
    """

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _by_expert, _LOOK_UP)


def _by_expert(put_back: Operation) -> None:
    inverse, rows = put_back.operands
    sort = _sort_undone_by(inverse)
    if sort is None or not single_use(rows) or len(shape(rows)) != 2 or access.attr(sort, "descending"):
        return
    rows, weights, product = _weighted(rows, sort)
    total = _sum_of_choices(put_back)
    top_k = shape(total.operands[0])[1] if total is not None else 1
    tokens = shape(inverse)[0] // top_k
    lift = _Lift(sort, tokens, top_k)
    experts = lift(rows)
    if experts is None or not lift.experts:
        return
    combining, kind, end = sources_of(product or put_back), element_type(rows), total or put_back
    b = Builder.before(sort if weights is None or _comes_before(weights, sort) else end)
    b.source = combining or None
    choices = Value(b, sort.operands[0]).reshape(1, tokens, top_k)
    numbers = np.arange(lift.experts, dtype=storage_dtype(choices.of)).reshape(-1, 1, 1)
    expert_ids = b.value("ttir.constant", [], {"value": numbers, LIFTED_NAME: "expert_ids"})
    b.source = with_role(combining, EXPERT_MASK)
    routing = choices.op("eq", expert_ids).cast(kind)
    if weights is not None:
        b.source = combining or None
        own_weights = Value(b, weights).reshape(1, tokens, top_k)
        b.source = with_role(combining, CHOICE_WEIGHTS if top_k > 1 else ROUTING_WEIGHTS)
        routing = routing * own_weights
    if top_k > 1:
        b.source = with_role(combining, ROUTING_WEIGHTS)
        routing = routing.reduce("sum", [2])
    b = Builder.in_place_of(end)
    b.source = combining or None
    weighted = Value(b, experts.ssa) * routing
    b.source = sources_of(end) or None
    combined = b.value("ttir.sum", [weighted.ssa], {"dim_arg": (0,), "keep_dim": False})
    replace(end, [Value(b, combined).reshape(*shape(end.results[0])).ssa])


def _weighted(rows: SSAValue, sort: Operation) -> tuple[SSAValue, SSAValue | None, Operation | None]:
    """rows = x * weights[order] as x, the weights and the product; without such factors the rows, None and None."""
    product = defining(rows, "ttir.multiply")
    for place, factor in enumerate(product.operands) if product is not None else ():
        look_up = defining(_without(factor, _RESHAPE), _LOOK_UP)
        if (
            product is not None
            and look_up is not None
            and shape(factor) == (shape(rows)[0], 1)
            and _without(look_up.operands[0], _RESHAPE, _CAST) is sort.results[1]
        ):
            return product.operands[1 - place], _without(look_up.operands[1], _RESHAPE), product
    return rows, None, None


def _sum_of_choices(put_back: Operation) -> Operation | None:
    """The sum over the rows [tokens, choices, width] of each token, where nothing else reads the rows."""
    ops = [put_back]
    while len(ops) < 3 and single_use(ops[-1].results[0]):
        user = next(iter(ops[-1].results[0].uses)).operation
        if user.name != (_RESHAPE, "ttir.sum")[len(ops) - 1]:
            return None
        ops.append(user)
    split = shape(ops[1].results[0]) if len(ops) == 3 else ()
    return ops[2] if len(split) == 3 and split[2] == shape(put_back.results[0])[1] and list(access.attr(ops[2], "dim_arg") or ()) == [1] else None


def _sort_undone_by(inverse: SSAValue) -> Operation | None:
    """The sort of n values whose order `inverse` undoes: it is written as zeros with `inverse[order] = arange(n)`."""
    written = defining(_without(inverse, _RESHAPE, _CAST), "ttir.scatter")
    if written is None or access.attr(written, "scatter_reduce_type") != "invalid":
        return None
    places, numbers = _without(written.operands[1], _RESHAPE, _CAST), constant_of(written.operands[2])
    if not isinstance(places, OpResult) or (places.op.name, places.index) != ("ttir.sort", 1):
        return None
    dims = shape(places)
    counts = numbers is not None and np.array_equal(numbers, np.arange(math.prod(dims)))
    return places.op if counts and len(dims) == 1 and shape(inverse) == shape(written.operands[0]) == dims else None


def _without(value: SSAValue, *views: str) -> SSAValue:
    while (op := defining(value, *views)) is not None:
        value = op.operands[0]
    return value


def _comes_before(value: SSAValue, op: Operation) -> bool:
    """Whether the value is computed before the op of the same block."""
    owner = value.owner
    return not isinstance(owner, Operation) or next(one for one in owner.parent.ops if one in (owner, op)) is owner  # type: ignore[union-attr]


class _Lift:
    """For rows in the order of `sort`, one per token and chosen expert: the values of all experts for all tokens, [experts or 1, tokens or 1, width].

    experts: their number, 0 before the first product.
    """

    def __init__(self, sort: Operation, tokens: int, top_k: int) -> None:
        self.sort, self.tokens, self.top_k, self.experts = sort, tokens, top_k, 0
        self.slots = tokens * top_k
        self._done: dict[SSAValue, Value | None] = {}
        self._members: dict[SSAValue, bool] = {}

    def __call__(self, value: SSAValue) -> Value | None:
        if value not in self._done:
            op = value.owner
            self._done[value] = self._lifted(op) if isinstance(op, Operation) else None
        return self._done[value]

    def _lifted(self, op: Operation) -> Value | None:
        dims = shape(op.results[0])
        if len(op.results) != 1 or len(dims) != 2 or dims[0] != self.slots:
            return None
        b = Builder.in_place_of(op)
        if op.name == _LOOK_UP:
            return self._look_up(b, *op.operands)
        if op.name == "ttir.sum":
            return self._product(b, op)
        if op.name == "ttir.slice_static":
            begins, ends, steps = (list(access.attr(op, name)) for name in ("begins", "ends", "step"))
            x = self(op.operands[0])
            if x is None or (begins[0], ends[0], steps[0]) != (0, self.slots, 1):
                return None
            return Value(b, x.ssa).cut(2, begins[1], ends[1], steps[1])
        if not any(has_trait(op, trait) for trait in ("elementwise_unary", "elementwise_binary", "elementwise")) and op.name != _CAST:
            return None
        operands = [self._operand(b, operand) for operand in op.operands]
        if any(operand is None for operand in operands):
            return None
        lifted = {place: operand.ssa for place, operand in enumerate(operands) if operand is not None}
        return Value(b, b.like(op, lifted))

    def _operand(self, b: Builder, value: SSAValue) -> Value | None:
        """An operand of an op on rows; what is equal for all rows gets dims of size 1."""
        dims = shape(value)
        if len(dims) == 2 and dims[0] == self.slots:
            return self(value)
        return Value(b, value).reshape(*(1,) * (3 - len(dims)), *dims) if len(dims) <= 2 else None

    def _look_up(self, b: Builder, index: SSAValue, table: SSAValue) -> Value | None:
        """tokens[order // top_k] is every token; table[expert of the row] is the table."""
        index = _without(index, _CAST, _RESHAPE)
        rows, width = shape(table)
        if index is self.sort.results[0]:
            return Value(b, table).reshape(rows, 1, width) if interval(index)[1] < rows else None
        division = defining(index, "ttir.div")
        if division is not None and number(division.operands[1]) == self.top_k:
            written = multiple_of(*division.operands)
            index = _without(written[0], _CAST, _RESHAPE) if written is not None else index
        elif self.top_k > 1:
            return None
        return Value(b, table).reshape(1, rows, width) if index is self.sort.results[1] and rows == self.tokens else None

    def _product(self, b: Builder, total: Operation) -> Value | None:
        """sum over experts of (rows of the expert, others 0) @ weights: the product of all tokens with each expert's weights."""
        product = defining(total.operands[0], "ttir.matmul")
        if product is None or list(access.attr(total, "dim_arg") or ()) != [0] or access.attr(product, "transpose_a"):
            return None
        masked, matrices = product.operands
        spread = defining(masked, "ttir.multiply")
        for mask, rows in (spread.operands, reversed(spread.operands)) if spread is not None else ():
            split = defining(rows, _RESHAPE)
            if split is None or shape(mask) != (shape(matrices)[0], self.slots, 1) or not self._are_members(mask):
                continue
            x = self(split.operands[0])
            if x is None or shape(split.results[0]) != (1, *shape(split.operands[0])):
                return None
            self.experts = shape(mask)[0]
            b.source = sources_of(product) or None
            every = Value(b, x.ssa).broadcast(self.experts, self.tokens, x.shape[2])
            return every.matmul(Value(b, matrices), transpose_b=bool(access.attr(product, "transpose_b")))
        return None

    def _are_members(self, mask: SSAValue) -> bool:
        """Whether mask [experts, rows, 1] is 1 where a row's expert is that of the mask's row: made of the experts' counts, since rows are sorted."""
        if mask not in self._members:
            hits = _counted(mask)
            self._members[mask] = hits is not None and self._is_one_hot(hits, shape(mask)[0])
        return self._members[mask]

    def _is_one_hot(self, hits: SSAValue, experts: int) -> bool:
        """Whether hits [rows, experts] are computed element by element from the sorted experts, and are 1 at each row's expert; tried for every expert."""
        source, path = self.sort.results[0], dict.fromkeys([hits.owner])
        low, high = interval(source)
        if low < 0 or high >= _MOST_EXPERTS or shape(hits) != (self.slots, experts):
            return False
        for op in path_to(source, hits):
            if not isinstance(op, Operation) or not self._is_of_rows(op):
                return False
            path[op] = None
        ordered = [op for op in self.sort.parent.ops if op in path] if self.sort.parent is not None else []
        for first in range(0, high + 1, self.slots):
            ids = np.arange(first, first + self.slots) % (high + 1)
            values: dict[SSAValue, Array] = {source: ids.astype(np.int64)}
            for op in ordered:
                values.update(zip(op.results, evaluate(op, values), strict=True))
            if not np.array_equal(np.asarray(values[hits]) != 0, ids[:, None] == np.arange(experts)):
                return False
        return True

    def _is_of_rows(self, op: Operation) -> bool:
        """Whether an op computes each row of its result from that row of its operands and from the same constants."""
        dims = shape(op.results[0])
        if not can_evaluate(op):
            return False
        if has_trait(op, "constant"):
            return uniform(constant_of(op.results[0])) is not None or self.slots not in dims or (len(dims) > 1 and dims[-2] == 1 < self.slots)
        if op.name == _RESHAPE:
            return [size for size in dims if size != 1] == [size for size in shape(op.operands[0]) if size != 1]
        return op.name == _CAST or any(has_trait(op, trait) for trait in ("elementwise_unary", "elementwise_binary", "elementwise"))


def path_to(source: SSAValue, value: SSAValue) -> list[object]:
    """The owners of all values between `source` and `value`, in no order; a block where the value needs an argument."""
    found: dict[object, None] = {}
    todo = [value]
    while todo:
        value = todo.pop()
        if value is not source and value.owner not in found:
            found[value.owner] = None
            todo += value.owner.operands if isinstance(value, OpResult) else []
    return list(found)


def _counted(mask: SSAValue) -> SSAValue | None:
    """hits [rows, experts] where mask = (row < ends) - (row < ends of the expert before), with ends the running sums of the hits."""
    difference = defining(_without(mask, _RESHAPE, _CAST), "ttir.subtract")
    joined = defining(difference.operands[1], "ttir.concat") if difference is not None else None
    if difference is None or joined is None or len(joined.operands) != 2:
        return None
    until = difference.operands[0]
    zeros, before = joined.operands
    part = defining(before, "ttir.slice_static")
    if part is None or part.operands[0] is not until or access.attr(joined, "dim") % 2 or number(zeros) != 0:
        return None
    experts, slots = shape(until)
    if shape(before) != (experts - 1, slots) or any(access.attr(part, "begins")) or shape(zeros) != (1, slots):
        return None
    test = defining(_without(until, _CAST), "ttir.lt", "ttir.gt")
    if test is None:
        return None
    place, ends = test.operands if test.name == "ttir.lt" else reversed(test.operands)
    numbers, sums = constant_of(_without(place, _CAST)), defining(_without(ends, _RESHAPE, _CAST), "ttir.cumsum")
    if numbers is None or shape(place)[-2:] != (1, slots) or not np.array_equal(np.ravel(numbers), np.arange(slots)) or shape(ends) != (experts, 1):
        return None
    counts = defining(_without(sums.operands[0], _CAST), "ttir.sum") if sums is not None else None
    if counts is None or list(access.attr(counts, "dim_arg") or ()) != [0] or math.prod(shape(counts.results[0])) != experts:
        return None
    return _without(counts.operands[0], _CAST)
