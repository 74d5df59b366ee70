"""What the front ends make of the models of their tests, written down: a change is seen also where it computes the same.

python -m tests.captured    # runs the front ends' tests and writes tests/data/captured.txt; say in the commit why they changed
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from xdsl.ir import Operation

from alchemist.frontends.base import FrontendResult
from alchemist.ir.location import sources_of
from alchemist.ir.text import print_module

RECORDED = Path(__file__).parent / "data" / "captured.txt"
FOLDERS = ("tests/frontends_torch", "tests/frontends_jax", "tests/frontends_onnx/test_ops.py", "tests/mlir/test_stablehlo_ops.py")
_WRITES = "CAPTURED_ARE_WRITTEN_TO"
_VALUES = re.compile(r"dense(_resource)?<[^>]*>")
_counts: dict[str, int] = {}


def said(result: FrontendResult) -> str:
    """Ops in order, and a digest: attributes and types, names, scopes and framework ops of the values; no lines of the tests, no values."""
    names = [op.name.removeprefix("ttir.") for op in result.module.walk() if op.name.startswith("ttir.")]
    text = _VALUES.sub("VALUES", print_module(result.module, locations=False))
    places = [_origin(op) for op in result.module.walk()]
    kinds = [f"{value.name} {value.shape} {value.dtype}" for value in (*result.arguments, *result.outputs)]
    shown = " ".join(names)
    return f"{shown[:100]}  #{hashlib.sha256(repr((text, places, kinds)).encode()).hexdigest()[:10]}"


def _origin(op: Operation) -> list[tuple[object, ...]]:
    return [(info.name, info.op, info.scopes) for info in sources_of(op)]


@cache
def recorded() -> dict[str, str]:
    return dict(line.split("\t") for line in RECORDED.read_text(encoding="utf-8").splitlines())


def same_as_recorded(result: FrontendResult) -> None:
    """Called in a test, once for each of its captures. Those of slow tests are not written down: it would take an hour."""
    if os.environ["TEST_IS_SLOW"]:
        return
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0].partition("tests/")[2]
    _counts[test] = _counts.get(test, 0) + 1
    name = f"{test} {_counts[test]}".encode("unicode_escape").decode()
    now = said(result)
    if _WRITES in os.environ:
        with open(os.environ[_WRITES], "a", encoding="utf-8") as file:
            file.write(f"{name}\t{now}\n")
        return
    assert recorded().get(name, "nothing") == now, "explain it in the commit and run `python -m tests.captured`"


def main() -> int:
    with tempfile.NamedTemporaryFile() as file:
        words = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-m", "not slow", *FOLDERS]
        done = subprocess.run(words, cwd=RECORDED.parents[2], env=os.environ | {_WRITES: file.name, "OMP_NUM_THREADS": "1"}, check=False)
        lines = sorted(set(Path(file.name).read_text(encoding="utf-8").splitlines()))
    RECORDED.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
