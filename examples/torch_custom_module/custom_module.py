"""A module of one's own as Python.    python examples/torch_custom_module/custom_module.py [DIR]"""

import argparse
from pathlib import Path

import torch
from torch import nn

from alchemist import codegen_py


class GatedBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate = nn.Linear(width, 2 * width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        normed = self.norm(hidden)
        gated = nn.functional.silu(self.gate(normed)) * self.up(normed)
        return hidden + self.down(gated)


class Classifier(nn.Module):
    def __init__(self, depth: int = 3, width: int = 64, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Linear(32, width)
        self.blocks = nn.ModuleList(GatedBlock(width) for _ in range(depth))
        self.head = nn.Linear(width, classes)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        hidden = self.stem(features)
        for block in self.blocks:
            hidden = block(hidden)
        return self.head(hidden)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=Path("custom_module_program"))
    path = parser.parse_args().path
    torch.manual_seed(0)
    model = Classifier().eval().to(torch.bfloat16)
    codegen_py(model, torch.randn(32, 32, dtype=torch.bfloat16), export_path=path, overwrite=True)
    print(f"try: {path}/run --check")
