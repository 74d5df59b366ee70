"""What Python does not offer of Linux: atomic exchange of two paths, files that share blocks, mount points, the memory that is free."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import re
from collections.abc import Callable
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_FICLONE = 0x40049409
_NOT_OFFERED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    """The C library's function; None where it has none (older than glibc 2.28, other systems)."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    function.restype = ctypes.c_int
    call: Callable[..., int] = function
    return call


def exchange(first: Path, second: Path) -> bool:
    """Swaps two existing paths of one file system in one step. False where kernel or file system cannot: nothing happened.

    Raises:
        OSError: one of them is missing, is a mount point, or may not be moved.
    """
    function = _renameat2()
    if function is None:
        return False
    if function(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_OFFERED:
        return False
    raise OSError(number, os.strerror(number), str(first), None, str(second))


def clone(source: Path, target: Path) -> bool:
    """Makes `target` a new file with the blocks of `source`; a write to one does not change the other (Btrfs, XFS, bcachefs).

    False where the file system cannot share blocks: `target` does not exist then.
    """
    try:
        with open(source, "rb") as read, open(target, "xb") as write:
            fcntl.ioctl(write.fileno(), _FICLONE, read.fileno())
    except FileExistsError:
        return False
    except OSError:
        with contextlib.suppress(OSError):
            target.unlink()
        return False
    return True


def is_mount_point(path: Path) -> bool:
    """Whether something is mounted at `path`, bind mounts of the same file system included."""
    if os.path.ismount(path):
        return True
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return False
    target = os.fsencode(os.path.realpath(path))
    return any(_unescaped(fields[4]) == target for fields in map(bytes.split, lines) if len(fields) > 4)


def _unescaped(name: bytes) -> bytes:
    """The kernel writes blanks and backslashes of paths as three octal digits."""
    return re.sub(rb"\\([0-7]{3})", lambda digits: bytes([int(digits[1], 8) & 0xFF]), name)


def lacking_memory(needed_bytes: int) -> str:
    """What a step that needs so much memory lacks, as a phrase; "" where the host has it, or does not say how much it has."""
    with contextlib.suppress(OSError, StopIteration, ValueError), open("/proc/meminfo") as file:
        available_bytes = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
        if needed_bytes > available_bytes:
            return f"too little memory at export: about {needed_bytes // 10**6} MB are needed, {available_bytes // 10**6} MB are free"
    return ""
