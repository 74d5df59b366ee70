"""Fuses rotary embeddings into one program."""

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
from alchemist.ir.location import set_source, sources_of
from alchemist.ir.value import Value
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import NOTE, inline_scalar
from alchemist.optimizer.movement import are_faster
from alchemist.options import CompilerOptions
from alchemist.passes.columns import Columns, Products, Rotation, fits, half_turn, may_round, turns_halves
from alchemist.passes.lower.context import user_per_core
from alchemist.passes.registry import Pass, register

# --- TTNN: a rotary embedding written as products and a sum becomes one op. ---

MOVE = "ttnn.to_memory_config"
CAST = "ttnn.typecast"


@register("fuse-rotary", fusing=True)
class FuseRotary(Pass):
    """x * cos + turned x * sin becomes one program, for one token of each user rotary_embedding_hf on shards.

    turned x: (-x2, x1) of two halves, or in bfloat16 columns that a matrix product computes from columns of the same tile (adjacent pairs).
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        moved_tables: dict[SSAValue, SSAValue] = {}
        for func in functions(module, const_eval=False):
            if not any(op.name == "ttnn.concat" for op in func.body.block.ops):
                continue
            products = Products(func, self.options)
            for op in [op for op in func.body.block.ops if op.name == "ttnn.add"]:
                any(_replace(rotation, moved_tables, products, self.options) for rotation in rotations(op, products))
            erase_dead(func)


def rotations(op: Operation, products: Products) -> Iterator[Rotation]:
    """Yields the ways to match a ttnn.add as a rotation of the columns of heads."""
    if len(shape(op.results[0])) != 4:
        return
    for straight, rotated in (op.operands, reversed(op.operands)):
        left, right = defining(straight, "ttnn.multiply"), defining(rotated, "ttnn.multiply")
        if left is None or right is None or any("alchemist.activations" in part.attributes for part in (op, left, right)):
            continue
        for place in (0, 1):
            views = products.views.of(right.operands[place]) if shape(right.operands[place]) else {}
            for x, cos in zip(left.operands, (left.operands[1], left.operands[0]), strict=True):
                if x in views and x is not right.operands[place]:
                    yield Rotation(op, x, views[x], cos, right.operands[1 - place])


def _replace(rotation: Rotation, moved_tables: dict[SSAValue, SSAValue], products: Products, options: CompilerOptions) -> bool:
    """moved_tables: cos and sin of all users -> their rows on the users' cores, which all layers share."""
    op, x, cos, sin = rotation.op, rotation.x, rotation.cos, rotation.sin
    replaced = products.between(x, op, cos, sin)
    if op.results[0].type == x.type and turns_halves(rotation.turned.picked) and _fits_decode(x, cos, sin):
        new_ops, result = _on_cores(op, x, [_rows(table, moved_tables) for table in (cos, sin)])
        add_sources(new_ops, *reversed(replaced))
        _read_on_cores(op.results[0], new_ops.results[0])
        replace(op, [result])
        return True
    written = rotation.written(products, replaced)
    if not written or not are_faster(written, replaced, options):
        erase(*written)
        return False
    replace(op, [written[-1].results[0]])
    if written[-1].name == CAST:
        _cast_at_reader(written[-1])
    return True


def _cast_at_reader(cast: Operation) -> None:
    """Places the cast among those of its only reader's other operands, if the module that makes the value reads it."""
    readers = {use.operation for use in cast.results[0].uses}
    reader = readers.pop() if len(readers) == 1 else None
    if reader is None or [info.scopes for info in sources_of(reader)[-1:]] != [info.scopes for info in sources_of(cast)[-1:]]:
        return
    first = reader
    while (before := first.prev_op) is not None and before.name == CAST and before is not cast and before.results[0] in reader.operands:
        first = before
    assert reader.parent is not None
    cast.detach()  # type: ignore[no-untyped-call]
    reader.parent.insert_ops_before([cast], first)
    set_source(cast, *sources_of(reader))


def _fits_decode(x: SSAValue, cos: SSAValue, sin: SSAValue) -> bool:
    """Whether x is [1, B, H, D] from the users' cores, and the tables have a row for each user."""
    dims = shape(x)
    source = defining(x, MOVE)
    if source is None or len(dims) != 4 or dims[2] > TILE_EDGE or not _are_tiles(x, cos, sin):
        return False
    of = layout_of(x.type)
    return of is not None and source.operands[0].type == user_per_core(dims, of.dtype).type_for(dims) and shape(cos) == shape(sin) == (1, dims[1], 1, dims[3])


