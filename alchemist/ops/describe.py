"""Short forms in which the family files write their rows; `op` turns a row into an `OpSpec`.

Arguments are built with `tensor`, `attribute` and the shared constants below. The C++ overload is one string of
parameters in order, `name[:python argument][?|=default|==default]`: `?` means `std::nullopt`, `==` a value that C++ has no default for,
a name that is no Python argument of the row is never filled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops.spec import (
    REQUIRED,
    Arg,
    CppParam,
    ErrorSample,
    Kind,
    OpSpec,
    Sample,
    TtirSpec,
    register,
)

Array = np.ndarray[Any, Any]
Reference = Callable[[Sequence[Array], Mapping[str, Any], Sequence[tuple[int, ...]]], Sequence[Array]]

MEMORY = Arg("memory_config", "memory_config", Kind.MEMORY_CONFIG, default=None)
COMPUTE = Arg("compute_kernel_config", "attr:compute_config", Kind.COMPUTE_CONFIG, default=None)

EDGE_SIZES: tuple[tuple[int, ...], ...] = ((1, 1), (31, 33), (32, 32), (2, 64, 96), (1, 3, 40, 7))
"""Shapes that every shape-preserving op is sampled with: below, at and above a tile, ranks 2 to 4."""


def tensor(name: str, operand: str = "", *, keyword: bool = False, default: Any = REQUIRED, cpp: str = "") -> Arg:
    """A tensor argument; `operand` is the IR operand's name where it differs."""
    return Arg(name, f"operand:{operand or name}", Kind.TENSOR, keyword, default, cpp)


def optional_tensor(name: str, operand: str = "") -> Arg:
    return tensor(name, operand, keyword=True, default=None)


def attribute(
    name: str,
    kind: Kind,
    ir: str = "",
    *,
    default: Any = REQUIRED,
    keyword: bool = True,
    cpp: str = "",
    cpp_type: str = "",
) -> Arg:
    """An argument from the attribute `ir` (same name if empty)."""
    return Arg(name, f"attr:{ir or name}", kind, keyword, default, cpp, cpp_type)


def cpp_parameters(text: str, args: Sequence[Arg]) -> tuple[CppParam, ...]:
    names = {arg.name for arg in args}
    out = []
    for word in text.split():
        head, _, default = word.partition("=")
        if head.endswith("?"):
            head, default = head[:-1], "std::nullopt"
        name, _, filled = head.partition(":")
        filled = filled or (name if name in names else "")
        out.append(CppParam(name, filled, default.removeprefix("="), default.startswith("=")))
    return tuple(out)


def op(
    name: str,
    args: Sequence[Arg],
    cpp: str,
    header: str,
    *,
    target: str = "",
    cpp_target: str = "",
    samples: Sequence[Sample] = (),
    error_samples: Sequence[ErrorSample] = (),
    reference: Reference | None = None,
    tolerance: float = 4.0,
    doc: str = "",
) -> OpSpec:
    """Registers a TTNN op. `name` lacks the dialect prefix; `target` defaults to `ttnn.<name>`."""
    spec = OpSpec(
        name=f"ttnn.{name}",
        target=target or f"ttnn.{name}",
        args=tuple(args),
        header=f"ttnn/operations/{header}",
        cpp=cpp_parameters(cpp, args),
        cpp_target=cpp_target,
        reference=reference,
        samples=tuple(samples),
        error_samples=tuple(error_samples),
        tolerance=tolerance,
        doc=doc,
    )
    register(spec)
    return spec


def ttir(name: str, reference: Reference | None = None, target: str = "") -> None:
    """Registers a TTIR op: its meaning in numpy and its TTNN counterpart (`target`, without dialect prefix) or rule."""
    register(TtirSpec(f"ttir.{name}", reference, f"ttnn.{target}" if target else ""))


def same_shape(count: int, dtype: str = "bfloat16", shapes: Sequence[tuple[int, ...]] = EDGE_SIZES) -> tuple[Sample, ...]:
    """Samples of an op on `count` tensors of equal shape."""
    return tuple(Sample(((shape, dtype),) * count, outputs=(shape,)) for shape in shapes)
