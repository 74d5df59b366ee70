"""tt-metal's own unit tests on the simulator, unchanged, and beside them on the real package over a mock device.

    python -m tools.experts.unit_tests TREE [FILE ...] [--chip n150|p150] [--cases N] [--lines N] [--wheel] [--json FILE]

TREE is a checkout that matches ttnn 0.81.1; FILE a test file of it (default: every file of tests/ttnn/unit_tests/operations for one card). A case counts
when the real package takes its calls over a mock device: it passes there, or fails in a comparison of values, which a mock device does not have. Of
those, the share that passes on the simulator, values included. Outcomes of both stay in the cache; --known compares those without running anything.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.experts.run import ARCHS, HERE, cache, packages, wheel_python

FOLDER = "tests/ttnn/unit_tests/operations"
SEVERAL_CARDS = ("ccl", "point_to_point", "deepseek", "debug", "parallel_sequential")  # folders whose tests need several chips or real kernels


@dataclass
class File:
    """Cases of a test file by outcome on the simulator; `counted` and `good` are of those that the real package takes."""

    name: str
    outcomes: Counter[str] = field(default_factory=Counter)
    counted: int = 0
    good: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)


def files_of(tree: Path, lines: int | None = None) -> list[Path]:
    files = sorted((tree / FOLDER).rglob("test_*.py"))
    files = [file for file in files if lines is None or len(file.read_text(encoding="utf-8").splitlines()) <= lines]
    return [file.relative_to(tree) for file in files if not set(file.relative_to(tree / FOLDER).parts) & set(SEVERAL_CARDS)]


def run_file(python: Path, file: Path, environment: dict[str, str], timeout_s: int) -> list[dict[str, Any]]:
    """The rows of one file, run in a process and a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="unit-", ignore_cleanup_errors=True) as folder:
        rows = Path(folder) / "rows.jsonl"
        (Path(folder) / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib -q\nempty_parameter_set_mark = skip\n")
        tree = environment["UNIT_TREE"]
        command = [python, "-m", "pytest", "-c", f"{folder}/pytest.ini", "--rootdir", tree, "-p", "unit_plugin", "-p", "no:cacheprovider", f"{tree}/{file}"]
        paths = {"PYTHONPATH": os.pathsep.join([environment["UNIT_PACKAGES"], str(HERE)]), "PYTHONDONTWRITEBYTECODE": "1", "UNIT_ROWS": str(rows)}
        ending = ""
        try:
            done = subprocess.run(
                [str(word) for word in command], cwd=folder, env=environment | paths, capture_output=True, text=True, timeout=timeout_s, check=False
            )
            if done.returncode not in (0, 1, 2, 5):
                ending = f"pytest ended with {done.returncode}: {' '.join((done.stderr or done.stdout).strip().splitlines()[-3:])[-500:]}"
        except subprocess.TimeoutExpired:
            ending = f"no end after {timeout_s} s"
        found = [json.loads(line) for line in rows.read_text().splitlines()] if rows.exists() else []
        return [*found, {"case": str(file), "outcome": "failed", "when": "process", "error": ending}] if ending else found


def name_of(case: str) -> str:
    """A case's name with the ranges of each set of cores in order: the tree makes them of Python sets, whose order is no fact of either side."""
    return re.sub(r"\{(\[\d+-\d+ - \d+-\d+\](?:, )?)+\}", lambda found: "{" + ", ".join(sorted(found[0][1:-1].split(", "))) + "}", case)


def outcomes_of(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The worst row of each case: a case that passes can fail when its device closes."""
    worst: dict[str, dict[str, Any]] = {}
    for row in rows:
        case = name_of(row["case"])
        if worst.get(case, {}).get("outcome") != "failed":
            worst[case] = row
    return worst


def taken(row: dict[str, Any]) -> bool:
    """Whether the real package took the calls of a case: what fails in an assertion of the test itself, but for shapes, only lacks values."""
    said = row.get("error", "")
    return row.get("outcome") == "passed" or (row.get("outcome") == "failed" and said.startswith("AssertionError") and "shape" not in said)


def compare(file: File, shim: list[dict[str, Any]], wheel: list[dict[str, Any]] | None) -> None:
    real = outcomes_of(wheel) if wheel is not None else None
    mine = outcomes_of(shim)
    missing = {case: {"case": case, "outcome": "failed", "error": "not collected by the simulator"} for case in real or () if case not in mine}
    for case, row in (mine | missing).items():
        outcome = "skipped" if row.get("expected_failure") else row["outcome"]
        file.outcomes[outcome] += 1
        if outcome == "skipped" or (real is not None and not taken(real.get(case, {}))):
            continue
        file.counted += 1
        file.good += outcome == "passed"
        if outcome == "failed":
            file.failures.append(row)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.experts.unit_tests", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, metavar="TREE", help="a checkout of tt-metal with models/, tests/ and ttnn/")
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE", help="test files, from TREE")
    parser.add_argument("--chip", choices=tuple(ARCHS), default="n150")
    parser.add_argument("--cases", type=int, default=25, help="cases of a file, spread over it; 0: all (default %(default)s)")
    parser.add_argument("--lines", type=int, metavar="N", help="only files of at most N lines")
    parser.add_argument("--seconds", type=int, default=600, help="limit for a file (default %(default)s)")
    parser.add_argument("--wheel", action="store_true", help="run the real package too, over a mock device, and keep its outcomes")
    parser.add_argument("--only-wheel", action="store_true", help="run the real package alone")
    parser.add_argument("--known", action="store_true", help="compare what earlier runs kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all failures to FILE")
    options = parser.parse_args()
    tree = options.tree.resolve()
    if not (tree / FOLDER).is_dir():
        parser.error(f"{tree} has no folder {FOLDER}")
    folder = cache() / "units" / options.chip
    folder.mkdir(parents=True, exist_ok=True)
    names = {"ARCH_NAME": ARCHS[options.chip], "WH_ARCH_YAML": "wormhole_b0_80_arch_eth_dispatch.yaml"}  # what the tree's own scripts set
    names |= {"UNIT_TREE": str(tree), "UNIT_CARD": options.chip, "UNIT_CASES": str(options.cases), "UNIT_PACKAGES": str(packages())}
    causes: Counter[str] = Counter()
    total, failures = File("all"), []
    for file in options.files or files_of(tree, options.lines):
        stored = folder / f"{str(file).replace('/', '+')}.{options.cases}.json"
        if options.wheel or options.only_wheel:
            from alchemist.verify.environment import MockRuntime

            environment = dict(os.environ) | MockRuntime.prepare().environment(ARCHS[options.chip]) | names | {"UNIT_WHEEL": "1"}
            stored.write_text(json.dumps(run_file(wheel_python(), file, environment, options.seconds)))
        if options.only_wheel:
            continue
        kept = stored.with_suffix(".shim.json")
        if not options.known:
            kept.write_text(json.dumps(run_file(Path(sys.executable), file, dict(os.environ) | names, options.seconds)))
        elif not kept.exists():
            continue
        rows = json.loads(kept.read_text())
        found = File(str(file))
        compare(found, rows, json.loads(stored.read_text()) if stored.exists() else None)
        note = "" if stored.exists() else "  (real package not asked)"
        print(f"{found.name.removeprefix(FOLDER + '/'):<70} {dict(found.outcomes)}  {found.good} of {found.counted}{note}", flush=True)
        total.outcomes += found.outcomes
        total.counted += found.counted
        total.good += found.good
        failures += found.failures
        for row in found.failures:
            causes[re.sub(r"\d+", "#", row.get("error", ""))[:160]] += 1
    print(f"all: {dict(total.outcomes)}; {total.good} of {total.counted} that the real package takes = {100 * total.good / max(total.counted, 1):.1f} %")
    for cause, count in causes.most_common(40):
        print(f"{count:>5}  {cause}")
    if options.json:
        options.json.write_text(json.dumps(failures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
