"""How a tensor prints, and `set_printoptions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from ttnn_shim.errors import InvalidArgument

_INDENT = " " * len("ttnn.Tensor(")
_EDGE = 2


@dataclass
class Options:
    """profile: "empty", "short" (first and last two of each dimension), "full". sci_mode None: as the values need."""

    profile: str = "short"
    sci_mode: bool | None = None
    precision: int = 4


options = Options()


def set_printoptions(*, profile: str, sci_mode: bool | str | None = None, precision: int | None = None) -> None:
    """Changes how tensors print. profile: "empty", "short", "full"; sci_mode: True, False, None or "default"; precision: digits."""
    if profile.lower() not in ("empty", "short", "full"):
        raise InvalidArgument(f"expected profile empty, short or full, got {profile!r}", op="ttnn.set_printoptions")
    options.profile = profile.lower()
    if not (sci_mode is None or isinstance(sci_mode, bool) or sci_mode == "default"):
        raise InvalidArgument(f"expected sci_mode True, False, None or 'default', got {sci_mode!r}", op="ttnn.set_printoptions")
    options.sci_mode = sci_mode if isinstance(sci_mode, bool) else None
    if precision is not None:
        if not isinstance(precision, int) or precision < 0:
            raise InvalidArgument(f"expected precision >= 0, got {precision!r}", op="ttnn.set_printoptions")
        options.precision = precision


def values_text(array: np.ndarray[Any, Any]) -> str:
    """The bracketed values of an array, float32 or integer."""
    if options.profile == "empty":
        return "..."
    scientific = options.sci_mode if options.sci_mode is not None else _needs_scientific(array)

    def number(value: Any) -> str:
        if array.dtype.kind != "f":
            return f"{int(value):>5}"
        if not np.isfinite(value):
            return f"{float(value):>{options.precision + 3}}"
        return f"{float(value):>{options.precision + (7 if scientific else 3)}.{options.precision}{'e' if scientific else 'f'}}"

    return _block(array, number, 1)


def _needs_scientific(array: np.ndarray[Any, Any]) -> bool:
    if array.dtype.kind != "f":
        return False
    sizes = np.abs(array[np.isfinite(array) & (array != 0)])
    if sizes.size == 0:
        return False
    low, high = float(sizes.min()), float(sizes.max())
    return high / low > 1000 or high > 1e8 or low < 1e-4


def _block(array: np.ndarray[Any, Any], number: Any, depth: int) -> str:
    if array.ndim == 0:
        return str(number(array[()]))
    full = options.profile == "full" or array.shape[0] <= 2 * _EDGE
    rows = list(array) if full else [*array[:_EDGE], None, *array[-_EDGE:]]
    gap = " ..." if array.ndim == 1 else "..."
    parts = [gap if row is None else _block(row, number, depth + 1) for row in rows]
    if array.ndim == 1:
        return f"[{', '.join(parts)}]"
    between = "," + "\n" * min(array.ndim - 1, 2) + _INDENT + " " * depth
    return f"[{between.join(parts)}]"
