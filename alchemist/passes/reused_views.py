"""TTIR: reshapes begin at the view of their value that they are nearest to; products and sums of rows are taken as their operands lie."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining, functions, replace, rewrite, single_use
from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.location import sources_of
from alchemist.ops.reduction import dims_of
from alchemist.passes.registry import Pass, register
from alchemist.passes.rows import Dims


@register("reused-views", fusing=True)
class ReusedViews(Pass):
    """reshape(x, [B*S, K]) of an x [B, S, H, D] becomes that of the reshape(x, [B, S, K]) that is there already: weights behind joined heads."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            made: dict[SSAValue, list[Operation]] = {}
            for op in list(func.body.block.ops):
                if op.name != "ttir.reshape":
                    continue
                source, dims = op.operands[0], shape(op.results[0])
                others = made.setdefault(source, [])
                if not is_free(shape(source), dims):
                    near = next((one for one in others if is_free(shape(one.results[0]), dims)), None)
                    if near is not None:
                        op.operands[0] = near.results[0]
                        continue
                others.append(op)


@register("sums-of-rows", fusing=True)
class SumsOfRows(Pass):
    """reshape(sum(reshape(x, [R, N]), rows, keep_dim), [N]) of an x [B, S, N] becomes sum(x, all but N): gradients of biases in torch."""

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _sum_as_it_lies, "ttir.sum")


@register("turned-operands", fusing=True)
class TurnedOperands(Pass):
    """permute(x) @ y that lets the rows and columns of x change places becomes x^T @ y in backward passes: gradients in torch."""

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _turn_back, "ttir.matmul")


@register("products-of-rows", fusing=True)
class ProductsOfRows(Pass):
    """reshape(x, [R, K])^T @ reshape(y, [R, N]) of x [1, R, K] and y [1, R, N] becomes reshape(x^T @ y, [K, N]): gradients of weights."""

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _as_they_lie, "ttir.matmul")


def is_free(given: Dims, dims: Dims) -> bool:
    """Whether a reshape leaves every element where it is in tiles: the same last dim, and rows that fill tiles before and after."""
    if not given or not dims or given[-1] != dims[-1] or math.prod(given) != math.prod(dims):
        return False
    rows, new_rows = (one[-2] if len(one) > 1 else 1 for one in (given, dims))
    return rows == new_rows or (rows % TILE_EDGE == 0 and new_rows % TILE_EDGE == 0)


def _is_gradient(op: Operation) -> bool:
    return bool(sources := sources_of(op)) and sources[-1].is_gradient


def _sum_as_it_lies(op: Operation) -> None:
    if not _is_gradient(op):
        return
    out = op.results[0]
    given = shape(op.operands[0])
    if dims_of(access.attrs(op), len(given)) != tuple(range(len(given) - 1)) or not given[:-1]:
        return
    after = next(iter(out.uses)).operation if single_use(out) else None
    dropped = access.attr(op, "keep_dim") and after is not None and after.name == "ttir.reshape" and shape(after.results[0]) == given[-1:]
    view = defining(op.operands[0], "ttir.reshape")
    source = view.operands[0] if view is not None and shape(view.operands[0])[-1:] == given[-1:] else op.operands[0]
    if not dropped and (source is op.operands[0] or access.attr(op, "keep_dim")):
        return
    last = after if dropped and after is not None else op
    b = Builder.in_place_of(op)
    rows = list(range(len(shape(source)) - 1))
    made = b.op("ttir.sum", [source], {"dim_arg": rows, "keep_dim": False}, [tensor(given[-1:], element_type(out))])
    replace(last, [made])


def _turn_back(op: Operation) -> None:
    if not _is_gradient(op):
        return
    for place, name in enumerate(("transpose_a", "transpose_b")):
        turn = defining(op.operands[place], "ttir.permute")
        if turn is None or not isinstance(turn.operands[0].owner, Operation):
            continue  # weights are turned once, before the first run
        order = list(access.attr(turn, "permutation"))
        rank = len(order)
        if order == [*range(rank - 2), rank - 1, rank - 2]:
            op.operands[place] = turn.operands[0]
            access.set_attr(op, name, not access.attr(op, name))


def _as_they_lie(op: Operation) -> None:
    views = [defining(value, "ttir.reshape") for value in op.operands]
    if any(view is None for view in views) or len(shape(op.results[0])) != 2:
        return
    given = [view.operands[0] for view in views if view is not None]
    dims = [shape(value) for value in given]
    if len(dims[0]) != len(dims[1]) or any(math.prod(one[:-2]) != 1 or one[-2:] != shape(value) for one, value in zip(dims, op.operands, strict=True)):
        return
    out = op.results[0]
    b = Builder.in_place_of(op)
    attributes = {name: access.attr(op, name) for name in ("transpose_a", "transpose_b")}
    wide = tensor((*dims[0][:-2], *shape(out)), element_type(out))
    made = b.op("ttir.matmul", given, attributes, [wide])
    replace(op, [b.op("ttir.reshape", [made], {"shape": shape(out)}, [out.type])])
