"""What the simulator makes of calls: refusals, device programs with their cycles, what results are and where they lie, and sums of small ones.

Each call of tests/data/referee/calls.txt also runs with its tensors elsewhere: in L1, of another dtype, in rows. What is right, the answers of the real
library beside these calls say. How configs, shards and arguments go together, `answers` asks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

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
# Ways to compute values, each for calls whose tensors have together at most so many.
COMPUTED = {"as written": 140_000, "float32": 65536, "bfloat8_b": 65536, "rows": 65536, "tensix": 16384}


def _scope(way: str) -> dict[str, Any]:
    from tests.sim.conformance_programs import PRELUDE

    changed = "".join(f"{name} = {value}\n" for name, value in WAYS[way].items())
    scope: dict[str, Any] = {}
    exec(PRELUDE.replace("def T(", f"{changed}def T(", 1), scope)
    return scope


def _programs(device: Any) -> str:
    return " ".join(f"{each['cores']}:{each['l1_bytes']}:{each['cycles']}" for each in device.events())


def _specs(results: Any) -> str:
    """Shape, data type, layout and memory of each result."""
    if isinstance(results, list | tuple):
        return "; ".join(map(_specs, results))
    if not hasattr(results, "memory_config"):
        return str(results)
    return f"{results.shape} {results.padded_shape} {results.dtype} {results.layout} {results.memory_config()}"


def sums(results: Any) -> str:
    """Of each result: shape, how many values are finite, their sum with weights of 1 to 7, and that of their magnitudes."""
    import numpy as np

    if isinstance(results, list | tuple):
        return "; ".join(map(sums, results))
    if not hasattr(results, "to_numpy"):
        return str(results)
    values = results.to_numpy().astype(np.float64).ravel()
    good = np.isfinite(values) & (np.abs(values) < 1e30)
    weighted = (values * (np.arange(values.size) % 7 + 1))[good]
    return f"{list(results.shape)} {weighted.size} {weighted.sum():.6g} {np.abs(weighted).sum():.6g}"


def ramp(shape: Sequence[int], dtype: Any, number: int) -> Any:
    """The values of a call's tensor of this number: multiples of 1/8 up to 6.25; whole numbers from 0 to 4 where they may be places."""
    import numpy as np
    import ttnn

    at = np.arange(math.prod(shape)) * 37 + 11 * number
    whole = dtype in (ttnn.uint32, ttnn.int32, ttnn.uint16)
    return (at % 5 if whole else (at % 101 - 50) / 8).astype(np.int32 if whole else np.float32).reshape(shape)


def answers(card: str) -> Iterator[tuple[str, str]]:
    """(call with the way it runs, answer) in this process, of one card."""
    import ttnn_shim
    from tests.sim.conformance_programs import calls
    from ttnn_shim import session, settings

    session.settings.card, session.settings.estimate = card, True
    ttnn_shim.activate(explicit=True)
    import ttnn

    volumes: dict[tuple[str, str], int] = {}

    def timed(way: str) -> Iterator[tuple[str, str]]:
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
        for call in calls():
            volume = 0
            device.clock_reset()
            device.events_enable(True)
            try:
                results = eval(call, scope)
                answer = f"{_programs(device)} {_specs(results)}".strip()
                volumes[way, call] = volume
            except (RuntimeError, TypeError, ValueError) as error:
                answer = f"refused {type(error).__name__}: {error}"
            yield f"{call}  [{card} {way}]", answer
        ttnn.close_device(device)

    def computed(way: str, most: int) -> Iterator[tuple[str, str]]:
        scope = _scope(way)
        number = 0

        def numbered(shape: list[int], dtype: Any) -> Any:
            nonlocal number
            number += 1
            return ramp(shape, dtype, number)

        def tensor(shape: list[int], dtype: Any = scope["BF16"], layout: Any = scope["TILE"], mem: Any = scope["DRAM"]) -> Any:
            return ttnn.from_torch(numbered(shape, dtype), dtype=dtype, layout=layout, device=scope["d"], memory_config=mem)

        def weights(shape: list[int], dtype: Any = scope["BF16"]) -> Any:
            return ttnn.from_torch(numbered(shape, dtype), dtype=dtype, layout=ttnn.ROW_MAJOR_LAYOUT)

        scope |= {"T": tensor, "W": weights}
        timed_way = "as written" if way == "tensix" else way
        for call in calls():
            if 0 < volumes.get((timed_way, call), 0) <= most and "rand" not in call:
                number = 0
                try:
                    answer = sums(eval(call, scope))
                except (RuntimeError, TypeError, ValueError) as error:
                    answer = f"refused {type(error).__name__}: {error}"
                yield f"{call}  [values {way}]", answer
        ttnn.close_device(scope["d"])

    for way in CARDS[card]:
        yield from timed(way)
    if card == "n150":
        session.settings.estimate = False
        for way, most in COMPUTED.items():
            with settings.numerics("tensix" if way == "tensix" else "fast"):
                yield from computed(way, most)
