"""A call with places, and what may stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

# Names for calls, beside those of the referee's calls. G: cores from (x, y) to (x, y). M: a memory config. Instead of the tensor that a call takes,
# H: one on the host, V: of the other layout, O: of another data type, K: without its first dimension, N: 32 values wider.
NAMES = """
def G(x0, y0, x1, y1):
    return ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(x0, y0), ttnn.CoreCoord(x1, y1))})
def M(layout, grid, shape, orientation="ROW_MAJOR", buffer="L1"):
    return ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, layout + "_SHARDED"), getattr(ttnn.BufferType, buffer),
        ttnn.ShardSpec(grid, shape, getattr(ttnn.ShardOrientation, orientation)))
def H(shape, dtype=BF16, layout=TILE, mem=DRAM):
    return ttnn.from_device(T(shape, dtype, layout, mem))
def V(shape, dtype=BF16, layout=TILE, mem=DRAM):
    return T(shape, dtype, RM if layout == TILE else TILE, mem)
def O(shape, dtype=BF16, layout=TILE, mem=DRAM):
    return T(shape, F32 if dtype == BF16 else BF16, layout, mem)
def K(shape, dtype=BF16, layout=TILE, mem=DRAM):
    return T(shape[1:], dtype, layout, mem)
def N(shape, dtype=BF16, layout=TILE, mem=DRAM):
    return T([*shape[:-1], sum(shape[-1:]) + 32], dtype, layout, mem)
HSM, WSM, BSM = ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG, ttnn.L1_WIDTH_SHARDED_MEMORY_CONFIG, ttnn.L1_BLOCK_SHARDED_MEMORY_CONFIG
"""
HEIGHT, WIDTH, BLOCK = 'M("HEIGHT", G(0, 0, 7, 0), [32, 256])', 'M("WIDTH", G(0, 0, 7, 0), [256, 32])', 'M("BLOCK", G(0, 0, 3, 3), [64, 64])'
BY_COLUMNS = 'M("BLOCK", G(0, 0, 3, 3), [64, 64], "COL_MAJOR")'
DRAM_WIDTH = 'M("WIDTH", G(0, 0, 7, 0), [256, 32], buffer="DRAM")'
PLACES = ["DRAM", "L1", HEIGHT, WIDTH, BLOCK, BY_COLUMNS, DRAM_WIDTH]
OUTPUTS = ["DRAM", "L1", "HSM", "WSM", "BSM", HEIGHT, WIDTH, BLOCK, BY_COLUMNS]


@dataclass(frozen=True)
class Family:
    """call: with {places}. bases: what stands in them. others: what else may, by place. pairs: of those with two changes, how many are taken."""

    call: str
    bases: tuple[dict[str, str], ...]
    others: dict[str, list[str]] = field(default_factory=dict)
    pairs: int = 12

    def calls(self) -> Iterator[str]:
        for base in self.bases:
            yield self._text(base)
            for place, values in self.others.items():
                for value in values:
                    if value != base.get(place):
                        yield self._text({**base, place: value})

    def two_changes(self) -> Iterator[str]:
        """The first base with two of its places changed: what one option does may depend on another."""
        base = self.bases[0]
        changes = [(place, value) for place, values in self.others.items() for value in values if value != base.get(place)]
        both = [{**base, **dict(pair)} for pair in combinations(changes, 2) if pair[0][0] != pair[1][0]]
        yield from map(self._text, both[:: max(1, len(both) // max(1, self.pairs))])

    def other_tensors(self) -> Iterator[str]:
        """The first call with one of its tensors changed."""
        parts = re.split(r"\bT\(", next(self.calls()))
        for index in range(1, len(parts)):
            for changed in "HVOKN":
                yield "T(".join(parts[:index]) + f"{changed}(" + "T(".join(parts[index:])

    def _text(self, values: dict[str, str]) -> str:
        text = self.call.replace("{config}", values.get("config", "")).replace("{", "\0{")
        for name, value in values.items():
            text = text.replace(f"\0{{{name}}}", value)
        return text.replace("\0", "")


def family(call: str, base: dict[str, str], pairs: int = 12, /, **others: list[str]) -> Family:
    """Of one base; the first of each list of others stands in it unless the base says otherwise."""
    return Family(call, ({**{place: values[0] for place, values in others.items()}, **base},), others, pairs)
