"""The export directory: built in a separate directory, moved into place in one step, replaced only if nobody edited it."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from alchemist.errors import ExportDirectoryError, OptionError, checked_path
from alchemist.export.filesystem import is_mount_point
from alchemist.export.results import VENV, keep_results, result_files
from alchemist.export.workspace import Workspace, is_kept_entry, recover, uninterrupted

MANIFEST = "manifest.json"
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def file_sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def export_target(export_path: str | Path) -> Path:
    """The caller's path.

    Raises:
        OptionError: an empty one, which would mean the current directory.
    """
    if isinstance(export_path, str) and not export_path:
        raise OptionError("an empty export path", expected="a directory", got="''", hint="name a directory, or '.' for the current one")
    return checked_path(export_path, "export_path")


@contextlib.contextmanager
def exporting(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yields an empty directory; on success it becomes `path` in one step, on any error nothing remains of it.

    A link to a directory stays, what it points to is replaced. A mount point, the current directory, and a directory whose parent
    is not writable stay too: their entries are replaced. What `./run` wrote into the export before (reports, outputs) and its
    `.venv` are in the new one again. What killed exports left is put in order first.

    Raises:
        ExportDirectoryError: `path` is or lies in a file, is not writable, is not an export, or has edited files.
    """
    shown, path = path, Path(os.path.realpath(path) if path.is_dir() else os.path.abspath(path))
    created: list[Path] = []
    workspace: Workspace | None = None
    in_body = False
    try:
        _make_parents(path, created)
        recover(path.parent)
        recover(path)
        _check_replaceable(path, overwrite)
        before = _fingerprint(path)
        with uninterrupted():
            workspace = Workspace(path, in_place=_stays(path))
        in_body = True
        yield workspace.new
        in_body = False
        if _fingerprint(path) != before:  # somebody was there meanwhile
            _check_replaceable(path, overwrite)
        keep_results(path, workspace.new)
        with uninterrupted():
            workspace.commit()
            workspace.close()
            workspace, created = None, []
    except OSError as error:
        # A file that the model reads and does not find is no error of the export.
        if isinstance(error, ExportDirectoryError) or (in_body and not _is_of_writing(error, workspace)):
            raise
        raise _refusal(shown, path, error) from error
    finally:
        with uninterrupted():
            _clean_up(workspace, created)


def _clean_up(workspace: Workspace | None, created: list[Path]) -> None:
    try:
        if workspace is not None:
            workspace.close()
    except OSError as error:
        raise ExportDirectoryError(
            f"cannot put back {workspace and workspace.target}: {error.strerror or error}",
            location=str(workspace and workspace.folder),
            hint="no file is lost: they are in this directory, and the next export to the same path restores them",
        ) from error
    for parent in reversed(created):
        with contextlib.suppress(OSError):
            parent.rmdir()


def _make_parents(path: Path, created: list[Path]) -> None:
    """Creates the directories above `path` and lists them in `created`, the outermost first."""
    missing = []
    for parent in path.parents:
        if os.path.lexists(parent):
            break
        missing.append(parent)
    for parent in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another export made it
            parent.mkdir()
            created.append(parent)
    if not path.parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path.parent))


def _stays(path: Path) -> bool:
    """Whether the directory itself must not be replaced: a process inside it, or its mount, would not see the new one."""
    if not path.is_dir():
        return False
    try:
        stands_here = os.path.samefile(path, os.curdir)
    except OSError:  # a current directory that is gone
        stands_here = False
    return stands_here or is_mount_point(path) or not os.access(path.parent, os.W_OK | os.X_OK)


def _is_of_writing(error: OSError, workspace: Workspace | None) -> bool:
    within = workspace is not None and str(error.filename or "").startswith(str(workspace.folder))
    return within or error.errno in (*_NO_SPACE, errno.EROFS, errno.EIO)


def _refusal(shown: Path, path: Path, error: OSError) -> ExportDirectoryError:
    if isinstance(error, NotADirectoryError | FileExistsError):
        return ExportDirectoryError(
            f"cannot create {shown}",
            location=str(path),
            got="a file instead of a directory",
            hint="choose an export_path below a directory",
        )
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return ExportDirectoryError(
            f"no permission to write in {path.parent}",
            location=str(path),
            got=error.strerror or str(error),
            hint="choose an export_path in a directory that you may write to",
        )
    hint = "free some space; what was there is unchanged" if error.errno in _NO_SPACE else ""
    return ExportDirectoryError(f"cannot write {shown}: {error.strerror or error}", location=str(path), hint=hint)


