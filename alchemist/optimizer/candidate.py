"""Candidates for one op: attributes and memories that may change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ttnn_shim.queries import CallAnswer, Memory


@dataclass(frozen=True, slots=True)
class Candidate:
    """attributes: IR attributes that change, by name (None leaves one out). operands: memories that tensors must have, by place among the
    op's operands; absent ones stay as they are. result: memory of the results, None for the op's own. label: for people.
    weights: memories that prepared weights are put into, by place.
    frees: operands whose memory is gone afterwards, whoever holds them: freed in the call, or overwritten by the result.
    """

    label: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    operands: Mapping[int, Memory] = field(default_factory=dict)
    result: Memory | None = None
    frees: tuple[int, ...] = ()
    weights: Mapping[int, Memory] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Priced:
    """A candidate that the library accepts, with the answer of its query."""

    candidate: Candidate
    answer: CallAnswer

    @property
    def ns(self) -> float:
        """Time of the kernels and of the gaps before them."""
        return self.answer.device_ns


SAFE = Candidate("as at level 0")
