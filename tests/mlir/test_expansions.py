"""Ops that are said in terms of simpler ones (`alchemist/ops/expand.py`) mean what PyTorch means by them, and run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from alchemist.codegen import codegen_mlir
from alchemist.frontends.mlir import load
from alchemist.ops import evaluate
from alchemist.ops.expand import expand
from tests import running
from tests.mlir.op_uses import uses
from tests.tables import table

torch = pytest.importorskip("torch")
F = torch.nn.functional
TEXTS = {use.name: use.text.replace("bf16", "f32") for use in uses("ttir")}


def _golden(text: str, **values: np.ndarray) -> list[np.ndarray]:
    captured = load(text, values=values)
    assert captured.golden is not None
    return captured.golden()


def _random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _arguments(*tensors: torch.Tensor) -> dict[str, np.ndarray]:
    return {f"arg{index}": tensor.detach().numpy() for index, tensor in enumerate(tensors)}


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_bw(approximate: str) -> None:
    grad, x = _random(4, 4), _random(4, 4, seed=1).requires_grad_()
    F.gelu(x, approximate=approximate).backward(grad)
    (made,) = _golden(TEXTS["ttir.gelu_bw"].replace('"tanh"', f'"{approximate}"'), **_arguments(grad, x))
    assert np.allclose(made, x.grad, atol=1e-5)


def test_embedding_backward() -> None:
    ids, grad, table = torch.tensor([[0, 1, 1, 0, 1, 0, 0, 1, 1, 1]]), _random(1, 10, 128), _random(2, 128, seed=1).requires_grad_()
    F.embedding(ids, table).backward(grad)
    (made,) = _golden(TEXTS["ttir.embedding_backward"], **_arguments(ids, table, grad))
    assert np.allclose(made, table.grad, atol=1e-5)


def test_batch_norm_training() -> None:
    x, scale, offset = _random(4, 8), _random(8, seed=1), _random(8, seed=2)
    wanted = F.batch_norm(x, None, None, scale, offset, training=True, eps=1e-5)
    result, mean, variance = _golden(TEXTS["ttir.batch_norm_training"], **_arguments(x, scale, offset, offset, scale))
    assert np.allclose(result, wanted, atol=1e-4)
    assert np.allclose(mean, x.mean(0), atol=1e-5)
    assert np.allclose(variance, x.var(0, unbiased=False), atol=1e-5)


def test_adamw() -> None:
    param, grad = _random(1, 1, 64, 64).requires_grad_(), _random(1, 1, 64, 64, seed=1)
    before, zeros = param.detach().clone(), torch.zeros(1, 1, 64, 64)
    optimizer = torch.optim.AdamW([param], lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
    param.grad = grad
    optimizer.step()
    updated, mean, square = _golden(TEXTS["ttir.adamw"], **_arguments(before, grad, zeros, zeros))
    assert np.allclose(updated, param.detach(), atol=1e-6)
    assert np.allclose(mean, 0.1 * grad, atol=1e-6)
    assert np.allclose(square, 0.001 * grad * grad, atol=1e-6)


@pytest.mark.parametrize("causal", [True, False])
def test_sdpa(causal: bool) -> None:
    q, k, v = (_random(1, 8, 64, 64, seed=seed).requires_grad_() for seed in range(3))
    grad = _random(1, 8, 64, 64, seed=3)
    out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    out.backward(grad)
    kind = "causal" if causal else "none"
    (made,) = _golden(TEXTS["ttir.sdpa_fw"].replace("<causal>", f"<{kind}>"), **_arguments(q, k, v))
    assert np.allclose(made, out.detach(), atol=1e-4)
    inputs = _arguments(grad, out, q, k, v, torch.zeros(1, 8, 64, 32))
    for made, tensor in zip(_golden(TEXTS["ttir.sdpa_bw"].replace("<causal>", f"<{kind}>"), **inputs), (q, k, v), strict=True):
        assert np.allclose(made, tensor.grad, atol=1e-4)


def test_sparse_matmul() -> None:
    a, b = _random(1, 4, 32, 256), _random(1, 4, 256, 64, seed=1)
    sparsity = torch.tensor([1.0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]).reshape(1, 4, 1, 4)
    (made,) = _golden(TEXTS["ttir.sparse_matmul"], **_arguments(a, b, sparsity))
    wanted = torch.einsum("xbmk,oekn->xboemn", a, b) * sparsity.reshape(1, 4, 1, 4, 1, 1)
    assert np.allclose(made, wanted, atol=1e-3)


@pytest.mark.parametrize(("tokens", "both"), [(1, "true"), (1, "false"), (3, "false")])
def test_sparse_matmul_of_rows_by_expert(tokens: int, both: str) -> None:
    types = [f"tensor<{dims}xf32>" for dims in (f"{tokens}x4x32x16", "1x4x16x8", f"1x1x{tokens}x4")]
    text = f"""func.func @f(%a: {types[0]}, %b: {types[1]}, %s: {types[2]}) -> tensor<{tokens}x4x32x8xf32> {{
      %0 = "ttir.sparse_matmul"(%a, %b, %s) <{{is_input_a_sparse = true, is_input_b_sparse = {both}}}> : ({", ".join(types)}) -> tensor<{tokens}x4x32x8xf32>
      return %0 : tensor<{tokens}x4x32x8xf32>
    }}"""
    a, b = _random(tokens, 4, 32, 16), _random(1, 4, 16, 8, seed=1)
    sparsity = torch.tensor([1.0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1][: 4 * tokens]).reshape(1, 1, tokens, 4)
    (made,) = _golden(text, **_arguments(a, b, sparsity))
    assert np.allclose(made, a @ b * sparsity.reshape(tokens, 4, 1, 1), atol=1e-4)


def test_router() -> None:
    x, weight, bias = _random(32, 64), _random(64, 128, seed=1), _random(32, 128, seed=2)
    indices, chances = _golden(TEXTS["ttir.topk_router_gpt"], **_arguments(x, weight, bias))
    top = torch.topk(x @ weight + bias, 4)
    assert np.array_equal(indices, top.indices)
    assert np.allclose(chances, torch.softmax(top.values, -1), atol=1e-4)


def test_quantised_along_an_axis() -> None:
    of = "!quant.uniform<i8:f32:1, {0.1, 0.2:3, 0.5:-4}>"
    text = f"""func.func @f(%a0: tensor<2x3xf32>) -> tensor<2x3xf32> {{
      %0 = "ttir.quantize"(%a0) : (tensor<2x3xf32>) -> tensor<2x3x{of}>
      %1 = "ttir.dequantize"(%0) : (tensor<2x3x{of}>) -> tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }}"""
    x = np.array([[0.33, -1.04, 1.1], [2.0, 0.5, -0.26]], np.float32)
    scale, zero = np.array([0.1, 0.2, 0.5]), np.array([0, 3, -4])
    (made,) = _golden(text, arg0=x)
    assert np.allclose(made, (np.rint(x / scale + zero) - zero) * scale, atol=1e-6)


@table("kind", ["max", "min"])
@table("of", ["f32", "i32"])
@table(("dim", "index", "source"), [(0, (3, 4), (3, 4)), (1, (5, 2), (5, 2)), (1, (3, 2), (5, 4)), (0, (2, 3), (2, 3)), (0, (9, 1), (9, 4))])
def test_scattered_extremes(kind: str, of: str, dim: int, index: tuple[int, ...], source: tuple[int, ...]) -> None:
    """Only the part of the source that the index covers is read, and places that nothing is scattered to stay."""
    generator = torch.Generator().manual_seed(0)
    values = [torch.randint(-50, 50, dims, generator=generator).to(torch.float32 if of == "f32" else torch.int32) for dims in ((5, 4), source)]
    places = torch.randint(0, (5, 4)[dim], index, generator=generator)
    types = [f"tensor<{'x'.join(map(str, dims))}x{element}>" for dims, element in (((5, 4), of), (index, "i32"), (source, of))]
    text = f"""func.func @f(%a: {types[0]}, %i: {types[1]}, %s: {types[2]}) -> {types[0]} {{
      %0 = "ttir.scatter"(%a, %i, %s) <{{dim = {dim} : i32, scatter_reduce_type = #ttcore.reduce_type<{kind}>}}> : ({", ".join(types)}) -> {types[0]}
      return %0 : {types[0]}
    }}"""
    captured = load(text, values=_arguments(values[0], places.to(torch.int32), values[1]))
    expand(captured.module)
    assert "ttir.scatter" not in {op.name for op in captured.module.walk()}
    (made,) = evaluate.run(captured.module, [argument.value() for argument in captured.arguments])
    assert np.array_equal(made, values[0].scatter_reduce(dim, places, values[1], f"a{kind}", include_self=True))


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "result"),
    [
        ("conv2d", ["1x1x512x8", "16x8x3x3"], "stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 1, 2>, dilation = 1 : i32, groups = 1 : i32", (8, 16, 16)),
        (
            "conv_transpose2d",
            ["1x1x512x8", "8x16x3x3"],
            "stride = array<i32: 2, 3>, padding = array<i32: 1, 1, 1, 1>, output_padding = array<i32: 1, 0>, dilation = 1 : i32, groups = 1 : i32",
            (32, 46, 16),
        ),
        ("max_pool2d", ["1x1x512x8"], "kernel = 3 : i32, stride = 2 : i32, dilation = 1 : i32, padding = 1 : i32, ceil_mode = false", (8, 8, 8)),
        ("max_pool2d", ["1x1x512x8"], "kernel = array<i32: 3, 2>, stride = 2 : i32, dilation = 1 : i32, padding = 1 : i32, ceil_mode = true", (9, 9, 8)),
        ("avg_pool2d", ["1x1x512x8"], "kernel = 2 : i32, stride = 17 : i32, dilation = 1 : i32, padding = array<i32: 1, 0, 1, 0>, ceil_mode = true", (1, 1, 8)),
    ],
)
def test_flattened_images(op: str, operands: list[str], attributes: str, result: tuple[int, int, int]) -> None:
    high, wide, channels = result
    types = [f"tensor<{dims}xf32>" for dims in operands]
    arguments = ", ".join(f"%a{i}" for i in range(len(types)))

    def text(shapes: list[str], out: str, more: str) -> str:
        signature = ", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(shapes))
        return f"""func.func @f({signature}) -> tensor<{out}xf32> {{
          %0 = "ttir.{op}"({arguments}) <{{{attributes}{more}}}> : ({", ".join(shapes)}) -> tensor<{out}xf32>
          return %0 : tensor<{out}xf32>
        }}"""

    values = {f"arg{i}": _random(*map(int, dims.split("x")), seed=i).numpy() for i, dims in enumerate(operands)}
    flat = text(
        types, f"1x1x{2 * high * wide}x{channels}", ", flattened_compat_info = #ttir<flattened_compat batch_size = 2, input_height = 16, input_width = 16>"
    )
    plain = text(["tensor<2x16x16x8xf32>", *types[1:]], f"2x{high}x{wide}x{channels}", "")
    (made,) = _golden(flat, **values)
    (wanted,) = _golden(plain, **(values | {"arg0": values["arg0"].reshape(2, 16, 16, 8)}))
    assert np.allclose(made.reshape(wanted.shape), wanted)


@table("name", ["gelu_bw", "adamw", "batch_norm_training", "embedding_backward", "sdpa_bw", "sparse_matmul", "requantize", "conv1d", "conv_transpose2d"])
def test_runs(name: str, tmp_path: Path) -> None:
    text = next(use.text for use in uses("ttir") if use.name == f"ttir.{name}")
    (tmp_path / "x.mlir").write_text(text)
    codegen_mlir(tmp_path / "x.mlir", export_path=tmp_path / "out")
    # Random second moments are below zero, and roots of them NaN in the reference.
    done = running.run(tmp_path / "out", "--check", TTNN_SHIM_NAN="ieee")
    assert done.returncode == 0, done.stdout + done.stderr


def test_gradients_of_batch_norm_in_stablehlo() -> None:
    pytest.importorskip("jaxlib")
    x, scale, grad = _random(4, 8).requires_grad_(), _random(8, seed=1).requires_grad_(), _random(4, 8, seed=2)
    offset = torch.zeros(8, requires_grad=True)
    F.batch_norm(x, None, None, scale, offset, training=True, eps=1e-5).backward(grad)
    text = """func.func @f(%a0: tensor<4x8xf32>, %a1: tensor<8xf32>, %a2: tensor<8xf32>, %a3: tensor<8xf32>, %a4: tensor<4x8xf32>)
        -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
      %0:3 = "stablehlo.batch_norm_grad"(%a0, %a1, %a2, %a3, %a4) {epsilon = 1.0e-5 : f32, feature_index = 1 : i64}
        : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      return %0#0, %0#1, %0#2 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
    }"""
    found = _golden(text, **_arguments(x, scale, x.mean(0), x.var(0, unbiased=False), grad))
    for made, tensor in zip(found, (x, scale, offset), strict=True):
        assert np.allclose(made, tensor.grad, atol=1e-4)


def test_attention_calls_of_stablehlo() -> None:
    pytest.importorskip("jaxlib")
    attributes = 'head_dim_v = "64", is_causal = "True", has_value = "False", has_attention_mask = "False"'
    text = f"""func.func @f(%q: tensor<1x8x32x128xf32>, %k: tensor<1x2x32x128xf32>) -> tensor<1x8x32x64xf32> {{
      %0 = stablehlo.custom_call @tt.flash_mla_prefill(%q, %k) {{mhlo.frontend_attributes = {{{attributes}}}}}
        : (tensor<1x8x32x128xf32>, tensor<1x2x32x128xf32>) -> tensor<1x8x32x64xf32>
      return %0 : tensor<1x8x32x64xf32>
    }}"""
    q, k = _random(1, 8, 32, 128), _random(1, 2, 32, 128, seed=1)
    full = k.repeat_interleave(4, dim=1)
    (made,) = _golden(text, **_arguments(q, k))
    assert np.allclose(made, F.scaled_dot_product_attention(q, full, full[..., :64], is_causal=True), atol=1e-4)
    text = """func.func @f(%q: tensor<1x8x32x128xf32>, %k: tensor<1x1x64x128xf32>, %w: tensor<1x8x32x1xf32>) -> tensor<1x1x32x64xf32> {
      %0 = stablehlo.custom_call @tt.indexer_score_dsa(%q, %k, %w) {mhlo.frontend_attributes = {chunk_start_idx = "8"}}
        : (tensor<1x8x32x128xf32>, tensor<1x1x64x128xf32>, tensor<1x8x32x1xf32>) -> tensor<1x1x32x64xf32>
      return %0 : tensor<1x1x32x64xf32>
    }"""
    k, weights = _random(1, 1, 64, 128, seed=1), _random(1, 8, 32, 1, seed=2)
    (made,) = _golden(text, **_arguments(q, k, weights))
    wanted = (torch.relu(q @ k.transpose(-1, -2)) * weights).sum(1, keepdim=True)
    visible = torch.arange(64)[None, :] <= 8 + torch.arange(32)[:, None]
    assert np.allclose(made, torch.where(visible, wanted, -torch.inf), atol=1e-3)
