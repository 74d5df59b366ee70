"""Ops that a program writes in Python and registers (`ttnn.register_python_operation`), and lists of all ops."""

from __future__ import annotations

import csv
import sys
import types
from collections.abc import Callable
from typing import Any

import ttnn
from ttnn._events import called
from ttnn._extras import extra
from ttnn._facts import facts
from ttnn._operation import Operation
from ttnn._tensor import Tensor

OUTPUT_KEYWORDS = ("output_tensor", "optional_tensor", "optional_output_tensor", "out", "output", "output_tensors", "optional_output_tensors")
_registered: dict[str, PythonOperation] = {}


class PythonOperation:
    """A function under a name of `ttnn`: hooks, comparison mode, graph captures and golden functions know it as they know an op."""

    is_cpp_operation = False

    def __init__(self, name: str, function: Callable[..., Any], **facts_of_it: Any) -> None:
        self.python_fully_qualified_name = name
        self.function = function
        self._golden: Callable[..., Any] | None = None
        self.is_experimental = False
        self.__doc__ = function.__doc__
        for fact, value in facts_of_it.items():
            setattr(self, fact, value)

    @property
    def golden_function(self) -> Callable[..., Any] | None:
        """The one that the program attached, else that of the library's op of this name."""
        return self._golden or extra("golden").golden_of(self.python_fully_qualified_name)

    @golden_function.setter
    def golden_function(self, function: Callable[..., Any] | None) -> None:
        self._golden = function

    def __repr__(self) -> str:
        return f"FastOperation(python_fully_qualified_name='{self.python_fully_qualified_name}')"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return called(self, args, kwargs, self._run)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.function(*args, **kwargs)


def register_python_operation(
    *,
    name: str,
    is_experimental: bool = False,
    is_method: bool = False,
    golden_function: Callable[..., Any] | None = None,
    preprocess_golden_function_inputs: Callable[..., Any] | None = None,
    postprocess_golden_function_outputs: Callable[..., Any] | None = None,
    output_tensor_kwarg_names: tuple[str, ...] = OUTPUT_KEYWORDS,
    doc: str | None = None,
) -> Callable[[Callable[..., Any]], PythonOperation]:
    """A decorator that makes `function` an op of this name, which is an attribute of its module from then on."""

    def decorate(function: Callable[..., Any]) -> PythonOperation:
        module, _, short = name.rpartition(".")
        if not module:
            raise RuntimeError("Module path have to have at least 2 tokens!")
        if name in _registered or name in facts()["functions"]:
            raise RuntimeError(f'Operation with name "{name}" is already registered')
        if name.partition(".")[0] != "ttnn":
            raise RuntimeError('Module path must start with "ttnn."')
        made = PythonOperation(
            name,
            function,
            is_experimental=is_experimental,
            golden_function=golden_function,
            preprocess_golden_function_inputs=preprocess_golden_function_inputs,
            postprocess_golden_function_outputs=postprocess_golden_function_outputs,
            output_tensor_kwarg_names=output_tensor_kwarg_names,
        )
        if doc is not None:
            made.__doc__ = doc
        _registered[name] = made
        if is_method:
            setattr(Tensor, short, lambda tensor, *args, **kwargs: made(tensor, *args, **kwargs))
        setattr(_module(module), short, made)
        return made

    return decorate


def _module(path: str) -> Any:
    """The module of this path, made where there is none."""
    found = sys.modules["ttnn"]
    for part in path.split(".")[1:]:
        full = f"{found.__name__}.{part}"
        inner = vars(found).get(part) or sys.modules.get(full)
        if inner is None:
            inner = sys.modules[full] = types.ModuleType(full)
            setattr(found, part, inner)
        found = inner
    return found


def query_registered_operations(include_experimental: bool = False) -> list[Any]:
    """All ops that this package has, and those that the program registered, by name."""
    found: dict[str, Any] = dict(_registered)
    for name, (_, kind) in facts()["functions"].items():
        if kind != "func" or name in facts()["wrapped"]:
            operation: Any = ttnn
            for part in name.split(".")[1:]:
                operation = getattr(operation, part, None)
            if isinstance(operation, Operation):
                found[operation.name] = operation
    kept = (found[name] for name in sorted(found))
    return [operation for operation in kept if include_experimental or not is_experimental(operation)]


def is_experimental(operation: Any) -> bool:
    return bool(getattr(operation, "is_experimental", ".experimental." in operation.python_fully_qualified_name))


def dump_operations(csv_file: Any, include_experimental: bool = False) -> None:
    """Writes a line per op: its name, whether it is C++, whether it has a golden function, whether it is experimental."""
    with open(csv_file, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["python_fully_qualified_name", "is_cpp_operation", "has_golden_function", "is_experimental"])
        for operation in query_registered_operations(include_experimental):
            is_cpp = not isinstance(operation, PythonOperation)
            writer.writerow([operation.python_fully_qualified_name, is_cpp, operation.golden_function is not None, is_experimental(operation)])
