"""Rotary embeddings in one program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources, defining, erase, erase_dead, functions, made_by, replace, single_use
from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.ir.location import sources_of
from alchemist.ir.value import Value
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import NOTE, inline_scalar
from alchemist.optimizer.movement import are_faster
from alchemist.options import CompilerOptions
from alchemist.passes.columns import Columns, Products, Rotation, fits, half_turn, may_round, turns_halves
from alchemist.passes.lower.context import user_per_core
from alchemist.passes.registry import Pass, register

# --- TTNN: rotary embedding that a model writes out, as one op. ---

MOVE = "ttnn.to_memory_config"


@register("fuse-rotary", fusing=True)
class FuseRotary(Pass):
    """x * cos + turned x * sin becomes one program, for one token of each user rotary_embedding_hf on shards.

    turned: (-x2, x1) of two halves, or columns that a matrix makes of those of the same tile, in bfloat16 (pairs side by side).
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        moved: dict[SSAValue, SSAValue] = {}
        for func in functions(module, const_eval=False):
            if not any(op.name == "ttnn.concat" for op in func.body.block.ops):
                continue
            products = Products(func, self.options)
            for op in [op for op in func.body.block.ops if op.name == "ttnn.add"]:
                any(_replace(found, moved, products, self.options) for found in rotations(op, products))
            erase_dead(func)


def rotations(op: Operation, products: Products) -> Iterator[Rotation]:
    """Ways to read a ttnn.add as a rotation of columns of heads."""
    if len(shape(op.results[0])) != 4:
        return
    for straight, turned in (op.operands, reversed(op.operands)):
        one, other = defining(straight, "ttnn.multiply"), defining(turned, "ttnn.multiply")
        if one is None or other is None or any("alchemist.activations" in part.attributes for part in (op, one, other)):
            continue
        for place in (0, 1):
            views = products.views.of(other.operands[place]) if shape(other.operands[place]) else {}
            for x, cos in zip(one.operands, (one.operands[1], one.operands[0]), strict=True):
                if x in views and x is not other.operands[place]:
                    yield Rotation(op, x, views[x], cos, other.operands[1 - place])


def _replace(found: Rotation, moved: dict[SSAValue, SSAValue], products: Products, options: CompilerOptions) -> bool:
    """moved: cos and sin of all users -> their rows on the users' cores, which all layers share."""
    op, x, cos, sin = found.op, found.x, found.cos, found.sin
    replaced = products.between(x, op, cos, sin)
    if op.results[0].type == x.type and turns_halves(found.turned.picked) and _fits_decode(x, cos, sin):
        made, result = _on_cores(op, x, [_rows(table, moved) for table in (cos, sin)])
        add_sources(made, *reversed(replaced))
        _read_on_cores(op.results[0], made.results[0])
        replace(op, [result])
        return True
    written = found.written(products, replaced)
    if not written or not are_faster(written, replaced, options):
        erase(*written)
        return False
    replace(op, [written[-1].results[0]])
    return True


def _fits_decode(x: SSAValue, cos: SSAValue, sin: SSAValue) -> bool:
    """[1, B, H, D] that comes from the users' cores, and a row of the tables for each user."""
    dims = shape(x)
    source = defining(x, MOVE)
    if source is None or len(dims) != 4 or dims[2] > TILE_EDGE or not _are_tiles(x, cos, sin):
        return False
    of = layout_of(x.type)
    return of is not None and source.operands[0].type == user_per_core(dims, of.dtype).type_for(dims) and shape(cos) == shape(sin) == (1, dims[1], 1, dims[3])


def _are_tiles(*values: SSAValue) -> bool:
    layouts = [layout_of(value.type) for value in values]
    whole = shape(values[0])[-1] % (2 * TILE_EDGE) == 0
    return whole and all(one is not None and (one.dtype, one.page, one.is_sharded) == ("bf16", "tile", False) for one in layouts)


def _rows(table: SSAValue, moved: dict[SSAValue, SSAValue]) -> SSAValue:
    if table not in moved:
        dims = shape(table)
        moved[table] = Builder.behind(table).op(MOVE, [table], {}, [user_per_core(dims, "bf16").type_for(dims)])
    return moved[table]


def _on_cores(op: Operation, x: SSAValue, tables: list[SSAValue]) -> tuple[Operation, SSAValue]:
    """The op on the users' cores, and its result where the model's own was."""
    source = x.owner
    assert isinstance(source, Operation)
    b = Builder.before(op)
    given = source.operands[0]
    made = b.make("ttnn.rotary_embedding_hf", [given, *tables], {"is_decode_mode": True}, [given.type])
    b.source = sources_of(op) or None
    result: SSAValue = b.op(MOVE, [made.results[0]], {}, [op.results[0].type])
    return made, result


