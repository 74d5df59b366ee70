"""References of element-wise TTIR ops beside torch's functions, special values included: constants are folded by them, and `.mlir` files checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from alchemist.ops import TTIR_OPS, TTNN_OPS
from tests.tables import table

FLOATS = [0.0, -0.0, 0.25, -0.25, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.5, -2.5, 3.0, -3.0, 6.0, 7.25, -7.25, 40.0, -40.0, math.inf, -math.inf, math.nan]
INTEGERS = [0, 1, -1, 2, -2, 3, -3, 7, -7, 31, 100, -100, 2**31 - 1, -(2**31)]
SHIFTS = [0, 1, 5, 31]
F = torch.nn.functional

UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    **{
        name: getattr(torch, name)
        for name in (
            "abs", "acos", "asin", "asinh", "atan", "ceil", "cos", "erf", "erfc", "exp", "exp2", "expm1", "floor", "frac", "isfinite", "log", "log1p",
            "logical_not", "neg", "reciprocal", "relu", "rsqrt", "sigmoid", "sign", "signbit", "sin", "sqrt", "square", "tan", "tanh", "trunc",
        )
    },
    **{name: getattr(F, name) for name in ("gelu", "hardsigmoid", "mish", "relu6", "selu", "silu", "softsign")},
    "cbrt": lambda x: x.sign() * x.abs().pow(1 / 3),
}  # fmt: skip
NOT_A_NUMBER = {"gelu", "mish", "silu", "softsign", "relu", "relu6", "hardsigmoid", "selu", "sign"}
"""Of infinities and NaN the chip's formula says something else than torch's, so they are left out."""
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    **{
        name: getattr(torch, name)
        for name in (
            "add", "atan2", "div", "eq", "ge", "gt", "le", "logical_and", "logical_or", "logical_xor", "lt", "maximum", "minimum", "multiply", "ne", "pow",
            "subtract",
        )
    },
    "remainder": torch.remainder,
}  # fmt: skip
OF_INTEGERS: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "eq": torch.eq,
    "ge": torch.ge,
    "gt": torch.gt,
    "le": torch.le,
    "lt": torch.lt,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "ne": torch.ne,
}


def reference(name: str, *inputs: np.ndarray, **attributes: Any) -> np.ndarray:
    function = TTIR_OPS[f"ttir.{name}"].reference
    assert function is not None
    (out,) = function(list(inputs), attributes, [np.broadcast_shapes(*(value.shape for value in inputs))])
    return np.asarray(out)


def assert_same(found: np.ndarray, expected: torch.Tensor) -> None:
    wanted = expected.numpy()
    if wanted.dtype.kind in "bi":
        assert np.array_equal(found.astype(np.int64), wanted.astype(np.int64)), (found, wanted)
    else:
        np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=2e-5, atol=2e-6)


@table("name", UNARY)
def test_of_one_value(name: str) -> None:
    values = np.array([x for x in FLOATS if math.isfinite(x) or name not in NOT_A_NUMBER], np.float32)
    with np.errstate(all="ignore"):
        assert_same(reference(name, values), UNARY[name](torch.from_numpy(values)))


@table("name", BINARY)
def test_of_two_values(name: str) -> None:
    finite = [x for x in FLOATS if math.isfinite(x)] if name in ("remainder", "pow") else FLOATS
    a, b = np.array(finite, np.float32)[:, None], np.array([x for x in finite if x or name != "remainder"], np.float32)[None]
    with np.errstate(all="ignore"):
        assert_same(reference(name, a, b), BINARY[name](torch.from_numpy(a), torch.from_numpy(b)))


@table("name", OF_INTEGERS)
def test_of_integers(name: str) -> None:
    a, b = (np.array(INTEGERS[:-2] if name == "add" else INTEGERS, np.int32).reshape(shape) for shape in ((-1, 1), (1, -1)))
    assert_same(reference(name, a, b), OF_INTEGERS[name](torch.from_numpy(a), torch.from_numpy(b)))


@pytest.mark.parametrize("name", ["bitwise_not", "logical_left_shift", "right_shift", "logical_right_shift"])
def test_of_bits(name: str) -> None:
    values = np.array(INTEGERS, np.int32)
    if name == "bitwise_not":
        assert np.array_equal(reference(name, values), ~values)
        return
    for shift in SHIFTS:
        found = reference(name, values, np.full_like(values, shift)).astype(np.int64) & 0xFFFFFFFF
        bits = values.astype(np.int64) & 0xFFFFFFFF
        expected = {"logical_left_shift": bits << shift, "right_shift": values.astype(np.int64) >> shift, "logical_right_shift": bits >> shift}[name]
        assert np.array_equal(found, expected & 0xFFFFFFFF), (shift, found, expected)


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("clamp_scalar", {"min": -1.0, "max": 2.0}, lambda x: x.clamp(-1.0, 2.0)),
        ("leaky_relu", {"parameter": 0.125}, lambda x: F.leaky_relu(x, 0.125)),
        ("gelu", {"alchemist.variant": "Tanh"}, lambda x: F.gelu(x, approximate="tanh")),
        ("selu", {"scale": 1.25, "alpha": 0.5}, lambda x: 1.25 * F.elu(x, 0.5)),
        ("dropout", {"prob": 0.5}, lambda x: x),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_with_attributes(name: str, attributes: dict[str, Any], expected: Callable[[torch.Tensor], torch.Tensor]) -> None:
    values = np.array([x for x in FLOATS if math.isfinite(x)], np.float32)
    assert_same(reference(name, values, **attributes), expected(torch.from_numpy(values)))


def test_of_three_values() -> None:
    x, low, high = (np.array(values, np.float32) for values in ([-3, -1, 0, 1, 3], [-1, -2, 1, 0, 4], [1, 2, 2, 0.5, 5]))
    assert_same(reference("clamp_tensor", x, low, high), torch.from_numpy(x).clamp(torch.from_numpy(low), torch.from_numpy(high)))
    chosen = np.array([0, 1, 2, 0, -1], np.float32)
    assert_same(reference("where", chosen, low, high), torch.where(torch.from_numpy(chosen) != 0, torch.from_numpy(low), torch.from_numpy(high)))


# --- ops that move, pool and attend -------------------------------------------------------------------------------------


def line(*shape: int) -> np.ndarray:
    return np.random.default_rng(math.prod(shape)).permutation(math.prod(shape)).astype(np.float32).reshape(shape)


def results(name: str, inputs: list[Any], shapes: list[Any], **attributes: Any) -> list[np.ndarray]:
    function = (TTIR_OPS | TTNN_OPS)[name].reference
    assert function is not None
    return [np.asarray(value) for value in function(inputs, attributes, shapes)]


@table("dims", [(0,), (1, 2), (0, 2), (2, 0, 1), None])
@table("keep", [False, True])
def test_the_place_of_the_largest(dims: tuple[int, ...] | None, keep: bool) -> None:
    """Over several dims its place among their values, in the order of the dims."""
    x = line(3, 4, 5)
    (found,) = results("ttir.argmax", [x], [()], dim_arg=dims, keep_dim=keep)
    taken = sorted(dims) if dims is not None else [0, 1, 2]
    kept = [d for d in range(3) if d not in taken]
    flat = torch.from_numpy(x).permute(*kept, *taken).reshape(*(x.shape[d] for d in kept), -1).argmax(-1).numpy()
    wanted = flat.reshape([1 if d in taken else x.shape[d] for d in range(3)]) if keep else flat
    assert np.array_equal(found.reshape(wanted.shape), wanted)
    assert found.size == wanted.size


def test_slices_with_computed_bounds() -> None:
    x = line(4, 6)
    begins, ends = np.array([1, 0]), np.array([4, 5])
    assert np.array_equal(results("ttir.slice_dynamic", [x, begins, ends], [(3, 5)])[0], x[1:4, 0:5])
    assert np.array_equal(results("ttir.slice_dynamic", [x, begins, ends], [(3, 3)], step=(1, 2))[0], x[1:4, 0:5:2])


def test_caches() -> None:
    cache, part = line(3, 2, 8, 4), line(1, 2, 5, 4)
    wanted = cache.copy()
    wanted[1, :, :5] = part[0]
    assert np.array_equal(results("ttir.fill_cache", [cache, part], [], batch_offset=1)[0], wanted)
    rows, places = line(1, 3, 2, 4), np.array([7, -1, 0])
    wanted = cache.copy()
    wanted[0, :, 7], wanted[2, :, 0] = rows[0, 0], rows[0, 2]
    assert np.array_equal(results("ttir.paged_update_cache", [cache, rows, places], [])[0], wanted), "a place below 0 is a user without a token"
    pages = np.array([[2, 0], [1, 1], [0, 1]])
    wanted = cache.copy()
    wanted[0, :, 3], wanted[0, :, 2] = rows[0, 0], rows[0, 2]
    assert np.array_equal(results("ttir.paged_update_cache", [cache, rows, np.array([11, -1, 2]), pages], [])[0], wanted), "row 3 of the user's second page"
    assert np.array_equal(results("ttir.paged_update_cache", [cache, rows[:, :1], np.array([5])], [], share_cache=True)[0][0, :, 5], rows[0, 0])


@table("window", [None, 1, 2, 6])
@table(("causal", "columns"), [(True, 6), (False, 6), (True, 8)])
def test_attention_to_a_window(window: int | None, causal: bool, columns: int) -> None:
    """Of the last `window` keys up to the row's own; without the causal mask also of all behind."""
    q, k, v = (torch.from_numpy(line(1, 2, rows, 8) / 50) for rows in (6, columns, columns))
    behind = torch.arange(columns)[None] - torch.arange(6)[:, None] - (columns - 6 if causal else 0)
    shown = (behind <= 0 if causal else torch.ones_like(behind, dtype=torch.bool)) & (behind > -window if window else torch.ones_like(behind, dtype=torch.bool))
    (found,) = results(
        "ttir.scaled_dot_product_attention", [q.numpy(), k.numpy(), v.numpy()], [(1, 2, 6, 8)], is_causal=causal, scale=0.5, sliding_window_size=window
    )
    assert_same(found, F.scaled_dot_product_attention(q, k, v, shown, scale=0.5))


