"""`python -m tests.mlir.fuzz_run --count 5000 --seed 1`: damaged texts read, lowered and emitted, within limits of time and memory.

Exit code 1 if one case crashes, hangs, needs more than 2 GB or gives an error without a code; the case's number reproduces it.
"""

from __future__ import annotations

import argparse
import collections
import resource
import signal
import sys
import time
import traceback

from tests.mlir.test_fuzz import LONGEST_SECONDS, check_case

MOST_MEGABYTES = 2048


class _TooLong(BaseException):
    """Raised by the alarm; no code of ours catches it."""


def _stop(_signal: int, _frame: object) -> None:
    raise _TooLong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1, help="number of the first case")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _stop)
    outcomes: collections.Counter[str] = collections.Counter()
    start, slowest = time.monotonic(), 0.0
    for number in range(options.seed, options.seed + options.count):
        begun = time.process_time()
        signal.alarm(int(6 * LONGEST_SECONDS))  # of the wall's clock: other processes count
        try:
            outcomes["still a program" if check_case(number) else "refused with an error"] += 1
        except _TooLong:
            outcomes["HANG"] += 1
            print(f"case {number}: no end after {6 * LONGEST_SECONDS:.0f} s", flush=True)
        except BaseException as error:  # noqa: BLE001 (every kind of exception is what this looks for)
            outcomes["BAD"] += 1
            print(f"case {number}: {type(error).__name__}: {str(error)[:300]}\n{''.join(traceback.format_tb(error.__traceback__)[-3:])}", flush=True)
        finally:
            signal.alarm(0)
        slowest = max(slowest, time.process_time() - begun)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
    print(
        f"{options.count} cases from {options.seed}: {rows}; {time.monotonic() - start:.0f} s, slowest {slowest:.1f} s of processor, {megabytes:.0f} MB at most"
    )
    return 1 if outcomes["HANG"] or outcomes["BAD"] or megabytes > MOST_MEGABYTES else 0


if __name__ == "__main__":
    sys.exit(main())
