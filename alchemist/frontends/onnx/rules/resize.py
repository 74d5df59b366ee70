"""Resize and GridSample. Resize: `upsample2d` where TTIR's means the same, else one matrix per dimension, read off the standard's reference implementation."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from fractions import Fraction

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
    axes = [axis % x.rank for axis in node.get("axes") or range(x.rank)]
    factors: dict[int, float | Fraction] = {}
    out_sizes = list(x.shape)
    if sizes is not None and sizes.shape != (0,):
        for axis, size in zip(axes, c.integers(sizes, "the sizes") or [], strict=True):
            out_sizes[axis] = size
        if (policy := node.get("keep_aspect_ratio_policy", "stretch")) != "stretch":
            ratio = (min if policy == "not_larger" else max)(Fraction(out_sizes[axis], x.shape[axis]) for axis in axes)
            for axis in axes:
                factors[axis] = ratio
                out_sizes[axis] = int(float(ratio) * x.shape[axis] + 0.5)
    else:
        values = c.known(scales, "the scales")
        for axis, factor in zip(axes, [] if values is None else values.tolist(), strict=True):
            factors[axis] = factor
            out_sizes[axis] = int(np.floor(np.float32(x.shape[axis]) * np.float32(factor)))
    if min(out_sizes) < 1:
        raise Unsupported(f"resizing to {out_sizes}")
    regions = _regions(c, node, axes, roi)
    plain = "" if regions else _plain(node, x, out_sizes, factors)
    if plain:
        return composites.upsample(c, x, [out_sizes[2] // x.shape[2], out_sizes[3] // x.shape[3]], plain)
    resized_axes = [axis for axis in range(x.rank) if out_sizes[axis] != x.shape[axis] or axis in regions]
    first = min(resized_axes, default=x.rank)
    matrices = [_matrix(node, x.shape[axis], out_sizes[axis], factors.get(axis), regions.get(axis)) for axis in range(first, x.rank)]
    result = composites.separable(c, x, matrices) if matrices else x
    outside = _outside(matrices) * np.float32(node.get("extrapolation_value", 0.0)) if regions else np.zeros(())
    return c.binary("add", result, c.array(outside.astype(np.float32), x.dtype)) if outside.any() else result


def _regions(c: Emitter, node: Node, axes: list[int], roi: Tensor | None) -> dict[int, tuple[float, float]]:
    """Start and end of each axis, as parts of the input, where they are not the whole of it."""
    if node.get("coordinate_transformation_mode") != "tf_crop_and_resize":
        return {}
    bounds = c.known(roi, "the region of interest")
    if bounds is None:
        raise Unsupported("resizing without its region of interest")
    regions = {axis: (float(start), float(end)) for axis, start, end in zip(axes, bounds[: len(axes)], bounds[len(axes) :], strict=True)}
    return {axis: ends for axis, ends in regions.items() if ends != (0.0, 1.0)}


def _outside(matrices: list[Array]) -> Array:
    """1 where the extrapolation value applies: a zero row in any matrix."""
    inside = [(matrix.sum(1) > 0.5).astype(np.float32) for matrix in matrices]
    outside: Array = 1 - functools.reduce(np.multiply.outer, inside)
    return outside


def _plain(node: Node, x: Tensor, sizes: list[int], factors: Mapping[int, float | Fraction]) -> str:
    """The equivalent mode of `upsample2d`, "" if there is none."""
    if x.rank != 4 or sizes[:2] != list(x.shape[:2]) or any(want % size for want, size in zip(sizes, x.shape, strict=True)):
        return ""
    if any(abs(factor - want / size) > 1e-6 for factor, want, size in zip(factors.values(), sizes, x.shape, strict=False)) and len(factors) == 4:
        return ""
    where, mode = node.get("coordinate_transformation_mode", "half_pixel"), node.get("mode", "nearest")
    if mode == "nearest":
        rounding = node.get("nearest_mode", "round_prefer_floor")
        same = (where == "asymmetric" and rounding == "floor") or (where == "half_pixel" and rounding.startswith("round_prefer"))
        return "nearest" if same else ""
    return "bilinear" if mode == "linear" and where in ("half_pixel", "half_pixel_symmetric") else ""


def _matrix(node: Node, size: int, size_out: int, factor: float | Fraction | None, region: tuple[float, float] | None) -> Array:
    """[wanted, size]: the result of resizing each unit vector. Rows outside of a region are zeros.

    factor: a fraction is kept for the sake of another axis, and the size of the result is rounded.
    """
    if size == size_out and factor in (None, 1) and region is None:
        return np.eye(size, dtype=np.float32)
    exact_factor = factor if isinstance(factor, Fraction) else Fraction(1)
    if size * size_out > MOST_ELEMENTS_OF_MATRIX or size * size * exact_factor.denominator > MOST_ELEMENTS_OF_MATRIX * 8:
        raise Unsupported(f"resizing of {size} to {size_out}")
    settings = {name: node.get(name) for name in SETTINGS if node.get(name) is not None} | {"extrapolation_value": 0.0}
    x = np.broadcast_to(np.eye(size, dtype=np.float32)[:, None], (size, exact_factor.denominator, size))  # the axis in the middle has the ratio
    feeds: dict[str, Array] = {"x": x}
    if "coordinate_transformation_mode" in settings and settings["coordinate_transformation_mode"] == "tf_crop_and_resize":
        start, end = region or (0.0, 1.0)
        feeds["roi"] = np.array([0, 0, start, 1, 1, end], np.float32)
    if isinstance(factor, Fraction):
        settings |= {"keep_aspect_ratio_policy": node.get("keep_aspect_ratio_policy"), "axes": [1, 2]}
        larger = settings["keep_aspect_ratio_policy"] == "not_larger"
        feeds["sizes"] = np.array([exact_factor.numerator, size * (int(exact_factor) + 1) if larger else 1], np.int64)
        if "roi" in feeds:
            feeds["roi"] = feeds["roi"][[1, 2, 4, 5]]
    elif factor is None:
        feeds["sizes"] = np.array([size, 1, size_out], np.int64)
    else:
        feeds["scales"] = np.array([1.0, 1.0, factor], np.float32)
    node_proto = helper.make_node("Resize", [name if name in feeds else "" for name in ("x", "roi", "scales", "sizes")], ["y"], **settings)
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), None) for name, value in feeds.items()]
    graph = helper.make_graph([node_proto], "resize", infos, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)])
    out = ReferenceEvaluator(model).run(None, feeds)
    columns: Array = np.asarray(out[0], np.float32)[:, 0]  # type: ignore[index]
    return np.ascontiguousarray(columns.T)


@rule("GridSample")
def grid_sample(c: Emitter, node: Node, x: Tensor, grid: Tensor) -> Tensor:
    how = Sampling(INTERPOLATIONS[node.get("mode", "linear")], node.get("padding_mode", "zeros"), bool(node.get("align_corners", 0)))
    return sampled(c, x, c.cast(grid, x.dtype), how)
