"""The hidden folder in which an export is built, and the step that moves it into place.

`.alchemist-work-XXXXXXXX/` lies beside the target (or inside it, when the target itself has to stay: a mount point, the current
directory). It holds

    workspace.json   whose target it is; locked (flock) as long as its process lives
    new/             the export in the making; after an exchange the one that was replaced
    old/, phase      during several renames: entries to restore if the renames are interrupted

The next export in the same place finds the folders of killed processes by their free locks, puts back what they moved away, and
removes them. Where a file system has no locks, a folder that a killed process left stays.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from alchemist.export.filesystem import exchange, is_mount_point

_PREFIX = ".alchemist-work-"
_NAME = re.compile(re.escape(_PREFIX) + "[a-z0-9_]{8}")
_STATE = "workspace.json"
_BESIDE, _OUT, _IN = "beside", "out", "in"
"""Phases: the target is renamed and `new` takes its name; the target's entries move out; those of `new` move in."""


def is_workspace(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def is_kept_entry(directory: Path, name: str) -> bool:
    """Entries of a target that belong to no user: workspaces, and those that mkfs creates at the root of a file system."""
    return is_workspace(name) or (name == "lost+found" and is_mount_point(directory))


class Workspace:
    """A workspace of this process. `commit()` moves `new` to the target, `close()` removes all temporary files."""

    def __init__(self, target: Path, *, in_place: bool) -> None:
        """Raises: OSError, when nothing can be created in the target's folder."""
        self.target = target
        self.in_place = in_place
        self.place = target if in_place else target.parent
        with _locked(self.place, fcntl.LOCK_SH):  # nobody takes it for a dead one before it is locked
            self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self.place))
            self.new = self.folder / "new"
            self._lock = -1
            try:
                self._lock = os.open(self.folder / _STATE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(self._lock, fcntl.LOCK_EX)
                os.write(self._lock, json.dumps({"target": "." if in_place else target.name, "pid": os.getpid()}).encode())
                self.new.mkdir()
            except BaseException:
                self.close()
                raise

    def commit(self) -> None:
        """Puts `new` in the place of the target. Readers see the old or the new export whole, except in place.

        Raises:
            OSError: it cannot be moved; the target is as before.
        """
        with _locked(self.place, fcntl.LOCK_EX):
            if self.in_place:
                self._replace_entries()
                return
            for _ in range(100):  # until no other process creates or removes the target in between
                if not os.path.lexists(self.target):
                    try:
                        os.rename(self.new, self.target)
                    except OSError as error:
                        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                            raise
                    else:
                        return
                else:
                    with contextlib.suppress(FileNotFoundError):
                        self.new.chmod(stat.S_IMODE(self.target.stat().st_mode))
                        if not exchange(self.new, self.target):
                            self._rename_twice()
                        return
            raise FileExistsError(f"{self.target} is created and removed again and again by another process")

    def _rename_twice(self) -> None:
        self._set_phase(_BESIDE)
        os.rename(self.target, self.folder / "old")
        os.rename(self.new, self.target)
        self._set_phase("")

    def _replace_entries(self) -> None:
        old = self.folder / "old"
        old.mkdir()
        self._set_phase(_OUT)
        _move_entries(self.target, old)
        self._set_phase(_IN)
        _move_entries(self.new, self.target)
        self._set_phase("")

    def _set_phase(self, name: str) -> None:
        _set_phase(self.folder, name)

    def close(self) -> None:
        """Restores entries that an unfinished commit moved away, and removes the folder.

        Raises:
            OSError: something cannot be put back; it stays in the folder, and the next export tries again.
        """
        try:
            _put_back(self.folder, self.target)
            _remove(self.folder)
        finally:
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1


def recover(place: Path) -> None:
    """Restores entries that killed exports moved away in `place`, and removes their workspaces. Workspaces of running processes stay."""
    if not place.is_dir():
        return
    with _locked(place, fcntl.LOCK_EX | fcntl.LOCK_NB) as is_locked:
        if not is_locked:
            return  # another process that starts or ends an export holds the lock; it recovers, too
        for entry in sorted(os.listdir(place)):
            if is_workspace(entry):
                with contextlib.suppress(OSError):  # of no concern to the export that starts now
                    _recover(place / entry)


def _recover(folder: Path) -> None:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return
    try:
        lock = os.open(folder / _STATE, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:  # killed right after its creation, or right before its end
        if not set(os.listdir(folder)) - {"new"}:
            _remove(folder)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: its process lives
        try:
            name = json.loads(os.read(lock, 65536) or b"{}").get("target", "")
        except (ValueError, AttributeError):
            name = ""
        if isinstance(name, str) and name not in ("", "..") and "/" not in name and "\0" not in name:
            _put_back(folder, folder.parent / name)
        elif _phase(folder):
            return
        _remove(folder)
    finally:
        os.close(lock)


def _phase(folder: Path) -> str:
    try:
        return (folder / "phase").read_text()
    except FileNotFoundError:
        return ""


def _set_phase(folder: Path, name: str) -> None:
    if name:
        (folder / "phase.new").write_text(name)
        os.replace(folder / "phase.new", folder / "phase")
    else:
        (folder / "phase").unlink()


def _put_back(folder: Path, target: Path) -> None:
    """Undoes an unfinished commit; each step may be repeated after a kill."""
    phase, old = _phase(folder), folder / "old"
    if phase == _BESIDE and old.exists() and not os.path.lexists(target):
        os.rename(old, target)
    if phase == _IN:
        _move_entries(target, folder / "new")
        _set_phase(folder, _OUT)
    if phase in (_OUT, _IN):
        _move_entries(old, target)
    if phase:
        _set_phase(folder, "")


def _move_entries(source: Path, target: Path) -> None:
    for name in sorted(os.listdir(source)):
        if not is_kept_entry(source, name):
            os.rename(source / name, target / name)


def _remove(folder: Path) -> None:
    """Removes a workspace, last of all the file that makes it one. What cannot be removed stays without an error."""

    def unlock_and_retry(function: Callable[..., Any], path: str, _: Any) -> None:
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(path), stat.S_IRWXU)
            if os.path.isdir(path) and not os.path.islink(path):
                os.chmod(path, stat.S_IRWXU)
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)

    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            path = folder / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, onerror=unlock_and_retry)
            elif name != _STATE:
                path.unlink()
        (folder / _STATE).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            folder.rmdir()


@contextlib.contextmanager
def _locked(place: Path, mode: int) -> Iterator[bool]:
    """Holds the lock of a directory among exports. Yields whether it is held: a file system may have none, LOCK_NB may fail."""
    try:
        directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(directory, mode)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(directory)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C takes effect at the end of the block. (Python delivers signals to the main thread alone.)"""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if received:
            signal.raise_signal(signal.SIGINT)
