"""The arithmetic of gradients in fewer ops: formulas as JAX writes them, what must stay, and random ones."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from pass_graphs import F, Graph, arrays, build, check_change, check_unchanged, names
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import run_pipeline
from alchemist.ops.evaluate import run as run_ttir

X = ((4, 8, 32), F, "input")
GAIN = ((1, 1, 32), F, "parameter")
ROW = (4, 8, 1)


def mean(g: Graph, x: Any, name: str = "mean") -> Any:
    return g(name, x, out=ROW, dim_arg=[2], keep_dim=True)


def scaled(g: Graph, x: Any, factor: float) -> Any:
    return g("multiply", x, g.number(factor, (1, 1, 1)))


def layer_norm(g: Graph, x: Any, gain: Any, d: Any, *, backward: bool = True, other: bool = False) -> Any:
    """gain * (x - mean) / sqrt(var + eps) and its gradient to x and to the gain, as JAX derives them. other: the centred x is of something else."""
    centred = g("subtract", x, mean(g, g("exp", x) if other else x))
    root = g("sqrt", g("add", mean(g, g("square", centred)), g.number(1e-5, (1, 1, 1))))
    product = g("multiply", gain, centred, out=(4, 8, 32))
    y = g("tanh", g("div", product, root))
    g.is_backward = backward
    total = g("neg", mean(g, g("multiply", g("multiply", d, g("div", g.number(1.0, (1, 1, 1)), g("multiply", root, root), out=ROW)), product), "sum"))
    ratio = g("div", d, root)
    d_gain = g("exp", g("multiply", ratio, centred))
    d_centred = g("multiply", gain, ratio, out=(4, 8, 32))
    half = g("multiply", total, g("div", g.number(0.5, (1, 1, 1)), root, out=ROW))
    rise = g("multiply", g("div", half, g.number(32.0, (1, 1, 1))), scaled(g, centred, 2.0), out=(4, 8, 32))
    rise = g("add", rise, mean(g, g("neg", rise)))
    return y, d_gain, g("tanh", g("add", g("add", d_centred, rise), mean(g, g("neg", d_centred))))


def softmax(g: Graph, x: Any, d: Any, *, shares: bool = True) -> Any:
    """softmax(x) and its gradient through exp(x) / sum. shares: the forward pass was put together."""
    top = g("exp", g("subtract", x, g("max", x, out=ROW, dim_arg=[2], keep_dim=True)))
    total = mean(g, top, "sum")
    share = g("softmax", x, dimension=2, numericStable=True) if shares else g("div", top, total)
    g.is_backward = True
    inverse = g("div", g.number(1.0, (1, 1, 1)), g("multiply", total, total), out=ROW)
    below = g("neg", mean(g, g("multiply", g("multiply", d, inverse), top), "sum"))
    return g("tanh", share), g("tanh", g("multiply", g("add", g("div", d, total), below), top))


def residual_norm(g: Graph, x: Any, gain: Any, d: Any) -> Any:
    """The gradient of a norm as torch writes it, with what goes around the norm added, in one module: a gain of fewer dims, sums for means."""
    centred = g("subtract", x, mean(g, x))
    root = g("rsqrt", g("add", mean(g, g("square", centred)), g.number(1e-5, (1, 1, 1))))
    y = g("tanh", g("multiply", g("multiply", centred, root), gain))
    g.is_backward = True
    normal, inner = g("multiply", centred, root), g("multiply", d, gain)
    left = g("subtract", scaled(g, inner, 32.0), mean(g, inner, "sum"), out=(4, 8, 32))
    left = g("subtract", left, g("multiply", normal, mean(g, g("multiply", inner, normal), "sum"), out=(4, 8, 32)))
    made = g("multiply", g("div", root, g.number(32.0, (1, 1, 1))), left, out=(4, 8, 32))
    return y, g("tanh", g("add", d, made))


def whole_numbers(g: Graph, x: Any) -> Any:
    g.is_backward = True
    return g("subtract", g("add", x, x, of="i32"), x, of="i32")


def sums(backward: bool, form: str) -> ModuleOp:
    """Small formulas of x and d."""

    def net(g: Graph, x: Any, d: Any) -> Any:
        g.is_backward = backward
        if form == "there and back":
            return g("tanh", g("subtract", g("add", x, d), d))
        if form == "common factor":
            return g("tanh", g("add", g("multiply", x, d), g("neg", g("multiply", d, g("exp", x)))))
        if form == "shared product":
            return g("tanh", g("multiply", x, d)), g("tanh", g("multiply", g("multiply", x, g("exp", x)), d))
        if form == "shortest":
            return g("tanh", g("add", g("multiply", x, d), g("exp", x)))
        if form == "square root of a square":
            return g("tanh", g("sqrt", g("square", x)))
        if form == "by zero":
            return g("tanh", g("div", g("neg", g("neg", x)), g.number(0.0, (1, 1, 1))))
        if form == "wider":
            return g("tanh", g("add", g("subtract", mean(g, x), mean(g, x)), d, out=(4, 8, 32)))
        assert form == "centred"
        return g("tanh", mean(g, g("multiply", g("subtract", x, mean(g, x)), mean(g, d), out=(4, 8, 32))))

    return build(net, X, X)


CHANGES: dict[str, tuple[ModuleOp, list[str]]] = {
    "a layer norm": (
        build(layer_norm, X, GAIN, X),
        [
            "mean",
            "subtract",
            "square",
            "mean",
            "full",
            "add",
            "rsqrt",
            "multiply",
            "multiply",
            "tanh",
            "multiply",
            "exp",
            "multiply",
            "mean",
            "subtract",
            "multiply",
            "mean",
            "multiply",
            "subtract",
            "multiply",
            "tanh",
        ],
    ),
    "a norm and what goes around it": (
        build(residual_norm, X, ((32,), F, "parameter"), X),
        [
            *("mean", "subtract", "square", "mean", "full", "add", "rsqrt", "multiply", "multiply", "tanh"),
            *("multiply", "mean", "subtract", "multiply", "mean", "multiply", "subtract", "multiply", "add", "tanh"),
        ],
    ),
    "a softmax": (build(softmax, X, X), ["softmax", "tanh", "multiply", "sum", "subtract", "multiply", "tanh"]),
    "there and back": (sums(True, "there and back"), ["tanh"]),
    "a product in two others": (sums(True, "shared product"), ["multiply", "tanh", "exp", "multiply", "tanh"]),
    "a common factor": (sums(True, "common factor"), ["exp", "subtract", "multiply", "tanh"]),
}
UNCHANGED: dict[str, ModuleOp] = {
    "a layer norm that has no gradient": build(lambda g, *given: layer_norm(g, *given, backward=False), X, GAIN, X),
    "no gradient, there and back": sums(False, "there and back"),
    "what is short already": sums(True, "shortest"),
    "the absolute value": sums(True, "square root of a square"),
    "whole numbers": build(whole_numbers, ((4, 8), "i32", "input")),
}


@pytest.mark.parametrize("case", CHANGES, ids=str)
def test_gradients_in_fewer_ops(case: str) -> None:
    before, expected = CHANGES[case]
    check_change(before, expected, "gradient-algebra", "fold")


@pytest.mark.parametrize("case", UNCHANGED, ids=str)
def test_formulas_that_stay(case: str) -> None:
    check_unchanged(UNCHANGED[case], "gradient-algebra")


@pytest.mark.parametrize(
    ("net", "means"),
    [
        pytest.param(layer_norm, 4, id="centred values"),
        pytest.param(lambda g, x, gain, d: layer_norm(g, x, gain, d, other=True), 5, id="minus the mean of something else"),
    ],
)
def test_the_mean_of_centred_values_is_zero(net: Any, means: int) -> None:
    module = build(net, X, GAIN, X)
    run_pipeline(module, "gradient-algebra")
    run_pipeline(module, "fold")
    assert names(module).count("mean") + names(module).count("sum") == means
    check_change(build(net, X, GAIN, X), names(module), "gradient-algebra", "fold")


def test_exponentials_without_their_softmax() -> None:
    module = build(lambda g, x, d: softmax(g, x, d, shares=False), X, X)
    run_pipeline(module, "gradient-algebra")
    expected = names(module)
    assert "softmax" not in expected and len(expected) < len(names(build(lambda g, x, d: softmax(g, x, d, shares=False), X, X)))
    check_change(build(lambda g, x, d: softmax(g, x, d, shares=False), X, X), expected, "gradient-algebra")


@pytest.mark.parametrize("form", ["by zero", "wider", "centred"])
def test_edges(form: str) -> None:
    """What no form has, and results that would be smaller, stay as they are."""
    module = sums(True, form)
    run_pipeline(module, "gradient-algebra")
    module.verify()
    assert names(module)[-1] == "tanh"


def formula(seed: int) -> ModuleOp:
    """A random formula: sums, products, quotients, roots and means of three inputs, about half of it backward."""
    choose = random.Random(seed)

    def net(g: Graph, x: Any, gain: Any, d: Any) -> Any:
        positive = g("exp", scaled(g, x, 0.1))
        values = [x, d, positive, mean(g, positive)]
        for step in range(choose.randint(6, 18)):
            g.is_backward = step >= 4
            one, other = choose.choice(values), choose.choice(values)
            dims = tuple(map(max, one.type.get_shape(), other.type.get_shape()))
            kind = choose.choice(["add", "subtract", "multiply", "div", "neg", "scaled", "mean", "sum", "root", "square", "gain"])
            if kind in ("add", "subtract", "multiply"):
                made = g(kind, one, other, out=dims)
            elif kind == "div":
                below = values[choose.choice([2, 3])]
                made = g("div", one, below, out=tuple(map(max, one.type.get_shape(), below.type.get_shape())))
            elif kind in ("mean", "sum"):
                made = scaled(g, g(kind, one, out=(*one.type.get_shape()[:2], 1), dim_arg=[2], keep_dim=True), 0.25)
            elif kind == "root":
                made = g(choose.choice(["sqrt", "rsqrt"]), g("add", mean(g, g("square", one)), g.number(0.5, (1, 1, 1))))
            elif kind == "gain":
                made = g("multiply", gain, one, out=(4, 8, 32))
            else:
                made = scaled(g, one, choose.choice([-1.0, 0.5, 2.0, 1 / 32])) if kind == "scaled" else g(kind, one)
            values.append(made if kind != "square" else scaled(g, made, 0.1))
        return tuple(g("tanh", scaled(g, value, 1.0)) for value in values[-3:])

    return build(net, X, GAIN, X)


def test_random_formulas_keep_their_values() -> None:
    changed = 0
    for seed in range(60):
        before = formula(seed)
        module = before.clone()
        run_pipeline(module, "gradient-algebra")
        module.verify()
        changed += names(module) != names(before)
        inputs = arrays(before)
        for want, have in zip(run_ttir(before, inputs), run_ttir(module, inputs), strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-4, err_msg=str(seed))
    assert changed > 20
