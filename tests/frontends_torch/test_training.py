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
from models import training_torch as zoo
from tests.tables import groups, together

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
    "a batch norm": lambda: (ByAutograd(nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 5)), zoo.square), (torch.randn(8, 6), torch.zeros(8, 5))),
    "dilation": lambda: (zoo.TrainingStep(convolutions(dilation=2), zoo.square), (torch.randn(2, 3, 8, 8), torch.zeros(2, 32))),
    "rows that are padding": lambda: (
        zoo.TrainingStep(nn.Embedding(7, 4, padding_idx=2), zoo.square),
        (torch.tensor([[1, 2, 2], [6, 1, 0]]), torch.zeros(2, 3, 4)),
    ),
}


POOLS: list[nn.Module] = [
    *(
        kind(window, stride, padding)
        for kind in (nn.MaxPool2d, nn.AvgPool2d)
        for window, stride, padding in (
            (2, 1, 0), (2, 2, (0, 1)), ((3, 2), None, 0), (3, 2, 1), (1, 3, 0), (3, (1, 2), (1, 0)),
        )
    ),
    nn.MaxPool2d(2, dilation=2), nn.MaxPool2d(3, 2, 1, (1, 2)), nn.MaxPool2d(3, 2, ceil_mode=True), nn.MaxPool2d(2, 3, 1, ceil_mode=True),
    nn.AvgPool2d(2, ceil_mode=True), nn.AvgPool2d(2, count_include_pad=False), nn.AvgPool2d(3, 2, 1, divisor_override=4),
]  # fmt: skip


@pytest.mark.parametrize("pools", groups({str(pool): pool for pool in POOLS}, 10))
def test_gradients_of_pools(pools: dict[str, nn.Module]) -> None:
    """Of equal values the first in the window has the gradient: the image has a patch of them."""
    image = torch.randn(2, 1, 8, 10)
    image[:, :, 2:5, 3:7] = 0.25

    def check_all(chosen: list[nn.Module]) -> None:
        def gradients(x: torch.Tensor, *ds: torch.Tensor) -> list[torch.Tensor]:
            return [torch.func.grad(lambda image, pool=pool, d=d: (pool(image) * d).sum())(x) for pool, d in zip(chosen, ds, strict=True)]

        check(gradients, (image, *(torch.randn(pool(image).shape) for pool in chosen)))

    together(pools, check_all)


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(4, 6, 3, groups=2), nn.Conv2d(4, 4, 3, stride=2, padding=1, groups=4), nn.Conv2d(4, 8, (3, 1), dilation=2, groups=4),
        nn.ConvTranspose2d(4, 3, 4, stride=2, padding=1), nn.ConvTranspose2d(4, 6, 3, stride=(2, 1), output_padding=(1, 0), groups=2, bias=False),
        nn.ConvTranspose2d(4, 2, 2, padding=1, dilation=2), nn.Conv2d(4, 2, 3, stride=4, padding=2),
    ],
    ids=str,
)  # fmt: skip
def test_gradients_of_convolutions(layer: nn.Module) -> None:
    weights = dict(layer.named_parameters())

    def gradients(x: torch.Tensor, d: torch.Tensor) -> Any:
        return torch.func.grad(lambda inner: (torch.func.functional_call(layer, inner[0], inner[1]) * d).sum())((weights, x))

    image = torch.randn(2, 4, 7, 8)
    check(gradients, (image, torch.randn(layer(image).shape)), tolerance=1e-3)


@pytest.mark.parametrize("case", STEPS)
def test_steps_equal_torch(case: str) -> None:
    torch.manual_seed(0)
    step, args = STEPS[case]()
    result = check(step, args, tolerance=1e-3)
    assert any(info.is_gradient for _, info in ops(result))


@pytest.mark.slow
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
    assert names == [*(f"0.model.{name}" for name, _ in step.model.named_parameters()), "loss"]
    other = capture(lambda x: ({"a.b": x + 1, "a.c": x - 1}, x * 2), (torch.ones(2),))
    assert [output.name for output in other.outputs] == ["a.b", "a.c", "output_1"]
    other = capture(lambda x: ({"a": x + 1}, {"a": x - 1, "b": x}), (torch.ones(2),))
    assert [output.name for output in other.outputs] == ["output_0_a", "output_1_a", "b"]


@pytest.mark.parametrize(
    ("step", "args", "error", "message"),
    [
        *(
            pytest.param(
                zoo.TrainingStep(nn.Sequential(nn.Conv2d(1, 2, 1), nn.AvgPool2d(3, 2, 1, **options)), zoo.square),
                (torch.randn(1, 1, 8, 8), torch.zeros(1, 2, places, places)), UnsupportedOpError, "windows see different numbers of pixels", id=str(options),
            )
            for options, places in (({"count_include_pad": False}, 4), ({"ceil_mode": True}, 5))
        ),
        pytest.param(lambda x: torch.func.grad(lambda v: v.sum() if v.sum() > 0 else -v.sum())(x), (torch.ones(3),), FrontendError, "branches on tensor values|torch.export failed|not supported", id="a branch in it"),
    ],
)  # fmt: skip
def test_steps_that_cannot_be_captured(step: Any, args: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        capture(step, args)


@pytest.mark.parametrize("export", [codegen_py, pytest.param(codegen_cpp, marks=pytest.mark.slow)])
def test_a_step_reads_as_forward_backward_update(export: Any, tmp_path: Path) -> None:
    step, args, _ = zoo.transformer(2)
    made = export(step, *args, export_path=tmp_path / "out", export_golden="none")
    text = (made.path / ("main.py" if export is codegen_py else "model.cpp")).read_text()
    functions = re.findall(r"^(?:def|static \S+|[\w:<>, ]+) (\w+)\(", text, re.M)
    assert {"block", "gpt", "block_backward", "gpt_backward", "update"} <= set(functions)
    if export is codegen_py:
        assert "for name in gradients.names():" in text
        assert "for i in reversed(range(NUM_BLOCKS)):" in text
        assert text.count("block_backward(") == 2
        assert 'gradients["weight"] = ' in text and 'gradients.scope("fc")' in text
        with LoadedProgram(made.path) as program, torch.no_grad():
            outputs = program(*(value.numpy() for value in args))
        wanted = torch.utils._pytree.tree_leaves(step(*args))
        for have, want in zip(outputs, wanted, strict=True):
            torch.testing.assert_close(torch.as_tensor(have), want.detach(), rtol=0.05, atol=0.02)
