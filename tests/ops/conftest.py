"""Facts of the real package (ttnn 0.81.1): trimmed extract of its Python signatures and exported C++ symbols."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="session")
def api() -> dict[str, Any]:
    """ "python": callee -> overloads, each a list of [name, kind, type(, default)]; "cpp": op -> parameter types."""
    with gzip.open(DATA / "ttnn_op_signatures.json.gz", "rt", encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded
