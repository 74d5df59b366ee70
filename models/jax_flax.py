"""JAX: the flax models of the zoo by name; the modules are in flax_vision, flax_text, flax_sequences and flax_nnx."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from models.flax_build import Built, ids, linen, nnx_model, normal
from models.flax_layers import CompactDecoder, ScannedDecoder
from models.flax_nnx import Gemma, cached_decoder
from models.flax_sequences import RWKV, TCN, ActorCritic, BiLSTM, LinenGRU, LinenLSTM, Mamba, NormalizingFlow
from models.flax_text import Bert, EncoderDecoder, Llama, MoETransformer, T5Encoder
from models.flax_vision import DDPM, VAE, ConvNeXt, ConvTransposeDecoder, DownUp, Mixer, MobileNet, ResNet

MODELS: dict[str, Callable[[], Built]] = {
    "linen_resnet": linen(lambda: ResNet((2, 2), 10), lambda: normal(1, 32, 32, 3)),
    "linen_convnext": linen(ConvNeXt, lambda: normal(1, 32, 32, 3)),
    "linen_mixer": linen(Mixer, lambda: normal(2, 32, 32, 3)),
    "linen_mixer_bf16": linen(Mixer, lambda: normal(2, 32, 32, 3), bf16=True),
    "linen_mobilenet": linen(MobileNet, lambda: normal(1, 32, 32, 3)),
    "linen_unet": linen(DownUp, lambda: normal(1, 16, 16, 3)),
    "linen_vae": linen(VAE, lambda: normal(4, 64), lambda: normal(4, 16, seed=1)),
    "linen_deconv": linen(ConvTransposeDecoder, lambda: normal(2, 16)),
    "linen_ddpm": linen(DDPM, lambda: normal(1, 16, 16, 3), lambda: jnp.array([3.0])),
    "linen_llama": linen(Llama, lambda: ids(2, 32)),
    "linen_llama_bf16": linen(Llama, lambda: ids(2, 32), bf16=True),
    "linen_t5": linen(T5Encoder, lambda: ids(2, 32)),
    "linen_bert": linen(Bert, lambda: ids(2, 32), lambda: (jnp.arange(32)[None] < jnp.array([[20], [32]])).astype(jnp.int32)),
    "linen_encoder_decoder": linen(EncoderDecoder, lambda: ids(2, 16), lambda: ids(2, 8, seed=1)),
    "linen_moe": linen(MoETransformer, lambda: ids(2, 16)),
    "linen_lstm": linen(LinenLSTM, lambda: normal(2, 8, 16)),
    "linen_gru": linen(LinenGRU, lambda: normal(2, 8, 16)),
    "linen_bilstm": linen(BiLSTM, lambda: normal(2, 6, 16)),
    "linen_tcn": linen(TCN, lambda: normal(2, 32, 8)),
    "linen_mamba": linen(Mamba, lambda: ids(2, 8)),
    "linen_rwkv": linen(RWKV, lambda: ids(2, 8)),
    "linen_ppo": linen(lambda: ActorCritic(6), lambda: 255 * jax.random.uniform(jax.random.key(0), (2, 36, 36, 4))),
    "linen_flow": linen(NormalizingFlow, lambda: normal(8, 8)),
    "nnx_cached_decoder": cached_decoder,
    "nnx_gemma": nnx_model(Gemma, lambda: ids(2, 32)),
    "nnx_scanned_layers": nnx_model(ScannedDecoder, lambda: ids(2, 32)),
    "linen_compact_decoder": linen(CompactDecoder, lambda: ids(2, 32)),
}
