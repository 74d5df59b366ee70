"""Exports run as users run them, but for the new interpreter: it takes longer than the programs of most tests.

`run(export, "--check")` does for a Python export what its `./run --check` does, in a process of its own that is a fork of one
which has imported ttnn. `run_script` starts `./run` itself: for C++, and where the script or its interpreter is the subject.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import budget

PASSED_ON = ("PATH", "HOME", "TTNN_SHIM_LIBRARY", "ONEDNN_MAX_CPU_ISA")
TAKES_PATH = ("--json", "--inputs", "--outputs")
TAKES_VALUE = ("--loops", "--tolerance", "--entry", "--generate", "--prompt-ids")
SWITCHES = ("--check", "--partial-inputs", "--check-ops", "--trace")

_SERVER = """
import atexit, gc, importlib, json, os, sys
import numpy, ttnn_shim, ttnn_shim.__main__ as launcher
ttnn_shim.activate(explicit=True)
import ttnn
for name in ("argparse", "inspect", "json", "ttnn_shim.program_errors", "ttnn_shim.run", "ttnn_shim.session"):
    importlib.import_module(name)
gc.freeze()
requests, answers = sys.stdin, os.fdopen(os.dup(1), "w")
for line in requests:
    request = json.loads(line)
    child = os.fork()
    if child == 0:
        answers.close()
        for stream, name in ((0, os.devnull), (1, request["out"]), (2, request["err"])):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT, 0o600), stream)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["cwd"])
        sys.argv = ["ttnn_shim", *request["arguments"]]
        try:
            code = launcher.main(request["arguments"])
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 0 if exit_.code is None else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
            code = 1
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    _, status, used = os.wait4(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime]), file=answers, flush=True)
"""


class _Server:
    """The process that forks. One for each test process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, arguments: list[str], cwd: Path, environment: Mapping[str, str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        if self._process is None or self._process.poll() is not None:
            words = [sys.executable, "-c", _SERVER]
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
            atexit.register(self.stop)
        with tempfile.TemporaryDirectory(prefix="running-") as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            request = {"arguments": arguments, "cwd": str(cwd), "environment": dict(environment), "out": str(out), "err": str(err)}
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            if not select.select([self._process.stdout], [], [], timeout_s)[0]:
                self.stop()
                raise subprocess.TimeoutExpired(arguments, timeout_s)
            code, used = json.loads(self._process.stdout.readline())
            budget.charge(used)
            return subprocess.CompletedProcess(arguments, code, out.read_text(), err.read_text())

    def stop(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
            self._process = None


_SERVER_OF_THIS_PROCESS = _Server()


def clean_environment() -> dict[str, str]:
    """What a program needs, and nothing that the tests have set for themselves but one thread each."""
    return {"HOME": "/", "OMP_NUM_THREADS": "1"} | {name: os.environ[name] for name in PASSED_ON if name in os.environ}


def run_script(export: Path, *options: str, timeout_s: float = 900, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs `./run` from `/`. Its environment is that of `clean_environment`; `variables` are added."""
    command, environment = [str(export / "run"), *options], clean_environment() | variables
    return subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False, timeout=timeout_s)


def run(export: Path, *options: str, timeout_s: float = 900, **variables: str) -> subprocess.CompletedProcess[str]:
    """What `run_script` does. Paths among the options are absolute. C++ and standalone exports, directories of programs, and options that the script answers itself, go to the script."""
    by_script = not (export / "main.py").is_file() or (export / "shim").exists()
    arguments = None if by_script else _of_the_simulator(export, options)
    if arguments is None:
        return run_script(export, *options, timeout_s=timeout_s, **variables)
    return _SERVER_OF_THIS_PROCESS.run(arguments, export, clean_environment() | variables, timeout_s)


def simulator(*arguments: str | Path, cwd: Path, timeout_s: float = 900) -> subprocess.CompletedProcess[str]:
    """`python -m ttnn_shim ARGUMENTS`."""
    return _SERVER_OF_THIS_PROCESS.run([str(word) for word in arguments], cwd, clean_environment(), timeout_s)


def run_checked(export: Path) -> str:
    """What `--check` prints; it has to pass."""
    done = run(export, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check(export: Path, *options: str) -> dict[str, Any]:
    """The report of `--check --json`, which has to pass."""
    with tempfile.TemporaryDirectory(prefix="running-") as folder:  # not beside the export, which test processes may share
        report = Path(folder, "result.json")
        done = run(export, "--check", "--json", str(report), *options)
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(report.read_text())
        return found


def _of_the_simulator(export: Path, options: tuple[str, ...]) -> list[str] | None:
    """The arguments that `./run` gives to `python -m ttnn_shim`; None for options that it does not only pass on."""
    arch = next(line.split()[0].removeprefix("arch=") for line in (export / "run").read_text().splitlines() if line.startswith("arch="))
    simulator: list[str] = []
    program: list[str] = []
    left = list(options)
    while left:
        option = left.pop(0)
        if option in SWITCHES:
            program.append(option)
        elif option == "--estimate":
            simulator.append(option)
            program.append(option)
        elif not left or not left[0]:
            return None
        elif option == "--arch":
            arch = left.pop(0)
        elif option == "--profile" and Path(left[0]).is_absolute():
            simulator += [option, left.pop(0)]
        elif option in TAKES_VALUE or (option in TAKES_PATH and Path(left[0]).is_absolute()):
            program += [option, left.pop(0)]
        else:
            return None
    return ["run", "--arch", arch, *simulator, "main.py", *program]
