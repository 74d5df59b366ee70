"""TTNN: constant rows beside a product's rows (a class token in front of patches) become rows of zeros that the product reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources, defining, erase, erase_dead, functions, made_by, replace, single_use
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ir.location import sources_of
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import NOTE
from alchemist.optimizer.movement import are_faster
from alchemist.passes.registry import Pass, register

_OF_LINEAR = ("operandSegmentSizes", "activation")


@register("rows-in-front", fusing=True)
class RowsInFront(Pass):
    """concat([token, linear(x)]) + positions becomes matmul([0, x]) + (concat([token, bias]) + positions), where the clock says so.

    Rows that do not begin a tile are joined out of tiles: the library takes all of them apart and puts them together again. Rows of zeros are put in front
    while x is not in tiles yet; what is added to them is one constant.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            joins = [op for op in func.body.block.ops if op.name == "ttnn.concat"]
            if joins:
                fixed = FixedValues(func)
                if any([_rewrite(op, fixed) for op in joins]):
                    erase_dead(func)


@dataclass(frozen=True)
class _Joined:
    """concat([*front, product]): front [1, k, D] each, product [B, S - k, D] of `rows`, which are not in tiles yet.

    replaced: ops that the rewrite makes needless, makers first. positions: what the last of them adds to all rows, if it adds something constant.
    """

    front: tuple[SSAValue, ...]
    rows: SSAValue
    product: Operation
    positions: SSAValue | None
    replaced: tuple[Operation, ...]


def _rewrite(op: Operation, fixed: FixedValues) -> bool:
    found = _match(op, fixed)
    if found is None:
        return False
    last = found.replaced[-1]
    made, at_run_time = _make(found, shape(op.results[0]))
    if not are_faster(at_run_time, found.replaced):
        for each in reversed(made):
            erase(each)
        return False
    for each in found.replaced[::-1]:
        add_sources(made[-1], each)
    replace(last, list(made[-1].results))
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
    """What reshapes of rows that nothing else reads are made of, and the reshapes, makers first."""
    views: list[Operation] = []
    while (view := defining(value, "ttnn.reshape")) is not None and single_use(value):
        kind = layout_of(view.operands[0].type)
        if kind is None or kind.page != "row_major":
            break
        views.insert(0, view)
        value = view.operands[0]
    return value, views


def _of_one_batch(value: SSAValue) -> SSAValue | None:
    """[1, k, D] that every batch gets a copy of; None where batches differ."""
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


def _make(found: _Joined, dims: tuple[int, ...]) -> tuple[list[Operation], list[Operation]]:
    """All new ops, the last of which makes the result, and those of them that run in every call."""
    batch, length, columns = dims
    product, kind = found.product, layout_of(found.front[0].type)
    of_rows = layout_of(found.rows.type)
    assert kind is not None
    assert of_rows is not None
    front = sum(shape(value)[1] for value in found.front)
    depth = shape(product.operands[0])[-1]
    b = Builder.before(found.replaced[-1])
    made: list[Operation] = []
    join = next(op for op in found.replaced if op.name == "ttnn.concat")
    behind = {"ttnn.concat": join, "ttnn.add": found.replaced[-1]}

    def make(name: str, operands: Sequence[SSAValue | Sequence[SSAValue]], attributes: dict[str, Any], to: TTNNLayout, dims: tuple[int, ...]) -> SSAValue:
        made.append(b.make(name, list(operands), attributes, [to.with_(dims).type_for(dims)], sources_of(behind.get(name, product)) or None))
        return made[-1].results[0]

    table = _table(make, found, kind, length - front, columns)
    constants = len(made)
    rows = (batch, length - front, depth)
    x = found.rows if shape(found.rows) == rows else make("ttnn.reshape", [found.rows], {"shape": rows}, of_rows, rows)
    whole = (batch, length, depth)
    padding = {"padding": [0, 0, front, 0, 0, 0], "value": 0.0, "use_multicore": True, NOTE: f"{_count(front)} of zeros for what stands in front"}
    x = make("ttnn.pad", [x], padding, of_rows, whole)
    x = make("ttnn.to_layout", [x], {}, kind, whole)
    kept = {name: value for name, value in {**product.properties, **product.attributes}.items() if name not in _OF_LINEAR}
    x = make("ttnn.matmul", [x, product.operands[1]], kept, kind, dims)
    make("ttnn.add", [x, table], {}, kind, dims)
    return made, made[constants:]


def _table(make: Callable[..., SSAValue], found: _Joined, kind: TTNNLayout, rows: int, columns: int) -> SSAValue:
    """What is added to all rows: constant rows in front, bias behind them, positions on both."""
    bias = found.product.operands[2] if len(found.product.operands) > 2 else None
    front = sum(shape(value)[1] for value in found.front)
    whole = (1, front + rows, columns)
    if bias is not None:
        line = make("ttnn.reshape", [bias], {"shape": (1, 1, columns)}, kind, (1, 1, columns))
        behind = make("ttnn.repeat", [line], {"repeat_dims": (1, rows, 1)}, kind, (1, rows, columns))
        table = make("ttnn.concat", [[*found.front, behind]], {"dim": 1}, kind, whole)
    else:
        table = found.front[0] if len(found.front) == 1 else make("ttnn.concat", [list(found.front)], {"dim": 1}, kind, (1, front, columns))
        table = make("ttnn.pad", [table], {"padding": [0, 0, 0, rows, 0, 0], "value": 0.0, "use_multicore": True}, kind, whole)
    if found.positions is not None:
        table = make("ttnn.add", [table, found.positions], {}, kind, whole)
    return table


def _count(rows: int) -> str:
    return "a row" if rows == 1 else f"{rows} rows"
