"""Program configs of matmul and linear, from the rules of `matmul_device_operation.cpp` (ttnn 0.81.1).

All sizes are in tiles. M is the rows of A with its batch folded in, K the inner width, N the columns of B.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from ttnn_shim.queries import Memory
from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ir.access import struct
from alchemist.ir.attributes import StructAttr
from alchemist.ir.layout import tile_padded
from alchemist.ops.spec import FUSED_ACTIVATIONS
from alchemist.optimizer import compute
from alchemist.optimizer.candidate import Candidate
from alchemist.optimizer.machine import Machine

CONFIG = "matmul_program_config"
COMPUTE = "compute_config"
FAST = "alchemist.fast_activation"
"""On ops whose GELU may come from a table (`precision` bfp8_lofi)."""
MOST_BLOCKS = 7  # limit of candidate output block shapes per core, least work per core first
MOST_INNER = 16


@dataclass(frozen=True, slots=True)
class Sizes:
    m: int
    k: int
    n: int
    batch: int  # of B; 1 when it has none
    fp32: bool

    @property
    def most_subblock(self) -> int:
        """Tiles that fit in the destination registers."""
        return 4 if self.fp32 else 8


def grid_text(grid: tuple[int, int]) -> str:
    """A grid of (columns, rows) in words: a program config beside it gives columns first, a layout's text rows first."""
    columns, rows = grid
    return f"{rows}x{columns} cores" if rows == columns else f"{rows} row{'s' * (rows > 1)} of {columns} cores"


def cores_text(used: int, grid: int) -> str:
    """Cores with work, of those of a grid."""
    return f"{used} of {grid} cores" if used < grid else f"{used} core{'s' if used > 1 else ''}"


