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


def given_gradients(params: Any, grads: Any, momentum: Any, velocity: Any, step: jax.Array) -> Any:
    """A step of Adam that is given its gradients: first all momenta, then all velocities, then all parameters."""
    momentum = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, momentum, grads)
    velocity = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, velocity, grads)
    corrected = 1 - 0.999**step
    return jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v / corrected) + 1e-8), params, momentum, velocity), momentum, velocity


def clipped(params: Any, momentum: Any, x: jax.Array) -> Any:
    """Every parameter's update reads the norm of all gradients."""
    gradients = jax.grad(loss_of)(params, x)
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradients)))
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g * jnp.minimum(1.0, 1.0 / norm), momentum, gradients)
    return jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum), momentum


def _params() -> list[dict[str, jax.Array]]:
    return [{"w": jnp.full((32, 32), 0.1 * number), "b": jnp.ones(32)} for number in range(LAYERS)]


@pytest.mark.parametrize(
    ("function", "arguments", "names"),
    [
        (
            given_gradients,
            [_params() for _ in range(4)] + [jnp.float32(3)],
            ("grads: ttnn.Tensor", "momentum: ttnn.Tensor", "new_momentum_0_b", "new_velocity_2_w"),
        ),
        (clipped, [_params(), _params(), jnp.ones((8, 32))], ("gradient: ttnn.Tensor", "momentum: ttnn.Tensor", "new_momentum_0_b", "d_params_2_w")),
    ],
)
def test_numbers_that_all_parameters_share_do_not_join_their_updates(function: Callable[..., Any], arguments: list[Any], names: tuple[str, ...]) -> None:
    files = emitted_of(function, tuple(arguments))
    text = files["main.py"]
    assert text.count("def update(") == 1
    assert text.count(" = update(") == 2 * LAYERS
    assert all(name in text for name in names)
    flat = emitted_of(function, tuple(arguments), recover_structure=False)
    assert run(files) == run(flat)


def test_equal_parts_that_multiply_matrices_are_no_updates() -> None:
    """Without gradients only elementwise work on tensors of one shape is an optimizer's."""

    def towers(params: Any, x: jax.Array) -> Any:
        return [jnp.tanh(jnp.exp(x @ one["w"] + one["b"]) * 0.5) for one in params]

    assert "def update(" not in emitted_of(towers, (_params(), jnp.ones((8, 32))))["main.py"]


def test_an_update_that_is_one_op_is_a_function_too() -> None:
    """Level 2 fuses the learning rate into the sum; each new weight keeps its name."""

    def sgd_step(params: Any, x: jax.Array) -> Any:
        gradients = jax.grad(loss_of)(params, x)
        return jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, params, gradients)

    text = emitted_of(sgd_step, (_params(), jnp.ones((8, 32))), optimization_level=2)["main.py"]
    update = next(one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef) and one.name == "update")
    assert len(update.body) == 2  # its docstring, and the return of the only op
    assert text.count(" = update(") == 2 * len(_params())
    assert re.search(r"\bnew_params_0_w = update\(", text)
