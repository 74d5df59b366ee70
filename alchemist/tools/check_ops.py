"""`./run --check-ops`: every op's output next to the framework's own value, and the line of the first one that drifted.

The export's golden/ops.json lists the calls of the unedited program. The calls of this run are matched with them by op and
shape in order, so that edits shift nothing: what was inserted or replaced has no value of the framework, what follows has.
"""

from __future__ import annotations

import difflib
import itertools
import linecache
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from ttnn_shim.json_files import read_json
from ttnn_shim.program_errors import for_loops

Array = np.ndarray[Any, Any]
ToNumpy = Callable[[Any], Array]
ReadGolden = Callable[[str], Array]
Compare = Callable[[Array, Array, Mapping[str, Any]], Mapping[str, Any]]

# Beyond this a value stands for infinity: masks are -inf in one dtype and the most negative number in another.
_CLIP = 1e30
# The arrangements in which frameworks and TT-NN keep the same values: channels last, heads before or behind the length.
_ORDERS: Mapping[int, tuple[tuple[int, ...], ...]] = {
    2: ((1, 0),),
    3: ((0, 2, 1), (1, 0, 2)),
    4: ((0, 2, 3, 1), (0, 3, 1, 2), (0, 2, 1, 3), (0, 1, 3, 2)),
    5: ((0, 2, 3, 4, 1), (0, 4, 1, 2, 3)),
}


@dataclass(frozen=True, slots=True)
class WatchedCall:
    """One call of the program. value: its result on the host, None if it is not one tensor. loops: "i = 2", from the outside."""

    op: str
    file: str
    line: int
    function: str
    value: Array | None
    loops: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def where(self) -> str:
        """The place with its function, and the turn of the loops around it."""
        return f"{self.place} in {self.function}" + (f" ({', '.join(self.loops)})" if self.loops else "")


@dataclass(slots=True)
class OpWatch:
    """Keeps the results of the calls that the files under `root` make while `active`."""

    root: Path
    to_numpy: ToNumpy
    calls: list[WatchedCall] = field(default_factory=list)
    active: bool = False
    _loops: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)

    def begin(self) -> None:
        self.calls.clear()
        self.active = True

    def add(self, op: str, result: Any) -> None:
        frame = sys._getframe(1)
        while frame is not None and not Path(frame.f_code.co_filename).is_relative_to(self.root):
            frame = frame.f_back  # type: ignore[assignment]
        if frame is None:
            return
        value = None
        if hasattr(result, "dtype") and hasattr(result, "shape"):
            self.active = False  # the way to the host consists of ops too
            try:
                value = self.to_numpy(result)
            finally:
                self.active = True
        file = Path(frame.f_code.co_filename).relative_to(self.root).as_posix()
        self.calls.append(WatchedCall(op, file, frame.f_lineno, frame.f_code.co_name, value, self._turns(frame)))

    def _turns(self, frame: FrameType) -> tuple[str, ...]:
        """Loop variables around the call, in its function and in those that called it."""
        found: list[str] = []
        at: FrameType | None = frame
        while at is not None:
            file = at.f_code.co_filename
            if Path(file).is_relative_to(self.root):
                if file not in self._loops:
                    self._loops[file] = for_loops("".join(linecache.getlines(file)))
                around = [name for first, last, name in self._loops[file] if first <= at.f_lineno <= last and name in at.f_locals]
                found += [f"{name} = {at.f_locals[name]!r:.40}" for name in reversed(around)]
            at = at.f_back
        return tuple(reversed(found))


@dataclass(frozen=True, slots=True)
class Judged:
    """A call, its entry of the index and their comparison; None where the framework has no value of it."""

    call: WatchedCall
    place: int | None
    entry: Mapping[str, Any] | None
    row: Mapping[str, Any] | None


def judged(calls: Sequence[WatchedCall], expected: Sequence[Mapping[str, Any]], read_golden: ReadGolden, compare: Compare) -> list[Judged]:
    """Every call of the program next to the framework's value.

    A value that the call with its place does not have may be that of a call inserted beside it: an activation taken out of the op
    that it was fused with.
    """
    pairs = list(match(calls, expected))
    found = []
    for number, (call, place) in enumerate(pairs):
        entry = None if place is None else expected[place]
        row = None
        # A call that differed from the framework before any edit says nothing.
        if entry is not None and "golden" in entry and call.value is not None and entry.get("unedited_passed") is not False:
            golden = read_golden(entry["golden"])
            row = best_of(call.value, golden, entry, compare)
            if row is not None and not row["passed"]:
                beside = (best_of(value, golden, entry, compare) for value in _inserted_beside(pairs, number))
                row = next((other for other in beside if other is not None and other["passed"]), row)
        found.append(Judged(call, place, entry, row))
    return found


def _inserted_beside(pairs: Sequence[tuple[WatchedCall, int | None]], number: int) -> Iterator[Array]:
    for step in (1, -1):
        at = number + step
        while 0 <= at < len(pairs) and pairs[at][1] is None:
            value = pairs[at][0].value
            if value is not None:
                yield value
            at += step


def read_index(root: Path) -> list[dict[str, Any]]:
    """The calls of the unedited program; none without golden/ops.json."""
    index = root / "golden" / "ops.json"
    rows: list[dict[str, Any]] = read_json(index) if index.exists() else []
    return rows


_TOLD = ("pcc", "rel_l2", "max_abs_err", "passed")


