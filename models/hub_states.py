"""Models of transformers and diffusers called as users call them: caches in and out, batches padded on the left, encoders of latents."""

from __future__ import annotations

from collections.abc import Callable

import torch
import transformers

from models.hub import GROUPED, SEQ2SEQ, T5, TEXT, WAV2VEC2, WHISPER, Built, _of, ids, image, mask
from models.hub_text import decoder_ids
from models.hub_vision import diffusers_

XLM = {"emb_dim": 64, "n_layers": 2, "n_heads": 2, "vocab_size": 100}
VAE = {
    "block_out_channels": (32, 32), "layers_per_block": 1, "down_block_types": ("DownEncoderBlock2D",) * 2,
    "up_block_types": ("UpDecoderBlock2D",) * 2, "latent_channels": 4, "norm_num_groups": 4,
}  # fmt: skip
WAN = {
    "base_dim": 16, "z_dim": 4, "dim_mult": [1, 2], "num_res_blocks": 1, "temperal_downsample": [False],
    "latents_mean": [0.0] * 4, "latents_std": [1.0] * 4,
}  # fmt: skip


def left_padded() -> torch.Tensor:
    return torch.tensor([[1] * 32, [0] * 12 + [1] * 20])


def _llama() -> torch.nn.Module:
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**GROUPED)).eval()


def growing_cache() -> Built:
    """A decode step over a cache that grows by one position."""
    model = _llama()
    with torch.no_grad():
        past = model(ids(), use_cache=True).past_key_values
    return model, (), {"input_ids": ids()[:, :1], "past_key_values": past, "use_cache": True}


def static_cache() -> Built:
    """A decode step that writes into a cache given as an input."""
    model = _llama()
    past = transformers.StaticCache(config=model.config, max_cache_len=32)
    with torch.no_grad():
        model(ids()[:1, :7], past_key_values=past, use_cache=True)
    return model, (), {"input_ids": ids()[:1, :1], "past_key_values": past, "position_ids": torch.tensor([[7]])}


MODELS: dict[str, Callable[[], Built]] = {
    "llama_left_padded": _of("Llama", GROUPED, "ForCausalLM", input_ids=ids, attention_mask=left_padded, use_cache=False),
    "llama_growing_cache": growing_cache,
    "llama_static_cache": static_cache,
    "t5_with_cache": _of("T5", T5, "ForConditionalGeneration", input_ids=ids, attention_mask=mask, decoder_input_ids=decoder_ids),
    "bart_with_cache": _of("Bart", {**SEQ2SEQ, "vocab_size": 100}, "ForConditionalGeneration", input_ids=ids, decoder_input_ids=decoder_ids),
    "whisper_with_cache_bf16": _of("Whisper", WHISPER, "ForConditionalGeneration", bf16=True, input_features=lambda: torch.randn(2, 8, 40), decoder_input_ids=lambda: ids()[:, :5]),
    "mamba_with_states": _of("Mamba", {"hidden_size": 64, "num_hidden_layers": 1, "vocab_size": 100, "state_size": 4}, "ForCausalLM", input_ids=lambda: ids()[:1, :8]),
    "fnet": _of("FNet", TEXT, "ForMaskedLM", input_ids=ids),
    "xlm": _of("XLM", XLM, "WithLMHeadModel", input_ids=ids, attention_mask=mask),
    "flaubert_bf16": _of("Flaubert", XLM, "Model", bf16=True, input_ids=ids, attention_mask=mask),
    "wav2vec2_positions": _of("Wav2Vec2", {**WAV2VEC2, "hidden_size": 256, "num_conv_pos_embeddings": 128, "num_conv_pos_embedding_groups": 16}, "ForCTC", input_values=lambda: torch.randn(1, 400)),
    "vae_latents": diffusers_("AutoencoderKL", VAE, "encode", x=lambda: image(16)),
    "wan_vae_decoder": diffusers_("AutoencoderKLWan", WAN, "decode", z=lambda: torch.randn(1, 4, 1, 8, 8)),
}
