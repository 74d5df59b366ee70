"""One model of the zoo from builder to checked program; as a program, prints one line per model.

    python -m tests.zoo.run [--language py|cpp] [--level 0|1|2] [--referee wormhole|blackhole|both] [--out DIR] [--json ROWS.jsonl] [--resume]
                            [--of zoo|families|onnx] NAME ...

Without names: all of a table (the zoo, further families of transformers, ONNX files). --resume: leaves out what ROWS.jsonl has a row of.
--referee: every call of the emitted Python program on the real ttnn wheel as well (`alchemist verify`).
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from alchemist.errors import ToolchainError
from alchemist.verify import RealTtnn
from tests.zoo.models import TABLES, everything

ARCHS = {"wormhole": "wormhole_b0", "blackhole": "blackhole"}


@dataclass(slots=True)
class Row:
    """What docs/models.md says of one run. pcc: of the worst output, None where all are integers or constants."""

    model: str
    framework: str
    language: str
    dtype: str = ""
    ops: int = 0
    lines: int = 0
    pcc: float | None = None
    rel_l2: float | None = None
    device_us: float = 0.0
    codegen_s: float = 0.0
    result: str = "ok"
    run_s: float = 0.0
    referee: dict[str, str] = field(default_factory=dict)  # architecture -> "n calls", or what was rejected
    table: str = "zoo"
    level: int = 0

    @property
    def rejections(self) -> list[str]:
        return [f"{arch}: {verdict}" for arch, verdict in self.referee.items() if not verdict.endswith(" calls")]

    @property
    def passed(self) -> bool:
        return self.result == "ok" and not self.rejections


def referee(arch: str) -> RealTtnn:
    """The real wheel's process for one of `ARCHS`. Raises: ToolchainError."""
    return RealTtnn(ARCHS[arch])


def judge(row: Row, directory: Path, wheels: Mapping[str, RealTtnn]) -> None:
    """Puts the verdict of each architecture's wheel on an emitted Python program into the row."""
    for arch, real in wheels.items():
        verdict = real.run(directory)
        row.referee[arch] = f"{len(verdict.calls)} calls" if verdict.accepted else "; ".join(verdict.lines("")[:-1])[:1500]


def run_model(name: str, language: str, directory: Path, level: int = 0) -> Row:
    """Exports the model to `directory` at an optimization level, runs `./run --check`. A failure is the row's `result`: stage and message."""
    from alchemist import codegen_cpp, codegen_py
    from alchemist.errors import AlchemistError

    kind, framework, build = everything()[name]
    row = Row(name, framework, language, table=kind, level=level)
    model, args, kwargs = build()
    if level:
        kwargs = {**kwargs, "compiler_options": {**kwargs.get("compiler_options", {}), "optimization_level": level}}
    start = time.perf_counter()
    try:
        made = (codegen_py if language == "py" else codegen_cpp)(model, *args, export_path=directory, overwrite=True, **kwargs)
    except AlchemistError as error:
        row.result = f"codegen: {error}"
        return row
    row.codegen_s = round(time.perf_counter() - start, 2)
    row.lines = len((made.path / ("main.py" if language == "py" else "model.cpp")).read_text().splitlines())
    manifest = json.loads((made.path / "manifest.json").read_text())
    row.dtype = _dtype(manifest)
    report = directory.parent / f"{name}.{language}.json"
    environment = {key: os.environ[key] for key in ("PATH", "HOME", "TTNN_SHIM_LIBRARY") if key in os.environ}
    command = [str(made.path / "run"), "--check", "--json", str(report)]
    start = time.perf_counter()
    done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False, timeout=1200)
    row.run_s = round(time.perf_counter() - start, 2)
    if report.exists():
        result = json.loads(report.read_text())
        report.unlink()
        row.ops, row.device_us = result["ops"] or 0, round((result["device_ns"] or 0) / 1000, 1)
        known = [one["pcc"] for one in result["outputs"] if one["pcc"] is not None]
        row.pcc = min(known, default=None)
        row.rel_l2 = max((one["rel_l2"] for one in result["outputs"] if one["rel_l2"] is not None), default=None)
    if done.returncode:
        row.result = f"run: {(done.stderr.strip() or done.stdout.strip())[-1500:]}"
    return row


def run_guarded(name: str, language: str, directory: Path, wheels: Mapping[str, RealTtnn], level: int = 0) -> Row:
    """`run_model` and `judge`; whatever else goes wrong is the row's result, so that one model does not hide the others."""
    try:
        row = run_model(name, language, directory, level)
        if language == "py" and (directory / "main.py").exists():
            judge(row, directory, wheels)
    except Exception:  # noqa: BLE001  a crash of one model must not hide the others
        kind, framework, _ = everything()[name]
        row = Row(name, framework, language, table=kind, level=level, result="crash: " + traceback.format_exc()[-1500:])
    return row


def _dtype(manifest: dict[str, dict[str, dict[str, str]]]) -> str:
    kinds = [entry["dtype"] for entry in manifest["outputs"].values()]
    return "bf16" if "bfloat16" in kinds else "fp32" if any(kind.startswith("float") for kind in kinds) else kinds[0]


def unknown_model(name: str) -> str:
    """What to say of a name that no table has."""
    near = difflib.get_close_matches(name, everything(), n=3, cutoff=0.5)
    return f"no model {name!r}" + (f": did you mean {', '.join(near)}?" if near else "; `python -m tests.zoo.run` without names runs all")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.run", description=__doc__)
    parser.add_argument("--language", choices=("py", "cpp"), default="py")
    parser.add_argument("--level", type=int, default=0, choices=(0, 1, 2), help="optimization_level of the exports (default 0)")
    parser.add_argument("--out", type=Path, help="keep the exports here")
    parser.add_argument("--json", type=Path, help="append one JSON line per model")
    parser.add_argument("--resume", action="store_true", help="leave out models that the file of --json has a row of")
    parser.add_argument("--of", choices=TABLES, default="zoo", help="the table that is run when no names are given")
    parser.add_argument("--referee", choices=(*ARCHS, "both"))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in everything()]:
        parser.error(unknown_model(unknown[0]))
    failed = 0
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        wheels: dict[str, RealTtnn] = {}
        if options.referee and options.language == "py":
            try:
                chosen = ARCHS if options.referee == "both" else (options.referee,)
                wheels = {arch: stack.enter_context(referee(arch)) for arch in chosen}
            except ToolchainError as error:
                print(f"referee skipped: {error}", file=sys.stderr)
        names = options.names or [name for name, (kind, _, _) in everything().items() if kind == options.of]
        if options.resume and options.json and options.json.exists():
            done = {(row["model"], row["language"], row["level"]) for row in map(json.loads, options.json.read_text().splitlines())}
            names = [name for name in names if (name, options.language, options.level) not in done]
        for name in names:
            directory = (options.out or scratch) / f"{name}_{options.language}"
            row = run_guarded(name, options.language, directory, wheels, options.level)
            failed += not row.passed
            line = f"{name:24} {row.ops:5} ops {row.lines:5} lines  pcc {row.pcc}  {row.device_us} us  {row.codegen_s} + {row.run_s} s  {row.result}"
            print(" ".join([line, *(f"{arch}: {verdict}" for arch, verdict in row.referee.items())]), flush=True)
            if options.json:
                with options.json.open("a") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
            if options.out is None:
                shutil.rmtree(directory, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
