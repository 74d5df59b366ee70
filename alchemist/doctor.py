"""`alchemist doctor`: what is installed, and what to do for what is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
from pathlib import Path

from alchemist.verify.environment import PYTHON_VERSIONS, TTNN_WHEEL, available_python, is_ready

AGAIN = "install alchemist again: pip install . in the checkout"
# Package -> (what it is for, how to get it).
PACKAGES = {
    "xdsl": ("the compiler", AGAIN),
    "jinja2": ("the emitters", AGAIN),
    "black": ("formatting of emitted Python", AGAIN),
    "numpy": ("tensors", AGAIN),
    "torch": ("PyTorch models (codegen_py, codegen_cpp)", "pip install '.[torch]' in the checkout"),
    "onnx": ("ONNX files", "pip install '.[onnx]' in the checkout"),
    "jax": ("JAX models (codegen_py, codegen_cpp)", "pip install '.[jax]' in the checkout"),
    "flax": ("flax models", "pip install '.[jax]' in the checkout"),
    "transformers": ("the model examples", "pip install transformers"),
}
COMPILERS = ("c++", "g++", "clang++")


def report() -> int:
    """Prints the table and a line of advice for what is missing; returns 0 when emitted Python can run on the simulator, 1 otherwise."""
    rows, advice = [("python", platform.python_version())], []

    def missing(name: str, purpose: str, remedy: str) -> None:
        rows.append((name, "missing"))
        advice.append(f"{purpose} needs {name}: {remedy}")

    for name, (purpose, remedy) in PACKAGES.items():
        if importlib.util.find_spec(name) is not None:
            rows.append((name, importlib.metadata.version(name)))
        else:
            missing(name, purpose, remedy)
    simulator = importlib.util.find_spec("ttnn_shim") is not None
    if simulator:
        from ttnn_shim import build_info

        try:
            facts = build_info()
        except ImportError as error:
            simulator = False
            rows.append(("simulator", "cannot run here"))
            advice.append(str(error))
        else:
            rows.append(("simulator", f"{facts['version']}, products by {facts['gemm']} with {facts['instruction_set']}, {facts['threads']} threads"))
    else:
        missing("simulator", "running emitted code without a card", "pip install . in the checkout (it needs a C++20 compiler)")
    compiler = next((path for path in map(shutil.which, COMPILERS) if path), None)
    if compiler:
        rows.append(("compiler", _version(compiler)))
    else:
        missing("compiler", "./run of emitted C++", "apt install g++, or any other with C++20")
    cmake = shutil.which("cmake")
    if cmake:
        rows.append(("cmake", _version(cmake)))
    else:
        missing("cmake", "./run of emitted C++", "apt install cmake, or pip install cmake")
    python = available_python()
    rows.append(("real ttnn", f"{TTNN_WHEEL}, installed" if is_ready() else f"{TTNN_WHEEL}, at first use" if python else "missing"))
    if not is_ready() and python is None:
        advice.append(
            f"alchemist verify needs Python {' or '.join(PYTHON_VERSIONS)} beside this one: apt install python{PYTHON_VERSIONS[0]}, pyenv, or uv python install"
        )
    cards = sorted(Path("/dev/tenstorrent").glob("*")) if Path("/dev/tenstorrent").is_dir() else []
    rows.append(("card", f"{len(cards)} found" if cards else "none: programs run on the simulator; ./run --device needs one"))
    for name, version in rows:
        print(f"{name:14} {version}")
    for line in advice:
        print(f"advice: {line}")
    if not advice:
        print("everything is there")
    return 0 if simulator else 1


def _version(path: str) -> str:
    result = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    lines = result.stdout.splitlines()
    return lines[0][:60] if lines else "?"
