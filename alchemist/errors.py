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
        head = f"error[{self.code}] " + (f"{self.op}: " if self.op else "") + self.message
        rows = (("at ", self.location), ("expected ", self.expected), ("got ", self.got), ("hint: ", self.hint))
        return "\n".join([head, *(f"  {label}{text}" for label, text in rows if text)])

    def __reduce__(self) -> tuple[object, ...]:
        details = {key: getattr(self, key) for key in ("code", "op", "location", "expected", "got", "hint")}
        return _rebuild, (type(self), self.message, details)


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
        rows = [f"  {op}  x{count}  at {where or '?'}: {reason}" for op, count, where, reason in self.ops]
        return "\n".join([super().__str__(), *rows])


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


class ToolchainError(UserError):
    """A program or package that this step needs is missing; the hint says what to install."""

    code = "ALC-0600"


class InternalError(AlchemistError):
    """A bug in alchemist: please report it with the text of this error."""

    code = "ALC-0900"


class AccuracyWarning(UserWarning):
    """The emitted program, as it is, does not compute what the framework does."""
