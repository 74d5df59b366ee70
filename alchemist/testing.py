"""`check`: a test of one model in one line. Its program runs on the simulator, and every output must correlate with the framework's.

alchemist.testing.check(model, (x,), pcc=0.99)
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from alchemist.codegen import codegen_py
from alchemist.errors import OptionError, quoted
from alchemist.export.arrays import read_array
from alchemist.loaded import LoadedProgram, read_manifest

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """pcc: Pearson correlation of an output with the framework's; 1 for equal values, 0 where one of the two does not vary and the other does."""

    name: str
    shape: tuple[int, ...]
    pcc: float


def check(
    model: Any, inputs: Sequence[Any] = (), *, kwargs: Mapping[str, Any] | None = None, pcc: float = 0.99, compiler_options: Mapping[str, Any] | None = None
) -> list[OutputCheck]:
    """Exports `model(*inputs, **kwargs)`, runs the program on the simulator and compares its outputs with the framework's.

    Raises:
        AssertionError: an output with another shape, with NaN where the framework has none, or with a smaller correlation than `pcc`: its name and
            correlation, and the first op that fails `--check-ops`, if one does.
        OptionError: `pcc` is no number from 0 to 1. UserError: as `codegen_py`.
    """
    if isinstance(pcc, bool) or not isinstance(pcc, int | float) or not 0 <= pcc <= 1:
        raise OptionError("bad pcc", expected="a number from 0 to 1", got=quoted(pcc))
    with tempfile.TemporaryDirectory(prefix="alchemist-check-") as folder:
        path = Path(folder) / "program"
        codegen_py(model, *inputs, export_path=path, export_golden="ops", compiler_options=compiler_options, **(kwargs or {}))
        manifest = read_manifest(path)
        with LoadedProgram(path, {}) as program:
            stored = {name: read_array(path / entry["file"]) for name, entry in manifest["tensors"].items() if entry["kind"] == "input"}
            arrays = dict(zip(program.outputs, program.call({name: partial(np.asarray, array) for name, array in stored.items()}), strict=True))
        found = [_compared(name, array, read_array(path / manifest["outputs"][name]["golden"])) for name, array in arrays.items()]
        bad = [one for one in found if not one.pcc >= pcc]
        if bad:
            where = _first_op(path)
            raise AssertionError(
                "; ".join(f"output {quoted(one.name)} {list(one.shape)}: PCC {one.pcc:.6f} < {pcc}" for one in bad) + (f"\n{where}" if where else "")
            )
        return found


def _compared(name: str, actual: Array, expected: Array) -> OutputCheck:
    if actual.shape != expected.shape:
        raise AssertionError(f"output {quoted(name)}: shape {list(actual.shape)}, the framework's is {list(expected.shape)}")
    return OutputCheck(name, tuple(actual.shape), correlation(np.asarray(actual, np.float64), np.asarray(expected, np.float64)))


def correlation(actual: Array, expected: Array) -> float:
    """Pearson's, of finite values; NaN where the two have NaN or infinities at different places."""
    if not np.array_equal(np.isfinite(actual), np.isfinite(expected)):
        return float("nan")
    a, b = (value[np.isfinite(value)].ravel() for value in (actual, expected))
    if a.size == 0 or np.array_equal(a, b):
        return 1.0
    if a.std() == 0 or b.std() == 0:
        return 1.0 if np.allclose(a, b, rtol=1e-2) else 0.0
    return float(np.corrcoef(a, b)[0, 1])


def _first_op(path: Path) -> str:
    """What `main.py --check-ops` says of the first op that differs."""
    done = subprocess.run([sys.executable, str(path / "main.py"), "--check-ops"], capture_output=True, text=True, check=False, env=os.environ)
    lines = (done.stdout + done.stderr).splitlines()
    return next((line.strip() for line in lines if "main.py:" in line or "first" in line), "")


__all__ = ["OutputCheck", "check", "correlation"]
