"""Converts values to the dtype of the device, and computes the bounds within which outputs have to agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from alchemist.errors import InputError

# Outer bounds of `--check` (docs/check.md): PCC from the project's contract, relative L2 error the largest that PCC allows for a
# zero-mean output. noise: below it an error is rounding, one unit in the last place of bfloat16; sums in another order for float32.
LIMITS = {"bfloat16": {"pcc": 0.99, "rel_l2": 0.15, "noise": 2.0**-8}, "float32": {"pcc": 0.999, "rel_l2": 0.05, "noise": 1e-5}}


def to_stored(value: np.ndarray[Any, Any], dtype: str, name: str) -> np.ndarray[Any, Any]:
    """`value` in the TT-NN dtype `dtype`; integers are checked against its range.

    Raises:
        InputError: a value out of range.
    """
    import ml_dtypes

    target = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    if value.dtype == target:
        return value
    if target.kind in "iu" and value.size and value.dtype.kind != "b":
        limits = np.iinfo(target)
        low, high = value.min(), value.max()
        if low < limits.min or high > limits.max:
            raise InputError(
                f"{name}: values are out of range for the device's {dtype}",
                expected=f"{limits.min} to {limits.max}",
                got=f"{low} to {high}",
            )
    with np.errstate(over="ignore", invalid="ignore"):  # float32 values beyond bfloat16's range become inf, as on the device
        return value.astype(target)
