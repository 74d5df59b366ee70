"""Experts' hand-written models on the simulator, unchanged, and beside them on the real package over a mock device.

    python -m tools.experts.run TREE [--only NAME ...] [--chip n150|p150] [--wheel] [--values] [--json FILE] [--write]

TREE is a checkout of tt-metal that matches ttnn 0.81.1 (its `models`, `tests` and `ttnn` folders); nothing of it is part of this project. Each model
runs in a process and an empty folder of its own. A line per model: calls, calls the simulator refused, equal output specs and L1 addresses against the
real package's records (made with --wheel, kept in the cache), kernel time and the published figure where the tree has one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ARCHS = {"n150": "wormhole_b0", "p150": "blackhole"}
SPEC = ("shape", "padded_shape", "dtype", "layout", "buffer_type", "memory_layout", "shard", "freed")
# What the wheel's interpreter needs beside the wheel, and the releases that the tree was written for, which both interpreters use.
REQUIREMENTS = (
    "torch==2.13.0",
    "numpy==1.26.4",
    "scipy<1.15",
    "scikit-learn<1.6",
    "pytest",
    "safetensors",
    "regex",
    "requests",
    "filelock",
    "tqdm",
    "importlib_metadata",
)
PACKAGES = ("transformers==4.53.0", "huggingface-hub==0.34.4", "tokenizers==0.21.4", "diffusers==0.35.1", "loguru", "einops", "timm==1.0.9",
            "efficientnet_pytorch==0.7.1")  # fmt: skip


@dataclass
class Outcome:
    """One model on one card. equal, compared: results of the calls that both sides accepted; l1_equal, l1: those in L1, by address;
    programs_equal, programs: calls that run device programs, by operations and cores."""

    name: str
    card: str
    family: str
    calls: int = 0
    refused: int = 0
    compared: int = 0
    equal: int = 0
    l1: int = 0
    l1_equal: int = 0
    programs: int = 0
    programs_equal: int = 0
    kernel_ms: float | None = None
    published_ms: float | None = None
    unmodelled: list[str] = field(default_factory=list)
    error: str = ""
    differences: list[str] = field(default_factory=list)
    has_wheel: bool = False

    def line(self) -> str:
        state = "ran" if not self.error and not self.refused else f"{self.refused} refused" if not self.error else "stopped"
        parts = [f"{self.name:<22} {self.card}  {state:<11} {self.calls:>5} calls"]
        if self.has_wheel and self.compared:
            parts.append(f"equal {100 * self.equal / self.compared:6.2f} % of {self.compared}")
            parts.append(f"programs {100 * self.programs_equal / self.programs:6.2f} % of {self.programs}" if self.programs else "no programs")
            parts.append(f"L1 addresses {100 * self.l1_equal / self.l1:6.2f} % of {self.l1}" if self.l1 else "no L1 results")
        if self.kernel_ms is not None:
            parts.append(f"{self.kernel_ms:.3f} ms")
            if self.published_ms:
                parts.append(f"published {self.published_ms:.3f} ms, ratio {self.kernel_ms / self.published_ms:.2f}")
        if self.error:
            parts.append(self.error[:160])
        return "  ".join(parts)


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))) / "alchemist" / "experts"


def wheel_python() -> Path:
    """An interpreter with the real package, torch and transformers; made on first use (a download of several GB)."""
    from alchemist.verify.environment import LOCK, available_python

    venv = cache() / "venv"
    python, ready = venv / "bin" / "python", venv / "ready"
    if not ready.exists():
        base = available_python()
        if base is None:
            sys.exit("--wheel needs Python 3.12 or 3.10, for which the real ttnn is built")
        print(f"installing the real ttnn, torch and transformers into {venv} (once)", file=sys.stderr)
        for command in ([base, "-m", "venv", "--clear", venv], [python, "-m", "pip", "install", "-q", "--require-hashes", "-r", LOCK],
                        [python, "-m", "pip", "install", "-q", *REQUIREMENTS]):  # fmt: skip
            subprocess.run([str(word) for word in command], check=True)
        ready.touch()
    return python


def packages() -> Path:
    """A folder with the releases of pure Python packages that the tree was written for."""
    folder = cache() / "packages"
    if not (folder / "ready").exists():
        print(f"installing {', '.join(PACKAGES)} into {folder} (once)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), *PACKAGES], check=True)
        (folder / "ready").touch()
    return folder


def drive(python: Path, environment: dict[str, str], request: dict[str, Any], timeout_s: int) -> dict[str, Any]:
    """One model in a process and a folder of its own; the driver's answer."""
    with tempfile.TemporaryDirectory(prefix="experts-", ignore_cleanup_errors=True) as folder:
        try:
            done = subprocess.run(
                [str(python), str(HERE / "driver.py"), json.dumps(request)],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"error": f"no end after {timeout_s} s", "refused": 0, "time": None}
    last = done.stdout.strip().splitlines()[-1:] or [""]
    try:
        answer: dict[str, Any] = json.loads(last[0])
    except ValueError:
        tail = " ".join(done.stderr.strip().splitlines()[-3:])
        return {"error": f"the process ended with {done.returncode}: {tail[-400:]}", "refused": 0, "time": None}
    return answer


def records_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def tensors(out: Any) -> list[dict[str, Any]]:
    if isinstance(out, list):
        return [tensor for item in out for tensor in tensors(item)]
    return [out] if isinstance(out, dict) else []


