"""Attention heads: uses the library's ops for projections, splits and concatenations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, operand, shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import add_sources, defining, erase_dead, functions, replace, single_use
from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.location import SourceInfo, sources_of
from alchemist.ir.value import Value, full
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import View, concatenated, joined, reshaped, view_of
from alchemist.rules.linear import ACTIVATION

# --- Heads of attention that come of projections: one joined projection in [B, S, H * D], whatever order, packing and rearrangement the model has them
# in.


@dataclass(frozen=True, slots=True)
class _Columns:
    """`count` blocks of `size` consecutive columns; the first starts at `start`, each next one `step` later."""

    start: int
    size: int
    count: int = 1
    step: int = 0

    @property
    def width(self) -> int:
        return self.size * self.count


@dataclass(slots=True)
class _Head:
    """A value [B, H, S, D] whose heads are columns of a projection: contiguous per role, or interleaved per head.

    rows: [B, S, K], the projection's input. row_views: the ops that reorder it. columns: of the projection's weight. views: the ops between
    projection and heads. Without a projection by a constant weight, rows and columns are those of the split value.
    """

    value: SSAValue
    rows: View
    row_views: list[Operation]
    projection: Operation | None
    columns: _Columns
    views: list[Operation]

    @property
    def heads(self) -> int:
        return shape(self.value)[1]

    @property
    def size(self) -> int:
        return shape(self.value)[3]

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for heads that may share one projection."""
        _, _, s, d = shape(self.value)
        transpose_b = None if self.projection is None else access.attr(self.projection, "transpose_b")
        return self.rows, s, d, element_type(self.value), transpose_b


@register("project-heads", fusing=True)
class ProjectHeads(Pass):
    """Query, key and value heads of one tensor come of one projection: joined weights, a zero bias where one has none, rows in batch order.

    Heads of columns side by side of any other value are split by one op, too.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            position = {op: index for index, op in enumerate(func.body.block.ops)}
            fixed: dict[SSAValue, bool] = {}
            heads_of: dict[tuple[object, ...], list[_Head]] = {}
            decodes = any(op.name == "ttir.scaled_dot_product_attention_decode" for op in func.body.block.ops)
            for op in list(func.body.block.ops):
                head = _head(op, decodes, fixed)
                if head is not None:
                    heads_of.setdefault(head.key, []).append(head)
            for heads in heads_of.values():
                roles = _roles(heads)
                if roles is not None:
                    _project(roles, position)
            if heads_of:
                erase_dead(func)


def _is_fixed(value: SSAValue, cache: dict[SSAValue, bool]) -> bool:
    """Whether the value is an argument, a constant, or a view or concatenation of these: const-eval joins such weights."""
    if value not in cache:
        if isinstance(value, BlockArgument):
            cache[value] = True
        else:
            op = value.owner
            assert isinstance(op, Operation)
            cache[value] = op.name in named("ttir", "view", "constant") | {"ttir.concat"} and all(_is_fixed(source, cache) for source in op.operands)
    return cache[value]


def _is_token(op: Operation) -> bool:
    """Whether the op reshapes the heads of one token per user to the layout of decoding, [1, B, H, D]."""
    before, after = shape(op.operands[0]), shape(op.results[0])
    return op.name == "ttir.reshape" and after == (1, *before[:2], before[3])


def _head(op: Operation, decodes: bool, fixed: dict[SSAValue, bool]) -> _Head | None:
    """decodes: also match heads of a single token, which the library splits only in decoding. fixed: cache of `_is_fixed`."""
    if not has_trait(op, "view") or len(shape(op.results[0])) != 4:
        return None
    value = op.results[0]
    is_single_row = shape(value)[2] == 1
    users = [use.operation for use in value.uses]
    moves_on = all(has_trait(user, "view") and not _cuts_columns(user) and not _begins_groups(user) for user in users)
    if moves_on and not (is_single_row and any(_is_token(user) for user in users)):
        return None
    view, ops = view_of(value)
    if len(shape(view.root)) < 2:
        return None
    dot = defining(view.root, "ttir.linear", "ttir.matmul")
    if dot is not None and (ACTIVATION in dot.attributes or access.attr(dot, "transpose_a") or len(shape(dot.operands[1])) != 2):
        dot = None
    if dot is not None and not all(_is_fixed(value, fixed) for value in dot.operands[1:]):
        dot = None
    _, h, _, d = shape(value)
    width = shape(view.root)[-1]
    if not d or d % TILE_EDGE or (is_single_row and not decodes):
        return None
    batches, heads, steps, size = view.axes
    columns = _Columns(view.offset, h * d) if heads == joined([(h, d)]) else None
    if columns is None and len(heads) == 1 and heads[0][0] * heads[0][1] == width and view.offset + d <= heads[0][1]:
        columns = _Columns(view.offset, d, h, heads[0][1])
    if size != ((d, 1),) or columns is None or columns.start + columns.size > width:
        return None
    if any(stride % width for _, stride in (*batches, *steps)):
        return None
    by_row = View(view.root, tuple(tuple((size, stride // width) for size, stride in axis) for axis in (batches, steps)))
    if dot is None:
        return _Head(value, by_row, [], None, columns, ops)
    source, row_views = view_of(dot.operands[0])
    rows = _rows(by_row, source)
    return None if rows is None else _Head(value, rows, row_views, dot, columns, ops)


def _rows(order: View, source: View) -> View | None:
    """[B, S, K]: the rows of a projection's operand in the order [B, S] of `order`, whose strides count rows."""
    depth = source.shape[-1]
    axes = tuple(tuple((size, stride * depth) for size, stride in axis) for axis in order.axes)
    return View(order.root, (*axes, joined([(depth, 1)]))).over(source)


