"""TTIR: ops that work row by row on rows in another order (`alchemist/rewrite/moves.py`), where more of a tile is used or less is moved."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, erase, erase_dead, functions, is_const_eval, ops_named, replace, rewrite, single_use
from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.location import sources_of
from alchemist.ir.value import Value
from alchemist.ops.axes import Dims, Groups, Regrouped, grouped
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import View, is_free, joined, made_between, tiles_moved, view_of
from alchemist.rewrite.moves import commute, is_reshape, regions, regroup, worked_dims

# --- TTIR: one token of each user as the rows of a tile, instead of a tile per user that is empty but for one row. ---


@register("users-as-rows", fusing=True)
class UsersAsRows(Pass):
    """In a step of decoding, ops on [B, 1, K] and [B, H, 1, D] work on [1, B, K] and [1, B, H, D]: users share tiles."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            if any(op.name == "ttir.scaled_dot_product_attention_decode" for op in func.body.block.ops):
                for op in list(func.body.block.ops):
                    if len(op.results) == 1 and _is_thin(dims := shape(op.results[0])) and not has_trait(op, "reduction"):
                        rows = regroup(op, _unit_first(len(dims)))
                        if rows is not None and all(is_reshape(shape(value), groups or ()) for value, groups in zip(op.operands, rows.operands, strict=True)):
                            commute(op, rows, outside=True)
                erase_dead(func)


def _is_thin(dims: Dims) -> bool:
    """Whether tiles of [..., N, 1, K] hold one row each of several that one tile could hold."""
    return len(dims) in (3, 4) and dims[-2] == 1 and math.prod(dims[:-2]) > 1 and dims[-1] > 1


def _unit_first(rank: int) -> Groups:
    """The dim of size 1 in front of all others."""
    return tuple((dim,) for dim in (rank - 2, *range(rank - 2), rank - 1))


# --- TTIR: products of every sample with one matrix as one product of all rows: samples would be taken in turn, on the cores that one of them fills.


