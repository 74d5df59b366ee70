"""Convolutions of tokens, whose channels come last already: nothing is rearranged on the way in or out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pass_graphs import CONV, F, Graph, arrays, build, names
from xdsl.ir import Operation

from alchemist.ir.layout import layout_of
from alchemist.ops.evaluate import run as run_ttir
from alchemist.ops.evaluate_ttnn import run as run_ttnn
from alchemist.passes import lower_to_ttnn

BATCH, SIDE, CHANNELS = 2, 16, 32
TOKENS = ((BATCH, SIDE * SIDE, CHANNELS), F, "input")
PLANES = (BATCH, CHANNELS, SIDE, SIDE)
POOL = {"kernel": [2, 2], "stride": [2, 2], "padding": [0, 0], "dilation": [1, 1], "ceil_mode": False}


def to_planes(g: Graph, x: Any) -> Any:
    """As SegFormer writes it: transpose, then unfold the image."""
    return g("reshape", g("permute", x, out=(BATCH, CHANNELS, SIDE * SIDE), permutation=[0, 2, 1]), out=PLANES, shape=PLANES)


def to_planes_by_permute(g: Graph, x: Any) -> Any:
    """The other way round: unfold the image, then move its channels."""
    dims = (BATCH, SIDE, SIDE, CHANNELS)
    return g("permute", g("reshape", x, out=dims, shape=dims), out=PLANES, permutation=[0, 3, 1, 2])


def to_tokens(g: Graph, x: Any, side: int) -> Any:
    flat = (BATCH, CHANNELS, side * side)
    return g("permute", g("reshape", x, out=flat, shape=flat), out=(BATCH, side * side, CHANNELS), permutation=[0, 2, 1])


def convolved(g: Graph, x: Any, w: Any, unfold: Any, kernel: int) -> Any:
    """A convolution with padding, or for a kernel of half the side one that steps by its own size."""
    side = SIDE if kernel == 3 else SIDE // kernel
    window = {} if kernel == 3 else {"stride": [kernel, kernel], "padding": [0, 0]}
    y = g("conv2d", unfold(g, g("relu", x)), w, out=(BATCH, CHANNELS, side, side), **(CONV | window))
    return to_tokens(g, y, side)


@pytest.mark.parametrize("unfold", [to_planes, to_planes_by_permute])
@pytest.mark.parametrize("kernel", [3, 8], ids=["windows", "patches"])
def test_values_and_moves(unfold: Any, kernel: int) -> None:
    net = build(lambda g, x, w: convolved(g, x, w, unfold, kernel), TOKENS, ((CHANNELS, CHANNELS, kernel, kernel), F, "parameter"))
    lowered = lower_to_ttnn(net)
    assert not {"permute", "transpose"} & set(names(lowered.module))
    inputs = arrays(net)
    for want, have in zip(run_ttir(net, inputs), run_ttnn(lowered.module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("unfold", [to_planes, to_planes_by_permute])
def test_sums_with_images(unfold: Any) -> None:
    """Tokens that are added to what a convolution has made are a flat image as that is; so are functions of tokens seen as planes."""

    def block(g: Graph, x: Any, w: Any) -> Any:
        image = g("conv2d", unfold(g, g("relu", x)), w, out=PLANES, **CONV)
        tokens = g("relu", to_tokens(g, image, SIDE))
        return to_tokens(g, g("conv2d", g("tanh", g("add", image, unfold(g, tokens))), w, out=PLANES, **CONV), SIDE)

    net = build(block, TOKENS, ((CHANNELS, CHANNELS, 3, 3), F, "parameter"))
    lowered = lower_to_ttnn(net)
    assert not {"permute", "transpose"} & set(names(lowered.module))
    inputs = arrays(net)
    for want, have in zip(run_ttir(net, inputs), run_ttnn(lowered.module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-2)


def test_what_is_rearranged_stays_so() -> None:
    """Rows of the image that change places with columns are no view of the tokens."""

    def turned(g: Graph, x: Any, w: Any) -> Any:
        planes = to_planes(g, g("relu", x))
        return to_tokens(g, g("conv2d", g("permute", planes, out=PLANES, permutation=[0, 1, 3, 2]), w, out=PLANES, **CONV), SIDE)

    net = build(turned, TOKENS, ((CHANNELS, CHANNELS, 3, 3), F, "parameter"))
    lowered = lower_to_ttnn(net)
    assert any(name in ("permute", "transpose") for name in names(lowered.module))
    inputs = arrays(net)
    for want, have in zip(run_ttir(net, inputs), run_ttnn(lowered.module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-2)


def test_what_makes_the_tokens_leaves_them_in_l1() -> None:
    """The image is a view of what was computed, which is written to L1 at once."""
    net = build(lambda g, x, w: convolved(g, x, w, to_planes, 3), TOKENS, ((CHANNELS, CHANNELS, 3, 3), F, "parameter"))
    module = lower_to_ttnn(net).module
    (conv,) = (op for op in module.walk() if op.name == "ttnn.conv2d")
    view = conv.operands[0].owner
    assert isinstance(view, Operation)
    assert view.name == "ttnn.reshape"
    assert [layout.buffer for value in (view.operands[0], view.results[0]) if (layout := layout_of(value.type)) is not None] == ["l1", "l1"]


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_an_upsampled_image_is_joined_as_it_lies(mode: str) -> None:
    """The neck of a detector: images are NHWC on the device, and their channels are joined there."""
    small, large, joined = (1, 8, 8, CHANNELS), (1, CHANNELS, 16, 16), (1, 2 * CHANNELS, 16, 16)

    def neck(g: Graph, x: Any, y: Any, w: Any) -> Any:
        image = g("conv2d", x, w, out=large, **CONV)
        rows = g("permute", g("conv2d", y, w, out=(1, CHANNELS, 8, 8), **CONV), out=small, permutation=[0, 2, 3, 1])
        grown = g("upsample2d", rows, out=(1, 16, 16, CHANNELS), scale_factor=2, mode=mode)
        both = g("concat", image, g("permute", grown, out=large, permutation=[0, 3, 1, 2]), out=joined, dim=1)
        return g("max_pool2d", g("permute", both, out=(1, 16, 16, 2 * CHANNELS), permutation=[0, 2, 3, 1]), out=(1, 8, 8, 2 * CHANNELS), **POOL)

    net = build(neck, ((1, 8, 16, 16), F, "input"), ((1, 8, 8, 8), F, "input"), ((CHANNELS, 8, 3, 3), F, "parameter"))
    lowered = lower_to_ttnn(net)
    made = names(lowered.module)
    assert made.count("permute") == 2  # the two inputs are NCHW
    inputs = arrays(net)
    for want, have in zip(run_ttir(net, inputs), run_ttnn(lowered.module, [*inputs, *lowered.constants.values()]), strict=True):
        np.testing.assert_allclose(have, want, rtol=2e-2, atol=2e-1)
