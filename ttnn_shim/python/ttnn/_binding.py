"""Calls against the signatures of the table: overload choice, `inspect.Signature`, TypeErrors as the real package words them."""

from __future__ import annotations

import difflib
import enum
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ttnn_shim.errors import CallMismatch

from ttnn._convert import MISMATCH, Checker, checker, default_value, restrict
from ttnn._facts import REQUIRED, Overload, Param, facts, overload_set

_KINDS = {
    "": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "P": inspect.Parameter.POSITIONAL_ONLY,
    "K": inspect.Parameter.KEYWORD_ONLY,
    "*": inspect.Parameter.VAR_POSITIONAL,
    "**": inspect.Parameter.VAR_KEYWORD,
}


class BoundOverload:
    """One overload, ready to check calls."""

    __slots__ = ("checkers", "overload", "positional", "required", "single")

    def __init__(self, overload: Overload, int_kinds: dict[str, str]) -> None:
        self.overload = overload
        self.single = overload.returns == "Tensor"
        self.positional: list[tuple[str, Checker]] = []
        self.checkers: dict[str, Checker] = {}
        self.required: list[str] = []
        for param in overload.params:
            if not param.kind.startswith("*"):
                check = checker(f"{param.type} | None" if param.default is None else param.type)
                if param.name in int_kinds:
                    check = restrict(check, int_kinds[param.name])
                if param.kind in ("", "P"):
                    self.positional.append((param.name, check))
                if param.kind in ("", "K"):
                    self.checkers[param.name] = check
                if param.required:
                    self.required.append(param.name)

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any], loose: bool) -> dict[str, Any] | None:
        """Given arguments by parameter name, converted; None when this overload does not fit."""
        if len(args) > len(self.positional):
            return None
        bound: dict[str, Any] = {}
        for value, (name, check) in zip(args, self.positional, strict=False):
            converted = check(value, loose)
            if converted is MISMATCH:
                return None
            bound[name] = converted
        for name, value in kwargs.items():
            check_keyword = self.checkers.get(name)
            if check_keyword is None or name in bound:
                return None
            converted = check_keyword(value, loose)
            if converted is MISMATCH:
                return None
            bound[name] = converted
        for name in self.required:
            if name not in bound:
                return None
        return bound

    def signature(self) -> inspect.Signature:
        return inspect.Signature([_parameter(param) for param in self.overload.params], return_annotation=self.overload.returns)


def _parameter(param: Param) -> inspect.Parameter:
    default = inspect.Parameter.empty if param.default is REQUIRED else default_value(param.default, param.type)
    return inspect.Parameter(param.name, _KINDS[param.kind], default=default, annotation=param.type)


