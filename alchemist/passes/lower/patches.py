"""Lowers image patches to rows of a matrix: image lines stay whole until one transpose; `ttnn.fold` concatenates the pixels of a patch."""

from __future__ import annotations

from functools import partial

from xdsl.ir import SSAValue

from alchemist.ir.access import shape
from alchemist.ir.layout import TTNNLayout
from alchemist.optimizer.machine import machine
from alchemist.passes.lower.context import ROW_MAJOR, Lowering, first_cores, layout

FEWEST_CORES = 0.5
"""Of the card's: height shards on fewer make the fold slower than interleaved memory."""


def rows_of_patches(c: Lowering, image: SSAValue, kernel: tuple[int, int]) -> SSAValue:
    """Row-major [N, C, H, W] -> [N, patches, W' * C * H'], with a patch's pixels in the order column, channel, row."""
    n, channels, height, width = shape(image)
    rows, columns = kernel
    x = c.reshape(image, (n, channels, height // rows, rows, width))
    x = c.reshape(c.permute(x, (0, 2, 1, 3, 4)), (n * (height // rows), 1, channels * rows, width))
    folded = c.fastest(x, *(partial(_folded, c, x, columns, cores) for cores in (0, *_even_cores(c, shape(x)[0]))))
    return c.reshape(folded, (n, height // rows * (width // columns), columns * channels * rows))


def _even_cores(c: Lowering, lines: int) -> tuple[int, ...]:
    """The largest number of cores that divides the lines of patches; 0 if it is small."""
    width, height = machine(c.options.card).grid
    most_cores = max(cores for cores in range(1, width * height + 1) if lines % cores == 0)
    return (most_cores,) if most_cores >= FEWEST_CORES * width * height else ()


def _folded(c: Lowering, lines: SSAValue, columns: int, cores: int) -> SSAValue:
    """[L, 1, C, W] -> [L, 1, W / columns, columns * C]. cores: of the height shards, 0 for interleaved memory."""
    count, _, depth, width = shape(lines)
    dtype, ranges = layout(lines).dtype, first_cores(cores, machine(c.options.card).grid[0])

    def rows(dims: tuple[int, ...]) -> TTNNLayout:
        where = ("l1", "height_sharded", (cores, 1), ranges) if cores else ("dram",)
        return TTNNLayout.make(dims, dtype, ROW_MAJOR, *where)

    pixels, patches = (count, 1, width, depth), (count, 1, width // columns, columns * depth)
    x = c.b.op("ttnn.transpose", [lines], {"dim0": 2, "dim1": 3}, [rows(pixels).type_for(pixels)])
    x = c.b.op("ttnn.fold", [x], {"stride_h": 1, "stride_w": columns}, [rows(patches).type_for(patches)])
    if cores:
        x = c.b.op("ttnn.to_memory_config", [x], {}, [TTNNLayout.make(patches, dtype, ROW_MAJOR).type_for(patches)])
    folded: SSAValue = x
    return folded
