"""Damages valid MLIR text in ways that real files are damaged, and in ways that attack a parser."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.mlir.op_uses import uses

DATA = Path(__file__).parent / "data"
NASTY = (
    "<", ">", "{", "}", "(", ")", "[", "]", '"', "\\", "#", "!", "%", "@", "^", ":", ",", "->", "loc(", "dense<", "0x",
    "99999999999999999999999999", "-1", "1e999", "nan", "\x00", "\ufffd", "\ud7ff", "é", "tensor<", "tensor<4294967296x4294967296xf32>",
    "tensor<?x3xf32>", "tensor<*xf32>", "tensor<0xf32>", "tensor<-1xf32>", "i99999999", "bf16", "complex<f32>", "none", "// -----",
    "dense_resource<x>", 'dense<"0x0">', "affine_map<(d0) -> (d0 floordiv 0)>", "#loc = loc(#loc)", "callsite(", "9" * 5000,
    "affine_map<(d0) -> (d0 mod 0)>", "array<i32: 1, 2>", "array<i1: true>", "@\"x\\0A\"", "{-# dialect_resources: {} #-}",
)  # fmt: skip


@cache
def seeds() -> tuple[str, ...]:
    return tuple(path.read_text() for path in sorted(DATA.glob("*.mlir")) if path.stat().st_size < 60_000)


@cache
def single_ops() -> tuple[str, ...]:
    """A use of every op of both op lists."""
    return tuple(use.text for dialect in ("ttir", "ttnn") for use in uses(dialect))


def _span(text: str, generator: random.Random, longest: int = 40) -> tuple[int, int]:
    start = generator.randrange(max(len(text), 1))
    return start, min(len(text), start + generator.randint(1, longest))


def _delete(text: str, generator: random.Random) -> str:
    start, end = _span(text, generator)
    return text[:start] + text[end:]


def _insert(text: str, generator: random.Random) -> str:
    at = generator.randrange(len(text) + 1)
    return text[:at] + generator.choice(NASTY) + text[at:]


def _replace_number(text: str, generator: random.Random) -> str:
    at = next((i for i in range(generator.randrange(len(text)), len(text)) if text[i].isdigit()), None)
    if at is None:
        return text
    return text[:at] + generator.choice(("0", "-1", "4294967296", "9" * 30, "9" * 5000, "1e400", "0x7FFFFFFFF")) + text[at + 1 :]


def _swap_lines(text: str, generator: random.Random) -> str:
    lines = text.split("\n")
    a, b = generator.randrange(len(lines)), generator.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def _repeat_line(text: str, generator: random.Random) -> str:
    lines = text.split("\n")
    at = generator.randrange(len(lines))
    return "\n".join([*lines[:at], *[lines[at]] * generator.randint(2, 5), *lines[at + 1 :]])


def _cut(text: str, generator: random.Random) -> str:
    return text[: generator.randrange(len(text))]


def _flip(text: str, generator: random.Random) -> str:
    raw = bytearray(text.encode())
    for _ in range(generator.randint(1, 8)):
        raw[generator.randrange(len(raw))] ^= 1 << generator.randrange(8)
    return raw.decode("utf-8", "replace")


def _nest(text: str, generator: random.Random) -> str:
    at = generator.randrange(len(text))
    opening = generator.choice(("[", "(", "{a = ", "tuple<", 'loc("a"(', "#x<", "complex<", "module {", "affine_map<(d0) -> ((((", "@a::"))
    return text[:at] + opening * generator.choice((10, 1000, 100_000)) + text[at:]


def _recursive_alias(text: str, generator: random.Random) -> str:
    return generator.choice(("#loc = loc(fused[#loc, #loc])\n", "#a = #b\n#b = #a\n", "!t = tuple<!t>\n", "#x = [#y, #y]\n#y = [#x]\n")) + text


def _alias_bomb(text: str, generator: random.Random) -> str:
    depth = generator.choice((5, 30))
    rows = ["#z0 = [1, 2]", *(f"#z{i} = [#z{i - 1}, #z{i - 1}]" for i in range(1, depth))]
    return "\n".join(rows) + "\n" + text.replace("module", f"module attributes {{bomb = #z{depth - 1}}}", 1)


def _swap_word(text: str, generator: random.Random) -> str:
    words = ("f32", "bf16", "si32", "ttir", "ttnn", "input", "parameter", "dram", "tile", "return", "func.func", "true", "array")
    return text.replace(generator.choice(words), generator.choice(words), generator.randint(1, 3))


MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    _delete, _insert, _replace_number, _swap_lines, _repeat_line, _cut, _flip, _nest, _recursive_alias, _alias_bomb, _swap_word,
)  # fmt: skip


def damaged(seed: int) -> str:
    """Case number `seed`: a valid text with one to three damages."""
    generator = random.Random(seed)
    text = generator.choice(seeds() if generator.random() < 0.6 else single_ops())
    for _ in range(generator.randint(1, 3)):
        if text:
            text = generator.choice(MUTATIONS)(text, generator)
    return text