def _are_tiles(*values: SSAValue) -> bool:
    layouts = [layout_of(value.type) for value in values]
    whole = shape(values[0])[-1] % (2 * TILE_EDGE) == 0
    return whole and all(layout is not None and (layout.dtype, layout.page, layout.is_sharded) == ("bf16", "tile", False) for layout in layouts)


def _rows(table: SSAValue, moved_tables: dict[SSAValue, SSAValue]) -> SSAValue:
    if table not in moved_tables:
        dims = shape(table)
        moved_tables[table] = Builder.behind(table).op(MOVE, [table], {}, [user_per_core(dims, "bf16").type_for(dims)])
    return moved_tables[table]


def _on_cores(op: Operation, x: SSAValue, tables: list[SSAValue]) -> tuple[Operation, SSAValue]:
    """The op on the users' cores, and its result moved to the layout of the original result."""
    source = x.owner
    assert isinstance(source, Operation)
    b = Builder.before(op)
    on_cores = source.operands[0]
    rotated = b.make("ttnn.rotary_embedding_hf", [on_cores, *tables], {"is_decode_mode": True}, [on_cores.type])
    b.source = sources_of(op) or None
    result: SSAValue = b.op(MOVE, [rotated.results[0]], {}, [op.results[0].type])
    return rotated, result


def _read_on_cores(value: SSAValue, on_cores: SSAValue) -> None:
    """Moves of `value` to the layout of `on_cores` are replaced by `on_cores`; decode attention reads it too, as it accepts queries there."""
    for use in list(value.uses):
        user = use.operation
        if user.name == MOVE and user.results[0].type == on_cores.type:
            replace(user, [on_cores])
        elif user.name == "ttnn.scaled_dot_product_attention_decode" and use.index == 0:
            user.operands[0] = on_cores


# --- TTNN: a rotary embedding of some columns of a head, or of some tokens, becomes one of all columns or tokens. ---

_ACTIVATIONS = ("alchemist.activations", "alchemist.lhs_activations", "alchemist.rhs_activations")


@register("rotate-whole-heads", fusing=True)
class RotateWholeHeads(Pass):
    """concat(a * cos + b * sin, c) of columns a, b and c of one value becomes (a, c) * (cos, 1) + (b, c) * (sin, 0), where that is faster.

    cos and sin are fixed: const-eval widens them; a product (or the value itself) computes the columns. The same holds if c are rows of the value, as the class
    token and registers before an image's patches are: const-eval prepends rows of ones to cos and of zeros to sin.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            products = Products(func, self.options)
            tables = Tables()
            for op in list(func.body.block.ops):
                if op.name == "ttnn.concat" and (match := widened(op, products, tables)) is not None:
                    _rotate(match, products, self.options)
            erase_dead(func)


@dataclass(frozen=True, slots=True)
class Widened:
    """A concatenation as a rotation of all columns or rows of a value. straight: the columns multiplied by cos, in the value's order."""

    rotation: Rotation
    straight: Columns
    total: Operation


def widened(op: Operation, products: Products, tables: Tables) -> Widened | None:
    """Matches a ttnn.concat as a rotation; None if it is none."""
    result, dim = op.results[0], access.attr(op, "dim") % len(shape(op.results[0]))
    behind = len(shape(result)) - dim
    if len(op.operands) != 2 or behind > 2 or (behind == 2 and dim == 0):
        return None
    for place, value in enumerate(op.operands):
        total = defining(value, "ttnn.add")
        rest = op.operands[1 - place]
        if total is None or not _is_plain(total) or (behind == 1 and place == 1):
            continue
        terms = [term for addend in total.operands if (term := _term(addend, products.fixed, shape(value))) is not None]
        if len(terms) != 2:
            continue
        moving = [products.views.of(column) for column, _ in terms]
        columns = _columns(moving, products.views.of(rest), result) if behind == 1 else _table_rows(moving, products.views.of(rest), result, place)
        if columns is None:
            continue
        first = next(place for place, column in enumerate(columns) if _in_order(column))
        straight, rotated = columns[first], columns[1 - first]
        more = shape(rest)[dim]
        cos, sin = (tables.extended(table, dim - len(shape(result)), more, place, fill) for table, fill in ((terms[first][1], 1.0), (terms[1 - first][1], 0.0)))
        free = frozenset(range(shape(value)[-1], shape(result)[-1])) if behind == 1 else frozenset()
        return Widened(Rotation(op, rotated.root, rotated, cos, sin, free), straight, total)
    return None