@register("batches-as-rows", fusing=True)
class BatchesAsRows(Pass):
    """linear(x) of [B, S, K] becomes linear of [1, B*S, K] where a sample fills whole tiles (32 divides S), so that reshapes move nothing.

    Norms, reductions and elementwise ops of [B, S, K] between products work on the same rows.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            if not is_const_eval(func):
                for region in regions(func, _on_all_rows):
                    if any(has_trait(op, "product") and not isinstance(op.operands[0], BlockArgument) for op in region):
                        for op, rows in region.items():
                            commute(op, rows, outside=True)
                erase_dead(func)


def _on_all_rows(op: Operation) -> Regrouped | None:
    if len(op.results) != 1 or not all(isinstance(value.type, TensorType) for value in (*op.operands, *op.results)):  # what works on the device itself
        return None
    dims = worked_dims(op)
    if not _has_samples(dims) or not (has_trait(op, "product") or len(dims) == 3):  # rotary embeddings of heads are left as they are
        return None
    rows = regroup(op, _one_matrix(len(dims)))
    return rows if rows is not None and is_free(out := shape(op.results[0]), grouped(out, rows.result)) else None


def _has_samples(dims: Dims) -> bool:
    return len(dims) in (3, 4) and dims[-2] % TILE_EDGE == 0 and math.prod(dims[:-2]) > 1


def _one_matrix(rank: int) -> Groups:
    """The rows of all samples below one another."""
    return (*((),) * (rank - 2), tuple(range(rank - 1)), (rank - 1,))


# --- Rows that are permuted, processed one by one and permuted back are processed in their first order. ---


@register("undo-rows", fusing=True)
class UndoRows(Pass):
    """back(f(there(x))) becomes f(back(there(x))) where `back` permutes rows and f works on the last dim alone: linear, norms, elementwise.

    Where both permute rows that is f(x); heads that are joined and turned in front of a projection are turned once.
    """

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _undo, "ttir.permute")


def _undo(back: Operation) -> None:
    """back: the permute that may put rows back."""
    last = back.results[0]
    while single_use(last) and (user := next(iter(last.uses)).operation).name == "ttir.reshape":
        last = user.results[0]
    after, behind = view_of(last)
    work: list[Operation] = []
    value = after.root
    while single_use(value) and (op := row_wise(value)) is not None:
        work.append(op)
        value = op.operands[0]
        before, ahead = view_of(value)
        if any(op.name == "ttir.permute" for op in ahead):
            break
    else:
        return
    rows, result = rows_of(after), rows_of(before)
    whole = rows.over(result) if rows is not None and result is not None else None
    moves = [*ahead, *behind[:-1]]
    if not all(single_use(op.results[0]) for op in moves):
        return
    b = Builder.before(work[-1])
    b.source = tuple(dict.fromkeys(source for op in ahead for source in sources_of(op))) or None
    if whole is not None and whole.parts == joined([(math.prod(whole.shape), 1)]):
        source = before.root
    elif rows is None or (made := _moved_ahead(b, rows, before, work[-1].operands[0], [*ahead, *behind])) is None:
        return
    else:
        source = made
    for op in reversed(work):
        op.operands[0] = source
        dims = (*shape(source)[:-1], shape(op.results[0])[-1])
        source = Rewriter.replace_value_with_new_type(op.results[0], tensor(dims, element_type(op.results[0])))
    add_sources(work[-1], *ahead)
    add_sources(work[0], *behind, before=False)
    b = Builder.in_place_of(back)
    if shape(source) != shape(last):
        last.replace_all_uses_with(b.op("ttir.reshape", [source], {"shape": shape(last)}, [last.type]))
    else:
        last.replace_all_uses_with(source)


def _moved_ahead(b: Builder, rows: View, before: View, value: SSAValue, moves: list[Operation]) -> SSAValue | None:
    """What the work would read if the rows were put back in front of it, with what rearranges them there; None where that moves no less.

    rows: how the results are put back. before: how `value`, which the work reads now, is made.
    """
    width = shape(value)[-1]
    back = View(value, (*(tuple((size, stride * width) for size, stride in axis) for axis in rows.axes), joined([(width, 1)])))
    whole = back.over(before)
    if whole is None or whole.offset:
        return None
    made = whole.emit(b)
    new = made_between(whole.root, made)
    if tiles_moved(new) < tiles_moved(moves):
        return made
    erase(*new)
    return None


def row_wise(value: SSAValue) -> Operation | None:
    """The op that makes each row of the value of that row of its first operand alone."""
    op, last = value.owner, len(shape(value)) - 1
    found = regroup(op, (tuple(range(last)), (last,))) if isinstance(op, Operation) and last >= 0 else None
    same = found is not None and found.operands[0] == found.result and not any(found.operands[1:]) and not found.attributes
    return op if isinstance(op, Operation) and same else None


def rows_of(view: View) -> View | None:
    """The view with rows for elements; None where it rearranges anything inside its last dim."""
    width = shape(view.root)[-1] if shape(view.root) else 1
    if not view.axes or view.axes[-1] != (((width, 1),) if width > 1 else ()) or view.offset:
        return None
    axes = view.axes[:-1]
    if any(stride % width for axis in axes for _, stride in axis):
        return None
    return View(view.root, tuple(tuple((size, stride // width) for size, stride in axis) for axis in axes))


# --- A permutation of rows before a product and a split into heads after it become one permutation after it. ---


@register("heads-of-rows", fusing=True)
class HeadsOfRows(Pass):
    """heads(f(rows(x))) becomes heads'(f(x)), where f works on rows and `heads` rearranges its result: projections of `nn.MultiheadAttention`."""

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _move, "ttir.linear", "ttir.matmul")


