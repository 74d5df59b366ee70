"""Heads that level 2 cuts out of block shards: the weights are dealt to them, the values stay."""

from __future__ import annotations

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
import torch

from alchemist import codegen_cpp, codegen_py
from alchemist.frontends.torch import capture
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests import running

WIDTH = 128


class Attention(torch.nn.Module):
    def __init__(self, heads: int, bias: bool, size: int = 64) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (torch.nn.Linear(WIDTH, heads * size, bias=bias) for _ in range(3))
        self.output = torch.nn.Linear(heads * size, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value))
        heads = torch.nn.functional.scaled_dot_product_attention(query, key, value)
        return self.output(heads.transpose(1, 2).flatten(2))


def attention(heads: int, bias: bool) -> torch.nn.Module:
    torch.manual_seed(0)
    return Attention(heads, bias).to(torch.bfloat16).eval()


def jax_attention(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """Weights as JAX has them: not turned."""
    batch, rows, _ = x.shape
    query, key, value = ((x @ params[name]).reshape(batch, rows, 16, 64).transpose(0, 2, 1, 3) for name in ("query", "key", "value"))
    scores = jax.nn.softmax(query @ key.swapaxes(-1, -2) / 8, axis=-1)
    return (scores @ value).transpose(0, 2, 1, 3).reshape(batch, rows, 1024)


def checked(to: Path) -> float:
    done = running.run(to, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"pcc ([01]\.\d+)", done.stdout)
    assert found is not None, done.stdout
    return float(found[1])


@pytest.mark.parametrize("language", ["python", pytest.param("cpp", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("batch", "rows", "heads", "bias"), [(8, 384, 16, True), pytest.param(8, 512, 16, False, marks=pytest.mark.slow)])
def test_values_stay(batch: int, rows: int, heads: int, bias: bool, language: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    x = torch.randn(batch, rows, WIDTH, dtype=torch.bfloat16)
    emit = codegen_py if language == "python" else codegen_cpp
    emit(attention(heads, bias), x, export_path=tmp_path / "out", compiler_options={"optimization_level": 2})
    main = (tmp_path / "out" / ("main.py" if language == "python" else "model.cpp")).read_text()
    assert "create_qkv_heads(" in main and "split_query_key_value" not in main
    assert checked(tmp_path / "out") > 0.9995


def test_a_weight_that_is_not_turned_is_dealt_by_its_transpose(tmp_path: Path) -> None:
    keys = jax.random.split(jax.random.key(0), 4)
    params = {name: jax.random.normal(key, (WIDTH, 1024), jnp.bfloat16) / 11 for name, key in zip(("query", "key", "value"), keys, strict=False)}
    x = jax.random.normal(keys[3], (8, 384, WIDTH), jnp.bfloat16)
    codegen_py(jax_attention, params, x, export_path=tmp_path / "out", compiler_options={"optimization_level": 2})
    assert "create_qkv_heads(" in (tmp_path / "out/main.py").read_text()
    assert checked(tmp_path / "out") > 0.999


def ops_of(batch: int, rows: int, heads: int, **options: object) -> list[str]:
    result = capture(attention(heads, True), (torch.zeros(batch, rows, WIDTH, dtype=torch.bfloat16),), {})
    module = lower_to_ttnn(result.module, CompilerOptions.parse(options)).module
    return [op.name for op in module.walk()]


@pytest.mark.parametrize(
    ("batch", "rows", "heads", "options"),
    [
        (8, 384, 16, {"optimization_level": 1}),
        (16, 384, 16, {"optimization_level": 2}),  # more entries than rows of cores
        (8, 380, 16, {"optimization_level": 2}),  # rows that do not fill tiles
        (1, 512, 16, {"optimization_level": 2}),  # on a row of cores it takes longer
        (8, 384, 12, {"optimization_level": 2}),  # faster by less than the clock's error
    ],
)
def test_heads_are_split_as_before(batch: int, rows: int, heads: int, options: dict[str, object]) -> None:
    found = ops_of(batch, rows, heads, **options)
    assert "ttnn.split_query_key_value_and_split_heads" in found
    assert "ttnn.create_qkv_heads" not in found