def _rotate(match: Widened, products: Products, options: CompilerOptions) -> None:
    """Uses the library's rotation op if it fits, else products; keeps the ops if rotating only the part is as fast."""
    op = match.rotation.op
    replaced = products.between(match.rotation.x, op)
    new_ops = match.rotation.written(products, replaced) or _as_product(match, replaced, products)
    part = _part_alone(match.total, replaced, products)
    faster = all(are_faster(new_ops, old, options) for old in (replaced, part) if old)
    if faster:
        replace(op, [new_ops[-1].results[0]])
    for one_op in (*(op for op in part[::-1] if op not in replaced), *(replaced[1:] if faster else new_ops[::-1])):
        erase(one_op)


def _part_alone(total: Operation, replaced: list[Operation], products: Products) -> list[Operation]:
    """The replaced ops with the library's rotation of the rotated part; empty if the library has none."""
    for rotation in rotations(total, products):
        between = products.between(rotation.x, total, rotation.cos, rotation.sin)
        if new_ops := rotation.written(products, between):
            return [*new_ops, *(op for op in replaced if op not in between)]
    return []


def _as_product(match: Widened, replaced: list[Operation], products: Products) -> list[Operation]:
    rotation = match.rotation
    b = Builder.before(rotation.op)
    b.source = sources_of(match.total)
    new_ops: list[Operation] = []
    sums: list[SSAValue] = []
    for columns, table in ((match.straight, rotation.cos), (rotation.turned, rotation.sin)):
        value, product = products.product(columns, replaced)
        multiplied = b.make("ttnn.multiply", [value, table])
        new_ops += [multiplied] if product is None else [product, multiplied]
        sums.append(multiplied.results[0])
    return [*new_ops, b.make("ttnn.add", sums)]


def _term(value: SSAValue, fixed: FixedValues, dims: tuple[int, ...]) -> tuple[SSAValue, SSAValue] | None:
    """Matches a product of a value and a constant table of all its rows and columns: (value, table)."""
    product = defining(value, "ttnn.multiply")
    if product is None or not _is_plain(product) or any(inline_scalar(value) is not None for value in product.operands):
        return None
    tables = [value for value in product.operands if value in fixed]
    moving = [value for value in product.operands if value not in fixed]
    if len(tables) != 1 or len(shape(tables[0])) < 2 or shape(tables[0])[-2:] != dims[-2:] or shape(moving[0]) != dims:
        return None
    return moving[0], tables[0]


def _is_plain(op: Operation) -> bool:
    return single_use(op.results[0]) and not any(name in op.attributes for name in _ACTIVATIONS)


def _columns(terms: Sequence[dict[SSAValue, Columns]], rest_columns: dict[SSAValue, Columns], result: SSAValue) -> list[Columns] | None:
    """Both terms followed by the rest, as columns of one value, one of them in the value's order; None if they do not match."""
    for root, rest in rest_columns.items():
        if all(root in term and term[root].has_rows_of(rest) for term in terms) and rest.cut is None and fits(root, result) and may_round(root, result):
            joined = [Columns(root, rest.rows, np.concatenate([term[root].picked.reshape(-1), rest.picked.reshape(-1)])) for term in terms]
            if any(_in_order(columns) for columns in joined):
                return joined
    return None


def _table_rows(terms: Sequence[dict[SSAValue, Columns]], rest_of: dict[SSAValue, Columns], result: SSAValue, place: int) -> list[Columns] | None:
    """Both terms, preceded (place 1) or followed by the other rows, as columns of one value, one of them in the value's order."""
    for root, rest in rest_of.items():
        parts = [term[root] for term in terms if root in term]
        if len(parts) < 2 or not fits(root, result) or not may_round(root, result):
            continue
        count, rows = shape(root)[-2], rest.rows[-1]
        cuts = [(0, rows), (rows, count)] if place == 1 else [(count - rows, count), (0, count - rows)]
        whole = [(0, size) for size in shape(root)[:-2]]
        if rest.cut == (*whole, cuts[0]) and all(p.cut == (*whole, cuts[1]) for p in parts) and _in_order(rest) and rest.picked.size == shape(root)[-1]:
            joined = [Columns(root, shape(root)[:-1], columns.picked.reshape(-1)) for columns in parts]
            if any(_in_order(columns) for columns in joined):
                return joined
    return None


