"""Splits query, key and value heads on block shards: each core holds whole heads and splits them in its own memory.

The library's sharded program needs the columns in another order, q, k and v of one head after the other, and a batch entry per row
of cores. Const-eval reorders the columns of the weights once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import Memory, Spec, query
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.ir.location import sources_of
from alchemist.ir.value import Value
from alchemist.ops.library_names import DTYPES
from alchemist.ops.spec import NOTE
from alchemist.optimizer.candidate import Candidate
from alchemist.optimizer.graph import L1, Step
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.movement import unless_refused
from alchemist.optimizer.stream import maker_of_constant, maker_of_weight

SPLIT = "ttnn.split_query_key_value_and_split_heads"
DEALT = "ttnn.create_qkv_heads"
_DEALT = "q, k and v of one head after the other: a core gets whole heads"


def splits_to_deal(func: FuncOp, machine: Machine) -> Iterator[Operation]:
    """Head splits of fused projections that are faster on shards, including the moves to and from them."""
    for op in func.body.block.ops:
        if op.name == SPLIT and _projection(op) is not None and _gains(op, machine):
            yield op


def deal_heads(func: FuncOp, machine: Machine) -> None:
    """Replaces each split by `ttnn.experimental.create_qkv_heads` of a projection whose weight and bias are reordered by heads."""
    for op in list(splits_to_deal(func, machine)):
        product = _projection(op)
        assert product is not None
        heads = int(access.attr(op, "num_heads"))
        for place, maker in _makers(product):
            _deal(maker, heads, rows=place == 1)
        batch, rows, columns = shape(op.operands[0])
        build = Builder.in_place_of(op)
        flat = Value(build, op.operands[0]).reshape(batch, 1, rows, columns)
        attributes = {"num_heads": heads, "num_kv_heads": heads, "transpose_k_heads": False}
        split = build.make(DEALT, [flat.ssa], attributes, list(op.result_types))
        for old, new in zip(op.results, split.results, strict=True):
            old.replace_all_uses_with(new)
        Rewriter.erase_op(op)


def on_shards(step: Step, machine: Machine) -> Iterator[list[Candidate]]:
    """Candidates of `ttnn.create_qkv_heads`: on each number of columns of cores that divides the heads."""
    if [index for index, _ in step.operands] == [0]:
        yield [Candidate("heads on their cores", {}, {0: memory}, heads) for memory, heads in _shards(step.op, machine)]


def as_dealt(step: Step, machine: Machine) -> Iterator[list[Candidate]]:
    """Candidates of a reshape before it that is a view of the projection's shards."""
    users = [use.operation for use in step.op.results[0].uses]
    if len(users) == 1 and users[0].name == DEALT and step.results:
        yield [Candidate("a view of the shards", {}, {0: memory}, memory) for memory, _ in _shards(users[0], machine)]


def _shards(op: Operation, machine: Machine) -> Iterator[tuple[Memory, Memory]]:
    """Memories of the operand and of the results, largest number of cores first."""
    batch, *_, columns = shape(op.operands[0])
    heads, rows, size = shape(op.results[0])[1:]
    if batch > machine.grid[1]:
        return
    for across in range(min(machine.grid[0], heads), 0, -1):
        if heads % across == 0:
            corners = (0, 0, across - 1, batch - 1)
            whole = Memory("L1", "BLOCK_SHARDED", ((rows, columns // across), corners, "ROW_MAJOR"))
            yield whole, Memory("L1", "HEIGHT_SHARDED", ((rows * heads // across, size), corners, "ROW_MAJOR"))


@unless_refused
def _gains(op: Operation, machine: Machine) -> bool:
    batch, rows, columns = shape(op.operands[0])
    heads, size = shape(op.results[0])[1], shape(op.results[0])[-1]
    layout = layout_of(op.operands[0].type)
    assert layout is not None
    name = DTYPES[layout.dtype]
    least_ns = math.inf
    plain = query(SPLIT.replace("ttnn.", "ttnn.transformer."), [Spec((batch, rows, columns), name, "tile", L1)], card=machine.card,
                  num_heads=heads, transpose_key=False, memory_config=L1)  # fmt: skip
    for memory, cut in _shards(op, machine):
        dealt, part = Spec((batch, 1, rows, columns), name, "tile", memory), Spec((batch, heads, rows, size), name, "tile", cut)
        try:
            times = [
                query("ttnn.to_memory_config", [Spec((batch, 1, rows, columns), name, "tile", L1), memory], card=machine.card),
                query("ttnn.experimental.create_qkv_heads", [dealt], card=machine.card, num_heads=heads, num_kv_heads=heads,
                      transpose_k_heads=False, memory_config=cut),
                *[query("ttnn.to_memory_config", [part, L1], card=machine.card)] * 3,
            ]  # fmt: skip
        except ShimError:
            continue
        if all(answer.accepted for answer in times):
            least_ns = min(least_ns, sum(answer.device_ns + answer.ratio_error_ns for answer in times))
    return plain.accepted and least_ns < plain.device_ns


def _projection(op: Operation) -> Operation | None:
    """The product whose only reader is the split, if const-eval computes its weight and bias for it alone."""
    if len(op.operands) != 1 or bool(access.attr(op, "transpose_key")):
        return None
    _, heads, rows, size = shape(op.results[0])
    if shape(op.operands[0])[-1] != 3 * heads * size or size % TILE_EDGE or rows % TILE_EDGE:  # the library's results have padding for rows
        return None
    value: SSAValue = op.operands[0]
    while isinstance(value.owner, Operation) and value.owner.name == "ttnn.reshape" and len(list(value.uses)) == 1:
        if shape(value)[-1] != shape(value.owner.operands[0])[-1]:
            return None
        value = value.owner.operands[0]
    product = value.owner
    if not isinstance(product, Operation) or maker_of_weight(product) is None or len(list(value.uses)) != 1:
        return None
    if len(shape(product.operands[1])) != 2 or access.attr(product, "transpose_b") or len(_makers(product)) != len(product.operands) - 1:
        return None
    return product


def _makers(product: Operation) -> list[tuple[int, FuncOp]]:
    """The const-eval functions of weight and bias by operand index."""
    makers = [(place, maker_of_constant(product.operands[place])) for place in range(1, len(product.operands))]
    return [(place, maker) for place, maker in makers if maker is not None]


def _deal(maker: FuncOp, heads: int, rows: bool) -> None:
    """Reorders columns [q of all heads, k of all heads, v of all heads] to [q, k, v] of one head after the other.

    rows: for a matrix, reorder the rows of its transpose instead, which are whole tiles.
    """
    end = maker.get_return_op()
    assert end is not None
    value = end.operands[0]
    is_transposed = rows and isinstance(value.owner, Operation) and value.owner.name == "ttnn.transpose" and len(shape(value)) == 2
    before = value.owner if is_transposed else end
    assert isinstance(before, Operation)
    build, source = Builder.before(before), before.operands[0]
    build.source = sources_of(source.owner) or None if isinstance(source.owner, Operation) else None
    source_columns = Value(build, source)
    if rows and not is_transposed:
        source_columns = source_columns.op("transpose", dim0=0, dim1=1)
    columns, *rest = source_columns.shape
    apart = (3, heads, columns // (3 * heads), *rest)
    dealt = source_columns.op("reshape", shape=apart, **{NOTE: _DEALT}).permute(1, 0, *range(2, len(apart))).reshape(*source_columns.shape)
    if rows and not is_transposed:
        dealt = dealt.op("transpose", dim0=0, dim1=1)
    before.operands[0] = dealt.ssa
