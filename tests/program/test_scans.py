"""Scans and repeated modules stay loops, whatever they collect, and the work of finding loops grows with the number of ops."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from torch import nn

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

from alchemist import codegen_cpp, codegen_py, load_codegen_py  # noqa: E402
from alchemist.options import CompilerOptions  # noqa: E402
from alchemist.passes import lower_to_ttnn  # noqa: E402
from alchemist.pipeline import capture  # noqa: E402
from alchemist.program import build_program  # noqa: E402
from alchemist.program.model import Loop, Program, statements  # noqa: E402

SIZE = 32


def old_carry(x: Any, steps: Any) -> Any:
    return lax.scan(lambda c, v: (jnp.tanh(c @ c + v), c), x, steps)


def old_carry_alone(x: Any, steps: Any) -> Any:
    return lax.scan(lambda c, _: (jnp.tanh(c @ x), c), x + steps[0], None, length=len(steps))


def new_carry(x: Any, steps: Any) -> Any:
    return lax.scan(lambda c, v: ((c := jnp.tanh(c + v)), c * 2), x, steps)


def old_and_new(x: Any, steps: Any) -> Any:
    def step(carry: Any, v: Any) -> Any:
        h, k = carry
        n = jnp.tanh(h @ x + v)
        return (n, k * 0.5 + n), (h, k, n + k)

    return lax.scan(step, (x, x * 2), steps)


def backwards(x: Any, steps: Any) -> Any:
    return lax.scan(lambda c, v: ((c := jnp.tanh(c + v)), c), x, steps, reverse=True)


def last_value_alone(x: Any, steps: Any) -> Any:
    return lax.fori_loop(0, len(steps), lambda i, c: jnp.tanh(c @ steps[0]), x)


def with_the_counter(x: Any, steps: Any) -> Any:
    return lax.fori_loop(0, len(steps), lambda i, c: jnp.tanh(c @ steps[0]) + i * 0.01, x)


def fibonacci(x: Any, steps: Any) -> Any:
    return lax.scan(lambda c, v: ((c[1], jnp.tanh(c[0] + c[1] + v)), c[0]), (x, x * 2), steps)


def collected_alone(x: Any, steps: Any) -> Any:
    """The last round's carried value is nobody's."""
    return lax.scan(lambda c, v: ((c := jnp.tanh(c + v)), c @ c), x, steps)[1]


LOOPS = [old_carry, old_carry_alone, new_carry, old_and_new, backwards, last_value_alone]


def arguments(count: int) -> tuple[Any, Any]:
    keys = jax.random.split(jax.random.key(0))
    return jax.random.normal(keys[0], (SIZE, SIZE)) * 0.1, jax.random.normal(keys[1], (count, SIZE, SIZE)) * 0.1


def program(function: Callable[..., Any], count: int) -> tuple[Program, int]:
    """The program of so many steps, and how many Python functions its structure stage called."""
    captured = capture(function, arguments(count), {}, "jax")
    module = lower_to_ttnn(captured.module, CompilerOptions()).module
    calls = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(note)
    try:
        made = build_program(module, captured, CompilerOptions())
    finally:
        sys.setprofile(None)
    return made, calls


def size_of(made: Program) -> int:
    return sum(1 for function in made.functions for _ in statements(function.body))


NIGHTLY = (old_carry, old_carry_alone, old_and_new, new_carry, backwards, with_the_counter)


@pytest.mark.parametrize("function", [pytest.param(one, marks=pytest.mark.slow if one in NIGHTLY else ()) for one in (*LOOPS, with_the_counter, fibonacci)])
def test_work_grows_with_the_number_of_steps(function: Callable[..., Any]) -> None:
    (short, few), (long, many) = program(function, 12), program(function, 36)
    assert many < 5 * few  # 3 when linear, up to 4.3 where short programs have fewer periods to try; 9 when quadratic, 27 when cubic
    if function in LOOPS:
        loops = [one for one in statements(long.functions[-1].body) if isinstance(one, Loop)]
        assert len(loops) == 1
        assert size_of(short) == size_of(long)


@pytest.mark.parametrize("function", [old_carry, old_and_new, backwards, last_value_alone, fibonacci])
def test_values(function: Callable[..., Any], tmp_path: Path) -> None:
    given = arguments(6)
    codegen_py(function, *given, export_path=tmp_path / "made")
    loaded = load_codegen_py(function, *given, load_path=tmp_path / "made")
    for one, two in zip(jax.tree.leaves(loaded), jax.tree.leaves(function(*given)), strict=True):
        torch.testing.assert_close(torch.tensor(jax.device_get(one).tolist()), torch.tensor(jax.device_get(two).tolist()), rtol=0.02, atol=0.02)


def test_cpp_counts_down_and_puts_in_front(tmp_path: Path) -> None:
    text = (codegen_cpp(backwards, *arguments(6), export_path=tmp_path / "made").path / "model.cpp").read_text()
    assert "constexpr int NUM_STEPS = 6;" in text
    assert "for (int i = NUM_STEPS - 1; i >= 0; --i)" in text
    assert ".insert(" in text


@pytest.mark.slow
@pytest.mark.parametrize("function", [old_carry, new_carry])
def test_a_thousand_steps(function: Callable[..., Any]) -> None:
    made, _ = program(function, 1000)
    assert size_of(made) < 30


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(SIZE, 64), nn.Linear(64, SIZE), nn.LayerNorm(SIZE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))  # type: ignore[no-any-return]


class Repeated(nn.Module):
    """One module called several times, by one name or by several."""

    def __init__(self, times: int, *, names: bool) -> None:
        super().__init__()
        self.block = Block()
        self.again = self.block if names else None
        self.blocks = nn.ModuleList([self.block] * (times - 2)) if names else [self.block] * (times - 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = (self.again or self.block)(self.block(x))
        for block in self.blocks:
            x = block(x)
        return x


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("times", [3, 4])
def test_a_shared_module_is_one_function_and_its_weights_are_prepared_once(times: int, names: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, x = Repeated(times, names=names).eval(), torch.randn(4, SIZE)
    with torch.no_grad():
        expected = model(x)  # not later: torch.export leaves fake parameters in a module with two names
    path = codegen_py(model, x, export_path=tmp_path / "made").path
    main, prepare = (path / "main.py").read_text(), (path / "consteval.py").read_text()
    assert main.count("def block") == 1
    assert main.count('weights.scope("block")') == (times if times < 4 else 1)
    assert main.count(f"for _ in range({times}):") == (times >= 4)
    assert prepare.count("ttnn.transpose(") == 2
    with torch.no_grad():
        torch.testing.assert_close(load_codegen_py(model, x, load_path=path), expected, rtol=0.02, atol=0.02)
