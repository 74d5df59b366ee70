"""What holds for the tests of all folders."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import budget, golden, tables
from tests.device import as_found, open_devices

# Nearly all that collecting makes stays until the end: looking for garbage meanwhile takes a fifth as long again.
gc.disable()
GARBAGE = (20_000, 20, 20)
"""Objects and rounds until it is looked for again: with Python's own (700, 10, 10) it takes a tenth of all processor time."""

# JAX compiles hundreds of small programs for values to compare with: most of its optimisation passes take longer than what they save here.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# XLA's newer code generator takes twice as long for such programs.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")

# On a loaded machine every export would take long enough to say what it does.
os.environ.setdefault("ALCHEMIST_PROGRESS", "0")

# Programs in C++ are built by a compiler that knows their headers already.
COMPILER = str(Path(__file__).parent / "compiler")
if COMPILER not in os.environ["PATH"].split(os.pathsep):
    os.environ["PATH"] = f"{COMPILER}{os.pathsep}{os.environ['PATH']}"

# A shell starts what runs in its background with Ctrl-C ignored, and so would be every program that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the texts that tests compare with (tests/golden.py)")
    parser.addoption("--cpu-seconds", metavar="FILE", help="append the processor seconds of each test to the file (tests/budget.py)")
    parser.addoption("--row", action="append", default=[], metavar="TEXT", help="of tests of tables: the rows whose names contain the text (tests/tables.py)")


def pytest_configure(config: pytest.Config) -> None:
    golden.UPDATES = config.getoption("--update-golden")
    tables.ONLY[:] = config.getoption("--row")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of several chips come first: they need a process in which no card is open, and others share theirs until the end."""
    mesh = Path(__file__).parent / "mesh"
    items.sort(key=lambda item: mesh not in item.path.parents)


def pytest_collection_finish() -> None:
    """What is loaded by now stays until the end: the garbage collector, which would walk all of it a hundred times, is told so."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before, modules = budget.cpu_seconds(), len(sys.modules)
    result = yield
    used = budget.cpu_seconds() - before
    if file := item.config.getoption("--cpu-seconds"):
        with open(file, "a", encoding="utf-8") as rows:
            rows.write(f"{used:.2f}\t{len(sys.modules) - modules}\t{item.nodeid}\n")
    return result


@pytest.fixture(scope="module", autouse=True)
def _devices_as_found() -> Iterator[None]:
    """Before any fixture of the module: what those close is found open."""
    devices = open_devices()
    yield
    assert all(device in open_devices() for device in devices), "a fixture of this module has closed a device that it did not open: tests/device.py"


@pytest.fixture(autouse=True)
def _process_as_found() -> Iterator[None]:
    with as_found():
        yield
