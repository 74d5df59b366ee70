"""Models that take gradients: training steps by torch.func and torch.autograd, with the forward pass's modules and lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch_checking import check, ops

from alchemist import codegen_cpp, codegen_py
from alchemist.errors import FrontendError, UnsupportedOpError
from alchemist.frontends.torch import capture
from alchemist.loaded import LoadedProgram
from tests.zoo import training_torch as zoo

Loss = Callable[..., torch.Tensor]


class ByAutograd(zoo.TrainingStep):
    """The same with torch.autograd.grad."""

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> Any:
        params = dict(self.model.named_parameters())
        loss = self.loss(self.model(x), target)
        gradients = torch.autograd.grad(loss, list(params.values()))
        return {name: value - self.rate * d for (name, value), d in zip(params.items(), gradients, strict=True)}, loss


def convolutions(**options: Any) -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, **options), nn.ReLU(), nn.AvgPool2d(2) if options.get("dilation") else nn.Identity(), nn.Flatten())


STEPS: dict[str, Callable[[], tuple[nn.Module, tuple[Any, ...]]]] = {
    "an MLP": lambda: zoo.mlp()[:2],
    "a convolutional net": lambda: zoo.convolutional_net()[:2],
    "a transformer": lambda: zoo.transformer(1)[:2],
    "by torch.autograd": lambda: (ByAutograd(*(lambda step: (step.model, step.loss))(zoo.mlp()[0])), zoo.mlp()[1]),
    "classes that are ignored": lambda: (zoo.TrainingStep(nn.Linear(6, 5), F.cross_entropy), (torch.randn(4, 6), torch.tensor([1, -100, 4, 0]))),
    "one class that is ignored": lambda: (
        zoo.TrainingStep(nn.Linear(6, 5), lambda y, t: F.cross_entropy(y, t, ignore_index=0, reduction="sum")),
        (torch.randn(4, 6), torch.tensor([1, 0, 4, 0])),
    ),
    "classes with weights": lambda: (
        zoo.TrainingStep(nn.Linear(6, 3), lambda y, t: F.cross_entropy(y, t, weight=torch.tensor([1.0, 2.0, 0.5]), reduction="none").mean()),
        (torch.randn(4, 6), torch.tensor([1, 0, 2, 2])),
    ),
    "strides and padding": lambda: (zoo.TrainingStep(convolutions(stride=2, padding=1), zoo.square), (torch.randn(2, 3, 9, 9), torch.zeros(2, 200))),
    "dilation": lambda: (zoo.TrainingStep(convolutions(dilation=2), zoo.square), (torch.randn(2, 3, 8, 8), torch.zeros(2, 32))),
    "rows that are padding": lambda: (
        zoo.TrainingStep(nn.Embedding(7, 4, padding_idx=2), zoo.square),
        (torch.tensor([[1, 2, 2], [6, 1, 0]]), torch.zeros(2, 3, 4)),
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_steps_equal_torch(case: str) -> None:
    torch.manual_seed(0)
    step, args = STEPS[case]()
    result = check(step, args, tolerance=1e-3)
    assert any(info.is_gradient for _, info in ops(result))


def test_gradients_have_the_scopes_and_lines_of_the_forward_pass() -> None:
    step, args, _ = zoo.transformer(2)
    found = ops(capture(step, args))
    for path in ("model.blocks.0", "model.blocks.1"):
        forward, backward = (
            {info.frames[-1].line for _, info in found if info.is_gradient is wanted and [s.path for s in info.scopes][-1:] == [path]}
            for wanted in (False, True)
        )
        assert forward and backward <= forward | {min(forward)}
    sums = [info for name, info in found if name == "add" and info.is_gradient]
    assert {info.scopes[-1].path for info in sums} >= {"model.blocks.0", "model.blocks.1"}  # what goes around the attention, added where that is called


def test_outputs_are_called_like_their_parameters() -> None:
    step, args, _ = zoo.mlp()
    names = [output.name for output in capture(step, args).outputs]
    assert names == [*(f"0.model.{name}" for name, _ in step.model.named_parameters()), "output_1"]
    other = capture(lambda x: ({"a.b": x + 1, "a.c": x - 1}, x * 2), (torch.ones(2),))
    assert [output.name for output in other.outputs] == ["output_0_a_b", "output_0_a_c", "output_1"]


@pytest.mark.parametrize(
    ("step", "args", "error", "message"),
    [
        pytest.param(
            zoo.TrainingStep(nn.Conv2d(4, 4, 3, groups=2), zoo.square), (torch.randn(1, 4, 6, 6), torch.zeros(1, 4, 4, 4)),
            UnsupportedOpError, "convolution_backward", id="groups",
        ),
        pytest.param(
            zoo.TrainingStep(nn.Sequential(nn.Conv2d(1, 2, 1), nn.MaxPool2d(3, 1)), zoo.square), (torch.randn(1, 1, 6, 6), torch.zeros(1, 2, 4, 4)),
            UnsupportedOpError, "max_pool2d", id="windows that overlap",
        ),
        pytest.param(
            zoo.TrainingStep(nn.Sequential(nn.Conv2d(1, 2, 1), nn.AvgPool2d(4)), zoo.square), (torch.randn(1, 1, 6, 6), torch.zeros(1, 2, 1, 1)),
            UnsupportedOpError, "avg_pool2d", id="windows that leave some out",
        ),
        *(
            pytest.param(
                zoo.TrainingStep(nn.Sequential(nn.Conv2d(1, 2, 1), kind(window, stride, padding)), zoo.square),
                (torch.randn(1, 1, 8, 8), torch.zeros(1, 2, 8, 8)[..., :rows, :columns]),
                UnsupportedOpError, "the gradient of a pool whose windows overlap or are padded", id=f"{kind.__name__} {window} {stride} {padding}",
            )
            for kind in (nn.MaxPool2d, nn.AvgPool2d)
            for window, stride, padding, rows, columns in (
                (2, 1, 0, 7, 7), (2, 2, 1, 5, 5), (2, (2, 1), 0, 4, 7), (2, 2, (0, 1), 4, 5), ((3, 2), None, 0, 2, 4), ((2, 3), None, 0, 4, 2),
            )
        ),
        pytest.param(
            zoo.TrainingStep(nn.Sequential(nn.Conv2d(1, 2, 1), nn.MaxPool2d(2, dilation=2)), zoo.square), (torch.randn(1, 1, 8, 8), torch.zeros(1, 2, 3, 3)),
            UnsupportedOpError, "windows overlap or are padded", id="windows with holes",
        ),
        pytest.param(lambda x: torch.func.grad(lambda v: v.sum() if v.sum() > 0 else -v.sum())(x), (torch.ones(3),), FrontendError, "branches on tensor values|torch.export failed|not supported", id="a branch in it"),
    ],
)  # fmt: skip
def test_steps_that_cannot_be_captured(step: Any, args: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        capture(step, args)


@pytest.mark.parametrize("export", [codegen_py, codegen_cpp])
def test_a_step_reads_as_forward_backward_update(export: Any, tmp_path: Path) -> None:
    step, args, _ = zoo.transformer(3)
    made = export(step, *args, export_path=tmp_path / "out", export_golden="none")
    text = (made.path / ("main.py" if export is codegen_py else "model.cpp")).read_text()
    functions = re.findall(r"^(?:def|static \S+|[\w:<>, ]+) (\w+)\(", text, re.M)
    assert {"block", "gpt", "block_backward", "gpt_backward", "update"} <= set(functions)
    if export is codegen_py:
        assert "for name in gradients.names():" in text
        assert "for i in range(2, -1, -1):" in text
        assert text.count("block_backward(") == 2
        assert 'gradients["fc.weight"] = ' in text
        with LoadedProgram(made.path) as program, torch.no_grad():
            outputs = program(*(value.numpy() for value in args))
        wanted = torch.utils._pytree.tree_leaves(step(*args))
        for have, want in zip(outputs, wanted, strict=True):
            torch.testing.assert_close(torch.as_tensor(have), want.detach(), rtol=0.05, atol=0.02)
