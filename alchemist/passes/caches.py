"""Key-value caches: updates in place, tables by position, and storage formats."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import WRITTEN, argument_attrs, attr, element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import defining, erase_dead, functions, is_const_eval, replace
from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ir.value import Value
from alchemist.ops import POINTWISE
from alchemist.ops.constants import FixedValues, behind_unit_views, constant_of, number
from alchemist.passes.lower.configs import BLOCK_PRECISIONS
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import reshaped, sliced

# --- TTIR: rows of one position, or of the first positions, are written into the cache in place instead of into a copy. ---

MOST_USERS = 32
"""Limit of users of a cache: the library writes each user's rows from a separate core, and a tile has as many rows."""
_INTEGERS = ("i32", "i64", "si32", "si64", "ui32")


@register("update-caches", fusing=True)
class UpdateCaches(Pass):
    """scatter(cache, one position, rows) that is returned, the cache read nowhere else, becomes paged_update_cache; of the first positions, fill_cache."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            positions: dict[tuple[SSAValue, int], SSAValue] = {}
            changed = False
            for op in list(func.body.block.ops):
                written = _scattered(op) or _chosen(op)
                if written is not None and _may_be_written(op, *written):
                    _update(op, *written, positions)
                    changed = True
                elif (filled := _filled(op)) is not None and _may_be_filled(op, *filled):
                    _fill(op, *filled)
                    changed = True
            if changed:
                erase_dead(func)


def position_of(value: SSAValue) -> SSAValue:
    """Looks through reshapes, casts and additions of 0 to the one-element value that `value` is computed from; `value` itself if there are none.

    It also removes jax's wrap of negative positions, where(p < 0, p + size, p) -> p, and clamps at 0, as a cache is written from its start.
    """
    while True:
        if (op := defining(value, "ttir.reshape", "ttir.broadcast")) is not None and math.prod(shape(op.operands[0])) == 1:
            value = op.operands[0]
        elif (cast := defining(value, "ttir.typecast")) is not None and element_type(cast.operands[0]) in _INTEGERS and element_type(value) in _INTEGERS:
            value = cast.operands[0]
        elif (total := defining(value, "ttir.add")) is not None and 0.0 in (number(total.operands[0]), number(total.operands[1])):
            value = total.operands[1 if number(total.operands[0]) == 0.0 else 0]
        elif (chosen := defining(value, "ttir.where")) is not None and _is_wrapped(chosen):
            value = chosen.operands[2]
        elif (clamp := defining(value, "ttir.clamp_scalar")) is not None and attr(clamp, "min") == 0 and element_type(value) in _INTEGERS:
            value = clamp.operands[0]
        else:
            return value


def _is_wrapped(chosen: Operation) -> bool:
    below, wrapped, plain = defining(chosen.operands[0], "ttir.lt"), defining(chosen.operands[1], "ttir.add"), chosen.operands[2]
    return below is not None and below.operands[0] is plain and number(below.operands[1]) == 0.0 and wrapped is not None and plain in wrapped.operands


def counts(value: SSAValue, size: int, axis: int) -> bool:
    """Whether `value` is 0, 1 ... size - 1 along `axis` (from the end) and constant along every other dim."""
    value = behind_unit_views(value)
    if (op := defining(value, "ttir.arange")) is not None:
        return (attr(op, "start"), attr(op, "end"), attr(op, "step")) == (0, size, 1)
    array = constant_of(value)
    if array is None or array.ndim < -axis or array.shape[axis] != size:
        return False
    along = np.arange(size).reshape([-1, *[1] * (-axis - 1)])
    return bool((array == along).all())


Written = tuple[SSAValue, SSAValue, SSAValue]
"""cache, position, rows."""


def _scattered(op: Operation) -> Written | None:
    """scatter along the positions of [B, H, S, D] with one index for all rows."""
    if op.name != "ttir.scatter" or attr(op, "scatter_reduce_type") not in (None, "invalid"):
        return None
    cache, index, rows = op.operands
    if len(shape(cache)) != 4 or attr(op, "dim") % 4 != 2 or shape(index) != shape(rows):
        return None
    return cache, position_of(index), rows


def _chosen(op: Operation) -> Written | None:
    """Matches where(position == 0 ... S - 1, rows, cache), which JAX's dynamic_update_slice of one row lowers to."""
    if op.name != "ttir.where" or len(shape(op.results[0])) != 4:
        return None
    chosen, rows, cache = op.operands
    equal = defining(behind_unit_views(chosen), "ttir.eq")
    if equal is None or shape(cache) != shape(op.results[0]):
        return None
    rows = behind_unit_views(rows) if shape(rows) == shape(cache) else rows
    for along, position in (equal.operands, reversed(equal.operands)):
        if counts(along, shape(cache)[2], -2) and len(shape(along)) == 4:
            return cache, position_of(position), rows
    return None


