"""Lines of the emitted programs of nine models beside the most that they may have.

    python -m tools.zoo.lengths [NAME ...]

Widths are small where lines do not depend on them; depths are the models' own. Exit code 1 if a program is longer than its bound.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Built = tuple[Any, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Bound:
    """build: the model and its inputs. most: lines of `file`."""

    build: Callable[[], Built]
    most: int
    file: str = "main.py"


def _llama_with_cache() -> Built:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    config = LlamaConfig(
        hidden_size=64, num_hidden_layers=32, num_attention_heads=4, num_key_value_heads=2, head_dim=32,
        intermediate_size=128, vocab_size=100,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval().to(torch.bfloat16)
    model.generation_config.use_cache = True
    model.generation_config.cache_implementation = "static"
    wrapped = TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=64, device=torch.device("cpu"))
    return wrapped, (torch.tensor([[5]]), None, torch.tensor([31]))


def _recurrent(kind: str, **options: Any) -> Callable[[], Built]:
    def build() -> Built:
        import torch

        return getattr(torch.nn, kind)(64, 64, batch_first=True, **options).eval(), (torch.randn(4, 24, 64),)

    return build


def _resnet50() -> Built:
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    return ResNetForImageClassification(ResNetConfig()).eval(), (torch.randn(1, 3, 224, 224),)


def _segformer() -> Built:
    import torch
    from transformers import SegformerConfig, SegformerModel

    return SegformerModel(SegformerConfig()).eval(), (torch.randn(1, 3, 256, 256),)


def _of_zoo(name: str) -> Callable[[], Built]:
    def build() -> Built:
        from models.tables import table

        model, args, _ = table()[name][1]()
        return model, args

    return build


def _detr() -> Built:
    """A convolutional backbone, `nn.Transformer` over its pixels and 20 queries, classes and boxes."""
    import torch
    from torch import nn

    class Detr(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            steps = ((3, 16), (16, 32), (32, 64))
            self.backbone = nn.Sequential(
                *(nn.Sequential(nn.Conv2d(a, b, 3, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()) for a, b in steps),
                nn.Conv2d(64, 64, 1),
            )
            self.transformer = nn.Transformer(64, 4, 3, 3, 128, batch_first=True)
            self.positions = nn.Parameter(torch.rand(1, 64, 64))
            self.queries = nn.Parameter(torch.rand(1, 20, 64))
            self.classes = nn.Linear(64, 11)
            self.boxes = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

        def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            pixels = self.backbone(image).flatten(2).transpose(1, 2)
            found = self.transformer(pixels + self.positions, self.queries.expand(len(image), -1, -1))
            return self.classes(found), self.boxes(found).sigmoid()

    return Detr().eval(), (torch.randn(2, 3, 64, 64),)


def _jax_training_step() -> Built:
    from models.jax_functions import transformer_training_step

    model, args, _ = transformer_training_step(4, 33, returns_state=True)
    return model, args


BOUNDS = {
    "Llama, 32 layers with cache": Bound(_llama_with_cache, 300),
    "bidirectional GRU, 2 layers": Bound(_recurrent("GRU", num_layers=2, bidirectional=True), 160),
    "LSTM": Bound(_recurrent("LSTM"), 130),
    "ResNet-50": Bound(_resnet50, 150, "consteval.py"),
    "SegFormer-B0": Bound(_segformer, 450),
    "U-Net": Bound(_of_zoo("unet"), 300),
    "YOLO-like": Bound(_of_zoo("yolo"), 400),
    "DETR-like": Bound(_detr, 350),
    "JAX training step, transformer of 4 layers": Bound(_jax_training_step, 500),
}


def lines(bound: Bound, folder: Path) -> int:
    """Of the program in float32, without tensors."""
    from alchemist import codegen_py

    model, inputs = bound.build()
    made = codegen_py(model, *inputs, export_path=folder, export_tensors=False, export_golden="none")
    return len((made.path / bound.file).read_text().splitlines())


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.zoo.lengths", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the models' names")
    options = parser.parse_args(words)
    print("| model | file | lines | most |\n|---|---|---:|---:|")
    too_long = False
    for name, bound in BOUNDS.items():
        if options.names and not any(part in name for part in options.names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            count = lines(bound, Path(folder) / "program")
        too_long |= count > bound.most
        print(f"| {name} | {bound.file} | {count} | {bound.most}{' OVER' if count > bound.most else ''} |", flush=True)
    return too_long


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
