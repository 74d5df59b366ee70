"""Whole models: the lowered module computes what the framework computes, in few ops."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from ttnn_numpy import run as run_ttnn
from xdsl.dialects.func import FuncOp

from alchemist.frontends.base import FrontendResult
from alchemist.passes import Lowered, lower_to_ttnn
from tests.used_later import used_later

torch = pytest.importorskip("torch")
transformers = used_later("transformers")


def _bert() -> tuple[Any, tuple[Any, ...]]:
    config = transformers.BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, vocab_size=100)
    mask = torch.ones(1, 32, dtype=torch.long)
    mask[0, 20:] = 0
    return transformers.BertModel(config), (torch.randint(0, 100, (1, 32)), mask)


def _gpt2() -> tuple[Any, tuple[Any, ...]]:
    config = transformers.GPT2Config(n_embd=64, n_layer=2, n_head=2, vocab_size=100, use_cache=False, bos_token_id=0, eos_token_id=1)
    return transformers.GPT2Model(config), (torch.randint(0, 100, (1, 32)),)


def _resnet() -> tuple[Any, tuple[Any, ...]]:
    config = transformers.ResNetConfig(embedding_size=16, hidden_sizes=[32, 64, 64, 64], depths=[2, 1, 1, 1], num_labels=10)
    model = transformers.ResNetForImageClassification(config)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2.0)
    return model, (torch.randn(1, 3, 64, 64),)


def _llama() -> tuple[Any, tuple[Any, ...]]:
    config = transformers.LlamaConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=128,
        vocab_size=100,
        use_cache=False,
    )
    return transformers.LlamaModel(config), (torch.randint(0, 100, (1, 32)),)


MODELS = {
    "bert": (_bert, {"split_query_key_value_and_split_heads": 2, "concatenate_heads": 2, "linear": 9, "add_layer_norm": 5}),
    # two reshapes stand around the gather from the float32 table of tokens
    "gpt2": (_gpt2, {"split_query_key_value_and_split_heads": 2, "linear": 8, "reshape": 2, "permute": 0, "tanh": 0}),
    "resnet": (_resnet, {"conv2d": 20, "permute": 1, "relu": 0, "batch_norm_inference": 0}),
    "llama": (_llama, {"rms_norm": 5, "scaled_dot_product_attention": 2, "concatenate_heads": 2, "repeat": 1}),  # of the index into the table
}


def _check(captured: FrontendResult, lowered: Lowered) -> Counter[str]:
    inputs = [np.asarray(argument.value()) for argument in captured.arguments]
    inputs = [value if value.dtype.kind in "iub" else value.astype(np.float32) for value in inputs]
    assert captured.golden is not None
    for want, have in zip(captured.golden(), run_ttnn(lowered.module, [*inputs, *lowered.constants.values()]), strict=True):
        error = np.linalg.norm(np.asarray(have, np.float64) - want) / np.linalg.norm(np.asarray(want, np.float64))
        assert error < 5e-4
    forward = next(op for op in lowered.module.ops if isinstance(op, FuncOp) and op.sym_name.data == "forward")
    return Counter(op.name.removeprefix("ttnn.") for op in forward.body.block.ops)


@pytest.mark.parametrize("name", ["bert", *(pytest.param(name, marks=pytest.mark.slow) for name in MODELS if name != "bert")])
def test_torch_model(name: str) -> None:
    from alchemist.frontends.torch import capture

    torch.manual_seed(0)
    make, expected = MODELS[name]
    model, args = make()
    captured = capture(model.eval(), args, {})
    found = _check(captured, lower_to_ttnn(captured.module))
    assert {op: found[op] for op in expected} == expected


@pytest.mark.slow
def test_flax_block() -> None:
    jax = pytest.importorskip("jax")
    linen = pytest.importorskip("flax.linen")
    from alchemist.frontends.jax import capture

    class Block(linen.Module):  # type: ignore[name-defined,misc]
        @linen.compact
        def __call__(self, x: Any) -> Any:
            h = linen.LayerNorm()(x)
            x = x + linen.MultiHeadDotProductAttention(num_heads=2)(h, h)
            h = linen.Dense(128)(linen.LayerNorm()(x))
            return x + linen.Dense(64)(linen.gelu(h))

    block = Block()
    x = jax.random.normal(jax.random.key(0), (2, 32, 64))
    parameters = block.init(jax.random.key(1), x)
    captured = capture(lambda p, value: block.apply(p, value), (parameters, x), {})
    found = _check(captured, lower_to_ttnn(captured.module))
    assert found["layer_norm"] == 2
    assert found["scaled_dot_product_attention"] == 1
    assert found["linear"] == 4  # query, key and value are one
