"""Candidates with tensors in block shards: matmul, norms, elementwise ops. Only even shards: an uneven one leaves the fast programs.

Rules of ttnn 0.81.1 that hold here because the simulator is laxer: a sharded result takes subblocks of height 1 or of the whole width; a norm's
program config has the grid and blocks of the tensor's shards; an activation beside a program config on a sharded input is part of the config.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from ttnn_shim.queries import Memory
from xdsl.ir import SSAValue

from alchemist.ir import access
from alchemist.ir.access import struct
from alchemist.ir.layout import tile_padded
from alchemist.optimizer import compute, matmul
from alchemist.optimizer.candidate import Candidate
from alchemist.optimizer.graph import DRAM, L1, Step
from alchemist.optimizer.machine import Machine

Family = Callable[[Step, Machine], Iterator[list[Candidate]]]
FEWEST_CORES = 0.5  # of the card's: fewer make the op slower than interleaved
NORM_CONFIG = "alchemist.program_config"


def tiles_of(value: SSAValue) -> tuple[int, int]:
    """Rows and columns of the collapsed tensor, in tiles."""
    padded = tile_padded(access.shape(value))
    return math.prod(padded[:-1]) // 32, padded[-1] // 32


def block(value: SSAValue, machine: Machine) -> Memory | None:
    """Even block shards on the largest grid that divides the tensor, None where that is small."""
    rows, columns = tiles_of(value)
    height = max(part for part in range(1, machine.grid[1] + 1) if rows % part == 0)
    width = max(part for part in range(1, machine.grid[0] + 1) if columns % part == 0)
    if height * width < FEWEST_CORES * machine.grid[0] * machine.grid[1] or height == 1 or width == 1:
        return None
    return Memory("L1", "BLOCK_SHARDED", ((rows // height * 32, columns // width * 32), (0, 0, width - 1, height - 1), "ROW_MAJOR"))


def grid_of(memory: Memory) -> tuple[int, int]:
    """Columns and rows of cores."""
    assert memory.shard is not None
    x0, y0, x1, y1 = memory.shard[1][:4]
    return x1 - x0 + 1, y1 - y0 + 1


def _shard_tiles(memory: Memory) -> tuple[int, int]:
    assert memory.shard is not None
    return memory.shard[0][0] // 32, memory.shard[0][1] // 32


def linear(step: Step, machine: Machine, wanted: Memory | None = None) -> Iterator[list[Candidate]]:
    """2-D multicast with block shards on either side. wanted: the result's instead of the largest even ones."""
    op = step.op
    shape = matmul.sizes(op, matmul.is_fp32_dest(op, machine))
    moving = [index for index, _ in step.operands]
    if shape is None or shape.batch > 1 or not step.results or moving not in ([0], []):  # [] reads an input of the model, in DRAM
        return
    fused = matmul.fused_of(op)
    if access.attr(op, "activation") and fused is None:
        return
    inside, outside = block(op.operands[0], machine), wanted or block(op.results[0], machine)
    for a, result in ((inside, outside), (inside, L1), (inside, DRAM), (L1, outside), (DRAM, outside)):
        if a is None or result is None or (not moving and a != DRAM) or (wanted is not None and (result != wanted or wanted.layout != "BLOCK_SHARDED")):
            continue
        shards = [memory for memory in (a, result) if memory.shard is not None]
        grid = grid_of(shards[0])
        if any(grid_of(memory) != grid for memory in shards) or shape.m % grid[1]:
            continue
        rows, columns = shape.m // grid[1], -(-shape.n // grid[0])
        width = _shard_tiles(a)[1] if a.shard is not None else shape.k
        candidates = []
        for subblock in matmul.subblocks(rows, columns, shape.most_subblock, result.shard is not None):
            for inner in matmul.divisors(math.gcd(width, shape.k), matmul.MOST_INNER)[:5]:
                config = matmul.multicast(grid, inner, subblock, (rows, columns), fused)
                label = f"{grid[0]}x{grid[1]} cores, {rows}x{columns} tiles each"
                candidates.append(Candidate(label, matmul.attributes(op, machine, config), {0: a} if moving else {}, result))
        yield candidates


def norm(step: Step, machine: Machine) -> Iterator[list[Candidate]]:
    """Shards in, the same shards out."""
    op = step.op
    shards = block(op.operands[0], machine)
    moving = [index for index, _ in step.operands]
    if shards is None or not step.results or any(access.shape(op.operands[index]) != access.shape(op.operands[0]) for index in moving):
        return
    height, width = _shard_tiles(shards)
    config = struct(
        "ttnn.layernorm_sharded_multicore_program_config",
        {
            "compute_with_storage_grid_size": grid_of(shards),
            "subblock_w": matmul.divisors(width, 4)[0],
            "block_h": height,
            "block_w": width,
            "inplace": False,
        },
    )
    changed = {NORM_CONFIG: config}
    if not compute.given(op, "compute_config"):
        changed["compute_config"] = compute.of_norm()
    yield [Candidate(f"{grid_of(shards)[0]}x{grid_of(shards)[1]} cores, {height}x{width} tiles each", changed, dict.fromkeys(moving, shards), shards)]


def elementwise(step: Step, machine: Machine) -> Iterator[list[Candidate]]:
    """Equal shards everywhere; beside a sharded first operand the second may be interleaved."""
    op = step.op
    if not step.results or len({access.shape(value) for value in (*(op.operands[index] for index, _ in step.operands), op.results[0])}) > 1:
        return
    shards = block(op.results[0], machine)
    if shards is None or not step.operands:
        return
    moving = [index for index, _ in step.operands]
    yield [Candidate("sharded", {}, dict.fromkeys(moving, shards), shards)]
    if moving == [0, 1]:
        for other in (L1, DRAM):
            yield [Candidate("sharded and interleaved", {}, {0: shards, 1: other}, shards)]


BINARY = ("add", "subtract", "multiply")
UNARY = ("gelu", "relu", "silu", "sigmoid", "tanh", "exp", "neg", "sqrt", "rsqrt")
SHARDED: dict[str, Family] = {
    "ttnn.linear": linear,
    "ttnn.matmul": linear,
    "ttnn.layer_norm": norm,
    "ttnn.rms_norm": norm,
    "ttnn.add_layer_norm": norm,
    "ttnn.add_rms_norm": norm,
    **{f"ttnn.{name}": elementwise for name in (*BINARY, *UNARY)},
}
