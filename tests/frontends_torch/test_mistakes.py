"""The most likely mistakes of a caller get a sentence that fits."""

from __future__ import annotations

import re
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from alchemist import codegen_py
from alchemist.errors import UserError


def outer_product(x: torch.Tensor) -> torch.Tensor:
    return x[:, None] * x


MODEL, X = torch.nn.Linear(64, 8).eval(), torch.ones(4, 64)
MISTAKES: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "numpy": ((MODEL, X.numpy()), {}, r"a numpy array as an argument of a torch model.*numpy float32 \[4, 64\] for input.*torch.from_numpy\(input\)"),
    "whole numbers": ((MODEL, X.long()), {}, r"operands of different dtypes.*got int64 and float32.*x\.float\(\)"),
    "bfloat16": ((MODEL, X.bfloat16()), {}, "operands of different dtypes.*got bfloat16 and float32"),
    "a class": ((torch.nn.Linear, X), {}, r"a class instead of a model.*pass Linear\(\.\.\.\), not Linear"),
    "option": ((MODEL, X), {"optimization_level": 1}, r"a compiler option as a keyword.*compiler_options=\{'optimization_level': 1\}"),
    "misspelt": ((MODEL, X), {"exportpath": "out"}, "unknown argument 'exportpath'.*did you mean export_path"),
    "unknown": ((MODEL, X), {"mask": X}, r"the arguments do not fit the model\s+got an unexpected keyword"),
    "width": ((MODEL, X[:, :63]), {}, r"the model fails on these arguments.*\(4x63 and 64x8\).*here \[4, 63\]"),
    "size": ((outer_product, torch.ones(80_000)), {}, r"does not fit in the memory of one n150.*test_mistakes\.py:\d+.*at most 12\.9 GB.*got 25\.6 GB"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_named(case: str, tmp_path: Path) -> None:
    args, kwargs, message = MISTAKES[case]
    with pytest.raises(UserError, match=f"(?s){message}") as raised:
        codegen_py(*args, **{"export_path": tmp_path / "out", **kwargs})
    files = {Path(str(entry.path)).name for entry in raised.traceback}
    assert files <= {Path(__file__).name, "errors.py"}, "a script's traceback ends at its own line"


def test_a_warning_names_the_line_of_the_caller(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.BatchNorm1d(8))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        codegen_py(model, X, export_path=tmp_path / "out", export_golden="none")
    ours = [one for one in caught if "training mode" in str(one.message)]
    assert len(ours) == 1 and {one.filename for one in ours} == {__file__}


def test_an_unknown_option_of_run(tmp_path: Path) -> None:
    from tests.running import run_script

    codegen_py(MODEL, X, export_path=tmp_path / "out", export_golden="none")
    for given, hint in (("--chek", "; did you mean --check?"), ("--zzz", "")):
        done = run_script(tmp_path / "out", given)
        assert done.returncode == 2
        assert done.stderr == f"run: unknown option {given}{hint} (./run --help lists all)\n"


def test_values_of_another_type(tmp_path: Path) -> None:
    from tests.running import run

    codegen_py(MODEL, X, export_path=tmp_path / "out", export_golden="none")
    for dtype, said in ((np.float64, "float64 of input.npy becomes float32"), (np.int32, "int32 of input.npy becomes float32"), (np.float32, "")):
        (tmp_path / "values").mkdir(exist_ok=True)
        np.save(tmp_path / "values" / "input.npy", np.ones((4, 64), dtype=dtype))
        done = run(tmp_path / "out", "--inputs", str(tmp_path / "values"))
        assert done.returncode == 0 and re.sub("run: input input: ", "", done.stderr).strip() == said


@pytest.mark.parametrize("words", ["--what-if", "--compare out"])
def test_a_reader_that_leaves(words: str, tmp_path: Path) -> None:
    """`./run --what-if | head -1`"""
    codegen_py(MODEL, X, export_path=tmp_path / "out", export_golden="none")
    done = subprocess.run(f"./out/run {words} | head -0", shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")
