"""Random values as the torch that the tree pins (2.7.1) draws them: its tests' tolerances were measured on those.

Of 16-bit floats that release draws as many bits as their mantissa has (256 values of bfloat16, 2,048 of float16); later ones draw 24 and round. A test
whose inputs must differ by more than a block float's step, or whose sum must not cancel, holds on the values of the one and not of the other.
"""

from __future__ import annotations

from typing import Any

import torch

_BITS = {torch.bfloat16: 8, torch.float16: 11}


def install() -> None:
    """From now on `uniform_` and `rand` draw 16-bit floats as torch 2.7.1 does, from the same generator."""
    uniform, rand = torch.Tensor.uniform_, torch.rand

    def drawn(tensor: Any, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Any:
        if tensor.dtype not in _BITS or tensor.device.type != "cpu":
            return uniform(tensor, low, high, generator=generator)
        levels = 1 << _BITS[tensor.dtype]
        # float32 takes the low 24 bits of each number that the generator gives.
        numbers = uniform(torch.empty(tensor.shape), 0.0, 1.0, generator=generator) * (1 << 24)
        return tensor.copy_(numbers.to(torch.int64) % levels / levels * (high - low) + low)

    def rand_drawn(*size: Any, dtype: Any = None, **options: Any) -> Any:
        if dtype not in _BITS:
            return rand(*size, dtype=dtype, **options)
        generator, with_gradient = options.pop("generator", None), options.pop("requires_grad", False)
        return drawn(torch.empty(*size, dtype=dtype, **options), generator=generator).requires_grad_(with_gradient)

    torch.Tensor.uniform_ = drawn  # type: ignore[method-assign, assignment]
    torch.rand = rand_drawn
