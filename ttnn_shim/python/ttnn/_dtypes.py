"""Sizes of data types and tiles, alignments of memory."""

from __future__ import annotations

from typing import Any

from ttnn._enums import DataType

TILE_SIDE = 32
"""Rows and columns of a tile."""
BLOCK_FLOATS = (DataType.BFLOAT8_B, DataType.BFLOAT4_B)
L1_ALIGNMENT_BYTES = 16
DRAM_ALIGNMENT_BYTES = {"WORMHOLE_B0": 32, "BLACKHOLE": 64}
_ELEMENT_BYTES = {"BFLOAT16": 2, "FLOAT32": 4, "UINT32": 4, "INT32": 4, "UINT16": 2, "UINT8": 1, "FP8_E4M3": 1, "INT8": 1}
_EXPONENTS_PER_TILE = TILE_SIDE * TILE_SIDE // 16
_MANTISSA_BITS = {"BFLOAT8_B": 8, "BFLOAT4_B": 4}


def element_size(dtype: Any) -> int:
    """Bytes of an element. Raises: TypeError for what is no DataType, ValueError for block floats, whose elements share exponents."""
    if not isinstance(dtype, DataType):
        raise TypeError(f"element_size(): incompatible function arguments: expected DataType, got {type(dtype).__name__}")
    size = _ELEMENT_BYTES.get(dtype.name)
    if size is None:
        raise ValueError("datum for bfp2, bfp4, bfp8 is invalid")
    return size


def tile_bytes(dtype: Any) -> int:
    """Bytes of a tile; one of block floats has an exponent byte for every 16 values."""
    if dtype.name in _MANTISSA_BITS:
        return TILE_SIDE * TILE_SIDE * _MANTISSA_BITS[dtype.name] // 8 + _EXPONENTS_PER_TILE
    return TILE_SIDE * TILE_SIDE * _ELEMENT_BYTES[dtype.name]
