"""The compiled core (cffi, API mode): `ffi` and `lib` of include/ttnn_shim/abi.h. Imported through `ttnn_shim.native.load`."""

from __future__ import annotations

from ttnn_shim._native._core import ffi, lib

__all__ = ["ffi", "lib"]
