"""Runs fuzz cases of one area in this process: `python -m tools.fuzz.worker AREA FIRST COUNT JOURNAL`; started by run.py.

Case N of an area is a function of (area, N) alone. The journal holds the number of the case that runs, for a process that dies or
hangs in it. Prints one JSON line: {"answers": {name: count}, "bad": [[number, text], ...]}.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

from tools.fuzz.areas import AREAS, Bad

CASE_CPU_S = 120
CASE_TIMEOUT_S = 900  # of the wall's clock: on a busy machine an import may take minutes
MOST_BYTES = 6 << 30


def main(area: str, first: int, count: int, journal: str) -> None:
    answers: dict[str, int] = {}
    bad: list[tuple[int, str]] = []
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    errors = os.fdopen(os.dup(2), "w")
    faulthandler.register(signal.SIGXCPU, file=errors, chain=True)  # and the process ends
    for number in range(first, first + count):
        Path(journal).write_text(str(number))
        faulthandler.dump_traceback_later(CASE_TIMEOUT_S, exit=True, file=errors)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + CASE_CPU_S, resource.RLIM_INFINITY))
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                answer = AREAS[area](random.Random(f"{area} {number}"))
        except Bad as error:
            answer = "BAD"
            bad.append((number, str(error)))
        except Exception as error:  # noqa: BLE001 (every kind of exception is what this looks for)
            answer = "BAD"
            frames = "".join(traceback.format_tb(error.__traceback__)[-4:])
            bad.append((number, f"{type(error).__name__}: {str(error)[:300]}\n{frames}"))
        finally:
            faulthandler.cancel_dump_traceback_later()
        answers[answer] = answers.get(answer, 0) + 1
    print(json.dumps({"answers": answers, "bad": bad}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