@table(
    ("size", "kernel", "stride", "padding", "dilation"), [(7, 2, 2, 0, 1), (5, 3, 2, 1, 1), (4, 2, 3, 1, 1), (9, 3, 2, 1, 2), (6, 2, 2, 0, 1), (5, 1, 3, 0, 1)]
)
@table("ceil", [False, True])
def test_pools(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> None:
    """No window begins behind the image and its padding in front, also with ceil_mode."""
    x = torch.from_numpy(line(1, 2, size, size + 1))
    planes = x.permute(0, 2, 3, 1).numpy()
    given = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil}
    wanted = F.max_pool2d(x, kernel, stride, padding, dilation, ceil).permute(0, 2, 3, 1)
    assert_same(results("ttir.max_pool2d", [planes], [tuple(wanted.shape)], **given)[0], wanted)
    if dilation == 1:
        for counted in (False, True):
            mean = F.avg_pool2d(x, kernel, stride, padding, ceil, counted).permute(0, 2, 3, 1)
            assert_same(results("ttir.avg_pool2d", [planes], [tuple(mean.shape)], **given, count_include_pad=counted)[0], mean)
    flat = given | {"kernel_size": [kernel, kernel], "stride": [stride] * 2, "padding": [padding, padding, padding, padding], "dilation": [dilation] * 2}
    image = {"batch_size": 1, "input_height": size, "input_width": size + 1, "channels": 2}
    (made,) = results("ttnn.max_pool2d", [planes.reshape(1, 1, -1, 2)], [()], **flat, **image)
    assert_same(made, wanted.reshape(1, 1, -1, 2))


