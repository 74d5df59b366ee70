"""Calls with one thing changed at a time: on both sides of the limits of what an op takes, and of what it runs.

A family is a call with places, what stands there in calls that are taken (bases), and what else may stand there. It is about how configs, shards
and arguments go together, which the referee's calls show few of; what the real library says of them was not asked.
"""

from __future__ import annotations

from tools.behaviour_diff.questions.changed_calls import attention, corners, elementwise, images, movement, norms, products, rare
from tools.behaviour_diff.questions.changed_calls.family import NAMES

__all__ = ["NAMES", "changed_calls", "further_calls"]


_FAMILIES = [family for topic in (products, norms, attention, images, elementwise, movement, corners) for family in topic.FAMILIES]


def changed_calls() -> list[str]:
    return list(dict.fromkeys(call for family in (*_FAMILIES, *rare.FAMILIES) for call in family.calls()))


def further_calls() -> list[str]:
    """With two changes, or with another tensor."""
    found = [call for family in (*_FAMILIES, *rare.FAMILIES) for call in family.other_tensors()]
    return list(dict.fromkeys([*found, *(call for family in _FAMILIES for call in family.two_changes())]))
