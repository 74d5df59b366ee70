"""`make conformance`: the same probes on the shim and on the real ttnn wheel over a mock device, compared.

    python tools/conformance/run.py [--arch wormhole_b0|blackhole] [--op NAME] [--seed N] [--fresh] [--list] [--no-doc]

Writes docs/lab/conformance.md. Exit code 1 when fewer than 99% of the probes agree on an architecture. Answers of the real wheel
are kept (in the cache of `alchemist verify`) by the text of the probe, since the wheel does not change; --fresh asks again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
sys.path[:0] = [str(HERE), str(REPOSITORY)]

import compare  # noqa: E402
import probes  # noqa: E402
import random_rows  # noqa: E402

from alchemist.errors import ToolchainError  # noqa: E402
from alchemist.verify.environment import TTNN_WHEEL, MockRuntime  # noqa: E402

RUNNER = HERE / "runner.py"
BATCH = 400
BATCH_TIMEOUT_S = 1200
CARDS = {"wormhole_b0": "n150", "blackhole": "p150"}
TARGET = 0.99
Answers = dict[str, dict[str, Any]]


def run_batch(python: Sequence[str], environment: Mapping[str, str], batch: Sequence[probes.Probe]) -> Answers:
    """Answers of one interpreter. A probe in which the process dies or hangs is "crashed"; the rest runs in a new process."""
    found: Answers = {}
    with tempfile.TemporaryDirectory() as scratch:
        work, report = Path(scratch) / "probes.json", Path(scratch) / "results.jsonl"
        work.write_text(json.dumps([probe.as_json() for probe in batch]))
        first = 0
        while first < len(batch):
            before = len(found)
            end = ""
            try:
                done = subprocess.run(
                    [*python, str(RUNNER), str(work), str(report), str(first)],
                    env=os.environ | dict(environment), cwd=scratch, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    text=True, errors="replace", timeout=BATCH_TIMEOUT_S, check=False,
                )  # fmt: skip
                end = f"exit code {done.returncode}: {done.stderr[-300:]}"
            except subprocess.TimeoutExpired:
                end = f"no end after {BATCH_TIMEOUT_S} s"
            lines = report.read_text().splitlines() if report.exists() else []
            found = {record["id"]: record for record in map(json.loads, lines)}
            for record in found.values():
                if record["verdict"] == "started":
                    record |= {"verdict": "crashed", "error": end}
            if len(found) == before:
                raise RuntimeError(f"the probes do not start: {end}")
            first = len(found)
            with report.open("w") as file:  # crashed records stay crashed
                file.writelines(json.dumps(record) + "\n" for record in found.values())
    return found


def run_all(python: Sequence[str], environment: Mapping[str, str], chosen: Sequence[probes.Probe], label: str) -> Answers:
    answers: Answers = {}
    for start in range(0, len(chosen), BATCH):
        answers |= run_batch(python, environment, chosen[start : start + BATCH])
        print(f"{label}: {len(answers)} of {len(chosen)}", file=sys.stderr, flush=True)
    return answers


def key_of(probe: probes.Probe) -> str:
    text = json.dumps([probe.inputs, probe.call])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def store_of(runtime: MockRuntime, arch: str) -> Path:
    """Where answers of the real wheel are kept."""
    return runtime.root.parent / f"conformance-{arch}-{hashlib.sha256(RUNNER.read_bytes()).hexdigest()[:8]}.json"


def answered(arch: str, chosen: Sequence[probes.Probe]) -> list[probes.Probe]:
    store = store_of(MockRuntime.prepare(), arch)
    known: Answers = json.loads(store.read_text()) if store.exists() else {}
    return [probe for probe in chosen if key_of(probe) in known]


def real_answers(arch: str, chosen: Sequence[probes.Probe], fresh: bool) -> Answers:
    runtime = MockRuntime.prepare()
    store = store_of(runtime, arch)
    known: Answers = json.loads(store.read_text()) if store.exists() and not fresh else {}
    missing = [probe for probe in chosen if key_of(probe) not in known]
    for start in range(0, len(missing), BATCH):
        part = missing[start : start + BATCH]
        found = run_all([str(runtime.python)], runtime.environment(arch), part, f"real {arch} (from {start} of {len(missing)})")
        known |= {key_of(probe): found[probe.id] for probe in part}
        store.write_text(json.dumps(known))
    return {probe.id: known[key_of(probe)] for probe in chosen}


def shim_answers(arch: str, chosen: Sequence[probes.Probe]) -> Answers:
    environment = {"TTNN_SHIM_CARD": CARDS[arch]}
    if "TTNN_SHIM_LIBRARY" in os.environ:
        environment["TTNN_SHIM_LIBRARY"] = os.path.abspath(os.environ["TTNN_SHIM_LIBRARY"])
    return run_all([sys.executable, "-m", "ttnn_shim", "run", "--arch", CARDS[arch]], environment, chosen, f"shim {arch}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--arch", choices=sorted(CARDS))
    parser.add_argument("--op", help="only records whose name contains this")
    parser.add_argument(
        "--only", metavar="LETTER", help="only probes of one source: x (written_rows.py), y (rule_rows.py), z (random_rows.py), c (config_rows.py)"
    )
    parser.add_argument("--seed", type=int, default=0, help="other random probes than the committed ones; implies --no-doc")
    parser.add_argument("--known", action="store_true", help="only probes that the real wheel has answered already")
    parser.add_argument("--fresh", action="store_true", help="ask the real wheel again")
    parser.add_argument("--list", action="store_true", help="print every disagreement")
    parser.add_argument("--no-doc", action="store_true", help="leave docs/lab/conformance.md as it is")
    options = parser.parse_args(arguments)
    random_rows.salt(options.seed)
    chosen = [probe for probe in probes.all_probes() if (not options.op or options.op in probe.op) and f"/{options.only or ''}" in probe.id]
    results: dict[str, compare.Comparison] = {}
    for arch in [options.arch] if options.arch else list(CARDS):
        try:
            asked = answered(arch, chosen) if options.known else chosen
            real = real_answers(arch, asked, options.fresh)
        except ToolchainError as error:
            print(f"conformance skipped: {error}")
            return 0
        results[arch] = result = compare.Comparison(asked, real, shim_answers(arch, asked))
        print(f"{arch}: {result.summary()}; {result.shares()}")
        if options.list:
            for difference in result.differences:
                print(f"  {difference.probe.id}: {difference.what}\n      {difference.probe.call[:200]}")
        else:
            for cause, count in Counter(d.cause for d in result.differences).most_common(25):
                print(f"  {count:5} {cause}")
    if not (options.op or options.only or options.no_doc or options.seed) and len(results) == len(CARDS):
        (REPOSITORY / "docs" / "lab" / "conformance.md").write_text(compare.document(results, TTNN_WHEEL, TARGET))
    return 0 if all(result.share >= TARGET for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
