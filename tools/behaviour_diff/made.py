"""A plugin of pytest: what front ends capture and passes make in each test is written down, whatever the test looks at.

`-p tools.behaviour_diff.made` with the file of rows in $BEHAVIOUR_ROWS; slow tests are left out.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest

FOLDERS = (
    *("tests/passes", "tests/optimizer", "tests/frontends_torch", "tests/frontends_jax"),
    *("tests/frontends_onnx/test_ops.py", "tests/mlir/test_stablehlo_ops.py"),
)
_QUOTED = re.compile(r'"[^"]*\.py":\d+:\d+|"[^"]*"')
_PLACE = re.compile(r"(?:[^|\"]*\.py:\d+\|[^|\"]*\|\d+\|)+")
"""Where a test's model says what an op is made from: lines of tests move, and jax keeps those that traced a function first."""
_MOST_CHARACTERS = 30_000
_WATCHED = (
    *(("alchemist.driver.opt", "run_pipeline"), ("alchemist.passes", "lower_to_ttnn")),
    *((f"alchemist.frontends.{name}", function) for name, function in (("torch", "capture"), ("jax", "capture"), ("onnx", "load"), ("mlir", "load"))),
)
_made: list[str] = []


def _text(result: Any) -> str:
    from alchemist.ir.text import print_module

    module = getattr(result, "module", result)
    text = _QUOTED.sub(_without_place, print_module(module))
    if len(text) > _MOST_CHARACTERS:
        text = f"{text[:_MOST_CHARACTERS]}\n... {len(text)} characters, {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return text


def _without_place(quoted: re.Match[str]) -> str:
    text = quoted[0]
    return "PLACE" if text[-1] != '"' else _PLACE.sub("PLACE", text) if ".py:" in text else text


def _noting(run: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(run)
    def noted(*args: Any, **kwargs: Any) -> Any:
        result = run(*args, **kwargs)
        _made.append(_text(result))
        return result

    return noted


def pytest_collection_finish() -> None:
    """Each name of these functions in a module of the product or of the tests is one that notes."""
    watched = set()
    for name, function in _WATCHED:
        if name in sys.modules:  # else no test has it
            watched.add(getattr(importlib.import_module(name), function))
    noting = {id(function): _noting(function) for function in watched}
    for module in list(sys.modules.values()):
        file = str(getattr(module, "__file__", None) or "")
        if getattr(module, "__name__", "").partition(".")[0] == "alchemist" or "/tests/" in file:
            for name, value in list(vars(module).items()):
                if id(value) in noting:
                    setattr(module, name, noting[id(value)])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """A row for each test that made something, also where it fails. Each test gets the same random numbers."""
    import numpy as np
    import torch

    torch.manual_seed(0)
    np.random.seed(0)
    _made.clear()
    try:
        return (yield)
    finally:
        if _made:
            with open(os.environ["BEHAVIOUR_ROWS"], "a", encoding="utf-8") as file:
                file.write(json.dumps([item.nodeid, "\n".join(dict.fromkeys(_made))]) + "\n")
