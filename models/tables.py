"""The zoo's one table: name -> builder, and which of them also go through C++."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]

# Also through codegen_cpp: one per kind of graph, so that every family of calls is compiled once.
CPP = (
    "lenet", "resnext_bf16", "mobilenet_v3", "unet", "yolo", "lstm", "gat", "dlrm", "conv3d", "tcn", "mlp_mixer_bf16",
    "bert_bf16", "gpt2", "llama_bf16", "mixtral", "t5", "vit", "swin", "convnext", "clip", "vae_decoder",
    "nnx_cnn", "nnx_gpt", "linen_mlp", "jax_scan_lstm", "jax_sgd_step",
)  # fmt: skip


TABLES = ("zoo", "families", "onnx")
"""The zoo itself, further families of transformers, ONNX files."""


def table() -> dict[str, tuple[str, Callable[[], Built]]]:
    """name -> (framework, builder). Imports both frameworks."""
    from models import (
        convolutional_torch,
        hub,
        hub_states,
        hub_text,
        hub_vision,
        plain_jax,
        plain_torch,
        timm_attention,
        timm_like,
        training_torch,
        untuned_torch,
    )

    torch_ = {
        **plain_torch.MODELS,
        **training_torch.MODELS,
        **untuned_torch.MODELS,
        **convolutional_torch.MODELS,
        **timm_like.MODELS,
        **timm_attention.MODELS,
        **hub.MODELS,
        **hub_text.MODELS,
        **hub_vision.MODELS,
        **hub_states.MODELS,
    }
    return {name: ("torch", build) for name, build in torch_.items()} | {name: ("jax", build) for name, build in plain_jax.MODELS.items()}


def families() -> dict[str, tuple[str, Callable[[], Built]]]:
    """Families of transformers that the zoo does not have."""
    from models.families import MODELS

    return {name: ("torch", build) for name, build in MODELS.items()}


def onnx_files() -> dict[str, tuple[str, Callable[[], Built]]]:
    """The ONNX files of tests/frontends_onnx, made when they are asked for."""
    from tests.frontends_onnx.files import NAMES

    return {f"onnx_{name}": ("onnx", partial(_onnx_file, name)) for name in NAMES}


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    """Files that are there as long as the process."""
    return tempfile.TemporaryDirectory(prefix="alchemist_zoo_")


def _onnx_file(name: str) -> Built:
    from tests.frontends_onnx.files import make

    path = Path(_scratch().name) / f"{name}.onnx"
    values = make(name, path)
    return path, (), values


def everything() -> dict[str, tuple[str, str, Callable[[], Built]]]:
    """name -> (table, framework, builder) of all tables."""
    rows = zip(TABLES, (table(), families(), onnx_files()), strict=True)
    return {name: (kind, framework, build) for kind, models in rows for name, (framework, build) in models.items()}
