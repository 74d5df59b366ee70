"""`./run --check-ops`: which call is matched with which value of the framework, and what is said about the first that differs."""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alchemist.tools import check_ops
from alchemist.tools.check_ops import OpWatch, WatchedCall, best_of, check_program, match, op_errors

Array = np.ndarray[Any, Any]


def f32(values: Sequence[Sequence[float]]) -> Array:
    return np.array(values, np.float32)


def i32(values: Sequence[Sequence[int]]) -> Array:
    return np.array(values, np.int32)


RIGHT = np.arange(6, dtype=np.float32).reshape(2, 3)
WRONG = RIGHT[::-1] * 3
VALUES: dict[str, Array] = {"right": RIGHT, "wrong": WRONG, "half": RIGHT / 2, "long": np.arange(8, dtype=np.float32)}
SOURCE = [f"y{line} = ttnn.op{line}(x)" for line in range(1, 20)]


def compare(actual: Array, golden: Array, limits: Mapping[str, Any]) -> dict[str, Any]:
    """As strict as can be; `limits` may ask for a reason."""
    error = float(np.abs(actual - golden).max())
    return {"passed": error == 0, "pcc": None if "no pcc" in limits else -error, "rel_l2": error, "max_abs_err": error, "why": limits.get("why", ""), "more": 1}


def call(line: int, value: str | None = "right", op: str = "", loops: tuple[str, ...] = ()) -> WatchedCall:
    return WatchedCall(op or f"ttnn.op{line}", "main.py", line, "forward", None if value is None else VALUES[value], loops)


def entry(line: int, value: str = "right", form: bool = False, **more: Any) -> dict[str, Any]:
    return {"op": f"ttnn.op{line}", "shape": list(VALUES[value].shape), "golden": value, "value": f"layer.{line}", "form": form, **more}


UNKNOWN = {"op": "ttnn.op1", "shape": [2, 3], "form": False}  # a call without a value of the framework


def test_nothing_to_compare_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_program(tmp_path, [call(1)], VALUES.__getitem__, compare, False) == 2
    assert 'export with export_golden="ops"' in capsys.readouterr().err
    assert op_errors(tmp_path, [call(1)], VALUES.__getitem__, compare) == {}


