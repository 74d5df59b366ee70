"""Compare planned device programs with what the real ttnn 0.81.1 builds for the same op configurations (cores, factory, L1 bytes per core).

usage: conformance_strategy.py [--record REFEREE.py] [--verbose]
--record runs the real wheel through a referee script and stores its answers in tests/data/referee/strategy_<arch>.json; without it the stored
answers are compared, or a message says that there are none.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "ttnn_shim" / "python"), str(ROOT)]

from strategy_cases import cases, program  # noqa: E402
from ttnn_shim.simlib import Priced, Simulator, SimulatorError, simulator  # noqa: E402

from tests.golden import json_rows  # noqa: E402

DATA = ROOT / "tests" / "data" / "referee"
CARDS = {"wormhole": "n150", "blackhole": "p150"}
LIMITS = {"cores": 0.95, "factory": 0.95, "l1": 0.90}


@dataclass(frozen=True)
class Answer:
    """What the real library reported for one case."""

    device_op: str
    factory: str
    cores: int  # 0: the program allocates no buffers, so its cores are not known
    l1_bytes: int


def count_cores(ranges: str) -> int:
    """Cores of a range set such as {[0-0 - 7-7]; [0-8 - 3-8]}."""
    total = 0
    for part in re.findall(r"\[([^\]]+)\]", ranges or ""):
        n = [int(v) for v in re.findall(r"\d+", part)]
        if len(n) == 4:
            total += (n[2] - n[0] + 1) * (n[3] - n[1] + 1)
    return total


def record(referee: Path, arch: str) -> None:
    """Run all cases on the real wheel and store what it reports."""
    source, where = program()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "main.py").write_text(source, encoding="utf-8")
        out = Path(folder, "out.json")
        subprocess.run(
            [
                sys.executable,
                str(referee),
                folder,
                "--arch",
                arch,
                "--mode",
                "no_dispatch",
                "--json",
                str(out),
                "--quiet",
            ],
            check=False,
        )
        report = json.loads(out.read_text(encoding="utf-8"))
    answers: dict[str, Any] = {}
    listed = cases()
    for call in report["calls"]:
        line = int(str(call.get("at", ":0")).rsplit(":", 1)[1])
        if line not in where:
            continue
        case = listed[where[line]]
        if call["status"] != "accepted":
            answers.setdefault(case.line, {"error": str(call.get("error", call["status"]))[:200]})
            continue
        for op in call.get("device_ops", []):
            if op["op"].startswith(case.device_op):
                answers[case.line] = {
                    "device_op": op["op"],
                    "factory": op["factory"].rsplit("::", 1)[-1],
                    "cores": count_cores(op.get("cores", "")),
                    "l1_bytes": op["cb_bytes"] + op.get("dfb_bytes", 0),
                }
                break
        else:
            if call.get("device_ops"):
                answers.setdefault(
                    case.line,
                    {"error": "other device ops: " + ", ".join(o["op"] for o in call["device_ops"])},
                )
    DATA.mkdir(parents=True, exist_ok=True)
    (DATA / f"strategy_{arch}.json").write_text(json_rows({"ttnn": report["ttnn"]}, answers), encoding="utf-8")
    print(f"{arch}: {len(answers)} answers recorded")


def stored(arch: str) -> dict[str, Answer]:
    """Recorded answers by program line."""
    path = DATA / f"strategy_{arch}.json"
    if not path.exists():
        return {}
    answers = json.loads(path.read_text(encoding="utf-8"))["answers"]
    return {line: Answer(a["device_op"], a["factory"], a["cores"], a["l1_bytes"]) for line, a in answers.items() if "error" not in a}


def same_l1(ours: int, theirs: int) -> bool:
    """Within 5 % (or both nothing)."""
    return abs(ours - theirs) <= 0.05 * max(theirs, 1)


def compare(arch: str, sim: Simulator, verbose: bool = False) -> dict[str, tuple[int, int, int, int]]:
    """Per family: cases, equal cores, equal factory, equal L1."""
    answers = stored(arch)
    handle = sim.arch(CARDS[arch])
    table: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0, 0, 0])
    for case in cases():
        if case.line not in answers:
            continue
        want = answers[case.line]
        try:
            ours: Priced | None = sim.price(handle, sim.config(case.config))
        except SimulatorError as error:
            ours = None
            if verbose:
                print(f"{arch} {case.family}: {case.line}: {error}")
        row = table[case.family]
        row[0] += 1
        if ours is None:
            continue
        checks = (
            want.cores in (0, ours.cores),
            ours.factory.rsplit("::", 1)[-1] == want.factory,
            same_l1(ours.l1_bytes, want.l1_bytes),
        )
        for i, good in enumerate(checks, 1):
            row[i] += good
        if verbose and not all(checks):
            print(f"{arch} {case.family}: {case.line}")
            for who, it in (("ours", ours), ("real", want)):
                print(f"    {who} {it.factory} {it.cores} cores {it.l1_bytes} B")
    return {family: (n[0], n[1], n[2], n[3]) for family, n in table.items()}


def shares(table: dict[str, tuple[int, int, int, int]]) -> tuple[int, dict[str, float]]:
    """Number of cases and share of equal cores, factories and L1."""
    n = sum(row[0] for row in table.values())
    return n, {name: sum(row[i] for row in table.values()) / max(n, 1) for i, name in enumerate(("cores", "factory", "l1"), 1)}


def show(arch: str, table: dict[str, tuple[int, int, int, int]]) -> bool:
    """Print the comparison; True when it meets the limits."""
    print(f"{arch:28s}{'n':>5s}{'cores':>8s}{'factory':>9s}{'L1':>6s}")
    for family, (n, cores, factory, l1) in sorted(table.items()):
        print(f"  {family:26s}{n:5d}{100 * cores / n:7.0f}%{100 * factory / n:8.0f}%{100 * l1 / n:5.0f}%")
    n, share = shares(table)
    print(f"  {'all':26s}{n:5d}{100 * share['cores']:7.1f}%{100 * share['factory']:8.1f}%{100 * share['l1']:5.1f}%")
    return all(share[name] >= limit for name, limit in LIMITS.items())


def main() -> int:
    """Command line; exit 1 when below the limits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    good = True
    for arch in CARDS:
        if args.record:
            record(args.record, arch)
        if not (DATA / f"strategy_{arch}.json").exists():
            print(f"{arch}: no recorded answers of the real library; skipped (run with --record REFEREE.py)")
            continue
        good &= show(arch, compare(arch, simulator(), args.verbose))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
