"""Errors of the simulator. All are RuntimeErrors, as the real package's TT_FATAL and TT_THROW are."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Container, Sequence
from functools import cached_property
from pathlib import Path

# Frames of these folders are ours, not the caller's.
_FOLDERS = {Path(__file__).parent.parent, Path(__file__).parent / "_python"}
_INTERNAL = tuple(f"{root / name}/" for root in _FOLDERS for name in ("ttnn", "ttnn_extras", "ttnn_shim", "ttnn_jit"))


def user_location(helpers: Container[str] = ()) -> str:
    """`file:line` of the innermost frame outside ttnn and ttnn_shim, or "". helpers: names of files that count only where no other file calls."""
    frame, helper = sys._getframe(1), ""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_INTERNAL):
            place = f"{file}:{frame.f_lineno}"
            if os.path.basename(file) not in helpers:
                return place
            helper = helper or place
        frame = frame.f_back  # type: ignore[assignment]
    return helper


_NO_TEXT = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]")
"""Control characters, lone surrogates, and the marks of direction, which reorder what is around them."""


def printable(text: str) -> str:
    """The text with escapes for what a terminal or a UTF-8 stream cannot take."""
    return _NO_TEXT.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def bounded(text: str, limit: int) -> str:
    """The text, with its middle left out where it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    mark = f" ... {len(text) - limit} characters left out ... "
    kept_length = max(limit - len(mark), 0)
    return text[: kept_length - kept_length // 3] + mark[: limit - kept_length] + text[len(text) - kept_length // 3 :]


class ShimError(RuntimeError):
    """Base class.

    Attributes:
        op: the call concerned, `ttnn.softmax`, or "".
        message: what is wrong: argument, expected, got.
        location: `file:line` of the caller's code (found when the error is made), or "".
        hint: how to go on, or "".
    """

    title = "TT_FATAL"
    code = "SHIM-0001"  # the core's error kinds: 1 argument, 2 not supported, 3 memory, 4 file, 5 internal

    def __init__(self, message: str, *, op: str = "", location: str | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.op = op
        self.message = message
        self.location = user_location() if location is None else location
        self.hint = hint

    def __str__(self) -> str:
        """As the real package words it, for code that catches RuntimeError."""
        return self._lines(self.title + ":")

    def report(self, called_from: str = "") -> str:
        """In the project's one error shape, for people: `error[SHIM-000n] op: message`, location, how the program came there, hint."""
        return self._lines(f"error[{self.code}]", called_from)

    def _lines(self, head: str, called_from: str = "") -> str:
        limits = ((self.op, 100), (self.message, 1100), (self.location, 300), (self.hint, 400))  # with the labels below 2,000 characters
        op, message, location, hint = (bounded(printable(text), limit) for text, limit in limits)
        rows = (("at ", location), ("called from ", printable(called_from)), ("hint: ", hint))
        first = f"{head} " + (f"{op}: " if op else "") + message
        return "\n".join([first, *(f"  {label}{text}" for label, text in rows if text)])


class InvalidArgument(ShimError):
    """A call that the real package refuses too."""


class NotSupported(ShimError, NotImplementedError):
    """Legal TT-NN that the simulator does not implement."""

    title = "not supported by ttnn_shim"
    code = "SHIM-0002"


class OutOfMemory(ShimError):
    """L1 or DRAM is exhausted, as it would be on the chip."""

    code = "SHIM-0003"


class TensorFileError(ShimError):
    """A tensor file is missing, truncated or corrupt."""

    code = "SHIM-0004"


class InternalError(ShimError):
    """The simulator itself is wrong: please report it with the text of this error."""

    title = "internal error of ttnn_shim"
    code = "SHIM-0005"


class ActivationError(ImportError):
    """`import ttnn` cannot be pointed at the simulator; the text says why and what to do."""


class NotOffered(AttributeError, NotImplementedError):
    """The real package has this name, the simulator does not."""


class UnknownName(AttributeError):
    """A name that `ttnn` or one of its modules does not have.

    The near names are looked for only when the error is shown: `hasattr`, and the import of every submodule, make this error and drop it.
    """

    def __init__(self, module: str, name: str, find_near: Callable[[], Sequence[str]]) -> None:
        super().__init__(f"module {module!r} has no attribute {name!r}", name=name)
        self.module = module
        self._find_near = find_near

    @cached_property
    def near(self) -> Sequence[str]:
        """Names like it that there are."""
        return self._find_near()

    @property
    def hint(self) -> str:
        """The near names as a question, or ""."""
        return f"did you mean {' or '.join(self.near)}?" if self.near else ""

    def __str__(self) -> str:
        return super().__str__() + (f"; it has {', '.join(self.near)}" if self.near else "")


class CallMismatch(TypeError):
    """A call that fits no signature of the op. The text is the real package's; reason, expected and hint say it in a line each."""

    def __init__(self, text: str, *, op: str, reason: str, expected: str, hint: str) -> None:
        super().__init__(text)
        self.op = op
        self.reason = reason
        self.expected = expected
        self.hint = hint


BY_CODE: dict[int, type[ShimError]] = {1: InvalidArgument, 2: NotSupported, 3: OutOfMemory, 4: TensorFileError, 5: InternalError}
