"""How `./run --what-if` searches: which suggestions are told, put together, and what a larger batch makes of a program's calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import ttnn
from ttnn_shim.error_bands import relative_error
from ttnn_shim.reports.answers import Answer, Batch, Edit, Suggestion, as_data, from_data, table
from ttnn_shim.reports.calls import Call, Run

from alchemist.tools import batches, whatif
from tests.device import simulated_device

SETUP = {"inputs": "[1, 32] bfloat16 tile dram", "outputs": "[1, 32] bfloat16 tile dram", "fidelity": "HiFi4", "cores": "1"}
RUN = Run("", "out", "n150", [Call("ttnn.add", "main.py:1", "y = ttnn.add(x, x)", ("f",), 1000e3, 0.0, ("Binary",), "dram", SETUP)])


def suggestion(name: str, *spans: tuple[int, int], touches: str = "", file: str = "main.py", what: str = "") -> Suggestion:
    edits = tuple(Edit(file, start, end, name) for start, end in spans)
    return Suggestion(what or name, "main.py:1", name, edits, frozenset(touches))


class Prices:
    """In the place of a `Pricer`: each change gains what is written here, the pair of `clash` nothing together."""

    gains_ns: ClassVar[dict[str, float | None]]
    clash: ClassVar[set[str]]
    fails: ClassVar[set[str]] = set()
    at_lofi: ClassVar[set[str]] = set()

    def __init__(self, program: Path, card: str) -> None:
        self.sources: dict[str, Any] = {}
        self.grid = (8, 8)
        self.run = RUN
        self.fidelities: dict[str, int] = {}

    def price(self, edits: Sequence[Edit] = ()) -> float | None:
        names = {edit.text for edit in edits}
        lower = len(names & self.at_lofi)
        self.fidelities = {"HiFi2": 3 - lower, "LoFi": lower}
        gains = [self.gains_ns[name] for name in names]
        if None in gains or (self.clash and self.clash <= names):
            return None
        return RUN.device_ns - sum(gain for gain in gains if gain is not None)

    def has_golden(self) -> bool:
        return bool(self.fails)

    def check(self, edits: Sequence[Edit]) -> str:
        return "fails --check: moved" if {edit.text for edit in edits} & self.fails else ""

    def batches(self) -> list[Batch]:
        return [Batch(16, 3e6, 1.5e6)]


@pytest.mark.parametrize(
    ("gains_ns", "clash", "told", "together", "refused"),
    [
        ({"a": 10e3, "b": 30e3, "c": 20e3}, set(), "bca", "bca", 0),
        ({"a": 10e3, "b": 30e3, "c": 20e3, "d": 15e3}, set(), "bcda", "bcd", 0),
        ({"a": 10e3, "b": 30e3, "c": None}, set(), "ba", "ba", 1),
        ({"a": 10e3, "b": 30e3, "c": 20e3}, {"b", "c"}, "bca", "ba", 0),
        ({"a": 1.9e3, "b": -30e3, "c": 2.1e3}, set(), "c", "c", 0),
        ({}, set(), "", "", 0),
    ],
    ids=["all", "three together", "refused", "not together", "too little", "nothing"],
)
def test_suggestions_by_gain(
    gains_ns: dict[str, float | None], clash: set[str], told: str, together: str, refused: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = [suggestion(name, (10 * at, 10 * at + 5)) for at, name in enumerate(gains_ns)]
    monkeypatch.setattr(whatif, "Pricer", Prices)
    monkeypatch.setattr(whatif, "suggestions", lambda _run, _sources, _grid, lines: tried[:lines])
    monkeypatch.setattr(Prices, "gains_ns", gains_ns, raising=False)
    monkeypatch.setattr(Prices, "clash", clash, raising=False)
    answer = whatif.ask(Path("nowhere"), "n150")
    assert [one.what for one in answer.suggestions] == list(told)
    assert [one.what for one in answer.together] == list(together)
    assert answer.refused == refused
    assert answer.device_ns == RUN.device_ns
    assert answer.together_ns == RUN.device_ns - sum(gains_ns[name] or 0 for name in together)
    assert list(answer.batches) == [Batch(16, 3e6, 1.5e6)]
    for one in answer.suggestions:
        assert one.gain_ns == gains_ns[one.what]
        assert one.error_ns == pytest.approx(one.gain_ns * relative_error("", "n150"))
    assert from_data(json.loads(json.dumps(as_data(answer))), RUN) == answer
    if told:
        assert whatif.ask(Path("nowhere"), "n150", 0).suggestions == []


def test_changes_that_cost_accuracy_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    gains_ns = {"fails": 50e3, "coarse": 40e3, "both": 30e3, "exact": 10e3, "small": 5e3}
    tried = [suggestion(name, (10 * at, 10 * at + 5)) for at, name in enumerate(gains_ns)]
    monkeypatch.setattr(whatif, "Pricer", Prices)
    monkeypatch.setattr(whatif, "suggestions", lambda *_, **__: tried)
    for name, value in (("gains_ns", gains_ns), ("clash", set()), ("fails", {"fails", "both"}), ("at_lofi", {"coarse", "both"})):
        monkeypatch.setattr(Prices, name, value, raising=False)
    answer = whatif.ask(Path("nowhere"), "n150")
    lofi = "math fidelity: 1 program at LoFi instead of HiFi2"
    assert [(one.what, one.cost) for one in answer.suggestions] == [
        ("exact", ""), ("small", ""), ("fails", "fails --check: moved"), ("coarse", lofi), ("both", f"{lofi}; fails --check: moved"),
    ]  # fmt: skip
    assert [one.what for one in answer.together] == ["exact", "small", "coarse"]
    shown = table(answer).splitlines()
    assert shown[[row.endswith("fails") for row in shown].index(True) + 1] == " " * 30 + "! fails --check: moved"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"HiFi4": 3}, {"HiFi4": 3}, ""), ({"LoFi": 2, "HiFi2": 1}, {"HiFi2": 3}, ""), ({"HiFi4": 2}, {"HiFi4": 1}, ""),
        ({"HiFi4": 3}, {"HiFi4": 1, "HiFi2": 2}, "math fidelity: 2 programs at HiFi2 instead of HiFi4"),
        ({"HiFi4": 2, "": 4}, {"LoFi": 1, "HiFi3": 1}, "math fidelity: 1 program at LoFi instead of HiFi4; math fidelity: 1 program at HiFi3 instead of HiFi4"),
    ],
)  # fmt: skip
def test_programs_at_a_lower_fidelity(before: dict[str, int], after: dict[str, int], said: str) -> None:
    assert whatif.lower_fidelity(before, after) == said


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (suggestion("a", (0, 5)), suggestion("b", (4, 8)), True),
        (suggestion("a", (4, 8)), suggestion("b", (0, 5)), True),
        (suggestion("a", (0, 5)), suggestion("b", (5, 8)), False),
        (suggestion("a", (0, 5)), suggestion("b", (5, 8), (2, 3)), True),
        (suggestion("a", (0, 5)), suggestion("b", (2, 8), file="consteval.py"), False),
        (suggestion("a", (3, 3)), suggestion("b", (3, 3)), False),  # both add a keyword
        (suggestion("a", (3, 3)), suggestion("b", (2, 5)), True),
        (suggestion("a", (3, 3)), suggestion("b", (3, 5)), False),
        (suggestion("a", (0, 5), touches="xy"), suggestion("b", (7, 8), touches="yz"), True),
        (suggestion("a", (0, 5), touches="x"), suggestion("b", (7, 8), touches="z"), False),
    ],
)
def test_of_changes_at_one_place_the_best_is_told(one: Suggestion, other: Suggestion, meet: bool) -> None:
    for first, second in ((one, other), (other, one)):
        assert whatif._apart([first, second]) == ([first] if meet else [first, second])


@pytest.mark.parametrize(
    ("what", "op"), [("ttnn.linear in L1", "matmul"), ("ttnn.matmul at LoFi", "matmul"), ("ttnn.conv2d: less", "conv2d"), ("ttnn.add", "")]
)
def test_errors_of_gains(what: str, op: str) -> None:
    assert whatif._band(what, "p150") == relative_error(op, "p150")


def test_table() -> None:
    many = [Suggestion(f"change {at}", "main.py:3" if at else "", "first\nsecond", (), frozenset(), 50e3 - at, 5e3) for at in range(17)]
    lines = table(Answer(RUN, many, many[:2], 900e3, 3, [Batch(2, 1500e3, 750e3)])).splitlines()
    assert lines[0] == "what-if: out on simulated n150: 1,000.0 us now, gaps included"
    assert lines[3] == "     50.0     5.0      950.0  change 0"
    assert lines[4:6] == [" " * 30 + "first", " " * 30 + "second"]
    assert lines[6] == "     50.0     5.0      950.0  main.py:3 change 1"
    assert lines[3 + 3 * 15] == " " * 30 + "(2 more)"
    assert lines[-7:-2] == [
        "best 2 together: 100.0 us less, 900.0 us (-10.0%)",
        f"{'':9} {'main.py:':13} first", f"{'':9} {'':13} second", f"{'':9} {'main.py:3:':13} first", f"{'':9} {'':13} second",
    ]  # fmt: skip
    assert lines[-2].startswith("batch 2: 1,500.0 us, 750.0 us in place of 1,000.0 us (-25.0%): export again")
    assert "more)" not in table(Answer(RUN, many[:15], [], 1000e3, 0))
    nothing = table(Answer(RUN, [], [], 1000e3, 4))
    assert nothing.endswith("no edit that was tried makes it faster; TT-NN refuses 4 of them")


def manifest(*shapes: list[int], outputs: dict[str, Any] | None = None) -> dict[str, Any]:
    tensors = {f"x{at}": {"kind": "input", "shape": shape, "file": f"{at}.bin"} for at, shape in enumerate(shapes)}
    weight = {"kind": "weight", "shape": [7, 7], "file": "w.bin"}
    return {"tensors": {**tensors, "w": weight}, "outputs": outputs or {"y": {"shape": [4, 5], "golden": "y.npy"}}, "name": "m"}


@pytest.mark.parametrize(
    ("shapes", "outputs", "size"),
    [
        ([[4, 3]], None, 4), ([[4, 3], [4, 5, 6]], None, 4), ([[4, 3], [5, 3]], None, 0), ([[4]], None, 0), ([[4, 3], [4]], None, 0),
        ([[4, 3], []], None, 0), ([], None, 0), ([[4, 3]], {"y": {"shape": [4], "written": "x0"}}, 0), ([[4, 3]], {"y": {"shape": [4], "mutates": "w"}}, 0),
        ([[1, 3]], None, 1),
    ],
)  # fmt: skip
def test_batch_of_a_program(shapes: list[list[int]], outputs: dict[str, Any] | None, size: int) -> None:
    assert batches.batch_of(manifest(*shapes, outputs=outputs)) == size


def test_manifest_and_result_of_a_larger_batch() -> None:
    before = manifest([4, 3], [4, 5, 6])
    larger = batches.with_batch(before, 8)
    assert larger["tensors"] == {"x0": {"kind": "input", "shape": [32, 3]}, "x1": {"kind": "input", "shape": [32, 5, 6]}, "w": before["tensors"]["w"]}
    assert larger["outputs"] == {"y": {"shape": [4, 5]}}
    assert larger["name"] == "m"
    assert before == manifest([4, 3], [4, 5, 6])

    def expected(*rows: tuple[str, list[int]]) -> bool:
        return batches.as_expected(before, {"outputs": [{"name": name, "shape": shape} for name, shape in rows]}, 8)

    assert expected(("y", [32, 5]))
    assert not expected(("y", [4, 5]))
    assert not expected(("y", [32, 40]))
    assert not expected()
    assert not batches.as_expected({"outputs": {"y": {"shape": []}}}, {"outputs": [{"name": "y", "shape": []}]}, 8)


@pytest.fixture
def device() -> Iterator[Any]:
    with simulated_device() as opened:
        yield opened


def put(device: Any, *shape: int) -> Any:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 7
    return ttnn.to_device(ttnn.to_layout(ttnn.Tensor(values, ttnn.float32), ttnn.TILE_LAYOUT), device)


def test_sizes_written_out_are_those_of_the_larger_batch(device: Any) -> None:
    """Calls as a program for a batch of 2 has them, with tensors of a batch of 6."""
    kept = {name: getattr(ttnn, name) for name in ("reshape", "slice", "concat", "layer_norm", "sum", "mean", "max_pool2d")}
    x = put(device, 6, 4, 32)
    with batches.sizes_for(3):
        shapes = {
            "reshape": ttnn.reshape(x, [8, 32]),
            "reshape of something else": ttnn.reshape(x, [24, 32]),
            "slice": ttnn.slice(x, [0, 0, 0], [2, 4, 16]),
            "slice of a part": ttnn.slice(x, [1, 0, 0], [2, 4, 16]),
            "slice of some": ttnn.slice(x, [0, 0, 0], [1, 4, 16]),
            "concat": ttnn.concat([x, put(device, 2, 1, 32)], 1),
            "concat of the same": ttnn.concat([x, x], 1),
            "norm": ttnn.layer_norm(x, residual_input_tensor=x),
            "norm of all": ttnn.layer_norm(x, residual_input_tensor=put(device, 1, 4, 32)),
            "rows": ttnn.sum(put(device, 1, 1, 12, 32), dim=2, keepdim=True),
            "rows by number": ttnn.mean(put(device, 1, 1, 12, 32), dim=[-2], keepdim=True),
            "rows of one input": ttnn.sum(put(device, 1, 1, 13, 32), dim=2, keepdim=True),
            "columns": ttnn.sum(put(device, 1, 1, 12, 32), dim=3, keepdim=True),
            "images": ttnn.sum(put(device, 2, 1, 12, 32), dim=2, keepdim=True),
            "pool": ttnn.max_pool2d(
                ttnn.to_layout(ttnn.typecast(put(device, 1, 1, 6 * 16, 32), ttnn.bfloat16), ttnn.ROW_MAJOR_LAYOUT), batch_size=2, input_h=4, input_w=4,
                channels=32, kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], dilation=[1, 1],
            ),
        }  # fmt: skip
    assert {name: list(made.shape) for name, made in shapes.items()} == {
        "reshape": [24, 32], "reshape of something else": [24, 32], "slice": [6, 4, 16], "slice of a part": [1, 4, 16], "slice of some": [1, 4, 16],
        "concat": [6, 5, 32], "concat of the same": [6, 8, 32], "norm": [6, 4, 32], "norm of all": [6, 4, 32], "rows": [3, 1, 1, 32],
        "rows by number": [3, 1, 1, 32], "rows of one input": [1, 1, 1, 32], "columns": [1, 1, 12, 1], "images": [2, 1, 1, 32], "pool": [1, 1, 24, 32],
    }  # fmt: skip
    assert {name: getattr(ttnn, name) for name in kept} == kept, "as before"
