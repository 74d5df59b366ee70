"""What each op answers to calls that the conformance suite puts to the real package, written down: refusals in their words, results, memory, device
programs with their cycles. Whether an answer is the real one's, tests/conformance asks; this tells that something has changed.

python -m tests.ops.answers    # writes tests/data/answers.txt; say in the commit why they changed
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "data" / "answers.txt"
SUITE = ROOT / "tests" / "conformance"
CARDS = ("n150", "p150")
STEP = 8  # one of how many calls of the suite a card gets, by their names: a new op moves no other's calls
_OF_THE_RUN = ("index", "call_id", "start_ns")


def calls(card: str) -> list[dict[str, Any]]:
    """The calls for one card. The suite imports its modules by their bare names."""
    sys.path.insert(0, str(SUITE))
    try:
        import probes

        return [call for probe in probes.all_probes() if zlib.crc32((call := probe.as_json())["id"].encode()) % STEP == CARDS.index(card)]
    finally:
        sys.path.remove(str(SUITE))


def answers(card: str) -> list[str]:
    """Op, number of its calls, and digests of its answers and of its programs."""
    with tempfile.TemporaryDirectory() as scratch:
        work, report = Path(scratch) / "calls.json", Path(scratch) / "answers.jsonl"
        work.write_text(json.dumps(calls(card)))
        command = [sys.executable, "-m", "ttnn_shim", "run", "--estimate", "--arch", card, str(Path(__file__)), str(work), str(report)]
        subprocess.run(command, cwd=scratch, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True, capture_output=True)
        told = os.environ.get("ANSWERS_ARE_WRITTEN_TO")  # all of them, with the code before and after to be compared
        if told:
            Path(f"{told}.{card}").write_bytes(report.read_bytes())
        of_op: dict[str, list[Any]] = defaultdict(list)
        for line in report.read_text().splitlines():
            answer = json.loads(line)
            of_op[answer["id"].partition("/")[0]].append(answer)
    rows = []
    for name, given in sorted(of_op.items()):
        programs = [answer.pop("programs") for answer in given]
        digests = [hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:8] for part in (given, programs)]
        rows.append(f"{card} {name} {len(given)} {' '.join(digests)}")
    return rows


def ask() -> None:
    """In a process of the simulator: the answers to the calls of a file."""
    sys.path.insert(0, str(SUITE))
    import gc

    import runner
    import ttnn

    device = ttnn.open_device(device_id=0, l1_small_size=32768)
    device.disable_and_clear_program_cache()
    with open(sys.argv[2], "w") as report:
        for call in json.loads(Path(sys.argv[1]).read_text()):
            device.clock_reset()
            device.events_enable(True)
            answer = runner.one(ttnn, device, call)
            events = [{key: value for key, value in event.items() if key not in _OF_THE_RUN} for event in device.events()]
            for event in events:
                for tensor in (*event["inputs"], *event["outputs"]):
                    del tensor["id"]
            report.write(json.dumps(answer | {"programs": events}, default=str) + "\n")
            gc.collect(0)
            if any(runner.memory(ttnn, device).values()):
                gc.collect()
    os._exit(0)


def main() -> None:
    RECORDED.write_text("".join(f"{row}\n" for card in CARDS for row in answers(card)))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        ask()
    else:
        main()
