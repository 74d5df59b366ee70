"""Writes the C source of the cffi extension: `python emit_extension.py abi.h _core.c`. Run by the CMake build."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from cffi import FFI

BEGIN, END = "/* cffi:begin */", "/* cffi:end */"


def cdef_of(header: str) -> str:
    """The declarations between the cffi marks, without comments."""
    begin, end = header.find(BEGIN), header.find(END)
    if begin < 0 or end < begin:
        raise ValueError(f"no text between {BEGIN!r} and {END!r}")
    return re.sub(r"/\*.*?\*/", "", header[begin + len(BEGIN) : end], flags=re.DOTALL)


def main(header: Path, target: Path) -> None:
    ffi = FFI()
    ffi.cdef(cdef_of(header.read_text()))
    ffi.set_source("ttnn_shim._native._core", '#include "ttnn_shim/abi.h"')
    ffi.emit_c_code(str(target))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
