"""Golden functions: what `ttnn.get_golden_function` gives equals what the ops compute; ops without one say so."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import ttnn
from ttnn_extras.golden import golden_of

from tests.tables import table

SHAPE = (1, 1, 32, 64)
BELOW_ONE = ("acos", "asin", "atanh", "erfinv")
POSITIVE = ("acosh", "digamma", "lgamma", "log", "log10", "log1p", "log2", "multigammaln", "rsqrt", "sqrt")
UNARY = (*BELOW_ONE, *POSITIVE, *"""abs asinh atan cbrt ceil celu cos cosh elu eqz erf erfc exp exp2 expm1 floor frac gelu gez gtz hardshrink hardsigmoid
hardswish hardtanh i0 isfinite lez log_sigmoid ltz mish neg nez rad2deg reciprocal relu relu6 selu sigmoid sign silu sin sinh softplus softsign
softshrink square tan tanh tanhshrink trunc""".split())  # fmt: skip
BINARY = "add sub mul div eq gt le maximum minimum hypot squared_difference logaddexp xlogy atan2 pow".split()
EXTRA: dict[str, tuple[Any, ...]] = {
    "addalpha": (0.5,), "subalpha": (0.5,), "rpow": (2.0,), "relu_max": (0.7,), "relu_min": (0.2,), "threshold": (0.1, 2.0), "polyval": ([1.0, 2.0, 3.0],),
    "clamp": (-0.5, 0.5), "rdiv": (2.0,), "heaviside": (0.5,), "geglu": (-1,), "swiglu": (-1,),
}  # fmt: skip


def operands(name: str) -> list[torch.Tensor]:
    torch.manual_seed(0)
    first, second = torch.randn(SHAPE), torch.rand(SHAPE) + 0.5
    if name in BELOW_ONE:
        return [second - 1.0]
    if name in POSITIVE:
        return [second + (2.0 if name == "multigammaln" else 1.0)]
    return [second, first.abs() + 0.1] if name in (*BINARY, "addalpha", "subalpha") else [second if name in ("rdiv", "reciprocal") else first]


@pytest.mark.parametrize("name", ["acos", "asin", "acosh", "atanh"])
def test_golden_functions_at_the_ends_of_their_domain(name: str, device: Any) -> None:
    """There, and beyond, they have what the op has: an infinity or no number."""
    values = torch.tensor([[-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]])
    expected = ttnn.get_golden_function(getattr(ttnn, name))(values)
    got = getattr(ttnn, name)(ttnn.from_torch(values, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device))
    torch.testing.assert_close(ttnn.to_torch(got), expected, rtol=1e-3, atol=1e-3, equal_nan=True)


@table("name", [*UNARY, *BINARY, *EXTRA])
def test_golden_functions_are_what_ops_compute(name: str, device: Any) -> None:
    operation = getattr(ttnn, name)
    inputs, extra = operands(name), EXTRA.get(name, ())
    expected = ttnn.get_golden_function(operation)(*inputs, *extra, memory_config=None)
    on_device = [ttnn.from_torch(value, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device) for value in inputs]
    torch.testing.assert_close(ttnn.to_torch(operation(*on_device, *extra)).float(), expected.float(), rtol=2e-2, atol=2e-2)


def test_golden_functions_of_layers(device: Any) -> None:
    torch.manual_seed(0)
    a, b, bias = torch.randn(1, 2, 32, 64), torch.randn(64, 96) / 8, torch.randn(96)

    def on(value: torch.Tensor) -> Any:
        return ttnn.from_torch(value, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)

    cases = [
        (ttnn.linear, (a, b), {"bias": bias, "activation": "relu"}),
        (ttnn.layer_norm, (a,), {"weight": bias[:64], "epsilon": 1e-5}),
        (ttnn.rms_norm, (a,), {"weight": bias[:64], "epsilon": 1e-5}),
        (ttnn.softmax, (a,), {"dim": -1}),
        (ttnn.sum, (a,), {"dim": -1, "keepdim": True}),
        (ttnn.max, (a,), {"dim": -1}),
        (ttnn.transformer.concatenate_heads, (a,), {}),
        (ttnn.permute, (a, (0, 2, 1, 3)), {}),
    ]
    for operation, args, kwargs in cases:
        expected = ttnn.get_golden_function(operation)(*args, **kwargs)
        placed, named = [on(x) if torch.is_tensor(x) else x for x in args], {k: on(x) if torch.is_tensor(x) else x for k, x in kwargs.items()}
        found = ttnn.to_torch(operation(*placed, **named)).float()
        torch.testing.assert_close(found, expected.float().reshape(found.shape), rtol=5e-2, atol=1e-1)
    query, key, value = ttnn.transformer.split_query_key_value_and_split_heads.golden_function(torch.randn(2, 32, 192), num_heads=2)
    assert [list(part.shape) for part in (query, key, value)] == [[2, 2, 32, 32], [2, 2, 32, 32], [2, 2, 32, 32]]


def spread(*dims: int, low: float = -2.0, high: float = 2.0) -> torch.Tensor:
    """Values that are no two alike, in no order."""
    count = math.prod(dims)
    return (torch.arange(count) * 7919 % count / count * (high - low) + low).reshape(dims)


M, POSITIVE_M, SQUARE, BIAS = spread(1, 1, 32, 64), spread(1, 1, 32, 64, low=0.5, high=3.0), spread(64, 64), spread(1, 1, 1, 64)
HEADS = spread(1, 4, 32, 32)
MASK = torch.arange(32.0).neg().expand(1, 1, 32, 32).contiguous()
# Names of ops below `ttnn`, operands, other arguments.
FORMS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "matmul, b turned": ("matmul", (M, SQUARE), {"transpose_b": True}),
    "matmul, a turned": ("matmul", (SQUARE, SQUARE), {"transpose_a": True}),
    "matmul with activation": ("matmul", (M, SQUARE), {"activation": "silu"}),
    "linear, b turned": ("linear", (M, SQUARE), {"bias": BIAS, "transpose_b": True}),
    "addmm": ("addmm", (spread(32, 64), spread(32, 64), SQUARE), {"alpha": 0.5, "beta": 2.0}),
    "softmax of rows": ("softmax", (M, 2), {}),
    "scaled, masked softmax": ("scale_mask_softmax", (HEADS, 0.5, MASK), {}),
    "attention softmax": ("transformer.attention_softmax", (HEADS,), {"head_size": 16, "attention_mask": MASK}),
    "layer norm of a sum": ("layer_norm", (M,), {"residual_input_tensor": POSITIVE_M, "weight": BIAS, "bias": BIAS, "epsilon": 0.5}),
    "rms norm": ("rms_norm", (M,), {"epsilon": 0.5}),
    "attention": ("transformer.scaled_dot_product_attention", (HEADS, HEADS + 1, HEADS * 2), {"is_causal": True}),
    "attention, grouped, masked": (
        "transformer.scaled_dot_product_attention", (HEADS, HEADS[:, :2], HEADS[:, 2:]), {"attn_mask": MASK, "is_causal": False, "scale": 0.25},
    ),
    "mean": ("mean", (M,), {"dim": -2}),
    "min of all": ("min", (M,), {}),
    "sum of two": ("sum", (HEADS,), {"dim": (1, 2), "keepdim": True}),
    "std": ("std", (M,), {"dim": -1}),
    "prod": ("prod", (spread(1, 1, 32, 4, low=0.8, high=1.2), -1), {}),
    "cumsum": ("cumsum", (M, 2), {}),
    "concat": ("concat", ([M, POSITIVE_M], -2), {}),
    "repeat": ("repeat", (M, (1, 2, 1, 3)), {}),
    "repeat_interleave": ("repeat_interleave", (M, 2, 1), {}),
    "pad": ("pad", (M, [(0, 0), (0, 1), (0, 32), (0, 64)], 3.0), {}),
    "transpose": ("transpose", (HEADS, 1, 2), {}),
    "squeeze": ("squeeze", (M, 0), {}),
    "unsqueeze": ("unsqueeze", (spread(32, 64), 1), {}),
    "expand": ("expand", (BIAS, (1, 1, 32, 64)), {}),
    "reshape": ("reshape", (M, (1, 2, 32, 32)), {}),
    "split": ("split", (M, 32, 3), {}),
    "chunk": ("chunk", (M, 2, 3), {}),
    "stack": ("stack", ([M[0, 0], POSITIVE_M[0, 0]], 0), {}),
    "roll": ("roll", (M, 3, 3), {}),
    "gather": ("gather", (M, 3, (spread(1, 1, 32, 64, low=0.0, high=63.0)).int()), {}),
    "topk": ("topk", (M, 32, 3), {}),
    "zeros_like": ("zeros_like", (M,), {}),
    "ones_like": ("ones_like", (M,), {}),
    "full_like": ("full_like", (M, 2.5), {}),
    "where": ("where", ((M > 0).float(), POSITIVE_M, M), {}),
    "addcmul": ("addcmul", (M, POSITIVE_M, M + 1), {"value": 0.5}),
    "addcdiv": ("addcdiv", (M, M + 1, POSITIVE_M), {"value": 0.5}),
    "lerp": ("lerp", (M, POSITIVE_M, 0.25), {}),
    "mac": ("mac", (M, POSITIVE_M, M + 1), {}),
    "isclose": ("isclose", (M, M.round()), {"rtol": 0.0, "atol": 0.25}),
    "outer": ("outer", (spread(1, 1, 1, 32), spread(1, 1, 1, 64)), {}),
    "prelu": ("prelu", (M, 0.25), {}),
    "bias_gelu": ("bias_gelu", (M, POSITIVE_M), {}),
    "div down": ("div", (M, POSITIVE_M), {"rounding_mode": "floor"}),
    "div_no_nan": ("div_no_nan", (M, (M * 2).round()), {}),
    "div_no_nan by 0": ("div_no_nan", (M, 0.0), {}),
    "remainder": ("remainder", (M, POSITIVE_M), {}),
    "fmod": ("fmod", (M, POSITIVE_M), {}),
    "l1_loss": ("l1_loss", (M, POSITIVE_M), {}),
    "mse_loss": ("mse_loss", (M, POSITIVE_M), {}),
    "rdiv": ("rdiv", (POSITIVE_M, 2.0), {"rounding_mode": "trunc"}),
    "round": ("round", (M,), {"decimals": 1}),
    "leaky_relu": ("leaky_relu", (M,), {"negative_slope": 0.25}),
    "elu": ("elu", (M,), {"alpha": 0.5}),
    "celu": ("celu", (M,), {"alpha": 0.5}),
    "hardtanh": ("hardtanh", (M,), {"min_val": -0.5, "max_val": 0.25}),
    "hardshrink": ("hardshrink", (M,), {"lambd": 0.75}),
    "softshrink": ("softshrink", (M,), {"lambd": 0.75}),
    "logit": ("logit", (spread(1, 1, 32, 64, low=0.1, high=0.9),), {"eps": 0.25}),
    "xielu": ("xielu", (M,), {"alpha_p": 0.5, "alpha_n": 0.25}),
    "fill": ("fill", (M, 2.0), {}),
    "polygamma": ("polygamma", (POSITIVE_M, 2), {}),
    "glu": ("glu", (M, -1), {}),
    "reglu": ("reglu", (M, -1), {}),
    "normalize_global": ("normalize_global", (M,), {}),
    "normalize_hw": ("normalize_hw", (M,), {}),
    "alt_complex_rotate90": ("alt_complex_rotate90", (M,), {}),
    "clone": ("clone", (M,), {}),
    "hardmish": ("hardmish", (M,), {}),
    "view": ("view", (M, (1, 32, 64)), {}),
    "sort, largest first": ("sort", (M,), {"dim": -1, "descending": True}),
    "cumprod": ("cumprod", (spread(1, 1, 32, 64, low=0.9, high=1.1), 2), {}),
    "concat, groups of channels": ("concat", ([M, POSITIVE_M], 3), {"groups": 2}),
    "matmul, b with more dimensions": ("matmul", (M[0], SQUARE[None, None]), {}),
    "embedding": ("embedding", (spread(1, 32, low=0.0, high=64.0).int(), SQUARE), {}),
    "shift without sign": ("logical_right_shift", ((M * 100).int(), 2), {}),
    "bcast over rows": ("bcast", (M, BIAS, ttnn.BcastOpMath.SUB, ttnn.BcastOpDim.H), {}),
    "bcast of one number": ("bcast", (M, BIAS[..., :1], ttnn.BcastOpMath.MUL, ttnn.BcastOpDim.HW), {}),
    "bcast over columns": ("bcast", (M, spread(1, 1, 32, 1), ttnn.BcastOpMath.ADD, ttnn.BcastOpDim.W), {}),
}  # fmt: skip


@table("case", FORMS)
def test_golden_functions_with_arguments(case: str, device: Any) -> None:
    name, args, kwargs = FORMS[case]
    operation = ttnn
    for part in name.split("."):
        operation = getattr(operation, part)

    def on(value: Any) -> Any:
        if isinstance(value, list) and value and torch.is_tensor(value[0]):
            return [on(one) for one in value]
        if not torch.is_tensor(value):
            return value
        kind = ttnn.uint32 if value.dtype == torch.int32 else ttnn.bfloat16 if "attention" in name or name == "embedding" else ttnn.float32
        return ttnn.from_torch(value, dtype=kind, layout=ttnn.TILE_LAYOUT, device=device)

    given = [value.long() if torch.is_tensor(value) and value.dtype == torch.int32 else value for value in args]
    given[:1] = [given[0] > 0] if name == "where" else given[:1]
    expected = ttnn.get_golden_function(operation)(*given, **kwargs)
    found = operation(*map(on, args), **{key: on(value) for key, value in kwargs.items()})
    wanted = list(expected) if isinstance(expected, (list, tuple)) else [expected]
    for have, want in zip(found if isinstance(found, (list, tuple)) else [found], wanted, strict=True):
        values = ttnn.to_torch(have).float()
        torch.testing.assert_close(values, want.float().reshape(values.shape), rtol=2e-2, atol=5e-2)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("zeros", ([2, 3],), torch.zeros(2, 3)),
        ("ones", ([2, 3],), torch.ones(2, 3)),
        ("full", ([2, 3], 2.5), torch.full((2, 3), 2.5)),
        ("arange", (3, 12, 4), torch.tensor([3, 7, 11])),
    ],
)
def test_golden_functions_of_new_tensors(name: str, args: tuple[Any, ...], expected: torch.Tensor, device: Any) -> None:
    operation = getattr(ttnn, name)
    assert torch.equal(ttnn.get_golden_function(operation)(*args), expected)
    assert torch.equal(ttnn.to_torch(operation(*args, device=device)).to(expected.dtype).reshape(expected.shape), expected)


def test_gradients_are_torchs() -> None:
    x = torch.randn(4, 8)
    (gradient,) = golden_of("ttnn.square_bw")(torch.ones(4, 8), x)  # type: ignore[misc]
    torch.testing.assert_close(gradient, 2 * x)


def test_ops_without_a_golden_function_and_attached_ones() -> None:
    operation = ttnn.sharded_to_interleaved_partial
    with pytest.raises(RuntimeError, match="does not have a golden function"):
        ttnn.get_golden_function(operation)
    ttnn.attach_golden_function(operation, lambda x: x + 1)
    try:
        assert ttnn.get_golden_function(operation)(1) == 2
    finally:
        operation.golden_function = None


def test_fallback_functions_compute_on_the_host(device: Any) -> None:
    """A golden function on an op's own tensors; its results are placed like the first of them."""
    x = torch.randn(2, 4, 32).bfloat16()
    rows = ttnn.from_torch(x, device=device)
    turned = ttnn.get_fallback_function(ttnn.reshape)(rows, (2, 2, 64))
    assert (list(turned.shape), turned.dtype, turned.layout, turned.device()) == ([2, 2, 64], ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT, rows.device())
    assert torch.equal(ttnn.to_torch(turned), x.reshape(2, 2, 64))
    parts = ttnn.get_fallback_function(ttnn.split)(ttnn.from_torch(x), 2, dim=1)
    assert [ttnn.to_torch(part).tolist() for part in parts] == [part.tolist() for part in x.split(2, 1)]
    assert parts[0].device() is None
    with pytest.raises(RuntimeError, match="does not have a golden function"):
        ttnn.get_fallback_function(ttnn.sharded_to_interleaved_partial)


