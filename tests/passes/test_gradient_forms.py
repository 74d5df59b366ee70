"""What gradients of JAX and torch leave behind: signs that are known, reshapes around reductions and products, indices from the end."""

from __future__ import annotations

from typing import Any

import numpy as np
from pass_graphs import F, Graph, Net, build, check_change, check_unchanged, names, reduced
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import run_pipeline
from alchemist.ir.location import sources_of
from tests.tables import table

Dims = tuple[int, ...]
ROWS = ((4, 8), F, "input")
LOGITS = ((4, 8, 16), F, "input")


def exponential_sum(g: Graph, x: Any) -> Any:
    return g("sum", g("exp", x), out=(4, 1), dim_arg=[1], keep_dim=True)


def sign(asked: str, of: Any, limit: float = 0.0) -> ModuleOp:
    """where(of(x) asked limit, 1 / of(x), 0)"""

    def net(g: Graph, x: Any) -> Any:
        value = of(g, x)
        dims = value.type.get_shape()
        mask = g(asked, value, g.number(limit), out=dims, of="i1")
        return g("where", mask, g("div", g.number(1.0), value, out=dims), g.number(0.5), out=dims)

    return build(net, ROWS)


def shifted(kept: Dims, *, reader: str = "", other: bool = False) -> ModuleOp:
    """x - reshape(max(x) + 1 where it is finite), and the mean of that maximum. reader: what else takes it. other: an input of its shape is added."""

    def net(g: Graph, x: Any, *more: Any) -> Any:
        top = g("max", x, out=(4, 8), dim_arg=[2], keep_dim=False)
        top = g("where", g("isfinite", top, of="i1"), g("add", top, g.number(1.0)), g.number(0.0))
        if other:
            top = g("add", top, *more)
        found = g("subtract", x, g("reshape", top, out=kept, shape=kept), out=(4, 8, 16))
        if reader == "permute":
            return found, g("permute", top, out=(8, 4), permutation=[1, 0])
        return found, g("mean", top, out=(), dim_arg=[0, 1], keep_dim=False), g("sum", top, out=(1, 8), dim_arg=[0], keep_dim=True)

    return build(net, LOGITS, *([ROWS] if other else []))


def indices(*, looked_up: bool, wraps: bool = True, computed: bool = False) -> ModuleOp:
    """The hot places of an index that may count from the end."""

    def net(g: Graph, x: Any, ids: Any) -> Any:
        ids = g("typecast", g("abs", ids) if computed else ids, of="i32")
        moved = g("add", ids, g.number(16, of="i32"), of="i32")
        index = g("where", g("lt", ids, g.number(0 if wraps else 1, of="i32"), of="i1"), moved, ids, of="i32")
        hot = g("eq", index, g("typecast", x, of="i32"), out=(4, 8), of="i1")
        return (hot, g("gather", x, ids, out=(4, 1), dim=1)) if looked_up else hot

    return build(net, ROWS, ((4, 1), F, "input"))


def turned(*, backward: bool = True, weight: bool = False, order: tuple[int, ...] = (1, 0)) -> ModuleOp:
    """permute(x)^T @ y and y @ permute(x)"""

    def net(g: Graph, x: Any, y: Any) -> Any:
        g.is_backward = backward
        x = x if weight else g("exp", x)
        dims = tuple(x.type.get_shape()[place] for place in order)
        x = g("permute", x, out=dims, permutation=list(order))
        return g("matmul", x, y, out=(*dims[:-1], 24)), g("matmul", y, x, out=(*y.type.get_shape()[:-2], 24, dims[-2]), transpose_a=True, transpose_b=True)

    wide = (2, 64, 32) if len(order) == 3 else (64, 32)
    dims = tuple(wide[place] for place in order)
    return build(net, (wide, F, "input"), ((*dims[:-2], dims[-1], 24), F, "input"))


def residual(*, backward: bool = True, bypass: str = "", second: str = "norm", reader: str = "", small: bool = False) -> ModuleOp:
    """((t + a) + b), added up in a norm that makes a and b. bypass, second, reader: modules that make t and b and read the sum."""

    def net(g: Graph, x: Any) -> Any:
        def of(module: str, op: str, *given: Any) -> Any:
            g.module = module
            return g(op, *given)

        g.is_backward = backward
        t, a, b = of(bypass, "exp", x), of("norm", "sin", x), of(second, "cos", x)
        if small:
            a = g("sum", a, out=(4, 1), dim_arg=[1], keep_dim=True)
        return of(reader, "tanh", of("norm", "add", of("norm", "add", t, a), b))

    return build(net, ROWS)


