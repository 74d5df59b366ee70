"""pytest in forks of this process: what takes seconds to import (torch, jax) is imported once for all mutants."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Nothing of the project: a mutant's process reads that from the copy.
_WARM = ("pytest", "numpy", "torch", "torch.export", "jax", "jax.export", "jax.numpy", "onnx", "hypothesis", "ml_dtypes")
TOO_LONG, BROKEN = 99, 98  # exit codes: a test worked too long; it was not pytest that ended the process


def warm() -> None:
    for name in _WARM:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


class _Watch:
    """Writes which tests fail into a file of its own, for what a test prints looks like anything.

    Ends the process when one test works much longer than it was noted to: in processor time, for others may keep the machine busy.
    """

    def __init__(self, seconds: Mapping[str, float], failed: Any) -> None:
        self._seconds = seconds
        self._failed = failed

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._note(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._note(report.nodeid)

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        del location
        signal.signal(signal.SIGPROF, lambda *_: self._end(nodeid))
        signal.setitimer(signal.ITIMER_PROF, 30 + 10 * self._seconds.get(nodeid, 60.0))

    def pytest_runtest_logfinish(self, nodeid: str, location: object) -> None:
        del nodeid, location
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _note(self, nodeid: str) -> None:
        os.write(self._failed.fileno(), f"{nodeid}\n".encode())

    def _end(self, nodeid: str) -> None:
        self._note(nodeid)
        os._exit(TOO_LONG)


def _child(words: Sequence[str], folder: Path, site: Path, environment: Mapping[str, str], library: Path | None, output: Any, watch: _Watch) -> int:
    os.setsid()
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "tools", "models")]:
        del sys.modules[name]
    sys.path[:] = [str(folder), *[place for place in sys.path if place and Path(place).resolve() != Path(__file__).parents[2]]]
    sys.dont_write_bytecode = True
    exec((site / "sitecustomize.py").read_text(), {})
    if library is not None:  # found by its name by what is linked to it
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    sys.stdout = open(1, "w", closefd=False)
    sys.stderr = open(2, "w", closefd=False)
    import pytest

    return int(pytest.main(list(words), plugins=[watch]))


def run(
    words: Sequence[str],
    *,
    folder: Path,
    site: Path,
    environment: Mapping[str, str],
    library: Path | None,
    seconds: Mapping[str, float],
    limit_s: float,
) -> tuple[int, str, list[str]]:
    """Exit code and output of `pytest words` in a fork, and the tests that failed; what it started goes with it. library: loaded before all else.

    Exit code -1: longer than `limit_s`.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as output, tempfile.TemporaryFile("w+", errors="replace") as failed:
        sys.stdout.flush()
        process = os.fork()
        if not process:
            code = BROKEN
            try:
                code = _child(words, folder, site, environment, library, output, _Watch(seconds, failed))
            except BaseException:  # noqa: BLE001 - the exit code says it
                traceback.print_exc(file=output)
            finally:
                with contextlib.suppress(OSError, ValueError):
                    for stream in (sys.stdout, sys.stderr, output):
                        stream.flush()
                os._exit(code)
        code = _wait(process, limit_s)
        output.seek(0)
        failed.seek(0)
        return code, output.read(), failed.read().splitlines()


def _wait(process: int, limit_s: float) -> int:
    end = time.monotonic() + limit_s
    try:
        while time.monotonic() < end:
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        return -1
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)