IMAGE = {"batch_size": 2, "input_h": 8, "input_w": 6, "channels": 32}
WINDOWS: dict[str, tuple[str, dict[str, Any]]] = {
    "max": ("max_pool2d", IMAGE | {"kernel_size": [3, 3], "stride": [2, 2], "padding": [1, 1], "dilation": [1, 1]}),
    "max, uneven padding": ("max_pool2d", IMAGE | {"kernel_size": [2, 2], "stride": [1, 1], "padding": [0, 1, 1, 0], "dilation": [1, 1]}),
    "average": ("avg_pool2d", IMAGE | {"kernel_size": [2, 2], "stride": [2, 2], "padding": [0, 0]}),
    "average, padding not counted": ("avg_pool2d", IMAGE | {"kernel_size": [3, 3], "stride": [1, 1], "padding": [1, 1], "count_include_pad": False}),
    "upsample": ("upsample", {"scale_factor": [2, 3]}),
    "upsample bilinear": ("upsample", {"scale_factor": 2, "mode": "bilinear"}),
    "grid": ("grid_sample", {"align_corners": False}),
    "adaptive average": ("adaptive_avg_pool2d", IMAGE | {"output_size": [4, 3]}),
    "adaptive max": ("adaptive_max_pool2d", IMAGE | {"output_size": [4, 3]}),
    "global average": ("global_avg_pool2d", {}),
    "grid of pairs": ("grid_sample", {"grid_batching_factor": 2, "batch_output_channels": True}),
}


