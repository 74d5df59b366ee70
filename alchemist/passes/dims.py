"""TTIR: removes dims of size 1 and broadcasts that need no op."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import all_ops, defining, erase_dead, functions, replace
from alchemist.ir.value import Value
from alchemist.ops import POINTWISE
from alchemist.ops.axes import Dims, Groups, Regrouped, dims_of
from alchemist.ops.constants import number
from alchemist.passes.registry import Pass, register
from alchemist.rewrite.moves import commute, regions, regroup

# --- TTIR: drops dims of size 1 that only reshapes around an op add, as einsum does for three operands and for head groups of size 1.

MOST_DIMS = 4


@register("drop-unit-dims", fusing=True)
class DropUnitDims(Pass):
    """reshape(x, [B, S, D, 1]) * reshape(y, [B, S, 1, 1]), which reshapes alone read, becomes a reshape of x * reshape(y, [B, S, 1]): in tiles a last
    dimension of 1 is nearly all padding. A product of single rows with single columns is the sum of x * y.

    Elementwise ops, reductions, softmax and permutes of a reshape to more than four dims leave its units out wherever they are: behind them a reshape gives
    them back, to the next such op or for nothing.
    """

    def run(self, module: ModuleOp) -> None:
        for op in all_ops(module):
            if (less := _without_unit(op)) is not None:
                commute(op, less)
            elif op.name in POINTWISE and len(op.operands) > 1 and (units := _last_units(op)):
                if (less := regroup(op, tuple((dim,) for dim in range(len(shape(op.results[0])) - units)))) is not None:
                    commute(op, less)
            elif op.name == "ttir.matmul" and _is_dot(op):
                _sum(op)


def _rank(op: Operation) -> int:
    return max(len(shape(value)) for value in (*op.operands, *op.results))


def _is_of_units(op: Operation) -> bool:
    """Whether the op reduces a reshape that only adds dims of size 1; other groups are left for norms."""
    view = defining(op.operands[0], "ttir.reshape") if has_trait(op, "reduction") else None
    return view is not None and [n for n in shape(view.operands[0]) if n != 1] == [n for n in shape(op.operands[0]) if n != 1]


def _last_units(op: Operation) -> int:
    """The number of trailing dims that are 1 in all operands, if reshapes compute the operands and read the result; 0 for none."""
    result = op.results[0]
    rank = len(shape(result))
    if rank < 3 or any(len(shape(value)) not in (0, rank) for value in op.operands):
        return 0
    users = [use.operation for use in result.uses]
    if not users or any(user.name != "ttir.reshape" for user in users):
        return 0
    if any(len(shape(value)) == rank and not _is_reshape_or_constant(value) for value in op.operands):
        return 0
    count = 0
    while count < rank - 2 and all(shape(value)[rank - 1 - count] == 1 for value in (*op.operands, result) if shape(value)):
        count += 1
    return count


def _without_unit(op: Operation) -> Regrouped | None:
    """The op without a dim that is 1 in the result and in all operands, which are reshapes or constants of one rank."""
    if len(op.results) != 1 or (has_trait(op, "reduction") and not _is_of_units(op)) or _rank(op) <= MOST_DIMS:
        return None
    dims = [shape(value) for value in op.operands if shape(value)]
    if len({len(sizes) for sizes in dims}) != 1 or not all(_is_reshape_or_constant(value) for value in op.operands if shape(value)):
        return None
    if not any(defining(value, "ttir.reshape") is not None for value in op.operands):
        return None
    units = [dim for dim in range(len(dims[0])) if all(sizes[dim] == 1 for sizes in dims)]
    return next((regrouped for dim in units if (regrouped := regroup(op, _without(dim, len(dims[0])))) is not None), None)


def _without(place: int, rank: int) -> Groups:
    return tuple((dim,) for dim in range(rank) if dim != place)


def _is_dot(op: Operation) -> bool:
    """Whether every matrix of the batch is one row times one column."""
    rows, columns = (shape(value) for value in op.operands)
    plain = not access.attr(op, "transpose_a") and not access.attr(op, "transpose_b")
    return plain and len(rows) > 2 and rows[:-2] == columns[:-2] and math.prod(rows[:-2]) > 1 and rows[-2] == columns[-1] == 1


def _sum(op: Operation) -> None:
    b, (*batch, _, columns) = Builder.in_place_of(op), shape(op.operands[0])
    x, y = (Value(b, value).reshape(*batch, columns) for value in op.operands)
    replace(op, [(x * y).reduce("sum", [len(batch)]).reshape(*shape(op.results[0])).ssa])


def _is_reshape_or_constant(value: SSAValue) -> bool:
    return defining(value, "ttir.reshape", "ttir.full", "ttir.constant") is not None


# --- TTIR: a reduction keeps the reduced dim if a later op needs it, as in x - max(x). This removes the reshape between them. ---


@register("kept-dims", fusing=True)
class KeptDims(Pass):
    """reshape(f(max(x))) that gives the reduced dim back becomes f(max(x, keep_dim)), for an f of elementwise ops that all end so or in sums."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for dims, axis in dict.fromkeys(kept_dim for op in func.body.block.ops if (kept_dim := _restored_dim(op)) is not None):
                for region in regions(func, partial(_with_dim, kept_dims=dims, axis=axis)):
                    if _is_closed(region, dims):
                        for op, to in region.items():
                            commute(op, to)
            erase_dead(func)


