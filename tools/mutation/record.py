"""Which lines of the product a process runs. Every process that a noted test starts takes it from its `sitecustomize`."""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]
NOTES = ROOT / "build" / "mutation" / "reach"
CPP = ROOT / "build" / "mutation" / "cpp_reach"  # where the C++ core is built with notes
CPP_NOTES = "blocks"  # how the names of files with lines of C++ end
# Environment variables, for the processes that tests start: where notes go, and the test that is running.
FOLDER = "MUTATION_REACH_FOLDER"
TEST = "MUTATION_REACH_TEST"
TEMPLATES = "templates/py"  # copied as they are into exports
_COPIES = [f"{tempfile.gettempdir()}/**/{path.name}" for path in (ROOT / TEMPLATES).glob("*.py")]  # a single star would stop at folders
PRODUCT = [*(f"{ROOT}/{name}/*" for name in ("alchemist", "emit_py", "emit_cpp", "ttnn_shim/python")), *_COPIES]


def start(context: str = "") -> Any:
    """Notes lines from now on, in a file of this process."""
    import coverage

    data = Path(os.environ[FOLDER]) / "lines.coverage"  # each process, also a fork, has an ending of its own
    recorder = coverage.Coverage(data_file=str(data), data_suffix=True, include=PRODUCT, config_file=False, context=context or None, messages=False)
    recorder._warn_no_data = False
    recorder.start()
    return recorder


def note(kind: str = "jsonl", **row: Any) -> None:
    """What coverage does not note of a test. kind: how the file's name ends."""
    with (Path(os.environ[FOLDER]) / f"{os.getpid()}.{kind}").open("a") as file:
        file.write(json.dumps(row) + "\n")


def record_child() -> None:
    """In a process that a noted test has started: what it runs is noted at its end."""
    test = os.environ.get(TEST)
    if test is None:
        return
    recorder = start(test)

    def end() -> None:
        recorder.stop()
        recorder.save()
        if not recorder.get_data().measured_files():
            Path(recorder.get_data().data_filename()).unlink(missing_ok=True)

    def leave(code: int) -> NoReturn:
        end()
        really_leave(code)

    atexit.register(end)
    really_leave, os._exit = os._exit, leave  # forks that run a program end so