def _read_on_cores(value: SSAValue, kept: SSAValue) -> None:
    """What moves `value` to where `kept` is reads that, and so does decode attention, whose queries may lie there."""
    for use in list(value.uses):
        user = use.operation
        if user.name == MOVE and user.results[0].type == kept.type:
            replace(user, [kept])
        elif user.name == "ttnn.scaled_dot_product_attention_decode" and use.index == 0:
            user.operands[0] = kept


# --- TTNN: a rotary embedding of some columns of a head, or of some tokens, written as one of all of them. ---

_ACTIVATIONS = ("alchemist.activations", "alchemist.lhs_activations", "alchemist.rhs_activations")


@register("rotate-whole-heads", fusing=True)
class RotateWholeHeads(Pass):
    """concat(a * cos + b * sin, c) of columns a, b and c of one value becomes (a, c) * (cos, 1) + (b, c) * (sin, 0), where that is faster.

    cos and sin are fixed: const-eval widens them; the columns are one product or the value itself. The same where c are rows of the value, as the class
    token and registers in front of an image's patches are: rows of ones and zeros stand in front of cos and sin.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            products = Products(func, self.options)
            tables = Tables()
            for op in list(func.body.block.ops):
                if op.name == "ttnn.concat" and (found := widened(op, products, tables)) is not None:
                    _rotate(found, products, self.options)
            erase_dead(func)


@dataclass(frozen=True, slots=True)
class Widened:
    """What a concatenation is as a rotation of all columns or rows of a value. straight: columns that cos multiplies, in the value's order."""

    rotation: Rotation
    straight: Columns
    total: Operation


def widened(op: Operation, products: Products, tables: Tables) -> Widened | None:
    """A ttnn.concat as a rotation; None where it is none."""
    result, dim = op.results[0], access.attr(op, "dim") % len(shape(op.results[0]))
    behind = len(shape(result)) - dim
    if len(op.operands) != 2 or behind > 2 or (behind == 2 and dim == 0):
        return None
    for place, value in enumerate(op.operands):
        total = defining(value, "ttnn.add")
        kept = op.operands[1 - place]
        if total is None or not _is_plain(total) or (behind == 1 and place == 1):
            continue
        terms = [term for each in total.operands if (term := _term(each, products.fixed, shape(value))) is not None]
        if len(terms) != 2:
            continue
        moving = [products.views.of(one) for one, _ in terms]
        columns = _columns(moving, products.views.of(kept), result) if behind == 1 else _table_rows(moving, products.views.of(kept), result, place)
        if columns is None:
            continue
        first = next(place for place, one in enumerate(columns) if _in_order(one))
        straight, turned = columns[first], columns[1 - first]
        more = shape(kept)[dim]
        cos, sin = (tables.extended(table, dim - len(shape(result)), more, place, fill) for table, fill in ((terms[first][1], 1.0), (terms[1 - first][1], 0.0)))
        free = frozenset(range(shape(value)[-1], shape(result)[-1])) if behind == 1 else frozenset()
        return Widened(Rotation(op, turned.root, turned, cos, sin, free), straight, total)
    return None


def _rotate(found: Widened, products: Products, options: CompilerOptions) -> None:
    """The library's own rotation where it has one, else products; not where turning the part alone by it is as fast."""
    op = found.rotation.op
    replaced = products.between(found.rotation.x, op)
    made = found.rotation.written(products, replaced) or _as_product(found, replaced, products)
    part = _part_alone(found.total, replaced, products)
    faster = all(are_faster(made, old, options) for old in (replaced, part) if old)
    if faster:
        replace(op, [made[-1].results[0]])
    for one_op in (*(each for each in part[::-1] if each not in replaced), *(replaced[1:] if faster else made[::-1])):
        erase(one_op)


def _part_alone(total: Operation, replaced: list[Operation], products: Products) -> list[Operation]:
    """The ops that are replaced with the library's rotation of the part that turns; nothing where it has none."""
    for rotation in rotations(total, products):
        between = products.between(rotation.x, total, rotation.cos, rotation.sin)
        if made := rotation.written(products, between):
            return [*made, *(op for op in replaced if op not in between)]
    return []


def _as_product(found: Widened, replaced: list[Operation], products: Products) -> list[Operation]:
    rotation = found.rotation
    b = Builder.before(rotation.op)
    b.source = sources_of(found.total)
    made: list[Operation] = []
    sums: list[SSAValue] = []
    for columns, table in ((found.straight, rotation.cos), (rotation.turned, rotation.sin)):
        value, product = products.product(columns, replaced)
        multiplied = b.make("ttnn.multiply", [value, table])
        made += [multiplied] if product is None else [product, multiplied]
        sums.append(multiplied.results[0])
    return [*made, b.make("ttnn.add", sums)]


