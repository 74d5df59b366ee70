"""Capture, verify, round-trip and compare with JAX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import alchemist.ops  # noqa: F401 (registers the references)
from alchemist.frontends.base import FrontendResult
from alchemist.frontends.jax import capture
from alchemist.ir.text import parse, print_module
from alchemist.ir.verify import verify_module
from alchemist.ops.evaluate import run
from alchemist.options import CompilerOptions
from alchemist.passes import configure
from alchemist.passes.stages import TTIR_STAGES, passes_of


def check(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    tolerance: float = 2e-5,
    as_text: bool = True,
) -> FrontendResult:
    """Captures and compares every output with JAX's own; absolute error relative to the largest value. as_text: the module also survives its text."""
    result = capture(function, args, dict(kwargs or {}))
    verify_module(result.module)
    if as_text:
        text = print_module(result.module)
        assert print_module(parse(text, "round-trip.mlir")) == text
    outputs = run(result.module, [argument.value() for argument in result.arguments])
    assert result.golden is not None
    golden = result.golden()
    result.golden = lambda: golden  # JAX compiles for each call
    assert len(outputs) == len(golden) == len(result.outputs)
    for actual, expected, described in zip(outputs, golden, result.outputs, strict=True):
        assert actual.shape == expected.shape == described.shape
        if expected.dtype.kind in "iub":
            np.testing.assert_array_equal(actual, expected)
        else:
            eps = 2**-7 if described.dtype == "bfloat16" else tolerance
            np.testing.assert_allclose(actual, expected, rtol=eps, atol=eps * max(1.0, float(np.abs(expected).max())))
    return result


def check_functions(cases: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]], tolerance: float = 2e-5) -> FrontendResult:
    """As `check` of functions with their arguments, captured as one function. The text of each op is the subject of tests/mlir/test_op_uses.py."""

    def all_of(*given: Any) -> Any:
        return [function(*arguments) for (function, _), arguments in zip(cases, given, strict=True)]

    return check(all_of, tuple(arguments for _, arguments in cases), tolerance=tolerance, as_text=False)


def fused_counts(result: FrontendResult) -> Counter[str]:
    """Number of ops by name when the passes have put attention together."""
    module, names = result.module.clone(), passes_of(TTIR_STAGES)
    for step in configure(names[: names.index("fuse-attention") + 1], CompilerOptions()):
        step.run(module)
    return Counter(op.name.partition(".")[2] for op in module.walk())


def op_counts(result: FrontendResult) -> Counter[str]:
    """Number of ops by name without dialect."""
    return Counter(op.name.partition(".")[2] for op in result.module.walk())
