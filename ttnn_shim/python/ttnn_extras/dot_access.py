"""`ttnn.dot_access`: dictionaries whose entries are attributes as well."""

from __future__ import annotations

from typing import Any


class DotAccessDict(dict[Any, Any]):
    """A dictionary that reads and deletes entries by attribute too; a missing one is a KeyError, as in the real package."""

    __getattr__ = dict.__getitem__
    __delattr__ = dict.__delitem__


def make_dot_access_dict(dictionary: dict[Any, Any], *, ignore_types: type | tuple[type, ...] | None = None) -> Any:
    """`dictionary` and the dictionaries in it as DotAccessDict. Those of `ignore_types` stay as they are."""
    if isinstance(dictionary, DotAccessDict) or (ignore_types is not None and isinstance(dictionary, ignore_types)):
        return dictionary
    entries = {key: make_dot_access_dict(value, ignore_types=ignore_types) if isinstance(value, dict) else value for key, value in dictionary.items()}
    return DotAccessDict(entries)
