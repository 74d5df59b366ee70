"""A pytest plugin for the tree's own unit tests, on the simulator or the real package: `tools.experts.unit_tests` starts pytest with it.

Environment: UNIT_TREE, UNIT_PACKAGES (releases that the tree was written for), UNIT_CARD, UNIT_ROWS (a JSON line per case goes there), UNIT_CASES
(cases of a file, spread over it), UNIT_WHEEL (set for the real package over a mock device: no values, so comparisons pass), UNIT_SECONDS (of a case).
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = str(Path(__file__).resolve().parent)
TREE = os.environ["UNIT_TREE"]
WHEEL = bool(os.environ.get("UNIT_WHEEL"))
SECONDS = int(os.environ.get("UNIT_SECONDS", "120"))
sys.path[:0] = [path for path in (TREE, HERE) if path not in sys.path]

if not WHEEL:
    import ttnn_shim
    from ttnn_shim import session

    session.settings.card = os.environ["UNIT_CARD"]
    ttnn_shim.activate(explicit=True)

import random_draws  # noqa: E402  the shim goes first
import stand_ins  # noqa: E402

random_draws.install()
stand_ins.install(TREE, os.environ["UNIT_PACKAGES"])
if not (Path(TREE) / "models/__init__.py").exists():  # Python prefers this project's package `models` to a folder without __init__.py
    sys.modules["models"] = types.ModuleType("models")
    sys.modules["models"].__path__ = [f"{TREE}/models"]
if "ttnn.database" not in sys.modules:  # of the tree's release; neither the simulator nor ttnn 0.81.1 has it
    import ttnn

    sys.modules["ttnn.database"] = ttnn.database = types.ModuleType("ttnn.database")
    ttnn.database.__dict__.update(SQLITE_CONNECTION=None, DEVICE_IDS_IN_DATABASE=set())


class _TooLong(Exception):
    pass


def pytest_configure(config: Any) -> None:
    if WHEEL:
        stand_ins.ignore_values(shapes=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Cases spread evenly over a file: neighbours differ in one parameter only."""
    most = int(os.environ.get("UNIT_CASES", "0"))
    if most and len(items) > most:
        items[:] = [items[i * len(items) // most] for i in range(most)]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise _TooLong(f"no end after {SECONDS} s")

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    result = yield
    report = result.get_result()  # type: ignore[attr-defined]
    if report.when == "call" or report.outcome != "passed":
        row = {"case": item.nodeid, "outcome": report.outcome, "when": report.when}
        if hasattr(report, "wasxfail"):
            row["expected_failure"] = True
        if call.excinfo is not None:
            frames = traceback.extract_tb(call.excinfo.value.__traceback__)
            mine = [f for f in frames if f.filename.startswith(TREE)]
            row["error"] = f"{call.excinfo.typename}: {re.sub(chr(10) + '.*', '', str(call.excinfo.value))[:600]}"
            row["at"] = f"{mine[-1].filename.removeprefix(TREE + '/')}:{mine[-1].lineno}: {mine[-1].line}" if mine else ""
        with Path(os.environ["UNIT_ROWS"]).open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(row) + "\n")


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        text = str(report.longrepr).strip().splitlines()
        row = {"case": report.nodeid, "outcome": "failed", "when": "collect", "error": text[-1][:600] if text else ""}
        with Path(os.environ["UNIT_ROWS"]).open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(row) + "\n")
