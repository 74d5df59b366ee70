"""`python -m tests.properties.run KIND --count N`: random programs against the framework; exit code 1 when one is wrong or fails."""

from __future__ import annotations

import argparse
import collections
import sys
import time

from tests.properties import whole_numbers, writes
from tests.properties.running import Verdict, judged


def verdict(kind: str, seed: int) -> tuple[Verdict, str]:
    """(verdict, text of the program)."""
    if kind == "writes":
        from alchemist.frontends.torch import capture

        model, arguments, text = writes.make(seed)
        return judged(capture, model, arguments, 1e-5), text
    capture, model, arguments, text = whole_numbers.make(kind.partition(":")[2], seed)
    return judged(capture, model, arguments, 1e-6), text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["writes", "whole_numbers"])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--only", type=int, help="one seed")
    parser.add_argument("--framework", choices=whole_numbers.FRAMEWORKS, help="of whole_numbers; all of them by default")
    args = parser.parse_args()
    kinds = ["writes"] if args.kind == "writes" else [f"whole_numbers:{name}" for name in ([args.framework] if args.framework else whole_numbers.FRAMEWORKS)]
    counts: dict[str, collections.Counter[str]] = {kind: collections.Counter() for kind in kinds}
    begun = time.monotonic()
    seeds = [args.only] if args.only is not None else range(args.seed, args.seed + args.count)
    for place, seed in enumerate(seeds):
        kind = kinds[place % len(kinds)]
        found, text = verdict(kind, seed)
        counts[kind][found.kind] += 1
        if found.kind != "right":
            print(f"--- {kind} seed {seed}: {found.kind}: {found.text[:400]}\n{text}", flush=True)
    for kind, count in counts.items():
        print(f"{kind}: {dict(count)}, seeds {args.seed} to {args.seed + args.count - 1}, {time.monotonic() - begun:.0f} s")
    return int(any(count["wrong"] or count["failed"] for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
