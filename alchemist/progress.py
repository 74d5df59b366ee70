"""Says on stderr what a long step is doing, and measures every stage."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator


class Progress:
    """Stage timer. Stages are announced on an interactive stderr at once, elsewhere only with `verbose`."""

    def __init__(self, *, verbose: bool | None = None) -> None:
        self.stage_seconds: dict[str, float] = {}
        self._verbose = sys.stderr.isatty() if verbose is None else verbose
        self._start_s = time.perf_counter()

    @contextlib.contextmanager
    def stage(self, name: str, detail: str = "") -> Iterator[None]:
        """Times the block as stage `name`; a stage entered twice adds up."""
        self.say(f"{name}{': ' + detail if detail else ''} ...")
        begin_s = time.perf_counter()
        try:
            yield
        finally:
            self.stage_seconds[name] = self.stage_seconds.get(name, 0.0) + time.perf_counter() - begin_s

    def say(self, text: str) -> None:
        if self._verbose:
            print(f"[alchemist {time.perf_counter() - self._start_s:6.1f} s] {text}", file=sys.stderr, flush=True)
