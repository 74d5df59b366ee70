"""Models of transformers on meshes: exports each, runs its check, counts its collectives, compares its length with the program for one chip.

    python -m tools.zoo.meshes --json ROWS.jsonl [--resume] [--mesh 2x4] [--language py] [--out DIR] [NAME ...]
    python -m tools.zoo.meshes --json ROWS.jsonl --document          # docs/lab/meshes.md from the rows

Rows are models x 1x1, 1x2, 2x2, 2x4 x Python, C++ (models/on_meshes.py), with shardings="auto". A row with 1x1 holds the lines that others are
compared with. Python programs are also run on the real ttnn wheel over mock chips of the system (`alchemist verify`) where it is installed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from alchemist.errors import AlchemistError
from alchemist.verify import RealTtnn, machine_of
from alchemist.verify.environment import is_ready
from models.on_meshes import MESHES, MODELS

TARGET = Path(__file__).resolve().parents[2] / "docs" / "lab" / "meshes.md"
ONE_CHIP = "1x1"
_HEAD = """# Models on several chips

Models of transformers with two layers and random weights (`models/on_meshes.py`), exported with
`shardings="auto"` at level 0. Python, C++: `./run --check` against the unsharded model; blank where
it was not run. Referee: calls that the real ttnn accepted over mock chips. Lines are those of
main.py. Written by `python -m tools.zoo.meshes --json ROWS --resume`, then with `--document`.

"""
_TEXTS = {"py": "main.py", "cpp": "model.cpp"}


@dataclass(slots=True)
class Row:
    """pcc, rel_l2: of the worst output. collectives: of a call, by name. referee: calls that the real package accepted, or what it rejected."""

    model: str
    mesh: str
    language: str
    result: str = "ok"
    pcc: float | None = None
    rel_l2: float | None = None
    moved_by_rounding: float = 0.0
    collectives: dict[str, int] = field(default_factory=dict)
    lines: int = 0
    device_us: float = 0.0
    codegen_s: float = 0.0
    run_s: float = 0.0
    referee: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.model, self.mesh, self.language


def run_one(row: Row, directory: Path, packages: dict[str, RealTtnn], stack: ExitStack) -> None:
    """Exports to `directory`, checks and judges; the row gets what was found."""
    from alchemist import codegen_cpp, codegen_py

    model, args, kwargs = MODELS[row.model]()
    rows, columns = map(int, row.mesh.split("x"))
    start_s = time.perf_counter()
    codegen = codegen_py if row.language == "py" else codegen_cpp
    path = codegen(model, *args, mesh=(rows, columns), export_path=directory, overwrite=True, **kwargs).path
    row.codegen_s = round(time.perf_counter() - start_s, 1)
    text = (path / _TEXTS[row.language]).read_text()
    row.lines = len(text.splitlines())
    manifest = json.loads((path / "manifest.json").read_text())
    row.moved_by_rounding = max(entry.get("moved_by_rounding", 0.0) for entry in manifest["outputs"].values())
    if row.mesh == ONE_CHIP and row.language == "cpp":
        return  # its lines are all that others are compared with, and a build takes long
    report = path / "report.json"
    start_s = time.perf_counter()
    done = subprocess.run([path / "run", "--check", "--json", report], capture_output=True, text=True, check=False, timeout=1200)
    row.run_s = round(time.perf_counter() - start_s, 1)
    if report.exists():
        found = json.loads(report.read_text())
        row.device_us = round((found["device_ns"] or 0) / 1000, 1)
        row.pcc = min((one["pcc"] for one in found["outputs"] if one["pcc"] is not None), default=None)
        row.rel_l2 = max((one["rel_l2"] for one in found["outputs"] if one["rel_l2"] is not None), default=None)
    if done.returncode:
        row.result = f"run: {(done.stderr.strip() or done.stdout.strip())[-800:]}"
    row.collectives = _collectives(text)
    if row.language == "py" and is_ready():
        machine = machine_of(path)
        if machine not in packages:
            packages[machine] = stack.enter_context(RealTtnn(machine))
        verdict = packages[machine].run(path)
        row.referee = f"{len(verdict.calls)} calls" if verdict.accepted else "; ".join(verdict.lines("")[:-1])[:800]


def _collectives(text: str) -> dict[str, int]:
    """Of a call, as the header lists them: those in a loop's body as often as they run."""
    found: Counter[str] = Counter()
    for line in re.findall(r"Exchange\s+(.*(?:\n(?://)?\s{8,}.*)*)", text):
        for count, name in re.findall(r"(\d+) (\w+) of", line):
            found[name] += int(count)
    return dict(found)


