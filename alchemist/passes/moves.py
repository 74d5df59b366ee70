"""TTNN: performs data movement by transposes of whole tiles, or on row-major values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import Spec, query
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, connected, defining, erase, erase_dead, functions, made_by, replace, single_use
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ir.scopes import paths_around
from alchemist.ir.value import Value
from alchemist.ops.constants import FixedValues
from alchemist.ops.library_names import DTYPES
from alchemist.ops.spec import NOTE
from alchemist.optimizer.movement import CARDS, FREE, Price, are_faster, lies_in_tiles, price_of
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import is_free

# --- TTNN: columns and heads are rearranged by transposes, which move whole tiles; a reshape would untilize every tile. ---

RESHAPE = "ttnn.reshape"
PERMUTE = "ttnn.permute"
_DTYPES = ("bf16", "f32", "si32", "u32")
_TURNED = "transposes move whole tiles; the reshape of the source would take every tile apart"


@register("turned-moves", fusing=True, from_level=1)
class TurnedMoves(Pass):
    """From optimization level 1 on, reshapes that would move single elements become transposes and views, where that is faster.

    [.., M] to a column [.., M, 1] is a transpose of a row. [B, S, H*D] to heads [B, H, S, D] is a transpose to [B, H*D, S], a view as [B, H, D, S], which
    keeps the tiles if D is a multiple of 32, and a transpose back; heads become rows of columns in the same way.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            fixed = FixedValues(func)
            for op in list(func.body.block.ops):
                if op.parent is not None and op.name in (RESHAPE, PERMUTE) and op.results[0] not in fixed and lies_in_tiles(op.results[0], _DTYPES):
                    self._turn(op)

    def _turn(self, op: Operation) -> None:
        before = defining(op.operands[0], RESHAPE if op.name == PERMUTE else PERMUTE)
        if before is not None and (not single_use(op.operands[0]) or not lies_in_tiles(before.operands[0], _DTYPES)):
            before = None
        b = Builder.in_place_of(op)
        start = Value(b, (before if before is not None else op).operands[0])
        new_ops = _heads(start, before, op) if op.name == PERMUTE else _joined(start, before, op) or _column(Value(b, op.operands[0]), op)
        if new_ops is None:
            return
        ops: list[Operation] = []
        value = new_ops.ssa
        while value is not start.ssa and value is not op.operands[0] and isinstance(value.owner, Operation):
            ops.insert(0, value.owner)
            value = value.owner.operands[0]
        replaced = [op] if before is None or value is op.operands[0] else [op, before]
        if self._gains(ops, replaced):
            access.set_attr(ops[0], NOTE, _TURNED)
            for dead in ops:
                add_sources(dead, *reversed(replaced[1:]))
            replace(op, [new_ops.ssa])
            for dead in replaced[1:]:
                erase(dead)
        else:
            erase(*ops)

    def _gains(self, new_ops: Sequence[Operation], replaced: Sequence[Operation]) -> bool:
        """Whether the gain exceeds the error of the cost model."""
        new, old = [price_of(op, self.options) for op in new_ops], [price_of(op, self.options) for op in replaced]
        gain = sum(price.ns for price in old) - sum(price.ns for price in new)
        return math.isfinite(gain) and gain > sum(price.error_ns for price in new)


def _swapped(x: Value) -> Value:
    """Transposes the last two dims."""
    return x.op("transpose", dim0=len(x.shape) - 2, dim1=len(x.shape) - 1)


def _permuted(x: Value, order: Sequence[int]) -> Value:
    """Permutes the dims before the last two."""
    return x.permute(*order, len(x.shape) - 2, len(x.shape) - 1)


def _column(x: Value, op: Operation) -> Value | None:
    """Matches a reshape to or from columns of one element."""
    after = shape(op.results[0])
    columns = [len(dims) > 1 and dims[-1] == 1 and dims[-2] > 1 for dims in (x.shape, after)]
    if not any(columns):
        return None
    x = _swapped(x) if columns[0] else x
    return _swapped(x.reshape(*after[:-2], 1, after[-2])) if columns[1] else x.reshape(*after)


