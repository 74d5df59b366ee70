"""Paths of the parts of an installation."""

from __future__ import annotations

from pathlib import Path

from ttnn_shim.errors import ActivationError

HERE = Path(__file__).resolve().parent


def python_path() -> Path:
    """The folder that holds the simulator's `ttnn` package: `_python` of an installation, the parent folder of a source tree."""
    for folder in (HERE / "_python", HERE.parent):
        if (folder / "ttnn" / "_signatures.json").is_file():
            return folder
    raise ActivationError(f"the simulator's ttnn package is not beside {HERE}; reinstall ttnn_shim")


def arch_dir() -> Path:
    """The folder of the tables of the machine: of an installation, or of a source tree."""
    for folder in (HERE / "arch", HERE.parents[1] / "arch"):
        if (folder / "cards.csv").is_file():
            return folder
    raise FileNotFoundError(f"the tables of the machine are not beside {HERE}; reinstall ttnn_shim")
