"""Values of every equation, as `export_golden="ops"` stores them: what loops, branches and calls computed, in order, each with its number."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from alchemist.frontends.jax.golden import Labelled, numbered


def values(function: object, *args: object) -> dict[str, np.ndarray]:
    return Labelled(jax.make_jaxpr(function)(*args)).values([jnp.asarray(arg) for arg in args])


def of(found: dict[str, np.ndarray], primitive: str) -> list[np.ndarray]:
    return [value for name, value in found.items() if name.startswith(f"{primitive}_")]


@pytest.mark.parametrize("reverse", [False, True])
def test_rounds_of_a_scan(reverse: bool) -> None:
    steps = np.arange(1.0, 5.0, dtype=np.float32)

    def run(x: jax.Array, steps: jax.Array) -> tuple[jax.Array, jax.Array]:
        state, sums = jax.lax.scan(lambda carry, step: (carry * step, carry + step), x, steps, reverse=reverse)
        return state, sums - steps

    found = values(run, np.float32(2.0), steps)
    taken = steps[::-1] if reverse else steps
    carries = [2.0 * np.prod(taken[:index]) for index in range(4)]
    assert [float(value) for value in of(found, "mul")] == [carry * step for carry, step in zip(carries, taken, strict=True)]
    assert [float(value) for value in of(found, "add")] == [carry + step for carry, step in zip(carries, taken, strict=True)]
    assert of(found, "sub")[0].tolist() == (carries[::-1] if reverse else carries)  # collected in the order of the steps
    (label,) = {name.partition(".")[0] for name in found if name.startswith("mul_")}
    assert (
        [name for name in found if name.startswith("mul_")]
        == [numbered(label, count) for count in (1, 2, 3, 4)]
        == [label, f"{label}.2", f"{label}.3", f"{label}.4"]
    )


def test_rounds_of_a_while_loop_and_what_it_reads() -> None:
    def run(x: jax.Array, limit: jax.Array, factor: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda state: state < limit, lambda state: state * factor, x) + 1.0

    found = values(run, np.float32(1.0), np.float32(20.0), np.float32(3.0))
    assert [float(value) for value in of(found, "mul")] == [3.0, 9.0, 27.0]
    assert [bool(value) for value in of(found, "lt")] == [True, True, True, False]
    assert [float(value) for value in of(found, "add")] == [28.0]


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 7])
def test_branches_are_all_computed_and_the_right_one_taken(index: int) -> None:
    def run(index: jax.Array, x: jax.Array) -> jax.Array:
        return jax.lax.switch(index, [lambda x: x + 10.0, lambda x: x * 10.0, lambda x: x - 10.0], x) / 2.0

    found = values(run, np.int32(index), np.float32(3.0))
    results = [13.0, 30.0, -7.0]
    assert [float(of(found, name)[-1]) for name in ("add", "mul", "sub")][1:] == results[1:]
    assert results[0] in [float(value) for value in of(found, "add")]
    assert float(of(found, "div")[0]) == results[min(max(index, 0), 2)] / 2


def test_called_twice_and_kept_dtypes() -> None:
    @jax.jit
    def twice(x: jax.Array) -> jax.Array:
        return x * 2

    found = values(lambda x, n: (twice(twice(x)), twice(n) > 3, x.astype(jnp.bfloat16) - 1), np.float32(1.5), np.int32(2))
    products = of(found, "mul")
    assert [value.item() for value in products] == [3.0, 6.0, 4]
    assert [value.dtype for value in products] == [np.float32, np.float32, np.int32]
    assert [value.dtype for value in of(found, "gt")] == [np.bool_]
    assert [value.dtype for value in of(found, "sub")] == [np.float32], "bfloat16 is stored wider"


def test_what_cannot_be_told_apart_is_not_recorded() -> None:
    """Rounds that are unrolled inside a loop, and loops without rounds, give their results and no values."""

    def run(x: jax.Array, none: jax.Array) -> tuple[jax.Array, ...]:
        last, taken = jax.lax.scan(lambda carry, step: (carry + step, carry * step), 0.0, x, unroll=2)
        same, nothing = jax.lax.scan(lambda carry, step: (carry + step, carry * step), last, none)
        return taken - 1, same / 2, nothing, jax.lax.top_k(x, 2)[0] + 3

    found = values(run, np.arange(1.0, 5.0, dtype=np.float32), np.zeros(0, np.float32))
    assert not of(found, "mul")
    assert of(found, "sub")[0].tolist() == [-1.0, 1.0, 8.0, 23.0]
    assert [float(value) for value in of(found, "div")] == [5.0]
    assert of(found, "add")[0].tolist() == [7.0, 6.0]


def test_of_a_branch_that_is_known_only_that_is_computed() -> None:
    def run(x: jax.Array) -> jax.Array:
        return jax.lax.cond(True, lambda x: x * 10.0, lambda x: x - 10.0, x) / 2.0

    found = values(run, np.float32(3.0))
    assert {name.partition("_")[0]: float(value) for name, value in found.items()} == {"mul": 30.0, "div": 15.0}
