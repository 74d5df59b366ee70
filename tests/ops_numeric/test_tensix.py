"""The `tensix` numerics mode against the model in numpy, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import ttnn

from tests.ops_numeric import tensix_model as model
from tests.tables import table
from ttnn_shim import settings

SHAPES = [(32, 32, 32), (64, 96, 32), (33, 40, 31), (1, 128, 65), (128, 128, 128), (5, 17, 3)]
DTYPES = {"bfloat16": ttnn.bfloat16, "float32": ttnn.float32, "bfloat8_b": ttnn.bfloat8_b}


@pytest.fixture(autouse=True)
def tensix_mode() -> Iterator[None]:
    with settings.numerics("tensix"):
        yield


def operand(shape: tuple[int, ...], dtype: str, seed: int, device: Any, low_exponent: int = -3, high_exponent: int = 3) -> tuple[Any, Any]:
    """A tensor on the device and the values that it holds."""
    rng = np.random.default_rng(seed)
    values = (rng.standard_normal(shape) * 2.0 ** rng.integers(low_exponent, high_exponent + 1, shape)).astype(np.float32)
    tensor = ttnn.from_torch(torch.from_numpy(values), dtype=DTYPES[dtype], layout=ttnn.TILE_LAYOUT, device=device)
    return tensor, ttnn.to_torch(tensor).double().numpy()


def config(fidelity: str, fp32_dest: bool, l1_acc: bool = False) -> Any:
    return ttnn.WormholeComputeKernelConfig(
        math_fidelity=getattr(ttnn.MathFidelity, fidelity), fp32_dest_acc_en=fp32_dest, packer_l1_acc=l1_acc, math_approx_mode=False
    )


def assert_same(actual: Any, expected: model.Array) -> None:
    got = ttnn.to_torch(actual).double().numpy().reshape(expected.shape)
    wrong = np.argwhere(got != expected)
    assert len(wrong) == 0, f"{len(wrong)} of {got.size} differ, first at {wrong[0]}: {got[tuple(wrong[0])]!r} for {expected[tuple(wrong[0])]!r}"


@table("fp32_dest", [False, True])
@table("fidelity", model.PHASES)
@table("dtype", DTYPES)
def test_matmul_is_the_model(dtype: str, fidelity: str, fp32_dest: bool, device: Any) -> None:
    for number, (m, k, n) in enumerate(SHAPES):
        a, x = operand((m, k), dtype, number, device)
        b, w = operand((k, n), dtype, 100 + number, device)
        expected = model.pack(model.matmul(x, w, fidelity, fp32_dest), dtype)
        assert_same(ttnn.matmul(a, b, compute_kernel_config=config(fidelity, fp32_dest)), expected)


@pytest.mark.parametrize("output", ["float32", "bfloat16", "bfloat8_b", "bfloat4_b"])
def test_packer(output: str, device: Any) -> None:
    a, x = operand((33, 64), "bfloat16", 1, device, -8, 8)
    b, w = operand((64, 48), "bfloat16", 2, device, -8, 8)
    for fp32_dest in (False, True):
        expected = model.pack(model.matmul(x, w, "HiFi4", fp32_dest), output)
        assert_same(ttnn.matmul(a, b, dtype=getattr(ttnn, output), compute_kernel_config=config("HiFi4", fp32_dest)), expected)


@pytest.mark.parametrize("fp32_dest", [False, True])
def test_values_of_many_magnitudes(fp32_dest: bool, device: Any) -> None:
    """Alignment drops what is far below the largest product; tiny results underflow, large ones overflow."""
    for spread in (20, 60):
        a, x = operand((40, 64), "float32", 3, device, -spread, spread)
        b, w = operand((64, 33), "float32", 4, device, -spread, spread)
        assert_same(ttnn.matmul(a, b, compute_kernel_config=config("HiFi4", fp32_dest)), model.matmul(x, w, "HiFi4", fp32_dest))


@pytest.mark.parametrize("fp32_dest", [False, True])
def test_blocks_of_k_in_l1(fp32_dest: bool, device: Any) -> None:
    a, x = operand((64, 256), "bfloat16", 5, device)
    b, w = operand((256, 64), "bfloat16", 6, device)
    for block in (1, 2, 4):
        program = ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(
            compute_with_storage_grid_size=(1, 1), in0_block_w=block, out_subblock_h=1, out_subblock_w=1, per_core_M=2, per_core_N=2,
            transpose_mcast=False, fused_activation=None,
        )  # fmt: skip
        for l1_acc in (False, True):
            expected = model.pack(model.matmul(x, w, "HiFi2", fp32_dest, block if l1_acc else 0), "bfloat16")
            result = ttnn.matmul(a, b, program_config=program, compute_kernel_config=config("HiFi2", fp32_dest, l1_acc))
            assert_same(result, expected)


@pytest.mark.parametrize("fp32_dest", [False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_linear_adds_its_bias_in_the_fpu(dtype: str, fp32_dest: bool, device: Any) -> None:
    a, x = operand((33, 64), dtype, 7, device)
    b, w = operand((64, 40), dtype, 8, device)
    c, bias = operand((1, 40), dtype, 9, device)
    for activation in (None, "relu"):
        dst = model.add(model.matmul(x, w, "HiFi4", fp32_dest), bias, fp32_dest)
        expected = model.pack(np.maximum(dst, 0) if activation else dst, dtype)
        result = ttnn.linear(a, b, bias=c, activation=activation, core_grid=ttnn.CoreGrid(x=4, y=4), compute_kernel_config=config("HiFi4", fp32_dest))
        assert_same(result, expected)


def test_a_program_config_or_a_grid_alone_means_lofi(device: Any) -> None:
    """tt-metal issue 55889: with a program config or a grid of its own and no compute config a bfloat16 product falls from HiFi2 to LoFi."""
    a, x = operand((64, 256), "bfloat16", 14, device)
    b, w = operand((256, 64), "bfloat16", 15, device)
    program = ttnn.MatmulMultiCoreReuseProgramConfig(
        compute_with_storage_grid_size=(1, 1), in0_block_w=8, out_subblock_h=1, out_subblock_w=2, per_core_M=2, per_core_N=2
    )
    hifi2 = {"compute_kernel_config": config("HiFi2", False)}
    on_grid, configured = {"core_grid": ttnn.CoreGrid(x=1, y=1)}, {"program_config": program}
    for options, fidelity in (({}, "HiFi2"), (configured, "LoFi"), (on_grid, "LoFi"), (configured | hifi2, "HiFi2"), (on_grid | hifi2, "HiFi2")):
        result = ttnn.matmul(a, b, **options)
        errors = [np.abs(ttnn.to_torch(result).float().numpy() - model.pack(model.matmul(x, w, f, False), "bfloat16")).max() for f in ("LoFi", "HiFi2")]
        assert ("LoFi", "HiFi2")[int(np.argmin(errors))] == fidelity


def test_batches_and_transposes(device: Any) -> None:
    a, x = operand((2, 3, 64, 33), "bfloat16", 10, device)
    b, w = operand((2, 3, 20, 64), "bfloat16", 11, device)
    expected = np.stack([model.matmul(left.T, right.T, "HiFi2", False) for left, right in zip(x.reshape(6, 64, 33), w.reshape(6, 20, 64), strict=True)])
    result = ttnn.matmul(a, b, transpose_a=True, transpose_b=True, compute_kernel_config=config("HiFi2", False))
    assert_same(result, expected)


def test_convolution_is_a_product(device: Any) -> None:
    """K runs over kernel rows, kernel columns, channels."""
    size, channels, filters = 6, 32, 16
    x, image = operand((1, 1, size * size, channels), "bfloat16", 12, device)
    rng = np.random.default_rng(13)
    weight = torch.from_numpy(rng.standard_normal((filters, channels, 3, 3)).astype(np.float32)).bfloat16()
    result = ttnn.conv2d(
        input_tensor=x, weight_tensor=ttnn.from_torch(weight), device=device, in_channels=channels, out_channels=filters, batch_size=1,
        input_height=size, input_width=size, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1,
        compute_config=config("HiFi3", False),
    )  # fmt: skip
    padded = np.pad(image.reshape(size, size, channels), ((1, 1), (1, 1), (0, 0)))
    rows = np.stack([padded[i : i + 3, j : j + 3].reshape(-1) for i in range(size) for j in range(size)])
    kernel = weight.double().numpy().transpose(2, 3, 1, 0).reshape(-1, filters)
    assert_same(result, model.matmul(rows, kernel, "HiFi3", False))


@table("fp32_dest", [False, True])
@table("fidelity", model.PHASES)
@table("dtype", DTYPES)
def test_sums_are_products_with_a_scaler(dtype: str, fidelity: str, fp32_dest: bool, device: Any) -> None:
    x, values = operand((1, 1, 40, 70), dtype, 16, device)
    settings_ = config(fidelity, fp32_dest)
    exact_mean = np.float32(1 / 40)  # in bfloat16 it is cut, not rounded
    scaler = float(exact_mean if dtype == "float32" else (exact_mean.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32))
    for dim, rows in ((-1, values[0, 0].T), (-2, values[0, 0])):
        expected = model.column_sums(rows, 1.0, fidelity, fp32_dest)
        assert_same(ttnn.sum(x, dim=dim, keepdim=True, compute_kernel_config=settings_), packed_line(expected, dtype, dim))
    expected = model.column_sums(values[0, 0], scaler, fidelity, fp32_dest)
    assert_same(ttnn.mean(x, dim=-2, keepdim=True, compute_kernel_config=settings_), packed_line(expected, dtype, -2))


def packed_line(values: model.Array, dtype: str, dim: int) -> model.Array:
    """A reduction's result; one value to a block where the last dimension was reduced."""
    return model.pack(values.reshape((-1, 1) if dim == -1 else (1, -1)), dtype)


