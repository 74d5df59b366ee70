"""Weights, inputs and results of one name: each has a name, a file and a variable of its own, and the values are the model's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx

from alchemist import codegen_py
from tests.running import check

LEFT = np.arange(32, dtype=np.float32).reshape(4, 8) / 7
RIGHT = LEFT[::-1].copy() - 2


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.x = torch.nn.Parameter(torch.arange(8.0) - 3)
        self.register_buffer("count", torch.zeros(8))

    def forward(self, x: torch.Tensor, count: torch.Tensor) -> dict[str, Any]:
        self.count.add_(x[0])
        return {"a": {"b": x * self.x}, "a.b": count * self.count, "a.b_2": count - x}


class ScaledNnx(nnx.Module):
    def __init__(self) -> None:
        self.x = nnx.Param(jnp.arange(8.0) - 3)
        self.bias = nnx.Param(jnp.arange(8.0) + 1)

    def __call__(self, x: Any) -> Any:
        return x * self.x + self.bias


class Known(torch.nn.Module):
    """Returns constants alone: a long one has a file, short ones are made by the program."""

    def forward(self, x: torch.Tensor) -> Any:
        r = (torch.arange(40.0) * 37 % 41).sort().values, torch.tensor([3.0, 1.0, 2.0]).sort().values, torch.tensor([9.0, 7.0]).sort().values
        return r


def of_dicts(batch: dict[str, Any]) -> dict[str, Any]:
    total = batch["a"]["b"] - batch["a.b"]
    return {"a": {"b": total}, "a.b": total * batch["a.b"]}


MODELS: dict[str, tuple[Callable[[], Any], tuple[Any, ...], list[str], list[str]]] = {
    "torch": (
        Scaled,
        (torch.tensor(LEFT), torch.tensor(RIGHT)),
        ["x", "count", "self.x", "self.count"],
        ["a.b", "a.b_3", "a.b_2", "self.count"],
    ),
    "constants": (Known, (torch.tensor(LEFT),), ["x", "r_2"], ["output_0", "output_1", "output_2"]),
    "nnx": (ScaledNnx, (jnp.array(LEFT),), ["self.x", "bias", "x"], ["output"]),
    "jax": (lambda: of_dicts, ({"a": {"b": jnp.array(LEFT)}, "a.b": jnp.array(RIGHT)},), ["batch.a.b", "batch.a.b_2"], ["a.b", "a.b_2"]),
}


@pytest.mark.parametrize("name", MODELS)
def test_each_has_a_name_of_its_own(name: str, tmp_path: Path) -> None:
    model, args, arguments, outputs = MODELS[name]
    result = codegen_py(model(), *args, export_path=tmp_path / "out")
    assert sorted(argument.name for argument in result.arguments) == sorted(arguments)
    assert [row["name"] for row in check(result.path)["outputs"]] == outputs
