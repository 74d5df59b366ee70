"""Module scopes during tracing: every module call becomes a named scope that says its class and path."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

import jax

from alchemist.frontends.stablehlo import scope_mark


def class_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


@contextmanager
def module_scopes(seen: dict[str, type]) -> Iterator[None]:
    """Marks calls of flax modules while active. seen: filled with class name -> class of every module called."""
    with ExitStack() as stack:
        if "flax.nnx" in sys.modules:
            stack.enter_context(_nnx_scopes(seen))
        if "flax.linen" in sys.modules:
            stack.enter_context(_linen_scopes(seen))
        yield


@contextmanager
def _linen_scopes(seen: dict[str, type]) -> Iterator[None]:
    from flax import linen

    def intercept(call: Callable[..., Any], args: Any, kwargs: Any, context: Any) -> Any:
        if context.method_name != "__call__":
            return call(*args, **kwargs)
        cls = type(context.module)
        seen[class_name(cls)] = cls
        with jax.named_scope(scope_mark(class_name(cls), ".".join(context.module.path))):
            return call(*args, **kwargs)

    with linen.intercept_methods(intercept):
        yield


@contextmanager
def _nnx_scopes(seen: dict[str, type]) -> Iterator[None]:
    """flax.nnx has no interceptor: `__call__` of every module class is wrapped for the time of the trace."""
    from flax import nnx

    paths: dict[int, str] = {}
    depth = 0

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def alchemist_scoped_call(self: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            if depth == 0:
                paths.clear()
                paths.update((id(module), ".".join(map(str, path))) for path, module in nnx.iter_modules(self))
            depth += 1
            try:
                path = paths.get(id(self))
                if path is None:
                    return original(self, *args, **kwargs)
                seen[class_name(type(self))] = type(self)
                with jax.named_scope(scope_mark(class_name(type(self)), path)):
                    return original(self, *args, **kwargs)
            finally:
                depth -= 1

        return alchemist_scoped_call

    changed: list[tuple[type, Any]] = []
    try:
        for cls in _subclasses(nnx.Module):
            original = cls.__dict__.get("__call__")
            if callable(original):
                setattr(cls, "__call__", wrap(original))  # noqa: B010 (mypy refuses assignment to a method)
                changed.append((cls, original))
        yield
    finally:
        for cls, original in changed:
            setattr(cls, "__call__", original)  # noqa: B010


def _subclasses(cls: type) -> set[type]:
    found: set[type] = set()
    pending = [cls]
    while pending:
        children: list[type] = pending.pop().__subclasses__()
        for child in children:
            if child not in found:
                found.add(child)
                pending.append(child)
    return found
