"""What the simulator makes of the referee's calls, written down: refusals, device programs with their cycles, what
results are and where they lie, and values of small ones.

python -m tests.sim.recorded_calls    # writes recorded_calls.txt and changed_calls.txt in tests/data; say in the commit why they changed

Each call of tests/data/referee/calls.txt also runs with its tensors elsewhere: in L1, of another dtype, in rows. Those of changed_calls run as
they are, and stand in a file of their own, by numbers for their words and for their programs or refusal: a call tells what it does when it is made.
It tells that something has changed, not what is right: the answers of the real library beside the referee's calls do that.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # its neighbours, also in a process of its own
RECORDED = HERE.parent / "data" / "recorded_calls.txt"
CHANGED = HERE.parent / "data" / "changed_calls.txt"
# What the names of the calls stand for, of each way to run them.
WAYS: dict[str, dict[str, str]] = {
    "as written": {},
    "L1": {"DRAM": "ttnn.L1_MEMORY_CONFIG"},
    "float32": {"BF16": "ttnn.float32"},
    "bfloat8_b": {"BF16": "ttnn.bfloat8_b"},
    "rows": {"TILE": "ttnn.ROW_MAJOR_LAYOUT"},
    "tensix": {},  # rounded as the chip's units round: values alone
}
CARDS = {"n150": ("as written", "L1", "float32", "bfloat8_b", "rows"), "p150": ("as written", "L1")}
# Ways to compute values, each for calls whose tensors have together at most so many; of further calls fewer.
COMPUTED = {"as written": 140_000, "float32": 65536, "bfloat8_b": 65536, "rows": 65536, "tensix": 16384}
FURTHER_COMPUTED = 9_000
COLUMNS = (*(f"{card} {way}" for card, ways in CARDS.items() for way in ways), *(f"values {way}" for way in COMPUTED))
CHANGED_COLUMNS = tuple(column for column in COLUMNS if column.endswith(("as written", "tensix")))
Answers = dict[tuple[str, str], str]


def _scope(way: str) -> dict[str, Any]:
    from changed_calls import NAMES
    from conformance_programs import PRELUDE

    changed = "".join(f"{name} = {value}\n" for name, value in WAYS[way].items())
    scope: dict[str, Any] = {}
    exec(PRELUDE.replace("def T(", f"{changed}def T(", 1) + NAMES, scope)
    return scope


def _calls(way: str, further: bool = True) -> dict[str, str]:
    """Call by its name in the file. further: also calls that differ in more, which tell of an op's checks above all."""
    from changed_calls import changed_calls, further_calls
    from conformance_programs import calls

    own = [*changed_calls(), *(further_calls() if further else ())] if way == "as written" else []
    return dict(zip(calls(), calls(), strict=True)) | {_number(call): call for call in own}


def _programs(device: Any) -> str:
    return " ".join(f"{each['cores']}:{each['l1_bytes']}:{each['cycles']}" for each in device.events())


def _specs(results: Any) -> str:
    """Shape, data type, layout and memory of each result."""
    if isinstance(results, list | tuple):
        return "; ".join(map(_specs, results))
    if not hasattr(results, "memory_config"):
        return str(results)
    return f"{results.shape} {results.padded_shape} {results.dtype} {results.layout} {results.memory_config()}"


def _number(words: str) -> str:
    return f"{zlib.crc32(words.encode()):08x}"


def _refusal(error: Exception) -> str:
    """A number for the words: the cases of other tests show them."""
    return f"refused {_number(f'{type(error).__name__}: {error}')}"


def _sums(results: Any) -> str:
    """Of each result: shape, how many values are finite, their sum with weights of 1 to 7, and that of their magnitudes."""
    import numpy as np

    if isinstance(results, list | tuple):
        return "; ".join(map(_sums, results))
    if not hasattr(results, "to_numpy"):
        return str(results)
    values = results.to_numpy().astype(np.float64).ravel()
    good = np.isfinite(values) & (np.abs(values) < 1e30)
    weighted = (values * (np.arange(values.size) % 7 + 1))[good]
    return f"{list(results.shape)} {weighted.size} {weighted.sum():.6g} {np.abs(weighted).sum():.6g}"


