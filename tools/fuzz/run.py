"""`make fuzz`: many cases in batches, each in a child process.

    python -m tools.fuzz.run [--area all] [--cases 20000] [--seed 1] [--workers 2]

Areas: calls of the simulator's ttnn (cases.py), MLIR text, TTNN binaries, tensor files, .npy, manifests, options, arguments of the API (areas.py); "all" shares the
cases out. A case that crashes, hangs, meets an internal error or a message above 2,000 characters is reported with what repeats it, and the run goes
on. Exit code 1 then.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import TimeoutExpired, run

CASES = Path(__file__).with_name("cases.py")
ROOT = Path(__file__).resolve().parents[2]
BATCH_TIMEOUT_S = 1800


@dataclass
class Outcome:
    """Of one batch. answers: "accepted" or exception -> number; failure: "" when every case was answered."""

    seed: int
    cases: int
    answers: Counter[str] = field(default_factory=Counter)
    failure: str = ""


def run_batch(count: int, seed: int, timeout_s: float = BATCH_TIMEOUT_S) -> Outcome:
    environment = dict(os.environ)
    if "TTNN_SHIM_LIBRARY" in environment:
        environment["TTNN_SHIM_LIBRARY"] = os.path.abspath(environment["TTNN_SHIM_LIBRARY"])
    with tempfile.TemporaryDirectory() as scratch:
        journal = Path(scratch) / "journal.jsonl"
        command = [sys.executable, str(CASES), str(count), str(seed), str(journal)]
        try:
            done = run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False)
            code, out, error = done.returncode, done.stdout, done.stderr
        except TimeoutExpired:
            code, out, error = -1, "", f"no end after {timeout_s:.0f} s"
        lines = journal.read_text().splitlines() if journal.exists() else []
    outcome = Outcome(seed, len(lines))
    if code != 0 or not out.strip():
        last = lines[-1] if lines else "no case ran"
        outcome.failure = f"exit code {code} after {len(lines)} cases\n{error[-3000:]}\nlast case: {last}"
        return outcome
    outcome.answers = Counter(json.loads(out.splitlines()[-1]))
    return outcome


# Share of the cases of "all" in 100, and how many cases a process runs.
AREAS = {
    "calls": (15, 500),
    "mlir": (20, 250),
    "binary": (5, 2000),
    "tensor": (15, 1000),
    "npy": (15, 1000),
    "manifest": (15, 500),
    "options": (11, 500),
    "api": (4, 100),
}


def run_area(area: str, first: int, count: int, timeout_s: float = BATCH_TIMEOUT_S) -> Outcome:
    """Cases `first` to `first + count - 1` of an area. One that ends the process is reported, and the next process starts behind it."""
    outcome, failures = Outcome(first, count), []
    last = first + count
    while first < last:
        with tempfile.TemporaryDirectory() as scratch:
            journal = Path(scratch) / "journal"
            command = [sys.executable, "-m", "tools.fuzz.worker", area, str(first), str(last - first), str(journal)]
            environment = os.environ | {"TMPDIR": scratch, "PYTHONPATH": str(ROOT)}
            try:
                done = run(command, env=environment, cwd=scratch, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False)
                code, out, error = done.returncode, done.stdout, done.stderr
            except TimeoutExpired:
                code, out, error = -1, "", f"no end after {timeout_s:.0f} s"
            reached = int(journal.read_text() or first) if journal.exists() else first
        if code == 0 and out.strip():
            found = json.loads(out.splitlines()[-1])
            outcome.answers += Counter(found["answers"])
            failures += [f"case {number}: {text}" for number, text in found["bad"]]
            break
        failures.append(f"case {reached}: exit code {code}: {error[-3000:]}")
        first = reached + 1
    outcome.failure = "\n".join(failures)
    return outcome


def run_areas(areas: list[str], cases: int, seed: int, workers: int) -> int:
    """Prints what is found as it is found, and a table. Returns the exit code."""
    start, bad = time.monotonic(), 0
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    shares = {area: AREAS[area][0] for area in areas}
    jobs: list[tuple[str, int, int]] = []
    for area in areas:
        wanted = -(-cases * shares[area] // sum(shares.values()))
        jobs += [(area, seed * 1_000_000 + at, min(AREAS[area][1], wanted - at)) for at in range(0, wanted, AREAS[area][1])]
    totals: dict[str, Counter[str]] = {area: Counter() for area in areas}

    def work(job: tuple[str, int, int]) -> tuple[str, Outcome]:
        area, first, count = job
        return area, (run_batch(count, first, BATCH_TIMEOUT_S) if area == "calls" else run_area(area, first, count))

    with ThreadPoolExecutor(workers) as pool:
        for area, outcome in pool.map(work, jobs):
            totals[area] += outcome.answers
            if outcome.failure:
                bad += 1
                print(f"{area} from {outcome.seed}:\n{outcome.failure}", flush=True)
    for area, answers in totals.items():
        print(f"{area:9} {answers.total():6} cases: " + ", ".join(f"{name} {count}" for name, count in answers.most_common(12)))
    print(f"{sum(each.total() for each in totals.values())} cases in {time.monotonic() - start:.0f} s, {bad} batches with a failure")
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description="fuzz everything that reads input of a user", epilog="repeat one case: python -m tools.fuzz.worker AREA NUMBER 1 JOURNAL"
    )
    parser.add_argument("--area", choices=("all", *AREAS), default="calls")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--batch", type=int, default=500, help="of calls alone")
    options = parser.parse_args()
    if options.area != "calls":
        return run_areas(list(AREAS) if options.area == "all" else [options.area], options.cases, options.seed, options.workers)
    start, cases, answers, failures = time.monotonic(), 0, Counter[str](), 0
    seed = options.seed
    while cases < options.cases and failures < 20:
        outcome = run_batch(min(options.batch, options.cases - cases), seed)
        cases += max(outcome.cases, 1)
        answers += outcome.answers
        if outcome.failure:
            failures += 1
            print(f"seed {seed}: {outcome.failure}", flush=True)
        seed += 1
    print(f"{cases} cases in {time.monotonic() - start:.0f} s, {failures} batches failed")
    print(", ".join(f"{name} {count}" for name, count in answers.most_common()))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