def compare(outcome: Outcome, shim: list[dict[str, Any]], wheel: list[dict[str, Any]]) -> None:
    """Counts equal results into `outcome`; the first differences by place."""
    by_index = {record["index"]: record for record in wheel if "index" in record}
    causes: Counter[str] = Counter()
    for record in shim:
        other = by_index.get(record.get("index", -1))
        if other is None or (other["call"], other["at"]) != (record["call"], record["at"]):
            continue
        if (record["status"], other["status"]) == ("accepted", "refused"):
            causes[f"{record['at']} {record['call']}: the real package refuses it: {other['error'][:120]}"] += 1
            outcome.compared += 1
        if record["status"] != "accepted" or other["status"] != "accepted":
            continue
        made, wanted = record.get("programs", []), other.get("programs", [])
        if (made or wanted) and "programs" in other:
            outcome.programs += 1
            outcome.programs_equal += made == wanted
            if made != wanted:
                causes[f"{record['at']} {record['call']}: programs {made} for {wanted}"] += 1
        for mine, theirs in zip(tensors(record.get("out")), tensors(other.get("out")), strict=False):
            outcome.compared += 1
            wrong = [f"{key} {mine.get(key)} for {theirs.get(key)}" for key in SPEC if mine.get(key) != theirs.get(key)]
            outcome.equal += not wrong
            if wrong:
                causes[f"{record['at']} {record['call']}: {'; '.join(wrong)}"] += 1
            if theirs.get("buffer_type") == "L1":
                outcome.l1 += 1
                outcome.l1_equal += mine.get("address") == theirs.get("address")
                if not wrong and mine.get("address") != theirs.get("address"):
                    causes[f"{record['at']} {record['call']}: address {mine.get('address')} for {theirs.get('address')}"] += 1
    outcome.differences = [f"{count}x {cause}" for cause, count in causes.most_common(40)]


def run_model(entry: Any, card: str, options: argparse.Namespace, wheel: tuple[Path, dict[str, str]] | None) -> Outcome:
    outcome = Outcome(entry.name, card, entry.family)
    folder = cache() / "records" / card
    folder.mkdir(parents=True, exist_ok=True)
    shim_file, wheel_file = folder / f"{entry.name}.shim.jsonl", folder / f"{entry.name}.wheel.jsonl"
    request = {"tree": str(options.tree.resolve()), "model": entry.name, "card": card, "values": options.values, "packages": str(packages())}
    if wheel is not None:
        answer = drive(wheel[0], wheel[1], request | {"wheel": True, "records": str(wheel_file), "expected": None}, entry.timeout_s)
        if answer["error"]:
            outcome.differences.append(f"the real package: {answer['error']}")
    stored = records_of(wheel_file)
    outcome.has_wheel = bool(stored)
    environment = dict(os.environ) | {"PYTHONDONTWRITEBYTECODE": "1"}
    expected = str(wheel_file) if stored else None
    answer = drive(Path(sys.executable), environment, request | {"wheel": False, "records": str(shim_file), "expected": expected}, entry.timeout_s)
    made = records_of(shim_file)
    outcome.calls, outcome.refused, outcome.error = sum("index" in record for record in made), answer["refused"], answer["error"]
    compare(outcome, made, stored)
    outcome.differences += [f"refused {r['at']} {r['call']}: {r['error'][:300]}" for r in made if r.get("status") == "refused"][:40]
    if answer["time"]:
        outcome.kernel_ms = answer["time"]["kernel_ns"] / 1e6
        outcome.unmodelled = sorted({name for name, _, modelled in answer["events"] if not modelled})
    if card in entry.published:
        outcome.published_ms = 1e3 * entry.batch / entry.published[card]
    return outcome


def main() -> int:
    sys.path.insert(0, str(HERE))
    import entries

    parser = argparse.ArgumentParser(prog="python -m tools.experts.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, metavar="TREE", help="a checkout of tt-metal with models/, tests/ and ttnn/")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="models to run: " + ", ".join(entries.MODELS))
    parser.add_argument("--chip", choices=tuple(ARCHS), help="one card (default: every card a model is for)")
    parser.add_argument("--wheel", action="store_true", help="run the real package too, over a mock device, and keep its records")
    parser.add_argument("--values", action="store_true", help="compute values (slow; default: specs, addresses and time alone)")
    parser.add_argument("--details", action="store_true", help="print refusals and differences")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all outcomes to FILE")
    parser.add_argument("--write", action="store_true", help="write the table of docs/lab/accuracy.md")
    options = parser.parse_args()
    if not (options.tree / "models").is_dir():
        parser.error(f"{options.tree} has no folder models")
    unknown = [name for name in options.only or () if name not in entries.MODELS]
    if unknown:
        parser.error(f"unknown model {unknown[0]}; known: {', '.join(entries.MODELS)}")
    python = wheel_python() if options.wheel else None
    outcomes = []
    for entry in (entries.MODELS[name] for name in options.only or entries.MODELS):
        for card in entry.cards if options.chip is None else [options.chip] if options.chip in entry.cards else []:
            wheel = None
            if python is not None:
                from alchemist.verify.environment import MockRuntime

                wheel = python, dict(os.environ) | MockRuntime.prepare().environment(ARCHS[card])
            outcomes.append(run_model(entry, card, options, wheel))
            print(outcomes[-1].line(), flush=True)
            for difference in outcomes[-1].differences if options.details else ():
                print(f"    {difference}", flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n", encoding="utf-8")
    if options.write:
        from tools.experts import table

        table.write(ROOT / "docs" / "lab" / "accuracy.md", outcomes)
    return int(any(outcome.error or outcome.refused for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
