"""Formulas that nearly are what fuse-patterns writes as one op: a row per condition of a pattern."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pass_graphs import Graph, V, X, build, names
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import run_pipeline
from alchemist.ir.text import print_module
from tests.tables import table

Formula = Callable[..., Any]
ROW, COLUMN = (2, 4, 1), (2, 1, 64)


def n(g: Graph, value: float) -> Any:
    return g.number(value, (1, 1, 1))


def mean(g: Graph, x: Any, dim: int = 2) -> Any:
    return g("mean", x, out=ROW if dim == 2 else COLUMN, dim_arg=[dim], keep_dim=True)


def highest(g: Graph, x: Any, dim: int = 2) -> Any:
    return g("max", x, out=ROW if dim == 2 else COLUMN, dim_arg=[dim], keep_dim=True)


def exps(g: Graph, x: Any, below: Any = None) -> Any:
    return g("exp", g("subtract", x, highest(g, x) if below is None else below))


def share(g: Graph, e: Any, of: Any = None, out: tuple[int, ...] = ROW, dims: list[int] | None = None) -> Any:
    over = {"dim_arg": [2] if dims is None else dims} if dims != [] else {}
    return g("div", e, g("sum", e if of is None else of, out=out, keep_dim=True, **over))


def square(g: Graph, x: Any) -> Any:
    return g("multiply", x, x)


def by_root(g: Graph, x: Any, power: Any, epsilon: bool = True) -> Any:
    return g("multiply", x, g("rsqrt", g("add", power, n(g, 1e-5)) if epsilon else power), out=(2, 4, 64))


def centred(g: Graph, x: Any, of: Any = None) -> Any:
    return g("subtract", x, mean(g, x if of is None else of))


def spread(g: Graph, power: Any, of: Any) -> Any:
    """mean(power) - mean(of)^2"""
    return g("subtract", mean(g, power), square(g, mean(g, of)))


def norm(g: Graph, x: Any, *operands: Any, op: str = "layer_norm") -> Any:
    return g(op, x, *(operands or (None, None)), normalized_shape=[64], epsilon=1e-5)


def half(g: Graph, x: Any, curve: Any, by: float = 0.5, one: float = 1.0) -> Any:
    """by * x * (one + curve)"""
    return g("multiply", g("multiply", x, n(g, by)), g("add", curve, n(g, one)))


def erf_of(g: Graph, x: Any, by: float = math.sqrt(2)) -> Any:
    return g("erf", g("div", x, n(g, by)))


def cube(g: Graph, x: Any, factor: float = 0.044715, power: float = 3.0, of: Any = None, own: Any = None) -> Any:
    """own + factor * of**power"""
    return g("add", x if own is None else own, g("multiply", g("pow", x if of is None else of, n(g, power)), n(g, factor)))


def tanh_of(g: Graph, x: Any, by: float = math.sqrt(2 / math.pi)) -> Any:
    return g("tanh", g("multiply", x, n(g, by)))


def factored(g: Graph, x: Any, by: float = math.sqrt(2 / math.pi), factor: float = 0.044715, one: float = 1.0, of: Any = None, own: Any = None) -> Any:
    """tanh(by * own * (one + factor * of**2))"""
    squared = g("multiply", square(g, x if of is None else of), n(g, factor))
    return g("tanh", g("multiply", g("multiply", x if own is None else own, n(g, by)), g("add", squared, n(g, one))))


def one_over(g: Graph, below: Any, top: Any = None) -> Any:
    return g("div", n(g, 1.0) if top is None else top, below, out=(2, 4, 64))


def grown(g: Graph, x: Any, one: float = 1.0) -> Any:
    return g("add", g("exp", g("neg", x)), n(g, one))


FITS: dict[str, tuple[str, Formula]] = {
    "softmax": ("softmax", lambda g, x, y: share(g, exps(g, x))),
    "rms norm": ("rms_norm", lambda g, x, y: by_root(g, x, mean(g, square(g, x)))),
    "layer norm": ("layer_norm", lambda g, x, y: (lambda c: by_root(g, c, mean(g, square(g, c))))(centred(g, x))),
    "layer norm by powers": ("layer_norm", lambda g, x, y: by_root(g, centred(g, x), g("maximum", spread(g, square(g, x), x), n(g, 0.0)))),
    "gelu": ("gelu", lambda g, x, y: half(g, x, erf_of(g, x))),
    "gelu by erfc": ("gelu", lambda g, x, y: g("multiply", g("multiply", x, n(g, 0.5)), g("erfc", g("neg", g("div", x, n(g, math.sqrt(2))))))),
    "gelu by tanh": ("gelu", lambda g, x, y: half(g, x, tanh_of(g, cube(g, x)))),
    "gelu by tanh of factors": ("gelu", lambda g, x, y: half(g, x, factored(g, x))),
    "silu": ("silu", lambda g, x, y: g("multiply", x, g("sigmoid", x))),
    "sigmoid": ("sigmoid", lambda g, x, y: one_over(g, grown(g, x))),
    "sigmoid by reciprocal": ("sigmoid", lambda g, x, y: g("reciprocal", grown(g, x))),
    "silu in one": ("silu", lambda g, x, y: one_over(g, grown(g, x), x)),
}
NEAR: dict[str, Formula] = {
    "softmax: no exponents": lambda g, x, y: share(g, x),
    "softmax: another's sum": lambda g, x, y: share(g, exps(g, x), exps(g, y)),
    "softmax: nothing subtracted": lambda g, x, y: share(g, g("exp", x)),
    "softmax: over everything": lambda g, x, y: share(g, exps(g, x), None, (1, 1, 1), []),
    "softmax: over two dims": lambda g, x, y: share(g, exps(g, x), None, (2, 1, 1), [1, 2]),
    "softmax: minus a mean": lambda g, x, y: share(g, exps(g, x, mean(g, x))),
    "softmax: minus another's highest": lambda g, x, y: share(g, exps(g, x, highest(g, y))),
    "softmax: minus the highest of another dim": lambda g, x, y: share(g, exps(g, x, highest(g, x, 1))),
    "rms: no mean": lambda g, x, y: by_root(g, x, square(g, x)),
    "rms: half a square": lambda g, x, y: by_root(g, x, g("multiply", square(g, x), n(g, 0.5))),
    "rms: a sum of another dim": lambda g, x, y: by_root(
        g, x, g("multiply", g("sum", square(g, x), out=COLUMN, dim_arg=[1], keep_dim=True), n(g, 1 / 64))
    ),
    "rms: a sum by another number": lambda g, x, y: by_root(
        g, x, g("multiply", g("sum", square(g, x), out=ROW, dim_arg=[2], keep_dim=True), n(g, 1 / 32))
    ),
    "rms: a mean of another dim": lambda g, x, y: by_root(g, x, mean(g, square(g, x), 1)),
    "rms: of absolute values": lambda g, x, y: by_root(g, x, mean(g, g("abs", x))),
    "rms: of products": lambda g, x, y: by_root(g, x, mean(g, g("multiply", x, y))),
    "rms: of cubes": lambda g, x, y: by_root(g, x, mean(g, g("pow", x, n(g, 3.0)))),
    "rms: no epsilon": lambda g, x, y: by_root(g, x, mean(g, square(g, x)), epsilon=False),
    "rms: an epsilon that is no number": lambda g, x, y: by_root(g, x, g("add", mean(g, square(g, x)), mean(g, y)), epsilon=False),
    "rms: of another": lambda g, x, y: by_root(g, x, mean(g, square(g, y))),
    "norm: it has a weight": lambda g, x, y, w: g("multiply", norm(g, x, w, None), w),
    "norm: it is returned too": lambda g, x, y, w: (lambda z: (g("multiply", z, w), z))(norm(g, x)),
    "norm: times a tensor": lambda g, x, y, w: g("multiply", norm(g, x), y),
    "norm: it has a bias": lambda g, x, y, w: g("add", norm(g, x, w, w), w),
    "norm: it is returned without its bias": lambda g, x, y, w: (lambda z: (g("add", z, w), z))(norm(g, x, w, None)),
    "norm: plus a tensor": lambda g, x, y, w: g("add", norm(g, x, w, None), y),
    "layer norm: around a number": lambda g, x, y: by_root(g, g("subtract", x, n(g, 0.5)), mean(g, square(g, g("subtract", x, n(g, 0.5))))),
    "layer norm: around another's mean": lambda g, x, y: (lambda c: by_root(g, c, mean(g, square(g, g("exp", c)))))(centred(g, x, y)),
    "layer norm: not centred": lambda g, x, y: by_root(g, x, mean(g, square(g, centred(g, x)))),
    "layer norm: another's variance": lambda g, x, y: by_root(g, centred(g, x), mean(g, square(g, centred(g, y)))),
    "layer norm: a variance around another's mean": lambda g, x, y: by_root(g, centred(g, x), mean(g, square(g, centred(g, x, y)))),
    "layer norm: no variance": lambda g, x, y: by_root(g, centred(g, x), mean(g, g("abs", centred(g, x)))),
    "layer norm: no mean of the variance": lambda g, x, y: by_root(g, centred(g, x), square(g, centred(g, x))),
    "layer norm: another's powers": lambda g, x, y: by_root(g, centred(g, x), spread(g, square(g, y), x)),
    "layer norm: another's mean of powers": lambda g, x, y: by_root(g, centred(g, x), spread(g, square(g, x), y)),
    "layer norm: powers that are none": lambda g, x, y: by_root(g, centred(g, x), spread(g, g("abs", x), x)),
    "layer norm: powers without mean": lambda g, x, y: by_root(g, centred(g, x), g("subtract", square(g, x), square(g, mean(g, x)))),
    "layer norm: a mean that is not squared": lambda g, x, y: by_root(g, centred(g, x), g("subtract", mean(g, square(g, x)), mean(g, x))),
    "layer norm: a square of no mean": lambda g, x, y: by_root(g, centred(g, x), g("subtract", mean(g, square(g, x)), square(g, highest(g, x)))),
    "layer norm: powers from one": lambda g, x, y: by_root(g, centred(g, x), g("maximum", spread(g, square(g, x), x), n(g, 1.0))),
    "layer norm: no epsilon": lambda g, x, y: by_root(g, centred(g, x), mean(g, square(g, centred(g, x))), epsilon=False),
    "gelu: by another number": lambda g, x, y: half(g, x, erf_of(g, x), 0.7),
    "gelu: two and erf": lambda g, x, y: half(g, x, erf_of(g, x), one=2.0),
    "gelu: another's erf": lambda g, x, y: half(g, x, erf_of(g, y)),
    "gelu: erf of a half": lambda g, x, y: half(g, x, erf_of(g, x, 2.0)),
    "gelu: erf of the value": lambda g, x, y: half(g, x, g("erf", x)),
    "gelu: erfc of the value": lambda g, x, y: g("multiply", g("multiply", x, n(g, 0.5)), g("erfc", x)),
    "gelu: another's erfc": lambda g, x, y: g("multiply", g("multiply", x, n(g, 0.5)), g("erfc", g("neg", g("div", y, n(g, math.sqrt(2)))))),
    "gelu: erfc that is not turned": lambda g, x, y: g("multiply", g("multiply", x, n(g, 0.5)), g("erfc", g("div", x, n(g, math.sqrt(2))))),
    "gelu by tanh: by another number": lambda g, x, y: half(g, x, tanh_of(g, cube(g, x)), 0.7),
    "gelu by tanh: two and tanh": lambda g, x, y: half(g, x, tanh_of(g, cube(g, x)), one=2.0),
    "gelu by tanh: of a half": lambda g, x, y: half(g, x, tanh_of(g, cube(g, x), 0.5)),
    "gelu by tanh: another factor": lambda g, x, y: half(g, x, tanh_of(g, cube(g, x, 0.05))),
    "gelu by tanh: a square": lambda g, x, y: half(g, x, tanh_of(g, cube(g, x, power=2.0))),
    "gelu by tanh: another's cube": lambda g, x, y: half(g, x, tanh_of(g, cube(g, x, of=y))),
    "gelu by tanh: a cube and another": lambda g, x, y: half(g, x, tanh_of(g, cube(g, x, own=y))),
    "gelu by tanh: no cube": lambda g, x, y: half(g, x, tanh_of(g, g("add", x, g("multiply", x, n(g, 0.044715))))),
    "gelu by tanh: sinh": lambda g, x, y: half(g, x, g("sin", g("multiply", cube(g, x), n(g, math.sqrt(2 / math.pi))))),
    "gelu of factors: by another number": lambda g, x, y: half(g, x, factored(g, x, 0.5)),
    "gelu of factors: another factor": lambda g, x, y: half(g, x, factored(g, x, factor=0.05)),
    "gelu of factors: two and a square": lambda g, x, y: half(g, x, factored(g, x, one=2.0)),
    "gelu of factors: two and tanh": lambda g, x, y: half(g, x, factored(g, x), one=2.0),
    "gelu of factors: another's square": lambda g, x, y: half(g, x, factored(g, x, of=y)),
    "gelu of factors: another outside": lambda g, x, y: half(g, x, factored(g, x, own=y)),
    "silu: another's gate": lambda g, x, y: g("multiply", x, g("sigmoid", y)),
    "sigmoid: no exponent": lambda g, x, y: one_over(g, g("add", x, n(g, 1.0))),
    "sigmoid: not turned": lambda g, x, y: one_over(g, g("add", g("exp", x), n(g, 1.0))),
    "sigmoid: no sum": lambda g, x, y: one_over(g, x),
    "sigmoid: two and an exponent": lambda g, x, y: one_over(g, grown(g, x, 2.0)),
    "sigmoid: of another": lambda g, x, y: one_over(g, grown(g, x), y),
}  # fmt: skip


def module_of(formula: Formula) -> ModuleOp:
    inputs = (X, X, V) if formula.__code__.co_argcount == 4 else (X, X)
    return build(formula, *inputs)


@table("case", FITS)
def test_the_formula_itself_fits(case: str) -> None:
    expected, formula = FITS[case]
    module = module_of(formula)
    run_pipeline(module, "fuse-patterns")
    assert names(module) == [expected]


@table("case", NEAR)
def test_a_formula_that_differs_stays(case: str) -> None:
    module = module_of(NEAR[case])
    before = print_module(module)
    run_pipeline(module, "fuse-patterns")
    assert print_module(module) == before
