"""TTNN: weights whose columns change places, so that a rotation turns halves of each head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining, erase, erase_dead, functions, made_by, replace, single_use
from alchemist.ir.layout import layout_of
from alchemist.ir.location import sources_of
from alchemist.ops.spec import NOTE
from alchemist.optimizer.movement import products_are_faster
from alchemist.options import CompilerOptions
from alchemist.passes.columns import Columns
from alchemist.passes.columns_by_product import Products
from alchemist.passes.fuse_rotary import rotations
from alchemist.passes.registry import Pass, register
from alchemist.passes.rotate_whole_heads import Tables, widened
from alchemist.passes.rotations import Rotation, half_turn, turns_halves

SPLIT = "ttnn.split_query_key_value_and_split_heads"
ATTENTION = "ttnn.scaled_dot_product_attention"
Order = tuple[int, ...]
"""The old place of each column of a head."""


@register("heads-in-halves", fusing=True)
class HeadsInHalves(Pass):
    """Pairs of columns, or halves of a part of a head, become halves of the whole head by another order of the weights' columns, where that is faster.

    Scores are sums over the columns of queries and keys, so these may stand in any order that both have. rotary_embedding_hf turns halves in one program.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            attentions = [op for op in func.body.block.ops if op.name == ATTENTION]
            if attentions:
                products, tables, moved = Products(func, self.options), Tables(), _Moved()
                for op in attentions:
                    _reorder(op, products, tables, moved)
                erase_dead(func)


@dataclass(frozen=True, slots=True)
class _Side:
    """Queries or keys. norms: of each head, behind the split. place: of the result of the split."""

    rotation: Rotation
    order: Order
    norms: tuple[Operation, ...]
    split: Operation
    place: int


def _reorder(attention: Operation, products: Products, tables: Tables, moved: _Moved) -> None:
    sides = [_side(value, products, tables) for value in attention.operands[:2]]
    queries, keys = sides
    if queries is None or keys is None or queries.split is not keys.split or queries.order != keys.order or (queries.place, keys.place) != (0, 1):
        return
    product = _product(queries.split, products)
    if product is None:
        return
    made: list[list[Operation]] = []
    replaced: list[Operation] = []
    as_they_stand: list[Operation] = []
    for side in (queries, keys):
        found = side.rotation
        between = products.between(found.x, found.op)
        replaced += between
        as_they_stand += found.written(products, between)
        halves = Columns(found.x, shape(found.x)[:-1], half_turn(len(side.order)))
        cos, sin = (moved.last_dim(table, side.order, 1) for table in (found.cos, found.sin))
        made.append(Rotation(found.op, found.x, halves, cos, sin).written(products, between))
    written = [op for ops in made for op in ops]
    faster = all(made) and all(products_are_faster(written, old, products.options) for old in (replaced, as_they_stand) if old)
    for op in [*([] if faster else written), *as_they_stand][::-1]:
        erase(op)
    if not faster:
        return
    heads = queries.split.results
    count = shape(heads[0])[1] + shape(heads[1])[1]
    _move(product, 1, queries.order, count, moved)
    if len(product.operands) > 2:
        _move(product, 2, queries.order, count, moved)
    for side, ops in zip((queries, keys), made, strict=True):
        for norm in side.norms:
            for place in range(1, len(norm.operands)):
                norm.operands[place] = moved.last_dim(norm.operands[place], side.order, 1)
        replace(side.rotation.op, [ops[-1].results[0]])


def _move(product: Operation, place: int, order: Order, heads: int, moved: _Moved) -> None:
    turned = place == 1 and bool(access.attr(product, "transpose_b"))
    product.operands[place] = (moved.rows if turned else moved.last_dim)(product.operands[place], order, heads)


def _side(value: SSAValue, products: Products, tables: Tables) -> _Side | None:
    while (cast := defining(value, "ttnn.typecast")) is not None and single_use(value):
        value = cast.operands[0]
    op = defining(value, "ttnn.add", "ttnn.concat")
    if op is None or not single_use(value):
        return None
    if op.name == "ttnn.concat":
        whole = widened(op, products, tables)
        rotation = None if whole is None else whole.rotation
    else:
        rotation = next(rotations(op, products), None)
    if rotation is None or any(table not in products.fixed and table not in tables for table in (rotation.cos, rotation.sin)):
        return None
    order = halves_in_order(rotation)
    x, between = rotation.x, products.between(rotation.x, op)
    if order is None or any(use.operation not in between for use in x.uses):
        return None
    norms: list[Operation] = []
    while (norm := made_by(x, "norm")) is not None and all(each in products.fixed and shape(each)[-1] == len(order) for each in norm.operands[1:]):
        norms.append(norm)
        x = norm.operands[0]
        if not single_use(x):
            return None
    split = defining(x, SPLIT)
    return None if split is None else _Side(rotation, order, tuple(norms), split, next(place for place, one in enumerate(split.results) if one is x))


