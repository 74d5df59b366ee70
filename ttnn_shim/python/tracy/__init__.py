"""tracy's marks for scripts that are measured on a card: on the simulator they say which part of a plain script is measured."""

from __future__ import annotations

from ttnn_shim import session


def signpost(header: str, message: str | None = None) -> None:
    """A mark in the profile. `python -m ttnn_shim run` measures from the mark "start" to the mark "stop"; others are left out."""
    session.signpost(header)
