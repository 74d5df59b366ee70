"""Tensors that several exports of one process have in common: exports side by side hold one file of each (hard links)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from alchemist.export.directory import read_manifest

SMALLEST_BYTES = 4096
"""Smaller files are written again: a link saves nothing."""

Twins = Mapping[tuple[int, str], tuple[Path, int]]
_known: dict[Path, dict[tuple[int, str], tuple[Path, int]]] = {}


def twins(parent: Path) -> Twins:
    """(size in bytes, SHA-256) -> (file, time of its last change in ns) of the tensors that exports in `parent` have."""
    return _known.get(parent.resolve(), {})


def remember(export: Path) -> None:
    """The tensors of a finished export may be those of the next one beside it."""
    manifest = read_manifest(export)
    if manifest is None:
        return
    found = _known.setdefault(export.resolve().parent, {})
    for name, entry in manifest["files"].items():
        if name.startswith("tensors/") and entry["size_bytes"] >= SMALLEST_BYTES:
            file = export.resolve() / name
            found[entry["size_bytes"], entry["sha256"]] = file, file.stat().st_mtime_ns


def link(given: tuple[Path, int], path: Path) -> bool:
    """Makes `path` the same file as the one given. False where that one has changed or the file system has no links."""
    file, changed_ns = given
    try:
        if file.stat().st_mtime_ns != changed_ns:
            return False
        os.link(file, path)
    except OSError:
        return False
    return True
