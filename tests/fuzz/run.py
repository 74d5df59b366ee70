"""`make fuzz`: many cases in batches, each in a child process.

    python tests/fuzz/run.py [--cases 10000] [--batch 500] [--first-seed 1]

A batch that crashes, hangs or meets an internal error is reported with its seed and its last case, and the run goes on. Exit code 1 then.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import TimeoutExpired, run

CASES = Path(__file__).with_name("cases.py")
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


def main() -> int:
    parser = argparse.ArgumentParser(description="fuzz the simulator's ttnn")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--first-seed", type=int, default=1)
    options = parser.parse_args()
    start, cases, answers, failures = time.monotonic(), 0, Counter[str](), 0
    seed = options.first_seed
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
