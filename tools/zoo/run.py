"""One model of the zoo from builder to checked program; as a program, prints one line per model.

    python -m tools.zoo.run [--language py|cpp] [--level 0|1|2] [--referee wormhole|blackhole|both] [--out DIR] [--json ROWS.jsonl] [--resume]
                            [--of zoo|families|onnx] [--dtype model|float32|bfloat16|both] NAME ...
    python -m tools.zoo.run --all-torch --dtype both --json ROWS.jsonl --resume [--part 1/2]

Without names: all of a table (the zoo, further families of transformers, ONNX files). --resume: leaves out what ROWS.jsonl has a row of.
--all-torch: all PyTorch models of the zoo and the families, at levels 0 and 2, every fifth in C++ too; with --resume it may run over days. At its end it names
the exports that fail their own check. --part 1/2 and --part 2/2, started side by side with one ROWS.jsonl, share the work.
--dtype: converts PyTorch models and their inputs to this dtype; `model` (the default) leaves them as they are built.
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
from typing import Any

from alchemist.errors import ToolchainError
from alchemist.verify import RealTtnn
from models.tables import TABLES, everything

ARCHS = {"wormhole": "wormhole_b0", "blackhole": "blackhole"}


NOT_IN_DTYPE = "PyTorch itself: "
"""Begins the result of a model that the framework does not run in the dtype it was converted to, or whose outputs its own rounding moves far."""


@dataclass(slots=True)
class Row:
    """What docs/lab/models.md says of one run. pcc: of the worst output, None where all are integers or constants."""

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
    asked_dtype: str = "model"  # of --dtype; `dtype` is what the outputs have
    moved_by_rounding: float = 0.0  # of the manifest: above 0 where the unedited program alone judges an output

    @property
    def rejections(self) -> list[str]:
        return [f"{arch}: {verdict}" for arch, verdict in self.referee.items() if not verdict.endswith(" calls")]

    @property
    def passed(self) -> bool:
        return (self.result == "ok" or self.result.startswith(NOT_IN_DTYPE)) and not self.rejections


def referee(arch: str) -> RealTtnn:
    """The real wheel's process for one of `ARCHS`. Raises: ToolchainError."""
    return RealTtnn(ARCHS[arch])


def judge(row: Row, directory: Path, wheels: Mapping[str, RealTtnn]) -> None:
    """Puts the verdict of each architecture's wheel on an emitted Python program into the row."""
    for arch, real in wheels.items():
        verdict = real.run(directory)
        row.referee[arch] = f"{len(verdict.calls)} calls" if verdict.accepted else "; ".join(verdict.lines("")[:-1])[:1500]


def converted(model: Any, inputs: Any, dtype: str) -> tuple[Any, Any]:
    """A PyTorch model and the tensors among its inputs in `dtype` ("float32", "bfloat16" or "model": unchanged). Integers stay."""
    if dtype == "model":
        return model, inputs
    import torch
    from torch.utils import _pytree as pytree

    kind = getattr(torch, dtype)
    changed = pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.to(kind) if tensor.is_floating_point() else tensor, inputs)
    return (model.to(kind) if isinstance(model, torch.nn.Module) else model), changed


