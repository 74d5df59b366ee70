"""Facts of the real package (ttnn 0.81.1): trimmed extract of its Python signatures and exported C++ symbols."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from alchemist.ops import TTNN_OPS

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="session")
def api() -> dict[str, Any]:
    """ "python": callee -> overloads, each a list of [name, kind, type(, default)]; "cpp": op -> parameter types. Ops that the extract lacks: from the facts in full."""
    with gzip.open(DATA / "ttnn_op_signatures.json.gz", "rt", encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    new = [spec for spec in TTNN_OPS.values() if spec.name not in loaded["cpp"]]
    with gzip.open(DATA / "ttnn_api.json.gz", "rt", encoding="utf-8") as file:
        entries = json.load(file)["entries"]
    with gzip.open(DATA / "ttnn_cpp_symbols.tsv.gz", "rt", encoding="utf-8") as file:
        functions = [line.rstrip("\n").partition("\t")[2] for line in file]
    for spec in new:
        entry = entries[spec.target]
        loaded["python"].setdefault(spec.target, [overload["p"] for overload in entries[entry.get("to", spec.target)]["ov"]])
        name = (spec.cpp_target or spec.target).replace(".", "::")
        loaded["cpp"][spec.name] = [_parameters(text[len(name) + 1 : -1]) for text in functions if text.startswith(f"{name}(")]
    return loaded


def _parameters(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    found, depth = [""], 0
    for part in re.split("([<>]|, )", text):
        depth += (part == "<") - (part == ">")
        if part == ", " and not depth:
            found.append("")
        else:
            found[-1] += part
    return found
