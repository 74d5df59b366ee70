"""Complex tensors: two tensors of one shape, and the ops that take them. Each is composed of real ops, as in TT-NN."""

from __future__ import annotations

import inspect
from typing import Any

import ttnn
from ttnn._convert import register_class
from ttnn._operation import Operation

from ttnn_extras.composed import ComposedOperation, placed, require


class ComplexTensor:
    """`real + i imag`; both are `ttnn.Tensor`s of one shape. `[0]` is the real part, `[1]` the imaginary one."""

    def __init__(self, real: Any, imag: Any) -> None:
        self.real = real
        self.imag = imag

    def __getitem__(self, index: int) -> Any:
        return (self.real, self.imag)[index]

    def deallocate(self) -> None:
        """Frees both parts."""
        self.real.deallocate()
        self.imag.deallocate()


ComplexTensor.__module__ = "ttnn"
register_class("ComplexTensor", ComplexTensor)


def complex_tensor(real: Any, imag: Any) -> ComplexTensor:
    require(real.padded_shape == imag.padded_shape, f"imag: expected shape {real.padded_shape}, got {imag.padded_shape}", "complex_tensor")
    return ComplexTensor(real, imag)


def real(input_tensor: Any, *, memory_config: Any = None) -> Any:
    return placed(input_tensor.real, memory_config)


def imag(input_tensor: Any, *, memory_config: Any = None) -> Any:
    return placed(input_tensor.imag, memory_config)


def angle(input_tensor: Any, *, memory_config: Any = None) -> Any:
    return ttnn.atan2(input_tensor.imag, input_tensor.real, memory_config=memory_config)


def is_imag(input_tensor: Any, *, memory_config: Any = None) -> Any:
    return ttnn.eqz(input_tensor.real, memory_config=memory_config)


def is_real(input_tensor: Any, *, memory_config: Any = None) -> Any:
    return ttnn.eqz(input_tensor.imag, memory_config=memory_config)


def conj(input_tensor: Any, *, memory_config: Any = None) -> ComplexTensor:
    return ComplexTensor(input_tensor.real, ttnn.neg(input_tensor.imag, memory_config=memory_config))


def polar(input_tensor: Any, *, memory_config: Any = None) -> ComplexTensor:
    """From magnitudes (the real part) and angles in radians (the imaginary part)."""
    size, turn = input_tensor.real, input_tensor.imag
    return ComplexTensor(ttnn.multiply(size, ttnn.cos(turn), memory_config=memory_config), ttnn.multiply(size, ttnn.sin(turn), memory_config=memory_config))


def abs(input_tensor: Any, *, memory_config: Any = None) -> Any:
    return ttnn.hypot(input_tensor.real, input_tensor.imag, memory_config=memory_config)


def reciprocal(input_tensor: Any, *, memory_config: Any) -> ComplexTensor:
    a, b = input_tensor.real, input_tensor.imag
    divisor = ttnn.add(ttnn.square(a), ttnn.square(b))
    return ComplexTensor(
        ttnn.multiply(a, ttnn.reciprocal(divisor), memory_config=memory_config),
        ttnn.multiply(ttnn.neg(b), ttnn.reciprocal(divisor), memory_config=memory_config),
    )


def real_bw(grad_tensor: Any, input_tensor: Any, *, memory_config: Any) -> list[ComplexTensor]:
    return [ComplexTensor(grad_tensor, ttnn.zeros_like(input_tensor.real, memory_config=memory_config))]


def imag_bw(grad_tensor: Any, input_tensor: Any, *, memory_config: Any) -> list[ComplexTensor]:
    return [ComplexTensor(ttnn.zeros_like(input_tensor.real, memory_config=memory_config), grad_tensor)]


def conj_bw(grad_tensor: Any, input_tensor: Any, *, memory_config: Any) -> list[ComplexTensor]:
    return [conj(grad_tensor, memory_config=memory_config)]


def angle_bw(grad_tensor: Any, input_tensor: Any, *, memory_config: Any) -> list[ComplexTensor]:
    a, b = input_tensor.real, input_tensor.imag
    squared = ttnn.add(ttnn.square(a), ttnn.square(b))
    factor = ttnn.where(ttnn.eqz(squared), 0.0, ttnn.multiply(grad_tensor, ttnn.reciprocal(squared)))
    return [ComplexTensor(ttnn.multiply(factor, ttnn.neg(b), memory_config=memory_config), ttnn.multiply(factor, a, memory_config=memory_config))]


def polar_bw(grad_tensor: Any, input_tensor: Any, *, memory_config: Any) -> list[ComplexTensor]:
    size, turn = input_tensor.real, input_tensor.imag
    along = ttnn.add(ttnn.multiply(grad_tensor.real, ttnn.cos(turn)), ttnn.multiply(grad_tensor.imag, ttnn.sin(turn)))
    across = ttnn.subtract(ttnn.multiply(grad_tensor.imag, ttnn.cos(turn)), ttnn.multiply(grad_tensor.real, ttnn.sin(turn)))
    size_grad = ttnn.multiply(along, ttnn.sign(size), memory_config=memory_config)
    return [ComplexTensor(size_grad, ttnn.multiply(across, size, memory_config=memory_config))]


class _RealOrComplex(ComposedOperation):
    """An op with a program for tensors, whose overload for complex tensors is composed."""

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(type(value) is ComplexTensor for value in (*args, *kwargs.values())):
            return super().run(args, kwargs)
        return Operation.run(self, args, kwargs)


_OPERATIONS = {name: function for name, function in globals().items() if inspect.isfunction(function) and function.__module__ == __name__}
globals().update({name: (_RealOrComplex if name in ("abs", "reciprocal") else ComposedOperation)(name, made) for name, made in _OPERATIONS.items()})
