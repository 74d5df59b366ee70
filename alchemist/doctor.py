"""`alchemist doctor`: what is installed, and what is missing for which feature."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
from pathlib import Path

PACKAGES = {
    "xdsl": "the compiler",
    "jinja2": "the emitters",
    "black": "formatting of emitted Python",
    "numpy": "tensors",
    "torch": "PyTorch models (codegen_py, codegen_cpp)",
    "jax": "JAX models (codegen_py, codegen_cpp)",
    "flax": "flax models",
    "transformers": "the model examples",
}
PROGRAMS = {"g++": "./run of emitted C++ (or clang++)", "cmake": "./run of emitted C++"}


def report() -> int:
    """Prints the table; returns 0 when emitted Python can run on the simulator, 1 otherwise."""
    rows = [("python", platform.python_version(), "")]
    for name, purpose in PACKAGES.items():
        found = importlib.util.find_spec(name) is not None
        rows.append((name, importlib.metadata.version(name) if found else "missing", "" if found else f"needed for {purpose}"))
    simulator = "missing"
    if importlib.util.find_spec("ttnn_shim") is not None:
        from ttnn_shim import native_version

        simulator = native_version()
    rows.append(("simulator", simulator, "" if simulator != "missing" else "needed to run emitted code without a card"))
    for name, purpose in PROGRAMS.items():
        path = shutil.which(name)
        rows.append((name, _version(path) if path else "missing", "" if path else f"needed for {purpose}"))
    cards = sorted(Path("/dev/tenstorrent").glob("*")) if Path("/dev/tenstorrent").is_dir() else []
    rows.append(("card", f"{len(cards)} found" if cards else "none", "" if cards else "./run --device needs one"))
    for name, version, note in rows:
        print(f"{name:14} {version:34} {note}".rstrip())
    return 0 if simulator != "missing" else 1


def _version(path: str) -> str:
    result = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    lines = result.stdout.splitlines()
    return lines[0][:34] if lines else "?"
