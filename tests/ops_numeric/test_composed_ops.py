"""Ops that Python composes of others (`ttnn_extras/composed.py`, `complex_tensors.py`, `moreh.py`), against torch, and their shapes and refusals.

Shapes and refusals were recorded from ttnn 0.81.1 over a mock Wormhole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import ttnn

from tests.tables import table

DRAM = ttnn.DRAM_MEMORY_CONFIG
X = torch.randn(2, 3, 40, 50, generator=torch.Generator().manual_seed(0)).bfloat16()
Y = torch.randn(2, 3, 50, 70, generator=torch.Generator().manual_seed(1)).bfloat16()
Z = torch.randn(2, 3, 40, 50, generator=torch.Generator().manual_seed(2)).bfloat16()
ROW = X[0, 0, 0].reshape(1, 1, 1, 50)
COMPLEX = torch.complex(X.float(), Z.float())

Put = Callable[..., Any]
Case = tuple[Callable[[Put], Any], Callable[[], torch.Tensor]]


def _complex(put: Put) -> Any:
    return ttnn.complex_tensor(put(X), put(Z))


def _parts(value: Any) -> list[Any]:
    return [value.real, value.imag]


def _moving_average(x: torch.Tensor, alpha: float) -> torch.Tensor:
    total, columns = torch.zeros(x.shape[:-1]), []
    for column in x.float().unbind(-1):
        total = alpha * total + (1 - alpha) * column
        columns.append(total)
    return torch.stack(columns, -1)


def _weight_of_first(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    values, indices = torch.topk(x.float(), 32, -1)
    return (torch.softmax(values + mask, -1) * (indices == 0)).sum(-1, keepdim=True)


def _sparse(a: torch.Tensor, b: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    return torch.where(chosen[..., None, None] != 0, a.float() @ b.float(), 0.0)


def _multicast(**sizes: int) -> Any:
    return ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(
        compute_with_storage_grid_size=ttnn.CoreCoord(1, 2), in0_block_w=1, out_subblock_h=1, out_subblock_w=1, out_block_h=1, out_block_w=1,
        per_core_M=2, per_core_N=1, fuse_batch=False, fused_activation=None, mcast_in0=True,
    )  # fmt: skip


SCORES = torch.randn(1, 1, 64, 64, generator=torch.Generator().manual_seed(3)).bfloat16()
SCORES[..., ::2, 0] = 4.0  # expert 0 is chosen in every other row
MASK = torch.tensor([0.0] * 4 + [-100.0] * 28).reshape(1, 1, 1, 32)
CHOSEN = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
A, B = (torch.randn(2, 3, *s, generator=torch.Generator().manual_seed(4)).bfloat16() for s in ((64, 32), (32, 64)))
Q, K = (torch.randn(1, h, 64, 96, generator=torch.Generator().manual_seed(5)).bfloat16() for h in (4, 1))

CASES: dict[str, Case] = {
    "real": (lambda put: ttnn.real(_complex(put)), lambda: COMPLEX.real),
    "imag": (lambda put: ttnn.imag(_complex(put)), lambda: COMPLEX.imag),
    "angle": (lambda put: ttnn.angle(_complex(put)), lambda: COMPLEX.angle()),
    "complex abs": (lambda put: ttnn.abs(_complex(put), memory_config=DRAM), lambda: COMPLEX.abs()),
    "complex reciprocal": (
        lambda put: _parts(ttnn.reciprocal(_complex(put), memory_config=DRAM)),
        lambda: torch.stack([(1 / COMPLEX).real, (1 / COMPLEX).imag]),
    ),
    "conj": (lambda put: _parts(ttnn.conj(_complex(put))), lambda: torch.stack([X.float(), -Z.float()])),
    "polar": (
        lambda put: _parts(ttnn.polar(_complex(put))),
        lambda: torch.stack([X.float() * Z.float().cos(), X.float() * Z.float().sin()]),
    ),
    "moreh_sum": (lambda put: ttnn.moreh_sum(put(X), dim=[1, 3]), lambda: X.float().sum((1, 3)).unsqueeze(-1)),
    "moreh_sum of all": (lambda put: ttnn.moreh_sum(put(X)), lambda: X.float().sum().reshape(1, 1)),
    "moreh_mean": (lambda put: ttnn.moreh_mean(put(X), dim=0), lambda: X.float().mean(0)),
    "moreh_mean with a divisor": (lambda put: ttnn.moreh_mean(put(X), dim=2, divisor=10), lambda: X.float().sum(2, keepdim=True) / 10),
    "moreh_sum_backward": (
        lambda put: ttnn.moreh_sum_backward(put(X[:, :, :1]), input=put(X), dim=2, keepdim=True),
        lambda: X.float()[:, :, :1].expand(2, 3, 40, 50),
    ),
    "moreh_mean_backward": (
        lambda put: ttnn.moreh_mean_backward(put(X[:, :, :1]), dim=2, keepdim=True, input_grad_shape=[2, 3, 40, 50]),
        lambda: X.float()[:, :, :1].expand(2, 3, 40, 50) / 40,
    ),
    "moreh_layer_norm": (
        lambda put: ttnn.moreh_layer_norm(put(X), 2, 1e-5, put(Z[0, 0]), put(Z[0, 1]))[0],
        lambda: F.layer_norm(X.float(), (40, 50), Z[0, 0].float(), Z[0, 1].float()),
    ),
    "statistics of moreh_layer_norm": (
        lambda put: ttnn.moreh_layer_norm(put(X), 1, 1e-5, mean=put(torch.zeros(2, 3, 40)), rstd=put(torch.zeros(2, 3, 40)))[1:],
        lambda: torch.stack([X.float().mean(-1), (X.float().var(-1, unbiased=False) + 1e-5).rsqrt()]),
    ),
    "moreh_dot": (lambda put: ttnn.moreh_dot(put(ROW), put(ROW)), lambda: (ROW.float() ** 2).sum().reshape(1, 1, 1, 1)),
    "moreh_matmul": (
        lambda put: ttnn.moreh_matmul(put(X), put(Y[0, 0]), bias=put(Y[0, 0, :1])),
        lambda: X.float() @ Y[0, 0].float() + Y[0, 0, :1].float(),
    ),
    "moreh_matmul, both broadcast": (lambda put: ttnn.moreh_matmul(put(X[:, :1]), put(Y[:1])), lambda: X[:, :1].float() @ Y[:1].float()),
    "moreh_bmm": (lambda put: ttnn.moreh_bmm(put(X[0]), put(Y[0])), lambda: X[0].float() @ Y[0].float()),
    "moreh_linear": (lambda put: ttnn.moreh_linear(put(X), put(Z[0, 0])), lambda: X.float() @ Z[0, 0].float().T),
    "moreh_softmax": (lambda put: ttnn.moreh_softmax(put(X), 1), lambda: X.float().softmax(1)),
    "moreh_softmin": (lambda put: ttnn.moreh_softmin(put(X), 2), lambda: F.softmin(X.float(), 2)),
    "moreh_logsoftmax": (lambda put: ttnn.moreh_logsoftmax(put(X * 20), 3), lambda: (X * 20).float().log_softmax(3)),
    "moreh_softmax_backward": (
        lambda put: ttnn.moreh_softmax_backward(put(X.softmax(3)), put(Z), 3),
        lambda: torch._softmax_backward_data(Z.float(), X.softmax(3).float(), 3, torch.float32),
    ),
    "moreh_logsoftmax_backward": (
        lambda put: ttnn.moreh_logsoftmax_backward(put(X.log_softmax(3)), put(Z), 3),
        lambda: torch._log_softmax_backward_data(Z.float(), X.log_softmax(3).float(), 3, torch.float32),
    ),
    **{
        f"moreh_norm of {p}": (lambda put, p=p: ttnn.moreh_norm(put(X), p, dim=3), lambda p=p: torch.linalg.vector_norm(X.float(), p, 3, keepdim=True))
        for p in (0.0, 1.0, 2.0, 2.5, float("inf"), -float("inf"))
    },
    "moreh_arange": (lambda put: ttnn.moreh_arange(1, 20, 2, put.device), lambda: torch.arange(1.0, 20, 2).reshape(1, 10)),
    "ema": (lambda put: ttnn.ema(put(X[:1]), 0.25), lambda: _moving_average(X[:1], 0.25)),
    "ema into a tensor": (lambda put: ttnn.ema(put(X[:1]), 0.9, out=put(Z[:1])), lambda: _moving_average(X[:1], 0.9)),
    "moe": (lambda put: ttnn.moe(put(SCORES), put(SCORES[..., :1, :]), put(MASK), 32), lambda: _weight_of_first(SCORES, MASK)),
    "sparse_matmul of pairs": (
        lambda put: ttnn.sparse_matmul(put(A), put(B), sparsity=put(CHOSEN.reshape(1, 1, 1, 6), layout=ttnn.ROW_MAJOR_LAYOUT),
                                       is_input_a_sparse=True, is_input_b_sparse=True, program_config=_multicast()),
        lambda: _sparse(A, B, CHOSEN.reshape(2, 3)),
    ),
    "sparse_matmul of all with experts": (
        lambda put: ttnn.sparse_matmul(put(A[:, :1]), put(B[:1]), sparsity=put(CHOSEN.reshape(2, 1, 1, 3), layout=ttnn.ROW_MAJOR_LAYOUT),
                                       program_config=_multicast()),
        lambda: _sparse(A[:, :1, None, None], B[None, :1], CHOSEN.reshape(2, 1, 1, 3)),
    ),
    "dit_minimal_matmul_addcmul_fused": (
        lambda put: ttnn.experimental.dit_minimal_matmul_addcmul_fused(put(A[0, 0]), put(B[0, 0]), 2.0, put(SCORES[0, 0]), put(SCORES[0, 0, :1])),
        lambda: SCORES[0, 0].float() + 2 * (A[0, 0].float() @ B[0, 0].float()) * SCORES[0, 0, :1].float(),
    ),
    "attn_matmul": (
        lambda put: ttnn.experimental.attn_matmul(put(X.permute(0, 1, 2, 3)[:1, :, :2]), put(Y[:, :1]), compute_with_storage_grid_size=ttnn.CoreCoord(8, 8)),
        lambda: torch.einsum("ahuk,uakn->ahun", X[:1, :, :2].float(), Y[:, :1].float()),
    ),
    "complex_mul": (
        lambda put: list(ttnn.experimental.complex_mul(put(X), put(Z), put(Z), put(X))),
        lambda: torch.stack([torch.zeros(2, 3, 40, 50), X.float() ** 2 + Z.float() ** 2]),
    ),
    "flash_mla_prefill": (
        lambda put: ttnn.transformer.flash_mla_prefill(put(Q), put(K), 64, is_causal=True),
        lambda: F.scaled_dot_product_attention(Q.float(), K.float(), K.float()[..., :64], is_causal=True, enable_gqa=True),
    ),
    "topk into two tensors": (
        lambda put: ttnn.topk(put(SCORES), 32, output_tensor=(put(SCORES[..., :32]), put(torch.zeros(1, 1, 64, 32), dtype=ttnn.uint32)))[0],
        lambda: torch.topk(SCORES.float(), 32)[0],
    ),
    "prod into a tensor": (
        lambda put: ttnn.prod(put(X), put(torch.zeros(1, 1, 40, 50)), dims=[0, 1]),
        lambda: X.float().prod(0, keepdim=True).prod(1, keepdim=True),
    ),
}  # fmt: skip


class _Put:
    def __init__(self, device: Any) -> None:
        self.device = device

    def __call__(self, value: torch.Tensor, dtype: Any = ttnn.bfloat16, layout: Any = ttnn.TILE_LAYOUT) -> Any:
        return ttnn.from_torch(value, dtype=dtype, layout=layout, device=self.device)


@table("name", CASES)
def test_composed_ops_compute_what_torch_does(device: Any, name: str) -> None:
    run, reference = CASES[name]
    got = run(_Put(device))
    values = torch.stack([ttnn.to_torch(part).float() for part in got]) if isinstance(got, list) else ttnn.to_torch(got).float()
    expected = reference()
    assert values.shape == expected.shape
    torch.testing.assert_close(values, expected.float(), rtol=0.05, atol=0.06 * float(expected.abs().mean()) + 1e-6)


REFUSED: dict[str, tuple[Callable[[Put], Any], str]] = {
    "k of moe": (lambda put: ttnn.moe(put(SCORES), put(SCORES[..., :1, :]), put(MASK), 4), "expected 32"),
    "a negative dimension of moreh_sum": (lambda put: ttnn.moreh_sum(put(X), dim=-1), "expected 0 to 3"),
    "rows of moreh_dot": (lambda put: ttnn.moreh_dot(put(X), put(X)), r"\[1, 1, 1, N\]"),
    "sparsity in tiles": (
        lambda put: ttnn.sparse_matmul(put(A), put(B), sparsity=put(CHOSEN.reshape(1, 1, 1, 6)), is_input_a_sparse=True, program_config=_multicast()),
        "ROW_MAJOR",
    ),
    "batch of ema": (lambda put: ttnn.ema(put(X), 0.5), r"\[1, B, C, T\]"),
    "dims of prod": (lambda put: ttnn.prod(put(X), put(X[:, :, :1]), dims=[2]), "expected 0 or 1"),
    "shape of topk's tensors": (
        lambda put: ttnn.topk(put(SCORES), 16, output_tensor=(put(SCORES[..., :32]), put(torch.zeros(1, 1, 64, 32), dtype=ttnn.uint32))),
        "output_tensor: expected two tensors of shape",
    ),
}


@table("name", REFUSED)
def test_composed_ops_refuse_what_the_library_refuses(device: Any, name: str) -> None:
    run, text = REFUSED[name]
    with pytest.raises(RuntimeError, match=text):
        run(_Put(device))


OPTIMIZERS: dict[str, tuple[Callable[..., Any], Callable[..., list[Any]]]] = {
    "sgd": (
        lambda p: torch.optim.SGD([p], lr=0.5, momentum=0.9, dampening=0.2, weight_decay=0.1),
        lambda p, g, state, step: ttnn.moreh_sgd(p, g, state[0], None, None, 0.5, 0.9, 0.2, 0.1, False, momentum_initialized=step > 1),
    ),
    "sgd with nesterov": (
        lambda p: torch.optim.SGD([p], lr=0.5, momentum=0.9, nesterov=True),
        lambda p, g, state, step: ttnn.moreh_sgd(p, g, state[0], lr=0.5, momentum=0.9, nesterov=True, momentum_initialized=step > 1),
    ),
    "adam": (
        lambda p: torch.optim.Adam([p], lr=0.5, weight_decay=0.1, amsgrad=True),
        lambda p, g, state, step: ttnn.moreh_adam(p, g, *state[:2], lr=0.5, weight_decay=0.1, step=step, amsgrad=True, max_exp_avg_sq_in=state[2]),
    ),
    "adamw": (
        lambda p: torch.optim.AdamW([p], lr=0.5, weight_decay=0.1),
        lambda p, g, state, step: ttnn.moreh_adamw(p, g, *state[:2], lr=0.5, weight_decay=0.1, step=step),
    ),
}


@table("name", OPTIMIZERS)
def test_optimizer_steps_are_torch_s(device: Any, name: str) -> None:
    optimizer_of, step_of = OPTIMIZERS[name]
    put, parameter = _Put(device), X[0, 0].float().clone().requires_grad_()
    optimizer = optimizer_of(parameter)
    ours, state = put(parameter.detach(), dtype=ttnn.float32), [put(torch.zeros(40, 50), dtype=ttnn.float32) for _ in range(3)]
    for step, gradient in enumerate((Z[0, 0].float(), Z[0, 1].float(), Z[0, 2].float()), 1):
        parameter.grad = gradient
        optimizer.step()
        ours, *state = step_of(ours, put(gradient, dtype=ttnn.float32), state, step)
    torch.testing.assert_close(ttnn.to_torch(ours), parameter.detach(), rtol=0.01, atol=0.01)


def test_complex_gradients_are_torch_s(device: Any) -> None:
    put, z = _Put(device), COMPLEX.clone().requires_grad_()
    z.angle().backward(X.float())
    (gradient,) = ttnn.angle_bw(put(X), _complex(put), memory_config=DRAM)
    got = torch.complex(ttnn.to_torch(gradient.real).float(), ttnn.to_torch(gradient.imag).float())
    torch.testing.assert_close(got, z.grad, rtol=0.05, atol=0.05)
    size, turn = X.float().requires_grad_(), Z.float().requires_grad_()
    torch.polar(size, turn).backward(COMPLEX)
    (gradient,) = ttnn.polar_bw(_complex(put), _complex(put), memory_config=DRAM)
    torch.testing.assert_close(ttnn.to_torch(gradient.real).float(), size.grad.abs() * torch.sign(size.grad), rtol=0.05, atol=0.05)
    torch.testing.assert_close(ttnn.to_torch(gradient.imag).float(), turn.grad, rtol=0.05, atol=0.05)


def test_group_norm_shards_are_the_library_s(device: Any) -> None:
    """Recorded: (NHW, height sharded, row major, channels, groups) -> the grid's corner, the shard, its orientation."""
    recorded = {
        (200, True, False, 64, 2): ((7, 1), [32, 64], "ROW_MAJOR"),
        (384, True, True, 64, 2): ((8, 2), [32, 64], "ROW_MAJOR"),
        (6912, True, False, 64, 2): ((8, 7), [128, 64], "ROW_MAJOR"),
        (1024, False, False, 320, 32): ((8, 8), [40, 128], "COL_MAJOR"),
        (200, False, True, 64, 2): ((2, 7), [32, 32], "ROW_MAJOR"),
    }
    for (nhw, height, rows, channels, groups), (grid, shape, orientation) in recorded.items():
        memory, cores = ttnn.determine_expected_group_norm_sharded_config_and_grid_size(
            device=device, num_channels=channels, num_groups=groups, input_nhw=nhw, is_height_sharded=height, is_row_major=rows
        )
        assert ((cores.x, cores.y), list(memory.shard_spec.shape), memory.shard_spec.orientation.name) == (grid, shape, orientation)


