"""Calls with one thing changed at a time: on both sides of the limits of what an op takes, and of what it runs.

A family is a call with places, what stands there in calls that are taken (bases), and what else may stand there. It is about how configs, shards
and arguments go together, which the referee's calls show few of; what the real library says of them was not asked.
"""

from __future__ import annotations

from changed_calls import attention, elementwise, images, movement, norms, products, rare
from changed_calls.family import NAMES

__all__ = ["NAMES", "changed_calls"]


def changed_calls() -> list[str]:
    families = [family for topic in (products, norms, attention, images, elementwise, movement, rare) for family in topic.FAMILIES]
    return list(dict.fromkeys(call for family in families for call in (*family.calls(), *family.other_tensors())))
