"""Levels 1 and 2 of one row of tiles, as a decoder's step has it: activations in width shards, weights in the banks of DRAM."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from alchemist import codegen_cpp, codegen_py
from alchemist.ir import access
from alchemist.ir.layout import layout_of
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.passes.registry import functions, is_const_eval
from alchemist.pipeline import capture

CONFIG = "matmul_program_config"


class Step(torch.nn.Module):
    """Blocks of norm, linear, silu, linear, residual sum."""

    def __init__(self, width: int, count: int = 2) -> None:
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(count))
        self.up = torch.nn.ModuleList(torch.nn.Linear(width, 2 * width, bias=False) for _ in range(count))
        self.down = torch.nn.ModuleList(torch.nn.Linear(2 * width, width, bias=False) for _ in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for norm, up, down in zip(self.norms, self.up, self.down, strict=True):
            x = x + down(torch.nn.functional.silu(up(norm(x))))
        return x


def model(width: int) -> torch.nn.Module:
    torch.manual_seed(0)
    return Step(width).to(torch.bfloat16).eval()


def lowered(rows: int, width: int, level: int = 2) -> Any:
    captured = capture(model(width), (torch.zeros(rows, width, dtype=torch.bfloat16),), {}, "torch")
    return lower_to_ttnn(captured.module, CompilerOptions.parse({"optimization_level": level})).module


@pytest.mark.parametrize("level", [1, 2])
def test_weights_lie_in_the_banks(level: int) -> None:
    """Of products whose weight nothing else reads; at level 2 activations between them stay in width shards."""
    module = lowered(32, 2048, level)
    products = [op for func in functions(module) if not is_const_eval(func) for op in func.body.block.ops if op.name == "ttnn.matmul"]
    found = [op for op in products if (config := access.attr(op, CONFIG)) and "mcast_in0" not in config and "compute_with_storage_grid_size" not in config]
    assert found, [access.attr(op, CONFIG) for op in products]
    for op in found:
        a, weight, result = (layout_of(value.type) for value in (*op.operands[:2], op.results[0]))
        assert a is not None and weight is not None and result is not None
        assert (a.buffer, a.memory, result.buffer, result.memory) == ("l1", "width_sharded", "l1", "width_sharded")
        assert (weight.buffer, weight.memory) == ("dram", "width_sharded") and weight.grid == (1, 12)
        assert access.attr(op, "compute_config") is not None, "a program config alone lowers the fidelity"
    moved = [op for func in functions(module) if is_const_eval(func) for op in func.body.block.ops if op.name == "ttnn.to_memory_config"]
    assert len(moved) == len(found)


def test_at_level_1_only_norms_and_products_are_on_shards() -> None:
    """The first norm reads the program's input, which stays where it is given."""
    (forward,) = [func for func in functions(lowered(32, 2048, 1)) if not is_const_eval(func)]
    norms = [op for op in forward.body.block.ops if op.name == "ttnn.layer_norm"]
    others = [op for op in forward.body.block.ops if op.name in ("ttnn.add", "ttnn.silu")]
    for ops, memory in ((norms[1:], ("l1", "width_sharded")), (others, ("dram", "interleaved"))):
        layouts = [layout_of(value.type) for op in ops for value in (op.operands[0], op.results[0])]
        assert layouts and all(layout is not None and (layout.buffer, layout.memory) == memory for layout in layouts)


@pytest.mark.parametrize("rows", [64, 48])
def test_more_rows_leave_weights_where_they_are(rows: int) -> None:
    module = lowered(rows, 1024)
    assert not [op for func in functions(module) if is_const_eval(func) for op in func.body.block.ops if op.name == "ttnn.to_memory_config"]


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("language", ["python", pytest.param("cpp", marks=pytest.mark.slow)])
def test_a_stream_passes_its_check(language: str, level: int, tmp_path: Path) -> None:
    generate = codegen_py if language == "python" else codegen_cpp
    generate(model(1024), torch.randn(32, 1024, dtype=torch.bfloat16), export_path=tmp_path / "out", compiler_options={"optimization_level": level})
    text = (tmp_path / "out" / ("main.py" if language == "python" else "model.cpp")).read_text()
    assert "DRAMSharded" in text, text
    done = subprocess.run([tmp_path / "out/run", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
