"""docs/lab/models.md from the rows of a run.

python -m tools.zoo.document ROWS.jsonl ...     (rows as `python -m tools.zoo.run --json` appends them)
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from models.sizes import LIMIT, MODELS, lines
from tools.zoo.run import Row

TARGET = Path(__file__).resolve().parents[2] / "docs" / "lab" / "models.md"
_HEAD = """# Models

Whole architectures with small configurations and random weights (`models/`), from the framework's model to the emitted program's
`./run --check` on the simulated n150, at optimization level 0 where nothing else is said. A float32 model passes with PCC >= 0.999 and relative L2 error <= 0.05 for every output,
a bfloat16 one with PCC >= 0.99 and 0.15; integers have to be equal. Referee: the calls of the emitted program that the real
ttnn 0.81.1 was asked for over a mock device (`alchemist verify`), "ok" where it took every one of them on both architectures.
This file is written by `make test-all`, or by `python -m tools.zoo.run --referee both --json ROWS`, the same with `--of families` and `--of onnx`
(`--resume` goes on where a run has stopped), and `python -m tools.zoo.document ROWS`.

"""


_SECTIONS = (
    ("zoo", "py", 0, "Python"),
    ("zoo", "cpp", 0, "C++"),
    ("zoo", "py", 2, "Python at optimization level 2"),
    ("families", "py", 0, "Further families of transformers"),
    ("onnx", "py", 0, "ONNX files"),
)
_BY_HAND = "## Measured with other commands\n"
"""From this line on the page is kept as it stands."""


def document(rows: Sequence[Row], sizes: Mapping[str, int], by_hand: str = "") -> str:
    """The text. sizes: lines of main.py by model. by_hand: the page's end."""
    zoo = [row for row in rows if row.table == "zoo" and row.level == 0]
    good = sum(row.result == "ok" for row in zoo)
    parts = [_HEAD, f"{good} of {len(zoo)} runs of the zoo pass. {_referee_summary(zoo)}\n\n"]
    parts.append("| main.py of | lines |  |\n|---|---:|---|\n")
    parts += [f"| {name} | {count} | {'' if count < LIMIT else f'over {LIMIT}'} |\n" for name, count in sizes.items()]
    for table, language, level, title in _SECTIONS:
        chosen = [row for row in rows if (row.table, row.language, row.level) == (table, language, level)]
        if not chosen:
            continue
        passed = sum(row.result == "ok" for row in chosen)
        parts.append(f"\n## {title}: {passed} of {len(chosen)}\n\n")
        parts.append("| model | framework | dtype | device ops | lines | PCC | relative L2 | device µs | referee | result |\n")
        parts.append("|---|---|---|---:|---:|---:|---:|---:|---|---|\n")
        parts += [_line(row) for row in chosen]
    return "".join([*parts, *([f"\n{by_hand}"] if by_hand else [])])


def _line(row: Row) -> str:
    pcc = "" if row.pcc is None else f"{int(row.pcc * 1e6) / 1e6:.6f}"
    error = "" if row.rel_l2 is None else f"{row.rel_l2:.1e}"
    numbers = f"{row.ops} | {row.lines} | {pcc} | {error} | {row.device_us}"
    return f"| {row.model} | {row.framework} | {row.dtype} | {numbers} | {_referee(row)} | {_cell(row.result)} |\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "/")[:120]


def _referee(row: Row) -> str:
    if row.language != "py":
        return ""
    if not row.referee:
        return "not run"
    return _cell("; ".join(row.rejections)) or f"ok, {' and '.join(row.referee.values()).replace(' calls', '')} calls"


def _referee_summary(rows: Sequence[Row]) -> str:
    judged = [row for row in rows if row.referee]
    if not judged:
        return "The referee was not run (it needs Python 3.12 and `make referee`)."
    parts = []
    for arch in sorted({arch for row in judged for arch in row.referee}):
        there = [row for row in judged if arch in row.referee]
        taken = sum(row.referee[arch].endswith(" calls") for row in there)
        parts.append(f"{taken} of {len(there)} programs on {arch}")
    return f"The real ttnn takes every call of {', '.join(parts)}."


def write(rows: Sequence[Row], sizes: Mapping[str, int]) -> None:
    before = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    _, found, rest = before.partition(_BY_HAND)
    TARGET.write_text(document(rows, sizes, found + rest), encoding="utf-8")


def main(files: Sequence[str]) -> int:
    rows = {}
    for file in files:
        for text in Path(file).read_text().splitlines():
            row = Row(**json.loads(text))
            rows[row.model, row.language, row.level] = row  # a later run replaces an earlier one
    with tempfile.TemporaryDirectory() as scratch:
        sizes = {name: lines(name, Path(scratch) / str(number)) for number, name in enumerate(MODELS)}
    write(list(rows.values()), sizes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