@pytest.mark.parametrize(
    ("calls", "entries", "agree", "code", "said"),
    [
        ([call(1), call(2)], [entry(1), entry(2)], False, 0, ["2 calls, 2 have a value of the framework, 2 agree"]),
        ([call(1), call(2, "wrong")], [entry(1), entry(2, why="far off")], False, 1, [
            "2 calls, 2 have a value of the framework, 1 agree", "FAILED: first at main.py:2 in forward: y2 = ttnn.op2(x)",
            "  ttnn.op2 computes layer.2 of the framework: far off", "  last good: main.py:1 in forward: y1 = ttnn.op1(x)"]),
        ([call(2, "wrong", loops=("i = 1", "j = 2"))], [entry(2)], False, 1, [
            "1 calls, 1 have a value of the framework, 0 agree", "FAILED: first at main.py:2 in forward (i = 1, j = 2): y2 = ttnn.op2(x)",
            "  ttnn.op2 computes layer.2 of the framework: values differ"]),
        ([call(99, "wrong")], [entry(99)], False, 1, [
            "1 calls, 1 have a value of the framework, 0 agree", "FAILED: first at main.py:99 in forward: ttnn.op99",
            "  ttnn.op99 computes layer.99 of the framework: values differ"]),
        # What the edit brought, since the last call that was right.
        ([call(7), call(1), call(8, "half"), call(8, "half"), call(9, "half"), call(2, "wrong"), call(6, "half"), call(3)], [entry(1), entry(2), entry(3)], False, 1, [
            "8 calls, 3 have a value of the framework, 2 agree", "FAILED: first at main.py:2 in forward: y2 = ttnn.op2(x)",
            "  ttnn.op2 computes layer.2 of the framework: values differ", "  last good: main.py:1 in forward: y1 = ttnn.op1(x)",
            "  not in the export: main.py:8 in forward: y8 = ttnn.op8(x)", "  not in the export: main.py:9 in forward: y9 = ttnn.op9(x)"]),
        ([call(line, "wrong") for line in (1, 1, 2, 3)], [entry(line) for line in (1, 1, 2, 3)], False, 1, [
            "4 calls, 4 have a value of the framework, 0 agree", "FAILED: first at main.py:1 in forward: y1 = ttnn.op1(x)",
            "  ttnn.op1 computes layer.1 of the framework: values differ", "  behind it: main.py:2, main.py:3"]),
        ([call(line, "wrong") for line in range(1, 10)], [entry(line) for line in range(1, 10)], False, 1, [
            "9 calls, 9 have a value of the framework, 0 agree", "FAILED: first at main.py:1 in forward: y1 = ttnn.op1(x)",
            "  ttnn.op1 computes layer.1 of the framework: values differ", f"  behind it: {', '.join(f'main.py:{line}' for line in range(2, 10))}"]),
        ([call(line, "wrong") for line in range(1, 11)], [entry(line) for line in range(1, 11)], False, 1, [
            "10 calls, 10 have a value of the framework, 0 agree", "FAILED: first at main.py:1 in forward: y1 = ttnn.op1(x)",
            "  ttnn.op1 computes layer.1 of the framework: values differ", f"  behind it: {', '.join(f'main.py:{line}' for line in range(2, 10))} ..."]),
        # The outputs are right: an op whose error is known from before the edit fails still.
        ([call(1, "wrong")], [entry(1)], True, 0, [
            "1 calls, 1 have a value of the framework, 0 agree", "the outputs agree, but first at main.py:1 in forward: y1 = ttnn.op1(x)",
            "  ttnn.op1 computes layer.1 of the framework: values differ"]),
        ([call(1, "wrong"), call(2, "wrong")], [entry(1), entry(2, unedited_rel_l2=0.1)], True, 1, [
            "2 calls, 2 have a value of the framework, 0 agree", "FAILED: first at main.py:1 in forward: y1 = ttnn.op1(x)",
            "  ttnn.op1 computes layer.1 of the framework: values differ", "  behind it: main.py:2"]),
        # No value of the framework, none of the program, one that differed before any edit, other sizes.
        ([call(1, "wrong"), call(2)], [UNKNOWN, entry(2)], False, 0, ["2 calls, 1 have a value of the framework, 1 agree"]),
        ([call(1, None), call(2)], [{**entry(1), "shape": None}, entry(2)], False, 0, ["2 calls, 1 have a value of the framework, 1 agree"]),
        ([call(1, "wrong"), call(2)], [entry(1, unedited_passed=False), entry(2)], False, 0, ["2 calls, 1 have a value of the framework, 1 agree"]),
        ([call(1, "wrong")], [entry(1, unedited_passed=False)], False, 1, [
            "1 calls, 0 have a value of the framework, 0 agree", "FAILED: nothing could be compared"]),
        # Values in another form: wrong only if what is computed from them is, or if they are the last word.
        ([call(1, "wrong"), call(2)], [entry(1, form=True), entry(2)], False, 0, ["2 calls, 1 have a value of the framework, 1 agree"]),
        ([call(1, "wrong"), call(3), call(2, "wrong")], [entry(1, form=True), entry(3, form=True), entry(2)], False, 1, [
            "3 calls, 3 have a value of the framework, 1 agree", "FAILED: first at main.py:1 in forward: y1 = ttnn.op1(x)",
            "  ttnn.op1 computes layer.1 of the framework: values differ", "  behind it: main.py:2"]),
        ([call(1), call(2, "wrong")], [entry(1), entry(2, form=True)], False, 1, [
            "2 calls, 2 have a value of the framework, 1 agree", "FAILED: first at main.py:2 in forward: y2 = ttnn.op2(x)",
            "  ttnn.op2 computes layer.2 of the framework: values differ", "  last good: main.py:1 in forward: y1 = ttnn.op1(x)"]),
        ([call(1, "wrong"), call(4, "long")], [entry(1, form=True), {**UNKNOWN, "op": "ttnn.op4", "shape": [8]}, entry(9)], False, 1, [
            "2 calls, 0 have a value of the framework, 0 agree", "FAILED: nothing could be compared"]),
        # The value of a fused op is that of a call beside it.
        ([call(1, "wrong"), call(8, "half"), call(9)], [entry(1)], False, 0, ["3 calls, 1 have a value of the framework, 1 agree"]),
        ([call(8), call(9, "half"), call(1, "wrong")], [entry(1)], False, 0, ["3 calls, 1 have a value of the framework, 1 agree"]),
        ([call(1, "wrong"), call(8, None), call(2), call(9)], [entry(1), entry(2)], False, 1, [
            "4 calls, 2 have a value of the framework, 1 agree", "FAILED: first at main.py:1 in forward: y1 = ttnn.op1(x)",
            "  ttnn.op1 computes layer.1 of the framework: values differ"]),
    ],
)  # fmt: skip
def test_verdict(
    calls: Sequence[WatchedCall], entries: list[Any], agree: bool, code: int, said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "ops.json").write_text(json.dumps(entries))
    (tmp_path / "main.py").write_text("\n".join(SOURCE) + "\n")
    assert check_program(tmp_path, calls, VALUES.__getitem__, compare, agree) == code
    printed = capsys.readouterr().out.splitlines()
    assert [line.removeprefix("check-ops: ") for line in printed] == said


def test_errors_of_ops(tmp_path: Path) -> None:
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "ops.json").write_text(json.dumps([UNKNOWN, entry(2), entry(3)]))
    errors = op_errors(tmp_path, [call(1), call(2), call(3, "half"), call(8, "wrong")], VALUES.__getitem__, compare)
    assert errors == {
        1: {"pcc": 0.0, "rel_l2": 0.0, "max_abs_err": 0.0, "passed": True},
        2: {"pcc": -2.5, "rel_l2": 2.5, "max_abs_err": 2.5, "passed": False},
    }


