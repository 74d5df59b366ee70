"""Short notation for op rows in the family files; `op` converts a row to an `OpSpec`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ir.op_class import named
from alchemist.ops.axes import Axes, pointwise
from alchemist.ops.sharding import Sharding, whole
from alchemist.ops.sharding import pointwise as cut_anywhere
from alchemist.ops.signatures import result_of, signature
from alchemist.ops.spec import ErrorSample, OpSpec, Sample, TtirSpec, register

Array = np.ndarray[Any, Any]
Reference = Callable[[Sequence[Array], Mapping[str, Any], Sequence[tuple[int, ...]]], Sequence[Array]]

EDGE_SIZES: tuple[tuple[int, ...], ...] = ((1, 1), (31, 33), (32, 32), (2, 64, 96), (1, 3, 40, 7))
"""Shapes that every shape-preserving op is sampled with: below, at and above a tile, ranks 2 to 4."""


def op(
    name: str,
    words: str,
    header: str,
    *,
    target: str = "",
    cpp_target: str = "",
    samples: Sequence[Sample] = (),
    error_samples: Sequence[ErrorSample] = (),
    reference: Reference | None = None,
    tolerance: float = 4.0,
    doc: str = "",
    noun: str = "",
) -> OpSpec:
    """Registers a TTNN op. `name` lacks the dialect prefix; `target` defaults to `ttnn.<name>`.

    words: where the call's arguments come from, see alchemist/ops/signatures.py; all else about them is in the table of signatures.
    """
    target = target or f"ttnn.{name}"
    args, cpp = signature(f"ttnn.{name}", target, cpp_target, words)
    spec = OpSpec(
        name=f"ttnn.{name}",
        target=target,
        args=args,
        header=f"ttnn/operations/{header}",
        cpp=cpp,
        cpp_target=cpp_target,
        cpp_result=result_of(target),
        reference=reference,
        samples=tuple(samples),
        error_samples=tuple(error_samples),
        tolerance=tolerance,
        doc=doc,
        noun=noun,
    )
    register(spec)
    return spec


def ttir(name: str, reference: Reference | None = None, target: str = "", axes: Axes | None = None, sharding: Sharding = whole) -> None:
    """Registers a TTIR op: its meaning in numpy, its TTNN counterpart (`target`, without dialect prefix) or rule, what it does to dims, how it is cut."""
    if f"ttir.{name}" in named("ttir", "elementwise_unary", "elementwise_binary", "elementwise_ternary"):
        axes, sharding = pointwise, cut_anywhere
    register(TtirSpec(f"ttir.{name}", reference, f"ttnn.{target}" if target else "", axes, sharding))


def optional(inputs: Sequence[Array], index: int) -> Array | None:
    """An operand of a reference that may be left out behind the others."""
    return inputs[index] if index < len(inputs) else None


def same_shape(dtype: str = "bfloat16") -> tuple[Sample, ...]:
    """Samples of an op whose result has its operand's shape."""
    return tuple(Sample(((shape, dtype),), outputs=(shape,)) for shape in EDGE_SIZES)
