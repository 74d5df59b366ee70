"""Ops that few models use: sampling at places, running extremes, special functions, reductions of scattered values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch_checking import Model, check

from alchemist.frontends import vocabulary
from alchemist.ir.access import shape

CASES: list[Any] = []


def case(name: str, function: Callable[..., Any], *inputs: torch.Tensor, mods: tuple[nn.Module, ...] = ()) -> None:
    CASES.append(pytest.param(function, inputs, mods, id=name.replace(" ", "_")))


def i(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape)


r = torch.randn
torch.manual_seed(0)
x, img, grid = r(2, 6, 8), r(2, 4, 9, 11), torch.rand(2, 3, 7, 2) * 3 - 1.5
for m in ("bilinear", "nearest", "bicubic"):
    case(
        f"grid {m}",
        lambda t, g, m=m: tuple(
            F.grid_sample(t, g, mode=m, padding_mode=padding, align_corners=corners)
            for padding in ("zeros", "border", "reflection")
            for corners in (False, True)
        ),
        img,
        grid,
    )
case("grid 3d", lambda t, g: F.grid_sample(t, g, align_corners=False), r(2, 3, 4, 5, 6), torch.rand(2, 3, 3, 3, 3) * 2 - 1)
case("running extremes", lambda t: (*t.cummax(1), *t.cummin(-1), *t.round().cummax(1)), r(2, 9, 5))
case("special functions", lambda a, b: (a.lgamma(), a.digamma(), b.erfinv(), a.signbit()), torch.linspace(-2.7, 6, 37), torch.linspace(-0.99, 0.99, 31))
case("rrelu", lambda t, m: m(t), r(4, 6), mods=(nn.RReLU().eval(),))
case(
    "scatter mean",
    lambda t, a, s: (t.scatter_reduce(1, a, s, "mean"), t.scatter_reduce(1, a, s, "mean", include_self=False)),
    x,
    i(6, 2, 4, 8),
    r(2, 4, 8),
)
case("embedding bag max", lambda t, m: m(t), i(9, 3, 4), mods=(nn.EmbeddingBag(9, 5, mode="max"),))
case("embedding bag offsets", lambda t, m: m(t, torch.tensor([0, 3, 3, 7])), i(9, 10), mods=(nn.EmbeddingBag(9, 5, mode="max"),))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("function", "inputs", "modules"), CASES)
def test_rare_op(function: Callable[..., Any], inputs: tuple[torch.Tensor, ...], modules: tuple[nn.Module, ...]) -> None:
    check(Model(function, *modules).eval(), inputs)


def test_large_permutes_leave_out_dimensions_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "LARGE", 1)
    permute = Model(lambda t: (t.permute(0, 4, 2, 5, 1, 3), t.permute(3, 4, 0, 1, 2, 5), t.permute(1, 3, 4, 5, 2, 0)))
    result = check(permute, (r(2, 3, 4, 1, 1, 5),))
    permuted = [op for op in result.module.walk() if op.name == "ttir.permute"]
    assert [len(shape(op.results[0])) for op in permuted] == [4, 4]
