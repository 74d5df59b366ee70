"""Heads of attention that come of projections: one joined projection in [B, S, H * D], whatever order, packing and rearrangement the model has them in."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, operand, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import add_sources, defining, erase_dead, functions
from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.location import SourceInfo, sources_of
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import View, concatenated, joined, reshaped, sliced, view_of
from alchemist.rules.linear import ACTIVATION


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
            (bias, head.columns) if bias is not None else (_zeros(b, head.columns.width, of), _Columns(0, head.columns.width))
            for head, bias in zip(heads, biases, strict=True)
        ]
        operands.append(_columns(b, pieces, 0))
    width = sum(head.columns.width for head in heads)
    of = element_type(heads[0].projection.results[0])
    name = "ttir.linear" if len(operands) == 3 else "ttir.matmul"
    whole = b.op(name, operands, {"transpose_b": transposed}, [tensor((*shape(rows)[:2], width), of)])
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


def _zeros(b: Builder, size: int, of: str) -> SSAValue:
    return b.value("ttir.full", [], {"shape": (size,), "fill_value": 0.0}, [tensor((size,), of)])


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
    if (columns.start, columns.size) == (0, dims[dim]):
        return value
    begins, ends = [0] * len(dims), list(dims)
    begins[dim], ends[dim] = columns.start, columns.start + columns.size
    return sliced(b, value, begins, ends)


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