def _check_replaceable(path: Path, overwrite: bool) -> None:
    if path.is_symlink():
        raise ExportDirectoryError(f"{path} is a broken symbolic link", location=str(path), hint="remove it, or choose another export_path")
    if not path.exists():
        return
    if not path.is_dir():
        raise ExportDirectoryError(f"{path} is a file", location=str(path), hint="choose another export_path")
    if all(is_kept_entry(path, name) for name in os.listdir(path)):
        return
    manifest = read_manifest(path)
    if manifest is None:
        if overwrite and not _is_too_much(path):
            return
        raise ExportDirectoryError(
            f"{path} exists and is not an export of alchemist",
            location=str(path),
            hint="choose another export_path"
            + (
                "; alchemist never replaces the current directory, its parents and the home directory"
                if overwrite
                else ", or pass overwrite=True to replace the directory"
            ),
        )
    edited = [] if overwrite else edited_files(path, manifest)
    if edited:
        more = f" and {len(edited) - 10} more" if len(edited) > 10 else ""
        raise ExportDirectoryError(
            f"{path} has edited files: {', '.join(edited[:10])}{more}",
            location=str(path),
            hint="choose another export_path to keep your edits, or pass overwrite=True to discard them",
        )


def _is_too_much(path: Path) -> bool:
    """Whether overwriting `path` is probably a mistake: the current or the home directory, or a parent of one."""
    protected = [Path.home()]
    with contextlib.suppress(OSError):
        protected.append(Path.cwd())
    return any(place == path or path in place.parents for place in protected)


def _fingerprint(path: Path) -> dict[str, tuple[int, ...]]:
    """Detects changes of a directory without reading files: kind, size, inode and times of each entry."""
    entries: dict[str, tuple[int, ...]] = {}
    for name, status in _entries(path):
        times = () if stat.S_ISDIR(status.st_mode) else (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        entries[name] = (status.st_mode, status.st_ino, *times)
    return entries


def _entries(path: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Relative POSIX name and status of everything below `path`; links are not followed, workspaces and .venv are left out."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            names = sorted(os.listdir(path / folder))
        except FileNotFoundError:
            continue
        for name in names:
            if (not folder and is_kept_entry(path, name)) or name == VENV:
                continue
            full = f"{folder}/{name}" if folder else name
            try:
                status = os.lstat(path / full)
            except FileNotFoundError:
                continue
            yield full, status
            if stat.S_ISDIR(status.st_mode):
                waiting.append(full)


def read_manifest(path: Path) -> dict[str, Any] | None:
    """The manifest of an export directory, or None if there is no (readable) one."""
    try:
        if not (path / MANIFEST).is_file():  # a pipe would block
            return None
        manifest = json.loads((path / MANIFEST).read_text())
    except (OSError, ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) and isinstance(manifest.get("files"), dict) else None


def edited_files(path: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Files of the export that changed or vanished since it was made, and what somebody added (of any kind; "name/": a folder).

    What a build, Python and `./run` itself leave behind is no edit.
    """
    recorded: Mapping[str, Any] = manifest["files"]
    folders = manifest.get("programs")
    programs = ["", *(f"{name}/" for name in (folders if isinstance(folders, list) else ()) if isinstance(name, str))]
    results = result_files(path)
    edited = {name for name, entry in recorded.items() if not _is_unchanged(path / name, entry)}
    on_disk = dict(_entries(path))
    filled = {name.rpartition("/")[0] for name in on_disk}
    manifests = {f"{program}{MANIFEST}" for program in programs}
    for name, status in on_disk.items():
        generated = _is_built(name, programs) or "__pycache__" in name.split("/")
        if name in recorded or name in results:
            continue
        if stat.S_ISDIR(status.st_mode):
            if name not in filled and not generated and name.rpartition("/")[2] != "tensors":
                edited.add(f"{name}/")
        elif not stat.S_ISREG(status.st_mode) or not (generated or name in manifests):
            edited.add(name)
    return sorted(edited)


def _is_unchanged(file: Path, entry: Any) -> bool:
    try:
        status = file.lstat()
        return bool(stat.S_ISREG(status.st_mode) and status.st_size == entry["size_bytes"] and file_sha256(file) == entry["sha256"])
    except (OSError, KeyError, TypeError):
        return False


_BUILT = {
    "CMakeCache.txt", "CMakeFiles", "Makefile", "build.ninja", ".ninja_deps", ".ninja_log", "cmake_install.cmake", "compile_commands.json",
    "main", "place.cpp", "libmodel.a", "libmodel_place.a", "libmodule.so", "configure.log", "build.log", ".configured",
}  # fmt: skip
"""Files that CMake and `./run` create in a build directory: build/simulator, build/device, or build/ itself."""


def _is_built(name: str, programs: list[str]) -> bool:
    for program in programs:
        folder, _, inner = name.removeprefix(program).partition("/")
        if name.startswith(program) and folder == "build":
            first, _, deeper = inner.partition("/")
            if first in ("simulator", "device"):
                first = deeper.partition("/")[0]
            return not first or first in _BUILT
    return False
