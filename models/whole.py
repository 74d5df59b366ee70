"""The models of docs/lab/optimizer.md's first table: true architectures with random weights, large ones without values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import transformers
from torch import nn
from transformers.integrations import executorch
from transformers.models.llama import modeling_llama
from transformers.models.whisper import modeling_whisper


@dataclass(frozen=True, slots=True)
class Whole:
    """A model with its arguments. batch: samples of a forward pass. options: compiler options of every level."""

    model: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    batch: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)


def image(batch: int, size: int = 224) -> tuple[torch.Tensor, ...]:
    return (torch.zeros(batch, 3, size, size, dtype=torch.bfloat16),)


def bert(**sizes: int) -> Whole:
    ids = torch.ones(8, 384, dtype=torch.int64)
    return Whole(
        transformers.BertModel(transformers.BertConfig(**sizes)), (), {"input_ids": ids, "attention_mask": ids, "token_type_ids": torch.zeros_like(ids)}, 8
    )


def vgg16(batch: int) -> Whole:
    layers: list[nn.Module] = []
    channels = 3
    for wide, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            layers += [nn.Conv2d(channels, wide, 3, padding=1), nn.ReLU()]
            channels = wide
        layers.append(nn.MaxPool2d(2))
    head = [nn.Flatten(), nn.Linear(512 * 49, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)]
    return Whole(nn.Sequential(*layers, *head), image(batch), {}, batch)


class _Twice(nn.Sequential):
    def __init__(self, channels: int, wide: int) -> None:
        first, second = nn.Conv2d(channels, wide, 3, padding=1), nn.Conv2d(wide, wide, 3, padding=1)
        super().__init__(first, nn.BatchNorm2d(wide), nn.ReLU(), second, nn.BatchNorm2d(wide), nn.ReLU())


class UNet(nn.Module):
    """Four steps down and up, 64 to 512 channels."""

    def __init__(self) -> None:
        super().__init__()
        wide = (64, 128, 256, 512)
        self.down = nn.ModuleList(_Twice(before, after) for before, after in zip((3, *wide[:-1]), wide, strict=True))
        self.middle = _Twice(512, 512)
        self.grow = nn.ModuleList(nn.ConvTranspose2d(before, after, 2, stride=2) for before, after in ((512, 512), (512, 256), (256, 128), (128, 64)))
        self.up = nn.ModuleList(_Twice(2 * after, after) for after in reversed(wide))
        self.last = nn.Conv2d(64, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for step in self.down:
            x = step(x)
            kept.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = self.middle(x)
        for grow, step in zip(self.grow, self.up, strict=True):
            x = step(torch.cat([grow(x), kept.pop()], 1))
        return self.last(x)


LLAMA_1B = {"hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192}
LLAMA_3B = {"hidden_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 24, "num_key_value_heads": 8, "intermediate_size": 8192}
LLAMA_8B = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336}


def _llama(values: bool, **sizes: int) -> Any:
    """Without `values`, weights are memory that nothing has written, for who does not read them; the table of angles is real, so that positions are recognised."""
    config = transformers.LlamaConfig(vocab_size=128256, max_position_embeddings=8192, **sizes)
    if values:
        return transformers.LlamaForCausalLM(config).to(torch.bfloat16).eval()
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(config).to(torch.bfloat16).eval()
    model.to_empty(device="cpu")
    model.model.rotary_emb = modeling_llama.LlamaRotaryEmbedding(config)
    return model


def llama_decode(positions: int, users: int = 32, weights: str = "none", values: bool = False, **sizes: int) -> Whole:
    """A token of every user over a static cache; a sample is a token of each user."""
    model = _llama(values, **sizes)
    cache = {"batch_size": users, "max_cache_len": positions}
    model.generation_config = transformers.GenerationConfig(use_cache=True, cache_implementation="static", cache_config=cache)
    wrapped = executorch.TorchExportableModuleWithStaticCache(model, batch_size=users, max_cache_len=positions, device=torch.device("cpu"))
    step = {"input_ids": torch.zeros(users, 1, dtype=torch.int64), "cache_position": torch.tensor([positions // 2])}
    return Whole(wrapped, (), step, 1, {"experimental_weight_dtype": weights})


def llama_prefill(length: int, values: bool = False, **sizes: int) -> Whole:
    model = _llama(values, **sizes)
    model.config.use_cache = False
    return Whole(model, (), tokens(length), 1)


def tokens(length: int) -> dict[str, torch.Tensor]:
    return {"input_ids": torch.zeros(1, length, dtype=torch.int64)}


def mamba_block() -> Whole:
    """A block of Mamba-130m's sizes behind its embedding; the scan runs token by token."""
    config = transformers.MambaConfig(hidden_size=768, state_size=16, num_hidden_layers=1, vocab_size=1024, use_cache=False)
    return Whole(transformers.MambaModel(config), (), tokens(64))


