"""`ttnn.moreh_*`: sums, products, norms and softmaxes, each composed of ops. Results are tiled; reduced rows and columns stay, as 1."""

from __future__ import annotations

import inspect
import math
from typing import Any

import ttnn

from ttnn_extras.composed import ComposedOperation, placed, require, stored

_TILE_DIMENSIONS = 2  # the last two: their reduction leaves a 1 even without keepdim


def _axes(name: str, tensor: Any, dim: Any) -> list[int]:
    """The dimensions of a reduction, descending; None and [] are all of them."""
    rank = len(tensor.shape)
    require(tensor.layout == ttnn.TILE_LAYOUT, f"input: expected TILE layout, got {tensor.layout}", name)
    axes = [dim] if isinstance(dim, int) else list(dim or range(rank))
    for axis in axes:
        require(0 <= axis < rank, f"dim: expected 0 to {rank - 1}, got {axis}", name)
    return sorted(axes, reverse=True)


def _without(tensor: Any, axes: list[int], keepdim: bool) -> Any:
    """Reduced dimensions removed, except the last two."""
    rank = len(tensor.shape)
    removed = set() if keepdim else {axis for axis in axes if axis < rank - _TILE_DIMENSIONS}
    return ttnn.reshape(tensor, [size for axis, size in enumerate(tensor.shape) if axis not in removed]) if removed else tensor


def moreh_sum(input: Any, dim: Any = None, *, keepdim: bool = False, output: Any = None, memory_config: Any = None, compute_kernel_config: Any = None) -> Any:
    axes = _axes("moreh_sum", input, dim)
    total = input
    for axis in axes:
        total = ttnn.sum(total, axis, keepdim=True, compute_kernel_config=compute_kernel_config)
    return stored(placed(_without(total, axes, keepdim), memory_config), output)


def moreh_mean(input: Any, *, dim: Any = None, keepdim: bool = False, divisor: int | None = None, output: Any = None, memory_config: Any = None,
               compute_kernel_config: Any = None) -> Any:  # fmt: skip
    axes = _axes("moreh_mean", input, dim)
    mean = input
    for axis in axes:
        mean = ttnn.mean(mean, axis, keepdim=True, compute_kernel_config=compute_kernel_config)
    if divisor is not None:
        mean = ttnn.multiply(mean, math.prod(input.shape[axis] for axis in axes) / divisor)
    return stored(placed(_without(mean, axes, keepdim), memory_config), output)


def _spread(gradient: Any, shape: Any, axes: list[int]) -> Any:
    """A reduction's gradient, over the reduced dimensions of `shape` again."""
    if len(gradient.shape) != len(shape):
        outer = [1 if axis in axes else size for axis, size in enumerate(shape)]
        gradient = ttnn.reshape(gradient, outer)
    return ttnn.repeat(gradient, [size if axis in axes else 1 for axis, size in enumerate(shape)])


def moreh_sum_backward(output_grad: Any, *, input: Any = None, dim: Any = None, keepdim: bool = False, input_grad: Any = None, memory_config: Any = None,
                       compute_kernel_config: Any = None) -> Any:  # fmt: skip
    name = "moreh_sum_backward"
    source = input if input is not None else input_grad
    require(source is not None, "input or input_grad: one of them is needed for the shape of the result", name)
    return stored(placed(_spread(output_grad, list(source.shape), _axes(name, source, dim)), memory_config), input_grad)


def moreh_dot(input_tensor_a: Any, input_tensor_b: Any, *, output: Any = None, dtype: Any = None, memory_config: Any = None,
              compute_kernel_config: Any = None) -> Any:  # fmt: skip
    a, b = list(input_tensor_a.shape), list(input_tensor_b.shape)
    require(a == b and a[:-1] == [1, 1, 1] and len(a) == 4, f"expected two tensors of shape [1, 1, 1, N], got {a} and {b}", "moreh_dot")
    product = ttnn.multiply(input_tensor_a, input_tensor_b, dtype=dtype)
    return stored(placed(ttnn.sum(product, -1, keepdim=True, compute_kernel_config=compute_kernel_config), memory_config), output)


def moreh_dot_backward(output_grad: Any, input: Any, other: Any, *, input_grad: Any = None, other_grad: Any = None, memory_config: Any = None) -> list[Any]:
    """The gradients that the caller gave tensors for; None for the others."""
    pairs = ((other, input_grad), (input, other_grad))
    return [None if target is None else stored(placed(ttnn.multiply(factor, output_grad), memory_config), target) for factor, target in pairs]


