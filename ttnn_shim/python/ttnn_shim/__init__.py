"""The simulator's launcher side: `activate()` makes `import ttnn` resolve to the simulator, on request only."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttnn_shim.errors import ActivationError
from ttnn_shim.paths import HERE
from ttnn_shim.paths import python_path as python_path

if TYPE_CHECKING:
    from ttnn_shim.queries import query as query


def __getattr__(name: str) -> Any:
    if name != "query":
        raise AttributeError(f"module 'ttnn_shim' has no attribute {name!r}")
    from ttnn_shim.queries import query  # not at the top: every run of a program would wait for it

    return query


def activate(*, explicit: bool = False) -> Path:
    """Puts the simulator's `ttnn` first on `sys.path` and returns its folder.

    A real `ttnn` that is installed is never shadowed silently: then `explicit=True` must be given. A `ttnn` that is imported
    already cannot be replaced.

    Raises:
        ActivationError: another `ttnn` is imported, or installed and `explicit` is False.
    """
    folder = python_path()
    loaded = sys.modules.get("ttnn")
    if loaded is not None:
        if _is_ours(getattr(loaded, "__file__", None), folder):
            return folder
        raise ActivationError(f"ttnn is imported already from {getattr(loaded, '__file__', '?')}; call ttnn_shim.activate() before `import ttnn`")
    if not explicit:
        other = _find_other(folder)
        if other is not None:
            raise ActivationError(f"a real ttnn is installed ({other}); call ttnn_shim.activate(explicit=True) to use the simulator instead")
    sys.path[:] = [str(folder), *(entry for entry in sys.path if entry != str(folder))]
    return folder


def native_version() -> str:
    """Version of the loaded core library."""
    from ttnn_shim.native import load

    ffi, lib, _ = load()
    text = ffi.string(lib.shim_version())
    return text.decode() if isinstance(text, bytes) else str(text)


def build_info() -> dict[str, Any]:
    """Facts of the loaded core: version, library of matrix products, `instruction_set` in effect (after ONEDNN_MAX_CPU_ISA), threads, compiler."""
    from ttnn_shim.native import load

    ffi, lib, _ = load()
    facts: dict[str, Any] = json.loads(ffi.string(lib.shim_build_info()))
    return facts


def cmake_dir() -> Path:
    """The folder with `TT-NNConfig.cmake`, for `-DTT-NN_DIR=`."""
    names = ("tt-nn-config.cmake", "TT-NNConfig.cmake")
    # `__path__` also names the installed half of an editable install.
    for folder in (*map(Path, __path__), *HERE.parents[:3]):
        for name in names:
            for path in sorted(folder.glob(f"lib*/cmake/*/{name}")) + sorted(folder.glob(f"cmake/{name}")):
                return path.parent
    raise FileNotFoundError("the CMake package of ttnn_shim is not installed beside " + str(HERE))


def _is_ours(file: str | None, folder: Path) -> bool:
    return file is not None and Path(file).resolve().is_relative_to(folder / "ttnn")


def _find_other(folder: Path) -> str | None:
    """Where another ttnn is installed, or None."""
    for entry in sys.path:
        root = Path(entry or ".").resolve()
        if root != folder and (root / "ttnn" / "__init__.py").is_file():
            return str(root / "ttnn")
    import importlib.metadata  # slow to load; only asked about an installed ttnn

    try:
        distribution = importlib.metadata.distribution("ttnn")
    except importlib.metadata.PackageNotFoundError:
        return None
    return f"distribution ttnn {distribution.version}"