CHANGES: dict[str, tuple[str, ModuleOp, list[str]]] = {
    "the sign of a sum of exponentials": ("known-signs", sign("ge", exponential_sum), ["exp", "sum", "full", "div"]),
    "that it is below zero": ("known-signs", sign("lt", exponential_sum), ["full", "broadcast"]),
    "the sign of a square": ("known-signs", sign("ge", lambda g, x: g("multiply", x, x)), ["multiply", "full", "div"]),
    "the absolute value of a norm": (
        "known-signs",
        build(lambda g, x: g("abs", g("sqrt", g("maximum", g("sum", g("square", x), out=(4, 1), dim_arg=[1], keep_dim=True), g.number(-1.0)))), ROWS),
        ["square", "sum", "full", "maximum", "sqrt"],
    ),
    "a sum that keeps its dims under one that does not": (
        "merge-reductions",
        build(lambda g, x: reduced(g, x, ("sum", [0, 1], (1, 1, 16), True), ("sum", [0, 1], (16,), False)), LOGITS),
        ["sum"],
    ),
    "a maximum that is given its dim back": (
        "kept-dims",
        shifted((4, 8, 1)),
        ["max", "isfinite", "full", "add", "full", "where", "subtract", "mean", "sum", "reshape"],
    ),
    "an index that is looked up": ("plain-indices", indices(looked_up=True), ["typecast", "typecast", "eq", "gather"]),
    "a factor that is turned": ("turned-operands", turned(), ["exp", "matmul", "matmul"]),
    "factors of samples that are turned": ("turned-operands", turned(order=(0, 2, 1)), ["exp", "matmul", "matmul"]),
}
UNCHANGED: dict[str, tuple[str, ModuleOp]] = {
    "the sign of any value": ("known-signs", sign("ge", lambda g, x: g("tanh", x))),
    "the sign of a difference": ("known-signs", sign("ge", lambda g, x: g("subtract", g("exp", x), g("exp", x)))),
    "a sum of signs unknown": ("known-signs", sign("ge", lambda g, x: g("add", g("exp", x), x))),
    "more than zero": ("known-signs", sign("ge", exponential_sum, 0.5)),
    "whether it is zero": ("known-signs", sign("gt", exponential_sum)),
    "the absolute value of anything": ("known-signs", build(lambda g, x: g("abs", g("sum", x, out=(4, 1), dim_arg=[1], keep_dim=True)), ROWS)),
    "a sum that keeps a dim which the outer one leaves": (
        "merge-reductions",
        build(lambda g, x: reduced(g, x, ("sum", [0], (1, 8, 16), True), ("sum", [1], (1, 16), False)), LOGITS),
    ),
    "an input that gets a dim": ("kept-dims", build(lambda g, x: g("reshape", x, out=(4, 8, 1), shape=[4, 8, 1]), ROWS)),
    "a maximum that is moved, too": ("kept-dims", shifted((4, 8, 1), reader="permute")),
    "a maximum with an input added": ("kept-dims", shifted((4, 8, 1), other=True)),
    "an index that nothing looks up": ("plain-indices", indices(looked_up=False)),
    "a computed index": ("plain-indices", indices(looked_up=True, computed=True)),
    "an index that is below one": ("plain-indices", indices(looked_up=True, wraps=False)),
    "a factor of a forward pass": ("turned-operands", turned(backward=False)),
    "a weight that is turned": ("turned-operands", turned(weight=True)),
    "samples that become rows": ("turned-operands", turned(order=(1, 0, 2))),
    "a sum of a forward pass, with what goes around a norm": ("residuals-last", residual(backward=False)),
    "a sum of what the norm itself makes": ("residuals-last", residual(bypass="norm")),
    "a sum with what another module makes": ("residuals-last", residual(second="head")),
    "a sum that the norm reads": ("residuals-last", residual(reader="norm")),
    "a sum with a column": ("residuals-last", residual(small=True)),
}


@table("case", CHANGES, ids=str)
def test_forms(case: str) -> None:
    name, before, expected = CHANGES[case]
    check_change(before, expected, name)


def along(op: str) -> Net:
    return lambda g, x: g(op, x, out=(4, 1), dim_arg=[1], keep_dim=True)


