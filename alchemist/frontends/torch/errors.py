"""Internal signal of the torch front end; users only see `alchemist.errors`."""

from __future__ import annotations


class Unsupported(Exception):
    """A rule cannot express its op; the reason goes to `UnsupportedOpError`."""
