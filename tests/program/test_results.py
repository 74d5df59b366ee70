"""Results of functions: in the order of the source, called what the source binds them to."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from alchemist import codegen_py


class Own(nn.Module):
    """Attention that makes its probabilities before its result, and returns them behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.value, self.out = nn.Linear(32, 32), nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        probabilities = torch.softmax(x @ x.mT, -1)
        context = probabilities @ self.value(x)
        return self.out(context), probabilities


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mix, self.skip = nn.Linear(32, 32), nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        z = torch.tanh(self.mix(x))
        return x + z, self.skip(z)


class Pair(nn.Module):
    def __init__(self, attention: nn.Module, inputs: int) -> None:
        super().__init__()
        self.attention, self.inputs = attention, inputs

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        attended, scores = self.attention(*[x] * self.inputs)
        return attended + x, scores * 2.0


class Stacked(nn.Module):
    """Two results of every layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(x)
        for layer in self.layers:
            x, skip = layer(x)
            total = total + skip.sin()
        return total


def emitted(model: nn.Module, directory: Path) -> str:
    torch.manual_seed(0)
    codegen_py(model.eval(), torch.randn(2, 32, 32), export_path=directory / "out", export_golden="none")
    return (directory / "out" / "main.py").read_text()


@pytest.mark.parametrize(("attention", "inputs"), [(nn.MultiheadAttention(32, 2, batch_first=True), 3), (Own(), 1)], ids=["of torch", "own"])
def test_results_come_in_the_order_of_the_source(attention: nn.Module, inputs: int, tmp_path: Path) -> None:
    """What is unpacked as `attended` is what x is added to; probabilities are not called so."""
    text = emitted(Pair(attention, inputs), tmp_path)
    assert "attended, scores = " in text
    assert "ttnn.add(attended, x, " in text
    assert "ttnn.multiply(scores, 2.0, memory_config=DRAM)" in text


def test_every_call_binds_the_names_of_its_statement(tmp_path: Path) -> None:
    text = emitted(Stacked(), tmp_path)
    assert "x, skip = layer(" in text
    assert "layers_output" not in text


def low_and_high(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    low = x.sin()
    high = low.exp() * x
    return high, low


class Turned(nn.Module):
    """What is returned first is computed from what is returned behind it, in one statement of the caller."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first, second = low_and_high(x)
        return first @ second, second.sum(0)


def test_targets_name_no_values_that_are_made_of_each_other(tmp_path: Path) -> None:
    """Which of them is the first target their order does not say: they keep the names of their own statements."""
    text = emitted(Turned(), tmp_path)
    assert "low = ttnn.sin(x, " in text
    assert "ttnn.matmul(high, low, " in text
    assert "first" not in text.partition("return first @")[0].replace("first, second = low_and_high(x)", "")


class Summed(nn.Module):
    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = names
        for name in names:
            self.register_parameter(name, nn.Parameter(torch.randn(1, 32, 32)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second, third = (getattr(self, name) for name in self.names)
        return x * (first + second + third)


class Table(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows, self.factor = nn.Parameter(torch.randn(32, 32)), nn.Parameter(torch.randn(32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        table = self.rows.exp() * self.factor
        return x @ table + x * (self.factor.exp() + 1)


class Computed(nn.Module):
    """What is made of weights alone, in modules and beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.gain, self.table = nn.Parameter(torch.randn(32)), Table()
        self.embeddings, self.plain = Summed("tokens", "positions", "kinds"), Summed("weight", "bias", "scale")
        self.two, self.long = Summed("tokens", "kinds", "bias"), Summed("tokens_of_a_long_name", "columns_of_a_long_name", "bias")
        self.longer = Summed("tokens_of_a_long_name", "sections_of_a_long_name", "bias")

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        loudness = self.gain.exp() + self.table.factor
        return self.embeddings(x), self.plain(x), self.two(x), self.long(x), self.longer(x), self.table(x) * loudness


def test_names_of_what_is_made_of_weights(tmp_path: Path) -> None:
    """Of the variable that the source gives it, of the parameters with names of their own that are added, else of one of them and how."""
    emitted(Computed(), tmp_path)
    text = (tmp_path / "out" / "consteval.py").read_text()
    assert re.findall(r'weights\["([^"]*)"\] = ', text) == [
        "table", "factor_shifted", "embeddings.tokens_and_positions_and_kinds", "plain.bias_shifted", "two.tokens_and_kinds",
        "long.tokens_of_a_long_name_and_columns_of_a_long_name", "longer.bias_shifted", "loudness",
    ]  # fmt: skip


LAYERS = """import torch
from torch import nn
import torch.nn.functional as F


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(32, 32))

    def forward(self, x):
        return F.linear(x, self.w)
"""
BENDS = "import torch\nfrom torch import nn\n\n\nclass Bent(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"


def test_statements_of_two_files_in_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of what is computed first has its lines first, without its name where most of the function's are."""
    (tmp_path / "module_of_layers.py").write_text(LAYERS)
    (tmp_path / "a_module_of_bends.py").write_text(BENDS)
    monkeypatch.syspath_prepend(tmp_path)
    mixed, bent = importlib.import_module("module_of_layers").Mixed(), importlib.import_module("a_module_of_bends").Bent()
    lines = [line.strip() for line in emitted(nn.Sequential(mixed, bent), tmp_path).splitlines()]
    place = lines.index("# a_module_of_bends.py:7: return torch.relu(x)")
    assert lines[place - 1] == "# 12: return F.linear(x, self.w)"
    assert lines[place + 1].endswith('activation="relu")')