def test_padding_of_flat_images_is_given_by_sides() -> None:
    """Top, bottom, left, right."""
    x = torch.from_numpy(line(1, 1, 4, 5)) + 1
    wanted = F.max_pool2d(F.pad(x, (2, 0, 0, 1), value=-math.inf), 2, 1).permute(0, 2, 3, 1).reshape(1, 1, -1, 1)
    given = {"kernel_size": [2, 2], "stride": [1, 1], "padding": [0, 1, 2, 0], "batch_size": 1, "input_height": 4, "input_width": 5, "channels": 1}
    assert_same(results("ttnn.max_pool2d", [x.permute(0, 2, 3, 1).reshape(1, 1, -1, 1).numpy()], [()], **given)[0], wanted)


def test_heads() -> None:
    """Of one matrix, of two, and dealt by key heads."""
    b, s, heads, kv, d = 2, 3, 4, 2, 5
    q, k, v = line(b, s, heads * d), line(b, s, kv * d) + 100, line(b, s, kv * d) + 200
    wanted = [part.reshape(b, s, -1, d).transpose(0, 2, 1, 3) for part in (q, k, v)]
    name = "ttir.split_query_key_value_and_split_heads"
    for turned in (False, True):
        given = {"num_heads": heads, "num_kv_heads": kv, "transpose_key": turned}
        expected = [wanted[0], np.swapaxes(wanted[1], -1, -2) if turned else wanted[1], wanted[2]]
        for inputs in ([np.concatenate([q, k, v], -1)], [q, np.concatenate([k, v], -1)]):
            for made, part in zip(results(name, inputs, [()] * 3, **given), expected, strict=True):
                assert np.array_equal(made, part)


@pytest.mark.parametrize("turned", [None, False, True])
def test_heads_dealt_by_key_heads(turned: bool | None) -> None:
    """Each key head's part holds its query heads, itself and its values; keys are turned unless it is said."""
    b, s, heads, kv, d = 2, 3, 6, 2, 5
    q, k, v = (line(b, n, s, d) + 1000 * i for i, n in enumerate((heads, kv, kv)))
    dealt = [part for i in range(kv) for part in (*(q[:, i * 3 + j] for j in range(3)), k[:, i], v[:, i])]
    given = {"num_heads": heads, "num_kv_heads": kv} | ({} if turned is None else {"transpose_k_heads": turned})
    found = results("ttnn.create_qkv_heads", [np.concatenate(dealt, -1)[:, None]], [()] * 3, **given)
    for made, part in zip(found, (q, k if turned is False else np.swapaxes(k, -1, -2), v), strict=True):
        assert np.array_equal(made, part)
    alone = results("ttnn.create_qkv_heads", [np.concatenate([q[:, 0], k[:, 0], v[:, 0]], -1)[:, None]], [()] * 3, num_heads=1)
    assert np.array_equal(alone[2], v[:, :1]), "as many key heads as query heads, where it is not said"


def test_pixels_of_planes() -> None:
    planes = line(1, 2, 3, 10)
    (found,) = results("ttnn.convert_to_hwc", [planes], [(1, 1, 20, 8)])
    assert found.shape == (1, 1, 20, 8)
    assert np.array_equal(found[0, 0, :, :3], planes[0].transpose(0, 2, 1).reshape(20, 3))
    assert not found[..., 3:].any()
