"""Loads the core: the compiled cffi extension of an installation, or `libttnn_shim.so` of a build tree through cffi's ABI mode."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import re
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MARKS = ("/* cffi:begin */", "/* cffi:end */")
# The compiled extension (API mode), then what a build tree may hold. Other builds (the sanitizers' in build/asan, a wheel's) are used where they are
# named only: a process without the sanitizers' runtime ends when it loads such a library. TTNN_SHIM_LIBRARY names a library, or a build tree's folder
# (which holds the extension too), and wins: `TTNN_SHIM_LIBRARY=build/dev` runs what was just built.
EXTENSION = "ttnn_shim._native"
# Processor features of `-march=x86-64-v3`, by the names of /proc/cpuinfo ("abm" has lzcnt).
NEEDED_FLAGS = ("avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm")
PATTERNS = ("libttnn_shim.so", "lib*/libttnn_shim.so", "build/dev/libttnn_shim.so", "build/dev/*/libttnn_shim.so", "build/editable-*/libttnn_shim.so")


def cdef_text() -> str:
    """The marked region of abi.h."""
    for root in (HERE, *HERE.parents[:4]):
        for path in (root / "include" / "ttnn_shim" / "abi.h", root / "ttnn_shim" / "include" / "ttnn_shim" / "abi.h"):
            if path.is_file():
                return path.read_text(encoding="utf-8").split(MARKS[0])[1].split(MARKS[1])[0]
    raise ImportError("ttnn_shim/abi.h is not beside the package; reinstall ttnn_shim")


def library_path() -> Path | None:
    """The shared library of an installation or build tree, newest first, or None."""
    found = [path for root in (HERE, *HERE.parents[:4]) for pattern in PATTERNS for path in root.glob(pattern)]
    return max(found, key=lambda path: path.stat().st_mtime) if found else None


def _extension_of(folder: Path) -> Any:
    """The extension in a build tree."""
    for path in sorted(folder.glob("_core*.so")):
        spec = importlib.util.spec_from_file_location("_core", path)
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError(f"TTNN_SHIM_LIBRARY={folder}: no _core*.so there")


def missing_features(machine: str, cpuinfo: str) -> str:
    """What the core needs and a processor lacks, as a sentence; "" when it can run. machine: as `platform.machine()`; cpuinfo: text of /proc/cpuinfo."""
    if machine not in ("x86_64", "AMD64"):
        return f"the simulator's core runs on x86-64 processors with AVX2; this one is {machine}"
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    lacking = [name for name in NEEDED_FLAGS if name not in flags[1].split()] if flags else []
    return f"the simulator's core needs a processor with AVX2 (x86-64-v3); this one lacks {', '.join(lacking)}" if lacking else ""


def check_processor() -> None:
    """Raises: ImportError: the processor would stop the core with an illegal instruction."""
    cpuinfo = Path("/proc/cpuinfo")
    if lacking := missing_features(platform.machine(), cpuinfo.read_text() if cpuinfo.is_file() else ""):
        raise ImportError(f"{lacking}; alchemist itself works there: export, and run on another machine")


@cache
def load() -> tuple[Any, Any, str]:
    """(ffi, lib, where it came from).

    Raises:
        ImportError: neither the extension nor the library is there (the text says how to build it), or the processor lacks AVX2.
    """
    check_processor()
    given = os.environ.get("TTNN_SHIM_LIBRARY")
    if given and Path(given).is_dir():
        module = _extension_of(Path(given).resolve())
        return module.ffi, module.lib, str(module.__file__)
    if not given:
        try:
            module = importlib.import_module(EXTENSION)
        except ModuleNotFoundError:
            pass
        else:
            return module.ffi, module.lib, str(module.__file__)
    path = Path(given) if given else library_path()
    if path is None:
        raise ImportError("the core of ttnn_shim is not built: install the package, or build ttnn_shim/CMakeLists.txt, or set TTNN_SHIM_LIBRARY")
    import cffi

    ffi: Any = cffi.FFI()
    ffi.cdef(cdef_text())
    return ffi, ffi.dlopen(str(path)), str(path)
