"""Functions of the caller that are called around each op: `ttnn.register_pre_operation_hook` and `ttnn.register_post_operation_hook`.

As in the real package they are called when `ttnn.CONFIG.enable_fast_runtime_mode` is off.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ttnn._events import HOOKS, on_call
from ttnn._state import CONFIG

Hook = Callable[..., Any]
_before: list[Hook] = []
_after: list[Hook] = []


@contextlib.contextmanager
def _registered(hooks: list[Hook], hook: Hook) -> Iterator[None]:
    hooks.append(hook)
    on_call.watch(HOOKS, _called)
    try:
        yield
    finally:
        hooks.remove(hook)
        on_call.watch(HOOKS, _called if _before or _after else None)


def register_pre_operation_hook(hook: Hook) -> contextlib.AbstractContextManager[None]:
    """Within the block `hook(operation, args, kwargs)` is called before each op."""
    return _registered(_before, hook)


def register_post_operation_hook(hook: Hook) -> contextlib.AbstractContextManager[None]:
    """Within the block `hook(operation, args, kwargs, output)` is called after each op."""
    return _registered(_after, hook)


def _called(operation: Any, go_on: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call between the hooks."""
    if CONFIG.enable_fast_runtime_mode:
        return go_on(args, kwargs)
    for hook in list(_before):
        hook(operation, args, kwargs)
    result = go_on(args, kwargs)
    for hook in list(_after):
        hook(operation, args, kwargs, result)
    return result
