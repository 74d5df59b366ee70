"""The export directory: built aside, moved into place whole, replaced only if nobody edited it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from alchemist.errors import ExportDirectoryError

MANIFEST = "manifest.json"


def file_sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def exporting(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yields an empty directory beside `path`; on success it becomes `path`, on any error nothing remains of it.

    Raises:
        ExportDirectoryError: `path` is or lies in a file, is not writable, is not an export, or has edited files.
    """
    path = Path(os.path.abspath(path))
    _check_replaceable(path, overwrite)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except (NotADirectoryError, FileExistsError) as error:
        raise ExportDirectoryError(
            f"cannot create {path}",
            location=str(path),
            got="a file in the place of a directory",
            hint="choose an export_path that does not go through a file",
        ) from error
    except PermissionError as error:
        raise ExportDirectoryError(
            f"no permission to write in {path.parent}",
            location=str(path),
            hint="choose an export_path in a directory you may write to",
        ) from error
    try:
        os.chmod(staging, 0o777 & ~_umask())
        yield staging
        _replace(staging, path)
    except OSError as error:
        if isinstance(error, ExportDirectoryError):
            raise
        raise ExportDirectoryError(f"cannot write {path}: {error.strerror or error}", location=str(path)) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _check_replaceable(path: Path, overwrite: bool) -> None:
    if path.is_file() or (path.is_symlink() and not path.is_dir()):
        raise ExportDirectoryError(f"{path} is a file", location=str(path), hint="choose another export_path")
    if not path.exists() or overwrite or not any(path.iterdir()):
        return
    manifest = read_manifest(path)
    if manifest is None:
        raise ExportDirectoryError(
            f"{path} exists and is not an export of alchemist",
            location=str(path),
            hint="choose another export_path, or pass overwrite=True to replace the directory",
        )
    edited = edited_files(path, manifest)
    if edited:
        raise ExportDirectoryError(
            f"{path} has edited files: {', '.join(edited)}",
            location=str(path),
            hint="choose another export_path to keep your edits, or pass overwrite=True to lose them",
        )


def read_manifest(path: Path) -> dict[str, Any] | None:
    """The manifest of an export directory, or None if there is no (readable) one."""
    try:
        manifest = json.loads((path / MANIFEST).read_text())
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and isinstance(manifest.get("files"), dict) else None


def edited_files(path: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Files of the export that changed or vanished since it was made, and files that somebody added."""
    recorded: Mapping[str, Any] = manifest["files"]
    edited = []
    for name, entry in recorded.items():
        file = path / name
        if not file.is_file() or file.stat().st_size != entry["size_bytes"] or file_sha256(file) != entry["sha256"]:
            edited.append(name)
    own = {"__pycache__", "build", ".venv", MANIFEST}  # at any depth: a directory may hold several programs
    for file in path.rglob("*"):
        name = file.relative_to(path).as_posix()
        if file.is_file() and name not in recorded and not own & set(name.split("/")):
            edited.append(name)
    return sorted(edited)


def _replace(staging: Path, path: Path) -> None:
    """Puts `staging` in the place of `path`: two renames, so that a reader sees the old or the new export whole."""
    if not path.exists():
        os.rename(staging, path)
        return
    retired = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
    os.rename(path, retired / "export")
    try:
        os.rename(staging, path)
    except OSError:
        os.rename(retired / "export", path)
        raise
    finally:
        shutil.rmtree(retired, ignore_errors=True)
