"""Errors of the simulator. All are RuntimeErrors, as the real package's TT_FATAL and TT_THROW are."""

from __future__ import annotations


class ShimError(RuntimeError):
    """Base class.

    Attributes:
        op: the call concerned, `ttnn.softmax`, or "".
        message: what is wrong: argument, expected, got.
        location: `file:line` of the caller's code, or "".
        hint: how to go on, or "".
    """

    title = "TT_FATAL"

    def __init__(self, message: str, *, op: str = "", location: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.op = op
        self.message = message
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        head = f"{self.title}: " + (f"{self.op}: " if self.op else "") + self.message
        rows = (("at ", self.location), ("hint: ", self.hint))
        return "\n".join([head, *(f"  {label}{text}" for label, text in rows if text)])


class InvalidArgument(ShimError):
    """A call that the real package refuses too."""


class NotSupported(ShimError, NotImplementedError):
    """Legal TT-NN that the simulator does not implement."""

    title = "not supported by ttnn_shim"


class OutOfMemory(ShimError):
    """L1 or DRAM is exhausted, as it would be on the chip."""


class TensorFileError(ShimError):
    """A tensor file is missing, truncated or corrupt."""


class InternalError(ShimError):
    """The simulator itself is wrong: please report it with the text of this error."""

    title = "internal error of ttnn_shim"


class ActivationError(ImportError):
    """`import ttnn` cannot be pointed at the simulator; the text says why and what to do."""


class NotOffered(AttributeError, NotImplementedError):
    """The real package has this name, the simulator does not."""


BY_CODE: dict[int, type[ShimError]] = {1: InvalidArgument, 2: NotSupported, 3: OutOfMemory, 4: TensorFileError, 5: InternalError}
