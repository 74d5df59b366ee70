"""The small GPT of the README as Python.    python examples/gpt/gpt.py [DIR [OPTIMIZATION_LEVEL]]"""

import argparse
from pathlib import Path

import torch
from torch import nn

from alchemist import codegen_py


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = hidden.shape
        query, key, value = self.qkv(hidden).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        context = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(context.transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    def __init__(self, width: int = 256, heads: int = 4) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = hidden + self.attention(self.norm1(hidden))
        return hidden + self.down(nn.functional.gelu(self.up(self.norm2(hidden))))


class GPT(nn.Module):
    def __init__(self, words: int = 1000, width: int = 256, depth: int = 4) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, words)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.embed(tokens)
        for block in self.blocks:
            hidden = block(hidden)
        return self.head(hidden)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=Path("gpt"))
    parser.add_argument("level", nargs="?", type=int, default=0, help="optimization level")
    options = parser.parse_args()
    path, compiler_options = options.path, {"optimization_level": options.level}
    torch.manual_seed(0)
    model = GPT().eval().to(torch.bfloat16)
    codegen_py(model, torch.randint(0, 1000, (1, 128)), export_path=path, compiler_options=compiler_options)
    print(f"try: {path}/run --check")
