"""How long main.py gets for well-known models: their depth with small widths, which the length does not depend on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from models.hub import ids, image

LIMIT = 400


def _bert() -> Any:
    import transformers as t

    config = t.BertConfig(hidden_size=64, num_hidden_layers=12, num_attention_heads=2, intermediate_size=128, vocab_size=100)
    return t.BertModel(config), {"input_ids": ids(), "attention_mask": ids() * 0 + 1}


def _llama() -> Any:
    import transformers as t

    config = t.LlamaConfig(
        hidden_size=64, num_hidden_layers=32, num_attention_heads=4, num_key_value_heads=2, head_dim=32,
        intermediate_size=128, vocab_size=100,
    )  # fmt: skip
    return t.LlamaForCausalLM(config), {"input_ids": ids(), "use_cache": False}


def _resnet50() -> Any:
    import transformers as t

    config = t.ResNetConfig(embedding_size=32, hidden_sizes=[32, 64, 64, 64], depths=[3, 4, 6, 3])
    return t.ResNetForImageClassification(config), {"pixel_values": image(64)}


def _vit() -> Any:
    import transformers as t

    config = t.ViTConfig(hidden_size=64, num_hidden_layers=12, num_attention_heads=2, intermediate_size=128, image_size=64)
    return t.ViTForImageClassification(config), {"pixel_values": image(64)}


def _swin() -> Any:
    import transformers as t

    config = t.SwinConfig()  # the sizes of Swin-T: window and head counts decide which blocks are alike
    return t.SwinForImageClassification(config), {"pixel_values": image(224)}


MODELS: dict[str, Callable[[], Any]] = {
    "BERT, 12 layers": _bert,
    "Llama, 32 layers": _llama,
    "ResNet-50": _resnet50,
    "ViT-B/16": _vit,
    "Swin-T": _swin,
}


def lines(name: str, directory: Path) -> int:
    """Lines of main.py in bfloat16, without tensors."""
    import torch

    from alchemist import codegen_py

    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    inputs = {key: one.to(torch.bfloat16) if getattr(one, "is_floating_point", bool)() else one for key, one in inputs.items()}
    made = codegen_py(model.eval().to(torch.bfloat16), export_path=directory, export_tensors=False, export_golden="none", **inputs)
    return len((made.path / "main.py").read_text().splitlines())
