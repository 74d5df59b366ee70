"""Warnings of calls on meshes that take partial sums for whole tensors (`ttnn_shim/src/ops/ccl/placement.cpp` finds them), at the program's line."""

from __future__ import annotations

import os
import warnings

from ttnn_shim.errors import user_location

from ttnn import _core

ffi, lib = _core.ffi, _core.lib
HELPERS = ("utils.py", "check.py")
"""Files of an export that call TT-NN for its main.py."""

OFF = "TTNN_SHIM_PLACEMENTS"
"""Environment variable: `off` keeps the warnings away."""


class PlacementWarning(UserWarning):
    """A result is most likely wrong: no op of TT-NN compares how its arguments are spread over the mesh."""


def _show() -> None:
    out = ffi.new("char **")
    _core.check(lib.shim_take_warnings(out))
    for line in _core.text(ffi.gc(out[0], lib.shim_string_free)).splitlines():
        file, _, number = user_location(HELPERS).rpartition(":")
        warnings.warn_explicit(line.replace("mesh.", "ttnn.", 1), PlacementWarning, file or "<program>", int(number or 1))


def watch(mesh_is_open: bool) -> None:
    """Calls are followed by a look at the core's warnings while a mesh of several chips is open."""
    _core.after_call = _show if mesh_is_open and os.environ.get(OFF) != "off" else None
