"""Candidates of sliding windows on shards: a convolution or pool on its input's cores."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import Memory

from alchemist.ir import access
from alchemist.ir.attributes import StructAttr
from alchemist.ir.layout import layout_of
from alchemist.optimizer.calls import NATURAL, NotAskable, ask, memory_of
from alchemist.optimizer.candidate import Candidate
from alchemist.optimizer.graph import Step
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.matmul import divisors
from alchemist.optimizer.sharded import images, is_image, is_whole

CONV_CONFIG = "conv2d_config"
HALO = "reallocate_halo_output"
MOST_BLOCKS = 6
"""Limit of candidate heights of the activation block."""
TWICE = ("enable_act_double_buffer", "enable_weights_double_buffer")
BUFFERS: dict[str, dict[str, tuple[str, ...]]] = {
    "HEIGHT_SHARDED": {"": (), ", weights twice": TWICE[1:]},
    "BLOCK_SHARDED": {"": (), ", buffers twice": TWICE, ", all of a window at once": ("full_inner_dim", *TWICE)},
}
"""What is held twice, so that a block arrives while another is computed with (on block shards both operands travel between cores), and whether a block has
all rows of a window or one of them."""


def halo_stays(attributes: Mapping[str, Any]) -> bool:
    """Whether the rows that a convolution gathers stay where they are, in the hole below its input: nothing is moved, but the result lies lower."""
    config = attributes.get(CONV_CONFIG)
    return isinstance(config, StructAttr) and config.python().get(HALO) is False


def blocks_of(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """A convolution's config without its halo setting."""
    config = attributes.get(CONV_CONFIG)
    return {name: value for name, value in config.python().items() if name != HALO} if isinstance(config, StructAttr) else {}


def convolution(step: Step, machine: Machine, l1_small_bytes: int) -> Iterator[list[Candidate]]:
    """Candidates on the input's shards: the result is on the same rows of cores. An input without later readers is freed after its halo is gathered."""
    op = step.op
    have = op.properties.get(CONV_CONFIG) or op.attributes.get(CONV_CONFIG)
    if not isinstance(have, StructAttr) or not is_image(op.operands[0]):
        return
    fixed = layout_of(op.operands[0].type) if not step.operands else None  # pixels that are sharded already stay there
    if fixed is not None and fixed.is_sharded:
        shapes: tuple[Memory, ...] = (memory_of(fixed),)
    elif [index for index, _ in step.operands] == [0]:
        shapes = images(op.operands[0], machine)
    else:
        return
    places = [index for index, _ in step.operands]
    frees = (0,) if 0 in step.last else ()
    for shards in shapes:
        small = access.struct(have.name, {**have.python(), "deallocate_activation": True, "act_block_h_override": 32})
        result = _natural(step, machine, shards, {CONV_CONFIG: small}, l1_small_bytes)  # blocks have no effect
        if result is None or result.shard is None:
            continue
        rows = result.shard[0][0] // 32
        lower = divisors(rows, rows)[1:]
        heights = [0, *(32 * part for part in (lower[: MOST_BLOCKS - 1] if shards.layout == "HEIGHT_SHARDED" else (*lower[: MOST_BLOCKS - 2], *lower[-1:])))]
        for stays in (False, True):
            candidates = []
            for height, (doubled, buffers) in itertools.product(dict.fromkeys(heights), BUFFERS[shards.layout].items()):
                changed = ({"act_block_h_override": height} if height else {}) | ({HALO: False} if stays else {})
                fields = {**have.python(), **({"deallocate_activation": True} if frees else {}), **changed, **dict.fromkeys(buffers, True)}
                label = f"on the input's shards{f', blocks of {height} rows' if height else ''}{doubled}{', halo where it is' if stays else ''}"
                attributes = {CONV_CONFIG: access.struct(have.name, fields)}
                candidates.append(Candidate(label, attributes, dict.fromkeys(places, shards), result, frees))
            yield candidates


def pool(step: Step, machine: Machine, l1_small_bytes: int) -> Iterator[list[Candidate]]:
    """Candidates on the input's shards."""
    op = step.op
    if [index for index, _ in step.operands] != [0] or not is_image(op.operands[0]):
        return
    for shards in images(op.operands[0], machine):
        result = _natural(step, machine, shards, {}, l1_small_bytes)
        if result is not None and result.shard is not None:
            yield [Candidate("on the input's shards", {}, {0: shards}, result)]


def _natural(step: Step, machine: Machine, shards: Memory, attributes: dict[str, Any], l1_small_bytes: int) -> Memory | None:
    """The memory in which the op creates its result by default."""
    try:
        answer = ask(step.op, machine.card, attributes, {0: shards}, NATURAL, l1_small_bytes)
    except (NotAskable, ShimError):
        return None
    if not answer.accepted or not answer.outputs or answer.outputs[0] is None or not is_whole(step.op.results[0]):
        return None
    return answer.outputs[0].memory
