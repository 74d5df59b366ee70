"""What each op answers to calls that the conformance suite puts to the real package: refusals, results, memory, device programs with their cycles, and
sums of the values of small calls.

Whether an answer is the real one's, tools/conformance asks.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SUITE = Path(__file__).resolve().parents[3] / "tools" / "conformance"
CARDS = ("n150", "p150")
STEP = 4  # one of how many calls of the suite a card gets, by their names: a new op moves no other's calls
COMPUTED = 9_000  # values of a call's tensors up to which the call is computed
_OF_THE_RUN = ("index", "call_id", "start_ns")


def calls(card: str) -> list[dict[str, Any]]:
    """The calls for one card. The suite imports its modules by their bare names."""
    sys.path.insert(0, str(SUITE))
    try:
        import probes

        return [call for probe in probes.all_probes() if zlib.crc32((call := probe.as_json())["id"].encode()) % STEP == CARDS.index(card)]
    finally:
        sys.path.remove(str(SUITE))


def answers(card: str) -> Iterator[tuple[str, str]]:
    """(card and call, answer) of a process of the card's."""
    asked = calls(card)
    for line in _run(card, asked, "--estimate"):
        answer = json.loads(line)
        yield f"{card} {answer.pop('id')}", json.dumps(answer, sort_keys=True)
    small = [call for call in asked if sum(math.prod(shape) for shape, *_ in call["inputs"]) <= COMPUTED and "rand" not in call["call"]]
    for line in _run(card, small) if card == CARDS[0] else ():
        name, said = json.loads(line)
        yield f"values {name}", said


def _run(card: str, asked: list[dict[str, Any]], *options: str) -> list[str]:
    with tempfile.TemporaryDirectory() as scratch:
        work, report = Path(scratch) / "calls.json", Path(scratch) / "answers.jsonl"
        work.write_text(json.dumps(asked))
        command = [sys.executable, "-m", "ttnn_shim", "run", *options, "--arch", card, str(Path(__file__)), str(work), str(report), *options]
        subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(SUITE.parents[1])})
        return report.read_text().splitlines()


def compute() -> None:
    """In a process of the simulator: the sums of the values of the calls of a file."""
    import ttnn

    from tools.behaviour_diff.questions.calls import ramp, sums

    device = ttnn.open_device(device_id=0, l1_small_size=32768)

    def tensor(number: int, row: Any) -> Any:
        shape, dtype, layout, where = row
        settings = {"dtype": getattr(ttnn, dtype), "layout": ttnn.TILE_LAYOUT if layout == "tile" else ttnn.ROW_MAJOR_LAYOUT}
        elsewhere = {} if where == "host" else {"device": device, "memory_config": eval(where, {"ttnn": ttnn})}
        return ttnn.from_torch(ramp(shape, settings["dtype"], number), **settings, **elsewhere)

    with open(sys.argv[2], "w") as report:
        for call in json.loads(Path(sys.argv[1]).read_text()):
            try:
                inputs = [tensor(number, row) for number, row in enumerate(call["inputs"], 1)]
                said = sums(eval(call["call"], {"ttnn": ttnn, "device": device, "a": inputs}))
            except Exception as error:  # noqa: BLE001  what is refused, the other process tells
                said = f"refused {type(error).__name__}"
            report.write(json.dumps([call["id"], said]) + "\n")
    os._exit(0)


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


if __name__ == "__main__":
    ask() if "--estimate" in sys.argv else compute()
