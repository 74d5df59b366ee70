"""Functions of the caller that are called around each op: `ttnn.register_pre_operation_hook` and `ttnn.register_post_operation_hook`.

As in the real package they are called when `ttnn.CONFIG.enable_fast_runtime_mode` is off.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

Hook = Callable[..., Any]
before: list[Hook] = []
after: list[Hook] = []
comparing = False
"""Whether `ttnn.CONFIG.enable_comparison_mode` is set."""


@contextlib.contextmanager
def _registered(hooks: list[Hook], hook: Hook) -> Iterator[None]:
    hooks.append(hook)
    try:
        yield
    finally:
        hooks.remove(hook)


def register_pre_operation_hook(hook: Hook) -> contextlib.AbstractContextManager[None]:
    """Within the block `hook(operation, args, kwargs)` is called before each op."""
    return _registered(before, hook)


def register_post_operation_hook(hook: Hook) -> contextlib.AbstractContextManager[None]:
    """Within the block `hook(operation, args, kwargs, output)` is called after each op."""
    return _registered(after, hook)


def called(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any], call: Hook) -> Any:
    """call(args, kwargs) between the hooks, compared with the op's golden function where that is asked for."""
    from ttnn._comparison import compared
    from ttnn._host import CONFIG

    if CONFIG.enable_fast_runtime_mode:
        return call(args, kwargs)
    for hook in list(before):
        hook(operation, args, kwargs)
    result = compared(operation, args, kwargs, call) if comparing else call(args, kwargs)
    for hook in list(after):
        hook(operation, args, kwargs, result)
    return result
