"""`./run --scale`: how the model of an export runs on meshes of several chips."""

from __future__ import annotations

from collections.abc import Sequence

from alchemist.cli import main as command


def main(arguments: Sequence[str]) -> int:
    """`PROGRAM_DIR MESHES`. Returns the exit code."""
    program, meshes = arguments
    return command(["estimate", program, "--mesh", meshes])
