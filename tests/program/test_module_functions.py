"""Calls of a module's weights that are written out three times or more are calls of one function."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch
from torch import nn

from alchemist import codegen_py, load_codegen_py
from alchemist.ir.location import Scope, SourceInfo
from alchemist.ops.spec import TTNN_OPS
from alchemist.program.graph import Graph, Node, TensorType, Use, Value
from alchemist.program.scopes import chains_of, moved_norms
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


def _linear(activation: type[nn.Module]) -> nn.Module:
    return nn.Sequential(*(part for _ in range(3) for part in (nn.Linear(64, 64), activation())))


def _convolutions(activation: type[nn.Module]) -> nn.Module:
    layers = (nn.Sequential(nn.Conv2d(16 * (place + 1), 16 * (place + 2), 3, 1, 1), activation()) for place in range(3))
    return nn.ModuleDict({name: layer for name, layer in zip("abc", layers, strict=True)})


class _InTurn(nn.Module):
    def __init__(self, layers: nn.Module) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers.values() if isinstance(self.layers, nn.ModuleDict) else self.layers:
            x = layer(x)
        return x


@pytest.mark.parametrize(
    ("layers", "shape", "name", "parameters", "said"),
    [
        (_linear(nn.ReLU), (1, 32, 64), "linear_relu", ["x", "weights"], set()),
        (_linear(nn.Identity), (1, 32, 64), "", [], set()),  # its call is short
        (
            _convolutions(nn.ReLU), (1, 16, 32, 32), "conv2d_relu",
            ["x", "weights", "in_channels", "out_channels", "memory_config"], {"in_channels", "out_channels"},
        ),
    ],
)  # fmt: skip
def test_what_tells_a_reader_what_comes_out_is_said_at_each_call(
    tmp_path: Path, layers: nn.Module, shape: tuple[int, ...], name: str, parameters: list[str], said: set[str]
) -> None:
    texts = {}
    for structure in (True, False):
        made = codegen_py(
            _InTurn(layers).eval(),
            torch.zeros(shape),
            export_path=tmp_path / str(structure),
            export_golden="none",
            compiler_options={"recover_structure": structure, "recover_loops": False},
        )
        texts[structure] = {name: (made.path / name).read_text() for name in ("main.py", "consteval.py") if (made.path / name).exists()}
    tree = ast.parse(texts[True]["main.py"])
    functions = {one.name: [arg.arg for arg in one.args.args] for one in tree.body if isinstance(one, ast.FunctionDef)}
    assert functions.get(name, []) == parameters
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == name]
    assert all({keyword.arg for keyword in call.keywords} >= said for call in calls)
    assert len(calls) == (3 if name else 0)
    shapes = {key: tuple(tensor.shape) for key, tensor in layers.state_dict(prefix="layers.").items()}
    assert run(texts[True], shapes=shapes) == run(texts[False], shapes=shapes)


def test_a_loop_over_layers_whose_bias_is_another_modules(tmp_path: Path) -> None:
    """A batch norm folded into a convolution: the two weights have numbers of the loop in their names and no module in common."""
    layers = nn.Sequential(*(part for _ in range(4) for part in (nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()))).eval()
    made = codegen_py(_InTurn(layers), torch.zeros(1, 16, 8, 8), export_path=tmp_path / "made", export_golden="none")
    text = (made.path / "main.py").read_text()
    assert text.count("ttnn.conv2d(") == 2  # the image is row-major, what layers hand on is not
    assert "for i in (3, 6, 9):" in text


class _Named(nn.Module):
    """A variable called like the function of the norms."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.LayerNorm(64), nn.LayerNorm(64), nn.LayerNorm(64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        layer_norm = torch.sin(self.a(x))
        return layer_norm + torch.sin(self.b(torch.exp(layer_norm))) + torch.sin(self.c(torch.cos(layer_norm)))


