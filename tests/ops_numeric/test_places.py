"""Values do not depend on where operands and results lie. A product's K blocks may: TT-NN picks them by place, and each block is rounded in L1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import ttnn

from tests.tables import table
from ttnn_shim import settings

PLACES = [(first, last) for first in ("DRAM", "L1") for last in ("DRAM", "L1")]


def config(place: str) -> Any:
    return ttnn.DRAM_MEMORY_CONFIG if place == "DRAM" else ttnn.L1_MEMORY_CONFIG


def operand(device: Any, *shape: int, place: str = "DRAM", dtype: Any = None) -> Any:
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))
    return ttnn.from_torch(values, dtype=dtype or ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=config(place))


def linear(k: int, n: int, dtype: str = "bfloat16", **configuration: Any) -> Callable[[Any, str, Any], Any]:
    def call(device: Any, place: str, out: Any) -> Any:
        kind = getattr(ttnn, dtype)
        a, w = operand(device, 128, k, place=place, dtype=kind), operand(device, k, n, dtype=kind)
        return ttnn.linear(a, w, memory_config=out, **configuration)

    return call


def attention(device: Any, place: str, out: Any) -> Any:
    q, k, v = (operand(device, 1, 2, 64, 64, place=place) for _ in range(3))
    return ttnn.transformer.scaled_dot_product_attention(q, k, v, is_causal=False, memory_config=out)


ONE_SUM = {"compute_kernel_config": ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi2, packer_l1_acc=False)}
OPS: dict[str, Callable[[Any, str, Any], Any]] = {
    "linear, one sum over K": linear(1024, 256, **ONE_SUM),
    "linear, one sum over K, wide": linear(256, 1024, **ONE_SUM),
    "linear, float32": linear(1024, 256, "float32"),
    "matmul of batches": lambda d, p, out: ttnn.matmul(operand(d, 2, 4, 64, 64, place=p), operand(d, 2, 4, 64, 64, place=p), memory_config=out),
    "attention": attention,
    "softmax": lambda d, p, out: ttnn.softmax(operand(d, 1, 2, 64, 64, place=p), dim=-1, memory_config=out),
    "layer_norm": lambda d, p, out: ttnn.layer_norm(operand(d, 1, 2, 64, 64, place=p), memory_config=out),
    "add": lambda d, p, out: ttnn.add(operand(d, 64, 64, place=p), operand(d, 64, 64, place=p), memory_config=out),
    "mean": lambda d, p, out: ttnn.mean(operand(d, 1, 2, 64, 64, place=p), dim=-1, memory_config=out),
}  # fmt: skip


@table("op", OPS)
def test_places_do_not_change_values(op: str, device: Any) -> None:
    results = [ttnn.to_torch(OPS[op](device, first, config(last))) for first, last in PLACES]
    assert all(torch.equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("mode", ["fast", "tensix"])
def test_k_blocks_that_follow_the_place_do(mode: str, device: Any) -> None:
    """With accumulation in L1 (the default) both modes round once more for each block: another program, another result, as on the chip."""
    call = linear(1024, 256)
    with settings.numerics(mode):
        in_dram, in_l1 = (ttnn.to_torch(call(device, place, config(place))).double() for place in ("DRAM", "L1"))
        exact = ttnn.to_torch(operand(device, 128, 1024)).double() @ ttnn.to_torch(operand(device, 1024, 256)).double()
    assert not torch.equal(in_dram, in_l1)
    errors = [float((got - exact).norm() / exact.norm()) for got in (in_dram, in_l1)]
    assert max(errors) < 2 * min(errors)  # neither is wrong
