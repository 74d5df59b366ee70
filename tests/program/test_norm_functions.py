"""Norms written out three times or more are calls of one function."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch
from torch import nn

from alchemist import codegen_py
from tests.program.evaluate import run


class _Net(nn.Module):
    """Linear layers, each with a norm behind it. sums: norms of the sum of input and result. epsilons: of each norm."""

    def __init__(self, epsilons: tuple[float, ...], sums: int, norm: type[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({f"fc_{name}": nn.Linear(64, 64) for name, _ in zip("abcdef", epsilons, strict=False)})
        self.norms = nn.ModuleDict({f"norm_{name}": norm(64, eps=epsilon) for name, epsilon in zip("abcdef", epsilons, strict=False)})
        self.sums = sums

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for place, (layer, norm) in enumerate(zip(self.layers.values(), self.norms.values(), strict=True)):
            made = layer(x)
            x = norm(x + made) if place < self.sums else norm(made) * 2
        return x


@pytest.mark.parametrize(
    ("epsilons", "sums", "norm", "functions"),
    [
        ((1e-5,) * 3, 0, nn.LayerNorm, {"layer_norm": ["x", "weights"]}),
        ((1e-5,) * 2, 0, nn.LayerNorm, {}),
        ((1e-5,) * 4, 3, nn.LayerNorm, {"add_layer_norm": ["x", "residual", "weights"]}),
        ((1e-5,) * 6, 3, nn.LayerNorm, {"layer_norm": ["x", "weights"], "add_layer_norm": ["x", "residual", "weights"]}),
        ((1e-5, 1e-3, 1e-2), 0, nn.LayerNorm, {"layer_norm": ["x", "weights", "epsilon"]}),
        ((1e-5,) * 3, 3, nn.RMSNorm, {"add_rms_norm": ["x", "residual", "weights"]}),
        ((1e-5,) * 3, 0, nn.RMSNorm, {}),  # its call is short
    ],
)
def test_a_norm_is_written_once(tmp_path: Path, epsilons: tuple[float, ...], sums: int, norm: type[nn.Module], functions: dict[str, list[str]]) -> None:
    """Values are those of the program without functions."""
    texts = {}
    for structure in (True, False):
        made = codegen_py(
            _Net(epsilons, sums, norm).eval(),
            torch.zeros(1, 32, 64),
            export_path=tmp_path / str(structure),
            export_golden="none",
            compiler_options={"recover_structure": structure},
        )
        texts[structure] = {name: (made.path / name).read_text() for name in ("main.py", "consteval.py")}
    found = {one.name: [arg.arg for arg in one.args.args] for one in ast.parse(texts[True]["main.py"]).body if isinstance(one, ast.FunctionDef)}
    assert {name: arguments for name, arguments in found.items() if "norm" in name} == functions
    assert run(texts[True]) == run(texts[False])