def _term(value: SSAValue, fixed: FixedValues, dims: tuple[int, ...]) -> tuple[SSAValue, SSAValue] | None:
    """What moves and the fixed table of all its rows and columns that it is multiplied by."""
    product = defining(value, "ttnn.multiply")
    if product is None or not _is_plain(product) or any(inline_scalar(one) is not None for one in product.operands):
        return None
    tables = [one for one in product.operands if one in fixed]
    moving = [one for one in product.operands if one not in fixed]
    if len(tables) != 1 or len(shape(tables[0])) < 2 or shape(tables[0])[-2:] != dims[-2:] or shape(moving[0]) != dims:
        return None
    return moving[0], tables[0]


def _is_plain(op: Operation) -> bool:
    return single_use(op.results[0]) and not any(name in op.attributes for name in _ACTIVATIONS)


def _columns(terms: Sequence[dict[SSAValue, Columns]], kept: dict[SSAValue, Columns], result: SSAValue) -> list[Columns] | None:
    """Both terms with what is kept behind them, as columns of one value, one of them in the value's order; None where that is not the form."""
    for root, rest in kept.items():
        if all(root in term and term[root].has_rows_of(rest) for term in terms) and rest.cut is None and fits(root, result) and may_round(root, result):
            joined = [Columns(root, rest.rows, np.concatenate([term[root].picked.reshape(-1), rest.picked.reshape(-1)])) for term in terms]
            if any(_in_order(one) for one in joined):
                return joined
    return None


def _table_rows(terms: Sequence[dict[SSAValue, Columns]], kept: dict[SSAValue, Columns], result: SSAValue, place: int) -> list[Columns] | None:
    """Both terms with the rows in front of them (place 1) or behind, as columns of one value, one of them in the value's order."""
    for root, rest in kept.items():
        found = [term[root] for term in terms if root in term]
        if len(found) < 2 or not fits(root, result) or not may_round(root, result):
            continue
        count, rows = shape(root)[-2], rest.rows[-1]
        cuts = [(0, rows), (rows, count)] if place == 1 else [(count - rows, count), (0, count - rows)]
        whole = [(0, size) for size in shape(root)[:-2]]
        if rest.cut == (*whole, cuts[0]) and all(one.cut == (*whole, cuts[1]) for one in found) and _in_order(rest) and rest.picked.size == shape(root)[-1]:
            joined = [Columns(root, shape(root)[:-1], one.picked.reshape(-1)) for one in found]
            if any(_in_order(one) for one in joined):
                return joined
    return None


def _in_order(columns: Columns) -> bool:
    return bool((np.diff(columns.picked.reshape(-1)) == 1).all())


class Tables:
    """cos and sin of all columns and tokens, made once for all heads that are turned by them."""

    def __init__(self) -> None:
        self._made: dict[tuple[SSAValue, int, int, int, float], SSAValue] = {}

    def __contains__(self, table: SSAValue) -> bool:
        return table in self._made.values()

    def extended(self, table: SSAValue, dim: int, more: int, place: int, value: float) -> SSAValue:
        """More rows (dim -2) or columns (-1) of `value` behind those of the table (place 0) or in front of them."""
        key = (table, dim, more, place, value)
        if key not in self._made:
            self._made[key] = _extend(table, dim, more, place, value)
        return self._made[key]


def _extend(table: SSAValue, dim: int, more: int, place: int, value: float) -> SSAValue:
    kind, given = layout_of(table.type), Value(Builder.behind(table), table)
    assert kind is not None
    padding = [0] * (2 * len(given.shape))
    padding[2 * (len(given.shape) + dim) + (place == 0)] = more
    given = given.in_pages("row_major") if place == 1 else given  # tiles only grow at their end
    return given.op("pad", padding=padding, value=value, use_multicore=True).in_pages(kind.page).ssa


# --- TTNN: weights whose columns change places, so that a rotation turns halves of each head. ---

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
    faster = all(made) and all(are_faster(written, old, products.options) for old in (replaced, as_they_stand) if old)
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
    b = Builder.behind(value)
    at = len(dims) - 1 - in_rows
    ahead, behind = dims[:at], dims[at + 1 :]

    def joined(parts: list[Value], dim: int, note: str | None = None) -> Value:
        return Value(b, b.value("ttnn.concat", [[part.ssa for part in parts]], {"dim": dim, NOTE: note}))

    moving = heads * len(order)
    rows = Value(b, value).in_pages("row_major")
    part = rows.cut(at, 0, moving)
    part = part.reshape(*ahead, heads, len(order), *behind) if heads > 1 else part
    dim = at + (heads > 1)
    said = "the columns of each head in an order in which rotary_embedding_hf turns halves: queries times keys stays the same"
    part = joined([part.cut(dim, *run) for run in runs(order)], dim, said)
    part = part.reshape(*ahead, moving, *behind)
    if moving < dims[at]:
        part = joined([part, rows.cut(at, moving, dims[at])], at)
    return part.in_pages(kind.page).ssa


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