def _heads(x: Value, split: Operation | None, op: Operation) -> Value | None:
    """Splits rows [.., S, X.., D] and moves S after X: before D or after it."""
    if split is None:
        return None
    dims, order = shape(op.operands[0]), tuple(access.attr(op, "permutation"))
    last = len(dims) - 1
    is_transposed = order[-2] == last
    tokens = order[-1] if is_transposed else order[-2]
    if last not in order[-2:] or tokens >= last - 1 or (not is_transposed and order[-1] != last):
        return None
    outer, inner = dims[:tokens], dims[tokens + 1 :]
    x = _swapped(x.reshape(*outer, dims[tokens], math.prod(inner))).reshape(*outer, *inner, dims[tokens])
    x = _permuted(x, [place - (place > tokens) for place in order[:-2]])
    return x if is_transposed else _swapped(x)


def _joined(x: Value, permute: Operation | None, op: Operation) -> Value | None:
    """Moves S of [X.., S, D] before some dims of X, which are joined with D."""
    if permute is None:
        return None
    dims, order = shape(permute.operands[0]), tuple(access.attr(permute, "permutation"))
    tokens = order.index(len(dims) - 2)
    if order[-1] != len(dims) - 1 or tokens >= len(dims) - 2:
        return None
    outer, inner = order[:tokens], order[tokens + 1 : -1]
    x = _permuted(_swapped(x), [*outer, *inner])
    return _swapped(x.reshape(*(dims[place] for place in outer), math.prod(dims[place] for place in inner) * dims[-1], dims[-2])).reshape(*shape(op.results[0]))


# --- TTNN: reshapes, permutes, slices and concatenations work on row-major values where each would have to untilize its operand. ---

_TO_LAYOUT = "ttnn.to_layout"
_KINDS = ("bf16", "f32")
_ROUNDS = 8
"""Limit of rounds of the local search; in the test models the third round finds no change."""


