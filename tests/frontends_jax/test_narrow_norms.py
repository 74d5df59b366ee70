"""Norms of flax models in bfloat16 compute their statistics in float32: one op of the library."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
from flax import nnx

from alchemist.ir.edit import functions
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture

NORMS = {
    "layer": (nnx.LayerNorm, {"param_dtype": jnp.bfloat16}, "ttnn.layer_norm"),
    "layer, float32 weights": (nnx.LayerNorm, {}, "ttnn.layer_norm"),
    "layer without scale": (nnx.LayerNorm, {"use_scale": False}, "ttnn.layer_norm"),
    "layer, variance of differences": (nnx.LayerNorm, {"use_fast_variance": False}, "ttnn.layer_norm"),
    "rms": (nnx.RMSNorm, {"param_dtype": jnp.bfloat16}, "ttnn.rms_norm"),
}


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_is_one_op(name: str) -> None:
    kind, options, op_name = NORMS[name]
    norm = kind(64, dtype=jnp.bfloat16, rngs=nnx.Rngs(0), **options)
    graph, state = nnx.split(norm)
    module = capture(lambda state, x: nnx.merge(graph, state)(x), (state, jnp.ones((32, 64), jnp.bfloat16)), {}, "jax").module
    lowered = lower_to_ttnn(module, CompilerOptions()).module
    ops = [op.name for func in functions(lowered, const_eval=False) for op in func.body.block.ops if op.name.startswith("ttnn.")]
    assert [op for op in ops if op not in ("ttnn.get_device", "ttnn.deallocate")] == [op_name]
