"""The 30 models whose programs tools.zoo.reading measures, at the default configurations and caches of their libraries.

Each builder takes `whole`: False narrows the model, so that all 30 are exported in minutes; lines and loops are nearly those of the whole model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from models.tables import Built

Build = Callable[[bool], Built]
_TEXT = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 256, "max_position_embeddings": 128}
_GROUPED = {**_TEXT, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
_GPT2 = {"n_embd": 128, "n_layer": 4, "n_head": 4, "vocab_size": 256, "n_positions": 128, "bos_token_id": 1, "eos_token_id": 2}
_T5 = {"d_model": 128, "d_kv": 32, "d_ff": 256, "num_layers": 4, "num_heads": 4, "vocab_size": 256, "decoder_start_token_id": 0}
_VISION = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
_CLIP = {"text_config": {**_TEXT, "eos_token_id": 255}, "vision_config": {**_VISION, "image_size": 64}}
_WHISPER = {
    "d_model": 128, "encoder_layers": 4, "decoder_layers": 4, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 256,
    "decoder_ffn_dim": 256, "vocab_size": 256, "max_source_positions": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip
_WAV2VEC2 = {**_VISION, "conv_dim": (64,) * 7, "vocab_size": 32}
_DETR = {"d_model": 64, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "num_queries": 10}
_RESNET = {"embedding_size": 16, "hidden_sizes": [32, 64, 128, 256]}


def _hub(name: str, small: dict[str, Any], memory: dict[str, Any] | None = None, *, inputs: str = "ids", bf16: bool = False) -> Build:
    """A class of transformers. memory: what the whole model changes of the default configuration, because a machine of 24 GB could not check it."""

    def build(whole: bool) -> Built:
        import torch
        import transformers

        kind: Any = getattr(transformers, name)
        torch.manual_seed(0)
        config = kind.config_class(**((memory or {}) if whole else small))
        module = kind(config).eval()
        if bf16:
            module = module.to(torch.bfloat16)
        return module, (), {key: INPUTS[key](whole, config) for key in inputs.split()}

    return build


def _ids(length: int) -> Callable[[bool, Any], Any]:
    def make(whole: bool, config: Any) -> Any:
        import torch

        longest = getattr(getattr(config, "text_config", config), "max_position_embeddings", length)
        return torch.randint(3, 256, (1, min(length, longest) if whole else 32))

    return make


def _image(whole: bool, config: Any) -> Any:
    import torch

    size = getattr(getattr(config, "vision_config", config), "image_size", 224)
    return torch.randn(1, 3, size if whole else min(size, 64), size if whole else min(size, 64))


def _mask(whole: bool, config: Any) -> Any:
    return _ids(128)(whole, config) * 0 + 1


def _noise(*shape: int) -> Callable[[bool, Any], Any]:
    def make(whole: bool, config: Any) -> Any:
        import torch

        return torch.randn(*shape[:-1], shape[-1] if whole else {16000: 4000, 3000: 128}[shape[-1]])

    return make


INPUTS: dict[str, Callable[[bool, Any], Any]] = {
    "input_ids": _ids(128), "attention_mask": _mask, "decoder_input_ids": _ids(32), "pixel_values": _image, "input_values": _noise(1, 16000),
    "input_features": _noise(1, 80, 3000),
}  # fmt: skip


def _detr(whole: bool) -> Built:
    import torch
    import transformers

    backbone = transformers.ResNetConfig(**({} if whole else _RESNET), out_features=["stage4"])
    options = {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None}
    torch.manual_seed(0)
    model = transformers.DetrForObjectDetection(transformers.DetrConfig(backbone_config=backbone, **options, **({} if whole else _DETR))).eval()
    return model, (), {"pixel_values": torch.randn(1, 3, 224, 224) if whole else torch.randn(1, 3, 64, 64)}


def _unet(whole: bool) -> Built:
    import torch

    from models.whole import UNet

    torch.manual_seed(0)
    return UNet().eval(), (torch.randn(1, 3, 256 if whole else 32, 256 if whole else 32),), {}


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    """Files that exist as long as the process."""
    return tempfile.TemporaryDirectory(prefix="alchemist_read_")


def _onnx_convnext(whole: bool) -> Built:
    """ConvNeXt-T as the exporter of PyTorch writes it."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.ConvNextConfig(**({} if whole else {"hidden_sizes": [16, 32, 64, 128]}))

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = transformers.ConvNextForImageClassification(config)

        def forward(self, pixel_values: torch.Tensor) -> torch.Tensor:
            logits: torch.Tensor = self.model(pixel_values).logits
            return logits

    image = torch.randn(1, 3, 224, 224) if whole else torch.randn(1, 3, 64, 64)
    path = Path(_scratch().name) / "convnext.onnx"
    torch.onnx.export(Logits().eval(), (image,), str(path), dynamo=True, opset_version=18, verbose=False)
    return path, (), {"pixel_values": image.numpy()}


