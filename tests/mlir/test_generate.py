"""MLIR files to programs that run and agree with the reference; `--standalone` ones on a bare Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from alchemist.cli import main
from alchemist.codegen import codegen_mlir
from tests.running import run_checked

DATA = Path(__file__).parent / "data"
STEMS = [path.stem for path in sorted(DATA.glob("*.mlir"))]


def _check(directory: Path, **environment: str) -> str:
    done = subprocess.run([directory / "run", "--check"], capture_output=True, text=True, timeout=600, check=False, env=dict(os.environ, **environment))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("stem", STEMS)
def test_python_program(stem: str, tmp_path: Path) -> None:
    codegen_mlir(DATA / f"{stem}.mlir", export_path=tmp_path / "out")
    assert "check: passed" in run_checked(tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("stem", STEMS)
def test_cpp_program(stem: str, tmp_path: Path) -> None:
    codegen_mlir(DATA / f"{stem}.mlir", language="cpp", export_path=tmp_path / "out")
    assert "check: passed" in run_checked(tmp_path / "out")


# The softmax of mlp_stablehlo would have sums of about 1e6 of "arange", whose top two are nearer to one another than TF32's cut of the weights:
# the bit model finds another greatest one as well (docs/check.md).
@pytest.mark.parametrize(("stem", "init"), [("mlp_stablehlo", "ones"), ("mlp_stablehlo", "zeros"), ("cnn_ttir", "arange")])
def test_other_values(stem: str, init: str, tmp_path: Path) -> None:
    status = main(["generate-python", str(DATA / f"{stem}.mlir"), "-o", str(tmp_path / "out"), "--init", init])
    assert status == 0
    run_checked(tmp_path / "out")


def _moved(tmp_path: Path, language: str) -> Path:
    out = tmp_path / "out"
    status = main([f"generate-{language}", str(DATA / "bert_ttir.mlir"), "-o", str(out), "--standalone"])
    assert status == 0
    away = tmp_path / "away"
    shutil.move(out, away)
    run = away / "run"
    lines = run.read_text().split("\n")
    # The interpreter of the export must not help: another machine does not have it.
    run.write_text("\n".join("for candidate in .venv/bin/python; do" if line.startswith("for candidate in .venv") else line for line in lines))
    return away


@pytest.mark.slow
def test_standalone_python(tmp_path: Path) -> None:
    away = _moved(tmp_path, "python")
    venv.create(away / ".venv", with_pip=True)
    subprocess.run([away / ".venv/bin/pip", "install", "-q", "numpy", "cffi"], check=True, timeout=600)
    bare = "import importlib.util as u; assert not any(map(u.find_spec, ['ml_dtypes', 'alchemist', 'xdsl']))"
    subprocess.run([away / ".venv/bin/python", "-c", bare], check=True, cwd=away, env={"PATH": "/usr/bin:/bin"})
    _check(away, PATH="/usr/bin:/bin", PYTHONPATH="", TTNN_SHIM_LIBRARY="")


@pytest.mark.slow
def test_standalone_cpp(tmp_path: Path) -> None:
    if not Path("/usr/bin/cmake").exists():
        pytest.skip("no cmake outside the virtual environment")
    away = _moved(tmp_path, "cpp")
    _check(away, PATH="/usr/bin:/bin", PYTHONPATH="")
    linked = subprocess.run(["ldd", away / "build/simulator/main"], capture_output=True, text=True, check=True).stdout
    assert str(away / "shim") in linked