def moreh_matmul(input: Any, other: Any, *, transpose_input: bool = False, transpose_other: bool = False, output: Any = None, bias: Any = None,
                 memory_config: Any = None, compute_kernel_config: Any = None) -> Any:  # fmt: skip
    rank = max(len(input.shape), len(other.shape), 2)
    a, b = (ttnn.reshape(x, [*[1] * (rank - len(x.shape)), *x.shape]) if len(x.shape) < rank else x for x in (input, other))
    outer = [max(sizes) for sizes in zip(list(a.shape)[:-2], list(b.shape)[:-2], strict=True)]
    a, b = (x if list(x.shape)[:-2] == outer else ttnn.repeat(x, [*(n // m for n, m in zip(outer, x.shape, strict=False)), 1, 1]) for x in (a, b))
    product = ttnn.matmul(a, b, transpose_a=transpose_input, transpose_b=transpose_other, compute_kernel_config=compute_kernel_config)
    product = product if bias is None else ttnn.add(product, bias)
    return stored(placed(product, memory_config), output)


def moreh_bmm(input: Any, mat2: Any, *, output: Any = None, memory_config: Any = None, compute_kernel_config: Any = None) -> Any:
    return stored(ttnn.matmul(input, mat2, memory_config=memory_config, compute_kernel_config=compute_kernel_config), output)


def moreh_linear(input: Any, weight: Any, *, bias: Any = None, output: Any = None, memory_config: Any = None, compute_kernel_config: Any = None) -> Any:
    """input [..., M, K] @ weight [N, K] transposed + bias [1, N] or [1, 1]."""
    product = ttnn.linear(input, weight, transpose_b=True, compute_kernel_config=compute_kernel_config)
    product = product if bias is None else ttnn.add(product, bias)
    return stored(placed(product, memory_config), output)


def moreh_softmax(input_tensor: Any, dim: int, *, output_tensor: Any = None, op: Any = None, strategy: Any = None, memory_config: Any = None,
                  compute_kernel_config: Any = None) -> Any:  # fmt: skip
    result = ttnn.softmax(input_tensor, dim, compute_kernel_config=compute_kernel_config)
    return stored(placed(result, memory_config), output_tensor)


def moreh_softmin(input_tensor: Any, dim: int, *, output_tensor: Any = None, op: Any = None, strategy: Any = None, memory_config: Any = None,
                  compute_kernel_config: Any = None) -> Any:  # fmt: skip
    result = ttnn.softmax(ttnn.neg(input_tensor), dim, compute_kernel_config=compute_kernel_config)
    return stored(placed(result, memory_config), output_tensor)


def moreh_logsoftmax(input_tensor: Any, dim: int, *, output_tensor: Any = None, op: Any = None, strategy: Any = None, memory_config: Any = None,
                     compute_kernel_config: Any = None) -> Any:  # fmt: skip
    """x - max - log(sum(exp(x - max))): exact where a softmax would be rounded to 0."""
    shifted = ttnn.subtract(input_tensor, ttnn.max(input_tensor, dim, keepdim=True))
    total = ttnn.sum(ttnn.exp(shifted), dim, keepdim=True, compute_kernel_config=compute_kernel_config)
    return stored(placed(ttnn.subtract(shifted, ttnn.log(total)), memory_config), output_tensor)


def moreh_softmax_backward(output_tensor: Any, output_grad_tensor: Any, dim: int, *, input_grad_tensor: Any = None, op: Any = None, strategy: Any = None,
                           memory_config: Any = None, compute_kernel_config: Any = None) -> Any:  # fmt: skip
    """(dy - sum(dy * y)) * y, where y is the forward's result."""
    along = ttnn.sum(ttnn.multiply(output_grad_tensor, output_tensor), dim, keepdim=True, compute_kernel_config=compute_kernel_config)
    gradient = ttnn.multiply(ttnn.subtract(output_grad_tensor, along), output_tensor)
    return stored(placed(gradient, memory_config), input_grad_tensor)


def moreh_softmin_backward(output_tensor: Any, output_grad_tensor: Any, dim: int, *, input_grad_tensor: Any = None, memory_config: Any = None,
                           **options: Any) -> Any:  # fmt: skip
    gradient = ttnn.neg(moreh_softmax_backward(output_tensor, output_grad_tensor, dim, **options))
    return stored(placed(gradient, memory_config), input_grad_tensor)


def moreh_logsoftmax_backward(output_tensor: Any, output_grad_tensor: Any, dim: int, *, input_grad_tensor: Any = None, op: Any = None, strategy: Any = None,
                              memory_config: Any = None, compute_kernel_config: Any = None) -> Any:  # fmt: skip
    """dy - sum(dy) * exp(y), where y is the forward's result."""
    total = ttnn.sum(output_grad_tensor, dim, keepdim=True, compute_kernel_config=compute_kernel_config)
    gradient = ttnn.subtract(output_grad_tensor, ttnn.multiply(ttnn.exp(output_tensor), total))
    return stored(placed(gradient, memory_config), input_grad_tensor)


def moreh_abs_pow(input: Any, p: float, *, output: Any = None, memory_config: Any = None, compute_kernel_config: Any = None) -> Any:
    return stored(ttnn.pow(ttnn.abs(input), p, memory_config=memory_config), output)


def moreh_norm(input: Any, p: float, *, dim: Any = None, keepdim: bool = False, output: Any = None, memory_config: Any = None,
               compute_kernel_config: Any = None) -> Any:  # fmt: skip
    """The p-norm: p may be 0 (how many are not 0) and infinite (the largest or smallest magnitude)."""
    axes, sizes = _axes("moreh_norm", input, dim), ttnn.abs(input)
    extreme = {math.inf: ttnn.max, -math.inf: ttnn.min}.get(p)
    total = sizes if extreme else ttnn.nez(sizes) if p == 0 else sizes if p == 1 else ttnn.square(sizes) if p == 2 else ttnn.pow(sizes, p)
    for axis in axes:
        total = extreme(total, axis, keepdim=True) if extreme else ttnn.sum(total, axis, keepdim=True, compute_kernel_config=compute_kernel_config)
    if extreme is None and p not in (0, 1):
        total = ttnn.sqrt(total) if p == 2 else ttnn.pow(total, 1 / p)
    return stored(placed(_without(total, axes, keepdim), memory_config), output)


def moreh_arange(start: float, end: float, step: float, device: Any, *, output: Any = None, untilize_out: bool = False, dtype: Any = ttnn.bfloat16,
                 memory_config: Any = None) -> Any:  # fmt: skip
    """[1, N] in tiles; [N] in rows with `untilize_out`."""
    count = math.ceil((end - start) / step)
    require(count > 0, f"end: expected more than {start} in steps of {step}, got {end}", "moreh_arange")
    layout = ttnn.ROW_MAJOR_LAYOUT if untilize_out else ttnn.TILE_LAYOUT
    values = [start + step * i for i in range(count)]
    host = ttnn.Tensor(values, [count] if untilize_out else [1, count], dtype, ttnn.ROW_MAJOR_LAYOUT)
    return stored(ttnn.to_device(ttnn.to_layout(host, layout), device, memory_config), output)


def moreh_mean_backward(output_grad: Any, *, dim: Any = None, keepdim: bool = False, input_grad_shape: Any = None, input_grad: Any = None,
                        memory_config: Any = None, compute_kernel_config: Any = None) -> Any:  # fmt: skip
    name = "moreh_mean_backward"
    require(input_grad_shape is not None or input_grad is not None, "input_grad_shape: needed for the shape of the result", name)
    shape = list(input_grad_shape if input_grad_shape is not None else input_grad.shape)
    axes = [dim] if isinstance(dim, int) else list(dim or range(len(shape)))
    spread = _spread(output_grad, shape, axes)
    return stored(placed(ttnn.multiply(spread, 1.0 / math.prod(shape[axis] for axis in axes)), memory_config), input_grad)


def moreh_layer_norm(input: Any, normalized_dims: int, eps: float = 1e-5, gamma: Any = None, beta: Any = None, *, output: Any = None, mean: Any = None,
                     rstd: Any = None, memory_config: Any = None, compute_kernel_config: Any = None) -> list[Any]:  # fmt: skip
    """Over the last `normalized_dims` dimensions: the result, mean and reciprocal deviation, the latter two where tensors are given for them."""
    shape = list(input.shape)
    require(0 < normalized_dims <= len(shape), f"normalized_dims: expected 1 to {len(shape)}, got {normalized_dims}", "moreh_layer_norm")
    outer = shape[: len(shape) - normalized_dims]
    rows = [*outer, math.prod(shape[len(outer) :])]
    x = ttnn.reshape(input, rows)
    center = ttnn.mean(x, -1, keepdim=True, compute_kernel_config=compute_kernel_config)
    centered = ttnn.subtract(x, center)
    inverse = ttnn.rsqrt(ttnn.add(ttnn.mean(ttnn.square(centered), -1, keepdim=True, compute_kernel_config=compute_kernel_config), eps))
    result = ttnn.multiply(centered, inverse)
    for factor, combine in ((gamma, ttnn.multiply), (beta, ttnn.add)):
        if factor is not None:
            result = combine(result, ttnn.reshape(factor, [*[1] * len(outer), rows[-1]]))
    facts = [None if into is None else stored(ttnn.reshape(value, list(into.shape)), into) for value, into in ((center, mean), (inverse, rstd))]
    return [stored(placed(ttnn.reshape(result, shape), memory_config), output), *facts]


def moreh_sgd(param_in: Any, grad: Any, momentum_buffer_in: Any = None, param_out: Any = None, momentum_buffer_out: Any = None, lr: float = 1e-3,
              momentum: float = 0.0, dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False, *, momentum_initialized: bool,
              param_out_memory_config: Any = None, momentum_buffer_out_memory_config: Any = None, compute_kernel_config: Any = None) -> list[Any]:  # fmt: skip
    """One step of torch.optim.SGD: the parameters and the momentum (None without one)."""
    step = ttnn.add(grad, ttnn.multiply(param_in, weight_decay)) if weight_decay else grad
    velocity = None
    if momentum:
        velocity = step
        if momentum_initialized:
            require(momentum_buffer_in is not None, "momentum_buffer_in: expected where momentum_initialized is True", "moreh_sgd")
            velocity = ttnn.add(ttnn.multiply(momentum_buffer_in, momentum), ttnn.multiply(step, 1.0 - dampening))
        step = ttnn.add(step, ttnn.multiply(velocity, momentum)) if nesterov else velocity
        velocity = stored(placed(velocity, momentum_buffer_out_memory_config), momentum_buffer_out)
    return [stored(placed(ttnn.subtract(param_in, ttnn.multiply(step, lr)), param_out_memory_config), param_out), velocity]


def _adam(decoupled: bool, param: Any, grad: Any, average: Any, square: Any, lr: float, beta1: float, beta2: float, eps: float, weight_decay: float,
          step: int, amsgrad: bool, largest: Any, outputs: tuple[Any, Any, Any, Any], memory_config: Any) -> list[Any]:  # fmt: skip
    """One step of torch.optim.Adam, or AdamW: parameters, both moments, and the largest second moment (None without amsgrad)."""
    if weight_decay and decoupled:
        param = ttnn.multiply(param, 1.0 - lr * weight_decay)
    elif weight_decay:
        grad = ttnn.add(grad, ttnn.multiply(param, weight_decay))
    average = ttnn.add(ttnn.multiply(average, beta1), ttnn.multiply(grad, 1.0 - beta1))
    square = ttnn.add(ttnn.multiply(square, beta2), ttnn.multiply(ttnn.square(grad), 1.0 - beta2))
    largest = ttnn.maximum(largest, square) if amsgrad and largest is not None else square if amsgrad else None
    divisor = ttnn.add(ttnn.sqrt(ttnn.multiply(square if largest is None else largest, 1.0 / (1.0 - beta2**step))), eps)
    param = ttnn.subtract(param, ttnn.multiply(ttnn.multiply(average, ttnn.reciprocal(divisor)), lr / (1.0 - beta1**step)))
    results = (param, average, square, largest)
    return [None if value is None else stored(placed(value, memory_config), into) for value, into in zip(results, outputs, strict=True)]


def moreh_adam(param_in: Any, grad: Any, exp_avg_in: Any, exp_avg_sq_in: Any, *, lr: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999,
               eps: float = 1e-8, weight_decay: float = 0.0, step: int = 0, amsgrad: bool = False, max_exp_avg_sq_in: Any = None, param_out: Any = None,
               exp_avg_out: Any = None, exp_avg_sq_out: Any = None, max_exp_avg_sq_out: Any = None, memory_config: Any = None,
               compute_kernel_config: Any = None) -> list[Any]:  # fmt: skip
    require(step > 0, f"step: expected 1 or more (the bias correction divides by 1 - beta**step), got {step}", "moreh_adam")
    outputs = (param_out, exp_avg_out, exp_avg_sq_out, max_exp_avg_sq_out)
    moments = (exp_avg_in, exp_avg_sq_in)
    return _adam(False, param_in, grad, *moments, lr, beta1, beta2, eps, weight_decay, step, amsgrad, max_exp_avg_sq_in, outputs, memory_config)


def moreh_adamw(param_in: Any, grad: Any, exp_avg_in: Any, exp_avg_sq_in: Any, lr: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999,
                eps: float = 1e-8, weight_decay: float = 1e-2, step: int = 0, amsgrad: bool = False, *, max_exp_avg_sq_in: Any = None,
                param_out: Any = None, exp_avg_out: Any = None, exp_avg_sq_out: Any = None, max_exp_avg_sq_out: Any = None, memory_config: Any = None,
                compute_kernel_config: Any = None) -> list[Any]:  # fmt: skip
    require(step > 0, f"step: expected 1 or more (the bias correction divides by 1 - beta**step), got {step}", "moreh_adamw")
    outputs = (param_out, exp_avg_out, exp_avg_sq_out, max_exp_avg_sq_out)
    moments = (exp_avg_in, exp_avg_sq_in)
    return _adam(True, param_in, grad, *moments, lr, beta1, beta2, eps, weight_decay, step, amsgrad, max_exp_avg_sq_in, outputs, memory_config)


NAMES = tuple(name for name, function in globals().items() if name.startswith("moreh_") and inspect.isfunction(function))
globals().update({name: ComposedOperation(name, globals()[name]) for name in NAMES})