def _filled(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """Matches concat(rows, rest of the cache) along the positions of [B, H, S, D]: (cache, rows)."""
    if op.name != "ttir.concat" or len(op.operands) != 2 or len(shape(op.results[0])) != 4 or attr(op, "dim") % 4 != 2:
        return None
    rows, rest = op.operands
    part = defining(rest, "ttir.slice_static")
    if part is None or shape(part.operands[0]) != shape(op.results[0]):
        return None
    begins = [0, 0, shape(rows)[2], 0]
    if [*attr(part, "begins")] != begins or [*attr(part, "ends")] != [*shape(op.results[0])] or set(attr(part, "step")) != {1}:
        return None
    return part.operands[0], rows


def _may_be_filled(op: Operation, cache: SSAValue, rows: SSAValue) -> bool:
    """As `_may_be_written`, but the library writes whole tiles of rows."""
    if not _is_state(op, cache):
        return False
    _, _, length, size = shape(cache)
    same_type = element_type(cache) == element_type(rows) and element_type(cache) in ("bf16", "f32")
    return same_type and length % TILE_EDGE == 0 and size % TILE_EDGE == 0 and shape(rows)[2] % TILE_EDGE == 0


def _fill(op: Operation, cache: SSAValue, rows: SSAValue) -> None:
    """Creates one fill_cache per user."""
    b = Builder.in_place_of(op)
    for user in range(shape(rows)[0]):
        b.make("ttir.fill_cache", [cache, Value(b, rows).cut(0, user, user + 1).ssa], {"batch_offset": user})
    replace(op, [cache])


def _is_state(op: Operation, cache: SSAValue) -> bool:
    """Whether `op` computes the returned new value of a cache argument that nothing else reads."""
    returned = any(isinstance(use.operation, ReturnOp) for use in op.results[0].uses)
    return isinstance(cache, BlockArgument) and len(list(cache.uses)) == 1 and returned and len(shape(cache)) == 4


def _may_be_written(op: Operation, cache: SSAValue, position: SSAValue, rows: SSAValue) -> bool:
    """Whether the cache may be updated in place: no other op reads it, and the library's op supports its shape and type."""
    if not _is_state(op, cache):
        return False
    users, heads, length, size = shape(cache)
    if shape(rows) != (users, heads, 1, size) or math.prod(shape(position)) != 1 or element_type(position) not in _INTEGERS:
        return False
    same_type = element_type(cache) == element_type(rows) and element_type(cache) in ("bf16", "f32")
    return same_type and users <= MOST_USERS and heads <= TILE_EDGE and length % TILE_EDGE == 0 and size % TILE_EDGE == 0


def _update(op: Operation, cache: SSAValue, position: SSAValue, rows: SSAValue, positions: dict[tuple[SSAValue, int], SSAValue]) -> None:
    """positions: shared by all layers, by the position's value and the number of users."""
    users, heads, _, size = shape(cache)
    b = Builder.in_place_of(op)
    if (position, users) not in positions:
        positions[position, users] = _positions(op, position, users)
    rows = reshaped(b, rows, (1, users, heads, size))
    b.make("ttir.paged_update_cache", [cache, rows, positions[position, users], None], {"share_cache": False})
    replace(op, [cache])


def _positions(op: Operation, position: SSAValue, users: int) -> SSAValue:
    """[users]: the position repeated for each user, created right after the op that computes it."""
    block, owner = op.parent, position.owner
    assert block is not None
    b = Builder.after(owner) if isinstance(owner, Operation) else Builder(block, block.first_op)
    return Value(b, position).reshape(1).broadcast(users).ssa


# --- TTNN: key-value caches in a block format (`experimental_kv_cache_dtype`, and `precision` bfp8, bfp8_lofi), as in hand-written decoders.
# them.

_KEYS, _VALUES = 1, 2
"""Operand indices of the caches of an attention."""


@register("narrow-caches")
class NarrowCaches(Pass):
    """Caches that only cache writes and attention use become bfloat8_b; the rows of a prompt are cast in front of `fill_cache`."""

    experimental_kv_cache_dtype: str
    precision: str

    def run(self, module: ModuleOp) -> None:
        dtype = self.experimental_kv_cache_dtype
        if dtype == "none":
            dtype = "bfp_bf8" if self.precision in BLOCK_PRECISIONS else ""
        for func in functions(module) if dtype else ():
            if not is_const_eval(func):
                _narrow(func, dtype)


def _narrow(func: FuncOp, dtype: str) -> None:
    caches = _caches(func)
    for cache in caches:
        for use in list(cache.uses):
            if has_trait(use.operation, "writes_rows"):
                _cast_rows(use.operation, dtype)
        _retype(cache, dtype)
    if caches:
        last = func.body.block.last_op
        assert isinstance(last, ReturnOp)
        inputs, outputs = [argument.type for argument in func.args], [value.type for value in last.operands]
        func.function_type = FunctionType.from_lists(inputs, outputs)


def _caches(func: FuncOp) -> list[BlockArgument]:
    """Written bfloat16 arguments that only cache writes and attention read; both caches of an attention qualify or neither."""
    caches = {
        argument
        for argument, facts in zip(func.args, argument_attrs(func), strict=True)
        if WRITTEN in facts and _is_tiled_bf16(argument) and any(has_trait(use.operation, "attention") for use in argument.uses)
    }
    changed = True
    while changed:
        remaining = {cache for cache in caches if all(_may_use(use.operation, use.index, caches) for use in cache.uses)}
        changed, caches = len(remaining) < len(caches), remaining
    return [argument for argument in func.args if argument in caches]


def _is_tiled_bf16(value: SSAValue) -> bool:
    layout = layout_of(value.type)
    return layout is not None and layout.dtype == "bf16" and layout.page == "tile" and not layout.on_host


def _may_use(op: Operation, index: int, caches: set[BlockArgument]) -> bool:
    if has_trait(op, "attention"):
        return index in (_KEYS, _VALUES) and all(op.operands[place] in caches for place in (_KEYS, _VALUES))
    return isinstance(op, ReturnOp) or (op.name in named("ttnn", "writes_position", "writes_rows") and index == 0)


def _retype(value: SSAValue, dtype: str) -> None:
    layout = layout_of(value.type)
    assert layout is not None
    Rewriter.replace_value_with_new_type(value, layout.with_(shape(value), dtype=dtype).type_for(shape(value)))


def _cast_rows(write: Operation, dtype: str) -> None:
    rows = write.operands[1]
    layout = layout_of(rows.type)
    if layout is None or layout.dtype == dtype:
        return
    cast = Builder.before(write).make("ttnn.typecast", [rows], of=dtype)
    set_source(cast, *sources_of(write))
    write.operands[1] = cast.results[0]


# --- TTIR: values that a decoding step computes from its position alone are looked up in a table of all positions. ---

_PER_POSITION = POINTWISE | {"ttir.concat", "ttir.reshape"}


@register("position-tables", fusing=True)
class PositionTables(Pass):
    """cos(position * frequencies), with the position that a cache is written at, becomes embedding(position, table); const-eval makes the table."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            places: dict[SSAValue, tuple[SSAValue, int]] = {}  # position -> positions of all users, length of the caches
            for op in func.body.block.ops:
                if op.name == "ttir.paged_update_cache":
                    places.setdefault(position_of(op.operands[2]), (op.operands[2], shape(op.operands[0])[2]))
            for position, (users, length) in places.items():
                _Tables(func, position, users, length).replace()
            if places:
                erase_dead(func)


class _Tables:
    """Values of one row that depend only on the position and on constants, and the tables that hold them for all positions."""

    def __init__(self, func: FuncOp, position: SSAValue, users: SSAValue, length: int) -> None:
        self._func, self._position, self._users, self._length = func, position, users, length
        self._fixed = FixedValues(func)
        self._made: dict[SSAValue, SSAValue] = {}
        self._ids: SSAValue | None = None
        self._rows: dict[tuple[SSAValue, tuple[int, ...]], SSAValue] = {}

    def replace(self) -> None:
        rows: dict[SSAValue, bool] = {self._position: False}  # value -> whether a costly op computes it
        for op in self._func.body.block.ops:
            if len(op.results) != 1 or op.name not in _PER_POSITION:
                continue
            if any(value in rows for value in op.operands) and all(value in rows or self._is_row(value) for value in op.operands) and _row(op.results[0]):
                rows[op.results[0]] = has_trait(op, "costly") or any(rows.get(value, False) for value in op.operands)
        costly_rows = [value for value, costly in rows.items() if costly and element_type(value) == "bf16"]
        for value in costly_rows:
            outside = [use for use in value.uses if not (use.operation.results and use.operation.results[0] in rows)]
            if outside:
                looked_up = self._look_up(value)
                for use in outside:
                    self._read(use.operation, use.index, value, looked_up)

    def _is_row(self, value: SSAValue) -> bool:
        return value in self._fixed and _row(value)

    def _look_up(self, value: SSAValue) -> SSAValue:
        """[1, B, K]: the rows of the table at the users' positions."""
        owner = value.owner
        assert isinstance(owner, Operation)
        b = Builder.before(owner)
        computed = owner
        while computed.name == "ttir.reshape" and isinstance(before := computed.operands[0].owner, Operation):
            computed = before
        b.source = sources_of(computed) or None
        table = self._table(value)
        if self._ids is None:
            self._ids = reshaped(b, self._users, (1, shape(self._users)[0]))
        return b.value("ttir.embedding", [self._ids, table], {})

    def _table(self, value: SSAValue) -> SSAValue:
        """[length, K]: the value for every position from 0."""
        if value in self._made:
            return self._made[value]
        if value is self._position:
            block = self._func.body.block
            b = Builder(block, block.first_op)
            end = self._length
            of = element_type(value)
            counted = b.op("ttir.arange", [], {"start": 0, "end": end, "step": 1, "arange_dimension": 0}, [tensor((end,), of)])
            self._made[value] = b.op("ttir.reshape", [counted], {"shape": (end, 1)})
            return self._made[value]
        if position_of(value) is self._position:
            return self._table(self._position)
        op = value.owner
        assert isinstance(op, Operation)
        b = Builder.in_place_of(op)
        operands = [self._fixed_row(b, operand) if operand in self._fixed else self._table(operand) for operand in op.operands]
        if op.name == "ttir.reshape":
            rows = operands[0]
        else:
            copied = op.clone()
            for place, value_read in enumerate(operands):
                copied.operands[place] = value_read
            copied.location = op.location
            b.insert(copied)
            if op.name == "ttir.concat":
                access.set_attr(copied, "dim", 1)

            rows = Rewriter.replace_value_with_new_type(copied.results[0], tensor((self._length, shape(value)[-1] if shape(value) else 1), element_type(value)))
        self._made[value] = rows
        return rows

    def _fixed_row(self, b: Builder, value: SSAValue) -> SSAValue:
        return reshaped(b, value, (1, math.prod(shape(value))))

    def _read(self, op: Operation, place: int, value: SSAValue, looked_up: SSAValue) -> None:
        """Replaces operand `place` of `op` by the row: one per user if the op works on [1, B, H, K], else the first user's."""
        embedding = looked_up.owner
        assert isinstance(embedding, Operation)
        b = Builder.after(embedding)
        b.source = sources_of(embedding) or None
        _, users, width = shape(looked_up)
        out = shape(op.results[0]) if len(op.results) == 1 else ()
        if len(shape(value)) == 4 and len(out) == 4 and out[:2] == (1, users) and out[3] == width and op.name in _PER_POSITION:
            dims: tuple[int, ...] = (1, users, 1, width)
        else:
            dims = shape(value)
        if (value, dims) in self._rows:
            op.operands[place] = self._rows[value, dims]
            return
        if dims == shape(value):
            if users > 1:
                looked_up = sliced(b, looked_up, [0, 0, 0], [1, 1, width])
        self._rows[value, dims] = reshaped(b, looked_up, dims)
        op.operands[place] = self._rows[value, dims]


def _row(value: SSAValue) -> bool:
    """Whether only the last dim may be greater than 1."""
    return math.prod(shape(value)[:-1]) == 1