def _cache_decoder(whole: bool) -> Built:
    """One token through four layers that write keys and values into buffers."""
    import torch
    from torch import nn

    from models.plain_torch import KeyValueDecoder

    class Decoder(nn.Module):
        def __init__(self, width: int, heads: int, length: int) -> None:
            super().__init__()
            self.embedding = nn.Embedding(256, width)
            self.layers = nn.ModuleList(KeyValueDecoder(width, heads, length) for _ in range(4))
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
            self.head = nn.Linear(width, 256)

        def forward(self, token: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
            hidden = self.embedding(token)
            for layer, norm in zip(self.layers, self.norms, strict=True):
                hidden = hidden + layer(norm(hidden), position)
            return self.head(hidden)

    torch.manual_seed(0)
    return Decoder(*((512, 8, 256) if whole else (64, 2, 32))).eval(), (torch.tensor([[5]]), torch.tensor([7])), {}


def _recurrent(kind: str, *, bf16: bool = False) -> Build:
    """Two layers of torch.nn's own, every option left alone."""

    def build(whole: bool) -> Built:
        import torch
        from torch import nn

        class Tagger(nn.Module):
            def __init__(self, width: int) -> None:
                super().__init__()
                self.embedding = nn.Embedding(256, width)
                self.rnn = getattr(nn, kind)(width, width, num_layers=2, batch_first=True)
                self.head = nn.Linear(width, 32)

            def forward(self, tokens: torch.Tensor) -> torch.Tensor:
                output, _ = self.rnn(self.embedding(tokens))
                return self.head(output)

        torch.manual_seed(0)
        model = Tagger(256 if whole else 64).eval()
        return model.to(torch.bfloat16) if bf16 else model, (torch.randint(0, 256, (4, 32 if whole else 8)),), {}

    return build


def _training_step(whole: bool) -> Built:
    import torch

    from models.training_torch import Gpt, TrainingStep, of_tokens

    torch.manual_seed(0)
    model = Gpt(4, 256 if whole else 32)
    return TrainingStep(model, of_tokens), (torch.randint(0, 64, (2, 32)), torch.randint(0, 64, (2, 32))), {}


def _nnx_gpt(whole: bool) -> Built:
    import jax.numpy as jnp

    from models.plain_jax import GPT, _nnx

    sizes = {"vocabulary": 1024, "width": 512, "heads": 8} if whole else {}
    return _nnx(lambda rngs: GPT(rngs, depth=4, **sizes), lambda: jnp.arange(64).reshape(2, 32) % 100, bf16=True)()


_LAYERS = {"num_hidden_layers": 4}
MODELS: dict[str, Build] = {
    "lstm": _recurrent("LSTM"),
    "gru_bf16": _recurrent("GRU", bf16=True),
    "kv_cache_decoder": _cache_decoder,
    "nnx_gpt_bf16": _nnx_gpt,
    "training_step": _training_step,
    "t5": _hub("T5ForConditionalGeneration", _T5, inputs="input_ids decoder_input_ids"),
    "whisper": _hub("WhisperForConditionalGeneration", _WHISPER, inputs="input_features decoder_input_ids"),
    "electra": _hub("ElectraModel", {**_TEXT, "embedding_size": 64}, inputs="input_ids attention_mask"),
    "distilbert": _hub("DistilBertModel", {"dim": 128, "hidden_dim": 256, "n_layers": 4, "n_heads": 4, "vocab_size": 256}, inputs="input_ids attention_mask"),
    "bert": _hub("BertModel", _TEXT, inputs="input_ids attention_mask"),
    "roberta": _hub("RobertaModel", {**_TEXT, "pad_token_id": 1}, inputs="input_ids attention_mask"),
    "mpnet": _hub("MPNetModel", _TEXT, inputs="input_ids attention_mask"),
    "albert": _hub("AlbertModel", {**_TEXT, "embedding_size": 64}, inputs="input_ids attention_mask"),
    "gpt2": _hub("GPT2LMHeadModel", _GPT2, inputs="input_ids"),
    "opt": _hub("OPTForCausalLM", {**_TEXT, "ffn_dim": 256, "word_embed_proj_dim": 128, "pad_token_id": 1}, inputs="input_ids"),
    "modernbert": _hub("ModernBertModel", {**_TEXT, "pad_token_id": 0}, inputs="input_ids attention_mask"),
    "vit": _hub("ViTForImageClassification", {**_VISION, "image_size": 64}, inputs="pixel_values"),
    "clip": _hub("CLIPModel", _CLIP, inputs="input_ids pixel_values"),
    "wav2vec2": _hub("Wav2Vec2ForCTC", _WAV2VEC2, inputs="input_values"),
    "resnet": _hub("ResNetForImageClassification", _RESNET, inputs="pixel_values"),
    "unet": _unet,
    "onnx_convnext": _onnx_convnext,
    "detr": _detr,
    "deberta_v2": _hub("DebertaV2Model", _TEXT, _LAYERS, inputs="input_ids attention_mask"),
    "gemma3": _hub("Gemma3ForCausalLM", {**_GROUPED, "head_dim": 32}, {"num_hidden_layers": 7, "vocab_size": 32768}, inputs="input_ids", bf16=True),
    "llama": _hub("LlamaForCausalLM", _GROUPED, _LAYERS, inputs="input_ids", bf16=True),
    "mistral": _hub("MistralForCausalLM", _GROUPED, _LAYERS, inputs="input_ids", bf16=True),
    "qwen2": _hub("Qwen2ForCausalLM", _GROUPED, {**_LAYERS, "vocab_size": 32768}, inputs="input_ids", bf16=True),
    "qwen3": _hub("Qwen3ForCausalLM", {**_GROUPED, "head_dim": 32}, {**_LAYERS, "vocab_size": 32768}, inputs="input_ids", bf16=True),
    "mixtral": _hub(
        "MixtralForCausalLM", {**_GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2},
        {"num_hidden_layers": 3, "intermediate_size": 3584}, inputs="input_ids", bf16=True,
    ),
}  # fmt: skip
"""Smallest first."""
