"""What each layer returns is collected in a list, so that layers stay a loop; a result has one name in a function and in its callers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import emit_cpp
import emit_py
from alchemist.frontends.torch import capture
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.program import build_program, model
from alchemist.program.outline import numbered

LAYERS = 3


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state = nn.Linear(32, 32)
        self.out = nn.Linear(32, 32)

    def forward(self, x: torch.Tensor, old: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        kept = torch.relu(self.state(x) + old)
        x = x + self.out(kept)
        return x, kept


class Net(nn.Module):
    """states: returns what each layer keeps. hidden: returns what goes into each layer, and the normalised result."""

    def __init__(self, *, states: bool, hidden: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(32)
        self.returned = states, hidden

    def forward(self, x: torch.Tensor, old: list[torch.Tensor]) -> dict[str, object]:
        states, hidden = [], []
        x = torch.relu(x)
        for layer, before in zip(self.layers, old, strict=True):
            hidden.append(x)
            x, kept = layer(x, before)
            states.append(kept)
        x = self.norm(x)
        return {"x": x, **({"states": states} if self.returned[0] else {}), **({"hidden": hidden} if self.returned[1] else {})}


def program(language: str = "python", **returned: bool) -> model.Program:
    result = capture(Net(**returned).eval(), (torch.randn(32, 32), [torch.randn(32, 32) for _ in range(LAYERS)]), {})
    options = CompilerOptions()
    return build_program(lower_to_ttnn(result.module, options).module, result, options, language)


def test_layers_that_return_a_state_are_a_loop() -> None:
    made = program(states=True)
    entry = made.functions[-1]
    (loop,) = [one for one in entry.body if isinstance(one, model.Loop)]
    (call,) = [one for one in loop.body if isinstance(one, model.CallFunction)]
    layer = next(one for one in made.functions if one.name == call.function)
    final = layer.body[-1]
    assert isinstance(final, model.Return)
    assert [value.name for value in final.values if isinstance(value, model.TensorRef)] == list(call.results) == ["x", "kept"]
    assert any(isinstance(argument, model.Element) for argument in call.arguments)
    assert entry.lists == (1,)
    assert [one.name for one in made.returned] == ["x", "states.0", "states.1", "states.2"]
    assert "x, states = net(x" in emit_py.emit(made)["main.py"].replace("x_out", "x")


def test_inputs_of_layers_are_a_list_with_the_first() -> None:
    text = emit_py.emit(program(states=False, hidden=True))["main.py"]
    loop = text[text.index("for i in range(") :].partition("\n\n")[0]
    assert loop.count("append(") == 1
    assert loop.index("append(") < loop.index("layer(")
    assert '**{f"hidden.{i}": tensor for i, tensor in enumerate(' in text


def test_cpp_returns_vectors() -> None:
    files = emit_cpp.emit(program("cpp", states=True))
    assert "std::tuple<Tensor, std::vector<Tensor>> net(" in files["model.cpp"]
    assert "std::vector<ttnn::Tensor> states;" in files["model.hpp"]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["a.0.b", "a.1.b"], ("a.", 0, ".b")),
        (["k_1", "k_2", "k_3"], ("k_", 1, "")),
        (["a.0.0", "a.1.1"], None),
        (["a.0", "a.2"], None),
        (["a.01", "a.02"], None),
        (["a.0", "b"], None),
        (["{0}.0", "{0}.1"], ("{0}.", 0, "")),
    ],
)
def test_names_that_count_up(names: list[str], found: tuple[str, int, str] | None) -> None:
    assert numbered(names) == found
