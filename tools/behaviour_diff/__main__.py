"""`python -m tools.behaviour_diff BASE`: what HEAD's working tree does otherwise than another commit.

Both checkouts answer the same questions (HEAD's), and answers that differ are printed by name: emitted programs with their lines, text, calls and
device times (programs of both compilers are priced by HEAD's simulator), modules, messages, and with --prices calls and prices of the simulator,
bit by bit. Run `make setup` first. BASE's core is built once; answers are kept by the product's text in build/behaviour_diff of the main checkout,
for all worktrees: a second run, or one that was interrupted, puts only what is left.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.behaviour_diff import exports, report
from tools.behaviour_diff.kinds import KINDS, PRICED, QUICK
from tools.behaviour_diff.rows import rows
from tools.behaviour_diff.side import SIMULATOR, base, cache_folder, head, key_of


def main(words: Sequence[str]) -> int:
    """0 when nothing moved, 1 when something did, 2 when a side could not answer."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.behaviour_diff",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"{name:12} {kind.tells}" for name, kind in KINDS.items()),
    )
    parser.add_argument("base", help="a commit")
    parser.add_argument("--only", nargs="+", choices=KINDS, metavar="KIND", help="these kinds: " + ", ".join(KINDS))
    parser.add_argument("--prices", action="store_true", help="also calls and prices of the simulator: " + ", ".join(PRICED))
    parser.add_argument("--models", type=int, default=len(exports.NAMES), metavar="N", help=f"so many of the {len(exports.NAMES)} exports, 0: none")
    parser.add_argument("--names", nargs="+", metavar="MODEL@LEVEL[:CARD][:cpp]", help="these exports, of any model of models/")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="differences of so many rows of each kind are printed (default 3)")
    parser.add_argument("--fresh", action="store_true", help="forget this product's kept answers of these kinds")
    options = parser.parse_args(words)
    kinds = options.only or ["exports", *QUICK, *(PRICED if options.prices else ())]
    names = options.names or exports.some(options.models)
    sides = base(options.base), head()
    same = sides[0].key == sides[1].key
    print(f"base {options.base}: product {sides[0].key}; head: product {sides[1].key}{': the same text' if same else ''}", flush=True)
    any_moved = False
    for kind in [kind for kind in kinds if kind != "exports" or names]:
        start = time.monotonic()
        (before, remark), (after, _) = (rows(side, kind, names if KINDS[kind].by_name else (), options.fresh) for side in sides)
        if remark:  # other questions: what both were asked
            before, after = ({name: row for name, row in rows_.items() if name in before and name in after} for rows_ in (before, after))
        if kind == "exports":
            lines, is_moved = report.programs(before, after, KINDS[kind].tells, cache_folder() / "times" / f"{key_of(SIMULATOR)}.json", options.show)
        else:
            shown = report.prices if kind == "prices" else report.texts
            lines = list(shown(kind, before, after, KINDS[kind].tells, 10 * options.show if kind == "prices" else options.show))
            is_moved = bool(report.moved(before, after))
        any_moved = any_moved or is_moved
        print("\n".join([*lines, *([f"  base: {remark}"] if remark else []), f"  {time.monotonic() - start:.0f} s"]), flush=True)
    return int(any_moved)


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    sys.exit(main(sys.argv[1:]))