def _restored_dim(op: Operation) -> tuple[Dims, int] | None:
    """Matches a reshape that adds one dim of size 1: (its shape, the dim)."""
    if op.name != "ttir.reshape":
        return None
    dims, source_dims = shape(op.results[0]), shape(op.operands[0])
    return next(((dims, i) for i in reversed(range(len(dims))) if dims[i] == 1 and (*dims[:i], *dims[i + 1 :]) == source_dims), None)


def _with_dim(op: Operation, kept_dims: Dims, axis: int) -> Regrouped | None:
    """How a reduction changes to keep the dim, or another op to work on values with the dim."""
    dims, new = (*kept_dims[:axis], *kept_dims[axis + 1 :]), tuple(() if dim == axis else (dim - (dim > axis),) for dim in range(len(kept_dims)))
    if op.name in POINTWISE:
        equal = math.prod(dims) != 1 and shape(op.results[0]) == dims and all(shape(value) == dims or number(value) is not None for value in op.operands)
        return regroup(op, new) if equal else None
    source_dims = shape(op.operands[0]) if has_trait(op, "reduction") else ()
    if len(source_dims) == len(kept_dims) and not access.attr(op, "keep_dim") and dims_of(access.attrs(op), len(source_dims)) == (axis,):
        return Regrouped((None,), {"keep_dim": True}, new) if (*source_dims[:axis], 1, *source_dims[axis + 1 :]) == kept_dims else None
    return regroup(op, new) if source_dims == dims and has_trait(op, "reduction") else None


def _is_closed(region: Mapping[Operation, Regrouped], kept_dims: Dims) -> bool:
    """Whether a reshape in or after the region adds the dim, and no value at the region's border lacks it."""
    has_wish = False
    for op, to in region.items():
        for value, groups in zip(op.operands, to.operands, strict=True):
            view = defining(value, "ttir.reshape")
            if groups and value.owner not in region and number(value) is None and (view is None or shape(view.operands[0]) != kept_dims):
                return False
        for user in [use.operation for use in op.results[0].uses] if op.name in POINTWISE or "keep_dim" in to.attributes else ():
            gives_back = user.name == "ttir.reshape" and shape(user.results[0]) == kept_dims
            has_wish = has_wish or gives_back
            if not gives_back and user not in region and not has_trait(user, "reduction"):
                return False
    return has_wish and any("keep_dim" in to.attributes for to in region.values())


# --- Elementwise ops broadcast implicitly: `ttir.broadcast` before them is removed. ---

TAKING_BROADCASTS = named("ttir", "elementwise_binary", "elementwise_ternary") | {"ttir.clamp_tensor"}


def _share_scalars(func: FuncOp) -> None:
    """Reshapes of a scalar to several ranks become one, of the least rank: an optimizer's step size for matrices and vectors."""
    forms: dict[SSAValue, list[Operation]] = {}
    for op in func.body.block.ops:
        if op.name == "ttir.reshape" and math.prod(dims := shape(op.results[0])) == 1 and dims:
            forms.setdefault(op.operands[0], []).append(op)
    for ops in forms.values():
        least = min(ops, key=lambda op: len(shape(op.results[0])))
        if least is not ops[0]:
            least.detach()  # type: ignore[no-untyped-call]
            func.body.block.insert_op_before(least, ops[0])
        for op in ops:
            if op is least:
                continue
            for use in list(op.results[0].uses):
                others = [shape(value) for index, value in enumerate(use.operation.operands) if index != use.index]
                if use.operation.name in TAKING_BROADCASTS and shape(use.operation.results[0]) in others:
                    use.operation.operands[use.index] = least.results[0]


@register("implicit-broadcast")
class ImplicitBroadcast(Pass):
    """Elementwise ops take the operands of `ttir.broadcast` where the result's shape stays the same."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                if op.name not in TAKING_BROADCASTS:
                    continue
                dims = shape(op.results[0])
                for index in range(len(op.operands)):
                    inner = defining(op.operands[index], "ttir.broadcast")
                    if inner is None:
                        continue
                    others = [shape(value) for i, value in enumerate(op.operands) if i != index]
                    small = shape(inner.operands[0])
                    if op.name == "ttir.where" and len({dim for dim in (small, *others) if math.prod(dim) > 1} - {dims}) > 1:
                        continue  # more shapes than a ternary program broadcasts
                    if np.broadcast_shapes(small, *others) == dims:
                        op.operands[index] = inner.operands[0]
            _share_scalars(func)
            erase_dead(func)
