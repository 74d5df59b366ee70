"""Models of transformers whose weights several chips share: sizes that eight chips divide, two layers, random weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]

TEXT = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 8, "intermediate_size": 256, "vocab_size": 128}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
WHISPER = {
    "d_model": 128, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 256,
    "decoder_ffn_dim": 256, "vocab_size": 128, "num_mel_bins": 16, "max_source_positions": 32, "max_target_positions": 32, "decoder_start_token_id": 1, **ENDS,
}  # fmt: skip
GPT2 = {"n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 128, "n_positions": 64, "bos_token_id": 1, "eos_token_id": 1}
OPT = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 256, "vocab_size": 128, "word_embed_proj_dim": 128}
IMAGE = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256, "image_size": 32, "patch_size": 8}


def _of(name: str, config: str, sizes: dict[str, Any]) -> Built:
    import torch
    import transformers

    torch.manual_seed(0)
    model = getattr(transformers, name)(getattr(transformers, config)(**sizes)).eval()
    ids = torch.arange(128, dtype=torch.int64).reshape(4, 32) * 37 % 128
    if name == "ViTModel":
        return model, (torch.randn(4, 3, 32, 32),), {}
    if name == "WhisperForConditionalGeneration":
        return model, (torch.randn(4, 16, 64),), {"decoder_input_ids": ids[:, :16], "use_cache": False}
    return model, (ids,), {"use_cache": False} if name.endswith(("CausalLM", "LMHeadModel")) else {}


_ROWS: dict[str, tuple[str, dict[str, Any], int]] = {
    "LlamaForCausalLM": ("LlamaConfig", {**TEXT, "num_key_value_heads": 4}, 5),
    "Qwen3ForCausalLM": ("Qwen3Config", {**TEXT, "num_key_value_heads": 4, "head_dim": 32}, 5),
    "MistralForCausalLM": ("MistralConfig", {**TEXT, "num_key_value_heads": 4}, 5),
    "MixtralForCausalLM": ("MixtralConfig", {**TEXT, **EXPERTS, "num_key_value_heads": 4}, 3),
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
"""Class, the config's class, config, sums over chips (all_reduce) of a call: the embedding, and two a layer; plans without the embedding have four."""

MODELS: dict[str, Callable[[], Built]] = {name: partial(_of, name, config, sizes) for name, (config, sizes, _) in _ROWS.items()}
SUMS = {name: count for name, (_, _, count) in _ROWS.items()}
GATHERS = {"MixtralForCausalLM": 2}
"""By model, all_gather of a call where rows of the mesh cut the batch: all tokens are sorted by their expert. Each comes with two more sums."""
MESHES = ((1, 2), (2, 2), (2, 4))
