"""Calls that have no program: each is refused with its reason, none is computed otherwise than by PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from alchemist.errors import AlchemistError, FrontendError, InputError, InternalError, UnsupportedOpError
from alchemist.frontends.torch import capture
from alchemist.frontends.torch.wide_integers import WideIntegersRefused

X = torch.arange(1.0, 65.0).reshape(1, 1, 8, 8)
ROWS = X.reshape(8, 8)
IDS = torch.tensor([1, 3, 1])
Function = Callable[..., Any]


class Held:
    """No container that PyTorch knows."""

    def __init__(self, x: torch.Tensor) -> None:
        self.x = x


def nested(x: torch.Tensor) -> Any:
    return Held(x + 1)


REFUSED: dict[str, tuple[Function, tuple[Any, ...], type[AlchemistError], str]] = {
    "attention dropout": (
        lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.5), (X,), UnsupportedOpError, "attention dropout in training mode is random"),
    "avg_pool2d with a divisor": (
        lambda x: F.avg_pool2d(x, 3, ceil_mode=True, divisor_override=3), (X,), UnsupportedOpError, "avg_pool2d with divisor_override and ceil_mode"),
    "avg_pool3d with a divisor": (
        lambda x: F.avg_pool3d(x[None], (1, 2, 2), ceil_mode=True, divisor_override=3), (X,), UnsupportedOpError, "avg_pool3d with divisor_override and ceil_mode"),
    "avg_pool3d of pixels alone": (
        lambda x: F.avg_pool3d(x[None], 2, padding=1, count_include_pad=False), (X.expand(1, 2, 8, 8),), UnsupportedOpError, "count_include_pad=False"),
    "rrelu": (lambda x: F.rrelu(x, training=True), (X,), UnsupportedOpError, "rrelu in training mode is random"),
    "training mode": (lambda x: F.dropout(x, 0.5), (X,), UnsupportedOpError, r"model is in training mode(?s:.*)hint: call model.eval\(\) before"),
    "training mode and an op without a rule": (
        lambda x: torch.linalg.qr(F.dropout(x, 0.5)[0, 0]).Q, (X,), UnsupportedOpError, "ATen ops have no rule"),
    "boolean indexing": (lambda x: x[x > 3], (ROWS,), AlchemistError, "shape depends on data|depends on"),
    "values added where a mask holds": (
        lambda x, v: torch.index_put(x, (x > 3,), v, accumulate=True), (torch.arange(4.0), torch.arange(4.0)), UnsupportedOpError, "boolean indexing"),
    "one_hot without classes": (lambda i: F.one_hot(i), (IDS,), FrontendError, "branches on tensor values"),
    "histc without bounds": (lambda x: torch.histc(x, 4), (X,), UnsupportedOpError, "histc without bounds: they depend on data"),
    "repeats without their sum": (
        lambda x, n: torch.repeat_interleave(x, n.abs(), 0), (ROWS[:3], IDS), FrontendError, "the shape of this value depends on data"),
    "a scale that does not give the size": (
        lambda x: torch.ops.aten._upsample_bilinear2d_aa(x[None, None], [3, 3], False, 1.7, 0.9), (ROWS,), UnsupportedOpError, r"a scale of 1\.7 that does not"),
    "lstm with dropout": (
        lambda x: nn.LSTM(8, 4, 2, dropout=0.5)(x)[0], (X[0],), AlchemistError, "random|model.eval"),
    "bits of other widths": (lambda x: x.view(torch.int16), (ROWS,), UnsupportedOpError, r"bits of torch\.float32 as torch\.int16"),
    "complex from real": (lambda x: x.to(torch.complex64), (ROWS,), AlchemistError, "complex"),
    "a complex output": (lambda x: torch.fft.fft(x), (ROWS,), FrontendError, "a complex output"),
    "an own class as output": (nested, (ROWS,), FrontendError, "the model returns an object that hides tensors from torch.export|no tensor|not a tensor"),
    "fails itself": (lambda x: x @ x[:3], (ROWS,), InputError, r"the model fails on these arguments(?s:.*)at test_refused.py:\d+"),
    "noise": (lambda x: x + torch.rand_like(x), (ROWS,), UnsupportedOpError, "it makes random numbers: pass them as an input"),
    "attention on two dimensions": (lambda q: F.scaled_dot_product_attention(q, q, q), (ROWS,), UnsupportedOpError, "attention on rank 2 tensors"),
    "statistics of a norm": (
        lambda x: torch.ops.aten.native_layer_norm(x, [8], None, None, 1e-5)[1], (ROWS,), UnsupportedOpError, "its result 1 is used"),
    "indices of a pool": (
        lambda x: F.adaptive_max_pool2d(x, 2, return_indices=True)[1], (X.expand(1, 2, 8, 8),), UnsupportedOpError, "its result 1 is used"),
    "gradients by frequency": (
        lambda d, i: torch.ops.aten.embedding_dense_backward(d, i, 9, -1, True), (ROWS[:3], IDS), UnsupportedOpError, "embedding with scale_grad_by_freq"),
    "gradients of a large kernel": (
        lambda d, x, w: torch.ops.aten.convolution_backward(d, x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, True, False])[1],
        (torch.ones(1, 1, 2, 2), torch.ones(1, 1, 31, 31), torch.ones(1, 1, 30, 30)), UnsupportedOpError, "the gradient of a kernel of more than"),
    "interpolated whole numbers": (
        lambda x: F.interpolate((x * 9).clamp(0, 255).to(torch.uint8), size=(9, 9), mode="bilinear"), (X.expand(1, 2, 8, 8),), FrontendError,
        "interpolation of whole numbers"),
    "a mask beside an index": (
        lambda x, i, v: x.index_put((x[:, 0] > 3, i), v), (ROWS[:3], IDS, torch.ones(3)), AlchemistError, "boolean indexing|depends on"),
    "singular values": (lambda x: torch.linalg.svdvals(x), (ROWS,), UnsupportedOpError, "no rule and no decomposition"),
    "an inverse of many rows": (lambda x: torch.linalg.inv(torch.eye(65) + x[0, 0]), (ROWS,), UnsupportedOpError, "a matrix of 65 rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    function, args, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message) as caught:
        capture(function, args)
    assert not isinstance(caught.value, InternalError)


def test_the_integer_of_minus_infinity_may_be_moved_and_dropped() -> None:
    """Buckets of relative positions (LayoutLMv3): log(0) as an integer is int64's smallest, 16 is added, and a `where` drops it."""
    distance = torch.arange(-4, 5)
    with WideIntegersRefused(distance):
        far = 16 + (distance.abs().float().log() * 8).long()
        assert torch.where(distance.abs() < 2, distance.abs(), torch.minimum(far, torch.full_like(far, 31))).max() == 27


def test_integers_of_memory_that_nobody_wrote() -> None:
    """`empty_like` holds what was in memory, which is no value of the model's (Mixtral sorts its tokens' experts into one); what is computed from it counts."""
    x = torch.arange(4)
    with WideIntegersRefused(x):
        unwritten = torch.full_like(x, 2**40)  # as memory could be
        written = torch.empty_like(x).copy_(x)
        with pytest.raises(FrontendError, match="32 bits"):
            torch.where(x > 1, unwritten, written)
