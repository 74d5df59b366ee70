"""Converts images of few channels from sharded planes to sharded pixels (`ttnn.experimental.convert_to_hwc`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.attributes import Range, StructAttr
from alchemist.ir.layout import TILE_EDGE, TTNNLayout
from alchemist.optimizer.apply import prepare_weights
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.matmul import divisors
from alchemist.optimizer.movement import device_ns
from alchemist.optimizer.windows import CONV_CONFIG
from alchemist.passes.lower.context import ROW_MAJOR, Lowering, first_cores

WORD_ELEMENTS = 8
"""bfloat16 values of an aligned word of L1 (16 bytes): shards begin and pixels end at whole words."""
FEWEST_CORES = 0.5
"""Least share of the card's cores: on fewer cores tiled planes are as fast."""
MOST_L1 = 0.35
"""Share of a core's L1 for planes and pixels: the convolution's result and blocks need the rest."""


@dataclass(frozen=True, slots=True)
class Shards:
    """cores: how many hold planes and pixels. ranges: the first ones of the card, row by row."""

    cores: int
    ranges: tuple[Range, ...]


def shards(machine: Machine, images: int, planes: int, size: int) -> Shards | None:
    """The most cores over which `images` of `planes` x `size` pixels fall evenly, as planes and as pixels; None for few cores or too many pixels.

    Several images must fall evenly over the cores: the library takes uneven shards of one image alone.
    """
    if planes > TILE_EDGE:
        return None
    width, height = machine.grid
    for cores in range(width * height, int(FEWEST_CORES * width * height) - 1, -1):
        if size % (cores * WORD_ELEMENTS) or images * size % (cores * TILE_EDGE):
            continue
        per_core_bytes = images * size // cores * (planes + channels_of(planes)) * 2
        if per_core_bytes > MOST_L1 * machine.l1_bytes:
            return None
        return Shards(cores, first_cores(cores, width))
    return None


def channels_of(planes: int) -> int:
    """Channels of a pixel, in whole words."""
    return -(-planes // WORD_ELEMENTS) * WORD_ELEMENTS


def on_shards(c: Lowering, planes: SSAValue, where: Shards, dtype: str) -> SSAValue:
    """[1, N, C, P] in rows -> [1, 1, N*P, C] in rows of pixels on height shards."""
    dims = shape(planes)
    pixels = (1, 1, dims[1] * dims[3], channels_of(dims[2]))
    columns = TTNNLayout.make(dims, dtype, ROW_MAJOR, "l1", "width_sharded", (1, where.cores), where.ranges)
    rows = TTNNLayout.make(pixels, dtype, ROW_MAJOR, "l1", "height_sharded", (where.cores, 1), where.ranges)
    planes = c.b.op("ttnn.to_memory_config", [planes], {}, [columns.type_for(dims)])
    return c.b.value("ttnn.convert_to_hwc", [planes], {}, [rows.type_for(pixels)])


def fit_blocks(op: Operation, rows: int, card: str, l1_small_bytes: int) -> bool:
    """Gives a convolution whose result is `rows` high on each core the tallest blocks that the library has room for; False where it has none."""
    have = op.properties.get(CONV_CONFIG) or op.attributes.get(CONV_CONFIG)
    assert isinstance(have, StructAttr)
    tiles = rows // TILE_EDGE
    for height in (0, *(TILE_EDGE * part for part in reversed(divisors(tiles, tiles)))):
        config = access.struct(have.name, {**have.python(), "act_block_h_override": height}) if height else have
        if device_ns([op], card, {CONV_CONFIG: config}, l1_small_bytes=l1_small_bytes) < math.inf:
            access.set_attr(op, CONV_CONFIG, config)
            prepare_weights(op)
            return True
    return False
