"""The real wheel's answers to the rows of config_rows.py, kept in tests/data so that `make test` needs no wheel.

    python tools/conformance/recorded.py      asks the wheel (run.py keeps its answers) and writes tests/data/config_verdicts.json.gz

A probe's entry is null where the real package refuses it (and where the row's own inputs are refused), else where each result lies; of a row whose
L1 is filled, where its circular buffers would end.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import compare  # noqa: E402
import probes  # noqa: E402
import run  # noqa: E402

FILE = HERE.parents[1] / "tests" / "data" / "config_verdicts.json.gz"
FACTS = ("shape", "dtype", "layout", "buffer_type", "memory_layout", "shard")


def config_probes() -> list[probes.Probe]:
    return [probe for probe in probes.all_probes() if "/c" in probe.id]


def placed(probe: probes.Probe, answer: Mapping[str, Any]) -> list[str] | None:
    """What is compared of an answer; a probe in which the real process died has none."""
    if answer["verdict"] != "accepted":
        end = compare.buffers_end(probe, answer)
        return None if end is None else [f"buffers end at {end}"]
    results = [result for result in compare.tensors(answer["result"]) if isinstance(result, dict)]
    return [" ".join(str(result.get(fact)) for fact in FACTS) for result in results]


def main() -> None:
    chosen = config_probes()
    kept = {}
    for arch in run.CARDS:
        real = run.real_answers(arch, chosen, False)
        kept[arch] = {run.key_of(probe): placed(probe, real[probe.id]) for probe in chosen if real[probe.id]["verdict"] != "crashed"}
    FILE.write_bytes(gzip.compress(json.dumps(kept, separators=(",", ":")).encode(), mtime=0))


if __name__ == "__main__":
    main()
