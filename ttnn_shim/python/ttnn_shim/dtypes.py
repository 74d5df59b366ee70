"""Bytes of TT-NN's data types, by their names in lower case."""

from __future__ import annotations

TILE_SIDE = 32
"""Rows and columns of a tile."""
BYTES: dict[str, int] = {
    "bfloat16": 2, "float32": 4, "uint32": 4, "int32": 4, "uint16": 2, "uint8": 1, "int8": 1, "fp8_e4m3": 1,
}  # fmt: skip
"""Of an element; those of block floats have no size of their own."""
_MANTISSA_BITS = {"bfloat8_b": 8, "bfloat4_b": 4}


def tile_bytes(dtype: str) -> int:
    """Bytes of a tile; one of block floats has an exponent byte for every 16 values. Raises: KeyError."""
    elements = TILE_SIDE * TILE_SIDE
    if dtype in _MANTISSA_BITS:
        return elements * _MANTISSA_BITS[dtype] // 8 + elements // 16
    return elements * BYTES[dtype]


MEAN_BYTES = {dtype: tile_bytes(dtype) / (TILE_SIDE * TILE_SIDE) for dtype in (*BYTES, *_MANTISSA_BITS)}
"""Of an element of a tile, with its part of the exponent."""