def error_of_torch(name: str, dtype: str) -> str:
    """How the converted model fails without alchemist, or ""."""
    _, _, build = everything()[name]
    model, args, kwargs = build()
    model, (args, kwargs) = converted(model, (args, kwargs), dtype)
    kwargs.pop("compiler_options", None)
    try:
        model(*args, **kwargs)
    except (RuntimeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def run_model(name: str, language: str, directory: Path, level: int = 0, dtype: str = "model") -> Row:
    """Exports the model to `directory` at an optimization level, runs `./run --check`. A failure is the row's `result`: stage and message."""
    from alchemist import codegen_cpp, codegen_py
    from alchemist.errors import AlchemistError

    kind, framework, build = everything()[name]
    row = Row(name, framework, language, table=kind, level=level, asked_dtype=dtype)
    model, args, kwargs = build()
    model, (args, kwargs) = converted(model, (args, kwargs), dtype)
    if level:
        kwargs = {**kwargs, "compiler_options": {**kwargs.get("compiler_options", {}), "optimization_level": level}}
    start = time.perf_counter()
    try:
        made = (codegen_py if language == "py" else codegen_cpp)(model, *args, export_path=directory, overwrite=True, **kwargs)
    except AlchemistError as error:
        own = error_of_torch(name, dtype) if dtype != "model" else ""
        row.result = f"{NOT_IN_DTYPE}{own}" if own else f"codegen: {error}"
        return row
    row.codegen_s = round(time.perf_counter() - start, 2)
    row.lines = len((made.path / ("main.py" if language == "py" else "model.cpp")).read_text().splitlines())
    manifest = json.loads((made.path / "manifest.json").read_text())
    row.dtype = _dtype(manifest)
    row.moved_by_rounding = max(entry.get("moved_by_rounding", 0.0) for entry in manifest["outputs"].values())
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


def run_guarded(name: str, language: str, directory: Path, wheels: Mapping[str, RealTtnn], level: int = 0, dtype: str = "model") -> Row:
    """`run_model` and `judge`; whatever else goes wrong is the row's result, so that one model does not hide the others."""
    try:
        row = run_model(name, language, directory, level, dtype)
        if language == "py" and (directory / "main.py").exists():
            judge(row, directory, wheels)
    except Exception:  # noqa: BLE001  a crash of one model must not hide the others
        kind, framework, _ = everything()[name]
        row = Row(name, framework, language, table=kind, level=level, asked_dtype=dtype, result="crash: " + traceback.format_exc()[-1500:])
    return row


def _dtype(manifest: dict[str, dict[str, dict[str, str]]]) -> str:
    kinds = [entry["dtype"] for entry in manifest["outputs"].values()]
    return "bf16" if "bfloat16" in kinds else "fp32" if any(kind.startswith("float") for kind in kinds) else kinds[0]


def unknown_model(name: str) -> str:
    """What to say of a name that no table has."""
    near = difflib.get_close_matches(name, everything(), n=3, cutoff=0.5)
    return f"no model {name!r}" + (f": did you mean {', '.join(near)}?" if near else "; `python -m tools.zoo.run` without names runs all")


@dataclass(frozen=True, slots=True)
class Run:
    """One export to make and check."""

    model: str
    language: str
    level: int
    dtype: str


def all_torch(dtypes: Sequence[str]) -> list[Run]:
    """Every PyTorch model at levels 0 and 2, every fifth also in C++."""
    names = [name for name, (kind, framework, _) in everything().items() if framework == "torch" and kind != "onnx"]
    languages = [("py", "cpp") if index % 5 == 0 else ("py",) for index in range(len(names))]
    return [
        Run(name, language, level, dtype) for name, chosen in zip(names, languages, strict=True) for dtype in dtypes for level in (0, 2) for language in chosen
    ]


def part(text: str) -> tuple[int, int]:
    """`2/3` as its two numbers.

    Raises:
        ValueError: it is no part of that many.
    """
    number, parts = (int(digits) for digits in text.split("/"))
    if not 1 <= number <= parts:
        raise ValueError(text)
    return number, parts


def asked_runs(options: argparse.Namespace) -> list[Run]:
    """What the command line asks for, without what the file of --json has with --resume."""
    dtypes = ("float32", "bfloat16") if options.dtype == "both" else (options.dtype,)
    if options.all_torch:
        runs = all_torch(dtypes)
    else:
        names = options.names or [name for name, (kind, _, _) in everything().items() if kind == options.of]
        runs = [Run(name, options.language, options.level, dtype) for name in names for dtype in dtypes]
    number, parts = options.part
    runs = runs[number - 1 :: parts]
    if not (options.resume and options.json and options.json.exists()):
        return runs
    rows = [json.loads(line) for line in options.json.read_text().splitlines()]
    done = {Run(row["model"], row["language"], row["level"], row.get("asked_dtype", "model")) for row in rows}
    return [run for run in runs if run not in done]


def print_failures(rows: Sequence[Mapping[str, Any]]) -> None:
    """How many exports were checked, those that fail, those that rounding leaves no other judge than the unedited program, and those PyTorch cannot run."""
    others = [row for row in rows if row["result"] != "ok"]
    failed = [row for row in others if not row["result"].startswith(NOT_IN_DTYPE)]
    amplified = sum(row.get("moved_by_rounding", 0.0) > 0 for row in rows)
    print(
        f"{len(rows) - len(others) + len(failed)} exports, {len(failed)} fail, {amplified} amplify rounding; {len(others) - len(failed)} more: PyTorch itself fails"
    )
    for row in others:
        print(f"  {row['model']} {row['asked_dtype']} level {row['level']} {row['language']}: {row['result'].splitlines()[0][:150]}")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.zoo.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", choices=("py", "cpp"), default="py")
    parser.add_argument("--level", type=int, default=0, choices=(0, 1, 2), help="optimization_level of the exports (default 0)")
    parser.add_argument("--out", type=Path, help="keep the exports here")
    parser.add_argument("--json", type=Path, help="append one JSON line per model")
    parser.add_argument("--resume", action="store_true", help="leave out models that the file of --json has a row of")
    parser.add_argument("--part", type=part, default=(1, 1), metavar="K/N", help="of the exports that are asked for the K-th of every N")
    parser.add_argument("--of", choices=TABLES, default="zoo", help="the table that is run when no names are given")
    parser.add_argument("--all-torch", action="store_true", help="all PyTorch models at levels 0 and 2, every fifth in C++ too")
    parser.add_argument(
        "--dtype", choices=("model", "float32", "bfloat16", "both"), default="model", help="convert PyTorch models (default: as they are built)"
    )
    parser.add_argument("--referee", choices=(*ARCHS, "both"))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in everything()]:
        parser.error(unknown_model(unknown[0]))
    failed = 0
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        wheels: dict[str, RealTtnn] = {}
        if options.referee:
            try:
                chosen = ARCHS if options.referee == "both" else (options.referee,)
                wheels = {arch: stack.enter_context(referee(arch)) for arch in chosen}
            except ToolchainError as error:
                print(f"referee skipped: {error}", file=sys.stderr)
        for run in asked_runs(options):
            directory = (options.out or scratch) / f"{run.model}_{run.language}"
            row = run_guarded(run.model, run.language, directory, wheels, run.level, run.dtype)
            failed += not row.passed
            line = f"{run.model:24} {row.ops:5} ops {row.lines:5} lines  pcc {row.pcc}  {row.device_us} us  {row.codegen_s} + {row.run_s} s  {row.result}"
            print(" ".join([line, *(f"{arch}: {verdict}" for arch, verdict in row.referee.items())]), flush=True)
            if options.json:
                with options.json.open("a") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
            if options.out is None:
                shutil.rmtree(directory, ignore_errors=True)
    if options.all_torch and options.json:
        print_failures([json.loads(line) for line in options.json.read_text().splitlines()])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
