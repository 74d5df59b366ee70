"""A helper process that answers a line of JSON with a line of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any


class LineProcess:
    """A Python process for requests one after another, with the packages of this one. It ends with its stdin.

    A fork of this process does not share it: `is_usable` is False there, and `close` leaves it alone.
    """

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], folder: str | None = None) -> None:
        """arguments: of the interpreter. folder: where it starts; this process's by default."""
        self._owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-P", *arguments],  # -P: not what anybody has put into the folder that it starts in
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**environment, "PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path)},
            cwd=folder,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_own(self) -> bool:
        return self._owner == os.getpid()

    @property
    def is_usable(self) -> bool:
        return self.is_own and self._process.poll() is None

    def ask(self, request: Any) -> dict[str, Any]:
        """The answer; {} where the process has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self.read_line() or "{}")
        except (OSError, ValueError):
            return {}
        return answer

    def read_line(self) -> str:
        """What it says by itself; "" where it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def close(self) -> int:
        """Kills the process. Returns its exit code, 0 in a fork of its owner."""
        if not self.is_own:
            return 0
        self._process.kill()
        code = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        return code
