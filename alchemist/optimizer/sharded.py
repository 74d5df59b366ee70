"""Candidates with tensors in block shards: matmul, norms, elementwise ops. Only even shards: an uneven one leaves the fast programs.

Rules of ttnn 0.81.1 that hold here because the simulator is laxer: a sharded result takes subblocks of height 1 or of the whole width; a norm's
program config has the grid and blocks of the tensor's shards; an activation beside a program config on a sharded input is part of the config.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from ttnn_shim.queries import Memory
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import struct
from alchemist.ir.dialects import named
from alchemist.ir.layout import layout_of, tile_padded
from alchemist.optimizer import compute, matmul, stream
from alchemist.optimizer.calls import IN_PLACE, OVERWRITING
from alchemist.optimizer.candidate import Candidate
from alchemist.optimizer.graph import DRAM, L1, Step
from alchemist.optimizer.machine import Machine

Family = Callable[[Step, Machine], Iterator[list[Candidate]]]
FEWEST_CORES = 0.5  # least share of the card's cores: with fewer, the op is slower than interleaved
FEWEST_BLOCKS = 0.4  # in blocks: a small image of many channels gives each core less to do, and takes its weights to fewer
MOST_WASTE = 1.13  # limit of shard rows per row of the tensor
MOST_HEIGHTS = 2
MOST_BLOCKS = 3
MOST_JOINED = 16
"""Limit of sharded tensors that the library concatenates."""
NORM_CONFIG = "alchemist.program_config"


def tiles_of(value: SSAValue) -> tuple[int, int]:
    """Rows and columns of the collapsed tensor, in tiles."""
    padded = tile_padded(access.shape(value))
    return math.prod(padded[:-1]) // 32, padded[-1] // 32


def block(value: SSAValue, machine: Machine) -> Memory | None:
    """Even block shards on the largest grid that divides the tensor, None where that is small or rows have no padding for whole tiles."""
    if not is_whole(value):
        return None
    rows, columns = tiles_of(value)
    height = max(part for part in range(1, machine.grid[1] + 1) if rows % part == 0)
    width = max(part for part in range(1, machine.grid[0] + 1) if columns % part == 0)
    if height * width < FEWEST_CORES * machine.grid[0] * machine.grid[1] or height == 1 or width == 1:
        return None
    return Memory("L1", "BLOCK_SHARDED", ((rows // height * 32, columns // width * 32), (0, 0, width - 1, height - 1), "ROW_MAJOR"))


def corners_of(cores: int, machine: Machine) -> tuple[int, ...]:
    """Ranges of the first cores, row by row, as `num_cores_to_corerangeset` returns them."""
    width = machine.grid[0]
    full, rest = divmod(cores, width)
    return ((0, 0, width - 1, full - 1) if full else ()) + ((0, full, rest - 1, full) if rest else ())


def heights(value: SSAValue, machine: Machine) -> Iterator[Memory]:
    """Height shards (all columns of some rows per core) of a flat image."""
    return height_shards(*tiles_of(value), machine)


def height_shards(rows: int, columns: int, machine: Machine) -> Iterator[Memory]:
    """Even shards, largest number of cores first; then, if lower, those whose last core has fewer rows."""
    cores = machine.grid[0] * machine.grid[1]
    even = [part for part in range(cores, 0, -1) if rows % part == 0 and part >= FEWEST_CORES * cores][:MOST_HEIGHTS]
    height = -(-rows // cores)
    limit = -(-rows // height)
    for part in (*even, *((limit,) if limit >= FEWEST_CORES * cores and (not even or height < rows // even[0]) else ())):
        yield Memory("L1", "HEIGHT_SHARDED", ((-(-rows // part) * 32, columns * 32), corners_of(part, machine), "ROW_MAJOR"))


def blocks(value: SSAValue, machine: Machine) -> Iterator[Memory]:
    """Block shards of a flat image."""
    return block_shards(*tiles_of(value), machine)


def block_shards(rows: int, columns: int, machine: Machine) -> Iterator[Memory]:
    """Those of as many tiles on their largest even width; rows may leave a little of the last row of cores empty, most cores first. A row of blocks lies
    on a row of cores or, turned, on a column of them: of a grid that is not square one way takes more cores."""
    ways = [(machine.grid, "ROW_MAJOR"), (machine.grid[::-1], "COL_MAJOR")]
    for (across, down), orientation in ways if machine.grid[0] != machine.grid[1] else ways[:1]:
        width = max(part for part in range(1, across + 1) if columns % part == 0)
        fits: dict[int, int] = {}
        for part in range(down, 1, -1):
            height = -(-rows // part)
            if -(-rows // height) == part and height * part <= rows * MOST_WASTE and part * width >= FEWEST_BLOCKS * across * down:
                fits.setdefault(height, part)
        if width == 1:
            continue
        for height, part in list(fits.items())[:MOST_BLOCKS]:
            is_column_major = orientation == "COL_MAJOR"
            if not is_column_major or part != width:  # both orientations of a square are equal
                corner = (part - 1, width - 1) if is_column_major else (width - 1, part - 1)
                yield Memory("L1", "BLOCK_SHARDED", ((height * 32, columns // width * 32), (0, 0, *corner), orientation))


def images(value: SSAValue, machine: Machine) -> tuple[Memory, ...]:
    """Shards for a flat image [1, 1, N*H*W, C]; a row-major one has only even shards, as it cannot be padded."""
    if not is_whole(value):
        return ()
    memories_, layout = (*heights(value, machine), *blocks(value, machine)), layout_of(value.type)
    if layout is None or layout.page == "tile":
        return memories_
    rows = math.prod(access.shape(value)[:-1])
    return tuple(shards for shards in memories_ if shards.shard is not None and shards.shard[0][0] * _rows_of_shards(shards) == rows)


def is_whole(value: SSAValue) -> bool:
    """Whether shards of whole tiles fit the value: it is tiled, or its rows and columns are multiples of a tile."""
    layout = layout_of(value.type)
    shape = access.shape(value)
    return layout is None or layout.page == "tile" or (shape[-1] % 32 == 0 and math.prod(shape[:-1]) % 32 == 0)


def is_image(value: SSAValue) -> bool:
    """A flat image [1, 1, N*H*W, C]: what convolutions read and write."""
    return len(access.shape(value)) == 4 and access.shape(value)[:2] == (1, 1)


def memories(value: SSAValue, machine: Machine) -> tuple[Memory, ...]:
    """Candidate shards for a value: several for an image, even blocks for other tensors."""
    if is_image(value):
        return images(value, machine)
    if tiles_of(value)[0] == 1 and is_whole(value):
        return stream.widths(value, machine)
    shards = block(value, machine)
    return () if shards is None else (shards,)


def blocks_of(memory: Memory) -> tuple[int, int]:
    """Rows and columns of blocks: with column-major orientation, a row of blocks is on a column of cores."""
    assert memory.shard is not None
    return grid_of(memory) if memory.shard[2] == "COL_MAJOR" else grid_of(memory)[::-1]


def _rows_of_shards(memory: Memory) -> int:
    return cores_of(memory) if memory.layout == "HEIGHT_SHARDED" else blocks_of(memory)[0]


def grid_of(memory: Memory) -> tuple[int, int]:
    """Columns and rows of cores of a rectangle."""
    assert memory.shard is not None
    x0, y0, x1, y1 = memory.shard[1][:4]
    return x1 - x0 + 1, y1 - y0 + 1


def cores_of(memory: Memory) -> int:
    """Cores of all ranges."""
    assert memory.shard is not None
    corners = memory.shard[1]
    return sum((corners[i + 2] - corners[i] + 1) * (corners[i + 3] - corners[i + 1] + 1) for i in range(0, len(corners), 4))


def _shard_tiles(memory: Memory) -> tuple[int, int]:
    assert memory.shard is not None
    return memory.shard[0][0] // 32, memory.shard[0][1] // 32


def linear(step: Step, machine: Machine, target: Memory | None = None) -> Iterator[list[Candidate]]:
    """2-D multicast with block shards on either side. target: the result's shards instead of the largest even ones."""
    op = step.op
    shape = matmul.sizes(op, matmul.is_fp32_dest(op, machine))
    moving = [index for index, _ in step.operands]
    if shape is None or shape.batch > 1 or not step.results or moving not in ([0], []):  # [] reads an input of the model, in DRAM
        return
    fused = matmul.fused_of(op)
    if access.attr(op, "activation") and fused is None:
        return
    if target is None and is_image(op.results[0]):
        yield from _tall(step, machine, shape, fused)
    if target is None:
        yield from stream.products(step, machine, shape)
    inside, outside = _blocks(op.operands[0], machine), [target] if target else _blocks(op.results[0], machine)
    pairs = [(a, c) for a in inside for c in outside] + [(a, c) for a in inside for c in (L1, DRAM)] + [(a, c) for a in (L1, DRAM) for c in outside]
    for a, result in pairs:
        if (not moving and a != DRAM) or (target is not None and (result != target or target.layout != "BLOCK_SHARDED")):
            continue
        shards = [memory for memory in (a, result) if memory.shard is not None]
        grid = grid_of(shards[0])
        if any(grid_of(memory) != grid or _shard_tiles(memory)[0] != _shard_tiles(shards[0])[0] for memory in shards):
            continue
        rows, columns = _shard_tiles(shards[0])[0], -(-shape.n // grid[0])
        width = _shard_tiles(a)[1] if a.shard is not None else shape.k
        candidates = []
        for subblock in matmul.subblocks(rows, columns, shape.most_subblock, result.shard is not None):
            for inner in matmul.divisors(math.gcd(width, shape.k), matmul.MOST_INNER)[:5]:
                config = matmul.multicast(grid, inner, subblock, (rows, columns), fused)
                label = f"{matmul.grid_text(grid)}, {rows}x{columns} tiles each"
                candidates.append(Candidate(label, matmul.attributes(op, machine, config), {0: a} if moving else {}, result))
        yield candidates


def _blocks(value: SSAValue, machine: Machine) -> list[Memory]:
    """Row-major block shards: the program configs here send operands along rows of cores."""
    return [memory for memory in memories(value, machine) if memory.shard is not None and memory.layout == "BLOCK_SHARDED" and memory.shard[2] == "ROW_MAJOR"]


def _tall(step: Step, machine: Machine, shape: matmul.Sizes, fused: Any) -> Iterator[list[Candidate]]:
    """1-D multicast of the weights: every core has some rows of A and the same rows of the result."""
    op = step.op
    moving = bool(step.operands)
    inside = {cores_of(memory): memory for memory in heights(op.operands[0], machine)}
    outside = {cores_of(memory): memory for memory in heights(op.results[0], machine)}
    for cores, a in inside.items():
        c = outside[cores]
        rows = _shard_tiles(a)[0]
        for pair in ((a, c), (L1, c), (DRAM, c), (a, L1)) if moving else ((DRAM, c),):
            candidates = []
            for subblock in matmul.subblocks(rows, shape.n, shape.most_subblock, pair[1].shard is not None):
                for inner in matmul.divisors(shape.k, shape.k)[:5]:
                    config = matmul.multicast_1d(machine.rectangle(cores), inner, subblock, (rows, shape.n), fused, False)
                    label = f"{cores} cores, {rows}x{shape.n} tiles each"
                    candidates.append(Candidate(label, matmul.attributes(op, machine, config), {0: pair[0]} if moving else {}, pair[1]))
            yield candidates


def norm(step: Step, machine: Machine) -> Iterator[list[Candidate]]:
    """Equal shards for input and result."""
    op = step.op
    moving = [index for index, _ in step.operands]
    if not step.results or any(access.shape(op.operands[index]) != access.shape(op.operands[0]) for index in moving):
        return
    whole = block(op.operands[0], machine)
    for shards in (whole,) if whole is not None else stream.widths(op.operands[0], machine) if tiles_of(op.operands[0])[0] == 1 else ():
        yield from _normed(op, moving, shards)


def _normed(op: Operation, moving: list[int], shards: Memory) -> Iterator[list[Candidate]]:
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
    yield [Candidate(f"{matmul.grid_text(grid_of(shards))}, {height}x{width} tiles each", changed, dict.fromkeys(moving, shards), shards)]


OF_OPERANDS = ("alchemist.lhs_activations", "alchemist.rhs_activations")
"""Fused functions of operands, which the in-place call does not support."""


def may_overwrite(step: Step) -> bool:
    """Whether the result may overwrite an operand: sums of images, products of a gate, if three tensors would not fit."""
    op = step.op
    if op.name not in OVERWRITING or [index for index, _ in step.operands] != [0, 1] or any(name in op.attributes for name in OF_OPERANDS):
        return False
    return is_image(op.results[0]) if op.name == "ttnn.add" else access.shape(op.operands[0]) == access.shape(op.operands[1])


def elementwise(step: Step, machine: Machine) -> Iterator[list[Candidate]]:
    """Equal shards everywhere; beside a sharded first operand the second may be interleaved."""
    op = step.op
    if not step.results or len({access.shape(value) for value in (*(op.operands[index] for index, _ in step.operands), op.results[0])}) > 1:
        return
    moving = [index for index, _ in step.operands]
    for shards in memories(op.results[0], machine) if moving else ():
        yield [Candidate("sharded", {}, dict.fromkeys(moving, shards), shards)]
        for place in step.last if may_overwrite(step) else ():  # the older operand is usually higher in memory, so that no hole is left above the result
            yield [Candidate("sharded, in place", {IN_PLACE: place}, dict.fromkeys(moving, shards), shards, (place,))]
        if moving == [0, 1]:
            for other in (L1, DRAM):
                yield [Candidate("sharded and interleaved", {}, {0: shards, 1: other}, shards)]


def joined(step: Step, machine: Machine) -> Iterator[list[Candidate]]:
    """Concatenates images on the cores that hold their pixels: whole tiles of channels are copied."""
    op = step.op
    moving, result = [index for index, _ in step.operands], op.results[0]
    rank = len(access.shape(result))
    if not is_image(result) or moving != list(range(len(op.operands))) or len(moving) > MOST_JOINED or int(access.attr(op, "dim")) % rank != rank - 1:
        return
    if any(access.shape(value)[-1] % 32 for value in op.operands):
        return
    for shards in images(result, machine):
        assert shards.shard is not None
        candidates = [memory for value in op.operands for memory in images(value, machine) if _on_same_cores(memory, shards)]
        if len(candidates) == len(moving):
            yield [Candidate("on the operands' shards", {}, dict(zip(moving, candidates, strict=True)), shards)]


def _on_same_cores(first: Memory, second: Memory) -> bool:
    """Whether both have shards of equally many rows on the same cores."""
    assert first.shard is not None
    assert second.shard is not None
    return first.layout == second.layout and first.shard[1:] == second.shard[1:] and first.shard[0][0] == second.shard[0][0]


SHARDED: dict[str, Family] = {
    **dict.fromkeys(named("ttnn", "product"), linear),
    **dict.fromkeys(named("ttnn", "row_norm"), norm),
    "ttnn.concat": joined,
    **dict.fromkeys(named("ttnn", "on_shards"), elementwise),
}
