"""Scopes during tracing: every call of a module or of a function of the model becomes a named scope with its name and path."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from types import CodeType, FrameType
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


_UNNAMED = frozenset({"__call__", "__init__", "setup", "__getattr__", "__getitem__", "__iter__", "__post_init__"})
_GENERATORS = 0x20 | 0x80 | 0x200
"""Code flags of generators and coroutines, which come and go."""


def plain_name(code: CodeType, module: str) -> str:
    """A function's scope name: `package.module.outer.<locals>.inner`."""
    return f"{module}.{code.co_qualname}"


@contextmanager
def function_scopes(seen: dict[str, CodeType], names: Mapping[int, str], entry: CodeType | None, is_library: Callable[[str], bool]) -> Iterator[None]:
    """Marks calls of the model's own functions while active.

    seen: filled with scope name -> code of every function marked. names: id of a traced array -> its exported name; what a
    function's containers hold in common ("blocks.0.attn") is the path of its weights. entry: the traced function itself, which
    has its mark already. is_library: whether a file belongs to a framework.
    """
    own: dict[int, bool] = {}  # by the address of its code: to hash a code object takes longer than most calls
    kept: list[CodeType] = []  # so that no address is used twice
    open_scopes: list[tuple[FrameType, Any]] = []
    numbers = itertools.count(1)
    before = sys.getprofile()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            wanted = own.get(id(code))
            if wanted is None:
                kept.append(code)
                named = not code.co_name.startswith("<") and code.co_name not in _UNNAMED and not code.co_flags & _GENERATORS
                wanted = own[id(code)] = named and code is not entry and not is_library(code.co_filename)
            if not wanted:
                return
            name = plain_name(code, str(frame.f_globals.get("__name__", "")))
            seen.setdefault(name, code)
            scope = jax.named_scope(scope_mark(name, f"{_weights_of(frame, names)}@{next(numbers)}"))
            scope.__enter__()
            open_scopes.append((frame, scope))
        elif event == "return" and open_scopes and open_scopes[-1][0] is frame:
            open_scopes.pop()[1].__exit__(None, None, None)

    sys.setprofile(watch)
    try:
        yield
    finally:
        if before is not None and not callable(before) and hasattr(before, "enable"):
            before.enable()  # cProfile: its object is no function that sys.setprofile takes
        else:
            sys.setprofile(before)


def _weights_of(frame: FrameType, names: Mapping[int, str]) -> str:
    """The longest common path of the arrays in the containers that the function is given, "" where there is none."""
    code = frame.f_code
    found: list[list[str]] = []
    for argument in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        value = frame.f_locals.get(argument)
        if not isinstance(value, dict | list | tuple) or not value:
            continue
        for leaf in jax.tree_util.tree_leaves(value):
            name = names.get(id(_innermost(leaf)))
            if name is None:
                return ""
            found.append(name.split("."))
    if not found:
        return ""
    common = []
    for column in zip(*found, strict=False):
        if len(set(column)) > 1:
            break
        common.append(column[0])
    return ".".join(common if any(len(path) > len(common) for path in found) else common[:-1])


def _innermost(leaf: Any) -> Any:
    """The traced array behind those of derivatives and vmap."""
    for _ in range(8):
        inner = getattr(leaf, "primal", None)
        inner = getattr(leaf, "val", None) if inner is None and type(leaf).__name__ == "BatchTracer" else inner
        if inner is None:
            break
        leaf = inner
    return leaf


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
