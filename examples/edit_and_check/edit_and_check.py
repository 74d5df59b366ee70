"""Editing emitted code by hand.    python examples/edit_and_check/edit_and_check.py [DIR]

A wrong edit is caught by `--check` and located by `--check-ops`; a right one passes both.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import torch
from torch import nn

from alchemist import codegen_py


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.up = nn.Linear(64, 128)
        self.down = nn.Linear(128, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(self.up(self.norm(x)))
        return x + self.down(hidden)


def run(path: Path, *options: str) -> int:
    print(f"\n$ {path}/run {' '.join(options)}", flush=True)
    return subprocess.run([str(path.resolve() / "run"), *options], check=False).returncode


def edit(path: Path, old: str, new: str) -> None:
    text = (path / "main.py").read_text()
    if old not in text:
        sys.exit(f"main.py has no {old!r}")
    (path / "main.py").write_text(text.replace(old, new, 1))
    print(f"\nedited main.py: {old} -> {new}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=Path("edited_program"))
    path = parser.parse_args().path
    torch.manual_seed(0)
    codegen_py(Block().eval(), torch.randn(32, 64), export_path=path, export_golden="ops", overwrite=True)
    codes = [run(path, "--check", "--check-ops")]

    edit(path, 'activation="tanh"', 'activation="sigmoid"')  # wrong
    codes += [run(path, "--check"), run(path, "--check-ops")]

    edit(path, 'activation="sigmoid"', 'activation="tanh"')
    edit(path, "DRAM = ttnn.DRAM_MEMORY_CONFIG", "DRAM = ttnn.L1_MEMORY_CONFIG")  # right: activations in L1
    codes.append(run(path, "--check", "--check-ops"))
    sys.exit(codes != [0, 1, 1, 0])
