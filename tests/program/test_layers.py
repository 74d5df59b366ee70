"""Layers with loops of their own are one loop over layers: recurrent nets of several layers, in both languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from alchemist import codegen_cpp, codegen_py
from alchemist.ops.spec import TTNN_OPS
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from alchemist.program import build_program, model
from alchemist.program.layers import roll_layers
from emit_py.printer import block
from tests import running

SIZE, STEPS = 32, 6


class Net(nn.Module):
    """A recurrent net that returns all states, or those of the last layer alone."""

    def __init__(self, kind: str, layers: int, *, both: bool, last: bool = False) -> None:
        super().__init__()
        self.net = getattr(nn, kind)(SIZE, SIZE, layers, batch_first=True, bidirectional=both)
        self.last = last

    def forward(self, x: torch.Tensor) -> Any:
        out, state = self.net(x)
        return (out, state[-1]) if self.last else (out, state)


def loops(body: tuple[model.Statement, ...], depth: int = 0) -> list[tuple[int, str]]:
    """(depth, variable) of the loops in a body."""
    found = []
    for one in body:
        if isinstance(one, model.Loop):
            found += [(depth, one.variable), *loops(one.body, depth + 1)]
    return found


def forward_loops(net: nn.Module) -> list[tuple[int, str]]:
    captured = capture(net.eval(), (torch.randn(2, STEPS, SIZE),), {}, "torch")
    made = build_program(lower_to_ttnn(captured.module, CompilerOptions()).module, captured, CompilerOptions())
    return next(found for function in made.functions if (found := loops(function.body)))


@pytest.mark.parametrize(
    ("net", "wanted"),
    [
        (Net("GRU", 2, both=True), [(0, "layer"), (1, "i"), (1, "i")]),
        (Net("GRU", 3, both=False), [(0, "layer"), (1, "i")]),
        (Net("LSTM", 3, both=True), [(0, "layer"), (1, "i"), (1, "i")]),
        (Net("RNN", 2, both=False), [(0, "layer"), (1, "i")]),
        (Net("GRU", 1, both=True), [(0, "i"), (0, "i")]),  # the directions are no layers
    ],
    ids=["both ways", "one way", "two states", "plain", "a single layer"],
)
def test_loops(net: Net, wanted: list[tuple[int, str]]) -> None:
    assert forward_loops(net) == wanted


@pytest.mark.parametrize(
    ("net", "make"),
    [(Net("GRU", 2, both=True), codegen_cpp), (Net("LSTM", 2, both=False), codegen_py), (Net("GRU", 3, both=False, last=True), codegen_py)],
    ids=["both ways in C++", "two states", "last state"],
)
def test_values(net: Net, make: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    out = make(net.eval(), torch.randn(2, STEPS, SIZE), export_path=tmp_path / "out").path
    done = running.run(out, "--check")
    assert done.returncode == 0, done.stdout + done.stderr


# ------------------------------------------------------------------------------------------------ statements by themselves


def call(result: str, *inputs: model.Value) -> model.Call:
    spec = TTNN_OPS["ttnn.add"] if len(inputs) == 2 else TTNN_OPS["ttnn.relu"]
    return model.Call(spec, tuple(zip(spec.args, inputs, strict=False)), (result,))


def layer(number: int, given: str, result: str, *, weight: str = "w") -> list[model.Statement]:
    turns = (call(result, model.TensorRef(result), model.WeightRef((f"{weight}_{number}",))),)
    return [call(result, model.TensorRef(given)), model.Loop("_", 0, model.Literal(4), 1, turns)]


def test_what_is_carried_keeps_the_name_of_what_comes_first() -> None:
    made = roll_layers((*layer(0, "x", "y"), *layer(1, "y", "z"), call("z", model.TensorRef("z"))))
    (loop,) = (one for one in made if isinstance(one, model.Loop))
    assert (loop.start, loop.stop, loop.step, loop.variable) == (0, model.Literal(2), 1, "layer")
    assert model.WeightRef(("w_", model.Index("layer"))) in [
        value for one in model.statements(loop.body) if isinstance(one, model.Call) for _, value in one.arguments
    ]


def test_only_layers_that_count_on() -> None:
    body = (*layer(0, "x", "y"), *layer(1, "y", "z"), *layer(3, "z", "a"))
    made = roll_layers(body)
    assert made[-2:] == (call("a", model.TensorRef("x")), body[-1])
    assert sum(isinstance(one, model.Loop) for one in made) == 2


@pytest.mark.parametrize(
    "body",
    [
        (*layer(0, "x", "y"), *layer(1, "y", "z", weight="v")),
        (*layer(0, "x", "y"), *layer(0, "y", "z")),
        (*layer(0, "x", "y"), *layer(1, "y", "z"), call("s", model.TensorRef("y"), model.TensorRef("z"))),
    ],
    ids=["other weights", "nothing counts", "an inner value is used behind"],
)
def test_what_stays(body: tuple[model.Statement, ...]) -> None:
    assert roll_layers(body) == body


def op(result: str, *inputs: str) -> model.Call:
    """A name with a point in front is a weight."""
    return call(result, *(model.WeightRef((name[1:],)) if name.startswith(".") else model.TensorRef(name) for name in inputs))


def counted(number: int, given: str, hidden: str = "hidden_l{}", state: str = "state_l{}") -> list[model.Statement]:
    """A layer that makes two values in its turns, with names and a weight of its number."""
    own, kept = hidden.format(number), state.format(number)
    return [op(own, given), model.Loop("i", 0, model.Literal(4), 1, (op(own, own, f".w_l{number}"), op(kept, own)))]


def joined(result: str, *parts: str) -> model.Call:
    spec = TTNN_OPS["ttnn.concat"]
    return model.Call(spec, ((spec.args[0], model.Items(tuple(map(model.TensorRef, parts)))),), (result,))


TWO = [*counted(0, "x"), *counted(1, "hidden_l0")]
TURN = "x = relu(x); for i in range(4):; x = add(x, weights[w_l{layer}]); state = relu(x)"
ROLLED: dict[str, tuple[list[model.Statement], str]] = {  # what roll_layers makes; "" where nothing rolls
    "the last value is used": ([*TWO, op("out", "hidden_l1")], f"for layer in range(2):; {TURN}; out = relu(x)"),
    "the input is used behind": (
        [*TWO, op("out", "hidden_l1", "x")],
        "hidden = x; for layer in range(2):; hidden = relu(hidden); for i in range(4):; hidden = add(hidden, weights[w_l{layer}]); state = relu(hidden); out = add(hidden, x)",
    ),
    "numbers from one on": (
        [*counted(1, "x"), *counted(2, "hidden_l1"), *counted(3, "hidden_l2"), op("out", "hidden_l3")], f"for layer in range(1, 4):; {TURN}; out = relu(x)"
    ),
    "every other number": (
        [*counted(0, "x"), *counted(2, "hidden_l0"), *counted(4, "hidden_l2"), op("out", "hidden_l4")], f"for layer in range(0, 6, 2):; {TURN}; out = relu(x)"
    ),
    "a list of all": (
        [*TWO, joined("states", "state_l0", "state_l1"), model.Free(("state_l0", "state_l1")), op("out", "hidden_l1")],
        f"state_of_layers = []; for layer in range(2):; {TURN}; state_of_layers.append(state); del state; states = concat(state_of_layers); "
        "del state_of_layers; out = relu(x)",
    ),
    "a list under the first one's name": (
        [*TWO, joined("kept_l0", "state_l0", "state_l1"), op("out", "kept_l0")],
        f"state_of_layers = []; for layer in range(2):; {TURN}; state_of_layers.append(state); del state; kept = concat(state_of_layers); out = relu(kept)",
    ),
    "a list under a name that is not free": (
        [*TWO, joined("x_l0", "state_l0", "state_l1"), op("out", "x_l0")],
        f"state_of_layers = []; for layer in range(2):; {TURN}; state_of_layers.append(state); del state; x_l0 = concat(state_of_layers); out = relu(x_l0)",
    ),
    "layers that read the same": (
        [*counted(0, "x", "a{}", "b{}"), *counted(1, "x", "a{}", "b{}"), joined("states", "a0", "a1")],
        "a0_of_layers = []; for layer in range(2):; a0 = relu(x); for i in range(4):; a0 = add(a0, weights[w_l{layer}]); b0 = relu(a0); a0_of_layers.append(a0); "
        "del a0; states = concat(a0_of_layers)",
    ),
    "a list in another order": ([*TWO, joined("states", "state_l1", "state_l0"), op("out", "hidden_l1")], ""),
    "a list with another value": ([*TWO, joined("states", "state_l0", "state_l1", "x"), op("out", "hidden_l1")], ""),
    "a list of two values of each": ([*TWO, joined("all", "state_l0", "state_l1", "hidden_l0", "hidden_l1")], ""),
    "a value of a list is used too": ([*TWO, joined("states", "state_l0", "state_l1"), op("out", "state_l1")], ""),
    "a value of the first layer": ([*TWO, op("out", "state_l0", "state_l1")], ""),
    "what turns make is carried": ([*counted(0, "x"), *counted(1, "state_l0"), op("out", "state_l1")], ""),
    "a layer that reads an older one": ([*TWO, *counted(2, "hidden_l0"), op("out", "hidden_l2")], ""),
}  # fmt: skip


@pytest.mark.parametrize("case", ROLLED)
def test_layers_become_a_loop(case: str) -> None:
    body, wanted = ROLLED[case]
    made = roll_layers(tuple(body))
    text = "; ".join(line.strip() for line in block(made, 0) if line.strip())
    for word in ("ttnn.", 'f"', '"'):
        text = text.replace(word, "")
    assert (text if made != tuple(body) else "") == wanted
