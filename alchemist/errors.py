"""Every error that alchemist raises on purpose: one hierarchy, one shape.

A message always reads

    error[ALC-0203] softmax: dim 4 out of range for rank 4
      at model.py:41
      expected -4 <= dim < 4
      got dim = 4
      hint: use -1 for the last dimension

`UserError` and its children say that the input cannot be handled and how to go on; `InternalError` says that alchemist
itself is wrong. The shim has the same shape behind its C ABI (`ttnn_shim.errors`).
"""

from __future__ import annotations

import errno
import functools
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from ttnn_shim.errors import bounded as bounded
from ttnn_shim.errors import printable as printable

MOST_CHARACTERS = 2000  # of a message: what a terminal shows at once, whatever the input holds


def quoted(value: object) -> str:
    """A user's value in a message: short, and whatever its own `__repr__` does."""
    try:
        text = repr(value)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        text = ""
    return bounded(text or f"a {type(value).__name__}", 200)


def _shortened(parts: list[str], most: int) -> list[str]:
    """The parts with a total of at most `most` characters: the longest ones are cut, the short ones stay."""
    parts = list(map(printable, parts))
    if sum(map(len, parts)) <= most:
        return parts
    left, longest = most, 0
    for count, size in zip(range(len(parts), 0, -1), sorted(map(len, parts)), strict=True):
        longest = left // count
        left -= min(size, longest)
    return [bounded(part, longest) for part in parts]


class AlchemistError(Exception):
    """Base of all errors.

    Attributes:
        code: stable identifier, `ALC-nnnn`; the first two digits name the stage (01 input and options, 02 verification,
            03 lowering, 04 emission, 05 export directory, 06 run, 07 text, 09 internal).
        op: the op concerned, in its dialect's spelling (`aten.sort.default`, `ttnn.softmax`), or "".
        location: `file:line[:column]` or a value's name, or "".
        expected, got, hint: one line each, or "".
    """

    code = "ALC-0000"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        op: str = "",
        location: str = "",
        expected: str = "",
        got: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.op = op
        self.location = location
        self.expected = expected
        self.got = got
        self.hint = hint

    def __str__(self) -> str:
        return self.text()

    def text(self, most: int = MOST_CHARACTERS) -> str:
        """What is printed, in at most `most` characters (200 or more): the middle of what is longer is left out."""
        parts = _shortened([self.op, self.message, self.location, self.expected, self.got, self.hint], most - 80)
        op, message, *rest = parts
        head = f"error[{self.code}] " + (f"{op}: " if op else "") + message
        return "\n".join([head, *(f"  {label}{text}" for label, text in zip(_LABELS, rest, strict=True) if text)])

    def __reduce__(self) -> tuple[object, ...]:
        details = {key: getattr(self, key) for key in ("code", "op", "location", "expected", "got", "hint")}
        return _rebuild, (type(self), self.message, details)


_LABELS = ("at ", "expected ", "got ", "hint: ")


def _rebuild(kind: type[AlchemistError], message: str, details: dict[str, str]) -> AlchemistError:
    return kind(message, **details)


class UserError(AlchemistError):
    """The input, an option or the environment is at fault."""

    code = "ALC-0100"


class OptionError(UserError, ValueError):
    code = "ALC-0101"


class InputError(UserError, ValueError):
    """Model arguments of the wrong kind, shape or dtype."""

    code = "ALC-0102"


class FileError(InputError):
    """A file that cannot be read or written."""

    code = "ALC-0104"


class FrontendError(UserError):
    """The model cannot be captured (data-dependent control flow, unsupported framework feature)."""

    code = "ALC-0110"


class UnsupportedOpError(FrontendError):
    """One or more framework ops have no rule. `ops` lists all of them at once: (op, count, first location, reason)."""

    code = "ALC-0111"

    def __init__(self, message: str, *, ops: tuple[tuple[str, int, str, str], ...] = (), **details: str) -> None:
        super().__init__(message, **details)
        self.ops = ops

    def __str__(self) -> str:
        rows = [bounded(printable(f"  {op}  x{count}  at {where or '?'}: {reason}"), 300) for op, count, where, reason in self.ops]
        lines = [self.text(MOST_CHARACTERS if not rows else 800)]
        left = MOST_CHARACTERS - len(lines[0]) - 60
        while rows and left > len(rows[0]):
            left -= len(rows[0]) + 1
            lines.append(rows.pop(0))
        return "\n".join([*lines, *([f"  and {len(rows)} more (the error's `ops` has all)"] if rows else [])])


class VerifyError(UserError, ValueError):
    code = "ALC-0200"


class ParseError(UserError, ValueError):
    """Malformed text; `location` is `file:line:column`."""

    code = "ALC-0700"


class LoweringError(UserError):
    """A TTIR op or dtype has no TTNN form."""

    code = "ALC-0300"


class EmitError(UserError):
    code = "ALC-0400"


class ExportDirectoryError(UserError, OSError):
    """The export path cannot be created or replaced."""

    code = "ALC-0500"


class TensorFileError(UserError, ValueError):
    """A `.tensorbin` file is malformed or truncated."""

    code = "ALC-0510"


