"""Levels 1 and 2 of one row of tiles, as a decoder's step has it: activations in width shards, weights in the banks of DRAM."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from alchemist import codegen_cpp, codegen_py
from alchemist.ir import access
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.optimizer.graph import forward_of
from alchemist.optimizer.level2 import Plan, replay
from alchemist.optimizer.machine import machine
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from tests import running

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
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


class Head(torch.nn.Module):
    """What a decoder's step ends with: a norm and a row of the vocabulary for each user."""

    def __init__(self, words: int, *, bias: bool = False, also: bool = False) -> None:
        super().__init__()
        self.norm, self.head, self.also = torch.nn.RMSNorm(512), torch.nn.Linear(512, words, bias=bias), also

    def forward(self, x: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        rows = self.head(self.norm(x))
        return (rows, x @ self.head.weight.t()) if self.also else rows


def heads_of(head: Head, rows: int, **options: Any) -> list[tuple[int, ...]]:
    """Results of the products by the vocabulary."""
    captured = capture(head.to(torch.bfloat16).eval(), (torch.zeros(rows, 512, dtype=torch.bfloat16),), {}, "torch")
    module = lower_to_ttnn(captured.module, CompilerOptions.parse({"precision": "bfp8", **options})).module
    (forward,) = [func for func in functions(module) if not is_const_eval(func)]
    return [access.shape(op.results[0]) for op in forward.body.block.ops if op.name in ("ttnn.matmul", "ttnn.linear")]


PARTS = [(32, 42752)] * 3
# Made by the test that needs one: a weight is a quarter of a gigabyte, and every process that collects these tests reads this table.
HEADS: dict[str, tuple[Callable[[], Head], int, dict[str, Any], list[tuple[int, ...]]]] = {
    "a vocabulary at level 2": (lambda: Head(128256), 32, {"optimization_level": 2}, PARTS),
    "at level 1": (lambda: Head(128256), 32, {"optimization_level": 1}, PARTS),
    "weights in bfloat16": (lambda: Head(128256), 32, {"optimization_level": 2, "precision": "model"}, PARTS),
    "a row": (lambda: Head(128256), 1, {"optimization_level": 2}, [(1, 42752)] * 3),
    "level 0": (lambda: Head(128256), 32, {"optimization_level": 0}, [(32, 128256)]),
    "rows of two tiles": (lambda: Head(128256), 64, {"optimization_level": 2}, [(64, 128256)]),
    "a bias": (lambda: Head(128256, bias=True), 32, {"optimization_level": 2}, [(32, 128256)]),
    "words that no cores divide": (lambda: Head(50257), 32, {"optimization_level": 2}, [(32, 50257)]),
    "a result that fits as a whole": (lambda: Head(16384), 32, {"optimization_level": 2}, [(32, 16384)]),
    "a weight that two products read": (lambda: Head(128256, also=True), 32, {"optimization_level": 2}, [(32, 128256)] * 2),
}


NIGHTLY = ("at level 1", "level 0", "weights in bfloat16", "rows of two tiles", "words that no cores divide")


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.slow if case in NIGHTLY else ()) for case in HEADS])
def test_very_wide_products_are_made_in_parts(case: str) -> None:
    head, rows, options, expected = HEADS[case]
    assert heads_of(head(), rows, **options) == expected


@pytest.mark.parametrize("precision", [pytest.param("model", marks=pytest.mark.slow), "bfp8"])
def test_results_of_parts_wait_where_there_is_room(precision: str) -> None:
    """The next part's blocks fill L1: at level 2 the parts before it may wait in DRAM, and the plan is no slower than level 1's."""
    captured = capture(Head(128256).to(torch.bfloat16).eval(), (torch.zeros(32, 512, dtype=torch.bfloat16),), {}, "torch")
    times = []
    for level in (1, 2):
        module = lower_to_ttnn(captured.module, CompilerOptions.parse({"optimization_level": level, "precision": precision})).module
        (forward,) = [func for func in functions(module) if not is_const_eval(func)]
        times.append(replay(forward_of(forward), Plan(0.0), machine("n150"), 0).ns)
    assert None not in times and times[1] <= times[0]


@pytest.mark.parametrize("language", ["python", pytest.param("cpp", marks=pytest.mark.slow)])
def test_parts_have_the_values_of_the_whole(language: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    generate = codegen_py if language == "python" else codegen_cpp
    options = {"optimization_level": 2, "precision": "bfp8"}
    generate(Head(128256).to(torch.bfloat16).eval(), torch.randn(32, 512, dtype=torch.bfloat16), export_path=tmp_path / "out", compiler_options=options)
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


class Dense(torch.nn.Module):
    """A product with a bias, and what may follow it."""

    def __init__(self, width: int, activation: Any = None) -> None:
        super().__init__()
        self.norm, self.linear, self.activation = torch.nn.LayerNorm(width), torch.nn.Linear(width, width), activation or (lambda x: x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.activation(self.linear(self.norm(x)))


WHOLE = ["linear"]
DENSE: dict[str, tuple[Callable[[], Dense], int, int, list[str]]] = {
    "level 2": (lambda: Dense(4096), 4, 2, ["matmul", "add"]),
    "level 1": (lambda: Dense(4096), 4, 1, ["matmul", "add"]),
    "an activation": (lambda: Dense(4096, torch.relu), 32, 2, ["matmul", "add", "relu"]),
    "an activation of the product alone": (lambda: Dense(4096, torch.nn.functional.gelu), 4, 2, WHOLE),
    "level 0": (lambda: Dense(4096), 4, 0, WHOLE),
    "rows of two tiles": (lambda: Dense(4096), 64, 2, WHOLE),
    "a small weight": (lambda: Dense(512), 4, 2, WHOLE),
}


@pytest.mark.parametrize("case", DENSE)
def test_a_bias_behind_a_weight_that_is_read_from_all_banks(case: str, tmp_path: Path) -> None:
    make, rows, level, expected = DENSE[case]
    torch.manual_seed(0)
    dense = make()
    x = torch.randn(rows, dense.linear.in_features, dtype=torch.bfloat16)
    captured = capture(dense.to(torch.bfloat16).eval(), (x,), {}, "torch")
    module = lower_to_ttnn(captured.module, CompilerOptions.parse({"optimization_level": level})).module
    (forward,) = [func for func in functions(module) if not is_const_eval(func)]
    made = [op for op in forward.body.block.ops if op.name.removeprefix("ttnn.") in ("matmul", "linear", "add", "relu", "gelu", "unary_chain", "multiply")]
    assert [op.name.removeprefix("ttnn.") for op in made][: len(expected)] == expected
    if expected == WHOLE:
        return
    weight = layout_of(made[0].operands[1].type)
    assert weight is not None and (weight.buffer, weight.memory) == ("dram", "width_sharded")
    codegen_py(dense, x, export_path=tmp_path / "out", compiler_options={"optimization_level": level})
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr
