"""A decode stream: activations of one row of tiles in width shards, weights in shards over the banks of DRAM.

Rules of ttnn 0.81.1 that hold here: the DRAM-sharded program reads an activation in even width shards and leaves even width shards; each core's
columns of K are a multiple of the step. Every bank holds whole columns of the weight, the last one may be padded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ttnn_shim.queries import Memory
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import struct
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import function_named
from alchemist.ir.layout import TILE_EDGE, layout_of, tile_padded
from alchemist.optimizer import matmul
from alchemist.optimizer.candidate import Candidate
from alchemist.optimizer.graph import Step
from alchemist.optimizer.machine import Machine

CORES = (32, 16)
"""Candidate numbers of cores of width shards: one of them divides the widths of usual decoders."""
MORE_CORES = (24, 8)
"""For very wide products, whose tiles are seldom a multiple of the others."""
FEWEST_WIDE = 1 << 10
"""Columns, in tiles, from which a product counts as very wide."""
MOST_STEP = 16
LOADED = "ttcore.load_cached"


def widths(value: SSAValue, machine: Machine, numbers: tuple[int, ...] = CORES) -> tuple[Memory, ...]:
    """Even width shards of a value of one row of tiles. numbers: of cores."""
    shape = access.shape(value)
    padded = tile_padded(shape)
    columns = padded[-1] // 32
    memories = []
    for cores in numbers:
        corners = (0, 0, 7, cores // 8 - 1)
        if columns % cores == 0 and corners[3] < machine.grid[1] and machine.grid[0] >= 8:
            memories.append(Memory("L1", "WIDTH_SHARDED", ((32, columns // cores * 32), corners, "ROW_MAJOR")))
    return tuple(memories)


def in_banks(value: SSAValue, machine: Machine) -> Memory:
    """A weight's columns sharded over the banks of DRAM."""
    rows, columns = access.shape(value)[-2:]
    per_bank = -(-tile_padded((columns,))[-1] // (32 * machine.dram_banks))
    return Memory("DRAM", "WIDTH_SHARDED", ((rows, per_bank * 32), (0, 0, machine.dram_banks - 1, 0), "ROW_MAJOR"))


def maker_of_weight(op: Operation) -> FuncOp | None:
    """The const-eval function that computes the op's weight, if the op is its only reader."""
    loaded = op.operands[1].owner if has_trait(op, "product") else None
    if not isinstance(loaded, Operation) or loaded.name != LOADED or len(loaded.results) != 1 or len(list(loaded.results[0].uses)) != 1:
        return None
    return function_named(str(access.attr(loaded, "callee")), loaded)


def weight_may_move(op: Operation) -> bool:
    layout = layout_of(op.operands[1].type) if len(op.operands) > 1 else None
    if layout is None or layout.page != "tile" or layout.is_sharded or layout.on_host:
        return False
    shape = access.shape(op.operands[1])
    return len(shape) == 2 and shape[0] % 32 == 0 and shape[1] % 32 == 0 and maker_of_weight(op) is not None


def is_wide(op: Operation) -> bool:
    """Whether a product of one row of tiles has a result that fills much of L1, so that readers find it elsewhere."""
    dims = access.shape(op.results[0]) if has_trait(op, "product") else ()
    return bool(dims) and math.prod(dims[:-1]) <= TILE_EDGE and dims[-1] >= FEWEST_WIDE * TILE_EDGE


def may_stream(op: Operation) -> bool:
    """An op on one row of tiles that width shards alone make faster, moves before and behind it counted: a norm, which reads interleaved rows on one core,
    and a product whose weight nothing else reads."""
    if not (has_trait(op, "row_norm") or has_trait(op, "product")) or math.prod(access.shape(op.results[0])[:-1]) > TILE_EDGE:
        return False
    return has_trait(op, "row_norm") or weight_may_move(op)


def products(step: Step, machine: Machine, shape: matmul.Sizes) -> Iterator[list[Candidate]]:
    """Candidates for products of one row of tiles that read the weight from all banks at once."""
    if [index for index, _ in step.operands] == [0] and weight_may_move(step.op):
        yield from from_banks(step.op, machine, shape)


def from_banks(op: Operation, machine: Machine, shape: matmul.Sizes) -> Iterator[list[Candidate]]:
    """The same of an op whose weight may lie in the banks."""
    fused = matmul.fused_of(op)
    if shape.m != 1 or len(op.operands) > 2:
        return
    numbers = (*CORES, *MORE_CORES) if is_wide(op) else CORES
    outside = {memory.shard[1]: memory for memory in widths(op.results[0], machine, numbers) if memory.shard is not None}
    for a in widths(op.operands[0], machine, numbers):
        assert a.shard is not None
        c = outside.get(a.shard[1])
        if c is None or c.shard is None:
            continue
        candidates = []
        steps = matmul.divisors(a.shard[0][1] // 32, MOST_STEP)
        for inner in steps if is_wide(op) else steps[:3]:  # wide blocks leave little L1
            fields = {"in0_block_w": inner, "per_core_m": 1, "per_core_n": c.shard[0][1] // 32, "fused_activation": fused}
            config = struct("ttnn.matmul_multi_core_reuse_multi_cast_dram_sharded_program_config", fields)
            label = f"weight in {machine.dram_banks} banks, 1x{c.shard[0][1] // 32} tiles on each of {8 * (a.shard[1][3] + 1)} cores"
            candidates.append(Candidate(label, matmul.attributes(op, machine, config), {0: a}, c, weights={1: in_banks(op.operands[1], machine)}))
        yield candidates