def _roles(heads: list[_Head]) -> list[_Head] | None:
    """Query, key and value: in the order in which an attention reads them, else in program order."""
    if len(heads) != 3 or len({head.value for head in heads}) != 3:
        return None
    role_sets = [_operand_index(head) for head in heads]
    if sorted(role_sets) == [0, 1, 2]:
        heads = [heads[role_sets.index(place)] for place in range(3)]
    else:
        lone = [head for head in heads if sum(other.heads == head.heads for other in heads) == 1]
        heads = [*lone, *(head for head in heads if head not in lone)]
    return heads if heads[1].heads == heads[2].heads and heads[0].heads % heads[1].heads == 0 else None


def _operand_index(head: _Head) -> int:
    """The operand index of the value in the attention that reads it, -1 if none does."""
    for use in head.value.uses:
        if use.operation.name == "ttir.scaled_dot_product_attention":
            return int(use.index)
    return -1


def _project(heads: list[_Head], position: dict[Operation, int]) -> None:
    dots = sorted(dict.fromkeys(head.projection for head in heads if head.projection is not None), key=position.__getitem__)
    whole = _joined(heads, dots, position) if dots else _whole(heads)
    if whole is None:
        return
    views = sorted(dict.fromkeys(op for head in heads for op in head.views), key=position.__getitem__)
    b = Builder.before(dots[0] if dots else views[0])
    attributes: dict[str, object] = {"num_heads": heads[0].heads, "transpose_key": False}
    if heads[1].heads != heads[0].heads:
        attributes["num_kv_heads"] = heads[1].heads
    split = b.make("ttir.split_query_key_value_and_split_heads", [whole], attributes, [head.value.type for head in heads])
    add_sources(split, *views)
    for head, result in zip(heads, split.results, strict=True):
        head.value.replace_all_uses_with(result)


def _whole(heads: list[_Head]) -> SSAValue | None:
    """[B, S, W] whose columns are query, key and value of an attention, concatenated; None if they are not."""
    rows, (batch, _, steps, _) = heads[0].rows, shape(heads[0].value)
    ends = list(accumulate(head.columns.width for head in heads))
    starts = [head.columns.start for head in heads if head.columns.count == 1]
    is_whole = starts == [0, *ends[:-1]] and shape(rows.root) == (batch, steps, ends[-1]) and rows.axes == (joined([(batch, steps)]), joined([(steps, 1)]))
    return rows.root if is_whole and [_operand_index(head) for head in heads] == [0, 1, 2] else None


def _joined(heads: list[_Head], dots: list[Operation], position: dict[Operation, int]) -> SSAValue:
    """Creates the projection with concatenated weights. dots: the projections, in order."""
    first = dots[0]
    for dot in dots:
        for value in dot.operands[1:]:
            _hoist_before(value, first, position)
    b = Builder.before(first)
    b.source = _sources(heads[0].row_views) or _sources(dots)
    rows = heads[0].rows.emit(b)
    b.source = _sources(dots)
    transposed = bool(access.attr(first, "transpose_b"))
    parts = [(head.projection, head.columns) for head in heads if head.projection is not None]
    weight = _columns(b, [(dot.operands[1], columns) for dot, columns in parts], 0 if transposed else 1)
    biases = [_bias(dot) for dot, _ in parts]
    operands = [rows, weight]
    if any(bias is not None for bias in biases):
        of = element_type(next(bias for bias in biases if bias is not None))
        pieces = [
            (bias, head.columns) if bias is not None else (full(b, (head.columns.width,), 0.0, of).ssa, _Columns(0, head.columns.width))
            for head, bias in zip(heads, biases, strict=True)
        ]
        operands.append(_columns(b, pieces, 0))
    name = "ttir.linear" if len(operands) == 3 else "ttir.matmul"
    return b.value(name, operands, {"transpose_b": transposed}, of=element_type(first.results[0]))


