"""Device programs of whole TT-NN calls against those of the real ttnn 0.81.1: both run the same lines, here in estimate mode.

usage: conformance_programs.py [--record REFEREE.py] [--family NAME ...] [--arch wormhole|blackhole]
The calls are in tests/data/referee/calls.txt (`family: call`), the real library's answers in programs_<arch>.json.gz beside it: per call its device
operations as [name, program factory, cores (0: it allocates no buffers, so they are not known), bytes of circular buffers per core].
--record asks the real wheel for the calls without an answer; --family prints the differences of families.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from conformance_strategy import CARDS, DATA, LIMITS, count_cores, same_l1  # noqa: E402

# Programs of the real library that the simulator also names, over all of them: the rest are helper programs of composite ops.
FOUND_LIMIT = 0.93
# Calls that the real library takes and the simulator refuses: known faults of ours. None may join.
REFUSED_HERE: dict[str, str] = {}
BATCH = 300
PRELUDE = """import ttnn
d = ttnn.open_device(device_id=0, l1_small_size=32768)
BF16, BF8, BF4, F32, U32, I32, U16 = ttnn.bfloat16, ttnn.bfloat8_b, ttnn.bfloat4_b, ttnn.float32, ttnn.uint32, ttnn.int32, ttnn.uint16
TILE, RM = ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT
DRAM, L1 = ttnn.DRAM_MEMORY_CONFIG, ttnn.L1_MEMORY_CONFIG
HS, WS, BS = ttnn.ShardStrategy.HEIGHT, ttnn.ShardStrategy.WIDTH, ttnn.ShardStrategy.BLOCK
X, E = ttnn.transformer, ttnn.experimental
def T(shape, dtype=BF16, layout=TILE, mem=DRAM):
    return ttnn.empty(shape, dtype=dtype, layout=layout, device=d, memory_config=mem)
def SH(shape, x, y, strategy):
    return ttnn.create_sharded_memory_config(shape, core_grid=ttnn.CoreGrid(x=x, y=y), strategy=strategy)
def S(shape, x, y, strategy, dtype=BF16, layout=TILE):
    return T(shape, dtype, layout, SH(shape, x, y, strategy))
def KC(fidelity="HiFi4", fp32=False, approx=False, packer=True):
    return ttnn.init_device_compute_kernel_config(d.arch(), math_fidelity=getattr(ttnn.MathFidelity, fidelity),
        fp32_dest_acc_en=fp32, math_approx_mode=approx, packer_l1_acc=packer)
def W(shape, dtype=BF16):
    return ttnn.zeros(shape, dtype=dtype, layout=RM)
def attempt(call):
    try:
        return call()
    except (RuntimeError, TypeError, ValueError):  # a refusal: its missing programs count against us; anything else is a bug
        return None
"""
Programs = list[list[Any]]


def calls() -> dict[str, str]:
    """Family by call."""
    found = {}
    for line in (DATA / "calls.txt").read_text(encoding="utf-8").splitlines():
        family, _, call = line.partition(": ")
        if call:
            found[call] = family
    return found


def stored(arch: str) -> dict[str, Programs | str]:
    """Programs of the real library by call, or why it refused."""
    path = DATA / f"programs_{arch}.json.gz"
    return dict(json.loads(gzip.decompress(path.read_bytes()))) if path.exists() else {}


def record(referee: Path, arch: str) -> None:
    """Asks the real wheel for the calls without an answer, in batches: a call in which it dies costs the rest of its batch a second run."""
    answers = stored(arch)
    while todo := [call for call in calls() if call not in answers]:
        lines, where = PRELUDE.splitlines(), {}
        for call in todo[:BATCH]:
            lines += ["r = None", f"r = attempt(lambda: {call})"]
            where[len(lines)] = call
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "main.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
            out = Path(folder, "out.json")
            command = [sys.executable, referee, folder, "--arch", arch, "--mode", "no_dispatch", "--json", out, "--quiet"]
            subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
            report = json.loads(out.read_text(encoding="utf-8"))
        for made in report["calls"]:
            call = where.get(int(str(made.get("at", ":0")).rsplit(":", 1)[1]), "")
            if made["call"].rsplit(".", 1)[-1] not in call.split("(")[0]:
                continue  # a tensor made for the call
            if made["status"] == "accepted":
                answers[call] = [
                    [op["op"], op["factory"].rsplit("::", 1)[-1], count_cores(op.get("cores", "")), op["cb_bytes"] + op.get("dfb_bytes", 0)]
                    for op in made.get("device_ops", [])
                ]
            else:
                answers[call] = f"{made['status']}: {made.get('error', '')}"[:200]
        answers.setdefault(todo[0], "crashed")
        print(f"{arch}: {len(answers)} answers", file=sys.stderr)
    (DATA / f"programs_{arch}.json.gz").write_bytes(gzip.compress(json.dumps(answers, indent=0).encode(), mtime=0))


@cache
def simulate(arch: str) -> dict[str, Programs | str]:
    """Programs of the simulator by call, in an interpreter of its own: the card is chosen once per process."""
    code = f"""