@register("moves-in-rows", fusing=True, from_level=1)
class MovesInRows(Pass):
    """From optimization level 1 on, moves of data that are faster on rows than in tiles work on rows, with to_layout in front of them and behind.

    For a window of pixels, a head or a token that does not start at a tile boundary, each op of the library untilizes and tilizes again. On row-major
    values a reshape is a view, and a permute moves rows. A local search decides per connected group of ops, beyond the cost model's error.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            fixed = FixedValues(func)
            for group in _groups(func, fixed):
                _Group(group, fixed, self.options).rewrite()


def _groups(func: FuncOp, fixed: FixedValues) -> Iterator[list[Operation]]:
    """Data movement ops connected by a common value, in program order."""
    moves = [op for op in func.body.block.ops if _is_move(op, fixed)]
    known_by: dict[SSAValue, Operation] = {}
    links = [(op, known_by.setdefault(value, op)) for op in moves for value in (*op.operands, *op.results)]
    yield from connected(moves, links)


def _is_move(op: Operation, fixed: FixedValues) -> bool:
    values = [*op.operands, *op.results]
    return has_trait(op, "move") and len(op.results) == 1 and op.results[0] not in fixed and all(lies_in_tiles(value, _KINDS) for value in values)


@dataclass(slots=True)
class _Value:
    """A value of the group with the conversions to row-major (`to_rows`) and to tiles (`to_tiles`).

    maker, readers: ops of the group. rows: the row-major form of a value that enters the group. outside: whether other ops read its tiles. leaving: existing
    conversions to row-major for other ops.
    """

    maker: Operation | None
    readers: list[Operation] = field(default_factory=list)
    rows: SSAValue | None = None
    outside: bool = False
    leaving: list[Operation] = field(default_factory=list)
    to_rows: Operation | None = None
    to_tiles: Operation | None = None
    rows_price: Price = FREE
    tiles_price: Price = FREE


class _Group:
    """A connected group of data movement ops, each of which works on tiles or on row-major values."""

    def __init__(self, ops: list[Operation], fixed: FixedValues, options: CompilerOptions) -> None:
        self._ops, self._fixed, self._options = ops, fixed, options
        self._on_rows: dict[Operation, Operation] = {}
        self._values: dict[SSAValue, _Value] = {}
        self._prices: dict[tuple[Operation, bool], Price] = {}

    def rewrite(self) -> None:
        tiles = {op: price_of(op, self._options) for op in self._ops}
        if not 0 < sum(price.ns for price in tiles.values()) < math.inf:
            return
        self._prepare()
        for op, price in tiles.items():
            self._prices[op, False] = price
            self._prices[op, True] = price_of(self._on_rows[op], self._options)
        as_it_is = dict.fromkeys(self._ops, False)
        best = min((self._improved(dict.fromkeys(self._ops, start)) for start in (False, True)), key=self._ns)
        if not any(best.values()) or self._ns(as_it_is) - self._ns(best) <= self._error_ns(best):
            best = as_it_is
        self._settle(best)

    def _prepare(self) -> None:
        """Creates each op on row-major values, and each value's conversions."""
        for op in self._ops:
            for value in op.operands:
                if value not in self._values:
                    self._values[value] = self._entering(value, op)
                self._values[value].readers.append(op)
            result = op.results[0]
            rows = [self._rows_of(value) for value in op.operands]
            on_rows = type(op).create(operands=rows, result_types=[_in_rows(result)], properties=op.properties, attributes=op.attributes)
            set_source(on_rows, *sources_of(op))
            assert op.parent is not None
            op.parent.insert_op_before(on_rows, op)
            self._on_rows[op] = on_rows
            self._values[result] = self._made(op, on_rows)
        inside = set(self._ops)
        for op in self._ops:
            made_here = self._values[op.results[0]]
            others = [use.operation for use in op.results[0].uses if use.operation not in inside and use.operation is not made_here.to_rows]
            made_here.leaving = [other for other in others if other.name == _TO_LAYOUT and other.results[0].type == _in_rows(op.results[0])]
            made_here.outside = len(others) > len(made_here.leaving)

    def _entering(self, value: SSAValue, reader: Operation) -> _Value:
        maker = defining(value, _TO_LAYOUT)
        if maker is not None and maker.operands[0].type == _in_rows(value):
            return _Value(None, rows=maker.operands[0])
        b = Builder.before(reader)
        b.source = sources_of(reader)
        to_rows = b.make(_TO_LAYOUT, [value], {NOTE: "rows: within tiles each of these moves takes all of them apart"}, [_in_rows(value)])
        price = FREE if value in self._fixed else price_of(to_rows, self._options)
        return _Value(None, rows=to_rows.results[0], to_rows=to_rows, rows_price=price)

    def _made(self, op: Operation, on_rows: Operation) -> _Value:
        b = Builder.after(op)
        b.source = sources_of(op)
        to_tiles = b.make(_TO_LAYOUT, [on_rows.results[0]], {}, [op.results[0].type])
        to_rows = b.make(_TO_LAYOUT, [op.results[0]], {}, [_in_rows(op.results[0])])
        return _Value(op, to_rows=to_rows, to_tiles=to_tiles, rows_price=price_of(to_rows, self._options), tiles_price=price_of(to_tiles, self._options))

    def _rows_of(self, value: SSAValue, chosen: Mapping[Operation, bool] | None = None) -> SSAValue:
        """The row-major operand for an op."""
        record = self._values[value]
        if record.maker is not None and (chosen is None or chosen[record.maker]):
            return self._on_rows[record.maker].results[0]
        if record.rows is not None:
            return record.rows
        assert record.to_rows is not None
        return record.to_rows.results[0]

    def _conversion(self, value: _Value, chosen: Mapping[Operation, bool]) -> Price:
        """The price of the value's conversion, if any op reads its other form."""
        if value.maker is not None and chosen[value.maker]:
            return value.tiles_price if value.outside or not all(chosen[reader] for reader in value.readers) else FREE
        return value.rows_price if value.leaving or any(chosen[reader] for reader in value.readers) else FREE

    def _prices_of(self, ops: Iterable[Operation], values: Iterable[_Value], chosen: Mapping[Operation, bool]) -> Iterator[Price]:
        yield from (self._prices[op, chosen[op]] for op in ops)
        yield from (self._conversion(value, chosen) for value in values)

    def _ns(self, chosen: Mapping[Operation, bool]) -> float:
        return sum(price.ns for price in self._prices_of(self._ops, self._values.values(), chosen))

    def _error_ns(self, chosen: Mapping[Operation, bool]) -> float:
        """The cost model's error on the changed ops."""
        changed = [op for op in self._ops if chosen[op]]
        return sum(price.error_ns for price in self._prices_of(changed, self._values.values(), chosen))

    def _improved(self, chosen: dict[Operation, bool]) -> dict[Operation, bool]:
        """Local search: flips an op, or an op and its operands' makers, as long as the time decreases."""
        for _ in range(_ROUNDS):
            changed = False
            for op in self._ops:
                makers = [maker for value in op.operands if (maker := self._values[value].maker) is not None]
                for several in ([op], [op, *makers]):
                    changed = self._change(several, chosen) or changed
            if not changed:
                break
        return chosen

    def _change(self, several: list[Operation], chosen: dict[Operation, bool]) -> bool:
        touched = list({id(value): value for op in several for operand in (*op.operands, *op.results) for value in [self._values[operand]]}.values())
        before = sum(price.ns for price in self._prices_of(several, touched, chosen))
        to, old = not chosen[several[0]], {op: chosen[op] for op in several}
        chosen.update(dict.fromkeys(several, to))
        if sum(price.ns for price in self._prices_of(several, touched, chosen)) < before:
            return True
        chosen.update(old)
        return False

    def _settle(self, chosen: Mapping[Operation, bool]) -> None:
        """Keeps each op in the chosen form, and the conversions that have a use."""
        dead: list[Operation] = []
        for op in self._ops:
            value, rows = self._values[op.results[0]], self._on_rows[op]
            dead.append(op if chosen[op] else rows)
            if not chosen[op]:
                continue
            assert value.to_tiles is not None
            for place, operand in enumerate(op.operands):
                rows.operands[place] = self._rows_of(operand, chosen)
            for other in value.leaving:
                replace(other, [rows.results[0]])
            others = [use for use in op.results[0].uses if use.operation is not value.to_rows and not chosen.get(use.operation, False)]
            for use in others:
                use.operation.operands[use.index] = value.to_tiles.results[0]
        conversions = [conversion for value in self._values.values() for conversion in (value.to_rows, value.to_tiles) if conversion is not None]
        for op in (*conversions, *reversed(dead), *conversions):
            if op.parent is not None and not any(True for result in op.results for _ in result.uses):
                erase(op)