def sizes(op: Operation, fp32: bool) -> Sizes | None:
    """None for a matmul that no program config supports: transposed operands."""
    if access.attr(op, "transpose_a") or access.attr(op, "transpose_b"):
        return None
    a, b = tile_padded(access.shape(op.operands[0])), tile_padded(access.shape(op.operands[1]))
    batch = math.prod(b[:-2])
    rows = math.prod(a[:-2]) * a[-2] // 32
    return Sizes(rows if batch == 1 else a[-2] // 32, a[-1] // 32, b[-1] // 32, batch, fp32)


@cache
def divisors(number: int, limit: int) -> tuple[int, ...]:
    """Divisors up to `limit`, largest first."""
    return tuple(part for part in range(min(number, limit), 0, -1) if number % part == 0)


@cache
def subblocks(rows: int, columns: int, limit: int, sharded: bool) -> tuple[tuple[int, int], ...]:
    """Candidate output subblocks (height, width): the largest of each aspect. A sharded output needs height 1 or the whole width."""
    shapes: set[tuple[int, int]] = set()
    for height in divisors(rows, limit):
        for width in divisors(columns, limit // height):
            if sharded and height > 1 and width != columns:
                continue
            shapes.add((height, width))
            break
    widest = max(shapes, key=lambda pair: (pair[0] * pair[1], pair[1]))
    tallest = max(shapes, key=lambda pair: (pair[0] * pair[1], pair[0]))
    flat = max((pair for pair in shapes if pair[0] == 1), key=lambda pair: pair[1])
    high = max((pair for pair in shapes if pair[1] == 1), key=lambda pair: pair[0], default=flat)
    return tuple(dict.fromkeys((widest, tallest, high, flat)))


def multicast(
    grid: tuple[int, int], inner: int, subblock: tuple[int, int], block: tuple[int, int], fused: Any, part: tuple[int, int] | None = None
) -> StructAttr:
    """2-D: activations travel along rows of cores, weights along columns. part: output tiles that are held at once, None for the block."""
    fields = _blocked(grid, inner, subblock, block, part)
    own = {"transpose_mcast": False, "fused_activation": fused, "fuse_batch": True}
    return struct("ttnn.matmul_multi_core_reuse_multi_cast_program_config", fields | own)


def multicast_1d(
    grid: tuple[int, int], inner: int, subblock: tuple[int, int], block: tuple[int, int], fused: Any, in0: bool, part: tuple[int, int] | None = None
) -> StructAttr:
    """1-D: every core has all rows (in0: activations are sent to all) or all columns."""
    fields = _blocked(grid, inner, subblock, block, part)
    own = {"fuse_batch": True, "fused_activation": fused, "mcast_in0": in0}
    return struct("ttnn.matmul_multi_core_reuse_multi_cast_1d_program_config", fields | own)


def _blocked(grid: tuple[int, int], inner: int, subblock: tuple[int, int], block: tuple[int, int], part: tuple[int, int] | None) -> dict[str, Any]:
    """The block parameters of both multicast programs, in the order of the library's fields."""
    rows, columns = part or (None, None)
    return {
        "compute_with_storage_grid_size": grid,
        "in0_block_w": inner,
        "out_subblock_h": subblock[0],
        "out_subblock_w": subblock[1],
        "out_block_h": rows,
        "out_block_w": columns,
        "per_core_m": block[0],
        "per_core_n": block[1],
    }


def reuse(grid: tuple[int, int], inner: int, subblock: tuple[int, int], block: tuple[int, int]) -> StructAttr:
    """Batches of B: a block of one batch per core."""
    return struct(
        "ttnn.matmul_multi_core_reuse_program_config",
        {
            "compute_with_storage_grid_size": grid,
            "in0_block_w": inner,
            "out_subblock_h": subblock[0],
            "out_subblock_w": subblock[1],
            "per_core_m": block[0],
            "per_core_n": block[1],
        },
    )


def attributes(op: Operation, machine: Machine, config: StructAttr) -> dict[str, Any]:
    """The attributes that a program config changes: the config, level 0's compute config, and the activation if the config has it."""
    changed: dict[str, Any] = {CONFIG: config}
    if not compute.given(op, COMPUTE):
        changed[COMPUTE] = compute.of_matmul(op, machine.architecture)
    if config.python().get("fused_activation") is not None:
        changed["activation"] = None
    return changed


def fused_of(op: Operation) -> Any:
    """The op's activation in the config's form; None without one, or if it stays an argument."""
    name = access.attr(op, "activation")
    fused = FUSED_ACTIVATIONS.get(str(name)) if name else None
    if fused and fused[0] == "GELU" and FAST in op.attributes:
        return {"op_type": "gelu", "params": (1.0,)}
    return {"op_type": fused[0].lower(), "params": fused[1]} if fused else None


def is_fp32_dest(op: Operation, machine: Machine) -> bool:
    config = access.attr(op, COMPUTE)
    if config is None:
        config = compute.of_matmul(op, machine.architecture).python()
    return bool(config.get("fp32_dest_acc_en"))


def _grids(count: int, limit: int) -> tuple[int, ...]:
    """Distinct numbers of tiles per core along one axis, over the possible numbers of cores."""
    return tuple(sorted({-(-count // cores) for cores in range(1, limit + 1)}))


def interleaved(op: Operation, machine: Machine, operands: dict[int, Memory], result: Memory | None) -> Iterator[Candidate]:
    """Candidates with an interleaved result, for any memories of the inputs."""
    shape = sizes(op, is_fp32_dest(op, machine))
    if shape is None:
        return
    fused = fused_of(op)
    if shape.batch > 1:
        yield from _batched(op, machine, shape, operands, result)
        return
    width, height = machine.grid
    blocks = [(rows, columns) for rows in _grids(shape.m, height) for columns in _grids(shape.n, width)]
    for rows, columns in _fewest(blocks, shape):
        grid = (-(-shape.n // columns), -(-shape.m // rows))
        if grid[0] > 1 and grid[1] > 1:
            for inner, subblock, part in _steps(shape, (rows, columns)):
                config = multicast(grid, inner, subblock, (rows, columns), fused, part)
                yield Candidate(f"{grid_text(grid)}, {rows}x{columns} tiles each", attributes(op, machine, config), operands, result)
    cores = width * height
    for in0 in (True, False):
        across, along = (shape.n, shape.m) if in0 else (shape.m, shape.n)
        if along > 64 or (across > 64 * along and along > 16):
            continue
        for block_width in sorted({-(-across // cores), -(-across // (cores // 2))}):
            block = (shape.m, block_width) if in0 else (block_width, shape.n)
            for inner, subblock, part in _steps(shape, block):
                used = -(-across // block_width)
                grid = machine.rectangle(used)
                config = multicast_1d(grid, inner, subblock, block, fused, in0, part)
                text = f"{cores_text(used, math.prod(grid))}, {block[0]}x{block[1]} tiles each"
                yield Candidate(text, attributes(op, machine, config), operands, result)


def _fewest(blocks: list[tuple[int, int]], shape: Sizes) -> list[tuple[int, int]]:
    """The blocks with the least work per core, ties with fewer tiles to read first."""

    def work(block: tuple[int, int]) -> tuple[int, int]:
        return block[0] * block[1], block[0] + block[1]

    return sorted(blocks, key=work)[:MOST_BLOCKS]


def _steps(shape: Sizes, block: tuple[int, int]) -> Iterator[tuple[int, tuple[int, int], tuple[int, int] | None]]:
    """(tiles of K per step, output subblock, part of the output block)."""
    rows, columns = block
    parts: list[tuple[int, int] | None] = [None]
    if rows * columns > 96:  # a whole block may not fit together with its inputs
        parts += [(rows // 2, columns)] if rows % 2 == 0 else []
        parts += [(rows, columns // 2)] if columns % 2 == 0 else []
    for part in parts:
        height, width = part or block
        for subblock in subblocks(height, width, shape.most_subblock, False):
            for inner in divisors(shape.k, MOST_INNER)[:5]:
                yield inner, subblock, part


def _batched(op: Operation, machine: Machine, shape: Sizes, operands: dict[int, Memory], result: Memory | None) -> Iterator[Candidate]:
    if access.attr(op, "activation") or len(op.operands) > 2:
        return
    batch_a = math.prod(access.shape(op.operands[0])[:-2])
    if batch_a != shape.batch:
        return
    for rows in divisors(shape.m, shape.m)[:4]:
        for subblock in subblocks(rows, shape.n, shape.most_subblock, False):
            for inner in divisors(shape.k, MOST_INNER)[:4]:
                config = reuse(machine.grid, inner, subblock, (rows, shape.n))
                used = min(shape.batch * shape.m // rows, math.prod(machine.grid))
                text = f"{cores_text(used, math.prod(machine.grid))}, {rows}x{shape.n} tiles of one batch entry each"
                yield Candidate(text, attributes(op, machine, config), operands, result)
