"""The arguments of a call as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_MAX_TEXT = 200


def argument_texts(names: Iterable[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """(parameter, value as text) of a call."""
    named = [*zip(names, args, strict=False), *kwargs.items()]
    return tuple((name, _text(value)) for name, value in named)


def _text(value: Any) -> str:
    if hasattr(value, "_handle") and hasattr(value, "padded_shape"):
        return f"Tensor({list(value.shape)}, {value.dtype.name}, {value.layout.name})"
    if isinstance(value, list | tuple) and any(hasattr(item, "_handle") for item in value):
        return "[" + ", ".join(_text(item) for item in value) + "]"
    return repr(value)[:_MAX_TEXT]