@table("case", WINDOWS)
def test_golden_functions_of_windows(case: str, device: Any) -> None:
    torch.manual_seed(0)
    name, settings = WINDOWS[case]
    image = torch.randn(2, 8, 6, 32)
    inputs = [image.reshape(1, 1, -1, 32) if "pool" in name and "global" not in name else image]
    if name == "grid_sample":
        inputs.append(torch.rand(2, 4, 5, 2 * settings.get("grid_batching_factor", 1)) * 2.4 - 1.2)
    operation = getattr(ttnn, name)
    expected = getattr(ttnn.operations.pool, {"max_pool2d": "golden_maxpool2d"}.get(name, f"golden_{name}"))(*inputs, **settings)
    given = {key: value for key, value in settings.items() if key != "grid_batching_factor"}  # the op reads it off the grid
    on_device = [ttnn.from_torch(inputs[0], dtype=ttnn.bfloat16, device=device)]
    on_device += [ttnn.from_torch(value, dtype=ttnn.float32, device=device) for value in inputs[1:]]
    torch.testing.assert_close(ttnn.to_torch(operation(*on_device, **given)).float(), expected.float(), rtol=3e-2, atol=3e-2)
    if hasattr(operation, "golden_function"):
        assert torch.equal(ttnn.get_golden_function(operation)(*inputs, **settings), expected)


def test_golden_functions_of_activations() -> None:
    x = torch.randn(64)
    of = ttnn.operations.activations.get_golden_function_for_activation
    assert of(None) is None
    for activation in ("relu", ttnn.UnaryOpType.RELU, ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)):
        assert torch.equal(of(activation)(x), x.relu())
    assert torch.equal(of("gelu_tanh")(x), torch.nn.functional.gelu(x, approximate="tanh"))
    with pytest.raises(RuntimeError, match="does not have a golden function"):
        of("softmax_of_nothing")


@pytest.mark.parametrize("name", ["floor", "exp2", "softsign", "elu", "hardtanh", "lgamma", "tan"])
def test_golden_functions_of_gradients_that_are_composed_in_python(name: str, device: Any) -> None:
    torch.manual_seed(0)
    x, grad = torch.rand(SHAPE) * 0.8 + 0.1, torch.rand(SHAPE)
    operation = getattr(ttnn, f"{name}_bw")
    on_device = [ttnn.from_torch(value, ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device) for value in (grad, x)]
    (expected,) = ttnn.get_golden_function(operation)(grad, x)
    torch.testing.assert_close(ttnn.to_torch(operation(*on_device)[0]), expected, rtol=2e-3, atol=2e-3)
