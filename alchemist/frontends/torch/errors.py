"""Internal signal of the torch front end; users only see `alchemist.errors`."""

from __future__ import annotations

EVAL_FIRST = "call model.eval() first"
"""End of each reason that training mode is the cause; if no op has another reason, the error says so in its first line."""


class Unsupported(Exception):
    """A rule cannot express its op; the reason goes to `UnsupportedOpError`."""
