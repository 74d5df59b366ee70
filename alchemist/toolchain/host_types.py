"""Types of LLVM text: scalars by name, `("array", count, type)`, `("struct", (type, ...))`; sizes in bytes, as on x86-64."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from alchemist.errors import LoweringError

Type = Any
"""str, ("array", int, Type) or ("struct", tuple of Type)."""
_SIZES = {"ptr": 8, "i64": 8, "f64": 8, "i32": 4, "f32": 4, "i16": 2, "i8": 1, "i1": 1}
_TOKEN = re.compile(r"\s*(array<|struct<\(|\)>|>|,|\d+ x |\w+)")
_MOST_NESTED = 20


def parse_type(text: str) -> Type:
    """Raises LoweringError for a type that memory of host functions does not have."""
    tokens = iter([match[1] for match in _TOKEN.finditer(text.replace("!llvm.", ""))])
    try:
        return _type(next(tokens), tokens, 0)
    except (StopIteration, RuntimeError):
        raise _unknown(text) from None


def _unknown(text: str) -> LoweringError:
    return LoweringError("a host function uses an unknown type", op="func.call", got=text.strip()[:80])


def _type(token: str, tokens: Iterator[str], depth: int) -> Type:
    if depth > _MOST_NESTED:
        raise _unknown(token)
    if token == "array<":
        count = next(tokens)
        if not count.endswith(" x "):
            raise _unknown(count)
        of = _type(next(tokens), tokens, depth + 1)
        next(tokens)
        return ("array", int(count[:-3]), of)
    if token == "struct<(":
        parts = []
        while (token := next(tokens)) != ")>":
            if token != ",":
                parts.append(_type(token, tokens, depth + 1))
        return ("struct", tuple(parts))
    if token not in _SIZES:
        raise _unknown(token)
    return token


def size_bytes(kind: Type) -> int:
    if isinstance(kind, str):
        return _SIZES[kind]
    if kind[0] == "array":
        return int(kind[1]) * size_bytes(kind[2])
    end = 0
    for part in kind[1]:
        end = -(-end // alignment(part)) * alignment(part) + size_bytes(part)
    return -(-end // alignment(kind)) * alignment(kind)


def alignment(kind: Type) -> int:
    if isinstance(kind, str):
        return _SIZES[kind]
    return alignment(kind[2]) if kind[0] == "array" else max((alignment(part) for part in kind[1]), default=1)


def _parts(kind: Type) -> list[Type]:
    return list(kind[1]) if kind[0] == "struct" else [kind[2]] * kind[1]


def nested(kind: Type) -> list[tuple[str, str]]:
    """Every scalar of a type with its index text: `("i64", "[3][0]")`."""
    if isinstance(kind, str):
        return [(kind, "")]
    return [(of, f"[{index}]{path}") for index, part in enumerate(_parts(kind)) for of, path in nested(part)]


def offsets(kind: Type, start: int = 0) -> list[int]:
    """Where the scalars of `nested` are, in bytes."""
    if isinstance(kind, str):
        return [start]
    result: list[int] = []
    offset = start
    for part in _parts(kind):
        offset = -(-offset // alignment(part)) * alignment(part)
        result += offsets(part, offset)
        offset += size_bytes(part)
    return result


def zero(kind: Type) -> Any:
    """Zeros in nested tuples."""
    return 0 if isinstance(kind, str) else tuple(zero(part) for part in _parts(kind))
