"""Writes the table of docs/lab/optimizer.md that says whether what level 2 emits is right: `./run --check` in both languages, and the real library.

usage: python -m tools.levels.checks [--model NAME ...] [--again] [--write]
Random weights and inputs. A PCC is that of the worst output against the framework; calls are those that `alchemist verify` made on the real wheel of
an architecture with the program of its card (n150, p150). Llamas are checked with two layers of their sizes (a function in a loop, as all layers are), and the
real library takes all layers. Rows are kept in build/optimizer_rows.jsonl, as those of table.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch

from alchemist import codegen_cpp, codegen_py
from alchemist.errors import AlchemistError
from alchemist.verify import RealTtnn
from models.whole import CHECKED, Whole
from tools.levels.models import LEVELS, built, names_of, with_values
from tools.levels.table import keep, read_rows, write

CHECKS = "checks"
MOST_LOST = 1e-3
"""1 - PCC at level 2 beyond that at level 0."""
ARCHS = {"wormhole_b0": "n150", "blackhole": "p150"}


def with_inputs(whole: Whole) -> Whole:
    """Random images and tokens in the place of zeros and ones; masks and positions as they are."""

    def filled(name: str, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            return torch.randn_like(value)
        return torch.randint(0, 1000, value.shape) if name == "input_ids" else value

    args = tuple(filled("", value) for value in whole.args)
    return Whole(whole.model, args, {name: filled(name, value) for name, value in whole.kwargs.items()}, whole.batch, whole.options)


def checked(program: Path) -> str:
    """PCC of the worst output by `./run --check`, and whether the check fails; what it says where there is no PCC."""
    report = program.with_suffix(".json")
    done = subprocess.run([str(program / "run"), "--check", "--json", str(report)], capture_output=True, text=True, check=False)
    if not report.exists():
        return " ".join((done.stderr.strip() or done.stdout.strip())[-300:].split())
    outputs = json.loads(report.read_text())["outputs"]
    pcc = min(float(output["pcc"]) for output in outputs if output["pcc"] is not None)
    most = max(float(output["rel_l2"]) for output in outputs if output["rel_l2"] is not None)
    return f"{pcc:.6f}" + (f", check fails: relative error {most:.2f}" if done.returncode else "")


def results(name: str, wheels: Mapping[str, RealTtnn], scratch: Path) -> Iterator[tuple[str, str]]:
    def export(whole: Whole, where: str, card: str, level: int, tensors: bool) -> Path:
        given = {"arch": card, **whole.options, "optimization_level": level}
        make = codegen_cpp if where == "C++" else codegen_py
        path = scratch / f"{where}_{card}_{level}"
        return make(whole.model, *whole.args, export_path=path, export_tensors=tensors, overwrite=True, compiler_options=given, **whole.kwargs).path

    whole = with_inputs(with_values(name))
    yield "level 0", checked(export(whole, "Python", "n150", 0, True))
    for where in ("Python", "C++"):
        yield where, checked(export(whole, where, "n150", 2, True))
    if name in CHECKED:
        whole = built(LEVELS, name)
    for arch, real in wheels.items():
        verdict = real.run(export(whole, "Python", ARCHS[arch], 2, False))
        yield arch, f"{len(verdict.calls)} calls" if verdict.accepted else "; ".join(verdict.lines("")[:-1])[:1000]


def table(rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    columns = ("level 0", "Python", "C++", *ARCHS)
    lines = [
        "| model | PCC at level 0 | level 2, Python | level 2, C++ | real library, Wormhole | real library, Blackhole | code |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        cells = (" ".join(str(row.get(column, row.get("failed", "-"))).replace("|", "/").split()) for column in columns)
        lines.append(f"| {name} | {' | '.join(cells)} | {row['code']} |")
    return lines


def is_right(row: Mapping[str, Any]) -> bool:
    """Both languages pass and lose no more than MOST_LOST, and the real library rejects nothing."""
    try:
        before, *after = (float(row[column]) for column in ("level 0", "Python", "C++"))
    except (KeyError, ValueError):
        return False
    return before - min(after) < MOST_LOST and all(str(row.get(arch)).endswith(" calls") for arch in ARCHS)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", nargs="+", help="parts of names; default all")
    parser.add_argument("--again", action="store_true", help="also rows that are there already")
    parser.add_argument("--write", action="store_true", help="into docs/lab/optimizer.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    every = names_of(LEVELS)
    code = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=True).stdout.strip()
    done = {name for name, _ in read_rows(CHECKS)}
    wanted = [name for name in every if not options.model or any(part in name for part in options.model)]
    wanted = [name for name in wanted if options.again or name not in done]
    with ExitStack() as stack:
        wheels = {arch: stack.enter_context(RealTtnn(arch)) for arch in ARCHS} if wanted else {}
        for name in wanted:
            row: dict[str, Any] = {"table": CHECKS, "model": name, "card": "", "code": code}
            try:
                with tempfile.TemporaryDirectory() as scratch:
                    for column, result in results(name, wheels, Path(scratch)):
                        row[column] = result
                        print(f"{name}, {column}: {result}", flush=True)
            except AlchemistError as error:
                row["failed"] = str(error).splitlines()[0]
                print(f"{name}: {row['failed']}", flush=True)
            keep(row)
    rows = {name: row for (name, _), row in read_rows(CHECKS).items()}
    known = {name: rows[name] for name in every if name in rows}
    lines = table(known)
    print("\n".join(lines))
    if options.write:
        write(CHECKS, lines, keys=1)
    return 0 if all(map(is_right, known.values())) else 1


if __name__ == "__main__":
    sys.exit(main())