@pytest.mark.parametrize(
    ("fidelity", "fp32_dest"),
    [
        (one, wide) if (one, wide) in (("LoFi", False), ("HiFi4", True)) else pytest.param(one, wide, marks=pytest.mark.slow)
        for one in ("LoFi", "HiFi2", "HiFi4")
        for wide in (False, True)
    ],
)
def test_attention_is_the_model(fidelity: str, fp32_dest: bool, device: Any) -> None:
    """Except for exponentials, which the two libraries may round differently in float32."""
    heads, length, depth = 2, 96, 64
    tensors, values = zip(*(operand((1, heads, length, depth), "bfloat16", 20 + i, device, -1, 1) for i in range(3)), strict=True)
    got = ttnn.transformer.scaled_dot_product_attention(*tensors, is_causal=False, compute_kernel_config=config(fidelity, fp32_dest))
    got = ttnn.to_torch(got).double().numpy()[0]
    for head in range(heads):
        q, k, v = (value[0, head] for value in values)
        expected = model.pack(model.attention(q, k, v, depth**-0.5, fidelity, fp32_dest), "bfloat16")
        same = np.mean(got[head] == expected)
        assert same > 0.99, f"{same:.1%} of the values have equal bits"
        np.testing.assert_allclose(got[head], expected, rtol=2**-6, atol=2**-9)


