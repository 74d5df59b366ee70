"""Internal signal of the ONNX front end; users only see `alchemist.errors`."""

from __future__ import annotations


class Unsupported(Exception):
    """A rule cannot express its node; the reason goes to `UnsupportedOpError`."""
