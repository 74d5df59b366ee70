"""What damaged and slightly changed MLIR becomes: the refusal with its place, or the program."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from alchemist.driver import mlir_files
from alchemist.driver.translate import translate
from alchemist.errors import AlchemistError, InternalError
from tests.mlir import fuzz

DAMAGED = 60  # texts of `fuzz.damaged`
_NUMBER = re.compile(r"(?<![\w#.%@])-?\d+(?![\w.])|(?<=[<x])\d+(?=x)")
_ELEMENT = re.compile(r"\b(?:bf16|f32|si32|i32|i1|u16|u32)\b")
_TENSOR = re.compile(r"tensor<[^<>]*>")
_ATTRIBUTE = re.compile(r"\b\w+ = [^,{}<>\[\]]+, ")


def _changed(text: str, generator: random.Random) -> str:
    """A number, an element type or an attribute is another one, or is gone: in one place, or in a tensor's type wherever it stands."""
    kind = generator.randrange(8)
    tensors = sorted(set(_TENSOR.findall(text)))
    if kind >= 4 and tensors:
        tensor = generator.choice(tensors)
        return text.replace(tensor, _other(tensor, generator, _ELEMENT if kind == 4 else _NUMBER))
    return _other(text, generator, (_ELEMENT, _ATTRIBUTE, _NUMBER, _NUMBER)[kind % 4])


def _other(text: str, generator: random.Random, pattern: re.Pattern[str]) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = generator.choice(found)
    if pattern is _ELEMENT:
        new = generator.choice(("bf16", "f32", "si32", "u32"))
    elif pattern is _ATTRIBUTE:
        new = ""
    else:
        number = int(match[0])
        new = str(generator.choice((number + 1, number - 1, 2 * number, 0, -number, number + 32)))
        if text[match.end() : match.end() + 1] == "x" and int(new) < 0:
            new = "1"
    return text[: match.start()] + new + text[match.end() :]


def texts() -> Iterator[tuple[str, str]]:
    for number in range(DAMAGED):
        yield f"damaged {number}", fuzz.damaged(number)
    for number, text in enumerate(fuzz.single_ops()):
        generator = random.Random(number)
        for change in range(3):
            yield f"op {number}.{change}", _changed(text, generator)


def said(name: str, text: str) -> str:
    """The refusals, or the program: in C++ for each second text."""
    language = "cpp" if name[-1] in "02468" else "python"
    chunk = mlir_files.Chunk(text, "x.mlir")
    try:
        mlir_files.read(chunk)
        return translate(chunk, language)
    except InternalError:
        raise
    except AlchemistError as error:
        return "\n".join(str(each) for each in mlir_files.all_errors(chunk, error))