def _in_rows(value: SSAValue) -> TensorType[Attribute]:
    of = layout_of(value.type)
    assert of is not None
    return of.with_(shape(value), page="row_major").type_for(shape(value))


# --- Returns a result row-major if its last reshape would have to move rows between tiles. ---

WORTH = 50_000.0
"""Nanoseconds that a row-major result has to save at optimization level 0, as results are tiled by default."""
_BLOCKS = ("bfp_bf8", "bfp_bf4")


@register("free-views")
class FreeViews(Pass):
    """Within a module, reshape(to_layout(reshape(x))) with the dims of x becomes to_layout(x), as between two convolutions, and of two reshapes of a value
    that move its elements the second reads the first where it only adds or drops dims: [64, 256] of joined heads is [1, 64, 256] for free.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            first: dict[tuple[SSAValue, tuple[str, ...]], SSAValue] = {}
            for op in [op for op in func.body.block.ops if op.name == RESHAPE]:
                source, dims, within = op.operands[0], shape(op.results[0]), paths_around(sources_of(op))
                paged = defining(source, "ttnn.to_layout")
                view = defining(paged.operands[0], RESHAPE) if paged is not None else None
                if paged is not None and view is not None and shape(view.operands[0]) == dims and is_free(dims, shape(view.results[0])):
                    if paths_around(sources_of(view)) == within:
                        b = Builder.before(op)
                        replace(op, [b.op("ttnn.to_layout", [view.operands[0]], dict(paged.properties), [op.results[0].type])])
                    continue
                moves = lies_in_tiles(source, _DTYPES) and not is_free(shape(source), dims)
                twin = first.setdefault((source, within), op.results[0]) if moves else op.results[0]
                if twin is not op.results[0] and is_free(shape(twin), dims):
                    op.operands[0] = twin


@register("returned-rows")
class ReturnedRows(Pass):
    """The last reshape of a result works on rows, where it is a view, if the clock says that this is much faster.

    Optimization level 0 asks for both cards and for `WORTH` device time: what the caller gets is a result in rows, written by the library's plain path.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        cards, worth = ((self.options.card,), 0.0) if self.options.optimization_level else (CARDS, WORTH)
        for func in functions(module, const_eval=False):
            _return_rows(func, cards, worth)