def document(rows: Sequence[Row]) -> str:
    """The page: a line per model and mesh, of the rows of both languages."""
    known = {row.key: row for row in rows}
    text = [_HEAD, "| model | mesh | collectives of a call | lines | to one chip | PCC | relative L2 | device µs | referee | Python | C++ |\n"]
    text.append("|---|---|---|---:|---:|---:|---:|---:|---|---|---|\n")
    for name in MODELS:
        for mesh in [ONE_CHIP, *(f"{rows}x{columns}" for rows, columns in MESHES)]:
            row, other = known.get((name, mesh, "py")), known.get((name, mesh, "cpp"))
            if row is None:
                continue
            one_chip = known.get((name, ONE_CHIP, "py"))
            ratio = f"{row.lines / one_chip.lines:.2f}" if one_chip else ""
            collectives = ", ".join(f"{count} {kind}" for kind, count in row.collectives.items())
            values = f"{row.pcc:.6f} | {row.rel_l2:.4f}" if row.pcc is not None and row.rel_l2 is not None else " | "
            built = "" if other is None or mesh == ONE_CHIP else "ok" if other.result == "ok" else "fails"
            text.append(
                f"| {name} | {mesh} | {collectives} | {row.lines} | {ratio} | {values} | {row.device_us} | {row.referee} | "
                f"{'ok' if row.result == 'ok' else 'fails'} | {built} |\n"
            )
    return "".join(text)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.zoo.meshes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True, help="append one JSON line per export")
    parser.add_argument("--resume", action="store_true", help="leave out what the file of --json has an accepted row of")
    parser.add_argument("--mesh", action="append", help="as 2x4; all without it")
    parser.add_argument("--language", choices=list(_TEXTS), action="append", help="both without it")
    parser.add_argument("--out", type=Path, help="keep the exports here")
    parser.add_argument("--document", action="store_true", help="only write docs/lab/meshes.md")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - MODELS.keys():
        parser.error(f"no model {', '.join(unknown)}")
    known = {row.key: row for row in _read(options.json)}
    if options.document:
        TARGET.write_text(document(list(known.values())))
        return 0
    meshes = options.mesh or [f"{rows}x{columns}" for rows, columns in ((1, 1), *MESHES)]
    asked = [Row(name, mesh, language) for mesh in meshes for name in options.names or MODELS for language in options.language or _TEXTS]
    failed = 0
    with ExitStack() as stack:
        scratch = options.out or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        packages: dict[str, RealTtnn] = {}
        for row in asked:
            if options.resume and row.key in known and known[row.key].result == "ok":
                continue
            try:
                run_one(row, scratch / "_".join(row.key), packages, stack)
            except (AlchemistError, subprocess.TimeoutExpired) as error:
                row.result = f"codegen: {error}"
            except Exception:  # noqa: BLE001  one model must not hide the others
                row.result = f"crash: {traceback.format_exc()[-800:]}"
            known[row.key] = row
            with options.json.open("a") as file:
                file.write(json.dumps(asdict(row)) + "\n")
            one_chip = known.get((row.model, ONE_CHIP, row.language))
            longer = f"{row.lines / one_chip.lines:.2f}x" if one_chip and one_chip.lines else ""
            failed += row.result != "ok" or (bool(row.referee) and not row.referee.endswith(" calls"))
            print(
                f"{row.model:30} {row.mesh} {row.language:3} {row.lines:5} lines {longer:5} pcc {row.pcc} l2 {row.rel_l2} {row.collectives} "
                f"{row.device_us} us {row.codegen_s} + {row.run_s} s  {row.referee}  {row.result}", flush=True,
            )  # fmt: skip
    return int(failed > 0)


def _read(file: Path) -> list[Row]:
    return [Row(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
