"""Walks nested lists, tuples and dicts in arguments of a call: collects their leaves, or replaces them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def leaves(value: Any) -> Iterator[Any]:
    """Everything that is no list, tuple or dict, in order."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif type(value) is dict:
        for item in value.values():
            yield from leaves(item)
    else:
        yield value


def replaced(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with `change(leaf)` in the place of each leaf; subclasses of list, tuple and dict are leaves here."""
    if type(value) in (list, tuple):
        return type(value)(replaced(item, change) for item in value)
    if type(value) is dict:
        return {key: replaced(item, change) for key, item in value.items()}
    return change(value)