class FlatbufferError(UserError, ValueError):
    """A file of tt-mlir (`.ttnn`, `.ttsys`) is damaged, or another kind of file; `location` is `file: byte N`."""

    code = "ALC-0511"


class ToolchainError(UserError):
    """A program or package that this step needs is missing; the hint says what to install."""

    code = "ALC-0600"


class InternalError(AlchemistError):
    """A bug in alchemist: please report it with the text of this error."""

    code = "ALC-0900"


class AccuracyWarning(UserWarning):
    """The emitted program, as it is, does not compute what the framework does."""


_FILE_ERRORS: dict[int, tuple[str, str]] = {  # errno -> (what is wrong, hint)
    errno.ENOENT: ("no such file or directory", "check the path"),
    errno.EISDIR: ("expected a file, but this is a directory", "pass a file in it"),
    errno.ENOTDIR: ("a part of the path is a file, not a directory", "check the path"),
    errno.EEXIST: ("the path exists already", "choose another path"),
    errno.EACCES: ("no permission", "change the permissions, or choose a path that you may read and write"),
    errno.EPERM: ("no permission", "change the permissions, or choose a path that you may read and write"),
    errno.EROFS: ("the file system is read-only", "choose a path that you may write to"),
    errno.ENOSPC: ("no space left on the device", "free some space, or choose another path"),
    errno.EDQUOT: ("the disk quota is used up", "free some space, or choose another path"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter name or path"),
    errno.ELOOP: ("the symbolic links form a loop", "check the path"),
    errno.EMFILE: ("too many open files", "raise the limit (ulimit -n)"),
    errno.ENOMEM: ("not enough memory", "make the input smaller"),
}


def file_error(error: OSError, path: Path | str = "", doing: str = "") -> FileError:
    """The user's error behind an OSError. path: the file concerned where the OSError names none; doing: "read", "write" or ""."""
    what, hint = _FILE_ERRORS.get(error.errno or 0, (str(error.strerror or error), ""))
    name = error.filename if isinstance(error.filename, str) else os.fsdecode(error.filename) if isinstance(error.filename, bytes) else ""
    code = "ALC-0103" if error.errno == errno.ENOENT and doing != "write" else None
    prefix = f"cannot {doing}: " if doing else ""
    return FileError(prefix + what, code=code, location=name or str(path), hint=hint)


def check_writable(path: Path | str, option: str = "") -> None:
    """Refuses a file that could not be written at the end of a long run: nothing is created here.

    option: what the path was given with, for the message.

    Raises:
        FileError: a directory, a missing or unwritable folder, or a name that no file can have.
    """
    place = Path(path)
    prefix = f"{option}: " if option else ""
    try:
        os.lstat(place)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        found = file_error(error if isinstance(error, OSError) else OSError(errno.EINVAL, str(error)), place, "write")
        raise FileError(prefix + found.message, location=found.location, hint=found.hint) from None
    if place.is_dir():
        raise FileError(f"{prefix}expected a file, but this is a directory", location=str(place), hint="pass a file in it")
    if not place.parent.is_dir():
        raise FileError(f"{prefix}no directory {place.parent}", location=str(place), hint="create the directory first")
    if not os.access(place if place.exists() else place.parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise FileError(f"{prefix}no permission to write", location=str(place), hint="choose a path that you may write to")


def as_our_error(error: BaseException) -> AlchemistError:
    """What a user is told about an exception that nothing nearer to its cause has explained.

    Files, memory and depth are the user's side of things; every other kind that is not ours already is a bug in alchemist.
    """
    if isinstance(error, AlchemistError):
        return error
    if isinstance(error, OSError):
        return file_error(error)
    if isinstance(error, RecursionError):
        return ParseError("the input is nested too deeply", hint="split the input, or reduce its nesting")
    if isinstance(error, MemoryError):
        return UserError("the input needs more memory than the host has", code="ALC-0105", got=str(error), hint="make the input smaller")
    what = f"{type(error).__name__}: {str(error)[:300]}"
    return InternalError(what, hint="a bug in alchemist, please report it; ALCHEMIST_TRACEBACK=1 on the command line shows where")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning at the line of the user's that called us, however deep we are."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "alchemist":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


_P = ParamSpec("_P")
_T = TypeVar("_T")


def explained(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorator for the public API: whatever ends a call is one of our errors.

    The user's faults come without our frames, so that a script's traceback ends at its own line; ALCHEMIST_TRACEBACK=1 keeps them.
    """

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return function(*args, **kwargs)
        except UserError as error:
            if os.environ.get("ALCHEMIST_TRACEBACK"):
                raise
            raise error.with_traceback(None) from None
        except AlchemistError:
            raise
        except (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError) as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is None:
                raise  # Python's own words about missing or unknown arguments
            raise as_our_error(error) from error

    return call


def checked_path(value: object, name: str) -> Path:
    """A path argument of the public API.

    Raises:
        OptionError: anything that no file can be called.
    """
    if isinstance(value, str | os.PathLike) and isinstance(text := os.fspath(value), str) and "\0" not in text and text:
        try:
            os.fsencode(text)
        except UnicodeEncodeError:
            pass
        else:
            return Path(text)
    raise OptionError(f"bad {name}", expected="a path, as text or pathlib.Path", got=f"{type(value).__name__} {quoted(value)}")
