"""jax.nn.dot_product_attention: its heads are in groups of one, a dim that nothing needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pass_graphs import arrays, build, check_change, check_unchanged, names
from ttnn_numpy import run as run_ttnn

from alchemist.ops.evaluate import run as run_ttir
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture

jax = pytest.importorskip("jax")


@pytest.mark.parametrize("mask", ["none", "causal", "given"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_is_one_op(mask: str, dtype: str) -> None:
    heads = jax.numpy.zeros((2, 33, 4, 32), dtype)
    given = np.tril(np.ones((1, 1, 33, 33), bool), 4) if mask == "given" else None

    def attention(query: Any, key: Any, value: Any) -> Any:
        return jax.nn.dot_product_attention(query, key, value, mask=given, is_causal=mask == "causal")

    before = capture(attention, (heads, heads, heads), {}, "jax").module
    lowered = lower_to_ttnn(before, CompilerOptions())
    after = lowered.module
    assert names(after).count("scaled_dot_product_attention") == 1 and not {"matmul", "softmax"} & set(names(after))
    inputs = arrays(before)
    for want, have in zip(run_ttir(before, inputs), run_ttnn(after, [*inputs, *lowered.constants.values()]), strict=True):
        np.testing.assert_allclose(have, want, atol=0.02)


WIDE = ((2, 4, 8, 16), "f32", "input")
GROUPS = (2, 4, 8, 1, 16)
CHANGES = {
    "elementwise ops between reshapes": (
        build(lambda g, x: g("reshape", g("exp", g("reshape", x, out=GROUPS, shape=GROUPS)), out=WIDE[0], shape=WIDE[0]), WIDE),
        ["reshape", "exp", "reshape"],
    ),
    "a softmax behind its dim": (
        build(lambda g, x: g("softmax", g("reshape", x, out=GROUPS, shape=GROUPS), dimension=4), WIDE),
        ["reshape", "softmax", "reshape"],
    ),
    "a permute": (
        build(lambda g, x: g("permute", g("reshape", x, out=GROUPS, shape=GROUPS), out=(1, 2, 16, 4, 8), permutation=(3, 0, 4, 1, 2)), WIDE),
        ["reshape", "permute", "reshape"],
    ),
    "beside a constant": (
        build(lambda g, x: g("multiply", g("reshape", x, out=GROUPS, shape=GROUPS), g.number(2.0, (1, 1, 1, 1, 1)), out=GROUPS), WIDE),
        ["reshape", "full", "reshape", "multiply", "reshape"],
    ),
}
FULL = ((2, 4, 8, 3, 16), "f32", "input")
UNCHANGED = {
    "four dims": build(lambda g, x: g("exp", g("reshape", x, out=(2, 32, 1, 16), shape=(2, 32, 1, 16))), WIDE),
    "no dim of one": build(lambda g, x: g("exp", g("reshape", x, out=(2, 2, 2, 8, 16), shape=(2, 2, 2, 8, 16))), WIDE),
    "an input that has the dim": build(lambda g, x: g("exp", x), ((2, 4, 8, 1, 16), "f32", "input")),
    "a dim that the other operand fills": build(lambda g, x, y: g("add", g("reshape", x, out=GROUPS, shape=GROUPS), y, out=FULL[0]), WIDE, FULL),
    "the softmax's own dim": build(lambda g, x: g("softmax", g("reshape", x, out=GROUPS, shape=GROUPS), dimension=3), WIDE),
}


@pytest.mark.parametrize("case", CHANGES)
def test_dims_of_one_are_left_out(case: str) -> None:
    module, expected = CHANGES[case]
    check_change(module, expected, "drop-unit-dims")


@pytest.mark.parametrize("case", UNCHANGED)
def test_left_alone(case: str) -> None:
    check_unchanged(UNCHANGED[case], "drop-unit-dims")
