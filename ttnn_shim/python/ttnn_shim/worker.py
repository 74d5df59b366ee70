"""`python -m ttnn_shim worker`: runs programs one after another in one process; exports measure their programs with it.

A line of JSON on stdin is a run: {"program": path of main.py, "arguments": [...], "card": "n150"}, and "estimate": true for the clock only. The
answer is a line on stdout: {"code": exit code, "error": text, "rss_bytes": memory of the process now}. What programs print is dropped. The first
line on stdout is a folder for the programs. The process ends with its stdin, however the process at the other end of it ended, and the folder
with it.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import runpy
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, TextIO

import ttnn_shim
from ttnn_shim import program_errors, session
from ttnn_shim.errors import ShimError


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the export that started this process ends it
    answers = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory(prefix="alchemist-unedited-", ignore_cleanup_errors=True) as folder:
        return _answer_all(answers, folder)


def _answer_all(answers: TextIO, folder: str) -> int:
    with contextlib.suppress(BrokenPipeError):  # nobody is left to be told
        print(folder, file=answers, flush=True)
        ttnn_shim.activate(explicit=True)
        for line in sys.stdin:
            request = json.loads(line)
            answer = run_program(Path(request["program"]).resolve(), request["arguments"], request["card"], request.get("estimate", False))
            answer["rss_bytes"] = _resident_bytes()
            print(json.dumps(answer), file=answers, flush=True)
    return 0


def _resident_bytes() -> int:
    """0 if the system does not report it. Not ru_maxrss, which a process inherits from its parent."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def run_program(program: Path, arguments: list[str], card: str, estimate: bool = False) -> dict[str, Any]:
    """One program as `__main__`: {"code", "error", "report"}. Its modules and devices are gone afterwards.

    estimate: clock only. report: the error at the program's own line.
    """
    session.settings.card, session.settings.estimate = card, estimate
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.parent))
    code, error, report = 0, "", ""
    try:
        runpy.run_path(str(program), run_name="__main__")
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1 if exit_.code else 0
        error = report = exit_.code if isinstance(exit_.code, str) else ""
    except ShimError as refused:
        code, error = 1, refused.report()
        report = program_errors.report(refused, program.parent)
    except Exception as raised:  # noqa: BLE001  a program may raise anything; the export reports it
        code, error, report = 1, f"{type(raised).__name__}: {raised}", program_errors.report(raised, program.parent)
    finally:
        sys.path.remove(str(program.parent))
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(f"{program.parent}{os.sep}"):
                del sys.modules[name]
        session.reset()
        gc.collect()
    return {"code": code, "error": error[:2000], "report": report}