def test_infinities_and_nan(device: Any) -> None:
    values = torch.ones(32, 32)
    values[0, 3], values[1, 3], values[2, 5] = float("inf"), float("-inf"), float("nan")
    a = ttnn.from_torch(values.bfloat16(), layout=ttnn.TILE_LAYOUT, device=device)
    b = ttnn.from_torch(torch.ones(32, 32).bfloat16(), layout=ttnn.TILE_LAYOUT, device=device)
    got = ttnn.to_torch(ttnn.matmul(a, b)).float()
    assert (got[0] == float("inf")).all()
    assert (got[1] == float("-inf")).all()
    assert got[2].isinf().all(), "the FPU makes no NaN"
    assert (got[3:] == 32).all()


def test_the_fast_mode_is_as_inexact(device: Any) -> None:
    """A 16-bit Dst rounds at every step: the error grows with K, as on the chip, and float32 accumulation avoids it."""
    a, x = operand((32, 1024), "bfloat16", 14, device, 0, 0)
    b, w = operand((1024, 32), "bfloat16", 15, device, 0, 0)
    exact = x @ w

    def error(fp32_dest: bool, mode: str) -> float:
        with settings.numerics(mode):
            result = ttnn.matmul(a, b, dtype=ttnn.float32, compute_kernel_config=config("HiFi4", fp32_dest))
        return float(np.linalg.norm(ttnn.to_torch(result).double().numpy() - exact) / np.linalg.norm(exact))

    assert error(True, "tensix") < 2e-3 < error(False, "tensix") < 5e-2
    for fp32_dest in (False, True):
        assert 0.5 < error(fp32_dest, "fast") / error(fp32_dest, "tensix") < 2


def test_the_mode_is_named_and_scoped() -> None:
    assert settings.current_numerics() == "tensix"
    with settings.numerics("fast"):
        assert settings.current_numerics() == "fast"
    with pytest.raises(Exception, match="expected fast or tensix"):
        settings.set_numerics("exact")
    assert settings.current_numerics() == "tensix"


def test_the_environment_sets_it() -> None:
    code = "from ttnn_shim import settings; print(settings.current_numerics())"
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"TTNN_SHIM_NUMERICS": "tensix"}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "tensix"
