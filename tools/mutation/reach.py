"""The pytest plugin of `python -m tools.mutation --reach`: notes which tests run which lines of the product."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tools.mutation import cpp_reach
from tools.mutation.record import CPP_NOTES, TEST, note, start

_recorder = start()
_fixtures: dict[Any, str] = {}  # of shared ones: the name of what they run
_passed: set[str] = set()


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Iterator[None]:
    """What a shared fixture runs counts for every test that uses it."""
    if fixturedef.scope == "function":
        yield
        return
    outer = os.environ[TEST]
    name = _fixtures[fixturedef] = f"fixture {os.getpid()} {len(_fixtures)} {fixturedef.argname}"
    _enter(name)
    yield
    _enter(outer)


def _enter(context: str) -> None:
    lines = cpp_reach.take()
    if lines:
        note(CPP_NOTES, test=os.environ.get(TEST, ""), lines={path: f"{bits:x}" for path, bits in lines.items()})
    os.environ[TEST] = context
    _recorder.switch_context(context)


def pytest_runtest_logreport(report: Any) -> None:
    """A failed or skipped test catches nothing."""
    if report.when == "call" and report.outcome == "passed":
        _passed.add(report.nodeid)
    elif report.outcome != "passed":
        _passed.discard(report.nodeid)
        if report.outcome == "failed":
            note(failed=report.nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    begun = time.monotonic()
    _enter(item.nodeid)
    yield
    _enter("between tests")
    if item.nodeid in _passed:
        fixtures = [_fixtures[one] for definitions in item._fixtureinfo.name2fixturedefs.values() for one in definitions if one in _fixtures]
        note(context=item.nodeid, seconds=round(time.monotonic() - begun, 3), fixtures=fixtures)


def pytest_sessionfinish() -> None:
    _enter("after all tests")
    _recorder.stop()
    _recorder.save()