def op_errors(root: Path, calls: Sequence[WatchedCall], read_golden: ReadGolden, compare: Compare) -> dict[int, dict[str, Any]]:
    """{"pcc", "rel_l2", "max_abs_err", "passed"} of each call that has a value of the framework, by its place in the index."""
    rows = judged(calls, read_index(root), read_golden, compare)
    return {one.place: {key: one.row[key] for key in _TOLD} for one in rows if one.place is not None and one.row is not None}


def check_program(root: Path, calls: Sequence[WatchedCall], read_golden: ReadGolden, compare: Compare, outputs_agree: bool) -> int:
    """Prints the verdict; 0 when every op that has a value of the framework agrees with it, 1 otherwise, 2 without values.

    An op agrees when its error is not markedly above that of the unedited program (entry "unedited_rel_l2"). outputs_agree: every
    output of the program is right. Then an op whose unedited error is not known is only told: programs may take another way to the
    same end (tokens sorted by expert are in any order within one).
    """
    expected = read_index(root)
    if not expected:
        print('check-ops: no golden/ops.json; export with export_golden="ops"', file=sys.stderr)
        return 2
    compared, good, changed = 0, None, []
    bad: list[Judged] = []
    doubtful: list[Judged] = []
    suspects: list[WatchedCall] = []
    for one in judged(calls, expected, read_golden, compare):
        if one.place is None:
            changed.append(one.call)
        if one.entry is None or one.row is None:
            continue
        if one.entry["form"] and not one.row["passed"]:
            # The order of a reshaped value is the compiler's choice, wrong only if what is computed from it is.
            doubtful.append(one)
            continue
        compared += 1
        if not one.row["passed"]:
            if not bad:
                suspects = list(changed)
            bad += [*doubtful, one]
            compared += len(doubtful)
            doubtful = []
        elif not one.entry["form"]:
            doubtful = []
            if not bad:
                good, changed = one.call, []
    if doubtful and calls and doubtful[-1].call is calls[-1]:
        bad += doubtful  # the program's last word
        compared += len(doubtful)
    print(f"check-ops: {len(calls)} calls, {compared} have a value of the framework, {compared - len(bad)} agree")
    if not compared:
        print("check-ops: FAILED: nothing could be compared")
        return 1
    if not bad:
        return 0
    first = bad[0]
    told = outputs_agree and not any("unedited_rel_l2" in (one.entry or {}) for one in bad)
    print(f"check-ops: {'the outputs agree, but' if told else 'FAILED:'} first at {first.call.where}: {_source(root, first.call)}")
    print(f"  {first.call.op} computes {(first.entry or {}).get('value')} of the framework: {(first.row or {}).get('why') or 'values differ'}")
    if good is not None:
        print(f"  last good: {good.where}: {_source(root, good)}")
    for suspect in unique(suspects):
        print(f"  not in the export: {suspect.where}: {_source(root, suspect)}")
    others = [place for place in dict.fromkeys(one.call.place for one in bad) if place != first.call.place]
    if others:
        print(f"  behind it: {', '.join(others[:8])}{' ...' if len(others) > 8 else ''}")
    return 0 if told else 1


def unique(calls: Iterable[WatchedCall]) -> list[WatchedCall]:
    return list({call.place: call for call in calls}.values())


def match(calls: Sequence[WatchedCall], expected: Sequence[Mapping[str, Any]]) -> Iterator[tuple[WatchedCall, int | None]]:
    """Each call with the place of its entry in `expected`, None for what the edit brought."""
    ours = [(call.op, None if call.value is None else call.value.shape) for call in calls]
    theirs = [(entry["op"], None if entry["shape"] is None else tuple(entry["shape"])) for entry in expected]
    for tag, a, b, c, d in difflib.SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from zip(calls[c:d], range(a, b), strict=True)
        elif tag == "replace" and b - a == d - c:
            # One for one: another op, or the same one with another shape, in the place of each.
            for call, place in zip(calls[c:d], range(a, b), strict=True):
                yield call, place if _same_size(call, expected[place]) else None
        elif tag == "replace":
            yield from zip(calls[c : d - 1], itertools.repeat(None))
            yield calls[d - 1], b - 1 if _same_size(calls[d - 1], expected[b - 1]) else None
        elif tag == "insert":
            yield from zip(calls[c:d], itertools.repeat(None))


def _same_size(call: WatchedCall, entry: Mapping[str, Any]) -> bool:
    return call.value is not None and entry["shape"] is not None and call.value.size == int(np.prod(entry["shape"]))


def best_of(actual: Array, golden: Array, limits: Mapping[str, Any], compare: Compare) -> Mapping[str, Any] | None:
    """The comparison in the arrangement that agrees best; None when the sizes differ."""
    if actual.size != golden.size:
        return None
    if golden.dtype.kind == "f":
        golden = np.clip(golden, -_CLIP, _CLIP)
    if actual.dtype.kind == "f":
        actual = np.clip(actual, -_CLIP, _CLIP)
    if actual.dtype.kind != golden.dtype.kind:  # a mask that the framework has as bool, an index that the device has as float
        golden, actual = golden.astype(np.float32), actual.astype(np.float32)
    rows = []
    for order in (None, *_ORDERS.get(golden.ndim, ())):
        one = golden if order is None else golden.transpose(order)
        row = compare(actual, one.reshape(actual.shape), limits)
        if row["passed"]:
            return row
        rows.append(row)
    return max(rows, key=lambda row: -1.0 if row["pcc"] is None else row["pcc"])


def _source(root: Path, call: WatchedCall) -> str:
    return linecache.getline(str(root / call.file), call.line).strip() or call.op