def _in_order(columns: Columns) -> bool:
    return bool((np.diff(columns.picked.reshape(-1)) == 1).all())


class Tables:
    """cos and sin of all columns and tokens, shared by all heads that use them."""

    def __init__(self) -> None:
        self._made: dict[tuple[SSAValue, int, int, int, float], SSAValue] = {}

    def __contains__(self, table: SSAValue) -> bool:
        return table in self._made.values()

    def extended(self, table: SSAValue, dim: int, more: int, place: int, value: float) -> SSAValue:
        """The table with more rows (dim -2) or columns (-1) of `value` after its own (place 0) or before them."""
        key = (table, dim, more, place, value)
        if key not in self._made:
            self._made[key] = _extend(table, dim, more, place, value)
        return self._made[key]


def _extend(table: SSAValue, dim: int, more: int, place: int, value: float) -> SSAValue:
    kind, source = layout_of(table.type), Value(Builder.behind(table), table)
    assert kind is not None
    padding = [0] * (2 * len(source.shape))
    padding[2 * (len(source.shape) + dim) + (place == 0)] = more
    source = source.in_pages("row_major") if place == 1 else source  # the library pads tiles only at the end
    return source.op("pad", padding=padding, value=value, use_multicore=True).in_pages(kind.page).ssa


# --- TTNN: permutes columns of weights, so that a rotation works on the halves of each head. ---

SPLIT = "ttnn.split_query_key_value_and_split_heads"
ATTENTION = "ttnn.scaled_dot_product_attention"
Order = tuple[int, ...]
"""For each column of a head its old position."""


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
                products, tables, reordered = Products(func, self.options), Tables(), _ReorderedConstants()
                for op in attentions:
                    _reorder(op, products, tables, reordered)
                erase_dead(func)


@dataclass(frozen=True, slots=True)
class _Side:
    """The queries or the keys. norms: of each head, after the split. place: index of the split's result."""

    rotation: Rotation
    order: Order
    norms: tuple[Operation, ...]
    split: Operation
    place: int


def _reorder(attention: Operation, products: Products, tables: Tables, reordered: _ReorderedConstants) -> None:
    sides = [_side(value, products, tables) for value in attention.operands[:2]]
    queries, keys = sides
    if queries is None or keys is None or queries.split is not keys.split or queries.order != keys.order or (queries.place, keys.place) != (0, 1):
        return
    product = _product(queries.split, products)
    if product is None:
        return
    new_ops: list[list[Operation]] = []
    replaced: list[Operation] = []
    as_they_stand: list[Operation] = []
    for side in (queries, keys):
        rotation = side.rotation
        between = products.between(rotation.x, rotation.op)
        replaced += between
        as_they_stand += rotation.written(products, between)
        halves = Columns(rotation.x, shape(rotation.x)[:-1], half_turn(len(side.order)))
        cos, sin = (reordered.last_dim(table, side.order, 1) for table in (rotation.cos, rotation.sin))
        new_ops.append(Rotation(rotation.op, rotation.x, halves, cos, sin).written(products, between))
    written = [op for ops in new_ops for op in ops]
    faster = all(new_ops) and all(are_faster(written, old, products.options) for old in (replaced, as_they_stand) if old)
    for op in [*([] if faster else written), *as_they_stand][::-1]:
        erase(op)
    if not faster:
        return
    heads = queries.split.results
    count = shape(heads[0])[1] + shape(heads[1])[1]
    _move(product, 1, queries.order, count, reordered)
    if len(product.operands) > 2:
        _move(product, 2, queries.order, count, reordered)
    for side, ops in zip((queries, keys), new_ops, strict=True):
        for norm in side.norms:
            for place in range(1, len(norm.operands)):
                norm.operands[place] = reordered.last_dim(norm.operands[place], side.order, 1)
        replace(side.rotation.op, [ops[-1].results[0]])