def test_none_differs_from_leaving_an_argument_out(device: Any) -> None:
    """group_norm works in place by default; `inplace=None` gives a tensor of its own, and takes tiles."""
    mask = ttnn.to_device(ttnn.create_group_norm_input_mask(64, 2, 1, ttnn.bfloat8_b), device)
    x = _Put(device)(torch.randn(1, 1, 32, 64))
    result = ttnn.group_norm(x, num_groups=2, input_mask=mask, core_grid=ttnn.CoreGrid(x=1, y=1), inplace=None)
    assert result.layout == ttnn.TILE_LAYOUT
    assert result.buffer_address() != x.buffer_address()
    with pytest.raises(RuntimeError, match="inplace"):
        ttnn.group_norm(x, num_groups=2, input_mask=mask, core_grid=ttnn.CoreGrid(x=1, y=1))


def test_a_global_circular_buffer_takes_l1(device: Any) -> None:
    used = ttnn.get_memory_view(device, ttnn.BufferType.L1).total_bytes_allocated_per_bank
    receivers = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(1, 0), ttnn.CoreCoord(3, 0))])
    buffer = ttnn.create_global_circular_buffer(device, [(ttnn.CoreCoord(0, 0), receivers)], 4096)
    assert (buffer.size(), buffer.receiver_cores()) == (4096, receivers)
    assert ttnn.get_memory_view(device, ttnn.BufferType.L1).total_bytes_allocated_per_bank - used == 4256
    with pytest.raises(RuntimeError, match="at least one sender"):
        ttnn.create_global_circular_buffer(device, [], 4096)
