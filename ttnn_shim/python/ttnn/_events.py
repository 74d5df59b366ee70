"""What happens in a program, for those that watch it: calls of ops, and values that are made, written, read and waited for on a device.

A watcher takes one place of a channel and leaves it when it has seen enough; a channel without watchers costs a call one test. Who watches: profiles
(`_recorder`), hooks and comparison mode (`ttnn_extras`), graph captures (`_graph_watch`), traces (`_trace`), durations (`_perf_data`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

Watcher = TypeVar("Watcher", bound=Callable[..., Any])
PROFILE, TRACER, HOOKS, COMPARISON, GRAPH, TRACE, DURATIONS = range(7)
"""Places of the watchers, from the program inwards: a profile sees a call before its hooks do."""


class Channel(Generic[Watcher]):
    """The watchers of one kind of event."""

    def __init__(self) -> None:
        self._by_place: dict[int, Watcher] = {}
        self.watchers: tuple[Watcher, ...] = ()

    def watch(self, place: int, watcher: Watcher | None) -> None:
        """Puts a watcher into its place; None leaves the place."""
        self._by_place.pop(place, None)
        if watcher is not None:
            self._by_place[place] = watcher
        self.watchers = tuple(self._by_place[place] for place in sorted(self._by_place))


on_call: Channel[Callable[[Any, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]] = Channel()
"""(operation, go_on, args, kwargs) -> the call's result: go_on(args, kwargs) goes on with the watchers further in, at last with the op itself."""
on_allocate: Channel[Callable[[Any], None]] = Channel()
"""(`shim_tensor *`): a tensor has been made on a device outside of the ops."""
on_read: Channel[Callable[[Any, Any], Any]] = Channel()
"""(tensor, numpy dtype): the host reads a tensor; the answer is what it reads, None: the tensor's own values."""
on_write: Channel[Callable[[str], None]] = Channel()
"""(op): the host is about to write to a device."""
on_wait: Channel[Callable[[str], None]] = Channel()
"""(op): the host waits for a device."""
on_close: Channel[Callable[[Any], None]] = Channel()
"""(device): a device closes."""


def called(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: Callable[..., Any]) -> Any:
    """The result of run(args, kwargs), through all watchers of calls."""
    for watcher in reversed(on_call.watchers):
        run = partial(watcher, operation, run)
    return run(args, kwargs)


def writes(op: str) -> None:
    for watcher in on_write.watchers:
        watcher(op)


def waits(op: str) -> None:
    for watcher in on_wait.watchers:
        watcher(op)
