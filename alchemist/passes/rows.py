"""TTIR: moves row-wise ops across permutations and reshapes of rows (`alchemist/rewrite/moves.py`), to fill tiles or to move less data."""

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

# --- TTIR: in decoding, the tokens of all users become rows of one tile, instead of one row in a tile per user. ---


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
    """Whether each tile of [..., N, 1, K] holds a single row although one tile could hold several."""
    return len(dims) in (3, 4) and dims[-2] == 1 and math.prod(dims[:-2]) > 1 and dims[-1] > 1


def _unit_first(rank: int) -> Groups:
    """The groups that move the dim of size 1 to the front."""
    return tuple((dim,) for dim in (rank - 2, *range(rank - 2), rank - 1))


# --- TTIR: products of all samples with one matrix become one product of all rows: the library would process samples in turn, on few cores.


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
    if len(op.results) != 1 or not all(isinstance(value.type, TensorType) for value in (*op.operands, *op.results)):  # the ops that run on the device
        return None
    dims = worked_dims(op)
    if not _has_samples(dims) or not (has_trait(op, "product") or len(dims) == 3):  # rotary embeddings of heads do not match
        return None
    rows = regroup(op, _one_matrix(len(dims)))
    return rows if rows is not None and is_free(out := shape(op.results[0]), grouped(out, rows.result)) else None


def _has_samples(dims: Dims) -> bool:
    return len(dims) in (3, 4) and dims[-2] % TILE_EDGE == 0 and math.prod(dims[:-2]) > 1


def _one_matrix(rank: int) -> Groups:
    """The groups that join the rows of all samples into one dim."""
    return (*((),) * (rank - 2), tuple(range(rank - 1)), (rank - 1,))


# --- Row-wise ops between a permutation of rows and its inverse work on the original order. ---


@register("undo-rows", fusing=True)
class UndoRows(Pass):
    """back(f(there(x))) becomes f(back(there(x))) where `back` permutes rows and f works on the last dim alone: linear, norms, elementwise.

    If both permutations cancel out, the result is f(x). Permutes of heads before a projection are merged.
    """

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _undo, "ttir.permute")


def _undo(back: Operation) -> None:
    """back: the permute that may restore the order of rows."""
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
    elif rows is None or (moved := _moved_ahead(b, rows, before, work[-1].operands[0], [*ahead, *behind])) is None:
        return
    else:
        source = moved
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
    """The operand of the row-wise ops if the rows are permuted before them, with the moves above it; None if that moves no less data.

    rows: the inverse permutation of the results. before: the view that computes `value`, which the ops read now.
    """
    width = shape(value)[-1]
    back = View(value, (*(tuple((size, stride * width) for size, stride in axis) for axis in rows.axes), joined([(width, 1)])))
    whole = back.over(before)
    if whole is None or whole.offset:
        return None
    result = whole.emit(b)
    new = made_between(whole.root, result)
    if tiles_moved(new) < tiles_moved(moves):
        return result
    erase(*new)
    return None


def row_wise(value: SSAValue) -> Operation | None:
    """The op, if it computes each row of the value only from that row of its first operand."""
    op, last = value.owner, len(shape(value)) - 1
    regrouped = regroup(op, (tuple(range(last)), (last,))) if isinstance(op, Operation) and last >= 0 else None
    same = regrouped is not None and regrouped.operands[0] == regrouped.result and not any(regrouped.operands[1:]) and not regrouped.attributes
    return op if isinstance(op, Operation) and same else None


def rows_of(view: View) -> View | None:
    """The view on rows instead of elements; None if it rearranges elements within its last dim."""
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
    twin = product.clone()  # the view of the product on x, from which the new forms are read
    block = product.parent
    assert block is not None
    block.insert_op_before(twin, product)
    twin.operands[0] = root
    result = Rewriter.replace_value_with_new_type(twin.results[0], tensor(dims, element_type(made)))
    lifted = View(result, (*(joined((size, stride * width) for size, stride in axis) for axis in rows.axes), joined([(width, 1)])), 0)
    new: list[tuple[Operation, SSAValue]] = []
    for leaf in _leaves(forms):
        view, _ = view_of(leaf.results[0], lambda op: op in forms)
        moved_view = view.through(lifted) if view.root is made else None
        value = moved_view.cut(b) if moved_view is not None else None
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
    add_sources(twin, *(op for op in ahead if single_use(op.results[0])))  # a value that other products read, too, may belong to a surrounding module
    for leaf, value in new:
        leaf.results[0].replace_all_uses_with(value)


def _forms(value: SSAValue) -> list[Operation] | None:
    """All views of a value, also indirect ones, makers first; None if another op reads it, or no view permutes it."""
    forms: list[Operation] = []
    stack = [value]
    while stack:
        users = list(dict.fromkeys(use.operation for use in stack.pop().uses))
        views = [user for user in users if has_trait(user, "view")]
        if not forms and len(views) < len(users):
            return None
        forms += views
        stack += [view.results[0] for view in views]
    return forms if any(op.name == "ttir.permute" for op in forms) else None


def _leaves(forms: list[Operation]) -> list[Operation]:
    """The views that other ops read."""
    return [op for op in forms if any(use.operation not in forms for use in op.results[0].uses)]


def _between(value: SSAValue, ends: list[SSAValue]) -> list[Operation]:
    """The views from a value to these ends, makers first, without duplicates."""
    return list(dict.fromkeys(op for end in ends for op in made_between(value, end)))


# --- TTIR: products of several batches with one matrix become one product of all their rows, so that the matrix is not repeated.


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
    kept_dims, count = tuple(a[place] for place in own), math.prod(a[place] for place in shared)
    rows, matrices = Value(b, left).permute(*order).reshape(*kept_dims, count * a[-2], a[-1]), Value(b, right).reshape(*kept_dims, *matrix[-2:])
    product = rows.matmul(matrices, transpose_b=bool(access.attr(op, "transpose_b"))).reshape(*(dims[place] for place in order))
    replace(op, [product.permute(*(order.index(place) for place in range(len(order)))).ssa])


def _pays(a: tuple[int, ...], own: list[int], shared: list[int]) -> bool:
    """Whether no row moves, or joining the rows of all batches halves the number of tiles."""
    if a[-2] % TILE_EDGE == 0 and max(own, default=-1) < shared[0]:
        return True
    count = math.prod(a[place] for place in shared)
    return -(-count * a[-2] // TILE_EDGE) * 2 <= count * -(-a[-2] // TILE_EDGE)
