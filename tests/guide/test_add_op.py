"""A new unary op with compiler support from the guide's text alone."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .apply import OP, ROOT, Edit, copy_without_op, edits

PROGRAM = """\
import sys
from importlib.machinery import PathFinder

TREE = sys.argv[1]


class Copied:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in ("alchemist", "emit_py", "emit_cpp"):
            return PathFinder.find_spec(name, path or [TREE], target)


sys.meta_path.insert(0, Copied)
import alchemist, pytest
from alchemist.ops import TTIR_OPS, TTNN_OPS

assert alchemist.__file__.startswith(TREE), alchemist.__file__
present = "ttir.cbrt" in TTIR_OPS and "ttnn.cbrt" in TTNN_OPS
if sys.argv[2] == "without":
    from ttnn import _core
    assert not present and "ttnn.cbrt" not in _core.op_names()
    sys.exit(0)
assert present
sys.path.insert(0, TREE)
from tests import tables

assert tables.__file__.startswith(TREE), tables.__file__
tables.ONLY[:] = ["cbrt"]
tried = []
try_rows = tables._try
tables._try = lambda function, rows, fixtures: (tried.extend((function.__name__, name) for name, _ in rows), try_rows(function, rows, fixtures))
code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--rootdir", TREE, "--import-mode=importlib",
                    *(TREE + "/" + test for test in sys.argv[3:])])
assert len({function for function, _ in tried}) == len(sys.argv[3:]), tried
sys.exit(code)
"""
TRIED_WITH = ("tests/ops_numeric/test_numeric.py", "tests/ops/test_samples.py")
TRIED = (f"{TRIED_WITH[0]}::test_unary", f"{TRIED_WITH[0]}::test_special_values", f"{TRIED_WITH[1]}::test_reference_of_sample")
"""Tests of tables; each must have rows of the new op."""


def build_folder() -> Path:
    """The build tree of the installed core."""
    found = sorted(ROOT.glob("build/editable-*/compile_commands.json"))
    if not found:
        pytest.skip("needs the build tree of an editable install")
    return found[0].parent


def compile_command(source: str) -> list[str]:
    for row in json.loads((build_folder() / "compile_commands.json").read_text()):
        if row["file"].endswith(source):
            words = shlex.split(row["command"])
            return words[: words.index("-o")]
    raise AssertionError(f"{source} is not built")


def compiled(tree: Path, source: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Compiles a file of the copied tree with the flags of its neighbour and the tree's own headers."""
    words = [word.replace(f"{ROOT}/ttnn_shim", f"{tree}/ttnn_shim") for word in compile_command("eltwise/unary.cpp")]
    words += ["-I", str(tree / "ttnn_shim" / "include"), "-I", str(tree / "ttnn_shim" / "src")]
    return subprocess.run([*words, *more, str(tree / source)], cwd=build_folder(), capture_output=True, text=True, check=False)


@pytest.fixture
def followed(tmp_path: Path) -> tuple[Path, list[Edit]]:
    copy_without_op(tmp_path)
    return tmp_path, edits()


def test_the_guide_is_four_files(followed: tuple[Path, list[Edit]]) -> None:
    tree, guide = followed
    assert len(guide) == 4
    for edit in guide:
        edit.apply(tree)
    for file in TRIED_WITH:
        runpy.run_path(str(tree / file))  # the copy has what its tests read when they are loaded
    source = next(edit.path for edit in guide if edit.path.endswith(".cpp"))
    result = compiled(tree, source, "-fsyntax-only")
    assert result.returncode == 0, result.stderr
    text = (tree / source).read_text()
    (tree / source).write_text(text.replace("args.output_tensor", "args.output_tensr"))
    assert "output_tensr" in compiled(tree, source, "-fsyntax-only").stderr, "a misspelt argument must not compile"


@pytest.mark.slow
def test_an_op_from_the_guide(followed: tuple[Path, list[Edit]]) -> None:
    """The copy's library has no cbrt; after the guide's edits its kernel, its row and its case agree."""
    tree, guide = followed
    driver = tree / "driver.py"
    driver.write_text(PROGRAM)
    link = subprocess.run(["ninja", "-t", "commands", "libttnn_shim.so"], cwd=build_folder(), capture_output=True, text=True, check=True)
    shared = re.sub(r"^: && | && :$", "", link.stdout.strip().splitlines()[-1])

    def library(sources: list[str]) -> Path:
        words = shlex.split(shared)
        for i, source in enumerate(sources):
            result = compiled(tree, source, "-c", "-o", str(tree / f"{i}.o"))
            assert result.returncode == 0, result.stderr
        words = [word for word in words if not word.endswith("eltwise/unary.cpp.o")]
        words[words.index("-o") + 1] = str(tree / "libttnn_shim.so")
        subprocess.run([*words, *(str(tree / f"{i}.o") for i in range(len(sources)))], cwd=build_folder(), check=True)
        return tree / "libttnn_shim.so"

    def run(state: str, core: Path) -> None:
        environment = {**os.environ, "TTNN_SHIM_LIBRARY": str(core), "OMP_NUM_THREADS": "1"}
        result = subprocess.run([sys.executable, str(driver), str(tree), state, *TRIED], env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr

    neighbours = "ttnn_shim/src/ops/eltwise/unary.cpp"
    run("without", library([neighbours]))
    for edit in guide:
        edit.apply(tree)
    run("with", library([neighbours, next(edit.path for edit in guide if edit.path.endswith(".cpp"))]))
    assert f'"{OP}"' in (tree / "alchemist/ops/eltwise_unary.py").read_text()