def _sources(ops: list[Operation]) -> list[SourceInfo] | None:
    return list(dict.fromkeys(info for op in ops for info in sources_of(op))) or None


def _bias(dot: Operation) -> SSAValue | None:
    return operand(dot, "bias") if dot.name == "ttir.linear" else None


def _columns(b: Builder, pieces: list[tuple[SSAValue, _Columns]], dim: int) -> SSAValue:
    """Concatenates the pieces; adjacent pieces of one tensor become one slice."""
    merged: list[tuple[SSAValue, _Columns]] = []
    for value, columns in pieces:
        before, last = merged[-1] if merged else (None, columns)
        if before is value and last.count == columns.count == 1 and last.start + last.size == columns.start:
            merged[-1] = (value, _Columns(last.start, last.size + columns.size))
        else:
            merged.append((value, columns))
    return concatenated(b, [_cut(b, value, columns, dim) for value, columns in merged], dim)


def _cut(b: Builder, value: SSAValue, columns: _Columns, dim: int) -> SSAValue:
    dims = shape(value)
    if columns.count > 1:
        value = reshaped(b, value, (*dims[:dim], columns.count, columns.step, *dims[dim + 1 :]))
        value = _cut(b, value, _Columns(columns.start, columns.size), dim + 1)
        return reshaped(b, value, (*dims[:dim], columns.width, *dims[dim + 1 :]))
    return Value(b, value).cut(dim, columns.start, columns.start + columns.size).ssa


def _cuts_columns(op: Operation) -> bool:
    """Whether the op slices columns of all rows, as a rotary embedding of a part of each head does."""
    return op.name == "ttir.slice_static" and shape(op.operands[0])[:-1] == shape(op.results[0])[:-1]


def _begins_groups(op: Operation) -> bool:
    """Whether the op inserts the dim that repeats each head for a group of query heads: [B, H, S, D] -> [B, H, 1, S, D]."""
    b, h, s, d = shape(op.operands[0])
    return shape(op.results[0]) == (b, h, 1, s, d)


def _hoist_before(value: SSAValue, anchor: Operation, position: dict[Operation, int]) -> None:
    """Moves the ops that compute a fixed value before `anchor`."""
    op = value.owner
    if not isinstance(op, Operation) or position.get(op, -1) < position[anchor]:
        return
    for source in op.operands:
        _hoist_before(source, anchor, position)
    op.detach()  # type: ignore[no-untyped-call]
    assert anchor.parent is not None
    anchor.parent.insert_op_before(op, anchor)
    position[op] = position[anchor] - 1


# --- Attention's head shuffling: one projection for query, key and value, split and joined by TTNN's own ops. ---


@register("fuse-concat-heads", fusing=True)
class FuseConcatHeads(Pass):
    """[B, H, S, D] permuted and reshaped to rows of H*D columns becomes concatenate_heads, [B, S, H*D]; rows in another order are rearranged behind it."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                if has_trait(op, "view") and op.parent is not None and any(not has_trait(use.operation, "view") for use in op.results[0].uses):
                    _concatenate(op)
            erase_dead(func)


def _concatenate(op: Operation) -> None:
    view, chain = view_of(op.results[0], lambda inner: inner is op or single_use(inner.results[0]))
    dims = shape(view.root)
    if len(dims) != 4 or view.offset or not any(inner.name == "ttir.permute" for inner in chain) or not view.axes:
        return
    _, h, s, d = dims
    if d % TILE_EDGE or h == 1 or view.axes[-1] != joined([(h, s * d), (d, 1)]) or math.prod(view.shape) != math.prod(dims):
        return
    if s == 1 or any(stride % d or (stride // d % s and s % (stride // d * size)) for axis in view.axes[:-1] for size, stride in axis):
        return
    rows = tuple(tuple((size, stride * h if stride < s * d else stride) for size, stride in axis) for axis in view.axes[:-1])
    concatenate = Builder.before(op).make("ttir.concatenate_heads", [view.root])
    add_sources(concatenate, *chain)
    after = Builder.in_place_of(op)
    placed = View(concatenate.results[0], (*rows, joined([(h * d, 1)])))
    replace(op, [placed.emit(after)])
