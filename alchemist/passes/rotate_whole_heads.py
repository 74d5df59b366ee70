"""TTNN: a rotary embedding of some columns of a head, written as one of all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.layout import layout_of
from alchemist.ir.location import sources_of
from alchemist.ops.spec import inline_scalar
from alchemist.optimizer.movement import are_faster
from alchemist.options import CompilerOptions
from alchemist.passes.columns import Columns
from alchemist.passes.columns_by_product import Products, fits, may_round
from alchemist.passes.registry import Pass, defining, erase, erase_dead, functions, is_const_eval, register, replace, single_use

_ACTIVATIONS = ("alchemist.activations", "alchemist.lhs_activations", "alchemist.rhs_activations")


@register("rotate-whole-heads", fusing=True)
class RotateWholeHeads(Pass):
    """concat(a * cos + b * sin, c) of columns a, b and c of one value becomes (a, c) * (cos, 1) + (b, c) * (sin, 0), where that is faster on both cards.

    cos and sin are fixed: const-eval widens them; the columns are one product or the value itself.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            if not is_const_eval(func):
                products = Products(func, self.options)
                widened: dict[tuple[SSAValue, int, float], SSAValue] = {}
                for op in list(func.body.block.ops):
                    if op.name == "ttnn.concat" and len(op.operands) == 2:
                        _widen(op, products, widened)
                erase_dead(func)


def _widen(op: Operation, products: Products, widened: dict[tuple[SSAValue, int, float], SSAValue]) -> None:
    turned, kept = op.operands
    result = op.results[0]
    total = defining(turned, "ttnn.add")
    if total is None or not _is_plain(total) or access.attr(op, "dim") % len(shape(result)) != len(shape(result)) - 1:
        return
    terms = [term for value in total.operands if (term := _term(value, products.fixed, shape(turned)[-1], len(shape(result)))) is not None]
    if len(terms) != 2:
        return
    columns = _columns([products.views.of(moving) for moving, _ in terms], products.views.of(kept), result)
    if columns is None:
        return
    replaced = products.between(columns[0].root, op)
    b = Builder.before(op)
    b.source = sources_of(total)
    made: list[Operation] = []
    sums: list[SSAValue] = []
    straight = next(place for place, one in enumerate(columns) if _in_order(one))
    for place, (one, (_, table)) in enumerate(zip(columns, terms, strict=True)):
        value, product = products.product(one, replaced)
        multiplied = b.make("ttnn.multiply", [value, _wide(table, shape(kept)[-1], float(place == straight), widened)], {}, [result.type])
        made += [multiplied] if product is None else [product, multiplied]
        sums.append(multiplied.results[0])
    made.append(b.make("ttnn.add", sums, {}, [result.type]))
    if are_faster(made, replaced):
        replace(op, [made[-1].results[0]])
        dead = replaced[1:]
    else:
        dead = made[::-1]
    for one_op in dead:
        erase(one_op)


def _term(value: SSAValue, fixed: set[SSAValue], columns: int, rank: int) -> tuple[SSAValue, SSAValue] | None:
    """What moves and the fixed table that it is multiplied by."""
    product = defining(value, "ttnn.multiply")
    if product is None or not _is_plain(product) or any(inline_scalar(one) is not None for one in product.operands):
        return None
    tables = [one for one in product.operands if one in fixed]
    moving = [one for one in product.operands if one not in fixed]
    if len(tables) != 1 or len(shape(tables[0])) != rank or shape(tables[0])[-1] != columns or shape(moving[0]) != shape(value):
        return None
    return moving[0], tables[0]


def _is_plain(op: Operation) -> bool:
    return single_use(op.results[0]) and not any(name in op.attributes for name in _ACTIVATIONS)


def _columns(terms: Sequence[dict[SSAValue, Columns]], kept: dict[SSAValue, Columns], result: SSAValue) -> list[Columns] | None:
    """Both terms with what is kept behind them, as columns of one value, one of them in the value's order; None where that is not the form."""
    for root, rest in kept.items():
        if all(root in term and term[root].rows == rest.rows for term in terms) and fits(root, result) and may_round(root, result):
            joined = [Columns(root, rest.rows, np.concatenate([term[root].picked.reshape(-1), rest.picked.reshape(-1)])) for term in terms]
            if any(_in_order(one) for one in joined):
                return joined
    return None


def _in_order(columns: Columns) -> bool:
    return bool((np.diff(columns.picked) == 1).all())


def _wide(table: SSAValue, more: int, rest: float, widened: dict[tuple[SSAValue, int, float], SSAValue]) -> SSAValue:
    """The table with more columns, of ones or of zeros."""
    key = (table, more, rest)
    if key not in widened:
        of, dims = layout_of(table.type), shape(table)
        assert of is not None
        wide = (*dims[:-1], dims[-1] + more)
        owner = table.owner
        b = Builder.after(owner) if isinstance(owner, Operation) else Builder(owner, owner.first_op)
        b.source = sources_of(owner) if isinstance(owner, Operation) else None
        padding = [0] * (2 * len(dims) - 1) + [more]
        widened[key] = b.op("ttnn.pad", [table], {"padding": padding, "value": rest, "use_multicore": True}, [of.with_(wide).type_for(wide)])
    return widened[key]
