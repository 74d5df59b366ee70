"""Costs of convolutions with many groups, whole and split.

The library pads the weights of groups with zeros to those of all channels (tt-metal #25523), so that the time grows with the square of the channels.
Convolutions of some of the groups are cheaper in total.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import CallAnswer, Memory, Record, Spec, query

from alchemist.optimizer.graph import DRAM, L1
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.placement import RESHARD_NS
from alchemist.optimizer.sharded import MOST_JOINED, block_shards, height_shards
from alchemist.optimizer.windows import BUFFERS

TILE = 32
DTYPES = {"bf16": "bfloat16", "f32": "float32"}
MOST_PARTS = 12
"""Limit of parts: each is a product, a convolution, and a part of the weights of both."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """A convolution of images [batch, height, width, channels] after a product that computes its channels from `before`.

    channels, out: of operand and result, `groups` parts each. padding: top and bottom, left and right.
    """

    batch: int
    height: int
    width: int
    before: int
    channels: int
    out: int
    groups: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int, int, int]
    dilation: tuple[int, int]
    dtype: str
    l1_small_bytes: int

    @property
    def pixels(self) -> int:
        return self.batch * self.height * self.width

    @property
    def out_pixels(self) -> int:
        sides = zip((self.height, self.width), self.kernel, self.stride, (self.padding[:2], self.padding[2:]), self.dilation, strict=True)
        return self.batch * math.prod((size + sum(pads) - reach * (taps - 1) - 1) // step + 1 for size, taps, step, pads, reach in sides)

    def of(self, channels: int) -> Grouped:
        """The convolution with another number of channels: some of the groups, or groups of zeros added."""
        groups = channels * self.groups // self.channels
        return replace(self, channels=channels, out=groups * self.out // self.groups, groups=groups)


@cache
def widths(whole: Grouped, machine: Machine) -> tuple[int, ...]:
    """Channels of each part that the clock would split the convolution into, () where it stays whole: a gain must exceed the clock's error.

    Parts are of whole tiles on both sides. The last one is filled up with groups of zeros.
    """
    units = [width for width in range(TILE, whole.channels, TILE) if width * whole.groups % whole.channels == 0 and whole.of(width).out % TILE == 0]
    best_ns, _ = _ns(whole, machine)
    best: tuple[int, ...] = ()
    for unit in reversed(units):
        parts = _dealt(whole.channels, unit)
        if len(parts) < 2 or len(parts) > min(MOST_PARTS, MOST_JOINED):
            continue
        ns_of = {part: _ns(whole.of(part), machine) for part in dict.fromkeys(parts)}
        joined = _joined_ns(whole, parts, machine)
        total = sum(ns_of[part][0] + ns_of[part][1] for part in parts) + joined + 2 * RESHARD_NS * (len(parts) - 1)
        if total < best_ns:
            best_ns, best = total, parts
    return best


def _dealt(channels: int, unit: int) -> tuple[int, ...]:
    """Parts of `unit` channels and one with the rest, padded to whole tiles."""
    full, rest = divmod(-(-channels // TILE) * TILE, unit)
    return (unit,) * full + ((rest,) if rest else ())


@cache
def _ns(part: Grouped, machine: Machine) -> tuple[float, float]:
    """The product and the convolution where they are fastest, and what a second price of the convolution must differ by; infinite where they have no room."""
    answers = [answer for memory in _shards(part, machine) for answer in _windows(part, memory, machine)]
    best = min(answers, key=lambda answer: answer.device_ns, default=None)
    product = _asked(
        "ttnn.linear",
        [_image(part.pixels, part.before, part.dtype, L1), Spec((part.before, part.channels), DTYPES[part.dtype])],
        machine,
        memory_config=L1,
    )
    if best is None or product is None:
        return math.inf, 0.0
    return best.device_ns + product.device_ns, best.ratio_error_ns


def _shards(part: Grouped, machine: Machine) -> Iterator[Memory]:
    rows, columns = -(-part.pixels // TILE), -(-part.channels // TILE)
    yield from height_shards(rows, columns, machine)
    yield from block_shards(rows, columns, machine)


def _windows(part: Grouped, memory: Memory, machine: Machine) -> Iterator[CallAnswer]:
    for rows in (0, TILE, 4 * TILE):
        for buffers in BUFFERS[memory.layout].values():
            fields: dict[str, Any] = {"deallocate_activation": True, **({"act_block_h_override": rows} if rows else {}), **dict.fromkeys(buffers, True)}
            answer = _asked(
                "ttnn.conv2d",
                [],
                machine,
                part.l1_small_bytes,
                input_tensor=_image(part.pixels, part.channels, part.dtype, memory),
                weight_tensor=Spec((part.out, part.channels // part.groups, *part.kernel), DTYPES[part.dtype], "row_major", on_host=True),
                in_channels=part.channels,
                out_channels=part.out,
                batch_size=part.batch,
                input_height=part.height,
                input_width=part.width,
                kernel_size=part.kernel,
                stride=part.stride,
                padding=part.padding,
                dilation=part.dilation,
                groups=part.groups,
                conv_config=Record("Conv2dConfig", tuple(fields.items())),
            )
            if answer is not None:
                yield answer


def _joined_ns(whole: Grouped, parts: Sequence[int], machine: Machine) -> float:
    """Time to concatenate the parts' results, on shards if they are sharded."""
    outs = [whole.of(part).out for part in parts]
    rows, limit = -(-whole.out_pixels // TILE), math.inf
    for shards in (height_shards, block_shards):
        places = [next(shards(rows, -(-out // TILE), machine), None) for out in (*outs, sum(outs))]
        if all(places):
            images = [_image(whole.out_pixels, out, whole.dtype, place) for out, place in zip(outs, places, strict=False) if place]
            answer = _asked("ttnn.concat", [images], machine, dim=3, memory_config=places[-1])
            limit = min(limit, answer.device_ns) if answer is not None else limit
    if limit == math.inf:
        answer = _asked("ttnn.concat", [[_image(whole.out_pixels, out, whole.dtype, L1) for out in outs]], machine, dim=3, memory_config=L1)
        limit = answer.device_ns if answer is not None else limit
    return limit


def _image(pixels: int, channels: int, dtype: str, memory: Memory = DRAM) -> Spec:
    return Spec((1, 1, pixels, channels), DTYPES[dtype], memory=memory)


def _asked(call: str, inputs: list[Any], machine: Machine, l1_small_bytes: int = 0, **arguments: Any) -> CallAnswer | None:
    """The query's answer; None if the library refuses the call."""
    try:
        answer = query(call, inputs, card=machine.card, l1_small_bytes=l1_small_bytes, **arguments)
    except ShimError:
        return None
    return answer if answer.accepted else None