OF_ONE: dict[str, Net] = {
    "broadcast": lambda g, x: g("broadcast", x, out=(8, 8), broadcast_dimensions=[2, 1]),
    "permute": lambda g, x: g("permute", x, out=(8, 4), permutation=[1, 0]),
    "reciprocal": lambda g, x: g("reciprocal", x),
    "reshape": lambda g, x: g("reshape", x, out=(32,), shape=[32]),
    "slice_static": lambda g, x: g("slice_static", x, out=(2, 8), begins=[1, 0], ends=[3, 8], step=[1, 1]),
    **{op: along(op) for op in ("max", "mean", "min", "sum")},
}
OF_TWO: dict[str, Net] = {
    "concat": lambda g, x, y: g("concat", x, y, out=(4, 16), dim=1),
    **{op: lambda g, x, y, op=op: g(op, x, y) for op in ("add", "div", "minimum", "multiply")},
}
POSITIVE: dict[str, tuple[Net, bool]] = {
    **{op: (lambda g, x, op=op: g(op, x), True) for op in ("abs", "exp", "relu", "relu6", "rsqrt", "sigmoid", "sqrt", "square")},
    "softmax": (lambda g, x: g("softmax", x, dimension=1), True),
    **{op: (lambda g, x, op=op: g(op, x), False) for op in ("neg", "tanh", "log", "sin")},
    **{f"a constant {value}": (lambda g, x, value=value: g.number(value, (4, 8)), value >= 0) for value in (0.0, 0.5, -0.5)},
    "constants": (lambda g, x: g("constant", out=(2,), value=np.array([1.0, 0.0], np.float32)), True),
    "constants, one below zero": (lambda g, x: g("constant", out=(2,), value=np.array([1.0, -1.0], np.float32)), False),
    "zeros": (lambda g, x: g("zeros", out=(2,), shape=[2]), True),
    "ones": (lambda g, x: g("ones", out=(2,), shape=[2]), True),
    **{f"{op} of positive ones": (lambda g, x, net=net: net(g, g("exp", x)), True) for op, net in OF_ONE.items()},
    **{f"{op} of any": (lambda g, x, net=net: net(g, x), False) for op, net in OF_ONE.items()},
    **{f"{op} of two positive ones": (lambda g, x, net=net: net(g, g("exp", x), g("sigmoid", x)), True) for op, net in OF_TWO.items()},
    **{f"{op} of a positive one and any": (lambda g, x, net=net: net(g, g("exp", x), x), False) for op, net in OF_TWO.items()},
    "maximum of two positive ones": (lambda g, x: g("maximum", g("exp", x), g("sigmoid", x)), True),
    "maximum of a positive one and any": (lambda g, x: g("maximum", g("exp", x), x), True),
    "maximum of any": (lambda g, x: g("maximum", g("sin", x), x), False),
    "product with itself": (lambda g, x: g("multiply", x, x), True),
    "sum with itself": (lambda g, x: g("add", x, x), False),
}


@table("case", POSITIVE)
def test_what_is_never_negative(case: str) -> None:
    net, positive = POSITIVE[case]
    before = build(lambda g, x: g("tanh", g("abs", net(g, x))), ROWS)
    module = before.clone()
    run_pipeline(module, "known-signs")
    assert names(module).count("abs") == names(before).count("abs") - positive


def test_what_goes_around_a_module_is_added_last() -> None:
    module = residual()
    check_change(module, ["exp", "sin", "cos", "add", "add", "tanh"], "residuals-last")
    changed = module.clone()
    run_pipeline(changed, "residuals-last")
    first, last = (op for op in changed.walk() if op.name == "ttir.add")
    assert [value.owner.name for value in first.operands] == ["ttir.sin", "ttir.cos"]
    assert [value.owner.name for value in last.operands] == ["ttir.exp", "ttir.add"]
    assert [scope.path for scope in sources_of(last)[-1].scopes] == [""]  # where the module is called


@table("case", UNCHANGED, ids=str)
def test_near_misses_stay(case: str) -> None:
    name, before = UNCHANGED[case]
    check_unchanged(before, name)


def with_constants(g: Graph, x: Any, first: Any, second: Any) -> Any:
    return g("add", g("add", x, first), second)


def test_parameters_are_added_to_one_another_first() -> None:
    """Rows of token types and positions; a value that changes with the input stays where it is."""
    row, rows = ((1, 8), F, "parameter"), ((4, 8), F, "parameter")
    module = build(with_constants, ROWS, row, rows)
    check_change(module, ["add", "add"], "constants-last")
    run_pipeline(module, "constants-last")
    first, last = (op for op in module.walk() if op.name == "ttir.add")
    assert [value.index for value in first.operands] == [1, 2]
    assert last.operands[1] is first.results[0]
    check_unchanged(build(with_constants, ROWS, ROWS, rows), "constants-last")
