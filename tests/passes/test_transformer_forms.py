"""What transformers and recurrent layers write out: norms summed in float32, rotary embedding, repeated heads, shared weights, the last step returned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pass_graphs import F, Graph, arrays, build, names
from test_attention_forms import cut, shaped
from ttnn_numpy import run as run_ttnn
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import run_pipeline
from alchemist.ir import access
from alchemist.ir.text import print_module
from alchemist.ops.evaluate import run as run_ttir
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn

ROWS, SCALE, WIDE_SCALE = ((2, 32, 64), "bf16", "input"), ((64,), "bf16", "parameter"), ((64,), F, "parameter")


def ran(module: ModuleOp) -> list[str]:
    return [name for name in names(module) if name not in ("load_cached", "deallocate", "get_device")]


def norm(g: Graph, x: Any, *weights: Any, op: str = "rms_norm", twice: bool = False, to: str = "bf16", inside: bool = False) -> Any:
    """weight * norm(x.float()).to(bf16), as Llama's; inside: the weight is in the norm."""
    given = list(weights) if inside else [None]
    wide = g(op, g("typecast", x, of=F), *given, None, normalized_shape=[64], epsilon=1e-6, of=F)
    narrow = g("typecast", wide, of=to)
    out = g("multiply", weights[0], narrow, out=(2, 32, 64), of=to) if weights and not inside else narrow
    return (out, wide) if twice else out


NORMS: dict[str, tuple[ModuleOp, list[str]]] = {
    "as in Llama": (build(norm, ROWS, SCALE), ["rms_norm"]),
    "a layer norm without weight": (build(lambda g, x: norm(g, x, op="layer_norm"), ROWS), ["layer_norm"]),
    "the weight inside, of bfloat16": (
        build(lambda g, x, w: norm(g, x, g("typecast", w, of=F), inside=True), ROWS, SCALE),
        ["rms_norm"],
    ),
    "the weight inside, of float32": (build(lambda g, x, w: norm(g, x, w, inside=True), ROWS, WIDE_SCALE), ["rms_norm"]),
    "the float32 result is read too": (build(lambda g, x: norm(g, x, twice=True), ROWS), ["typecast", "rms_norm", "typecast"]),
    "a float32 input": (build(lambda g, x: norm(g, g("exp", x)), ((2, 32, 64), F, "input")), ["exp", "rms_norm", "typecast"]),
}


@pytest.mark.parametrize("case", NORMS)
def test_norms_summed_in_float32(case: str) -> None:
    module, wanted = NORMS[case]
    lowered = lower_to_ttnn(module).module
    assert ran(lowered) == wanted
    for op in lowered.walk():
        if op.name.endswith("_norm") and len(wanted) == 1:
            assert access.attr(op, "compute_config") == {"math_fidelity": "hifi4", "fp32_dest_acc_en": True}
    own = lower_to_ttnn(module, CompilerOptions(fp32_dest_acc_en=False)).module
    assert all(not access.attr(op, "compute_config")["fp32_dest_acc_en"] for op in own.walk() if op.name.endswith("_norm"))