import sys, json
sys.path.insert(0, {str(HERE)!r})
import ttnn_shim
from ttnn_shim import session
from conformance_programs import PRELUDE, calls
session.settings.card, session.settings.estimate = {CARDS[arch]!r}, True
ttnn_shim.activate(explicit=True)
scope = {{}}
exec(PRELUDE, scope)
device, made = scope["d"], {{}}
for call in calls():
    scope["r"] = None
    device.clock_reset()
    device.events_enable(True)
    try:
        scope["r"] = eval(call, scope)
        made[call] = [[e["name"], e["factory"].rsplit("::", 1)[-1], e["cores"], e["l1_bytes"]] for e in device.events()]
    except (RuntimeError, TypeError, ValueError) as error:
        made[call] = f"{{type(error).__name__}}: {{error}}"[:200]
print(json.dumps(made))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def refused(arch: str) -> dict[str, str]:
    """Our refusals of calls that the real library takes, by call."""
    ours, answers = simulate(arch), stored(arch)
    return {call: text for call in calls() if isinstance(answers.get(call), list) and isinstance(text := ours[call], str)}


def compare(arch: str, verbose: frozenset[str] = frozenset()) -> dict[str, list[int]]:
    """Per family: calls, the real library's programs, those found here by name, and of these equal cores, factory, L1."""
    ours, answers = simulate(arch), stored(arch)
    table: dict[str, list[int]] = collections.defaultdict(lambda: [0] * 6)
    for call, family in calls().items():
        real = answers.get(call)
        if not isinstance(real, list):
            continue
        row, made = table[family], ours[call]
        row[0] += 1
        left = list(made) if isinstance(made, list) else []
        for want in real:
            row[1] += 1
            match = next((program for program in left if program[0] == want[0]), None)
            checks = (False,) * 4
            if match is not None:
                left.remove(match)
                checks = (True, want[2] in (0, match[2]), want[1] == match[1], same_l1(match[3], want[3]))
                for i, good in enumerate(checks, 2):
                    row[i] += good
            if family in verbose and not all(checks):
                print(f"{arch} {family}: {call}\n    real {want}\n    ours {match or made}")
    return dict(table)


def shares(table: dict[str, list[int]]) -> tuple[int, float, dict[str, float]]:
    """Number of calls, share of programs found, and of these the shares of equal cores, factory and L1."""
    total = [sum(column) for column in zip(*table.values(), strict=True)] if table else [0] * 6
    found = max(total[2], 1)
    return total[0], total[2] / max(total[1], 1), {name: total[i] / found for i, name in enumerate(("cores", "factory", "l1"), 3)}


def show(arch: str, table: dict[str, list[int]]) -> bool:
    """Prints the comparison; True when it meets the limits."""
    print(f"{arch:20s}{'calls':>6s}{'programs':>9s}{'found':>7s}{'cores':>7s}{'factory':>8s}{'L1':>6s}")
    for family, row in sorted(table.items()):
        of = max(row[2], 1)
        print(f"  {family:18s}{row[0]:6d}{row[1]:9d}{row[2] / max(row[1], 1):7.0%}{row[3] / of:7.0%}{row[4] / of:8.0%}{row[5] / of:6.0%}")
    n, found, share = shares(table)
    print(f"  {'all':18s}{n:6d}{'':9s}{found:7.1%}{share['cores']:7.1%}{share['factory']:8.1%}{share['l1']:6.1%}")
    return all(share[name] >= limit for name, limit in LIMITS.items())


def main() -> int:
    """Command line; exit 1 when below the limits."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", type=Path, metavar="REFEREE.py")
    parser.add_argument("--family", nargs="+", default=[])
    parser.add_argument("--arch", choices=list(CARDS), nargs="+", default=list(CARDS))
    options = parser.parse_args()
    good = True
    for arch in options.arch:
        if options.record:
            record(options.record, arch)
        good &= show(arch, compare(arch, frozenset(options.family)))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
