"""What tests only read is made once for all test processes of a run: exports, and programs that a compiler builds."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.models import SMALL

Export = Callable[..., Any]


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that the first test process which asks for it fills; the others wait for it. A test that edits it edits a copy."""
    base = factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    root.mkdir(exist_ok=True)
    folder, done = root / name, root / f"{name}.done"
    with open(root / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


def small_export(factory: pytest.TempPathFactory, model: str, codegen: Export, **options: Any) -> Path:
    """The export of a model of tests/e2e/models.py. options: of the codegen function."""

    def make(folder: Path) -> None:
        built, args, kwargs = SMALL[model]()
        codegen(built, *args, export_path=folder / "out", **options, **kwargs)

    return made_once(factory, "-".join([model, codegen.__name__, *(f"{key}={value}" for key, value in options.items())]), make) / "out"
