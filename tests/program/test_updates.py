"""Training steps: the optimizer's work is one function, gradients are called after their parameters, many outputs stay together."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest

import emit_py
from alchemist.frontends.jax import capture
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.program import build_program
from alchemist.program.outline import compress
from tests.program.evaluate import run

LAYERS = 3
OPTIMIZER = optax.adam(1e-3)


def loss_of(params: Any, x: jax.Array) -> jax.Array:
    for layer in params:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return jnp.mean(x**2)


def train_step(params: Any, state: Any, x: jax.Array) -> Any:
    loss, gradients = jax.value_and_grad(loss_of)(params, x)
    updates, state = OPTIMIZER.update(gradients, state, params)
    return optax.apply_updates(params, updates), state, loss


def emitted(**options: object) -> dict[str, str]:
    params = [{"w": jnp.full((32, 32), 0.1 * number), "b": jnp.ones(32)} for number in range(LAYERS)]
    return emitted_of(train_step, (params, OPTIMIZER.init(params), jnp.ones((8, 32))), **options)


def emitted_of(function: Callable[..., Any], arguments: tuple[Any, ...], **options: object) -> dict[str, str]:
    result = capture(function, arguments, {})
    chosen = CompilerOptions.parse(options)
    return emit_py.emit(build_program(lower_to_ttnn(result.module, chosen).module, result, chosen))


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return emitted()


def test_one_function_updates_every_parameter(files: dict[str, str]) -> None:
    functions = {one.name: one for one in ast.parse(files["main.py"]).body if isinstance(one, ast.FunctionDef)}
    assert [name for name in functions if name.startswith("update")] == ["update"]
    parameters = [one.arg for one in functions["update"].args.args]
    assert parameters[0] == "gradient"
    assert "weight" in parameters
    assert files["main.py"].count(" = update(") == 2 * LAYERS


@pytest.mark.parametrize("name", ["d_0_w", "d_2_b", "mu_params_0_w", "nu_params_2_b"])
def test_what_belongs_to_a_parameter_is_called_after_it(files: dict[str, str], name: str) -> None:
    assert re.search(rf"\b{name}\b", files["main.py"])


def test_many_outputs_stay_together(files: dict[str, str]) -> None:
    text = files["main.py"]
    assert "outputs = train_step(" in text
    assert "utils.report(args, **utils.named(outputs))" in text
    assert f"{{0,1.0.mu,1.0.nu}}.{{0..{LAYERS - 1}}}.w [32, 32]" in " ".join(text.split())


def test_values_are_those_of_the_program_without_functions(files: dict[str, str]) -> None:
    assert run(files) == run(emitted(recover_structure=False))


def test_names_are_compressed_at_the_number_that_counts() -> None:
    assert compress(["0.blocks.0.w", "0.blocks.1.w", "0.blocks.2.w", "1.mu.w"]) == ("0.blocks.{0..2}.w", "1.mu.w")


def branches(*xs: jax.Array) -> Any:
    return [jnp.tanh(x * number) + 1.0 for number, x in enumerate(xs, 2)]


@pytest.mark.parametrize("count", [2, LAYERS, 2 * LAYERS])
def test_alike_branches_of_a_program_without_gradients_are_no_updates(count: int) -> None:
    text = emitted_of(branches, tuple(jnp.ones((8, 32)) for _ in range(count)))["main.py"]
    assert "def update" not in text
    assert text.count("ttnn.tanh(") == count
