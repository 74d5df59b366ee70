"""Golden functions: what an op computes, on torch tensors, as `ttnn.get_golden_function` gives them. torch is needed when one is called.

A golden function takes the op's call with torch tensors for tensors; keywords that only place or type the result are dropped.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ttnn._binding import api_function
from ttnn._host import from_torch

from ttnn_extras.comparison import golden_inputs, mapped

Golden = Callable[..., Any]


@api_function("ttnn.decorators.get_golden_function")
def get_golden_function(operation: Any) -> Golden:
    """The golden function of an op. Throws RuntimeError for an op that has none."""
    found = getattr(operation, "golden_function", None)
    if found is None:
        raise RuntimeError(f"{operation} does not have a golden function")
    golden: Golden = found
    return golden


@api_function("ttnn.decorators.get_fallback_function")
def get_fallback_function(operation: Any) -> Golden:
    """The op on the host: a function of the op's own call that computes its golden function. Results have dtype, layout and device of the first tensor."""
    golden = get_golden_function(operation)

    def fallback_function(*args: Any, **kwargs: Any) -> Any:
        golden_args, golden_kwargs = golden_inputs(operation, args, kwargs)
        outputs = getattr(operation, "postprocess_golden_function_outputs", None) or _like_first_tensor
        return outputs(golden(*golden_args, **golden_kwargs), args, kwargs)

    return fallback_function