def _move(product: Operation, place: int, order: Order, heads: int, reordered: _ReorderedConstants) -> None:
    is_transposed = place == 1 and bool(access.attr(product, "transpose_b"))
    product.operands[place] = (reordered.rows if is_transposed else reordered.last_dim)(product.operands[place], order, heads)


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
    while (norm := made_by(x, "norm")) is not None and all(value in products.fixed and shape(value)[-1] == len(order) for value in norm.operands[1:]):
        norms.append(norm)
        x = norm.operands[0]
        if not single_use(x):
            return None
    split = defining(x, SPLIT)
    return None if split is None else _Side(rotation, order, tuple(norms), split, next(place for place, value in enumerate(split.results) if value is x))


def halves_in_order(rotation: Rotation) -> Order | None:
    """The permutation of a head's columns after which the rotation works on halves; None if it does already, or does not rotate pairs."""
    picked, size = rotation.turned.picked.reshape(-1), shape(rotation.x)[-1]
    if picked.size != size or rotation.turned.cut is not None or turns_halves(picked):
        return None
    first = [place for place in range(size) if place not in rotation.free and picked[place] < 0]
    second = [abs(int(picked[place])) - 1 for place in first]
    free_columns = sorted(rotation.free)
    if any(place in rotation.free or picked[place] != other + 1 for other, place in zip(first, second, strict=True)):
        return None
    order = [*first, *free_columns[: len(free_columns) // 2], *second, *free_columns[len(free_columns) // 2 :]]
    return tuple(order) if sorted(order) == list(range(size)) else None


def _product(split: Operation, products: Products) -> Operation | None:
    """The product with constant weights that computes all columns of the split."""
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
    return product if all(value in products.fixed for value in product.operands[1:]) else None


class _ReorderedConstants:
    """Constants with permuted columns of their heads; ops that read the same constant share one."""

    def __init__(self) -> None:
        self._made: dict[tuple[SSAValue, Order, int, bool], SSAValue] = {}

    def last_dim(self, value: SSAValue, order: Order, heads: int) -> SSAValue:
        """heads: the number of heads at the beginning of the last dim; later columns stay."""
        return self._of(value, order, heads, False)

    def rows(self, value: SSAValue, order: Order, heads: int) -> SSAValue:
        """The same for the second last dim."""
        return self._of(value, order, heads, True)

    def _of(self, value: SSAValue, order: Order, heads: int, in_rows: bool) -> SSAValue:
        key = (value, order, heads, in_rows)
        if key not in self._made:
            self._made[key] = _in_other_order(value, order, heads, in_rows)
        return self._made[key]


def _in_other_order(value: SSAValue, order: Order, heads: int, in_rows: bool) -> SSAValue:
    """Splits heads into a separate dim, slices the columns into runs and concatenates them in the new order, row-major, so that slices are exact."""
    kind, dims = layout_of(value.type), shape(value)
    assert kind is not None
    b = Builder.behind(value)
    axis = len(dims) - 1 - in_rows
    ahead, behind = dims[:axis], dims[axis + 1 :]

    def joined(parts: list[Value], dim: int, note: str | None = None) -> Value:
        return Value(b, b.value("ttnn.concat", [[part.ssa for part in parts]], {"dim": dim, NOTE: note}))

    moving = heads * len(order)
    rows = Value(b, value).in_pages("row_major")
    part = rows.cut(axis, 0, moving)
    part = part.reshape(*ahead, heads, len(order), *behind) if heads > 1 else part
    dim = axis + (heads > 1)
    text = "the columns of each head in an order in which rotary_embedding_hf turns halves: queries times keys stays the same"
    part = joined([part.cut(dim, *run) for run in runs(order)], dim, text)
    part = part.reshape(*ahead, moving, *behind)
    if moving < dims[axis]:
        part = joined([part, rows.cut(axis, moving, dims[axis])], axis)
    return part.in_pages(kind.page).ssa


def runs(order: Order) -> list[tuple[int, int, int]]:
    """Splits the order into runs of equally spaced columns, as (first, end, step)."""
    runs_of: list[tuple[int, int, int]] = []
    place = 0
    while place < len(order):
        step = order[place + 1] - order[place] if place + 1 < len(order) and order[place + 1] > order[place] else 1
        end = place + 1
        while end < len(order) and order[end] - order[end - 1] == step:
            end += 1
        runs_of.append((order[place], order[end - 1] + 1, step))
        place = end
    return runs_of
