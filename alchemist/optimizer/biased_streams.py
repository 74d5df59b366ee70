"""Splits a product of one row of tiles with a bias into a product that reads its weight from all DRAM banks at once, and a sum.

The program that reads from the banks needs the bias in the banks as well, padded to whole tiles for each. A sum reads a bias row for one row of tiles
in a few microseconds, while a large weight is read a third faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import query
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import op_classes
from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.location import set_source, sources_of
from alchemist.ops.spec import NOTE
from alchemist.optimizer import stream
from alchemist.optimizer.calls import spec_of
from alchemist.optimizer.choose import choose
from alchemist.optimizer.graph import L1
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.movement import device_ns
from alchemist.optimizer.wide_products import streamed

LEAST_ELEMENTS = 1 << 22
"""Least elements of the weight: reading a smaller one takes less time than the sum."""
ACTIVATIONS = (None, "relu")
"""Activations that may become an op after the sum: the library's activations of sums are wrong with broadcasts (tt-metal #44823)."""


def biased_streams(func: FuncOp, machine: Machine, cap: float) -> list[Operation]:
    """Products with a bias that are faster as two ops, by more than half the cost model's error."""
    return [op for op in func.body.block.ops if _is_candidate(op) and _gains(op, machine, cap)]


def _is_candidate(op: Operation) -> bool:
    """Whether an op of the function computes the product's operand: an input of the program keeps its memory."""
    if op.name != "ttnn.linear" or len(op.operands) != 3 or math.prod(shape(op.results[0])[:-1]) > TILE_EDGE:
        return False
    if not isinstance(op.operands[0].owner, Operation) or access.attr(op, "activation") not in ACTIVATIONS:
        return False
    return math.prod(shape(op.operands[1])) >= LEAST_ELEMENTS and stream.weight_may_move(op)


def _gains(op: Operation, machine: Machine, cap: float) -> bool:
    decision = choose(op, machine, cap)
    if decision is None:
        return False
    new_ops = _split(op)
    try:
        best = min(_times(new_ops, machine, cap), default=math.inf)
    finally:
        for op_ in reversed(new_ops):
            Rewriter.erase_op(op_)
    return best < decision.chosen.ns


def _times(new_ops: list[Operation], machine: Machine, cap: float) -> Iterator[float]:
    """Times of the new ops, the move to shards, and the error of a ratio of two prices."""
    product, total, *behind = new_ops
    for priced in streamed(product, machine, cap):
        shards = priced.candidate.operands[0]
        try:
            move_ns = query("ttnn.to_memory_config", [spec_of(product.operands[0], L1), shards], card=machine.card).device_ns
        except ShimError:
            continue
        added = device_ns([total], machine.card, None, operands={0: priced.candidate.result}, results=L1)
        yield move_ns + priced.ns + added + device_ns(behind, machine.card) + priced.answer.ratio_error_ns


def split_bias(op: Operation) -> None:
    """Replaces the op by the product, the sum and the activation."""
    op.results[0].replace_all_uses_with(_split(op)[-1].results[0])
    Rewriter.erase_op(op)


def _split(op: Operation) -> list[Operation]:
    """Creates product, sum and activation, if any, before the op."""
    a, weight, bias = op.operands
    attributes = {name: value for name, value in op.properties.items() if name not in ("activation", "operandSegmentSizes")}
    others = {name: value for name, value in op.attributes.items() if name != "activation"}
    kind = op.results[0].type
    product = op_classes()["ttnn.matmul"].create(operands=[a, weight], result_types=[kind], properties=attributes, attributes=others)
    b = Builder.before(op)
    b.insert(product)
    new_ops = [product, b.make("ttnn.add", [product.results[0], bias], {NOTE: "the bias by itself: the weight is read from all banks at once"}, [kind])]
    if activation := access.attr(op, "activation"):
        new_ops.append(b.make(f"ttnn.{activation}", [new_ops[-1].results[0]], {}, [kind]))
    for new_op in new_ops:
        set_source(new_op, *sources_of(op))
    return new_ops
