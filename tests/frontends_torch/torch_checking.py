"""Capture, run the TTIR, compare with torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn as nn
import ttir_in_torch
from xdsl.dialects.func import FuncOp

from alchemist.frontends.base import FrontendResult
from alchemist.frontends.torch import capture
from alchemist.ir.location import SourceInfo, sources_of


class Model(nn.Module):
    """`function(*inputs, *modules)`."""

    def __init__(self, function: Callable[..., Any], *modules: nn.Module) -> None:
        super().__init__()
        self.function = function
        self.parts = nn.ModuleList(modules)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs, *self.parts)


def check_functions(
    cases: Sequence[tuple[Callable[..., Any], Sequence[torch.Tensor], Sequence[nn.Module]]], *, training: bool, tolerance: float = 1e-4
) -> None:
    """As `check` of functions with their inputs and modules, captured as one model. Each input is a tensor of its own."""
    parts = [(function, len(inputs), len(modules)) for function, inputs, modules in cases]

    def all_of(*given: Any) -> Any:
        inputs, modules = list(given[:tensors]), list(given[tensors:])
        results = []
        for function, takes, has in parts:
            results.append(function(*inputs[:takes], *modules[:has]))
            del inputs[:takes], modules[:has]
        return results

    own = [value.clone() for _, inputs, _ in cases for value in inputs]
    tensors = len(own)
    model = Model(all_of, *(module for _, _, modules in cases for module in modules))
    model.train(training)
    check(model, own, tolerance=tolerance)


def check(model: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, tolerance: float = 1e-4) -> FrontendResult:
    """Runs the TTIR with the tests' own op meanings and compares every output with the model's own."""
    result = capture(model, args, kwargs)
    assert result.golden is not None
    got, want = ttir_in_torch.run(result), result.golden()
    assert len(got) == len(want) == len(result.outputs)
    for value, golden, spec in zip(got, want, result.outputs, strict=True):
        assert tuple(value.shape) == golden.shape == spec.shape
        if golden.dtype.kind in "iu":
            np.testing.assert_array_equal(value.to(torch.int64).numpy(), golden.astype(np.int64), err_msg=spec.name)
            continue
        a, b = value.to(torch.float32).numpy(), golden
        scale = float(np.max(np.abs(b[np.isfinite(b)]), initial=1e-3))
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale, equal_nan=True, err_msg=spec.name)
    return result


def ops(result: FrontendResult) -> list[tuple[str, SourceInfo]]:
    """(op name without dialect, origin) in order."""
    func = next(op for op in result.module.body.block.ops if isinstance(op, FuncOp))
    found = []
    for op in func.body.block.ops:
        if op.name.startswith("ttir."):
            infos = sources_of(op)
            found.append((op.name.removeprefix("ttir."), infos[0] if infos else SourceInfo()))
    return found


def names(result: FrontendResult) -> list[str]:
    return [name for name, _ in ops(result)]