@pytest.mark.parametrize(
    ("calls", "places"),
    [
        ([call(1), call(2), call(3)], [0, 1, 2]),
        ([call(2), call(3)], [1, 2]),
        ([call(1), call(9), call(3)], [0, 1, 2]),  # another op in its place
        ([call(1), call(9, "long"), call(3)], [0, None, 2]),
        ([call(1), call(9, None), call(3)], [0, None, 2]),
        ([call(1), call(8), call(9), call(3)], [0, None, 1, 2]),  # two for one: the last has its value
        ([call(1), call(8), call(9, "long"), call(3)], [0, None, None, 2]),
        ([call(9)], [2]),  # one for three
        ([call(7), call(1), call(8), call(2), call(3), call(9)], [None, 0, None, 1, 2, None]),
    ],
    ids=["same", "removed", "replaced", "other size", "no value", "two for one", "two, other size", "one for three", "inserted"],
)
def test_match(calls: list[WatchedCall], places: list[int | None]) -> None:
    entries = [entry(line) for line in (1, 2, 3)]
    assert [place for _, place in match(calls, entries)] == places


def test_match_of_many_equal_calls() -> None:
    """Layers of a large model: the same few ops over and over."""
    ops = ["ttnn.embedding", *["ttnn.linear", "ttnn.add"] * 150, "ttnn.argmax"]
    entries = [{"op": op, "shape": list(VALUES["right"].shape)} for op in ops]
    calls = [call(number, op=op) for number, op in enumerate([*ops[:100], "ttnn.relu", *ops[100:200], "ttnn.relu", *ops[200:]])]
    assert [place for _, place in match(calls, entries)] == [*range(100), None, *range(100, 200), None, *range(200, 302)]


@pytest.mark.parametrize(
    ("shape", "order"), [((2, 3), (1, 0)), ((2, 3, 4), (0, 2, 1)), ((2, 3, 4), (1, 0, 2)), *(((2, 3, 4, 5), order) for order in check_ops._ORDERS[4]),
                         *(((1, 2, 3, 4, 5), order) for order in check_ops._ORDERS[5])]
)  # fmt: skip
def test_values_in_another_arrangement(shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    golden = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    kept = golden.transpose(order).reshape(1, -1)
    found = best_of(kept, golden, {}, compare)
    assert found is not None
    assert found["passed"]


def test_best_of_what_does_not_agree() -> None:
    golden = f32([[0, 1], [10, 11]])
    near = f32([[0, 10], [2, 11]])  # the transposed, but for one
    best = best_of(near, golden, {}, compare)
    assert best is not None
    assert best["rel_l2"] == 1
    assert best_of(near.reshape(-1)[:3], golden, {}, compare) is None
    one_sided = best_of(near, golden, {"no pcc": True}, compare)
    assert one_sided is not None
    assert not one_sided["passed"]
    masks = f32([[-np.inf, 0], [np.inf, 1]]), f32([[-3e38, 0], [3e38, 1]])
    for left, right in (masks, masks[::-1]):
        assert (best_of(left, right, {}, compare) or {})["passed"]
    flags = np.array([[True, False], [False, False]])
    assert (best_of(flags.astype(np.float32), flags, {}, compare) or {})["passed"]
    assert (best_of(i32([[1, 2]]), f32([[1, 2]]), {}, compare) or {})["passed"]
    assert (best_of(i32([[1 << 30, (1 << 30) + 1]]), i32([[1 << 30, 1 << 30]]), {}, compare) or {})["rel_l2"] == 1, "integers stay exact"


PROGRAM = """\
def inner(note):
    for j in range(2):
        note("ttnn.add")

def forward(note):
    for i in range(2):
        inner(note)
    i = 9
    note("ttnn.mul", whole=False)
"""


def test_watched_calls_have_places_and_loops(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(PROGRAM)

    def to_numpy(value: Any) -> Any:
        watch.add_if_active("ttnn.from_device")
        return value * 2

    class Watch(OpWatch):
        def add_if_active(self, op: str) -> None:
            if self.active:
                self.add(op, RIGHT)

    watch = Watch(tmp_path, to_numpy)
    assert not watch.active
    watch.begin()
    forward = runpy.run_path(str(tmp_path / "model.py"))["forward"]
    forward(lambda op, whole=True: watch.add(op, RIGHT if whole else (RIGHT, RIGHT)))
    watch.add("ttnn.outside", RIGHT)  # of no file of the program
    assert watch.active
    assert [(each.op, each.where) for each in watch.calls] == [
        *(("ttnn.add", f"model.py:3 in inner (i = {i}, j = {j})") for i in range(2) for j in range(2)),
        ("ttnn.mul", "model.py:9 in forward"),
    ]
    assert [each.value is None for each in watch.calls] == [False] * 4 + [True]
    assert np.array_equal(watch.calls[0].value, RIGHT * 2)
    watch.begin()
    assert watch.calls == []
