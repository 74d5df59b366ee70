"""Writes the table of docs/optimizer.md: simulated time of whole models at optimization levels 0, 1 and 2.

usage: table.py [--card n150 ...] [--model NAME ...] [--write]
Models are the true architectures with random weights. A time is that of the forward function replayed on an idle device with every address, as `./run --estimate` gives it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import (
    BertConfig,
    BertModel,
    MobileNetV2Config,
    MobileNetV2ForImageClassification,
    ResNetConfig,
    ResNetForImageClassification,
    SegformerConfig,
    SegformerModel,
    SwinConfig,
    SwinForImageClassification,
    ViTConfig,
    ViTForImageClassification,
    WhisperConfig,
)
from transformers.models.whisper.modeling_whisper import WhisperEncoder

from alchemist.optimizer.graph import forward_of
from alchemist.optimizer.level2 import Plan, replay
from alchemist.optimizer.machine import machine
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.passes.registry import functions, is_const_eval
from alchemist.pipeline import capture

PAGE = Path(__file__).resolve().parents[2] / "docs" / "optimizer.md"
BEGIN, END = "<!-- table -->", "<!-- end -->"
Made = tuple[Any, tuple[Any, ...], dict[str, Any], int]


def vit() -> Made:
    return ViTForImageClassification(ViTConfig(num_labels=1000)), (torch.zeros(8, 3, 224, 224, dtype=torch.bfloat16),), {}, 8


def bert(**sizes: int) -> Made:
    ids = torch.ones(8, 384, dtype=torch.int64)
    return BertModel(BertConfig(**sizes)), (), {"input_ids": ids, "attention_mask": ids, "token_type_ids": torch.zeros_like(ids)}, 8


def resnet() -> Made:
    return ResNetForImageClassification(ResNetConfig(num_labels=1000)), (torch.zeros(16, 3, 224, 224, dtype=torch.bfloat16),), {}, 16


def image(batch: int, size: int = 224) -> tuple[torch.Tensor, ...]:
    return (torch.zeros(batch, 3, size, size, dtype=torch.bfloat16),)


MODELS: dict[str, Callable[[], Made]] = {
    "ViT-B/16 b8": vit,
    "BERT-base b8 s384": bert,
    "BERT-Large b8 s384": lambda: bert(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096),
    "ResNet-50 b16": resnet,
    "MobileNetV2 b10": lambda: (MobileNetV2ForImageClassification(MobileNetV2Config(num_labels=1000)), image(10), {}, 10),
    "Swin-T b1": lambda: (SwinForImageClassification(SwinConfig(num_labels=1000)), image(1), {}, 1),
    "SegFormer-B0 encoder 512 b1": lambda: (SegformerModel(SegformerConfig()), image(1, 512), {}, 1),
    "Whisper-base encoder b1": lambda: (
        WhisperEncoder(WhisperConfig(d_model=512, encoder_layers=6, encoder_attention_heads=8, encoder_ffn_dim=2048)),
        (torch.zeros(1, 80, 3000, dtype=torch.bfloat16),),
        {},
        1,
    ),
}


def measure(make: Callable[[], Made], card: str) -> tuple[list[float], list[float], int]:
    """Milliseconds on the device and seconds of compilation at each level and at level 2 with bfp8_lofi, and the batch."""
    model, args, kwargs, batch = make()
    captured = capture(model.to(torch.bfloat16).eval(), args, kwargs, "torch")
    device_ms, seconds = [], []
    for level, precision in ((0, "model"), (1, "model"), (2, "model"), (2, "bfp8_lofi")):
        begin = time.process_time()
        lowered = lower_to_ttnn(captured.module, CompilerOptions.parse({"arch": card, "optimization_level": level, "precision": precision}))
        seconds.append(time.process_time() - begin)
        (forward,) = [func for func in functions(lowered.module) if not is_const_eval(func)]
        done = replay(forward_of(forward), Plan(0.0), machine(card), lowered.l1_small_bytes)
        assert done.ns is not None, done.error
        device_ms.append(done.ns / 1e6)
    return device_ms, seconds, batch


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--card", nargs="+", default=["n150", "p150"])
    parser.add_argument("--model", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--write", action="store_true", help="into docs/optimizer.md")
    options = parser.parse_args()
    rows = [
        "| model | card | level 0, ms | level 1 | level 2 | gain | samples/s at 0, 1, 2 | with bfp8_lofi | seconds over level 0 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in options.model:
        for card in options.card:
            ms, seconds, batch = measure(MODELS[name], card)
            rates = ", ".join(f"{batch / each * 1000:.0f}" for each in ms[:3])
            blocks = f"{ms[3]:.2f} ms, {batch / ms[3] * 1000:.0f} /s"
            gains = f"{ms[0] / ms[1]:.2f}x, {ms[0] / ms[2]:.2f}x"
            rows.append(
                f"| {name} | {card} | {ms[0]:.2f} | {ms[1]:.2f} | {ms[2]:.2f} | {gains} | {rates} | {blocks} | {seconds[1] - seconds[0]:.1f}, {seconds[2] - seconds[0]:.1f} |"
            )
            print(rows[-1], flush=True)
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        head, _, rest = text.partition(BEGIN)
        PAGE.write_text(head + BEGIN + "\n\n" + "\n".join(rows) + "\n\n" + END + rest.partition(END)[2], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
