"""Prints on a terminal the current line of a long run: after two seconds, then at growing intervals."""

from __future__ import annotations

import contextlib
import linecache
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TextIO

FIRST_S = 2.0


def line_of(frame: FrameType | None, root: Path) -> str:
    """`main.py:42 in block: up = ttnn.linear(` of the innermost frame under root, or ""."""
    while frame is not None:
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(root):
            text = linecache.getline(str(file), frame.f_lineno).strip()[:60]
            return f"{file.relative_to(root).as_posix()}:{frame.f_lineno} in {frame.f_code.co_name}: {text}"
        frame = frame.f_back
    return ""


@contextlib.contextmanager
def shown(root: Path, stream: TextIO, first_s: float = FIRST_S) -> Iterator[None]:
    """While the block runs: a line on `stream`, if that is a terminal, at first_s seconds and whenever that time has doubled. root: the program's directory."""
    if not stream.isatty():
        yield
        return
    program = threading.get_ident()
    ended = threading.Event()

    def watch() -> None:
        start_s, wait_s = time.monotonic(), first_s
        while not ended.wait(wait_s):
            place = line_of(sys._current_frames().get(program), root)
            spent_s = time.monotonic() - start_s
            wait_s = spent_s
            if place:
                print(f"run: {spent_s:.0f} s, at {place}", file=stream, flush=True)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