def _move(product: Operation) -> None:
    made = product.results[0]
    if row_wise(made) is None:
        return
    before, ahead = view_of(product.operands[0])
    rows = rows_of(before)
    forms = _forms(made)
    if rows is None or forms is None or not any(op.name == "ttir.permute" for op in ahead):
        return
    width, root = shape(made)[-1], before.root
    dims = (*shape(root)[:-1], width)
    b = Builder.after(product)
    b.source = tuple(dict.fromkeys(source for op in forms for source in sources_of(op))) or None
    twin = product.clone()  # of the product on x, to read the new forms from
    block = product.parent
    assert block is not None
    block.insert_op_before(twin, product)
    twin.operands[0] = root
    result = Rewriter.replace_value_with_new_type(twin.results[0], tensor(dims, element_type(made)))
    lifted = View(result, (*(joined((size, stride * width) for size, stride in axis) for axis in rows.axes), joined([(width, 1)])), 0)
    new: list[tuple[Operation, SSAValue]] = []
    for leaf in _leaves(forms):
        view, _ = view_of(leaf.results[0], lambda one: one in forms)
        found = view.through(lifted) if view.root is made else None
        value = found.cut(b) if found is not None else None
        if value is None or shape(value) != shape(leaf.results[0]):
            new = []
            break
        new.append((leaf, value))
    written = _between(result, [value for _, value in new])
    shared = tiles_moved(ahead) / max(len(list(product.operands[0].uses)), 1)
    if not new or tiles_moved(written) >= tiles_moved(forms) + shared:
        for op in [*reversed(_between(result, [use.operation.results[0] for use in result.uses])), twin]:
            if not any(True for value in op.results for _ in value.uses):
                erase(op)
        return
    add_sources(twin, *(op for op in ahead if single_use(op.results[0])))  # what other products read, too, may belong to a module around them
    for leaf, value in new:
        leaf.results[0].replace_all_uses_with(value)


def _forms(value: SSAValue) -> list[Operation] | None:
    """All views of a value and of its views, makers first; None where something else reads it, too, or it is not rearranged."""
    found: list[Operation] = []
    stack = [value]
    while stack:
        users = list(dict.fromkeys(use.operation for use in stack.pop().uses))
        views = [user for user in users if has_trait(user, "view")]
        if not found and len(views) < len(users):
            return None
        found += views
        stack += [view.results[0] for view in views]
    return found if any(op.name == "ttir.permute" for op in found) else None


def _leaves(forms: list[Operation]) -> list[Operation]:
    """Those that something else reads."""
    return [op for op in forms if any(use.operation not in forms for use in op.results[0].uses)]


def _between(value: SSAValue, ends: list[SSAValue]) -> list[Operation]:
    """The views from a value to these ends, makers first, each once."""
    return list(dict.fromkeys(op for end in ends for op in made_between(value, end)))


# --- TTIR: products of several batches with one and the same matrix, their rows below one another: fewer batches, and the matrix is not repeated.


@register("shared-factors", fusing=True)
class SharedFactors(Pass):
    """matmul of [B, H, M, K] and [B, 1, K, N] becomes matmul of [B, H*M, K] and [B, K, N], if the rows lie so already or share tiles then."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttir.matmul", const_eval=False):
            _merge(op)


def _merge(op: Operation) -> None:
    left, right = op.operands
    a, matrix, dims = shape(left), shape(right), shape(op.results[0])
    if access.attr(op, "transpose_a") or len(a) != len(matrix) or len(a) < 3:
        return
    batch = range(len(a) - 2)
    shared = [place for place in batch if matrix[place] == 1 < a[place]]
    own = [place for place in batch if matrix[place] > 1]
    if not shared or any(a[place] != matrix[place] for place in own) or not _pays(a, own, shared):
        return
    b = Builder.in_place_of(op)
    order = [*(place for place in batch if place not in shared), *shared, len(a) - 2, len(a) - 1]
    kept, count = tuple(a[place] for place in own), math.prod(a[place] for place in shared)
    rows, matrices = Value(b, left).permute(*order).reshape(*kept, count * a[-2], a[-1]), Value(b, right).reshape(*kept, *matrix[-2:])
    made = rows.matmul(matrices, transpose_b=bool(access.attr(op, "transpose_b"))).reshape(*(dims[place] for place in order))
    replace(op, [made.permute(*(order.index(place) for place in range(len(order)))).ssa])


def _pays(a: tuple[int, ...], own: list[int], shared: list[int]) -> bool:
    """Whether no row moves, or whether the rows of all batches fill half as many tiles together."""
    if a[-2] % TILE_EDGE == 0 and max(own, default=-1) < shared[0]:
        return True
    count = math.prod(a[place] for place in shared)
    return -(-count * a[-2] // TILE_EDGE) * 2 <= count * -(-a[-2] // TILE_EDGE)
