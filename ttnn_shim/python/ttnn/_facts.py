"""The committed table of the real package's surface (`_signatures.json`, made by make_signatures.py), read once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# The name that the real package's captures, hooks and messages have for a function of several names, where it is not the shortest.
_QUALIFIED = {
    "ttnn.mul": "ttnn.multiply", "ttnn.mul_": "ttnn.multiply_", "ttnn.sub": "ttnn.subtract", "ttnn.sub_": "ttnn.subtract_", "ttnn.div_": "ttnn.divide_",
}  # fmt: skip
REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "<required>"})()


@dataclass(frozen=True, slots=True)
class Param:
    """kind: "" positional or keyword, "P" positional only, "K" keyword only, "*", "**". default: as text or plain value."""

    name: str
    kind: str
    type: str
    default: Any = REQUIRED

    @property
    def required(self) -> bool:
        return self.default is REQUIRED and self.kind not in ("*", "**")


@dataclass(frozen=True, slots=True)
class Overload:
    params: tuple[Param, ...]
    returns: str


@cache
def facts() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((Path(__file__).parent / "_signatures.json").read_bytes())
    return data


@cache
def _param(index: int) -> Param:
    row = facts()["params"][index]
    type_ = facts()["types"][row[2]]
    return Param(row[0], row[1], type_ or "object", row[3] if len(row) > 3 else REQUIRED)


@cache
def overload_set(index: int) -> tuple[Overload, ...]:
    rows = facts()["sets"][index]
    types = facts()["types"]
    return tuple(Overload(tuple(_param(i) for i in row[1:]), types[row[0]] or "None") for row in rows)


def resolve_alias(name: str) -> str:
    """`ttnn.multiply` -> `ttnn.mul`; other names unchanged."""
    return str(facts()["aliases"].get(name, name))


@cache
def spellings(name: str) -> tuple[str, ...]:
    """A function's name and its aliases, shortest first: `ttnn.mul`, `ttnn.multiply`."""
    names = {name, "ttnn." + name.rsplit(".", 1)[-1]} if ".operations." in name else {name}
    names |= {alias for alias, target in facts()["aliases"].items() if target == name}
    return tuple(sorted(names, key=lambda spelling: (spelling.count("."), spelling != name, spelling)))


def qualified_name(name: str) -> str:
    """By what name a call of the function is known, whichever of its names it was called by."""
    shortest = spellings(name)[0]
    return _QUALIFIED.get(shortest, shortest)


def function_overloads(name: str) -> tuple[Overload, ...]:
    return overload_set(facts()["functions"][name][0])


def wrapped_overloads(name: str) -> tuple[Overload, ...]:
    """The C++ signature behind a `*args, **kwargs` wrapper; the plain one for other functions."""
    index = facts()["wrapped"].get(name)
    return function_overloads(name) if index is None else overload_set(index)


@cache
def offered(module: str) -> frozenset[str]:
    """Names that module `ttnn` or `ttnn.transformer` ... offers."""
    data = facts()
    prefix = module + "."
    names = [name for table in ("functions", "classes", "enums", "values", "aliases") for name in data[table]]
    return frozenset(name[len(prefix) :].split(".")[0] for name in names if name.startswith(prefix))


def absent(name: str) -> bool:
    """Whether the real package has `ttnn.x` and this one does not."""
    return name.removeprefix("ttnn.") in _absent()


@cache
def _absent() -> frozenset[str]:
    return frozenset(facts()["absent"])
