"""The mutants themselves: in the right places, valid Python, and every product file has tests."""

from __future__ import annotations

import ast
import subprocess

import pytest

from tools.mutation.__main__ import draw, main, sources
from tools.mutation.edits import edits
from tools.mutation.known import KNOWN
from tools.mutation.layers import LAYERS, ROOT, layer_of, relevant_tests

PYTHON = '''"""Doc 1 < 2."""
LIMIT: Literal[3] = 4
def f(a: int = 5, *, b=True):
    """Text and 6."""
    if a < LIMIT and not (b or a):  # 7 < 8
        raise ValueError(f"{a + 9}")
    if a > 7:
        raise InternalError("ours")
    assert a < 8
    g(zip(a, b, strict=True), 20_000, flush=True)
    h(8 - a, "a" + b, c[::8], strict=True)
    x = ErrorSample(((32, 32), "f32"), match="8")
    y = spec("sort", samples=tuple(Sample(((n, 64),), {"dim": n - 1}) for n in (1, 2)))
    return a + 1
def _has(a: int) -> bool:
    return False
def has(a: int) -> bool:
    return False
class Shape:
    def area(self, scale: int = 2) -> int:
        \"\"\"Of all of it.\"\"\"
        raise NotImplementedError
'''
PYTHON_CHANGES = {
    "LIMIT: Literal[3] = 5", "a: int = 6", "b=False", "a <= LIMIT", "LIMIT or not (b or a)", "if not (a < LIMIT and not (b or a)):", "LIMIT and  (b or a):", "(b and a)", "        pass\n",
    "return a - 1", "return a + 2", "20_000, flush=True)\n    h(8 - a, \"a\" + b, c[::8], strict=True)\n    x = ErrorSample(((32, 32), \"f32\"), match=\"8\")\n    y = spec(\"sort\", samples=tuple(Sample(((n, 64),), {\"dim\": n - 1}) for n in (1, 2)))\n    return None",
    "def _has(a: int) -> bool:\n    return True", "def has(a: int) -> bool:\n    return True", "def has(a: int) -> bool:\n    return None", "pass\n    h(", "pass\n    x = ", "h(9", "8 + a", "::9", "strict=False)\n    x = ",
}  # fmt: skip
CPP = """#include <x> // 1 < 2
// a < b
template <int N>
int f(const std::vector<int>& v, int* p) {
    if (v.size() < 3 && !p) {
        throw_error("1 + 2");
        return 0;
    }
    SHIM_ASSERT(v.size() < 9, "ours");
    SHIM_CHECK(v[3] == 7 && v, "{} is not {}", v[5] + 6, f(9));
    w.reserve(v.size() + 7);
    parallel_for(n, std::max<size_t>(8, 9 / n), [&](size_t begin, size_t end) {
    push(v, 20000);
    return v[0] * 2 + std::min(a, b);
}
"""
CPP_CHANGES = {
    "v.size() <= 3", "3 || !p", "< 4 &&", "&& p)", "if (!(v.size() < 3 && !p))", "        ;\n        return", "return 1;", "    ;\n    return", "v[1]", "v[0] + 2", "* 3 +",
    "2 - std", "std::max(a", "v[4]", "!= 7", "== 8", "7 || v", "    ;\n    w.reserve",
}  # fmt: skip


@pytest.mark.parametrize(("path", "text", "changes"), [("x.py", PYTHON, PYTHON_CHANGES), ("x.cpp", CPP, CPP_CHANGES)], ids=["python", "cpp"])
def test_places(path: str, text: str, changes: set[str]) -> None:
    mutants = [edit.apply(text) for edit in edits(path, text)]
    assert len(set(mutants)) == len(mutants) == len(changes)
    for change in changes:
        assert [change in mutant for mutant in mutants].count(True) == 1, change


@pytest.mark.slow
def test_python_mutants_of_the_project_parse() -> None:
    for mutant in draw(sources(None, [], []), 60, 1):
        if mutant.path.endswith(".py"):
            text = (ROOT / mutant.path).read_text()
            assert ast.dump(ast.parse(mutant.edit.apply(text))) != ast.dump(ast.parse(text)), str(mutant)


@pytest.mark.slow
def test_a_seed_draws_the_same_from_every_layer(capsys: pytest.CaptureFixture[str]) -> None:
    listed = []
    for _ in range(2):
        assert main(["--list", "--count", "60", "--seed", "7"]) == 0
        listed.append(capsys.readouterr().out)
    assert listed[0] == listed[1]
    for layer in LAYERS:
        assert f" {layer.name} " in listed[0]


def test_every_product_file_has_tests() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = {layer_of(path): path for path in listed.stdout.splitlines()}
    for layer in LAYERS:
        assert relevant_tests(paths[layer])[0].endswith(".py")
        for begin in layer.sources:
            assert any(path.startswith(begin) for path in listed.stdout.splitlines()), f"{layer.name}: {begin} is gone"
        for place in layer.tests:
            assert (ROOT / place).exists(), f"{layer.name}: {place} is gone"


def test_known_faults_stand_in_the_source_of_today() -> None:
    for one in KNOWN:
        one.edit()
        assert layer_of(one.path) is not None
