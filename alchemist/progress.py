"""Reports on stderr what a long step is doing, and measures every stage."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator

PATIENCE_S = 2.0
"""Seconds of silence after which a log or a notebook gets a progress line too."""

_running: list[Progress] = []
"""Those with a stage that has begun, outermost first."""


class Progress:
    """Stage timer. Stages are announced at once on an interactive stderr or with `verbose`, elsewhere after `PATIENCE_S` and once in so long;
    never with `verbose=False` or ALCHEMIST_PROGRESS=0. Within a stage of another `Progress`, the seconds count from the other's start."""

    def __init__(self, *, verbose: bool | None = None) -> None:
        self.stage_seconds: dict[str, float] = {}
        self._verbose = sys.stderr.isatty() if verbose is None else verbose
        self._silent = verbose is False or (verbose is None and os.environ.get("ALCHEMIST_PROGRESS") == "0")
        self._last_s = time.perf_counter()
        self._start_s: float = _running[0]._start_s if _running else self._last_s

    @contextlib.contextmanager
    def stage(self, name: str, detail: str = "") -> Iterator[None]:
        """Times the block as stage `name`; a stage entered twice adds up."""
        begin_s = time.perf_counter()
        late = self._announce(f"{name}{': ' + detail if detail else ''} ...")
        _running.append(self)
        try:
            yield
        finally:
            _running.remove(self)
            late.cancel()
            self.stage_seconds[name] = self.stage_seconds.get(name, 0.0) + time.perf_counter() - begin_s

    def _announce(self, text: str) -> threading.Timer:
        """Now, or when the stage still runs after `PATIENCE_S`."""
        left_s = PATIENCE_S - (time.perf_counter() - self._last_s)
        late = threading.Timer(max(left_s, 0.0), self.say, [text])
        late.daemon = True
        if self._verbose or left_s <= 0:
            self.say(text)
        elif not self._silent:
            late.start()
        return late

    def say(self, text: str, *, always: bool = False) -> None:
        """always: in a log too however little time has gone since the last line, if the work took `PATIENCE_S`."""
        now_s = time.perf_counter()
        if self._silent or not (self._verbose or now_s - self._last_s >= PATIENCE_S or (always and now_s - self._start_s >= PATIENCE_S)):
            return
        self._last_s = now_s
        print(f"[alchemist {time.perf_counter() - self._start_s:6.1f} s] {text}", file=sys.stderr, flush=True)