def halves_in_order(rotation: Rotation) -> Order | None:
    """Old places of a head's columns, so that the rotation turns halves; None where it does already, or turns no pairs."""
    picked, size = rotation.turned.picked.reshape(-1), shape(rotation.x)[-1]
    if picked.size != size or rotation.turned.cut is not None or turns_halves(picked):
        return None
    first = [place for place in range(size) if place not in rotation.free and picked[place] < 0]
    second = [abs(int(picked[place])) - 1 for place in first]
    kept = sorted(rotation.free)
    if any(place in rotation.free or picked[place] != other + 1 for other, place in zip(first, second, strict=True)):
        return None
    order = [*first, *kept[: len(kept) // 2], *second, *kept[len(kept) // 2 :]]
    return tuple(order) if sorted(order) == list(range(size)) else None


def _product(split: Operation, products: Products) -> Operation | None:
    """The product of all columns that the split takes, whose weights are fixed."""
    value = split.operands[0]
    if len(split.operands) != 1 or access.attr(split, "transpose_key") or not single_use(value):
        return None
    if (reshape := defining(value, "ttnn.reshape")) is not None:
        columns, value = shape(value)[-1], reshape.operands[0]
        if not single_use(value) or shape(value)[-1] != columns:
            return None
    product = defining(value, "ttnn.linear", "ttnn.matmul")
    if product is None or (product.name == "ttnn.linear" and access.attr(product, "activation") is not None):
        return None
    return product if all(each in products.fixed for each in product.operands[1:]) else None


class _Moved:
    """Fixed values with the columns of their heads in another order, one for all ops that read the same."""

    def __init__(self) -> None:
        self._made: dict[tuple[SSAValue, Order, int, bool], SSAValue] = {}

    def last_dim(self, value: SSAValue, order: Order, heads: int) -> SSAValue:
        """heads: how many stand in the last dim, from its beginning; what is behind them stays."""
        return self._of(value, order, heads, False)

    def rows(self, value: SSAValue, order: Order, heads: int) -> SSAValue:
        """The same for the last dim but one."""
        return self._of(value, order, heads, True)

    def _of(self, value: SSAValue, order: Order, heads: int, in_rows: bool) -> SSAValue:
        key = (value, order, heads, in_rows)
        if key not in self._made:
            self._made[key] = _in_other_order(value, order, heads, in_rows)
        return self._made[key]


def _in_other_order(value: SSAValue, order: Order, heads: int, in_rows: bool) -> SSAValue:
    """Heads as a dim of their own, the columns of all of them cut into runs and joined in the new order: row by row, where every cut is exact."""
    kind, dims = layout_of(value.type), shape(value)
    assert kind is not None
    owner = value.owner
    b = Builder.after(owner) if isinstance(owner, Operation) else Builder(owner, owner.first_op)
    b.source = (sources_of(owner) or None) if isinstance(owner, Operation) else None
    at = len(dims) - 1 - in_rows
    ahead, behind = dims[:at], dims[at + 1 :]

    def to(name: str, given: SSAValue | list[SSAValue], attributes: dict[str, object], out: Sequence[int], page: str = "row_major") -> SSAValue:
        made: SSAValue = b.op(name, [given], attributes, [kind.with_(tuple(out), page=page).type_for(tuple(out))])
        return made

    def cut(given: SSAValue, dim: int, begin: int, end: int, step: int = 1) -> SSAValue:
        of = shape(given)
        begins, ends, steps = [0] * len(of), list(of), [1] * len(of)
        begins[dim], ends[dim], steps[dim] = begin, end, step
        return to("ttnn.slice_static", given, {"begins": begins, "ends": ends, "step": steps}, [*of[:dim], -(-(end - begin) // step), *of[dim + 1 :]])

    moving = heads * len(order)
    rows = to("ttnn.to_layout", value, {}, dims) if kind.page != "row_major" else value
    part = cut(rows, at, 0, moving) if moving < dims[at] else rows
    apart = (*ahead, heads, len(order), *behind)
    part = to("ttnn.reshape", part, {"shape": apart}, apart) if heads > 1 else part
    dim = at + (heads > 1)
    said = "the columns of each head in an order in which rotary_embedding_hf turns halves: queries times keys stays the same"
    part = to("ttnn.concat", [cut(part, dim, *run) for run in runs(order)], {"dim": dim, NOTE: said}, shape(part))
    part = to("ttnn.reshape", part, {"shape": (*ahead, moving, *behind)}, (*ahead, moving, *behind)) if heads > 1 else part
    if moving < dims[at]:
        part = to("ttnn.concat", [part, cut(rows, at, moving, dims[at])], {"dim": at}, dims)
    return to("ttnn.to_layout", part, {}, dims, kind.page) if kind.page != "row_major" else part


def runs(order: Order) -> list[tuple[int, int, int]]:
    """(first, end, step) of columns at equal distances, in order."""
    found: list[tuple[int, int, int]] = []
    place = 0
    while place < len(order):
        step = order[place + 1] - order[place] if place + 1 < len(order) and order[place + 1] > order[place] else 1
        end = place + 1
        while end < len(order) and order[end] - order[end - 1] == step:
            end += 1
        found.append((order[place], order[end - 1] + 1, step))
        place = end
    return found
