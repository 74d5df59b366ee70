"""`./run --compare OTHER`: two runs side by side, per line and per module, as a table and as a page.

OTHER is an export (which is run, clock alone) or the directory of a `--profile`.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from pathlib import Path

from ttnn_shim.command_line import CommandParser, complain
from ttnn_shim.reports.calls import Call, Run, read_calls
from ttnn_shim.reports.page import breakable, duration, page, section, sortable, tiles

ROWS = 25
"""Lines of the table on the terminal."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A call of each run that stand for each other; None where one run has no such call."""

    before: Call | None
    after: Call | None

    @property
    def change(self) -> str:
        """ "added", "removed", "" or what differs in their setup: "input 1: dram -> l1; cores: 4 -> 32"."""
        if self.before is None or self.after is None:
            return "added" if self.before is None else "removed"
        before, after = self.before.setup, self.after.setup
        names = [name for name in ("inputs", "outputs", "fidelity", "cores") if before.get(name) != after.get(name)]
        if not names and before.get("attributes") != after.get("attributes"):
            return "configuration"
        return "; ".join(part for name in names for part in differences(name, before.get(name, ""), after.get(name, "")))


def differences(name: str, before: str, after: str) -> list[str]:
    """What a part of the setup is in each run; of tensors the words that differ, with the number of the tensor where there are several."""
    tensors = [re.findall(r"\[[^]]*\][^[]*?(?=, \[|$)", text) for text in (before, after)]
    if name not in ("inputs", "outputs"):
        return [f"{name}: {before or 'none'} -> {after or 'none'}"]
    if len(tensors[0]) != len(tensors[1]):
        only = [", ".join((Counter(some) - Counter(other)).elements()) or "none" for some, other in (tensors, tensors[::-1])]
        return [f"{name}: {only[0]} -> {only[1]}"]
    out = []
    for number, texts in enumerate(zip(*tensors, strict=True), 1):
        a_words, b_words = (re.findall(r"\[[^]]*\]|\S+", text) for text in texts)
        same = len([*itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a_words, b_words, strict=False))])
        same -= same == min(len(a_words), len(b_words)) > 0  # "l1 -> l1 block_sharded", not " -> block_sharded"
        if a_words != b_words:
            which = f"{name[:-1]} {number}" if len(tensors[0]) > 1 else name[:-1]
            out.append(f"{which}: {' '.join(a_words[same:])} -> {' '.join(b_words[same:])}")
    return out


@dataclass(slots=True)
class Row:
    """Calls of one line (or module) in both runs."""

    before_key: str
    after_key: str
    op: str
    source: str
    before_ns: float = 0.0
    after_ns: float = 0.0
    count: int = 0
    changes: tuple[str, ...] = ()

    @property
    def delta_ns(self) -> float:
        return self.after_ns - self.before_ns


def pairs(before: Run, after: Run) -> list[Pair]:
    """Calls in order; those with the same op in the same module, in the same sequence, belong together.

    What is left between them is matched by the op alone: a module may be another function in the other program.
    """
    return _matched(before.calls, after.calls, (lambda call: (call.module[-1:], call.op), lambda call: call.op))


def _matched(before: Sequence[Call], after: Sequence[Call], keys: Sequence[Callable[[Call], Hashable]]) -> list[Pair]:
    if not keys or not before or not after:
        return [Pair(call, None) for call in before] + [Pair(None, call) for call in after]
    out: list[Pair] = []
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, [*map(keys[0], before)], [*map(keys[0], after)], autojunk=False).get_opcodes():
        if kind == "equal":
            out += [Pair(a, b) for a, b in zip(before[a0:a1], after[b0:b1], strict=True)]
        else:
            out += _matched(before[a0:a1], after[b0:b1], keys[1:])
    return out


