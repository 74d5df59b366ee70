"""Reading a user's files: bounded in size, whatever bytes they hold."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from alchemist.errors import FileError, file_error

MOST_BYTES = 512 * 1024 * 1024


def read_bytes(source: str | Path | BinaryIO) -> bytes:
    """What a file, pipe or open stream holds.

    Raises:
        FileError: not there, a directory, not readable, or more than 512 MiB.
    """
    where = str(source) if isinstance(source, str | Path) else "<stdin>"
    try:
        if isinstance(source, str | Path):
            if stat.S_ISDIR(os.stat(source).st_mode):
                raise FileError("expected a file, but this is a directory", location=where, hint="pass a file in it")
            with open(source, "rb") as file:
                raw = file.read(MOST_BYTES + 1)
        else:
            raw = source.read(MOST_BYTES + 1)
    except OSError as error:
        found = file_error(error, where, "" if isinstance(error, FileNotFoundError) else "read")
        raise FileError(found.message.removesuffix(" or directory"), code=found.code, location=where, hint=found.hint) from None
    except FileError:
        raise
    except ValueError as error:  # a name with a null character
        raise FileError("invalid file name", location=where, got=str(error)) from None
    if len(raw) > MOST_BYTES:
        raise FileError("the file is too large", location=where, expected=f"at most {MOST_BYTES} bytes", hint="split the file")
    return raw
