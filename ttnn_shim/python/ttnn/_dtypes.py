"""Sizes of data types and tiles, alignments of memory."""

from __future__ import annotations

from typing import Any

from ttnn_shim.dtypes import TILE_SIDE as TILE_SIDE

from ttnn._enums import DataType
from ttnn_shim import dtypes

BLOCK_FLOATS = (DataType.BFLOAT8_B, DataType.BFLOAT4_B)
L1_ALIGNMENT_BYTES = 16  # of every card


def element_size(dtype: Any) -> int:
    """Bytes of an element. Raises: TypeError for what is no DataType, ValueError for block floats, whose elements share exponents."""
    if not isinstance(dtype, DataType):
        raise TypeError(f"element_size(): incompatible function arguments: expected DataType, got {type(dtype).__name__}")
    size = dtypes.BYTES.get(dtype.name.lower())
    if size is None:
        raise ValueError("datum for bfp2, bfp4, bfp8 is invalid")
    return size


def tile_bytes(dtype: Any) -> int:
    """Bytes of a tile."""
    return dtypes.tile_bytes(dtype.name.lower())