def by_line(found: Sequence[Pair]) -> list[Row]:
    """Rows of falling difference; they add up to the difference of the runs."""
    rows: dict[tuple[str, str, str], Row] = {}
    for pair in found:
        shown = pair.after or pair.before
        assert shown is not None
        key = (pair.before.line if pair.before else "", pair.after.line if pair.after else "", shown.op)
        _add(rows.setdefault(key, Row(*key, shown.source)), pair)
    return sorted(rows.values(), key=lambda row: -abs(row.delta_ns))


def by_module(found: Sequence[Pair]) -> list[Row]:
    rows: dict[str, Row] = {}
    for pair in found:
        shown = pair.after or pair.before
        assert shown is not None
        name = " > ".join(shown.module) or "(no function)"
        _add(rows.setdefault(name, Row(name, name, "", "")), pair)
    return sorted(rows.values(), key=lambda row: -abs(row.delta_ns))


def _add(row: Row, pair: Pair) -> None:
    row.before_ns += pair.before.ns if pair.before else 0.0
    row.after_ns += pair.after.ns if pair.after else 0.0
    row.count += 1
    if pair.change and pair.change not in row.changes:
        row.changes = (*row.changes, pair.change)


def table(before: Run, after: Run) -> str:
    """Both times, counts of ops that are new, gone or set up otherwise, and the lines and modules that differ most."""
    found = pairs(before, after)
    lines = [f"A  {before.name}  {before.device_ns / 1e3:,.1f} us, {len(before.calls)} calls on {before.card}"]
    lines += [f"B  {after.name}  {after.device_ns / 1e3:,.1f} us, {len(after.calls)} calls on {after.card}"]
    lines += [f"B - A  {_signed(after.device_ns - before.device_ns)} us ({_percent(before.device_ns, after.device_ns)}); calls: {counts(found)}", ""]
    rows = [row for row in by_line(found) if row.changes or abs(row.delta_ns) >= 1]
    if not rows:
        return "\n".join([*lines, "no line differs"])
    lines.append(f"{'A us':>10} {'B us':>10} {'B - A':>10}  {'line in A':16} {'line in B':16} op")
    for row in rows[:ROWS]:
        lines.append(
            f"{row.before_ns / 1e3:10.1f} {row.after_ns / 1e3:10.1f} {_signed(row.delta_ns):>10}  {row.before_key or '-':16} {row.after_key or '-':16} {row.op}"
            + (f" x {row.count}" if row.count > 1 else "")
        )
        lines += [f"{'':34}{change if len(change) <= 150 else change[:147] + '...'}" for change in row.changes[:2]]
    if len(rows) > ROWS:
        lines.append(f"{'':34}({len(rows) - ROWS} more lines, {_signed(sum(row.delta_ns for row in rows[ROWS:]))} us)")
    lines += ["", f"{'A us':>10} {'B us':>10} {'B - A':>10}  module"]
    lines += [f"{row.before_ns / 1e3:10.1f} {row.after_ns / 1e3:10.1f} {_signed(row.delta_ns):>10}  {row.after_key}" for row in by_module(found)[:ROWS]]
    return "\n".join(lines)


def counts(found: Sequence[Pair]) -> str:
    added, removed = (sum(pair.change == kind for pair in found) for kind in ("added", "removed"))
    changed = sum(pair.change not in ("", "added", "removed") for pair in found)
    return f"{added} added, {removed} removed, {changed} changed"


def _signed(ns: float) -> str:
    return f"{ns / 1e3:+,.1f}"


def _percent(before_ns: float, after_ns: float) -> str:
    return f"{after_ns / before_ns - 1:+.1%}" if before_ns else "-"


