"""Equality and hash of the plain value classes (coordinates, shard specs, memory configs ...)."""

from __future__ import annotations

from typing import Any


class Keyed:
    """Equal to values of its own class with an equal `_key()`."""

    __slots__ = ()

    def _key(self) -> Any:
        raise NotImplementedError

    def __eq__(self, arg: object) -> bool:
        return isinstance(arg, type(self)) and bool(self._key() == arg._key())

    def __ne__(self, arg: object) -> bool:
        return not self.__eq__(arg)

    def __hash__(self) -> int:
        return hash(self._key())
