"""Const-eval functions: helpers that fold batch norms, defaults of their parameters."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from alchemist import codegen_py, pipeline
from alchemist.frontends.torch import capture
from alchemist.passes.lower import look_up
from alchemist.program import model, prepare
from alchemist.program.defaults import with_defaults
from tests import running
from tests.program.evaluate import run
from tests.program.models import emitted


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs)]


class _Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = _convolution(channels, channels, 3)
        self.conv2, self.bn2 = _convolution(channels, channels, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.bn1(self.conv1(image)))
        return torch.relu(image + self.bn2(self.conv2(hidden)))


class _Net(nn.Module):
    def __init__(self, channels: int = 64) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, 2, 1)
        self.blocks = nn.ModuleList(_Block(channels) for _ in range(3))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = self.stem(image)
        for block in self.blocks:
            hidden = block(hidden)
        return hidden


def _with_and_without_functions(net: nn.Module, image: torch.Tensor) -> dict[bool, dict[str, str]]:
    captured = capture(net.eval(), (image,), {})
    return {structure: emitted(captured, recover_structure=structure) for structure in (True, False)}


def test_one_helper_folds_every_batch_norm() -> None:
    """It makes weights and bias of a convolution of one scale; values are those of the program without functions."""
    texts = _with_and_without_functions(_Net(), torch.zeros(1, 3, 16, 16))
    text = texts[True]["consteval.py"]
    functions = {one.name: one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)}
    assert [name for name in functions if "batch_norm" in name] == ["fold_batch_norm"]
    assert [one.arg for one in functions["fold_batch_norm"].args.args][:4] == ["stored", "weights", "convolution", "normalization"]
    assert text.count("ttnn.rsqrt(") == 1
    assert text.count("ttnn.prepare_conv_weights(") == text.count("ttnn.prepare_conv_bias(") == 2  # of the stem, and of all others
    assert "for i in range(" in text
    assert run(texts[True]) == run(texts[False])


class _Pyramid(nn.Module):
    """Convolutions of many sizes with batch norms, in `count` stages."""

    def __init__(self, count: int) -> None:
        super().__init__()
        channels = [3, *(16 * (place + 1) for place in range(count))]
        pairs = [_convolution(one, two, 3 + 2 * (place % 2), 1 + place % 2) for place, (one, two) in enumerate(pairwise(channels))]
        self.stages = nn.ModuleList(nn.ModuleDict({"conv": conv, "norm": norm}) for conv, norm in pairs)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        for stage in self.stages:
            image = torch.relu(stage["norm"](stage["conv"](image)))
        return image


@pytest.mark.parametrize(("count", "rows"), [(11, 10), (4, 0)])
def test_many_convolutions_are_rows_of_a_table(count: int, rows: int) -> None:
    """All but the first, whose image is no tiles. A row says what the shape of its weight does not; values are those of the program without functions."""
    net = _Pyramid(count).eval()
    texts = _with_and_without_functions(net, torch.zeros(1, 3, 64, 64))
    tables = [one for one in ast.walk(ast.parse(texts[True]["consteval.py"])) if isinstance(one, ast.For) and isinstance(one.iter, ast.Tuple)]
    assert sum(len(one.iter.elts) for one in tables if isinstance(one.iter, ast.Tuple)) == rows
    for table in tables:
        columns = [name.id for name in table.target.elts if isinstance(name, ast.Name)] if isinstance(table.target, ast.Tuple) else []
        assert columns[:2] == ["name", "input_size"]
        assert not {"in_channels", "out_channels", "kernel_size", "padding"} & set(columns)
    assert "padding=[kernel_size // 2, kernel_size // 2]" in texts[True]["consteval.py"]
    shapes = {name: tuple(tensor.shape) for name, tensor in net.state_dict().items()}
    assert run(texts[True], shapes=shapes) == run(texts[False], shapes=shapes)


def _called(values: list[dict[str, int]]) -> tuple[model.Function, ...]:
    names = ["a", "b", "c"]
    callee = model.Function("f", tuple(model.Parameter(name, "number") for name in names), (model.Return(()),), 0)
    calls = [model.CallFunction("f", tuple(model.NumberArgument(name, model.Literal(row[name])) for name in names), ()) for row in values]
    return (callee, model.Function("net", (), tuple(calls), 0))


@pytest.mark.parametrize(
    ("rows", "by_name", "parameters", "given"),
    [
        ([(1, 2, 3), (1, 5, 3), (4, 6, 3)], True, ["b", "a=1", "c=3"], ["b", "b", "b a"]),
        ([(1, 2, 3), (1, 5, 3), (4, 6, 3)], False, ["b", "a=1", "c=3"], ["b", "b", "b a"]),
        ([(1, 2, 3), (1, 5, 3), (1, 6, 4)], True, ["b", "c=3", "a=1"], ["b", "b", "b c"]),
        ([(1, 2, 3), (4, 5, 6), (7, 8, 9)], True, ["a", "b", "c"], ["a b c"] * 3),
        ([(1, 2, 3), (1, 2, 3)], True, ["a", "b", "c"], ["a b c"] * 2),  # two calls do not tell what is usual
        ([(1, 2, 9), (1, 2, 9), (1, 3, 9), (4, 2, 9), (4, 3, 9)], True, ["a=1", "b=2", "c=9"], ["", "", "b", "a", "a b"]),
        ([(1, 2, 9), (1, 2, 9), (1, 3, 9), (4, 2, 9), (4, 3, 9)], False, ["a=1", "b=2", "c=9"], ["", "", "a b", "a", "a b"]),
    ],
)
def test_what_most_calls_give_is_a_default(rows: list[tuple[int, int, int]], by_name: bool, parameters: list[str], given: list[str]) -> None:
    """In C++ arguments are given by position, so those before one that is given are given too."""
    made = with_defaults(_called([dict(zip("abc", row, strict=True)) for row in rows]), by_name=by_name)
    defaults = [one.default for one in made[0].parameters]
    shown = [f"={one.value}" if isinstance(one, model.Literal) else "" for one in defaults]
    assert [one.name + default for one, default in zip(made[0].parameters, shown, strict=True)] == parameters
    calls = [one for one in made[1].body if isinstance(one, model.CallFunction)]
    assert [" ".join(one.name for one in call.arguments if isinstance(one, model.NumberArgument)) for call in calls] == given


def test_a_config_that_every_call_gives_is_no_parameter() -> None:
    """A number stays one: an expression may read it (`width // num_heads`)."""
    kinds = {"num_heads": "number", "program_config": "norm_config"}
    given = tuple(model.NumberArgument(name, model.ConstantRef(name.upper())) for name in kinds)
    callee = model.Function(
        "f", tuple(model.Parameter(name, kind) for name, kind in kinds.items()), (model.Assign("x", model.ParameterRef("program_config")),), 0
    )
    made = with_defaults((callee, model.Function("net", (), (model.CallFunction("f", given, ()),) * 2, 0)), by_name=True)
    assert [one.name for one in made[0].parameters] == ["num_heads"]
    assert made[0].body == (model.Assign("x", model.ConstantRef("PROGRAM_CONFIG")),)
    assert [call.arguments for call in made[1].body if isinstance(call, model.CallFunction)] == [given[:1]] * 2


class _Normalized(nn.Module):
    """Constants of a variable, reshaped where they are used, and a group norm of 64 pixels with a constant that lowering adds."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(2, 32)
        self.conv = nn.Conv2d(32, 32, 1)

    def forward(self, image: torch.Tensor, offsets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        level_sizes = torch.stack([torch.tensor([4.0, 2.0]), torch.tensor([2.0, 1.0])], -1)
        return self.norm(self.conv(image)), offsets / level_sizes[None, :, None, :]


def test_constants_are_called_after_their_variable_or_purpose(tmp_path: Path) -> None:
    made = codegen_py(_Normalized().eval(), torch.zeros(1, 32, 8, 8), torch.zeros(3, 2, 5, 2), export_path=tmp_path / "x", export_golden="none")
    text = (made.path / "main.py").read_text()
    assert 'weights["level_sizes"]' in text
    assert 'weights["norm.shares_of_64_pixels"]' in text or 'weights["shares_of_64_pixels"]' in text


def test_the_parts_of_a_float32_table_are_called_by_their_bits(tmp_path: Path) -> None:
    made = codegen_py(nn.Embedding(30000, 64).eval(), torch.zeros(1, 32, dtype=torch.int64), export_path=tmp_path / "x", export_golden="none")
    text = (made.path / "main.py").read_text()
    assert [part for part in ("high", "middle", "low") if f'weights["weight_{part}"]' in text] == ["high", "middle", "low"]


def test_large_tables_leave_room_on_the_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What splits a table frees its copies; a table of a sixth of the card is not split."""
    net, ids = nn.Embedding(30000, 64).eval(), torch.arange(32)[None]
    monkeypatch.setattr(prepare, "LARGE", net.weight.numel())
    split = codegen_py(net, ids, export_path=tmp_path / "split")
    assert "del clamped" in (text := (split.path / "consteval.py").read_text()) and "del rest" in text
    monkeypatch.setattr(look_up, "MOST_SPLIT", net.weight.numel() - 1)
    whole = codegen_py(net, ids, export_path=tmp_path / "whole")
    assert "ttnn.gather(" in (whole.path / "main.py").read_text()
    for made in (split, whole):
        assert running.run(made.path, "--check").returncode == 0


class _Separable(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.wide, self.wide_norm = _convolution(channels, channels, 3)
        self.next, self.next_norm = _convolution(channels, channels, 3)
        self.deep, self.deep_norm = nn.Conv2d(channels, channels, 5, 1, 2, groups=channels, bias=False), nn.BatchNorm2d(channels)
        self.last, self.last_norm = nn.Conv2d(channels, channels, 5, 1, 2, groups=channels, bias=False), nn.BatchNorm2d(channels)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = self.next_norm(self.next(self.wide_norm(self.wide(image)).relu())).relu()
        return self.last_norm(self.last(self.deep_norm(self.deep(hidden)).relu()))


def test_helpers_that_fold_batch_norms_are_told_apart_by_the_layer() -> None:
    net = _Net()
    net.blocks = nn.ModuleList(_Separable(64) for _ in range(2))
    text = _with_and_without_functions(net, torch.zeros(1, 3, 16, 16))[True]["consteval.py"]
    names = [one.name for one in ast.parse(text).body if isinstance(one, ast.FunctionDef) and "batch_norm" in one.name]
    assert sorted(names) == ["fold_batch_norm_into_conv_3x3", "fold_batch_norm_into_depthwise_5x5"]


def test_parameters_without_a_module_are_handed_on_by_the_entry_function() -> None:
    """A function reads the parameter as it is, the entry function reads another form of it."""
    jnp = pytest.importorskip("jax.numpy")

    def squashed(w: dict[str, Any], x: Any) -> Any:
        h = jnp.tanh(x @ w["a"])
        return h / (1 + h * h)

    def both(w: dict[str, Any], x: Any) -> Any:
        return squashed(w, x) @ w["a"].T, squashed(w, x[:1] * 2)

    files = emitted(pipeline.capture(both, ({"a": jnp.ones((4, 5))}, jnp.ones((3, 4))), {}, "jax"))
    assert 'weights["a"]' in files["main.py"] and files["consteval.py"].count('weights["a"] = stored["a"]\n') == 1
