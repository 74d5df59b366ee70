"""Resize and GridSample. Resize: `upsample2d` where TTIR's means the same, else one matrix per dimension, read off the standard's reference implementation."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from alchemist.frontends import composites
from alchemist.frontends.onnx.emitter import Array, Emitter, Tensor
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.registry import Node, rule
from alchemist.frontends.sampling import Interpolation, Sampling, sampled

SETTINGS = (
    "antialias", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value", "mode", "nearest_mode"
)  # fmt: skip
MOST_ELEMENTS_OF_MATRIX = 1 << 24
INTERPOLATIONS: dict[str, Interpolation] = {"bilinear": "linear", "linear": "linear", "nearest": "nearest", "bicubic": "cubic", "cubic": "cubic"}


@rule("Resize")
def resize(c: Emitter, node: Node, x: Tensor, roi: Tensor | None = None, scales: Tensor | None = None, sizes: Tensor | None = None) -> Tensor:
    if node.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        raise Unsupported("resizing of a region of interest")
    if node.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise Unsupported("resizing that keeps the aspect ratio")
    axes = [axis % x.rank for axis in node.get("axes") or range(x.rank)]
    factors: dict[int, float] = {}
    wanted = list(x.shape)
    if sizes is not None and sizes.shape != (0,):
        for axis, size in zip(axes, c.integers(sizes, "the sizes") or [], strict=True):
            wanted[axis] = size
    else:
        values = c.known(scales, "the scales")
        for axis, factor in zip(axes, [] if values is None else values.tolist(), strict=True):
            factors[axis] = factor
            wanted[axis] = int(np.floor(np.float32(x.shape[axis]) * np.float32(factor)))
    if min(wanted) < 1:
        raise Unsupported(f"resizing to {wanted}")
    plain = _plain(node, x, wanted, factors)
    if plain:
        return composites.upsample(c, x, [wanted[2] // x.shape[2], wanted[3] // x.shape[3]], plain)
    moved = [axis for axis in range(x.rank) if wanted[axis] != x.shape[axis]]
    first = min(moved, default=x.rank)
    matrices = [_matrix(node, x.shape[axis], wanted[axis], factors.get(axis)) for axis in range(first, x.rank)]
    return composites.separable(c, x, matrices) if matrices else x


def _plain(node: Node, x: Tensor, wanted: list[int], factors: dict[int, float]) -> str:
    """The mode of `upsample2d` that gives the same, "" without one."""
    if x.rank != 4 or wanted[:2] != list(x.shape[:2]) or any(want % size for want, size in zip(wanted, x.shape, strict=True)):
        return ""
    if any(abs(factor - want / size) > 1e-6 for factor, want, size in zip(factors.values(), wanted, x.shape, strict=False)) and len(factors) == 4:
        return ""
    where, mode = node.get("coordinate_transformation_mode", "half_pixel"), node.get("mode", "nearest")
    if mode == "nearest":
        rounding = node.get("nearest_mode", "round_prefer_floor")
        same = (where == "asymmetric" and rounding == "floor") or (where == "half_pixel" and rounding.startswith("round_prefer"))
        return "nearest" if same else ""
    return "bilinear" if mode == "linear" and where in ("half_pixel", "half_pixel_symmetric") else ""


def _matrix(node: Node, size: int, wanted: int, factor: float | None) -> Array:
    """[wanted, size]: the result of resizing each unit vector."""
    if size == wanted and factor in (None, 1.0):
        return np.eye(size, dtype=np.float32)
    if size * wanted > MOST_ELEMENTS_OF_MATRIX:
        raise Unsupported(f"resizing of {size} to {wanted}")
    settings = {name: node.get(name) for name in SETTINGS if node.get(name) is not None}
    inputs = ["x", "", "", "sizes"] if factor is None else ["x", "", "scales"]
    made = helper.make_node("Resize", inputs, ["y"], **settings)
    names = {"x": TensorProto.FLOAT, inputs[-1]: TensorProto.INT64 if factor is None else TensorProto.FLOAT}
    given = [helper.make_tensor_value_info(name, kind, None) for name, kind in names.items()]
    graph = helper.make_graph([made], "resize", given, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)])
    last = np.array([size, wanted], np.int64) if factor is None else np.array([1.0, factor], np.float32)
    out = ReferenceEvaluator(model).run(None, {"x": np.eye(size, dtype=np.float32), inputs[-1]: last})
    columns: Array = np.asarray(out[0], np.float32)  # type: ignore[index]
    return np.ascontiguousarray(columns.T)


@rule("GridSample")
def grid_sample(c: Emitter, node: Node, x: Tensor, grid: Tensor) -> Tensor:
    how = Sampling(INTERPOLATIONS[node.get("mode", "linear")], node.get("padding_mode", "zeros"), bool(node.get("align_corners", 0)))
    return sampled(c, x, c.cast(grid, x.dtype), how)
