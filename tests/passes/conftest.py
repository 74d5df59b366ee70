"""Helpers of this folder are imported by name. What passes make of the modules of each test is compared with `tests/data/pass_modules.txt`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from xdsl.dialects.builtin import ModuleOp

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from recorded_ir import AGAIN, MODULES, RECORDING, briefly, recorded, write  # noqa: E402

from alchemist.driver.opt import run_pipeline  # noqa: E402
from alchemist.passes import lower_to_ttnn  # noqa: E402

_FOUND: dict[str, str] = {}  # where rows are recorded: what each test's passes made


@pytest.fixture(autouse=True)
def _modules_as_recorded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test asks for itself, its modules are as they were: a guard that lets more or less through shows in one of them."""
    made: list[str] = []

    def noting(run: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            result = run(*args, **kwargs)
            made.append(briefly(result if isinstance(result, ModuleOp) else result.module))
            return result

        return noted

    for module in [one for one in sys.modules.values() if str(getattr(one, "__file__", None) or "").startswith(f"{HERE}/")]:
        for name, value in list(vars(module).items()):
            if (value is run_pipeline or value is lower_to_ttnn) and module.__name__ != __name__:
                monkeypatch.setattr(module, name, noting(value))
    torch.manual_seed(0)
    yield
    key, text = f"{request.path.name}::{request.node.name}", " | ".join(dict.fromkeys(made))
    if os.environ.get(RECORDING):
        _FOUND[key] = text
    elif made and request.node.get_closest_marker("slow") is None:
        assert text == recorded(MODULES).get(key, ""), AGAIN


def pytest_sessionfinish() -> None:
    if os.environ.get(RECORDING):
        write(MODULES, {key: text for key, text in sorted(_FOUND.items()) if text})