def _answers(card: str) -> Iterator[tuple[str, str, str]]:
    """(column, name of the call, answer) in this process, of one card."""
    import numpy as np

    import ttnn_shim
    from ttnn_shim import session, settings

    session.settings.card, session.settings.estimate = card, True
    ttnn_shim.activate(explicit=True)
    import ttnn

    volumes: dict[tuple[str, str], int] = {}

    def timed(way: str) -> Iterator[tuple[str, str, str]]:
        scope = _scope(way)
        device, plain = scope["d"], {name: scope[name] for name in ("T", "W")}
        volume = 0

        def counted(name: str) -> Any:
            def made(shape: list[int], *args: Any, **named: Any) -> Any:
                nonlocal volume
                volume += math.prod(shape)
                return plain[name](shape, *args, **named)

            return made

        scope |= {name: counted(name) for name in plain}
        for name, call in _calls(way, further=card == "n150").items():
            volume = 0
            device.clock_reset()
            device.events_enable(True)
            try:
                results = eval(call, scope)
                answer = f"{_programs(device)} {_number(_specs(results))}".strip()
                volumes[way, name] = volume
            except (RuntimeError, TypeError, ValueError) as error:
                answer = _refusal(error)
            yield f"{card} {way}", name, answer if name == call else _number(answer)
        ttnn.close_device(device)

    def computed(way: str, most: int) -> Iterator[tuple[str, str, str]]:
        scope = _scope(way)
        number = 0

        def ramp(shape: list[int], dtype: Any) -> Any:
            """Multiples of 1/8 up to 6.25; whole numbers from 0 to 4 where they may be places."""
            nonlocal number
            number += 1
            at = np.arange(math.prod(shape)) * 37 + 11 * number
            whole = dtype in (ttnn.uint32, ttnn.int32, ttnn.uint16)
            values = at % 5 if whole else (at % 101 - 50) / 8
            return values.astype(np.int32 if whole else np.float32).reshape(shape)

        def tensor(shape: list[int], dtype: Any = scope["BF16"], layout: Any = scope["TILE"], mem: Any = scope["DRAM"]) -> Any:
            return ttnn.from_torch(ramp(shape, dtype), dtype=dtype, layout=layout, device=scope["d"], memory_config=mem)

        def weights(shape: list[int], dtype: Any = scope["BF16"]) -> Any:
            return ttnn.from_torch(ramp(shape, dtype), dtype=dtype, layout=ttnn.ROW_MAJOR_LAYOUT)

        scope |= {"T": tensor, "W": weights}
        timed_way = "as written" if way == "tensix" else way
        first = _calls(timed_way, further=False)
        for name, call in _calls(timed_way, further=way == "as written").items():
            if 0 < volumes.get((timed_way, name), 0) <= (most if name in first else FURTHER_COMPUTED) and "rand" not in call:
                number = 0
                try:
                    yield f"values {way}", name, _sums(eval(call, scope))
                except (RuntimeError, TypeError, ValueError) as error:
                    yield f"values {way}", name, _refusal(error)
        ttnn.close_device(scope["d"])

    for way in CARDS[card]:
        yield from timed(way)
    if card == "n150":
        session.settings.estimate = False
        for way, most in COMPUTED.items():
            with settings.numerics("tensix" if way == "tensix" else "fast"):
                yield from computed(way, most)


