"""Models of transformers, unedited, on 1x2, 2x2 and 2x4: values in lock step, and how often chips exchange something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from alchemist.frontends.base import FrontendResult, Mesh
from alchemist.frontends.torch import capture
from alchemist.ir import access
from alchemist.ir.edit import all_ops
from alchemist.mesh import lockstep
from alchemist.mesh.plan import on_mesh

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.slow

IDS = torch.arange(128, dtype=torch.int64).reshape(4, 32) * 37 % 128
TEXT = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 8, "intermediate_size": 256, "vocab_size": 128}
ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
WHISPER = {
    "d_model": 128, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 256,
    "decoder_ffn_dim": 256, "vocab_size": 128, "num_mel_bins": 16, "max_source_positions": 32, "max_target_positions": 32, "decoder_start_token_id": 1, **ENDS,
}  # fmt: skip
GPT2 = {"n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 128, "n_positions": 64, "bos_token_id": 1, "eos_token_id": 1}
OPT = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 256, "vocab_size": 128, "word_embed_proj_dim": 128}
IMAGE = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256, "image_size": 32, "patch_size": 8}

# class, config's class, config, sums of two layers: the embedding, and two a layer; models whose plan leaves out the embedding have four
ROWS: dict[str, tuple[str, dict[str, Any], int]] = {
    "LlamaForCausalLM": ("LlamaConfig", {**TEXT, "num_key_value_heads": 4}, 5),
    "Qwen3ForCausalLM": ("Qwen3Config", {**TEXT, "num_key_value_heads": 4, "head_dim": 32}, 5),
    "MistralForCausalLM": ("MistralConfig", {**TEXT, "num_key_value_heads": 4}, 5),
    "GemmaForCausalLM": ("GemmaConfig", {**TEXT, "num_key_value_heads": 4, "head_dim": 32}, 5),
    "Phi3ForCausalLM": ("Phi3Config", {**TEXT, "num_key_value_heads": 8, **ENDS}, 5),
    "GPTNeoXForCausalLM": ("GPTNeoXConfig", {**TEXT, "max_position_embeddings": 64}, 4),
    "GPT2LMHeadModel": ("GPT2Config", GPT2, 5),
    "OPTForCausalLM": ("OPTConfig", {**OPT, "max_position_embeddings": 64}, 5),
    "BertModel": ("BertConfig", TEXT, 5),
    "DistilBertModel": ("DistilBertConfig", {"dim": 128, "n_layers": 2, "n_heads": 4, "hidden_dim": 256, "vocab_size": 128}, 5),
    "ViTModel": ("ViTConfig", IMAGE, 4),
    "WhisperForConditionalGeneration": ("WhisperConfig", WHISPER, 6),
}


def _captured(name: str) -> tuple[Any, FrontendResult]:
    torch.manual_seed(0)
    config = getattr(transformers, ROWS[name][0])(**ROWS[name][1])
    model = getattr(transformers, name)(config).eval()
    call: dict[str, Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]] = {
        "ViTModel": lambda: ((torch.randn(4, 3, 32, 32),), {}),
        "WhisperForConditionalGeneration": lambda: ((torch.randn(4, 16, 64),), {"decoder_input_ids": IDS[:, :16], "use_cache": False}),
    }
    causal = {"use_cache": False} if name.endswith(("CausalLM", "LMHeadModel")) else {}
    args, kwargs = call.get(name, lambda: ((IDS,), causal))()
    return model, capture(model, args, kwargs)


@pytest.mark.parametrize("name", ROWS)
def test_a_model_is_equal_on_every_mesh_and_exchanges_no_more_than_sums(name: str) -> None:
    model, captured = _captured(name)
    golden = captured.golden() if captured.golden is not None else []
    for mesh in (Mesh(1, 2), Mesh(2, 2), Mesh(2, 4)):
        made = on_mesh(captured, model, mesh, "auto")
        counts = Counter(op.name for op in all_ops(made.module) if access.attr(op, "cluster_axis") is not None)
        assert counts.pop("ttir.all_reduce") == ROWS[name][2], mesh
        assert not counts - Counter({"ttir.mesh_partition": 3}), mesh  # a mask or a position, taken from what all chips have
        for want, got in zip(golden, lockstep.run(made), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * float(np.abs(want).max()), err_msg=str(mesh))
