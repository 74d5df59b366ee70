"""Lowers look-ups. `ttnn.embedding` reads bfloat16 tables only: float32 and integer tables use exact alternatives."""

from __future__ import annotations

import math

from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ops.spec import LARGEST_BFLOAT16, LIFTED_NAME, TABLE_PARTS
from alchemist.passes.lower.context import ROW_MAJOR, TILE, Lowering, rule

LONGEST_ROW = 1 << 17
"""Elements of 32 bits in a row-major row: a reshape to one row holds two of it in L1, whose 1.5 MB other buffers share."""
MOST_SPLIT = 1 << 29
"""Elements of a float32 table that is split into bfloat16 ones on the device: with the copies on the way it takes six times its memory, and a Wormhole
card has 12 GiB."""
_GATHERED_NOTE = "ttnn.embedding reads bfloat16 tables only; ttnn.gather copies elements of any type"
_SPREAD_NOTE = f"{_GATHERED_NOTE}, each at an index of its own: a row's index is repeated over its columns"
_LOW_NOTE = "widened first: ttnn.add of float32 and bfloat16 runs on the FPU, which cuts the float32 operand to 10 mantissa bits"
_FINITE_NOTE = "three bfloat16 tables that add up to the float32 one; the clamps act on numbers that bfloat16 rounds to infinity"
_PARTS_NOTE = "ttnn.embedding reads bfloat16 tables only: the float32 table is stored as three of them, and the sum of their rows is the float32 row"


@rule("embedding")
def embedding(c: Lowering, op: Operation) -> None:
    ids, table = op.operands
    result = op.results[0]
    dtype, width = c.dtype(table), shape(table)[-1]
    if dtype == "bf16":
        rows = _looked_up(c, c.get(table, ROW_MAJOR, "bf16"), ids, width)
    elif dtype != "f32":
        rows = _gathered(c, table, ids, dtype)
    else:
        computed = () if c.is_constant(table) else (c.get(table, TILE, dtype),)  # const-eval makes the parts of a constant table
        ways = (lambda: _sum_of_parts(c, table, ids, width), lambda: c.convert(_gathered(c, table, ids, dtype), TILE, dtype))
        rows = c.fastest(c.get(ids, ROW_MAJOR, "u32"), *ways[math.prod(shape(table)) > MOST_SPLIT :], beside=computed)
    c.set(result, c.reshape(c.convert(rows, TILE, c.dtype(result)) if dtype in ("bf16", "f32") else rows, shape(result)))


def _looked_up(c: Lowering, rows: SSAValue, ids: SSAValue, width: int, note: str = "") -> SSAValue:
    """Rows of a row-major bfloat16 table, as tiles."""
    if len(shape(rows)) != 2:
        rows = c.reshape(rows, shape(rows)[-2:])
    where, dims = c.get(ids, ROW_MAJOR, "u32"), shape(ids)
    if len(dims) > 2:
        where, dims = c.reshape(where, (1, math.prod(dims))), (1, math.prod(dims))
    return c.emit("embedding", [where, rows], {}, (*dims, width), "bf16", note=note)


def _sum_of_parts(c: Lowering, table: SSAValue, ids: SSAValue, width: int) -> SSAValue:
    """Rows of a float32 table from three bfloat16 tables, which together have its 24 bits."""
    high, middle, low = (_looked_up(c, part, ids, width, _PARTS_NOTE if place == 0 else "") for place, part in enumerate(_parts(c, table)))
    rows = c.emit("add", [high, middle], of="f32")
    return c.emit("add", [rows, c.emit("typecast", [low], of="f32", note=_LOW_NOTE)])


def _parts(c: Lowering, table: SSAValue) -> list[SSAValue]:
    """Splits a float32 table into three row-major bfloat16 tables with this sum. Infinities and the largest numbers stay exact: the first two
    parts are finite, and the last one has the rest."""
    value = c.get(table, TILE, "f32")
    parts: list[SSAValue] = []
    rest = value
    for place, name in enumerate(TABLE_PARTS):
        if (cached := c._converted.get((value, f"bfloat16 part {place}"))) is not None:
            parts.append(cached)
            continue
        note = _FINITE_NOTE if place == 0 else ""
        within = rest if place == 2 else c.emit("clamp_scalar", [rest], {"min": -LARGEST_BFLOAT16, "max": LARGEST_BFLOAT16}, note=note)
        part = c.emit("typecast", [within], {LIFTED_NAME: name}, of="bf16")
        if place < 2:
            wide = c.emit("typecast", [part], of="f32")
            rest = c.emit("subtract", [rest, wide], {LIFTED_NAME: TABLE_PARTS[place + 1]})
        rows = c._converted[(value, f"bfloat16 part {place}")] = c.convert(part, ROW_MAJOR)
        parts.append(rows)
    return parts


def _gathered(c: Lowering, table: SSAValue, ids: SSAValue, dtype: str) -> SSAValue:
    """Rows of a row-major table of any 32-bit type: `ttnn.gather` copies elements as they are, each at an index of its own."""
    rows, (count, width) = c.get(table, ROW_MAJOR, dtype), shape(table)[-2:]
    where, total = c.get(ids, ROW_MAJOR, "u32"), math.prod(shape(ids))
    if width == 1 and count <= LONGEST_ROW:
        elements = c.emit("gather", [c.reshape(rows, (1, count)), c.reshape(where, (1, total))], {"dim": 1}, note=_GATHERED_NOTE)
    else:
        spread = c.reshape(where, (total, 1))
        if width > 1:
            spread = c.emit("repeat", [spread], {"repeat_dims": (1, width)}, note=_SPREAD_NOTE)
        elements = c.emit("gather", [c.reshape(rows, (count, width)), spread], {"dim": 0})
    return c.reshape(elements, (*shape(ids), width))


@rule("gather")
def gather(c: Lowering, op: Operation) -> None:
    source, index = op.operands
    result = op.results[0]
    dtype = c.dtype(result)
    value, where = c.get(source, TILE, dtype), c.get(index, TILE, "u32")
    if len(shape(source)) == 1:  # the library gathers from two dims on
        gathered = c.emit("gather", [c.reshape(value, (1, *shape(source))), c.reshape(where, (1, *shape(index)))], {"dim": 1})
        c.set(result, c.reshape(gathered, shape(result)))
        return
    c.set(result, c.emit("gather", [value, where], {"dim": access.attr(op, "dim")}))