def experts_block() -> Whole:
    """A decoder layer with attention and eight experts, two of them for each token."""
    config = transformers.MixtralConfig(
        hidden_size=1024, intermediate_size=3584, num_hidden_layers=1, num_attention_heads=16, num_key_value_heads=4, vocab_size=1024, num_local_experts=8
    )
    config.use_cache = False
    return Whole(transformers.MixtralModel(config), (), tokens(128))


LLAMAS: dict[str, Callable[..., Whole]] = {
    "Llama-1B decode b32, 1024 positions": partial(llama_decode, 1024, **LLAMA_1B),
    "Llama-3B decode b32, 512 positions": partial(llama_decode, 512, **LLAMA_3B),
    "Llama-8B decode b32, 512 positions, bfp8 weights": partial(llama_decode, 512, weights="bfp_bf8", **LLAMA_8B),
    "Llama-1B decode b32, 256 positions": partial(llama_decode, 256, **LLAMA_1B),
    "Llama-3B decode b32, 256 positions": partial(llama_decode, 256, **LLAMA_3B),
    "Llama-8B decode b32, 256 positions, bfp8 weights": partial(llama_decode, 256, weights="bfp_bf8", **LLAMA_8B),
    "Llama-1B prefill 1x2048": partial(llama_prefill, 2048, **LLAMA_1B),
}
MODELS: dict[str, Callable[[], Whole]] = {
    "ViT-B/16 b8": lambda: Whole(transformers.ViTForImageClassification(transformers.ViTConfig(num_labels=1000)), image(8), {}, 8),
    "BERT-base b8 s384": bert,
    "BERT-Large b8 s384": lambda: bert(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096),
    "ResNet-50 b16": lambda: Whole(transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=1000)), image(16), {}, 16),
    "MobileNetV2 b10": lambda: Whole(transformers.MobileNetV2ForImageClassification(transformers.MobileNetV2Config(num_labels=1000)), image(10), {}, 10),
    "VGG-16 b4": lambda: vgg16(4),
    "U-Net 256 b1": lambda: Whole(UNet(), image(1, 256)),
    **LLAMAS,
    "Swin-T b1": lambda: Whole(transformers.SwinForImageClassification(transformers.SwinConfig(num_labels=1000)), image(1)),
    "SegFormer-B0 encoder 512 b1": lambda: Whole(transformers.SegformerModel(transformers.SegformerConfig()), image(1, 512)),
    "Mamba-130m block 1x64": mamba_block,
    "Mixtral-shaped block, 8 experts, 1x128": experts_block,
    "Whisper-base encoder b1": lambda: Whole(
        modeling_whisper.WhisperEncoder(transformers.WhisperConfig(d_model=512, encoder_layers=6, encoder_attention_heads=8, encoder_ffn_dim=2048)),
        (torch.zeros(1, 80, 3000, dtype=torch.bfloat16),),
    ),
}


CHECKED: dict[str, Callable[[], Whole]] = {name: partial(build, values=True, num_hidden_layers=2) for name, build in LLAMAS.items()}
"""Llamas with random weights in two layers of the whole ones' sizes: one function in a loop, as all layers are."""
