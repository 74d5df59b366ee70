"""Files that `./run` wrote into its own export (`--profile`, `--outputs`, `--json`): no edits, and kept by the next export.

`./run` notes them in `.results` beside itself: one name or pattern per line, relative to that file.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import shutil
from pathlib import Path

RESULTS = ".results"
VENV = ".venv"


def result_files(export: Path) -> set[str]:
    """The noted files of an export that are there, relative, and their folders; of the programs inside it too, with the notes."""
    files: set[str] = set()
    for notes in (export / RESULTS, *sorted(export.glob(f"*/{RESULTS}"))):
        if notes.is_symlink() or not notes.is_file():
            continue
        folder = notes.parent
        files.add(notes.relative_to(export).as_posix())
        for line in notes.read_text(encoding="utf-8", errors="replace").splitlines():
            parent, _, pattern = line.rpartition("/")
            if not pattern or parent.startswith("/") or ".." in parent.split("/"):
                continue
            with contextlib.suppress(OSError):
                for name in os.listdir(folder / parent):
                    file = folder / parent / name
                    if (name == pattern or fnmatch.fnmatchcase(name, pattern)) and file.is_file() and not file.is_symlink():
                        files.add(file.relative_to(export).as_posix())
                location = folder / parent
                files |= {place.relative_to(export).as_posix() for place in (location, *location.parents) if export in place.parents}
    return files


def keep_results(before: Path, new: Path) -> None:
    """Puts the noted files of the export `before`, and the environments beside its programs, into `new` as well.

    They become further names of the same files: `before` is about to go. A name that `new` has is left to `new`.
    """
    if not before.is_dir():
        return
    for name in sorted(result_files(before)):
        if (before / name).is_file() and not os.path.lexists(new / name):
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            _link_or_copy(before / name, new / name)
    for venv in (before / VENV, *sorted(before.glob(f"*/{VENV}"))):
        target = new / venv.relative_to(before)
        if (venv / "pyvenv.cfg").is_file() and target.parent.is_dir() and not target.exists():
            shutil.copytree(venv, target, symlinks=True, copy_function=_link_or_copy)


def _link_or_copy(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