def _return_rows(func: FuncOp, cards: Sequence[str], worth: float) -> None:
    end = func.get_return_op()
    assert end is not None
    for value in list(end.operands):
        op = defining(value, "ttnn.reshape")
        if op is None or not single_use(value) or shape(op.operands[0])[-1:] != shape(value)[-1:]:
            continue
        before, after = layout_of(op.operands[0].type), layout_of(value.type)
        if before is None or after is None or before.on_host or (before.page, after.page) != ("tile", "tile") or before.dtype in _BLOCKS:
            continue
        if before.is_sharded or not all(_gain_ns(shape(op.operands[0]), shape(value), DTYPES[before.dtype], card) > worth for card in cards):
            continue
        rows = Value(Builder.in_place_of(op), op.operands[0]).in_pages("row_major")
        replace(op, [rows.op("reshape", shape=shape(value)).ssa])
    func.properties["function_type"] = FunctionType.from_lists([argument.type for argument in func.args], [value.type for value in end.operands])


def _gain_ns(before: tuple[int, ...], after: tuple[int, ...], dtype: str, card: str) -> float:
    """Time of the tiled reshape minus time of the conversion to row-major; 0 where the cost model has no price."""
    tiled = Spec(before, dtype, "tile")
    try:
        reshape_ns = query("ttnn.reshape", [tiled], card=card, shape=after).device_ns
        to_rows_ns = query("ttnn.to_layout", [tiled], card=card, layout="row_major").device_ns
    except ShimError:
        return 0.0
    return reshape_ns - to_rows_ns if to_rows_ns else 0.0


# --- TTNN: constant rows concatenated to a product's rows (a class token before patches) become zero rows of the product's operand. ---

_OF_LINEAR = ("operandSegmentSizes", "activation")


@register("rows-in-front", fusing=True)
class RowsInFront(Pass):
    """concat([token, linear(x)]) + positions becomes matmul([0, x]) + (concat([token, bias]) + positions), where the clock says so.

    The library untilizes and tilizes to concatenate rows that do not start at a tile boundary. This pass pads x with zero rows before x is tilized;
    const-eval adds token, bias and positions into one constant.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            joins = [op for op in func.body.block.ops if op.name == "ttnn.concat"]
            if joins:
                fixed = FixedValues(func)
                if any([_rewrite(op, fixed, self.options) for op in joins]):
                    erase_dead(func)


@dataclass(frozen=True)
class _Joined:
    """concat([*front, product]): front [1, k, D] each, product [B, S - k, D] of `rows`, which are not in tiles yet.

    replaced: ops that the rewrite makes dead, makers first. positions: the constant that the last of them adds to all rows, if any.
    """

    front: tuple[SSAValue, ...]
    rows: SSAValue
    product: Operation
    positions: SSAValue | None
    replaced: tuple[Operation, ...]


def _rewrite(op: Operation, fixed: FixedValues, options: CompilerOptions) -> bool:
    match = _match(op, fixed)
    if match is None:
        return False
    last = match.replaced[-1]
    new_ops, at_run_time = _make(match, shape(op.results[0]))
    if not are_faster(at_run_time, match.replaced, options):
        erase(*new_ops)
        return False
    for replaced_op in match.replaced[::-1]:
        add_sources(new_ops[-1], replaced_op)
    replace(last, list(new_ops[-1].results))
    return True


def _match(op: Operation, fixed: FixedValues) -> _Joined | None:
    dims = shape(op.results[0])
    *first, joined = op.operands
    if len(dims) != 3 or int(access.attr(op, "dim")) not in (1, -2) or not first or not fixed.issuperset(first) or joined in fixed:
        return None
    front = [_of_one_batch(value) for value in first]
    replaced = [op]
    while (view := defining(joined, "ttnn.reshape")) is not None and single_use(joined):
        replaced.insert(0, view)
        joined = view.operands[0]
    product = made_by(joined, "product")
    if product is None or not single_use(joined) or access.attr(product, "activation") or not fixed.issuperset(product.operands[1:]):
        return None
    tiles = defining(product.operands[0], "ttnn.to_layout")
    kinds = {(kind.dtype, kind.page, kind.is_sharded, kind.on_host) for value in (*front, joined) if value is not None and (kind := layout_of(value.type))}
    if None in front or tiles is None or not single_use(tiles.results[0]) or len(kinds) != 1 or ("tile", False, False) not in {kind[1:] for kind in kinds}:
        return None
    plain, views = _below_views(tiles.operands[0])
    before = layout_of(plain.type)
    rows = dims[1] - sum(shape(value)[1] for value in first)
    if before is None or before.page != "row_major" or before.is_sharded or math.prod(shape(tiles.operands[0])[:-1]) != dims[0] * rows:
        return None
    added, positions = _positions(op, fixed)
    replaced = [*views, tiles, product, *replaced, *([] if added is None else [added])]
    return _Joined(tuple(value for value in front if value is not None), plain, product, positions, tuple(replaced))


def _below_views(value: SSAValue) -> tuple[SSAValue, list[Operation]]:
    """Looks through row-major reshapes with a single use: (their source, the reshapes, makers first)."""
    views: list[Operation] = []
    while (view := defining(value, "ttnn.reshape")) is not None and single_use(value):
        kind = layout_of(view.operands[0].type)
        if kind is None or kind.page != "row_major":
            break
        views.insert(0, view)
        value = view.operands[0]
    return value, views


def _of_one_batch(value: SSAValue) -> SSAValue | None:
    """[1, k, D] before it is repeated for every batch; None if batches differ."""
    repeated = defining(value, "ttnn.repeat")
    if repeated is not None and list(access.attr(repeated, "repeat_dims"))[1:] == [1, 1]:
        value = repeated.operands[0]
    return value if shape(value)[:1] == (1,) and len(shape(value)) == 3 else None


def _positions(op: Operation, fixed: FixedValues) -> tuple[Operation | None, SSAValue | None]:
    """The op that adds the same constant rows to each batch, and these rows."""
    result = op.results[0]
    added = next(iter(result.uses)).operation if single_use(result) else None
    if added is None or added.name != "ttnn.add" or added.results[0].type != result.type:
        return None, None
    others = [value for value in added.operands if value is not result]
    if len(others) == 1 and others[0] in fixed and shape(others[0]) == (1, *shape(result)[1:]):
        return added, others[0]
    return None, None


def _make(match: _Joined, dims: tuple[int, ...]) -> tuple[list[Operation], list[Operation]]:
    """(all new ops, the result's op last; those that run in every call)."""
    batch, length, columns = dims
    product, kind = match.product, layout_of(match.front[0].type)
    of_rows = layout_of(match.rows.type)
    assert kind is not None
    assert of_rows is not None
    front = sum(shape(value)[1] for value in match.front)
    depth = shape(product.operands[0])[-1]
    b = Builder.before(match.replaced[-1])
    new_ops: list[Operation] = []
    join = next(op for op in match.replaced if op.name == "ttnn.concat")
    behind = {"ttnn.concat": join, "ttnn.add": match.replaced[-1]}

    def make(name: str, operands: Sequence[SSAValue | Sequence[SSAValue]], attributes: dict[str, Any], to: TTNNLayout, dims: tuple[int, ...]) -> SSAValue:
        new_ops.append(b.make(name, list(operands), attributes, [to.with_(dims).type_for(dims)], sources_of(behind.get(name, product)) or None))
        return new_ops[-1].results[0]

    table = _table(make, match, kind, length - front, columns)
    constants = len(new_ops)
    rows = (batch, length - front, depth)
    x = match.rows if shape(match.rows) == rows else make("ttnn.reshape", [match.rows], {"shape": rows}, of_rows, rows)
    padded_dims = (batch, length, depth)
    bias, positions = ["the product's bias"] * (len(product.operands) > 2), ["the positions"] * (match.positions is not None)
    given = f"the constant {'row' if front == 1 else 'rows'}"
    note = f"{_count(front)} of zeros in front: a later sum adds {given} there{', and the bias to the others' * len(bias)}"
    padding = {"padding": [0, 0, front, 0, 0, 0], "value": 0.0, "use_multicore": True, NOTE: note}
    x = make("ttnn.pad", [x], padding, of_rows, padded_dims)
    x = make("ttnn.to_layout", [x], {}, kind, padded_dims)
    matmul_attributes = {name: value for name, value in {**product.properties, **product.attributes}.items() if name not in _OF_LINEAR}
    x = make("ttnn.matmul", [x, product.operands[1]], matmul_attributes, kind, dims)
    *most, last = [f"{given} in front", *bias, *positions]
    make("ttnn.add", [x, table], {NOTE: f"one prepared table holds {' and '.join(filter(None, (', '.join(most), last)))}"}, kind, dims)
    return new_ops, new_ops[constants:]


def _table(make: Callable[..., SSAValue], match: _Joined, kind: TTNNLayout, rows: int, columns: int) -> SSAValue:
    """The constant to add to all rows: the constant rows, then the bias, plus positions."""
    bias = match.product.operands[2] if len(match.product.operands) > 2 else None
    front = sum(shape(value)[1] for value in match.front)
    table_dims = (1, front + rows, columns)
    if bias is not None:
        line = make("ttnn.reshape", [bias], {"shape": (1, 1, columns)}, kind, (1, 1, columns))
        behind = make("ttnn.repeat", [line], {"repeat_dims": (1, rows, 1)}, kind, (1, rows, columns))
        table = make("ttnn.concat", [[*match.front, behind]], {"dim": 1}, kind, table_dims)
    else:
        table = match.front[0] if len(match.front) == 1 else make("ttnn.concat", [list(match.front)], {"dim": 1}, kind, (1, front, columns))
        table = make("ttnn.pad", [table], {"padding": [0, 0, 0, rows, 0, 0], "value": 0.0, "use_multicore": True}, kind, table_dims)
    if match.positions is not None:
        table = make("ttnn.add", [table, match.positions], {}, kind, table_dims)
    return table


def _count(rows: int) -> str:
    return "a row" if rows == 1 else f"{rows} rows"
