"""TTNN: a rotary embedding of some columns of a head, or of some tokens, written as one of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining, erase, erase_dead, functions, replace, single_use
from alchemist.ir.layout import layout_of
from alchemist.ir.location import sources_of
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import inline_scalar
from alchemist.optimizer.movement import products_are_faster
from alchemist.options import CompilerOptions
from alchemist.passes.columns import Columns
from alchemist.passes.columns_by_product import Products, fits, may_round
from alchemist.passes.fuse_rotary import rotations
from alchemist.passes.registry import Pass, register
from alchemist.passes.rotations import Rotation

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
                    _replace(found, products, self.options)
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
        columns = _columns(moving, products.views.of(kept), result) if behind == 1 else _rows(moving, products.views.of(kept), result, place)
        if columns is None:
            continue
        first = next(place for place, one in enumerate(columns) if _in_order(one))
        straight, turned = columns[first], columns[1 - first]
        more = shape(kept)[dim]
        cos, sin = (tables.extended(table, dim - len(shape(result)), more, place, fill) for table, fill in ((terms[first][1], 1.0), (terms[1 - first][1], 0.0)))
        free = frozenset(range(shape(value)[-1], shape(result)[-1])) if behind == 1 else frozenset()
        return Widened(Rotation(op, turned.root, turned, cos, sin, free), straight, total)
    return None


def _replace(found: Widened, products: Products, options: CompilerOptions) -> None:
    """The library's own rotation where it has one, else products; not where turning the part alone by it is as fast."""
    op = found.rotation.op
    replaced = products.between(found.rotation.x, op)
    made = found.rotation.written(products, replaced) or _as_product(found, replaced, products)
    part = _part_alone(found.total, replaced, products)
    faster = all(products_are_faster(made, old, options) for old in (replaced, part) if old)
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
    kind = rotation.op.results[0].type
    b = Builder.before(rotation.op)
    b.source = sources_of(found.total)
    made: list[Operation] = []
    sums: list[SSAValue] = []
    for columns, table in ((found.straight, rotation.cos), (rotation.turned, rotation.sin)):
        value, product = products.product(columns, replaced)
        multiplied = b.make("ttnn.multiply", [value, table], {}, [kind])
        made += [multiplied] if product is None else [product, multiplied]
        sums.append(multiplied.results[0])
    return [*made, b.make("ttnn.add", sums, {}, [kind])]


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


def _rows(terms: Sequence[dict[SSAValue, Columns]], kept: dict[SSAValue, Columns], result: SSAValue, place: int) -> list[Columns] | None:
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
    kind, old = layout_of(table.type), shape(table)
    assert kind is not None
    owner = table.owner
    b = Builder.after(owner) if isinstance(owner, Operation) else Builder(owner, owner.first_op)
    b.source = sources_of(owner) if isinstance(owner, Operation) else None
    page = "row_major" if place == 1 else kind.page  # tiles only grow at their end
    if page != kind.page:
        table = b.op("ttnn.to_layout", [table], {}, [kind.with_(old, page=page).type_for(old)])
    at = len(old) + dim
    new = (*old[:at], old[at] + more, *old[at + 1 :])
    padding = [0] * (2 * len(old))
    padding[2 * at + (place == 0)] = more
    made = b.make("ttnn.pad", [table], {"padding": padding, "value": value, "use_multicore": True}, [kind.with_(new, page=page).type_for(new)])
    if page != kind.page:
        made = b.make("ttnn.to_layout", [made.results[0]], {}, [kind.with_(new).type_for(new)])
    return made.results[0]