def write_compare(before: Run, after: Run, path: Path) -> None:
    """The same as a page."""
    found = pairs(before, after)
    names = (before.name, after.name) if before.name != after.name else ("A", "B")
    boxes = [
        (duration(before.device_ns), f"{before.name}, {before.card}"),
        (duration(after.device_ns), f"{after.name}, {after.card}"),
        (_percent(before.device_ns, after.device_ns), f"{_signed(after.device_ns - before.device_ns)} us: {names[1]} compared with {names[0]}"),
        (str(len(found)), f"calls: {counts(found)}"),
    ]
    body = [f"<h1>{escape(before.model)}: {escape(before.name)} and {escape(after.name)}</h1>" + tiles(boxes)]
    if not any(pair.change for pair in found):
        body.append("<p>Both programs make the same calls.</p>")
    colours = "".join(f'<span><i class="{name}"></i>{escape(names[1])} is {name}</span>' for name in ("faster", "slower"))
    legend = f'<div class="legend">{colours}</div>'
    body += [
        section("By line", _page_table(by_line(found), "line", names), legend),
        section(
            "By module", _page_table(by_module(found), "module", names), "Sums of the lines of a function; a call that became several calls is one row here."
        ),
    ]
    path.write_text(page(f"{before.model}: {before.name} and {after.name}", body), encoding="utf-8")


def _page_table(rows: Sequence[Row], kind: str, names: tuple[str, str]) -> str:
    longest = max((abs(row.delta_ns) for row in rows), default=1.0) or 1.0
    out = []
    for row in rows:
        share = 50 * abs(row.delta_ns) / longest
        faster = row.delta_ns < 0
        bar = f'<i class="{"faster" if faster else "slower"}" style="margin-left:{50 - share if faster else 50:.2f}%;width:{share:.2f}%"></i>'
        places = [f"{place} in {name}" for place, name in zip((row.before_key, row.after_key), names, strict=True) if place]
        head = f"{row.op}{f' x {row.count}' if row.count > 1 else ''}" if kind == "line" else row.after_key
        notes = [", ".join(places), row.source] if kind == "line" else []
        notes += row.changes[:3]
        soft = "".join(f'<br><span class="soft">{breakable(note)}</span>' for note in notes if note)
        out.append(
            (
                f'<td class="code wrap">{breakable(head)}{soft}</td>',
                *(f'<td class="n" data-v="{ns:.0f}">{ns / 1e3:,.1f}</td>' for ns in (row.before_ns, row.after_ns)),
                f'<td class="n" data-v="{row.delta_ns:.0f}">{_signed(row.delta_ns)}</td>',
                f'<td class="bar"><div class="track">{bar}</div></td>',
            )
        )
    return sortable((kind, f"{names[0]}, us", f"{names[1]}, us", "difference, us", ""), out)


def load(place: Path, card: str) -> Run:
    """The run of a profile's directory, or of an export that is run for it.

    Raises:
        ValueError: it is neither, or its run ends with an error.
    """
    name = place.name
    if (place / "calls.json").is_file():
        return read_calls(place / "calls.json", name)
    if not (place / "run").is_file():
        raise ValueError(f"{place}: neither an export (no run) nor a directory of --profile (no calls.json)")
    with tempfile.TemporaryDirectory(prefix="alchemist-compare-") as folder:
        command = [str(place / "run"), "--estimate", "--arch", card, "--profile", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
        if done.returncode:
            raise ValueError(f"{place}: its run ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}")
        return read_calls(Path(folder) / "calls.json", name)


def main(arguments: list[str]) -> int:
    """`python -m ttnn_shim compare`. Returns the exit code."""
    parser = CommandParser(prog="python -m ttnn_shim compare", description="Compare the times of two runs or exports.")
    parser.add_argument("before", type=Path, metavar="A")
    parser.add_argument("after", type=Path, metavar="B")
    parser.add_argument("--arch", default="n150", metavar="NAME", help="card that runs the exports (default n150)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write an HTML page")
    options = parser.parse_args(arguments)
    try:
        before, after = (load(place, options.arch) for place in (options.before, options.after))
        print(table(before, after))
        if options.html is not None:
            options.html.parent.mkdir(parents=True, exist_ok=True)
            write_compare(before, after, options.html)
            print(f"\npage: {options.html}")
    except BrokenPipeError:  # the reader has left: `__main__` ends it
        raise
    except (OSError, ValueError, json.JSONDecodeError) as error:
        complain("compare", error)
        return 2
    return 0