class Overloads:
    """All overloads of a callable. style "op": messages of an op; "method": messages of a method or a function of the native module."""

    def __init__(
        self, name: str, overloads: tuple[Overload, ...], style: str = "method", owner: str = "", int_kinds: dict[str, dict[str, str]] | None = None
    ) -> None:
        self.int_kinds = int_kinds or {}
        self.name = name
        self.overloads = overloads
        self.style = style
        self.owner = owner
        self._bound: list[BoundOverload] | None = None

    @property
    def bound(self) -> list[BoundOverload]:
        if self._bound is None:
            self._bound = [BoundOverload(overload, self.int_kinds.get(str(i), {})) for i, overload in enumerate(self.overloads)]
        return self._bound

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[BoundOverload, dict[str, Any]]:
        """The first overload that fits, strictly, then with conversions. Raises TypeError when none does."""
        for loose in (False, True):
            for overload in self.bound:
                bound = overload.bind(args, kwargs, loose)
                if bound is not None:
                    return overload, bound
        reason, expected, hint = self._why(args, kwargs)
        raise CallMismatch(self.mismatch(args, kwargs), op=self.name, reason=reason, expected=expected, hint=hint)

    def _why(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[str, str, str]:
        """What is wrong with a call that fits no overload, what is expected, a hint: of the first misspelt, missing or wrong argument."""
        names = {param.name for overload in self.overloads for param in overload.params}
        for key in kwargs:
            if key not in names and not any(param.kind == "**" for overload in self.overloads for param in overload.params):
                near = difflib.get_close_matches(key, names, 3, 0.6)
                return f"no parameter {key!r}", ", ".join(sorted(names)), f"did you mean {' or '.join(near)}?" if near else ""
        if len(self.overloads) == 1:
            for place, param in enumerate(self.overloads[0].params):
                is_positional = place < len(args) and param.kind != "K"
                if param.required and not is_positional and param.name not in kwargs:
                    return f"argument {param.name!r} is missing", f"{param.name}: {param.type}", ""
        called = [type_name(value) for value in args] + [f"{key}={_brief(value)}" for key, value in kwargs.items()]
        return f"does not take ({', '.join(called)})", " or ".join(text(overload) for overload in self.overloads[:2]), ""

    def mismatch(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        short = self.name.rsplit(".", 1)[-1]
        if self.style == "op":
            called = [type_name(value) for value in args] + [f"{key}={_brief(value)}" for key, value in kwargs.items()]
            lines = [f"{self.name}(): incompatible function arguments.", "", "Called with:", f"  {short}({', '.join(called)})", ""]
            return "\n".join([*lines, "Available signatures:", *(f"  {short}{text(overload)}" for overload in self.overloads)])
        lines = [f"{short}(): incompatible function arguments. The following argument types are supported:"]
        lines += [f"    {i}. {short}{text(overload, bool(self.owner))} -> {overload.returns}" for i, overload in enumerate(self.overloads, 1)]
        types = ([self.owner] if self.owner else []) + [type_name(value) for value in args]
        types += [f"{key}={type_name(value)}" for key, value in kwargs.items()]
        return "\n".join([*lines, "", "Invoked with types: " + ", ".join(types)])

    def signature(self) -> inspect.Signature | None:
        """The signature when there is one overload, else (*args, **kwargs)."""
        if len(self.overloads) == 1:
            try:
                return self.bound[0].signature()
            except ValueError:  # required after defaulted, as in C++
                return None
        return None

    def doc(self) -> str:
        short = self.name.rsplit(".", 1)[-1]
        return "\n".join([*(f"{short}{text(overload)} -> {overload.returns}" for overload in self.overloads), "",
                          f"As in ttnn {facts()['version']}, on the simulator."])  # fmt: skip


def type_name(value: Any) -> str:
    kind = type(value)
    module = getattr(kind, "__module__", "")
    return f"ttnn.{kind.__qualname__}" if module.split(".")[0] == "ttnn" else kind.__name__


def _brief(value: Any) -> str:
    if isinstance(value, bool | int | float | str) or value is None:
        return repr(value)
    if isinstance(value, list | tuple | enum.Enum) or type(value).__name__ in ("CoreCoord", "CoreGrid", "CoreRangeSet", "Shape"):
        return repr(value) if len(repr(value)) < 80 else type_name(value)
    return type_name(value)


def text(overload: Overload, method: bool = False) -> str:
    """`(input_tensor: Tensor, *, dim: int = -1)`"""
    parts = ["self"] if method else []
    keyword_only = False
    for i, param in enumerate(overload.params):
        if param.kind == "K" and not keyword_only:
            parts.append("*")
            keyword_only = True
        prefix = param.kind if param.kind in ("*", "**") else ""
        suffix = "" if param.default is REQUIRED else f" = {param.default!r}" if not _is_code(param) else f" = {param.default}"
        parts.append(prefix + param.name + ("" if prefix else f": {param.type}") + suffix)
        if param.kind == "P" and (i + 1 == len(overload.params) or overload.params[i + 1].kind != "P"):
            parts.append("/")
    return f"({', '.join(parts)})"


def _is_code(param: Param) -> bool:
    return isinstance(param.default, str) and param.type not in ("str", "str | None")


def bind_method(name: str, set_index: int, implementation: Callable[..., Any], owner: str = "") -> Callable[..., Any]:
    """A function that checks its arguments against the table, then calls `implementation(self, **given)`."""
    overloads = Overloads(name, overload_set(set_index), "method", owner or "self")
    if all(not overload.params or any(param.kind in ("*", "**") for param in overload.params) for overload in overloads.overloads):
        bound: Callable[..., Any] = implementation
    else:

        def bound(self: Any, *args: Any, **kwargs: Any) -> Any:
            return implementation(self, **overloads.bind(args, kwargs)[1])

        functools.update_wrapper(bound, implementation, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
        bound.__wrapped__ = None  # type: ignore[attr-defined]
        del bound.__wrapped__  # type: ignore[attr-defined]
    bound.__overloads__ = overloads  # type: ignore[attr-defined]
    return bound


def api_class(name: str) -> Callable[[type], type]:
    """Class decorator: every method that the table lists checks its arguments against it. Methods take parameters by their API names."""

    def decorate(cls: type) -> type:
        row = facts()["classes"][name]
        cls.__module__ = "ttnn"
        if "init" in row:
            cls.__init__ = bind_method("__init__", row["init"], cls.__init__, f"ttnn.{cls.__name__}")  # type: ignore[misc]
        for method, index in row["methods"].items():
            raw = cls.__dict__.get(method)
            if method in ("__eq__", "__ne__") or raw is None or isinstance(raw, classmethod | staticmethod) or not callable(raw):
                continue
            setattr(cls, method, bind_method(method, index, raw, f"ttnn.{cls.__name__}"))
        return cls

    return decorate


def api_function(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Function decorator: arguments are checked against the table, then given by name."""

    def decorate(implementation: Callable[..., Any]) -> Callable[..., Any]:
        index, _ = facts()["functions"][name]
        overloads = Overloads(name, overload_set(index), "op" if facts()["functions"][name][1] == "op" else "method")

        def bound(*args: Any, **kwargs: Any) -> Any:
            return implementation(**overloads.bind(args, kwargs)[1])

        short = name.rsplit(".", 1)[-1]
        bound.__name__ = bound.__qualname__ = short
        bound.__module__ = name.rsplit(".", 1)[0]
        bound.__doc__ = (implementation.__doc__ or "") + "\n\n" + overloads.doc()
        bound.__overloads__ = overloads  # type: ignore[attr-defined]
        bound.__wrapped__ = implementation  # type: ignore[attr-defined]
        signature = overloads.signature()
        if signature is not None:
            bound.__signature__ = signature  # type: ignore[attr-defined]
        return bound

    return decorate
