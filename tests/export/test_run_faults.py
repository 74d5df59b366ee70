"""`./run` with outputs that cannot be written, damaged manifests and files that are none: a message before the run, no traceback, no crash."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from alchemist.codegen import codegen_mlir
from alchemist.errors import MOST_CHARACTERS

MODEL = """
func.func @main(%arg0: tensor<2x3xf32> {ttir.name = "x"}) -> tensor<2x3xf32> {
  %0 = "ttir.relu"(%arg0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
"""
LANGUAGES = ("python", pytest.param("cpp", marks=pytest.mark.slow))


@pytest.fixture(scope="module", params=LANGUAGES)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The export and the command that runs it."""
    place = tmp_path_factory.mktemp("faults")
    (place / "m.mlir").write_text(MODEL)
    codegen_mlir(place / "m.mlir", language=request.param, export_path=place / "out")
    if request.param == "python":
        return place / "out", [sys.executable, "-m", "ttnn_shim", "run", str(place / "out" / "main.py")]
    subprocess.run([place / "out" / "run", "--build-only"], check=True, capture_output=True)
    return place / "out", [str(next((place / "out" / "build").glob("*/main")))]


def run(command: list[str], *options: str, cwd: Path) -> str:
    """Standard error of a run that is refused, without a forward call."""
    done = subprocess.run([*command, *options], cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode in (1, 2), (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr) <= MOST_CHARACTERS
    return done.stderr


@pytest.mark.parametrize(
    "words",
    ["--outputs file", *(pytest.param(words, marks=pytest.mark.slow) for words in ("--json missing/x", "--json .", "--json main", f"--json {'x' * 300}", "--json file/x", "--outputs file/x", f"--outputs {'x' * 300}", f"--inputs {'x' * 300}",
     "--inputs file", "--inputs pipes", "--json /proc/nowhere/x", "--outputs /proc/nowhere"))],
)  # fmt: skip
def test_places(program: tuple[Path, list[str]], words: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "main").mkdir()
    (tmp_path / "pipes").mkdir()
    os.mkfifo(tmp_path / "pipes" / "x.npy")
    assert run(program[1], *words.split(), cwd=tmp_path)


def edited(path: tuple[str, ...], value: Any) -> Any:
    def edit(manifest: dict[str, Any]) -> bytes:
        inner = manifest
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        return json.dumps(manifest).encode()

    return edit


MANIFESTS: dict[str, Any] = {
    "nested": lambda manifest: b'{"a":' * 100_000, "list": lambda manifest: b"[1, 2]", "empty": lambda manifest: b"", "cut": lambda manifest: json.dumps(manifest).encode()[:200],
    "escape": lambda manifest: b'{"model": "\\u12zz"}', "number": lambda manifest: b'{"model": 1e}', "behind": lambda manifest: json.dumps(manifest).encode() + b"x",
    "bytes": lambda manifest: b"\xff\xfe", "no_tensors": edited(("tensors",), None), "shape": edited(("tensors", "x", "shape"), [-1, 3]), "shape_text": edited(("tensors", "x", "shape"), "2x3"),
    "entry": edited(("tensors", "x"), "y" * 50_000), "l1": edited(("device", "l1_small_size"), -1), "file": edited(("tensors", "x", "file"), 3),
}  # fmt: skip


QUICK = ("nested", "shape")  # a run takes a second; the rest of the table is for the slow suite, and for test_frame.py without runs


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MANIFESTS])
def test_manifests(program: tuple[Path, list[str]], name: str) -> None:
    directory, command = program
    good = (directory / "manifest.json").read_bytes()
    try:
        (directory / "manifest.json").write_bytes(MANIFESTS[name](json.loads(good)))
        assert "manifest.json" in run(command, cwd=directory)
    finally:
        (directory / "manifest.json").write_bytes(good)


def test_tensor_that_is_a_pipe(program: tuple[Path, list[str]]) -> None:
    directory, command = program
    file = next((directory / "tensors").iterdir())
    kept = file.with_suffix(".kept")
    shutil.move(file, kept)
    try:
        os.mkfifo(file)
        assert "is not a file" in run(command, cwd=directory)
    finally:
        file.unlink()
        shutil.move(kept, file)
