"""Answers of one side to the questions of one kind, kept in the cache by the product's key: an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.behaviour_diff.kinds import KINDS
from tools.behaviour_diff.side import ROOT, Side, locked

Rows = dict[str, str]
_END = ""


def rows(side: Side, kind: str, names: Sequence[str] = (), fresh: bool = False) -> tuple[Rows, str]:
    """Name -> answer, and a remark ("" or why the side's own questions were put). names: of these alone, for kinds whose rows are made one by one.

    Raises SystemExit with the process's words where neither HEAD's questions nor its own can be put.
    """
    path = side.folder / f"{kind}-{_questions_key(kind)}.jsonl"
    with locked(path.with_suffix(".lock")):
        if fresh:
            path.unlink(missing_ok=True)
        by_name = KINDS[kind].by_name
        found = _read(path)
        if _END not in found if not by_name else any(name not in found for name in names):
            if not by_name:
                path.unlink(missing_ok=True)
            remark = _ask(side, kind, path, [name for name in names if name not in found])
            if not by_name:
                _append(path, _END, remark)
            found = _read(path) | ({_END: remark} if by_name else {})
    remark = found.pop(_END, "")
    return ({name: found[name] for name in names if name in found} if by_name else found), remark


def _questions_key(kind: str) -> str:
    """Of the files that hold the kind's questions."""
    digest = hashlib.sha256()
    for pattern in KINDS[kind].files:
        for file in sorted(ROOT.glob(pattern)):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:10]


def _ask(side: Side, kind: str, path: Path, names: Sequence[str]) -> str:
    failures = []
    for start, remark in ((side.start, ""), (side.own_start, "its own questions: HEAD's do not fit this product")):
        words = [str(side.python), "-m", "tools.behaviour_diff.ask", kind, str(path)]
        done = subprocess.run(
            words, cwd=start, env=dict(side.environment), input="\n".join(names), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
        )
        if done.returncode == 0:
            return remark
        failures.append(f"{side.title}, {kind}, in {start}:\n{done.stderr[-2500:]}")
        if start == side.own_start:
            break
    print("\n".join(failures), file=sys.stderr)
    raise SystemExit(2)


def _read(path: Path) -> Rows:
    if not path.exists():
        return {}
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            name, text = json.loads(line)
        except ValueError:  # cut off by the end of a process
            continue
        found[name] = text
    return found


def _append(path: Path, name: str, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps([name, text]) + "\n")
