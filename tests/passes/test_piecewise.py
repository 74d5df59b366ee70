"""ELU and softplus, however they are written out, are one op with the values of the formula; near misses are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pass_graphs import Graph, X, arrays, build, names
from ttnn_numpy import run as run_ttnn

from alchemist.ir import access
from alchemist.ops.evaluate import run as run_ttir
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests.tables import table

FULL = (2, 4, 64)


def number(g: Graph, value: float) -> Any:
    return g.number(value, (1, 1, 1))


def above(g: Graph, x: Any, least: float = 0.0) -> Any:
    return g("gt", x, number(g, least), out=FULL)


def low(g: Graph, x: Any, alpha: float, most: float = 0.0) -> Any:
    return scaled(g, g("expm1", g("minimum", x, number(g, most))), alpha)


def scaled(g: Graph, x: Any, factor: float) -> Any:
    return x if factor == 1 else g("multiply", x, number(g, factor))


def chosen_low(g: Graph, x: Any) -> Any:
    """How JAX keeps large arguments from expm1."""
    return g("expm1", g("where", above(g, x), number(g, 0.0), x, out=FULL))


def soft(g: Graph, x: Any, beta: float, threshold: float, back: float | None = None) -> Any:
    inner = scaled(g, x, beta)
    made = g("log1p", g("exp", g("minimum", inner, number(g, threshold))))
    made = made if beta == 1 else g("div", made, number(g, beta if back is None else back))
    return g("where", above(g, inner, threshold), x, made, out=FULL)


def sum_of_parts(g: Graph, x: Any, y: Any) -> Any:
    return g("add", g("log1p", g("exp", g("neg", g("abs", y)))), g("relu", x))


@table(
    ("formula", "op", "attributes"),
    [
        (lambda g, x, y: g("where", above(g, x), x, low(g, x, 1.0)), "elu", {"alpha": 1.0}),
        (lambda g, x, y: g("where", above(g, x), x, low(g, x, 0.5)), "elu", {"alpha": 0.5}),
        (lambda g, x, y: g("where", above(g, x), x, chosen_low(g, x)), "elu", {"alpha": 1.0}),
        (lambda g, x, y: g("add", g("relu", x), low(g, x, 0.25)), "elu", {"alpha": 0.25}),
        (lambda g, x, y: soft(g, x, 1.0, 20.0), "softplus", {"beta": 1.0, "threshold": 20.0}),
        (lambda g, x, y: soft(g, x, 2.0, 15.0), "softplus", {"beta": 2.0, "threshold": 15.0}),
        (lambda g, x, y: sum_of_parts(g, x, x), "softplus", {"beta": 1.0, "threshold": 20.0}),
        (lambda g, x, y: g("where", above(g, y), x, low(g, x, 1.0)), "", {}),  # another condition
        (lambda g, x, y: g("where", above(g, x, 0.5), x, low(g, x, 1.0)), "", {}),
        (lambda g, x, y: g("where", above(g, x), y, low(g, x, 1.0)), "", {}),
        (lambda g, x, y: g("where", above(g, x), x, low(g, x, 1.0, most=1.0)), "", {}),
        (lambda g, x, y: g("add", g("relu", y), low(g, x, 1.0)), "", {}),
        (lambda g, x, y: (lambda e: (g("where", above(g, x), x, e), g("sin", e)))(low(g, x, 1.0)), "", {}),  # read twice
        (lambda g, x, y: soft(g, x, 2.0, 15.0, back=4.0), "", {}),
        (lambda g, x, y: sum_of_parts(g, x, y), "", {}),
    ],
)
def test_forms(formula: Any, op: str, attributes: dict[str, float]) -> None:
    net = build(formula, X, X)
    lowered = lower_to_ttnn(net)
    made = [one for one in lowered.module.walk() if one.name in ("ttnn.elu", "ttnn.softplus")]
    assert [one.name for one in made] == ([f"ttnn.{op}"] if op else [])
    if op:
        assert {name: pytest.approx(access.attr(made[0], name)) for name in attributes} == attributes
        assert len(names(lowered.module)) == 1
        assert op not in names(lower_to_ttnn(net, CompilerOptions(disable=("fuse-piecewise",))).module)
    inputs = [value * 12 for value in arrays(net)]  # beyond the thresholds, too
    for want, have in zip(run_ttir(net, inputs), run_ttnn(lowered.module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