def _priced_otherwise(step: int) -> Iterator[str]:
    """Programs of every `step`-th call whose price changes when what ran is written down as a configuration and read back."""
    from ttnn_shim.simlib import simulator

    import ttnn_shim
    from ttnn_shim import session

    session.settings.estimate = True
    ttnn_shim.activate(explicit=True)
    scope, sim = _scope("as written"), simulator()
    device, arch = scope["d"], sim.arch("n150")
    device.events_enable(True)
    device.configs_keep(True)
    for call in list(_calls("as written", further=False).values())[::step]:
        device.clock_reset()
        device.configs_take()
        try:
            eval(call, scope)
        except (RuntimeError, TypeError, ValueError):
            continue
        for event, config in zip(device.events(), device.configs_take(), strict=True):
            ns = sim.price(arch, sim.config(config)).ns
            if abs(ns - event["ns"]) > 1e-6 * ns and event["factory"] != "Empty":
                yield f"{event['op']}: {event['ns']} ns, {ns} ns of its configuration: {call}"


def _in_a_process(expression: str) -> list[Any]:
    """What an expression of this module, `r`, yields there: the card is chosen once per process."""
    code = f"import sys, json; sys.path.insert(0, {str(HERE)!r}); import recorded_calls as r; print(json.dumps([*{expression}]))"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # which of several wrong indexes is told is up to the threads
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[Any] = json.loads(done.stdout)
    return found


def priced_otherwise(step: int) -> list[str]:
    return _in_a_process(f"r._priced_otherwise({step})")


def answers(card: str) -> Answers:
    """(call, way) -> answer."""
    return {(call, column): answer for column, call, answer in _in_a_process(f"r._answers({card!r})")}


def recorded() -> Answers:
    found: Answers = {}
    for path in (RECORDED, CHANGED):
        first, *rows = (line.split(" | ") for line in path.read_text(encoding="utf-8").splitlines())
        found |= {(row[0], column): answer for row in rows for column, answer in zip(first[1:], row[1:], strict=False) if answer != "-"}
    return found


def same(old: str, new: str) -> bool:
    """Sums nearly, all else to the letter."""
    if old == new:
        return True
    before, after = old.split("; "), new.split("; ")
    if len(before) != len(after) or "]" not in old:
        return False
    for left, right in zip(before, after, strict=True):
        if left == right:
            continue
        (head, _, one), (other, _, two) = left.rpartition("]"), right.rpartition("]")
        if head != other or len(one.split()) != 3 or len(two.split()) != 3:
            return False
        (count, weighted, size), (count_now, weighted_now, size_now) = ([float(x) for x in text.split()] for text in (one, two))
        # Another processor adds in another order: the last bit of a few bfloat16 values.
        if count != count_now or max(abs(weighted - weighted_now), abs(size - size_now)) > (1e-5 + 0.03 / max(count, 1)) * size:
            return False
    return True


def difference(before: Answers, after: Answers, most: int = 12) -> str:
    """What moved; "" when nothing did."""
    moved = [key for key in sorted(before.keys() | after.keys()) if not same(before.get(key, ""), after.get(key, ""))]
    if not moved:
        return ""
    lines = [f"{len(moved)} of {len(after)} answers to calls changed; explain it in the commit and run", "    python -m tests.sim.recorded_calls"]
    texts = _calls("as written")
    return "\n".join([*lines, *(f"{texts.get(name, name)}\n    {way}: {before.get((name, way))} -> {after.get((name, way))}" for name, way in moved[:most])])


def main() -> None:
    found = {key: answer for card in CARDS for key, answer in answers(card).items()}
    print(difference(recorded(), found) or "nothing moved")
    calls = _calls("as written")
    for path, columns in ((RECORDED, COLUMNS), (CHANGED, CHANGED_COLUMNS)):
        names = [name for name in dict.fromkeys(name for name, _ in found) if (calls[name] == name) == (path == RECORDED)]
        rows = [[name, *(found.get((name, column), "-") for column in columns)] for name in names]
        path.write_text("".join(" | ".join(row).rstrip(" |-") + "\n" for row in [["call", *columns], *rows]), encoding="utf-8")


if __name__ == "__main__":
    main()
