"""onnx's reference implementation, with replacements for its ops that violate the standard (onnx 1.23)."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import inliner
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_grid_sample import GridSample as PackagesGridSample

Array = np.ndarray[Any, Any]


class LRN(OpRun):
    """The package's own sums squares for as many channels as there are images."""

    def _run(self, x: Array, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: int = 1) -> tuple[Array]:
        low, high = (size - 1) // 2, size - 1 - (size - 1) // 2
        squares = np.pad(np.square(x), [(0, 0), (low, high), *[(0, 0)] * (x.ndim - 2)])
        total: Array = sum((squares[:, i : i + x.shape[1]] for i in range(size)), np.zeros_like(x))
        return ((x / (bias + alpha / size * total) ** beta).astype(x.dtype),)


class LpNormalization(OpRun):
    """The package's own leaves out the absolute value."""

    def _run(self, x: Array, axis: int = -1, p: int = 2) -> tuple[Array]:
        norm = np.sum(np.abs(x) ** p, axis=axis, keepdims=True) ** (1 / p)
        return (np.divide(x, norm, out=np.zeros_like(x), where=norm != 0).astype(x.dtype),)


class GlobalLpPool(OpRun):
    """The package has none."""

    def _run(self, x: Array, p: int = 2) -> tuple[Array]:
        total = np.sum(np.abs(x) ** p, axis=tuple(range(2, x.ndim)), keepdims=True)
        return ((total ** (1 / p)).astype(x.dtype),)


class DequantizeLinear(OpRun):
    """The package has those of opset 19 and later."""

    def _run(self, x: Array, scale: Array, zero: Array | None = None, axis: int = 1, **_later: Any) -> tuple[Array]:
        shape = [1 if dim != axis % x.ndim else -1 for dim in range(x.ndim)] if scale.size > 1 else [1] * x.ndim
        shift = 0 if zero is None else zero.astype(np.float32).reshape(shape)
        return (((x.astype(np.float32) - shift) * scale.reshape(shape)).astype(scale.dtype),)


class GridSample(PackagesGridSample):
    """The package has the names of opset 20 and later, also for models of 16."""

    def _run(self, x: Array, grid: Array, mode: str = "linear", padding_mode: str = "zeros", align_corners: int = 0) -> tuple[Array]:
        sampled = super()._run(x, grid, mode.removeprefix("bi"), padding_mode, align_corners)  # type: ignore[no-untyped-call]
        return (sampled[0],)


def corrected(opset: int) -> list[type[OpRun]]:
    """The ops to use instead of the package's own."""
    return [LRN, LpNormalization, GlobalLpPool, GridSample, *([DequantizeLinear] if opset < 19 else [])]


def evaluate(model: onnx.ModelProto, opset: int, feeds: dict[str, Array]) -> dict[str, Any]:
    """Every value by name. Functions of the model are unfolded first: the package's own handling loses attributes."""
    if model.functions:
        model = inliner.inline_local_functions(model)
    outputs: Any = ReferenceEvaluator(model, new_ops=corrected(opset)).run(None, feeds, intermediate=True)
    return dict(outputs)