def rotary(g: Graph, x: Any, cos: Any, sin: Any, *, first: str = "upper", dims: tuple[int, ...] = (2, 4, 32, 64), of: str = "bf16", swap: bool = False) -> Any:
    """x * cos + rotate_half(x) * sin"""
    size = dims[-1]
    halves = {"lower": (0, size // 2), "upper": (size // 2, size)}
    parts = []
    for name in (first, "lower" if first == "upper" else "upper"):
        begin, end = halves[name]
        parts.append(g("slice_static", x, out=(*dims[:-1], size // 2), of=of, begins=[0, 0, 0, begin], ends=[*dims[:-1], end], step=[1] * 4))
    turned = g("concat", g("neg", parts[0], of=of), parts[1], out=dims, of=of, dim=3)
    products = [g("multiply", x, cos, out=dims, of=of), g("multiply", sin, turned, out=dims, of=of)]
    return g("add", *(products[::-1] if swap else products), out=dims, of=of)


def rotated(dims: tuple[int, ...] = (2, 4, 32, 64), table: tuple[int, ...] = (1, 1, 32, 64), of: str = "bf16", **how: Any) -> ModuleOp:
    inputs = (dims, of, "input"), (table, of, "input"), (table, of, "input")
    return build(lambda g, *x: rotary(g, *x, dims=dims, of=of, **how), *inputs)


ROTARY: dict[str, tuple[ModuleOp, bool]] = {
    "as in Llama": (rotated(), True),
    "the sum the other way round": (rotated(swap=True), True),
    "the lower half negated": (rotated(first="lower"), False),
    "halves of half a tile": (rotated((2, 4, 32, 32), (1, 1, 32, 32)), False),
    "rows of no whole tile": (rotated((2, 4, 20, 64), (1, 1, 20, 64)), False),
    "a table per batch": (rotated(table=(2, 1, 32, 64)), False),
    "float32": (rotated(of=F), False),
}


@pytest.mark.parametrize("case", ROTARY)
def test_rotary(case: str) -> None:
    module, fused = ROTARY[case]
    result = lower_to_ttnn(module)
    lowered = result.module
    assert ran(lowered) == ["rotary_embedding"] if fused else "rotary_embedding" not in names(lowered)
    assert "rotary_embedding" not in names(lower_to_ttnn(module, CompilerOptions(disable=("fuse-rotary",))).module)
    inputs = arrays(module)
    for want, have in zip(run_ttir(module, inputs), run_ttnn(lowered, [*inputs, *result.constants.values()]), strict=True):
        np.testing.assert_allclose(np.asarray(have, np.float32), np.asarray(want, np.float32), rtol=2e-2, atol=2e-2)


QUERY, KEYS = ((2, 4, 32, 64), F, "input"), ((2, 2, 32, 64), F, "input")


def grouped(g: Graph, q: Any, k: Any, v: Any, *, inner: bool = True, both: bool = True, by: str = "broadcast") -> Any:
    """attention(q, repeat(k), repeat(v)); inner: each head is repeated beside itself, not the row of heads behind itself."""

    def repeat(x: Any) -> Any:
        if by == "repeat_interleave":
            return g(by, x, out=(2, 4, 32, 64), repeats=2, dim=1)
        one, many, factors = ((2, 2, 1, 32, 64), (2, 2, 2, 32, 64), [1, 1, 2, 1, 1]) if inner else ((2, 1, 2, 32, 64), (2, 2, 2, 32, 64), [1, 2, 1, 1, 1])
        spread = g("broadcast", shaped(g, x, *one), out=many, broadcast_dimensions=factors)
        return shaped(g, spread, 2, 4, 32, 64)

    values = repeat(v) if both else g("concat", v, v, out=(2, 4, 32, 64), dim=1)
    return g("scaled_dot_product_attention", q, repeat(k), values, is_causal=False)


GROUPS: dict[str, tuple[ModuleOp, bool]] = {
    "expand and reshape": (build(grouped, QUERY, KEYS, KEYS), True),
    "repeat_interleave": (build(lambda g, *x: grouped(g, *x, by="repeat_interleave"), QUERY, KEYS, KEYS), True),
    "the row of heads repeated": (build(lambda g, *x: grouped(g, *x, inner=False), QUERY, KEYS, KEYS), False),
    "values repeated otherwise": (build(lambda g, *x: grouped(g, *x, both=False), QUERY, KEYS, KEYS), False),
}


@pytest.mark.parametrize("case", GROUPS)
def test_groups(case: str) -> None:
    before, found = GROUPS[case]
    module = before.clone()
    run_pipeline(module, "group-attention-heads")
    assert (names(module) == ["scaled_dot_product_attention"]) == found
    inputs = arrays(before)
    for want, have in zip(run_ttir(before, inputs), run_ttir(module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5)


def product(g: Graph, x: Any, w: Any, times: int = 3, lead: int = 1) -> Any:
    spread = g("broadcast", shaped(g, w, lead, 64, 16), out=(times * lead, 64, 16), broadcast_dimensions=[times, 1, 1])
    return g("matmul", x, spread, out=(times * lead, 4, 16))


MATRIX = ((64, 16), F, "parameter")
PRODUCTS: dict[str, tuple[ModuleOp, bool]] = {
    "a copy for every batch": (build(product, ((3, 4, 64), F, "input"), MATRIX), True),
    "as many as the weight gives": (build(product, ((1, 4, 64), F, "input"), MATRIX), False),
    "rows that are repeated": (
        build(lambda g, x, w: g("matmul", x, g("broadcast", shaped(g, w, 1, 1, 64), out=(3, 16, 64), broadcast_dimensions=[3, 16, 1]), out=(3, 4, 64)), ((3, 4, 16), F, "input"), ((64,), F, "parameter")),
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PRODUCTS)
def test_shared_weights(case: str) -> None:
    before, shared = PRODUCTS[case]
    module = before.clone()
    run_pipeline(module, "share-weights")
    assert ("broadcast" not in names(module)) == shared
    if not shared:
        assert print_module(module) == print_module(before)
    inputs = arrays(before)
    for want, have in zip(run_ttir(before, inputs), run_ttir(module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5)


def steps(g: Graph, x: Any, count: int) -> Any:
    """A recurrence whose last state is returned beside all states."""
    state, states = cut(g, x, 0, 0, 1), []
    for _ in range(count):
        state = g("tanh", state)
        states.append(shaped(g, state, 1, 1, 4, 64))
    return g("concat", *states, out=(count, 1, 4, 64), dim=0), states[-1]


@pytest.mark.parametrize(("count", "reshapes"), [(4, 5), (2, 2)])
def test_the_last_step_has_a_twin(count: int, reshapes: int) -> None:
    module = lower_to_ttnn(build(lambda g, x: steps(g, x, count), ((2, 4, 64), F, "input"))).module
    assert ran(module).count("reshape") == reshapes
