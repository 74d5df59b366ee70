"""What moved, printed: a number for each kind, then rows by name with what they were and are."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.behaviour_diff import exports
from tools.behaviour_diff.rows import Rows

_MOST_LINES = 30


def moved(before: Rows, after: Rows) -> list[str]:
    """Names of rows that differ, or that one side alone has: a pass that changes another module than before has a row for it."""
    return [name for name in {**before, **after} if before.get(name) != after.get(name)]


def _head(title: str, before: Rows, after: Rows, names: Sequence[str], tells: str) -> str:
    new, gone = len(after.keys() - before.keys()), len(before.keys() - after.keys())
    more = "".join(f", {count} {word}" for count, word in ((new, "only in head"), (gone, "only in base")) if count)
    return f"{title}: {len(names)} of {len(before.keys() | after.keys())} rows moved{more}  ({tells})"


def texts(title: str, before: Rows, after: Rows, tells: str, most: int) -> Iterator[str]:
    """Of kinds whose answers are texts: differences of the first rows, names of the others."""
    names = moved(before, after)
    yield _head(title, before, after, names, tells)
    for name in names[:most]:
        yield f"  {name}"
        yield from _difference(before.get(name, ""), after.get(name, ""))
    for name in names[most:]:
        yield f"  {name}"


def _difference(before: str, after: str) -> Iterator[str]:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), "base", "head", lineterm="", n=0))[2:]
    yield from (f"    {line[:240]}" for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield f"    ... {len(lines) - _MOST_LINES} lines more"


def prices(title: str, before: Rows, after: Rows, tells: str, most: int) -> Iterator[str]:
    """Largest ratio first. Each row that is not bit-equal counts; most: how many are shown."""
    names = moved(before, after)
    yield _head(title, before, after, names, tells)
    ratios = {name: _ratio(before.get(name, "-").split()[0], after.get(name, "-").split()[0]) for name in names}
    tables: dict[str, list[float]] = {}
    for name in names:
        tables.setdefault(name.split()[0], []).append(ratios[name])
    for table, found in sorted(tables.items()):
        yield f"  {table}: {len(found)} rows, ratio {min(found):.4f} to {max(found):.4f}"
    for name in sorted(names, key=lambda name: abs(math.log(ratios[name])) if 0 < ratios[name] < math.inf else math.inf, reverse=True)[:most]:
        yield f"  {name}: {before.get(name, 'nothing')} -> {after.get(name, 'nothing')}  ({ratios[name]:.4f})"


def _ratio(before: str, after: str) -> float:
    return math.inf if "-" in (before, after) else float(after) / float(before)


def programs(before: Rows, after: Rows, tells: str, times: Path, most: int) -> tuple[list[str], bool]:
    """Lines of text, and whether anything moved. times: where HEAD's simulator's times are kept."""
    lines, ratios, count = [], [], 0
    for name in before:
        if name not in after:
            continue
        old, new = json.loads(before[name]), json.loads(after[name])
        said, ratio = _program(name, old, new, times)
        ratios += [ratio] if ratio is not None else []
        if said:
            count += 1
            lines.append(f"  {name}: {said}")
            if "files" in old and "files" in new and count <= most:
                lines += _difference(_text(old), _text(new))
    mean = f"; device time head / base: geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.4f}, most {max(ratios):.4f}" if ratios else ""
    return [f"exports: {count} of {len(before)} moved{mean}  ({tells})", *lines], count > 0


def _text(row: dict[str, dict[str, str]]) -> str:
    return "".join(f"--- {name}\n{text}" for name, text in row["files"].items())


def _main_lines(row: dict[str, dict[str, str]]) -> int:
    files = row["files"]
    return len(files.get("main.py", files.get("model.cpp", "")).splitlines())


def _program(name: str, old: dict[str, dict[str, str]], new: dict[str, dict[str, str]], times: Path) -> tuple[str, float | None]:
    """What moved ("" nothing), and the ratio of device times where both have one."""
    if "refused" in old or "refused" in new:
        said = [str(row.get("refused", "a program")) for row in (old, new)]
        return ("" if said[0] == said[1] else f"{said[0]} -> {said[1]}"), None
    parts = []
    if _text(old) != _text(new):
        changed = [
            line[0] for line in difflib.unified_diff(_text(old).splitlines(), _text(new).splitlines(), lineterm="", n=0) if line[:3] not in ("---", "+++")
        ]
        parts.append(f"lines {_main_lines(old)} -> {_main_lines(new)}, text +{changed.count('+')} -{changed.count('-')}")
    export = exports.parsed(name)
    if export.language == "cpp":
        return ", ".join(parts), None
    was, now = (exports.time_of(row, export.card, times) for row in (old, new))
    if isinstance(was, str) or isinstance(now, str):
        parts += [f"{was} -> {now}"] if was != now else []
        return ", ".join(parts), None
    if was.calls != now.calls:
        parts.append(f"device programs {was.calls} -> {now.calls}")
    ratio = now.device_ns / was.device_ns if was.device_ns else 1.0
    if was.device_ns != now.device_ns:
        parts.append(f"device {was.device_ns / 1000:.2f} -> {now.device_ns / 1000:.2f} us ({ratio:.4f})")
    return ", ".join(parts), ratio
