"""Shares equal tensors between exports of one process: stored once if the file system can share blocks (Btrfs, XFS).

Each export has files of its own (a write to one changes no other); they are clones, so equal tensors take their space once. On other
file systems each export is written in full.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from alchemist.export.directory import read_manifest
from alchemist.export.filesystem import clone

SMALLEST_BYTES = 4096
"""Smaller files are written again: a clone saves nothing."""
MOST_FILES = 4096
"""How many files a process remembers; the oldest are forgotten first."""

Stamp = tuple[int, int, int]
"""Inode, and times of the last change of contents and of status in ns: if they are equal, the file is unchanged."""
Twins = Mapping[tuple[int, str], tuple[Path, Stamp]]
_known: dict[tuple[int, str], tuple[Path, Stamp]] = {}
_without_clones: set[int] = set()
"""Devices whose file systems turned out not to share blocks: no search for twins there."""


def twins(directory: Path) -> Twins:
    """(size in bytes, SHA-256) -> file of an export that this process made, for tensors in `directory`."""
    return {} if directory.stat().st_dev in _without_clones else _known


def remember(export: Path) -> None:
    """The tensors of a finished export may be those of a later one."""
    manifest = read_manifest(export)
    if manifest is None or export.stat().st_dev in _without_clones:
        return
    for name, entry in manifest["files"].items():
        if name.startswith("tensors/") and entry["size_bytes"] >= SMALLEST_BYTES:
            file = export.resolve() / name
            key = entry["size_bytes"], entry["sha256"]
            _known.pop(key, None)
            _known[key] = file, _stamp(file)
    while len(_known) > MOST_FILES:
        del _known[next(iter(_known))]


def clone_twin(twin: tuple[Path, Stamp], path: Path) -> bool:
    """Makes `path` a clone of a remembered file. False where that one has changed or the file system shares no blocks."""
    file, stamp = twin
    try:
        status, device = file.stat(), path.parent.stat().st_dev
    except OSError:
        return False
    if _stamp_of(status) != stamp or status.st_dev != device:
        return False
    if clone(file, path):
        return True
    _without_clones.add(device)
    return False


def _stamp(file: Path) -> Stamp:
    return _stamp_of(file.stat())


def _stamp_of(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns
