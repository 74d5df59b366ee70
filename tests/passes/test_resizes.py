"""Images that are made larger or smaller by constants: one product with their pixels, where that is faster and as exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from pass_graphs import CONV, F, Graph, arrays, build, names, viewed

from alchemist.ir.access import elements
from alchemist.ops.evaluate import run as run_ttir
from alchemist.ops.evaluate_ttnn import run as run_ttnn
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.passes.registry import configure

SIDE, CHANNELS = 8, 32
PIXELS, PLANES = ((1, SIDE, SIDE, CHANNELS), F, "input"), ((1, CHANNELS, SIDE, SIDE), F, "input")
KERNEL = ((CHANNELS, CHANNELS, 3, 3), F, "parameter")
LARGE = (1, 2 * SIDE, 2 * SIDE, CHANNELS)


def constant(g: Graph, array: np.ndarray[Any, Any]) -> Any:
    return g("constant", out=array.shape, of="i32" if array.dtype == np.int32 else "f32", value=elements(array))


def linear(size: int) -> np.ndarray[Any, Any]:
    """[size, 2 * size]: values between two neighbours."""
    at = (np.arange(2 * size) + 0.5) / 2 - 0.5
    return np.maximum(0, 1 - np.abs(at.clip(0, size - 1) - np.arange(size)[:, None])).astype(np.float32)


def by_products(g: Graph, x: Any) -> Any:
    """As jax writes a bilinear resize."""
    grown = constant(g, linear(SIDE))
    tall = g("matmul", grown, viewed(g, x, SIDE, SIDE * CHANNELS), out=(2 * SIDE, SIDE * CHANNELS), transpose_a=True, transpose_b=False)
    turned = g("permute", viewed(g, tall, 2 * SIDE, 1, SIDE, CHANNELS), out=(2 * SIDE, 1, CHANNELS, SIDE), permutation=[0, 1, 3, 2])
    wide = g("matmul", turned, grown, out=(2 * SIDE, 1, CHANNELS, 2 * SIDE), transpose_a=False, transpose_b=False)
    return g("permute", wide, out=LARGE, permutation=[1, 0, 3, 2])


def by_gathers(g: Graph, x: Any, factors: Sequence[int] = (2, 2)) -> Any:
    """As jax writes a resize to the nearest pixels."""
    tall, wide = (factor * SIDE for factor in factors)
    rows, columns = (constant(g, np.repeat(np.arange(SIDE, dtype=np.int32), factor)[None]) for factor in factors)
    x = viewed(g, g("embedding", rows, viewed(g, x, SIDE, SIDE * CHANNELS), out=(1, tall, SIDE * CHANNELS)), 1, tall, SIDE, CHANNELS)
    x = viewed(g, g("permute", x, out=(SIDE, 1, tall, CHANNELS), permutation=[2, 0, 1, 3]), SIDE, tall * CHANNELS)
    x = viewed(g, g("embedding", columns, x, out=(1, wide, tall * CHANNELS)), wide, 1, tall, CHANNELS)
    return g("permute", x, out=(1, tall, wide, CHANNELS), permutation=[1, 2, 0, 3])


def upsampled(g: Graph, x: Any, mode: str = "bilinear") -> Any:
    return g("upsample2d", x, out=LARGE, scale_factor=[2, 2], mode=mode)


def of_planes(g: Graph, x: Any) -> Any:
    """As torch's interpolation of [N, C, H, W] with aligned corners: a matrix along each of the last dims."""
    grown = constant(g, linear(SIDE))
    wide = g("matmul", x, grown, out=(1, CHANNELS, SIDE, 2 * SIDE), transpose_a=False, transpose_b=False)
    turned = g("permute", wide, out=(1, CHANNELS, 2 * SIDE, SIDE), permutation=[0, 1, 3, 2])
    tall = g("matmul", turned, grown, out=(1, CHANNELS, 2 * SIDE, 2 * SIDE), transpose_a=False, transpose_b=False)
    return g("permute", tall, out=(1, CHANNELS, 2 * SIDE, 2 * SIDE), permutation=[0, 1, 3, 2])


def convolved(g: Graph, x: Any, w: Any, resize: Any, planes: bool = False) -> Any:
    dims = {} if planes else {"channel_dim": 3, "height_dim": 1, "width_dim": 2}
    made = resize(g, g("relu", x))
    return g("conv2d", made, w, out=(1, CHANNELS, 16, 16) if planes else LARGE, **(CONV | dims))


def resized(module: Any) -> list[str]:
    (step,) = configure(["resize-by-product"], CompilerOptions())
    module = module.clone()
    step.run(module)
    return names(module)


@pytest.mark.parametrize("resize", [by_products, by_gathers, upsampled, of_planes])
def test_one_product(resize: Any) -> None:
    planes = resize is of_planes
    net = build(lambda g, x, w: convolved(g, x, w, resize, planes), PLANES if planes else PIXELS, KERNEL)
    found = resized(net)
    assert found.count("matmul") == 1
    assert not {"embedding", "upsample2d"} & set(found)
    lowered = lower_to_ttnn(net)
    left = names(lowered.module)
    assert not {"embedding", "upsample", "transpose"} & set(left)
    assert left.count("permute") == (2 if planes else 0)  # planes come in and leave
    inputs = arrays(net)
    have = run_ttnn(lowered.module, [*inputs, *lowered.constants.values()])
    for want, each in zip(run_ttir(net, inputs), have, strict=True):
        np.testing.assert_allclose(each, want, rtol=1e-3, atol=1e-2)


def test_copies_stay_exact() -> None:
    """float32 pixels that upsampling copies are not cut, unless a product reads them."""
    assert resized(build(lambda g, x: upsampled(g, x, "nearest"), PIXELS)) == ["upsample2d"]
    read = build(lambda g, x, w: convolved(g, x, w, lambda g, x: upsampled(g, x, "nearest")), PIXELS, KERNEL)
    assert "matmul" in resized(read)


def test_large_images_stay() -> None:
    """A matrix of as many entries would be larger than what it replaces."""
    side = 64
    net = build(lambda g, x: g("upsample2d", x, out=(1, 2 * side, 2 * side, 32), scale_factor=[2, 2], mode="bilinear"), ((1, side, side, 32), F, "input"))
    assert resized(net) == ["upsample2d"]


def test_products_of_channels_stay() -> None:
    """A constant that mixes channels is no resize, even of an image whose sides and channels are as many."""
    matrix = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)

    def mixed(g: Graph, x: Any) -> Any:
        x = g("matmul", x, constant(g, matrix), out=(1, 8, 8, 8), transpose_a=False, transpose_b=False)
        return g("matmul", x, constant(g, matrix), out=(1, 8, 8, 8), transpose_a=False, transpose_b=False)

    net = build(mixed, ((1, 8, 8, 8), F, "input"))
    assert resized(net) == names(net)


def test_a_part_that_is_read_elsewhere_stays() -> None:
    def twice(g: Graph, x: Any) -> Any:
        grown = constant(g, linear(SIDE))
        tall = g("matmul", grown, viewed(g, x, SIDE, SIDE * CHANNELS), out=(2 * SIDE, SIDE * CHANNELS), transpose_a=True, transpose_b=False)
        turned = g("permute", viewed(g, tall, 2 * SIDE, 1, SIDE, CHANNELS), out=(2 * SIDE, 1, CHANNELS, SIDE), permutation=[0, 1, 3, 2])
        wide = g("matmul", turned, grown, out=(2 * SIDE, 1, CHANNELS, 2 * SIDE), transpose_a=False, transpose_b=False)
        return g("permute", wide, out=LARGE, permutation=[1, 0, 3, 2]), g("relu", tall)

    assert resized(build(twice, PIXELS)).count("matmul") == 2
