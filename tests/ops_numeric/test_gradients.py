"""Gradients of eltwise ops, losses and what belongs to them, against torch's own; and calls that write into a caller's tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import ttnn
from ttnn_shim.errors import InvalidArgument

from tests.tables import table

SHAPE = (1, 1, 32, 64)


def on_device(values: torch.Tensor, device: Any, dtype: Any = ttnn.float32, layout: Any = ttnn.TILE_LAYOUT) -> Any:
    return ttnn.from_torch(values, dtype=dtype, layout=layout, device=device)


def close(found: Any, expected: torch.Tensor) -> None:
    torch.testing.assert_close(ttnn.to_torch(found).float(), expected, rtol=2e-3, atol=2e-3)


@table(
    ("name", "function", "positive"),
    [
        ("abs_bw", torch.abs, False),
        ("cos_bw", torch.cos, False),
        ("exp_bw", torch.exp, False),
        ("gelu_bw", torch.nn.functional.gelu, False),
        ("log_bw", torch.log, True),
        ("neg_bw", torch.neg, False),
        ("relu_bw", torch.relu, False),
        ("rsqrt_bw", torch.rsqrt, True),
        ("sigmoid_bw", torch.sigmoid, False),
        ("silu_bw", torch.nn.functional.silu, False),
        ("sin_bw", torch.sin, False),
        ("sqrt_bw", torch.sqrt, True),
        ("square_bw", torch.square, False),
        ("tanh_bw", torch.tanh, False),
    ],
)
def test_unary_gradients(name: str, function: Callable[[torch.Tensor], torch.Tensor], positive: bool, device: Any) -> None:
    torch.manual_seed(0)
    x = torch.rand(SHAPE) + 0.5 if positive else torch.randn(SHAPE)
    grad = torch.randn(SHAPE)
    x.requires_grad_(True)
    function(x).backward(grad)
    assert x.grad is not None
    found = getattr(ttnn, name)(on_device(grad, device), on_device(x.detach(), device))
    assert isinstance(found, list) and len(found) == 1
    close(found[0], x.grad)


def test_what_gradients_take(device: Any) -> None:
    """The refusals and places of the real package, seen over a mock device."""
    tile, wide = on_device(torch.zeros(SHAPE), device, ttnn.bfloat16), on_device(torch.zeros(SHAPE), device)
    rows, whole = (
        on_device(torch.zeros(SHAPE), device, ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT),
        on_device(torch.zeros(SHAPE, dtype=torch.int32), device, ttnn.int32),
    )
    for name in ("gelu_bw", "tanh_bw"):
        op = getattr(ttnn, name)
        assert (op(wide, tile)[0].dtype, op(rows, rows)[0].layout) == (ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)
        with pytest.raises(InvalidArgument, match="floating point"):
            op(whole, whole)
    with pytest.raises(InvalidArgument, match="FastLut"):
        ttnn.gelu_bw(tile, tile, variant=ttnn.GeluVariant.FastLut)
    with pytest.raises(InvalidArgument, match="expected the dtype"):
        ttnn.relu_bw(wide, tile)
    for name in ("exp_bw", "neg_bw", "rsqrt_bw", "silu_bw", "sqrt_bw", "gelu_bw"):
        assert getattr(ttnn, name)(tile, tile, memory_config=ttnn.L1_MEMORY_CONFIG)[0].memory_config().buffer_type == ttnn.BufferType.L1


def test_gelu_gradient_of_the_tanh_form(device: Any) -> None:
    torch.manual_seed(0)
    x, grad = torch.randn(SHAPE, requires_grad=True), torch.randn(SHAPE)
    torch.nn.functional.gelu(x, approximate="tanh").backward(grad)
    assert x.grad is not None
    close(ttnn.gelu_bw(on_device(grad, device), on_device(x.detach(), device), variant=ttnn.GeluVariant.Tanh)[0], x.grad)


@pytest.mark.parametrize(("name", "function"), [("add_bw", torch.add), ("sub_bw", torch.sub), ("mul_bw", torch.mul), ("div_bw", torch.div)])
def test_binary_gradients(name: str, function: Callable[..., torch.Tensor], device: Any) -> None:
    torch.manual_seed(0)
    a, b, grad = torch.randn(SHAPE, requires_grad=True), (torch.rand(SHAPE) + 0.5).requires_grad_(True), torch.randn(SHAPE)
    function(a, b).backward(grad)
    assert a.grad is not None and b.grad is not None
    tg, ta, tb = (on_device(value.detach(), device) for value in (grad, a, b))
    op = getattr(ttnn, name)
    first, second = op(tg, ta, tb)
    close(first, a.grad)
    close(second, b.grad)
    assert [part is None for part in op(tg, ta, tb, are_required_outputs=[False, True])] == [True, False]
    scaled = op(tg, ta, 2.0)
    assert len(scaled) == 1
    close(scaled[0], {"add_bw": grad, "sub_bw": grad, "mul_bw": grad * 2, "div_bw": grad / 2}[name])
    if name == "mul_bw":  # as in the real package, which refuses nothing wanted of the other three
        assert op(tg, ta, tb, are_required_outputs=[False, False]) == [None, None]
        row = torch.randn(1, 1, 1, 64, requires_grad=True)
        (a.detach() * row).backward(grad)
        assert row.grad is not None
        torch.testing.assert_close(ttnn.to_torch(op(tg, ta, on_device(row.detach(), device))[1]), row.grad, rtol=2e-2, atol=2e-2)
    else:
        with pytest.raises(InvalidArgument, match="at least one gradient"):
            op(tg, ta, tb, are_required_outputs=[False, False])
    assert {part.memory_config().buffer_type for part in op(tg, ta, tb, memory_config=ttnn.L1_MEMORY_CONFIG)} == {ttnn.BufferType.L1}


def test_gradient_of_an_embedding(device: Any) -> None:
    torch.manual_seed(0)
    ids, grad = torch.randint(0, 40, (2, 32)), torch.randint(-4, 5, (1, 1, 64, 64)).float()
    weight = torch.zeros(40, 64, requires_grad=True)
    torch.nn.functional.embedding(ids, weight).backward(grad.reshape(2, 32, 64))
    assert weight.grad is not None
    index = ttnn.from_torch(ids, dtype=ttnn.uint32, device=device)
    table = on_device(weight.detach().reshape(1, 1, 40, 64), device, ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)
    found = ttnn.embedding_bw(index, table, on_device(grad, device, ttnn.bfloat16))
    assert list(found.shape) == [1, 1, 40, 64]
    assert torch.equal(ttnn.to_torch(found).float().reshape(40, 64), weight.grad)


@pytest.mark.parametrize(("name", "function"), [("l1_loss", torch.nn.functional.l1_loss), ("mse_loss", torch.nn.functional.mse_loss)])
@pytest.mark.parametrize("reduction", ["NONE", "MEAN", "SUM"])
def test_losses(name: str, function: Callable[..., torch.Tensor], reduction: str, device: Any) -> None:
    torch.manual_seed(0)
    reference, prediction = torch.rand(32, 64), torch.rand(32, 64)
    found = getattr(ttnn, name)(on_device(reference, device), on_device(prediction, device), reduction=getattr(ttnn.LossReductionMode, reduction))
    expected = function(prediction, reference, reduction=reduction.lower())
    torch.testing.assert_close(ttnn.to_torch(found).float().reshape(expected.shape), expected, rtol=1e-2, atol=1e-2)


def test_complex_pairs_and_sums(device: Any) -> None:
    x = torch.arange(2048.0).reshape(1, 1, 32, 64) % 17 - 8
    pairs = x.reshape(1, 1, 32, 32, 2)
    turned = torch.stack([-pairs[..., 1], pairs[..., 0]], dim=-1).reshape(x.shape)
    assert torch.equal(ttnn.to_torch(ttnn.alt_complex_rotate90(on_device(x, device))).float(), turned)
    assert torch.equal(ttnn.to_torch(ttnn.moreh_cumsum(on_device(x, device), 2)).float(), x.cumsum(2))
    assert torch.equal(ttnn.to_torch(ttnn.moreh_cumsum_backward(on_device(x, device), 2)).float(), x.flip(2).cumsum(2).flip(2))
    assert ttnn.pearson_correlation_coefficient(x, on_device(x * 2 + 1, device)) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_into_a_tensor(name: str, device: Any) -> None:
    x, target = torch.rand(SHAPE), on_device(torch.zeros(SHAPE), device)
    op: Any = getattr(ttnn, name)
    op(on_device(x, device), 2, dtype=ttnn.float32, out=target)
    close(target, getattr(torch, name)(x, 2))
    with pytest.raises(InvalidArgument, match="out: expected shape"):
        op(on_device(x, device), 2, out=on_device(torch.zeros(32, 32), device))
    other = op(on_device(x, device), 2, dtype=ttnn.bfloat16, out=target)  # a tensor of its own
    assert other.dtype is ttnn.bfloat16
    torch.testing.assert_close(ttnn.to_torch(other).float(), getattr(torch, name)(x, 2), rtol=1e-2, atol=1e-2)
    single = ttnn.from_torch(torch.tensor(3.0), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)
    number = ttnn.from_torch(torch.tensor(0.0), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)
    op(single, 0, out=number)
    assert ttnn.to_torch(number).item() == 3.0


@pytest.mark.parametrize("indices", [ttnn.uint16, ttnn.uint32])
def test_sort_into_tensors(indices: Any, device: Any) -> None:
    torch.manual_seed(0)
    x = torch.randperm(2048).float().reshape(1, 1, 32, 64)
    values, order = on_device(torch.zeros(SHAPE), device), on_device(torch.zeros(SHAPE, dtype=torch.int32), device, indices)
    ttnn.sort(on_device(x, device), out=(values, order))
    assert torch.equal(ttnn.to_torch(values).float(), x.sort(-1).values)
    assert torch.equal(ttnn.to_torch(order).long(), x.sort(-1).indices)
    with pytest.raises(InvalidArgument, match="out: expected two tensors of shape"):
        ttnn.sort(on_device(x, device), out=(on_device(torch.zeros(1, 1, 32, 32), device), order))
    with pytest.raises(InvalidArgument, match="out: expected values in FLOAT32"):
        ttnn.sort(on_device(x, device), out=(on_device(torch.zeros(SHAPE), device, ttnn.bfloat16), order))


@pytest.mark.parametrize(
    ("shape", "logical", "padded", "taken"),
    [
        ((1, 1, 32, 64), (1, 1, 64, 32), (1, 1, 64, 32), True),
        ((1, 1, 30, 60), (1, 1, 60, 30), (1, 1, 64, 32), True),
        ((1, 1, 32, 64), (1, 1, 10, 64), (1, 1, 32, 64), True),
        ((1, 1, 32, 64), (1, 1, 10, 50), (1, 1, 32, 64), True),
        ((1, 3, 32, 64), (1, 1, 90, 64), (1, 1, 96, 64), True),
        ((1, 1, 10, 64), (1, 1, 32, 64), (1, 1, 32, 64), True),
        ((1, 1, 32, 64), (1, 1, 40, 64), (1, 1, 64, 64), False),
    ],
)
def test_reshape_with_a_padded_shape(shape: Any, logical: Any, padded: Any, taken: bool, device: Any) -> None:
    """Fewer values are the first rows and columns, more are padding, which is 0 here."""
    x = torch.arange(float(torch.Size(shape).numel())).reshape(shape) % 251
    source = on_device(x, device)
    if not taken:
        with pytest.raises(InvalidArgument):
            ttnn.reshape(source, logical, padded)
        return
    found = ttnn.reshape(source, logical, padded)
    assert list(found.shape) == list(logical)
    expected = torch.zeros(logical)
    if x.numel() == expected.numel():
        expected = x.reshape(logical)
    else:
        rows, wanted = x.reshape(-1, shape[-1]), expected.reshape(-1, logical[-1])
        height, width = min(len(rows), len(wanted)), min(shape[-1], logical[-1])
        wanted[:height, :width] = rows[:height, :width]
    assert torch.equal(ttnn.to_torch(found).float(), expected)


def test_padding_with_a_value(device: Any) -> None:
    """Logical values only are computed with; the padding is seen by whoever asks for it."""
    x = torch.ones(3, 5)
    tensor = ttnn.from_torch(x, layout=ttnn.TILE_LAYOUT, dtype=ttnn.bfloat16, pad_value=7.0)
    padded = tensor.to_torch_with_padded_shape()
    assert list(padded.shape) == [32, 32] and padded[3, 5] == 7 and padded[0, 5] == 7 and padded[2, 4] == 1
    assert torch.equal(ttnn.to_torch(ttnn.from_torch(x, layout=ttnn.TILE_LAYOUT, dtype=ttnn.bfloat16, pad_value=7.0, device=device)).float(), x)
