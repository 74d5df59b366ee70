"""Heads of attention: projections, splits and joins that the library has as one op."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
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
    """`count` times `size` consecutive columns, from `start` on, `step` apart."""

    start: int
    size: int
    count: int = 1
    step: int = 0

    @property
    def width(self) -> int:
        return self.size * self.count


@dataclass(slots=True)
class _Head:
    """A value [B, H, S, D] whose heads are columns of a projection: side by side, or each beside the others' of its head.

    rows: [B, S, K], what is projected. row_views: the ops that put it in that order. columns: of the projection's weight. views: the ops between
    projection and heads.
    """

    value: SSAValue
    rows: View
    row_views: list[Operation]
    projection: Operation
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
        """Equal for heads that one projection can give."""
        _, _, s, d = shape(self.value)
        return self.rows, s, d, element_type(self.value), access.attr(self.projection, "transpose_b")


@register("project-heads", fusing=True)
class ProjectHeads(Pass):
    """Query, key and value heads of one tensor come of one projection: joined weights, a zero bias where one has none, rows in batch order."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            position = {op: index for index, op in enumerate(func.body.block.ops)}
            fixed: dict[SSAValue, bool] = {}
            made: dict[tuple[object, ...], list[_Head]] = {}
            decodes = any(op.name == "ttir.scaled_dot_product_attention_decode" for op in func.body.block.ops)
            for op in list(func.body.block.ops):
                head = _head(op, decodes)
                if head is not None and all(_is_fixed(value, fixed) for value in head.projection.operands[1:]):
                    made.setdefault(head.key, []).append(head)
            for heads in made.values():
                roles = _roles(heads)
                if roles is not None:
                    _project(roles, position)
            if made:
                erase_dead(func)


def _is_fixed(value: SSAValue, known: dict[SSAValue, bool]) -> bool:
    """Whether the value is an argument, a constant or parts of them: cheap to join, by const-eval when they are parameters."""
    if value not in known:
        if isinstance(value, BlockArgument):
            known[value] = True
        else:
            op = value.owner
            assert isinstance(op, Operation)
            known[value] = op.name in named("ttir", "view", "constant") | {"ttir.concat"} and all(_is_fixed(one, known) for one in op.operands)
    return known[value]


def _is_token(op: Operation) -> bool:
    """Whether the op gives the heads of one token per user the form in which decoding reads them, [1, B, H, D]."""
    before, after = shape(op.operands[0]), shape(op.results[0])
    return op.name == "ttir.reshape" and after == (1, *before[:2], before[3])


def _head(op: Operation, decodes: bool) -> _Head | None:
    """decodes: heads of a single token are wanted too, which the library splits in decoding only."""
    if not has_trait(op, "view") or len(shape(op.results[0])) != 4:
        return None
    value = op.results[0]
    one = shape(value)[2] == 1
    users = [use.operation for use in value.uses]
    moves_on = all(has_trait(user, "view") and not _cuts_columns(user) and not _begins_groups(user) for user in users)
    if moves_on and not (one and any(_is_token(user) for user in users)):
        return None
    view, ops = view_of(value)
    dot = defining(view.root, "ttir.linear", "ttir.matmul")
    if dot is None or ACTIVATION in dot.attributes or access.attr(dot, "transpose_a") or len(shape(dot.operands[1])) != 2 or len(shape(view.root)) < 2:
        return None
    _, h, _, d = shape(value)
    width = shape(view.root)[-1]
    if d % TILE_EDGE or (one and not decodes):
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
    source, row_views = view_of(dot.operands[0])
    rows = _rows(by_row, source)
    return None if rows is None else _Head(value, rows, row_views, dot, columns, ops)


def _rows(order: View, source: View) -> View | None:
    """[B, S, K]: the rows of a projection's operand in the order [B, S] of `order`, whose strides count rows."""
    depth = source.shape[-1]
    axes = tuple(tuple((size, stride * depth) for size, stride in axis) for axis in order.axes)
    return View(order.root, (*axes, joined([(depth, 1)]))).over(source)


def _roles(heads: list[_Head]) -> list[_Head] | None:
    """Query, key and value of an attention: the order in which the attention reads them, else the order in which they are made."""
    if len(heads) != 3 or len({head.value for head in heads}) != 3:
        return None
    asked = [_asked(head) for head in heads]
    if sorted(asked) == [0, 1, 2]:
        heads = [heads[asked.index(place)] for place in range(3)]
    else:
        lone = [head for head in heads if sum(other.heads == head.heads for other in heads) == 1]
        heads = [*lone, *(head for head in heads if head not in lone)]
    return heads if heads[1].heads == heads[2].heads and heads[0].heads % heads[1].heads == 0 else None


def _asked(head: _Head) -> int:
    """The place of the operand that the value is of an attention, -1 where none reads it."""
    for use in head.value.uses:
        if use.operation.name == "ttir.scaled_dot_product_attention":
            return int(use.index)
    return -1


def _project(heads: list[_Head], position: dict[Operation, int]) -> None:
    first = min((head.projection for head in heads), key=position.__getitem__)
    dots = sorted(dict.fromkeys(head.projection for head in heads), key=position.__getitem__)
    for dot in dots:
        for value in dot.operands[1:]:
            _make_before(value, first, position)
    b = Builder.before(first)
    b.source = _sources(heads[0].row_views) or _sources(dots)
    rows = heads[0].rows.emit(b)
    b.source = _sources(dots)
    transposed = bool(access.attr(first, "transpose_b"))
    weight = _columns(b, [(head.projection.operands[1], head.columns) for head in heads], 0 if transposed else 1)
    biases = [_bias(head.projection) for head in heads]
    operands = [rows, weight]
    if any(bias is not None for bias in biases):
        of = element_type(next(bias for bias in biases if bias is not None))
        pieces = [
            (bias, head.columns) if bias is not None else (full(b, (head.columns.width,), 0.0, of).ssa, _Columns(0, head.columns.width))
            for head, bias in zip(heads, biases, strict=True)
        ]
        operands.append(_columns(b, pieces, 0))
    name = "ttir.linear" if len(operands) == 3 else "ttir.matmul"
    whole = b.value(name, operands, {"transpose_b": transposed}, of=element_type(heads[0].projection.results[0]))
    attributes: dict[str, object] = {"num_heads": heads[0].heads, "transpose_key": False}
    if heads[1].heads != heads[0].heads:
        attributes["num_kv_heads"] = heads[1].heads
    b.source = None
    made = b.make("ttir.split_query_key_value_and_split_heads", [whole], attributes, [head.value.type for head in heads])
    add_sources(made, *sorted(dict.fromkeys(op for head in heads for op in head.views), key=position.__getitem__))
    for head, result in zip(heads, made.results, strict=True):
        head.value.replace_all_uses_with(result)


def _sources(ops: list[Operation]) -> list[SourceInfo] | None:
    return list(dict.fromkeys(info for op in ops for info in sources_of(op))) or None


def _bias(dot: Operation) -> SSAValue | None:
    return operand(dot, "bias") if dot.name == "ttir.linear" else None


def _columns(b: Builder, pieces: list[tuple[SSAValue, _Columns]], dim: int) -> SSAValue:
    """The pieces side by side; neighbours of one tensor are taken together."""
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
    """Whether the op takes some columns of all rows: a rotary embedding of a part of each head does."""
    return op.name == "ttir.slice_static" and shape(op.operands[0])[:-1] == shape(op.results[0])[:-1]


def _begins_groups(op: Operation) -> bool:
    """Whether the op makes room to repeat each head for a group of query heads: [B, H, S, D] -> [B, H, 1, S, D]."""
    b, h, s, d = shape(op.operands[0])
    return shape(op.results[0]) == (b, h, 1, s, d)


def _make_before(value: SSAValue, anchor: Operation, position: dict[Operation, int]) -> None:
    """Moves what makes a fixed value in front of `anchor`."""
    op = value.owner
    if not isinstance(op, Operation) or position.get(op, -1) < position[anchor]:
        return
    for one in op.operands:
        _make_before(one, anchor, position)
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
    made = Builder.before(op).make("ttir.concatenate_heads", [view.root])
    add_sources(made, *chain)
    after = Builder.in_place_of(op)
    placed = View(made.results[0], (*rows, joined([(h * d, 1)])))
    replace(op, [placed.emit(after)])


@dataclass(slots=True)
class Head:
    """One of query, key, value: the permuted value and the ops that made it of `source`."""

    result: SSAValue
    source: SSAValue
    ops: list[Operation]
    heads: int
    size: int


def _split_head(value: SSAValue) -> Head | None:
    """value = permute(reshape(x, [B, S, H, D]), [0, 2, 1, 3])"""
    turned = defining(value, "ttir.permute")
    if turned is None or tuple(access.attr(turned, "permutation")) != (0, 2, 1, 3) or not single_use(turned.operands[0]):
        return None
    split = defining(turned.operands[0], "ttir.reshape")
    if split is None or not single_use(split.operands[0]):
        return None
    b, s, h, d = shape(split.results[0])
    if d % TILE_EDGE or shape(split.operands[0]) != (b, s, h * d):
        return None
    return Head(value, split.operands[0], [split, turned], h, d)


def _attention_operands(op: Operation) -> list[Head] | None:
    if op.name == "ttir.scaled_dot_product_attention":
        heads = [_split_head(value) for value in op.operands[:3]]
        if all(head is not None for head in heads):
            found = [head for head in heads if head is not None]
            same = {head.size for head in found}
            return found if len(same) == 1 and found[1].heads == found[2].heads else None
    return None


def _slices_of_one(heads: list[Head]) -> tuple[SSAValue, list[Operation]] | None:
    """The value whose consecutive thirds query, key and value are."""
    slices = [defining(head.source, "ttir.slice_static") for head in heads]
    found = [cut for cut in slices if cut is not None]
    if len(found) != 3 or len({id(cut.operands[0]) for cut in found}) != 1:
        return None
    whole = found[0].operands[0]
    if len(shape(whole)) != 3:
        return None
    at = 0
    for head, cut in zip(heads, found, strict=True):
        begins, ends = list(access.attr(cut, "begins")), list(access.attr(cut, "ends"))
        if begins != [0, 0, at] or ends[2] != at + head.heads * head.size or any(s != 1 for s in access.attr(cut, "step")):
            return None
        if ends[:2] != list(shape(whole)[:2]):
            return None
        at = ends[2]
    return (whole, list(found)) if at == shape(whole)[2] else None


def _one_projection(heads: list[Head]) -> tuple[SSAValue, list[Operation]] | None:
    """Three linears of one input become a linear with joined weights; returns its result and the replaced linears."""
    dots = [defining(head.source, "ttir.linear", "ttir.matmul") for head in heads]
    found = [dot for dot in dots if dot is not None]
    if len(found) != 3 or len({id(dot.operands[0]) for dot in found}) != 1 or len(shape(found[0].operands[0])) != 3:
        return None
    flags = {(dot.name, access.attr(dot, "transpose_a"), access.attr(dot, "transpose_b"), len(dot.operands)) for dot in found}
    if len(flags) != 1 or next(iter(flags))[1] or any("alchemist.activation" in dot.attributes for dot in found):
        return None
    weights = [dot.operands[1] for dot in found]
    biases = [operand(dot, "bias") if dot.name == "ttir.linear" else None for dot in found]
    if any(not isinstance(value, BlockArgument) for value in [*weights, *(bias for bias in biases if bias is not None)]):
        return None
    transposed = next(iter(flags))[2]
    last = max(found, key=_position)
    b = Builder.before(last)
    b.source = [info for dot in sorted(found, key=_position) for info in sources_of(dot)] or None
    dim = 0 if transposed else 1
    joined = concatenated(b, weights, dim)
    operands = [found[0].operands[0], joined]
    if biases[0] is not None:
        operands.append(concatenated(b, [bias for bias in biases if bias is not None], 0))
    return b.value(found[0].name, operands, {"transpose_b": transposed}, of=element_type(found[0].results[0])), []


_ORDER: dict[Operation, int] = {}


def _position(op: Operation) -> int:
    return _ORDER[op]


def _split(func: FuncOp, op: Operation, heads: list[Head]) -> None:
    sliced = _slices_of_one(heads)
    whole = sliced or _one_projection(heads)
    if whole is None:
        return
    value, extra = whole
    last = max((head.ops[1] for head in heads), key=_position)
    owner = value.owner
    first = min((head.ops[0] for head in heads), key=_position)
    anchor = first if sliced is not None and isinstance(owner, Operation) else last
    b = Builder.before(anchor)
    attributes = {"num_heads": heads[0].heads, "transpose_key": False}
    if heads[1].heads != heads[0].heads:
        attributes["num_kv_heads"] = heads[1].heads
    made = b.make("ttir.split_query_key_value_and_split_heads", [value], attributes, [head.result.type for head in heads])
    add_sources(made, *extra, *sorted((member for head in heads for member in head.ops), key=_position))
    for head, result in zip(heads, made.results, strict=True):
        head.result.replace_all_uses_with(result)
    del func, op


@register("fuse-split-heads", fusing=True)
class FuseSplitHeads(Pass):
    """Query, key and value of one projection are split into heads by one op; three projections are joined first."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            _ORDER.clear()
            _ORDER.update((op, index) for index, op in enumerate(func.body.block.ops))
            for op in list(func.body.block.ops):
                heads = _attention_operands(op)
                if heads is not None and len({id(head.result) for head in heads}) == 3:
                    _split(func, op, heads)
            _ORDER.clear()
            erase_dead(func)
