"""`./run --check-ops`: every op's output next to the framework's own value, and the line of the first one that drifted.

The export's golden/ops.json lists the calls of the unedited program. The calls of this run are matched with them by op and
shape in order, so that edits shift nothing: what was inserted or replaced has no value of the framework, what follows has.
"""

from __future__ import annotations

import difflib
import itertools
import json
import linecache
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

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
    """One call of the program. value: its result on the host, None if it is not one tensor."""

    op: str
    file: str
    line: int
    function: str
    value: Array | None

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(slots=True)
class OpWatch:
    """Keeps the results of the calls that the files under `root` make while `active`."""

    root: Path
    to_numpy: ToNumpy
    calls: list[WatchedCall] = field(default_factory=list)
    active: bool = False

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
        self.calls.append(WatchedCall(op, file, frame.f_lineno, frame.f_code.co_name, value))


def check_program(
    root: Path, calls: Sequence[WatchedCall], read_golden: ReadGolden, compare: Compare, outputs_agree: bool
) -> int:
    """Prints the verdict; 0 when every op that has a value of the framework agrees with it, 1 otherwise, 2 without values.

    outputs_agree: every output of the program is right. Then an op that differs is only told: programs may take another way
    to the same end (tokens sorted by expert are in any order within one).
    """
    index = root / "golden" / "ops.json"
    if not index.exists():
        print('check-ops: no golden/ops.json; export with export_golden="ops"', file=sys.stderr)
        return 2
    expected: list[dict[str, Any]] = json.loads(index.read_text())
    compared, good, changed = 0, None, []
    bad: list[tuple[WatchedCall, Mapping[str, Any], Mapping[str, Any]]] = []
    doubtful: list[tuple[WatchedCall, Mapping[str, Any], Mapping[str, Any]]] = []
    suspects: list[WatchedCall] = []
    for call, entry in match(calls, expected):
        if entry is None:
            changed.append(call)
        if entry is None or "golden" not in entry or call.value is None:
            continue
        row = best_of(call.value, read_golden(entry["golden"]), entry, compare)
        if row is None:
            continue
        if entry["form"] and not row["passed"]:
            # The order of a reshaped value is the compiler's choice, wrong only if what is computed from it is.
            doubtful.append((call, entry, row))
            continue
        compared += 1
        if not row["passed"]:
            if not bad:
                suspects = list(changed)
            bad += [*doubtful, (call, entry, row)]
            compared += len(doubtful)
            doubtful = []
        elif not entry["form"]:
            doubtful = []
            if not bad:
                good, changed = call, []
    if doubtful and calls and doubtful[-1][0] is calls[-1]:
        bad += doubtful  # the program's last word
        compared += len(doubtful)
    print(f"check-ops: {len(calls)} calls, {compared} have a value of the framework, {compared - len(bad)} agree")
    if not compared:
        print("check-ops: FAILED: nothing could be compared")
        return 1
    if not bad:
        return 0
    call, entry, row = bad[0]
    print(f"check-ops: {'the outputs agree, but' if outputs_agree else 'FAILED:'} first at {call.place} in {call.function}: {_source(root, call)}")
    print(f"  {call.op} computes {entry['value']} of the framework: {_figures(row)}, needs pcc {entry['pcc']}")
    if good is not None:
        print(f"  last good: {good.place} in {good.function}: {_source(root, good)}")
    for suspect in unique(suspects):
        print(f"  not in the export: {suspect.place} in {suspect.function}: {_source(root, suspect)}")
    others = [place for place in dict.fromkeys(one.place for one, _, _ in bad) if place != call.place]
    if others:
        print(f"  behind it: {', '.join(others[:8])}{' ...' if len(others) > 8 else ''}")
    return 0 if outputs_agree else 1


def unique(calls: Iterable[WatchedCall]) -> list[WatchedCall]:
    return list({call.place: call for call in calls}.values())


def match(
    calls: Sequence[WatchedCall], expected: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[WatchedCall, Mapping[str, Any] | None]]:
    """Each call with its entry of the export, None for what the edit brought."""
    ours = [(call.op, None if call.value is None else call.value.shape) for call in calls]
    theirs = [(entry["op"], None if entry["shape"] is None else tuple(entry["shape"])) for entry in expected]
    for tag, a, b, c, d in difflib.SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from zip(calls[c:d], expected[a:b], strict=True)
        elif tag == "replace" and b - a == d - c:
            # One for one: another op, or the same one with another shape, in the place of each.
            for call, entry in zip(calls[c:d], expected[a:b], strict=True):
                yield call, entry if _same_size(call, entry) else None
        elif tag == "replace":
            yield from zip(calls[c : d - 1], itertools.repeat(None))
            yield calls[d - 1], expected[b - 1] if _same_size(calls[d - 1], expected[b - 1]) else None
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


def _figures(row: Mapping[str, Any]) -> str:
    parts = [f"{label} {row[key]:.4g}" for label, key in (("pcc", "pcc"), ("relative error", "rel_l2")) if row[key] is not None]
    return ", ".join(parts) or "values differ"
