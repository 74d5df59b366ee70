"""Keeps images that convolutions read in L1: from DRAM the library pads each row of the image to tiles and removes the padding again."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ttnn_shim.queries import Memory
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import shape
from alchemist.ir.dialects import has_trait
from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.ir.location import sources_of
from alchemist.optimizer.apply import prepare_weights, retype
from alchemist.optimizer.movement import CARDS, device_ns

PASS = "images-in-l1"
BUDGET_BYTES = 128 << 10
"""Bytes of a core's L1 for all live images; convolutions need the rest for shards, halos and buffers."""
FEWEST_CORES = 56
"""Cores of a harvested Wormhole; images are interleaved over all of them."""
L1 = Memory("L1")
AS_FAST = 1.1
"""Ratio up to which two times count as equal: the cost model predicts nine of ten convolutions within this (docs/lab/accuracy.md)."""
_BYTES = {"bf16": 2, "f32": 4}


def leave_images_in_l1(func: FuncOp, l1_small: int) -> None:
    """Sets the memories of images in `func`. l1_small: bytes of the region that convolutions need."""
    ops = list(func.body.block.ops)
    place = {op: number for number, op in enumerate(ops)}
    used = [0] * len(ops)  # bytes of L1 on each core while an op runs
    read = dict.fromkeys(op.operands[0] for op in ops if has_trait(op, "convolution2d"))
    lines: set[object] = set()
    moved: set[SSAValue] = set()
    others = [op.results[0] for op in ops if len(op.results) == 1 and op.results[0] not in read]
    for image, limit in [*((image, 0.0) for image in read), *((image, AS_FAST) for image in read), *((image, 1.0) for image in others)]:
        values = _views(image) if image in read else [image]
        maker = values[0].owner
        if not isinstance(maker, Operation) or (limit and _line(maker) not in lines):
            continue
        if image not in read and any(other not in moved and _is_equal(other, image) for other in read):  # the last of equal blocks would be another one
            continue
        users = [use.operation for use in image.uses]
        alive = range(place[maker], 1 + max((place[user] for user in users), default=0))
        size = _bytes_per_core(image)
        if size is None or any(used[number] + size > BUDGET_BYTES for number in alive) or not _is_faster(maker, values, users, l1_small, limit):
            continue
        moved.add(image)
        for number in alive:
            used[number] += size
        for value in values:
            assert isinstance(value.owner, Operation)
            lines.add(_line(value.owner))
            retype(value, L1)
        for user in users:
            if has_trait(user, "convolution2d"):
                prepare_weights(user)


def _line(op: Operation) -> object:
    """The op and its statement in the model: if the image of one block is in L1, those of the other blocks may be, so that the blocks stay one function."""
    return op.name, tuple(info.frames[-1] if info.frames else "" for info in sources_of(op))


def _is_equal(one: SSAValue, two: SSAValue) -> bool:
    """Whether the images are results of one statement of the model, and of one size."""
    makers = [image.owner for image in (one, two)]
    return one.type == two.type and all(isinstance(maker, Operation) for maker in makers) and _line(makers[0]) == _line(makers[1])  # type: ignore[arg-type]


def _views(image: SSAValue) -> list[SSAValue]:
    """The values that share the image's memory: the computed value, its views, the image."""
    values = [image]
    while isinstance(op := values[0].owner, Operation) and op.name == "ttnn.reshape" and op.operands[0].has_one_use() and _keeps_tiles(op):
        values.insert(0, op.operands[0])
    return values


def _keeps_tiles(op: Operation) -> bool:
    before, after = shape(op.operands[0]), shape(op.results[0])
    rows = [(1, *dims)[-2] for dims in (before, after)]
    in_dram = _bytes_per_core(op.operands[0]) is not None
    return in_dram and before[-1:] == after[-1:] and (rows[0] == rows[1] or all(count % TILE_EDGE == 0 for count in rows))


def _bytes_per_core(image: SSAValue) -> int | None:
    """None if the image is not tiled and interleaved in DRAM."""
    layout, dims = layout_of(image.type), shape(image)
    if layout is None or layout.page != "tile" or layout.buffer != "dram" or layout.is_sharded or layout.dtype not in _BYTES:
        return None
    rows, columns = (-(-size // TILE_EDGE) for size in (1, 1, *dims)[-2:])
    tiles = math.prod(dims[:-2]) * rows * columns
    return -(-tiles // FEWEST_CORES) * TILE_EDGE**2 * _BYTES[layout.dtype]


def _is_faster(maker: Operation, values: Sequence[SSAValue], users: Sequence[Operation], l1_small: int, limit: float) -> bool:
    """values: the computed value and its views. limit: accepted time relative to the time in DRAM; 0: it has to be faster."""
    if len(maker.results) != 1:
        return False
    readers = [value.owner for value in values[1:]] + list(users)
    for card in CARDS:
        dram = _ns(maker, card, l1_small, None, None)
        l1 = _ns(maker, card, l1_small, None, L1)
        for reader in readers:
            assert isinstance(reader, Operation)
            memories = {index: L1 for index, value in enumerate(reader.operands) if value in values}
            dram += _ns(reader, card, l1_small, None, None)
            l1 += _ns(reader, card, l1_small, memories, L1 if any(value.owner is reader for value in values) else None)
        if dram == math.inf or (l1 > limit * dram if limit else l1 >= dram):
            return False
    return True


def _ns(op: Operation, card: str, l1_small: int, operands: dict[int, Memory] | None, result: Memory | None) -> float:
    """Infinite if the call is refused when images occupy their part of L1."""
    return device_ns([op], card, operands=operands, results=result, l1_small_bytes=l1_small, l1_taken_bytes=BUDGET_BYTES)
