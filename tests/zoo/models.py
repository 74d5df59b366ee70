"""The zoo's one table: name -> builder, and which of them also go through C++."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]

# Also through codegen_cpp: one per kind of graph, so that every family of calls is compiled once.
CPP = (
    "lenet", "resnext_bf16", "mobilenet_v3", "unet", "yolo", "lstm", "gat", "dlrm", "conv3d", "tcn", "mlp_mixer_bf16",
    "bert_bf16", "gpt2", "llama_bf16", "mixtral", "t5", "vit", "swin", "convnext", "clip", "vae_decoder",
    "nnx_cnn", "nnx_gpt", "linen_mlp", "jax_scan_lstm", "jax_sgd_step",
)  # fmt: skip


def table() -> dict[str, tuple[str, Callable[[], Built]]]:
    """name -> (framework, builder). Imports both frameworks."""
    from tests.zoo import hub, hub_states, hub_text, hub_vision, plain_jax, plain_torch, timm_attention, timm_like

    torch_ = {**plain_torch.MODELS, **timm_like.MODELS, **timm_attention.MODELS, **hub.MODELS, **hub_text.MODELS, **hub_vision.MODELS, **hub_states.MODELS}
    return {name: ("torch", build) for name, build in torch_.items()} | {name: ("jax", build) for name, build in plain_jax.MODELS.items()}
