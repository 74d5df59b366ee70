"""Reads MLIR files: splits them at `// -----`, and collects all errors of a text instead of the first one."""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from alchemist.errors import AlchemistError, ParseError, VerifyError, file_error
from alchemist.frontends.mlir import foreign
from alchemist.frontends.mlir.read import module_errors, parse_module, parts, read_module
from alchemist.toolchain.spellings import Applied
from alchemist.toolchain.ttnn_file import read_module_text

MOST_ERRORS = 20
_PLACE = re.compile(r":(\d+):(\d+)\Z")
_DEFINED = re.compile(r"%[\w$.-]+(?=(?::\d+)?(?:\s*,\s*%[\w$.-]+(?::\d+)?)*\s*=[^=])")
_ALIAS = re.compile(r"^\s*([#!][\w$-]+)\s*=")
_UNDEFINED = re.compile(r"(?:(%[\w$.-]+) is used but not defined|undefined alias ([#!][\w$-]+)|@\S+ is not defined())$")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A module's text; `text` starts with as many line breaks as needed for true line numbers."""

    text: str
    filename: str


def read_text(path: Path | str) -> str:
    """A file's text, `-` for standard input; bytes that are no UTF-8 become U+FFFD.

    Raises:
        FileError: no such file, a directory, not readable, or more than 512 MiB.
    """
    return read_module_text(sys.stdin.buffer if str(path) == "-" else path)


def write_text(path: Path, text: str) -> None:
    """Raises: FileError."""
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except (OSError, ValueError) as error:
        raise file_error(error if isinstance(error, OSError) else OSError(errno.EINVAL, str(error)), path, "write") from None


def chunks(text: str, filename: str, *, split: bool) -> list[Chunk]:
    """The parts between `// -----` lines (one part without `split`)."""
    if not split:
        return [Chunk(text, filename)]
    return [Chunk(part, filename) for part in parts(text)]


def read(chunk: Chunk, applied: Applied | None = None) -> ModuleOp:
    """The module of a chunk; `applied` receives what was read in an older spelling.

    Raises:
        ParseError, VerifyError: the first error.
    """
    try:
        return read_module(chunk.text, chunk.filename, applied)
    except RecursionError:
        raise ParseError("nested too deeply", location=f"{chunk.filename}:1:1") from None


def place(error: AlchemistError) -> tuple[int, int]:
    """Line and column of an error, (0, 0) when it has none."""
    match = _PLACE.search(error.location)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def all_errors(chunk: Chunk, first: AlchemistError) -> list[AlchemistError]:
    """`first` and the errors after it.

    Behind a syntax error reading goes on with the next line: the line is blanked and the text is read again. Values that
    blanked lines define are then missing; uses of them are no errors of their own.
    """
    if isinstance(first, VerifyError):
        return list(_verify_all(chunk)) or [first]
    errors: list[AlchemistError] = [first]
    lines = chunk.text.split("\n")
    lost: set[str] = set()
    seen = {place(first)}
    error: AlchemistError = first
    budget = 4_000_000  # characters read again; a large file with many errors stops early
    while len(errors) < MOST_ERRORS and budget > 0:
        line = place(error)[0]
        if not 0 < line <= len(lines) or not lines[line - 1].strip():
            break
        budget -= len(chunk.text)
        lost.update(_DEFINED.findall(lines[line - 1]) + _ALIAS.findall(lines[line - 1]) + [""])
        if "{" in lines[line - 1] and lines[line - 1].rstrip().endswith("{"):
            break  # without its head a region's braces do not match any more
        lines[line - 1] = ""
        try:
            parse_module("\n".join(lines), chunk.filename)
        except (ParseError, VerifyError) as next_error:
            error = next_error
            missing = _UNDEFINED.match(error.message)
            own = place(error) not in seen and not (missing and (missing[1] or missing[2] or "") in lost)
            if own:
                errors.append(error)
            seen.add(place(error))
        except RecursionError:
            break
        else:
            break
    return errors


def _verify_all(chunk: Chunk) -> Iterator[ParseError | VerifyError]:
    try:
        module, locate = parse_module(chunk.text, chunk.filename)
    except ParseError:
        return
    except VerifyError:  # jaxlib verifies what it reads
        yield from foreign.stablehlo_errors(chunk.text, chunk.filename)
        return
    yield from islice(module_errors(module, chunk.text, chunk.filename, locate), MOST_ERRORS)