def _like_first_tensor(output: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    import torch

    inputs: list[Any] = []
    mapped([*args, *kwargs.values()], inputs.append)
    placed = {} if not inputs else {"dtype": inputs[0].dtype, "layout": inputs[0].layout, "device": inputs[0].device()}

    def placed_like(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(placed_like(item) for item in value)
        if not isinstance(value, torch.Tensor):
            raise RuntimeError(f"Unsupported output type: {type(value)}")
        return from_torch(value, **placed)

    return placed_like(output)


@api_function("ttnn.attach_golden_function")
def attach_golden_function(operation: Any, golden_function: Golden, **processing: Any) -> None:
    """Gives an op a golden function. processing: what prepares inputs and outputs for it, kept beside it."""
    operation.golden_function = golden_function
    for name, function in processing.items():
        setattr(operation, name, function)


@functools.cache
def golden_of(name: str) -> Golden | None:
    """The golden function of the op `ttnn.<name>`; None where there is none."""
    short = name.removeprefix("ttnn.")
    made = _table().get(short)
    if made is None and short.endswith("_bw"):
        forward = _table().get(short.removesuffix("_bw"))
        made = None if forward is None else gradients(forward)
    if made is None and short.endswith("_"):
        made = _table().get(short.removesuffix("_"))
    return made


def _known(function: Golden) -> Golden:
    """The function without the keywords that it does not have."""
    names = inspect.signature(function).parameters

    @functools.wraps(function)
    def golden(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{key: value for key, value in kwargs.items() if key in names})

    return golden


def _plain(function: Golden, tensors: int) -> Golden:
    """A function of torch with as many tensors as the op has, whatever else the call says."""

    def golden(*args: Any, **_: Any) -> Any:
        return function(*args[:tensors])

    return golden


def gradients(forward: Golden) -> Golden:
    """Gradients of all inputs, by torch's own differentiation of `forward`."""

    def golden(grad: Any, *args: Any, **kwargs: Any) -> list[Any]:
        import torch

        parts = [value.detach().clone().requires_grad_(True) if torch.is_tensor(value) else value for value in args]
        forward(*parts, **kwargs).backward(gradient=grad)
        return [value.grad for value in parts if torch.is_tensor(value)]

    return golden


def _activated(function: Golden) -> Golden:
    """A binary op whose result goes through `activations`, a list of unary ops with parameters."""

    def golden(a: Any, b: Any, *_: Any, activations: Any = None, **__: Any) -> Any:
        result = function(a, b)
        for activation in activations or ():
            result = activation_function(activation)(result)
        return result

    return golden


def _product(function: Golden) -> Golden:
    """A product with the activation of its call, or of its program config."""

    def golden(*args: Any, activation: Any = None, program_config: Any = None, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        activation = getattr(program_config, "fused_activation", None) or activation
        return result if activation is None else activation_function(activation)(result)

    return golden


def activation_function(activation: Any) -> Golden:
    """The golden function of an activation: a name, an op type, or one with parameters."""
    kind = getattr(activation, "op_type", activation)
    name = str(getattr(kind, "name", kind)).lower()
    found = golden_of(f"ttnn.{name}")
    if found is None:
        raise RuntimeError(f"the activation {name} does not have a golden function")
    return found


def get_golden_function_for_activation(activation: Any) -> Golden | None:
    """The golden function of an activation of a matmul or convolution: a name, an op type, or one with parameters; None of none."""
    if activation is None:
        return None
    name = str(getattr(getattr(activation, "op_type", activation), "name", activation)).lower()
    if name == "gelu_tanh":
        import torch

        return functools.partial(torch.nn.functional.gelu, approximate="tanh")
    return activation_function(name.removesuffix("_approx"))


@functools.cache
def _table() -> dict[str, Golden]:
    import torch

    from ttnn_extras import golden_layers, golden_windows

    names = """abs asinh atan ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac i0 isfinite isinf isnan isneginf isposinf lgamma log
    log10 log1p log2 logical_not neg rad2deg relu rsqrt sigmoid sign signbit sin sinh sqrt square tan tanh tril triu trunc bitwise_not""".split()
    functional = torch.nn.functional
    table: dict[str, Golden] = {name: _plain(getattr(torch, name), 1) for name in names}
    for name in ("gelu", "hardsigmoid", "hardswish", "relu6", "selu", "silu", "softplus", "softsign", "tanhshrink"):
        table[name] = _plain(getattr(functional, name), 1)
    for name in ("eq", "ne", "gt", "ge", "lt", "le", "ldexp", "logaddexp", "logaddexp2", "xlogy", "hypot", "maximum", "minimum", "logical_and", "logical_or",
                 "logical_xor", "atan2", "nextafter", "gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
                 "floor_divide", "pow"):  # fmt: skip
        table[name] = _plain(getattr(torch, name), 2)
    for name, comparison in {"eqz": torch.eq, "nez": torch.ne, "gtz": torch.gt, "gez": torch.ge, "ltz": torch.lt, "lez": torch.le}.items():
        table[name] = _plain(functools.partial(_against_zero, comparison), 1)
    for name, function in {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "rsub": lambda a, b: b - a}.items():
        table[name] = _activated(function)
    families = (golden_layers.Unary, golden_layers.Binary, golden_layers.Layers, golden_windows.Windows)
    for name, function in (pair for family in families for pair in vars(family).items()):
        if isinstance(function, staticmethod):
            table[name.rstrip("_")] = _known(function.__func__)
    table["matmul"] = table["linear"] = _product(table["matmul"])
    for name in """typecast to_dtype identity to_layout to_memory_config reallocate interleaved_to_sharded sharded_to_interleaved reshard tilize untilize
                   assign move""".split():
        table[name] = table["clone"]
    for name, same in _SAME.items():
        table[name] = table[same]
    for name in ("split_query_key_value_and_split_heads", "concatenate_heads"):
        table[f"transformer.{name}"] = table[f"experimental.{name}"] = table.pop(name)
    for name in ("attention_softmax", "scaled_dot_product_attention"):
        table[f"transformer.{name}"] = table.pop(name)
    for name in ("mean", "sum", "max", "min", "var", "std", "argmax"):
        table[name] = golden_layers.reduction(getattr(torch, name))
    return table


_SAME = {
    "sub": "subtract", "mul": "multiply", "divide": "div", "floor_div": "floor_divide", "sigmoid_accurate": "sigmoid", "swish": "silu", "clip": "clamp",
    "logical_left_shift": "bitwise_left_shift", "softmax_in_place": "softmax", "scale_mask_softmax_in_place": "scale_mask_softmax",
    "scale_causal_mask_hw_dims_softmax_in_place": "scale_mask_softmax",
}  # fmt: skip


def _against_zero(comparison: Golden, x: Any) -> Any:
    return comparison(x, 0)
