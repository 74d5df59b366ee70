"""Comparison mode: each op's result against its golden function, as `ttnn.CONFIG.enable_comparison_mode` asks when fast runtime mode is off.

The golden function gets the op's own inputs (what the real package calls a local comparison); its global comparison, with golden values of the
inputs, is not made.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from ttnn._events import COMPARISON, on_call
from ttnn._host import pearson_correlation_coefficient
from ttnn._state import CONFIG
from ttnn._tensor import Tensor
from ttnn_shim.errors import ShimError


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Tensors in arguments or results through `function`, in lists and tuples as well."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, list | tuple):
        items = [mapped(item, function) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return value


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _tensors(item)]
    return [value] if hasattr(value, "shape") else []


def _said(message: str) -> None:
    """An error or a warning, by what the configuration asks for."""
    if CONFIG.comparison_mode_should_raise_exception:
        raise RuntimeError(message)
    print(f"ttnn: {message}", file=sys.stderr)


def compare(on: bool) -> None:
    """Begins to compare, or stops."""
    on_call.watch(COMPARISON, _compared if on else None)


def _compared(operation: Any, go_on: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call's result, compared where the op has a golden function."""
    if CONFIG.enable_fast_runtime_mode:
        return go_on(args, kwargs)
    name, golden = operation.python_fully_qualified_name, operation.golden_function
    if golden is None:
        return go_on(args, kwargs)
    try:  # before the call: an op may work in place
        golden_args, golden_kwargs = golden_inputs(operation, args, kwargs)
        expected = golden(*golden_args, **golden_kwargs)
    except Exception as error:  # a golden function is anybody's code
        if CONFIG.comparison_mode_should_raise_exception:
            raise
        _not_compared(name, error)
        return go_on(args, kwargs)
    result = go_on(args, kwargs)
    outputs = getattr(operation, "postprocess_golden_function_outputs", None)
    if outputs is not None:
        expected = outputs(expected, args, kwargs)
    for index, (found, wanted) in enumerate(zip(_tensors(result), _tensors(expected), strict=False)):
        try:
            pcc = pearson_correlation_coefficient(wanted, found)
        except ShimError as error:
            if CONFIG.comparison_mode_should_raise_exception:
                raise
            _not_compared(name, error)
            continue
        if math.isnan(pcc) or pcc < CONFIG.comparison_mode_pcc:
            _said(f"{name}: Comparing output tensor {index} against CPU locally failed: pcc is {pcc} but should be >={CONFIG.comparison_mode_pcc}")
    return result


def golden_inputs(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """A call's arguments as the op's golden function takes them: torch tensors for tensors, unless one was attached with its own preparation."""
    return (getattr(operation, "preprocess_golden_function_inputs", None) or _as_torch)(args, kwargs)


def _as_torch(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    def read(tensor: Any) -> Any:
        values = tensor.to_torch()
        return values.float() if values.is_floating_point() else values

    return mapped(args, read), {key: mapped(value, read) for key, value in kwargs.items()}


def _not_compared(name: str, error: Exception) -> None:
    print(f"ttnn: {name}: no comparison: {error}", file=sys.stderr)
