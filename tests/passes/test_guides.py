"""The guides for a new pass and a new option, followed to the letter in a copy of the package."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

import pytest

from alchemist import options
from alchemist.errors import InternalError
from alchemist.passes import PASSES, PIPELINES, registry

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|diff)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MODULE = """module {
  func.func @f(%a: tensor<2x32xf32>) -> tensor<2x32xf32> {
    %0 = "ttir.floor"(%a) : (tensor<2x32xf32>) -> tensor<2x32xf32>
    %1 = "ttir.floor"(%0) : (tensor<2x32xf32>) -> tensor<2x32xf32>
    %2 = "ttir.exp"(%1) : (tensor<2x32xf32>) -> tensor<2x32xf32>
    return %2 : tensor<2x32xf32>
  }
}
"""
# The copy instead of the installed package, whose finder would be asked first.
LAUNCH = """
import sys
root = sys.argv.pop(1)
class Copy:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] == "alchemist":
            from importlib.machinery import PathFinder
            return PathFinder.find_spec(name, path or [root])
sys.meta_path.insert(0, Copy)
import alchemist, contextlib, io, json
from alchemist.cli import main
assert alchemist.__file__.startswith(root)
answers = []
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        main(words)
    answers.append(said.getvalue())
print(json.dumps(answers))
"""
COUNTS = {  # command -> floors left
    "--drop-double-floor": 1,
    "--drop-double-floor=most=0": 2,
    "--drop-double-floor=floors=keep": 2,
    "--drop-double-floor=enable-fusing-pass=false": 2,
    "--ttir-to-ttnn-backend-pipeline": 1,
    "--ttir-to-ttnn-backend-pipeline=disable=drop-double-floor": 2,
    "--ttir-to-ttnn-backend-pipeline=double-floors=keep": 2,
}
SAYS = {  # what a command must print
    ("generate-python", "--help"): "--floors {drop,keep}",
    ("opt", "--list"): "floor(floor(x)) becomes floor(x).",
    ("options",): "floors = drop | keep\n    repeated floors (tt-mlir: double-floors)",
    ("opt", "x.mlir", "--drop-double-floor=most=-1"): "a whole number from 0",
    ("opt", "x.mlir", "--drop-double-floor=floors=maybe"): "one of drop, keep",
}


def follow(guide: Path, root: Path) -> set[str]:
    """Does what a guide's blocks say: new files, and lines added behind others. Returns the files touched."""
    touched: set[str] = set()
    for kind, text in BLOCK.findall(guide.read_text()):
        lines = text.splitlines()
        if kind == "python":
            name = lines[0].removeprefix("# ")
            assert not (root / name).exists()
            (root / name).write_text("\n".join(lines[1:]) + "\n")
        else:
            name = lines[0].removeprefix("+++ ")
            before = "\n".join(line[1:] for line in lines[1:] if not line.startswith("+"))
            after = "\n".join(line[1:] for line in lines[1:])
            old = (root / name).read_text()
            assert old.count(before) == 1, f"{guide.parent.name}/README.md: {name} has changed: {before}"
            (root / name).write_text(old.replace(before, after))
        touched.add(name)
    return touched


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[set[str]]]:
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "alchemist", root / "alchemist", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "templates", root / "templates")
    touched = [follow(ROOT / "alchemist/passes/README.md", root), follow(ROOT / "alchemist/README.md", root)]
    (root / "x.mlir").write_text(MODULE)
    return root, touched


def launch(root: Path, commands: list[list[str]]) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", LAUNCH, str(root), json.dumps(commands)]
    return subprocess.run(words, cwd=root, capture_output=True, text=True, timeout=300, check=False)


def test_new_pass_and_new_option_in_two_files_each(copy: tuple[Path, list[set[str]]]) -> None:
    root, touched = copy
    assert [len(files) for files in touched] == [2, 2]
    done = launch(root, [["opt", "x.mlir", flag] for flag in COUNTS] + [list(words) for words in SAYS])
    answers = json.loads(done.stdout.splitlines()[-1])
    for (flag, count), answer in zip(COUNTS.items(), answers, strict=False):
        assert "exp" in answer, answer
        assert len(re.findall(r"\bfloor\b", answer)) == count, (flag, answer)
    for (words, text), answer in zip(SAYS.items(), answers[len(COUNTS) :], strict=True):
        assert text in answer, (words, answer)


def test_a_second_pass_of_a_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PASSES", dict(registry.PASSES))
    with pytest.raises(InternalError, match="two passes are called 'fold'"):
        registry.register("fold")(registry.PASSES["sweep"])
    with pytest.raises(InternalError, match="has no docstring"):
        registry.register("new")(type("New", (registry.Pass,), {}))


@pytest.mark.parametrize(
    ("name", "annotation", "details"),
    [("extra", "bool", {"upstream": ("split-files",)}), ("argument_types", "str", {}), ("extra", "complex", {})],
)
def test_an_option_of_a_taken_name_or_unknown_kind_is_refused(name: str, annotation: str, details: dict[str, Any]) -> None:
    wider = make_dataclass("Wider", [(name, annotation, options.option(None, "new", **details))], bases=(options.CompilerOptions,), frozen=True)
    with pytest.raises(InternalError):
        options.spellings(wider)


def test_every_step_of_the_pipelines_is_a_pass() -> None:
    assert {step for steps in PIPELINES.values() for step in steps} <= set(PASSES)
