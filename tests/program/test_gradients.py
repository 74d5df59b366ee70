"""What a backward pass is called in the program."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import emit_py
from alchemist.frontends.jax import capture
from alchemist.frontends.torch import capture as capture_torch
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.program import build_program
from models.training_torch import TrainingStep


def loss_of(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    prediction = hidden @ params["w2"]
    return jnp.mean((prediction - y) ** 2)


def train_step(params: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
    loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
    return jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, params, gradients), loss


def one_statement(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    prediction = jnp.tanh(x @ params["w1"] + params["b1"]) @ params["w2"]
    return jnp.mean((prediction - y) ** 2)


def emitted(step: Any, level: int = 0) -> str:
    params = {"w1": jnp.ones((16, 32)), "b1": jnp.ones(32), "w2": jnp.ones((32, 1))}
    result = capture(step, (params, jnp.ones((8, 16)), jnp.ones((8, 1))), {})
    options = CompilerOptions(optimization_level=level)
    return emit_py.emit(build_program(lower_to_ttnn(result.module, options).module, result, options))["main.py"]


@pytest.fixture(scope="module")
def text() -> str:
    return emitted(train_step)


@pytest.mark.parametrize("level", [0, 2])
def test_a_statement_of_both_passes_names_the_product_and_its_gradient(level: int) -> None:
    """The forward pass ends with the value that the statement assigns, though ops of the backward pass follow; the caller names the loss."""
    text = emitted(step_of_one, level)
    body = text.partition("def one_statement")[2].partition("\ndef ")[0]
    assert re.findall(r"^ *prediction = ttnn\.(\w+)", body, re.MULTILINE) == ["matmul"]
    assert "d_prediction = " in body and "unary_chain = " not in body, body
    assert re.search(r"loss, .*= one_statement\(", text)


def step_of_one(params: Any, x: jax.Array, y: jax.Array) -> Any:
    loss, gradients = jax.value_and_grad(one_statement)(params, x, y)
    return jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, params, gradients), loss


@pytest.mark.parametrize("name", ["d_w1", "d_b1", "d_w2", "d_hidden"])
def test_gradients_are_called_after_what_they_belong_to(text: str, name: str) -> None:
    assert re.search(rf"^ *{name} = ttnn\.", text, re.MULTILINE)


def test_they_keep_their_names_in_the_caller(text: str) -> None:
    call = re.search(r"= loss_of\(", text)
    assert call is not None
    line = text[text.rindex("\n", 0, call.start()) + 1 : call.start()]
    assert {"d_w1", "d_b1", "d_w2"} <= set(re.findall(r"\w+", line))


def of_rows(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits, target)


def test_a_loss_and_the_gradients_of_linear_layers_are_functions() -> None:
    """torch's modules have no source that the program shows: their gradients are called like their class."""
    layers = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 16))
    result = capture_torch(TrainingStep(layers, of_rows), (torch.rand(8, 32), torch.randint(0, 16, (8,))), {})
    text = emit_py.emit(build_program(lower_to_ttnn(result.module, CompilerOptions()).module, result))["main.py"]
    assert "    loss, d_logits = of_rows(" in text
    assert "def linear_backward(" in text
    assert text.count("linear_backward(") == 3
    assert not re.search(r"\bdim=\[\d\]", text)
