"""Products of flattened images, whose weights take the order in which images lie in memory."""

from __future__ import annotations

from typing import Any

import pytest
from pass_graphs import CONV, IMAGE, KERNEL, Graph, build, check_change, check_unchanged
from xdsl.dialects.builtin import ModuleOp

PASS = "order-in-weights{optimization_level=1}"
FLAT = 16 * 6 * 6
WEIGHT = ((FLAT, 24), "f32", "parameter")
TURNED = ((24, FLAT), "f32", "parameter")
BIAS = ((24,), "f32", "parameter")
POOLED = ((2, 6, 6, 16), "f32", "input")
ROWS = ["permute", "reshape", "reshape", "permute", "reshape"]
"""Of the image, then of the weight."""


def conv(g: Graph, x: Any, kernel: Any, **other: Any) -> Any:
    return g("conv2d", x, kernel, out=(1, 16, 6, 6), **{**CONV, **other})


def flat(g: Graph, x: Any, images: int = 1) -> Any:
    return g("reshape", x, out=(images, FLAT), shape=(images, FLAT))


def product(g: Graph, rows: Any, weight: Any, images: int = 1, **attributes: Any) -> Any:
    return g("matmul", rows, weight, out=(images, 24), **attributes)


def planes(g: Graph, x: Any) -> Any:
    return g("permute", x, out=(2, 16, 6, 6), permutation=(0, 3, 1, 2))


CHANGES: dict[str, tuple[ModuleOp, list[str]]] = {
    "a convolution": (
        build(lambda g, x, k, w: product(g, flat(g, conv(g, x, k)), w), IMAGE, KERNEL, WEIGHT),
        ["conv2d", *ROWS, "matmul"],
    ),
    "a pool": (
        build(lambda g, x, w: product(g, flat(g, planes(g, x), 2), w, 2), POOLED, WEIGHT),
        ["permute", *ROWS, "matmul"],
    ),
    "an activation of sums, turned weights and a bias": (
        build(
            lambda g, x, k, y, w, b: g(
                "linear", flat(g, g("relu", g("add", conv(g, x, k), conv(g, y, k), out=(1, 16, 6, 6)))), w, b, out=(1, 24), transpose_b=True
            ),
            IMAGE,
            KERNEL,
            IMAGE,
            TURNED,
            BIAS,
        ),
        ["conv2d", "conv2d", "add", "relu", *ROWS, "linear"],
    ),
    "two products of the same rows": (
        build(lambda g, x, k, w, v: (lambda y: (product(g, y, w), product(g, y, v)))(flat(g, conv(g, x, k))), IMAGE, KERNEL, WEIGHT, WEIGHT),
        ["conv2d", *ROWS, "matmul", *ROWS, "matmul"],
    ),
}
UNCHANGED: dict[str, ModuleOp] = {
    "an input": build(lambda g, x, w: product(g, flat(g, g("relu", x)), w), ((1, 16, 6, 6), "f32", "input"), WEIGHT),
    "computed weights": build(lambda g, x, k, w: product(g, flat(g, conv(g, x, k)), w), IMAGE, KERNEL, ((FLAT, 24), "f32", "input")),
    "a weight for each image": build(
        lambda g, x, w: g("matmul", g("reshape", planes(g, x), out=(2, 1, FLAT), shape=(2, 1, FLAT)), w, out=(2, 1, 24)),
        POOLED,
        ((2, FLAT, 24), "f32", "parameter"),
    ),
    "columns of the images": build(
        lambda g, x, w: g("matmul", flat(g, planes(g, x), 2), w, out=(FLAT, 24), transpose_a=True), POOLED, ((2, 24), "f32", "parameter")
    ),
    "rows of images": build(
        lambda g, x, w: g("matmul", g("reshape", planes(g, x), out=(32, 36), shape=(32, 36)), w, out=(32, 24)), POOLED, ((36, 24), "f32", "parameter")
    ),
    "a pixel of each image": build(
        lambda g, x, k, w: g("matmul", g("reshape", g("conv2d", x, k, out=(1, 16, 1, 1), **CONV), out=(1, 16), shape=(1, 16)), w, out=(1, 24)),
        ((1, 8, 1, 1), "f32", "input"),
        KERNEL,
        ((16, 24), "f32", "parameter"),
    ),
    "channels last": build(
        lambda g, x, k, w: product(g, flat(g, g("conv2d", x, k, out=(1, 6, 6, 16), **{**CONV, "channel_dim": 3, "height_dim": 1, "width_dim": 2})), w),
        ((1, 6, 6, 8), "f32", "input"),
        KERNEL,
        WEIGHT,
    ),
    "planes in another order": build(
        lambda g, x, w: product(g, flat(g, g("permute", x, out=(2, 16, 6, 6), permutation=(0, 3, 2, 1)), 2), w, 2), POOLED, WEIGHT
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_changes(case: str) -> None:
    module, expected = CHANGES[case]
    check_change(module, expected, PASS)


@pytest.mark.parametrize("case", UNCHANGED)
def test_left_alone(case: str) -> None:
    check_unchanged(UNCHANGED[case], PASS)