def test_a_function_that_a_variable_is_called_like_has_a_verb(tmp_path: Path) -> None:
    text = (codegen_py(_Named().eval(), torch.zeros(2, 32, 64), export_path=tmp_path / "made", export_golden="none").path / "main.py").read_text()
    assert "def apply_layer_norm(" in text
    assert "layer_norm = ttnn.sin(" in text


def test_norms_move_their_results_where_all_norms_of_a_class_do() -> None:
    """Then the move is the last statement of the norm's function, and no caller repeats it."""
    norm_spec, move_spec, relu = (TTNN_OPS[f"ttnn.{name}"] for name in ("rms_norm", "to_memory_config", "relu"))

    def graph(moves: int) -> tuple[Graph, list[Node], list[Node]]:
        kind = TensorType((32, 32))
        values, nodes, norms, moved = [Value(kind, name="x")], [], [], []
        for index in range(2):
            scopes = (Scope("", "Net"), Scope(f"norm{'ab'[index]}", "Net.Norm"))
            source = (SourceInfo(scopes, (), "aten.op", "y"),)
            weight = Value(kind, key=f"{scopes[1].path}.weight")
            arguments = tuple(zip(norm_spec.args[:1], (Use(values[-1]),), strict=True))
            weight_arg = next(arg for arg in norm_spec.args if arg.name == "weight")
            norms.append(Node(norm_spec, (*arguments, (weight_arg, Use(weight))), (Value(kind),), source))
            nodes.append(norms[-1])
            if index < moves:
                moved.append(Node(move_spec, ((move_spec.args[0], Use(norms[-1].results[0])),), (Value(kind),)))
                nodes.append(moved[-1])
            nodes.append(Node(relu, ((relu.args[0], Use(nodes[-1].results[0])),), (Value(kind),), (SourceInfo(scopes[:1], (), "aten.op", "z"),)))
            values.append(nodes[-1].results[0])
        return Graph((values[0],), (), nodes, (values[-1],), ("y",)), norms, moved

    made, norms, moved = graph(2)
    chains = chains_of(made)
    assert [chains[move][-1].path for move in moved] == ["norma", "normb"]
    assert {norm: move for norm, (_, move) in moved_norms(made).items()} == dict(zip(norms, moved, strict=True))
    assert not moved_norms(graph(1)[0])


class _Pair(nn.Sequential):
    def __init__(self, channels: int, wide: int) -> None:
        super().__init__(nn.Conv2d(channels, wide, 3, padding=1), nn.ReLU(), nn.Conv2d(wide, wide, 3, padding=1))


class _Pools(nn.Module):
    """Pairs of convolutions, each with a max pool of its float32 result behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.ModuleList(_Pair(before, after) for before, after in ((3, 32), (32, 64), (64, 128)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for step in self.steps:
            x = step(x)
            kept.append(x.mean())
            x = nn.functional.max_pool2d(x, 2)
        return x + kept[0] + kept[1] + kept[2]


def test_casts_around_all_pools_go_into_their_function(tmp_path: Path) -> None:
    """The shaping of the first pair's input is the caller's, so that all pairs are one function without a flag."""
    torch.manual_seed(0)
    module, x = _Pools().eval(), torch.randn(1, 3, 16, 16)
    made = codegen_py(module, x, export_path=tmp_path / "out")
    text = (made.path / "main.py").read_text()
    bodies = {one.name: ast.unparse(one) for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)}
    assert [bodies["max_pool2d"].count(f"ttnn.{op}(") for op in ("typecast", "max_pool2d")] == [2, 1]
    assert [text.count("ttnn.typecast("), text.count("= max_pool2d("), text.count("= pair(")] == [2, 3, 3]
    assert [bodies["pair"].count(f"ttnn.{op}(") for op in ("permute", "conv2d")] == [0, 2]
    assert bodies["pair"].count("x = ttnn.conv2d(") == 1  # called after no attribute of a caller
    torch.testing.assert_close(load_codegen_py(module, x, load_path=made.path), module(x), atol=0.02, rtol=0.02)
