"""Names a constant after its values if no source names it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

UNKNOWN = "constant"


def name_of_values(values: npt.ArrayLike) -> str:
    """`positions` count from 0 along one dimension, an `identity` matrix, `one_hot` rows or columns, a `causal_mask`, another `mask` of zeros and ones (or
    minus infinity), `ones`; else `constant`."""
    array = np.asarray(values)
    if array.size < 2 or array.dtype == object:
        return UNKNOWN
    distinct = np.unique(array)
    if distinct.size == 1:
        return {0.0: "zeros", 1.0: "ones"}.get(float(distinct[0]), UNKNOWN)
    line = array.reshape(-1)
    if _counts(array):
        return "positions"
    of_ones = array.dtype == np.bool_ or set(distinct.tolist()) == {0, 1}
    square = array.ndim >= 2 and array.shape[-1] == array.shape[-2] and array.size == array.shape[-1] ** 2
    if square and np.array_equal(line.reshape(array.shape[-2:]), np.eye(array.shape[-1], dtype=array.dtype)):
        return "identity"
    if of_ones and array.ndim == 2 and any(bool((array.sum(axis) == 1).all()) for axis in (0, 1)):
        return "one_hot"
    if of_ones or (distinct.size == 2 and distinct[1] == 0 and distinct[0] < -1e4):
        visible = line.reshape(array.shape[-2:]) == distinct[1] if square else np.array([])
        return "causal_mask" if square and np.array_equal(visible, np.tril(np.ones_like(visible))) else "mask"
    return UNKNOWN


def _counts(array: npt.NDArray[np.generic]) -> bool:
    """Whether the values are 0, 1, 2, ... along one dimension and do not depend on the others."""
    for dim, size in enumerate(array.shape):
        shape = [size if other == dim else 1 for other in range(array.ndim)]
        if size > 1 and np.array_equal(array, np.broadcast_to(np.arange(size).reshape(shape), array.shape)):
            return True
    return False
