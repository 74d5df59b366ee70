"""Parts of a value that all go through the same, and steps that are all multiplied with one weight."""

from __future__ import annotations

from typing import Any

import pytest
from pass_graphs import Graph, build, check_change, check_unchanged
from xdsl.dialects.builtin import ModuleOp

from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests.tables import table

GATES = ((2, 96), "f32", "input")
STEPS = ((4, 2, 16), "f32", "input")
WEIGHT = ((16, 24), "f32", "parameter")
BIAS = ((24,), "f32", "parameter")


def part(g: Graph, x: Any, begin: int, end: int, step: int = 1) -> Any:
    return g("slice_static", x, out=(2, -(-(end - begin) // step)), begins=[0, begin], ends=[2, end], step=[1, step])


def thirds(g: Graph, x: Any) -> list[Any]:
    return [part(g, x, at, at + 32) for at in (0, 32, 64)]


def cell(g: Graph, x: Any, y: Any) -> tuple[Any, ...]:
    sums = [g("add", a, b) for a, b in zip(thirds(g, x), thirds(g, y), strict=True)]
    return g("sigmoid", sums[0]), g("sigmoid", sums[1]), g("tanh", sums[2])


def step(g: Graph, x: Any, at: int, keep: bool = False) -> Any:
    cut = g("slice_static", x, out=(1, 2, 16), begins=[at, 0, 0], ends=[at + 1, 2, 16], step=[1, 1, 1])
    return cut if keep else g("reshape", cut, out=(2, 16), shape=[2, 16])


def multiplied(g: Graph, x: Any, weight: Any, **attributes: Any) -> Any:
    return g("matmul", x, weight, out=(2, 24), **attributes)


CHANGES: dict[str, tuple[str, ModuleOp, list[str]]] = {
    "gates of two products": ("whole-before-parts", build(cell, GATES, GATES), ["add", "slice_static", "sigmoid", "slice_static", "slice_static", "tanh"]),
    "differences": (
        "whole-before-parts",
        build(lambda g, x, y: tuple(g("subtract", a, b) for a, b in zip(thirds(g, x), thirds(g, y), strict=True)), GATES, GATES),
        ["subtract", *["slice_static"] * 3],
    ),
    "a function of most parts": (
        "whole-before-parts",
        build(lambda g, x: (lambda a, b, c: (g("exp", a), g("exp", b), c))(*thirds(g, x)), GATES),
        ["slice_static", "exp", "slice_static", "slice_static"],
    ),
    "products of all steps": (
        "products-of-steps",
        build(lambda g, x, w: tuple(multiplied(g, step(g, x, at), w) for at in range(4)), STEPS, WEIGHT),
        ["matmul", *["slice_static", "reshape"] * 4],
    ),
    "products of half the steps, whose dim stays, with a bias": (
        "products-of-steps",
        build(lambda g, x, w, b: tuple(g("linear", step(g, x, at, keep=True), w, b, out=(1, 2, 24)) for at in (1, 3)), STEPS, WEIGHT, BIAS),
        ["linear", "slice_static", "slice_static"],
    ),
    "an argmax with and without its dim": (
        "fold",
        build(
            lambda g, x: (
                g("argmax", x, out=(2,), of="si32", dim_arg=[1], keep_dim=False),
                g("argmax", x, out=(2, 1), of="si32", dim_arg=[1], keep_dim=True),
            ),
            GATES,
        ),
        ["argmax", "reshape"],
    ),
}
UNCHANGED: dict[str, tuple[str, ModuleOp]] = {
    "parts that are read elsewhere": (
        "whole-before-parts",
        build(lambda g, x, y: (lambda a, b: (*map(g, ("add",) * 3, a, b), a[0], b[1]))(thirds(g, x), thirds(g, y)), GATES, GATES),
    ),
    "other parts of the second": (
        "whole-before-parts",
        build(lambda g, x, y: tuple(map(g, ("add",) * 3, thirds(g, x), reversed(thirds(g, y)))), GATES, GATES),
    ),
    "parts of values of other shapes": (
        "whole-before-parts",
        build(lambda g, x, y: tuple(g("add", part(g, x, at, at + 32), part(g, y, at, at + 32)) for at in (0, 32)), GATES, ((2, 64), "f32", "input")),
    ),
    "the same part twice": ("whole-before-parts", build(lambda g, x: tuple(g("exp", part(g, x, 0, 64)) for _ in range(2)), GATES)),
    "a third of the whole": ("whole-before-parts", build(lambda g, x: (g("exp", part(g, x, 0, 16)), g("exp", part(g, x, 16, 32))), GATES)),
    "one part": ("whole-before-parts", build(lambda g, x: g("exp", part(g, x, 0, 80)), GATES)),
    "every second column": ("whole-before-parts", build(lambda g, x: tuple(g("exp", part(g, x, at, 96, 2)) for at in (0, 1)), GATES)),
    "sums of two types": (
        "whole-before-parts",
        build(
            lambda g, x, y: tuple(g("add", a, b, of="bf16") for a, b in zip(thirds(g, x), thirds(g, y), strict=True)),
            GATES,
            GATES,
        ),
    ),
    "a product of one step": ("products-of-steps", build(lambda g, x, w: multiplied(g, step(g, x, 2), w), STEPS, WEIGHT)),
    "few of the steps": (
        "products-of-steps",
        build(lambda g, x, w: tuple(multiplied(g, step(g, x, at), w) for at in range(2)), ((8, 2, 16), "f32", "input"), WEIGHT),
    ),
    "another weight for each": (
        "products-of-steps",
        build(lambda g, x, w, v: (multiplied(g, step(g, x, 0), w), multiplied(g, step(g, x, 1), v)), ((2, 2, 16), "f32", "input"), WEIGHT, WEIGHT),
    ),
    "a step times a matrix for each row": (
        "products-of-steps",
        build(
            lambda g, x, w: tuple(g("matmul", step(g, x, at, keep=True), w, out=(1, 2, 24)) for at in range(4)),
            STEPS,
            ((1, 16, 24), "f32", "parameter"),
        ),
    ),
    "turned steps": (
        "products-of-steps",
        build(
            lambda g, x, w: tuple(g("matmul", step(g, x, at), w, out=(16, 24), transpose_a=True) for at in range(4)),
            STEPS,
            ((2, 24), "f32", "parameter"),
        ),
    ),
    "columns": (
        "products-of-steps",
        build(
            lambda g, x, w: tuple(
                g("matmul", g("slice_static", x, out=(1, 2, 8), begins=[0, 0, at], ends=[1, 2, at + 8], step=[1, 1, 1]), w, out=(1, 2, 24)) for at in (0, 8)
            ),
            ((1, 2, 16), "f32", "input"),
            ((8, 24), "f32", "parameter"),
        ),
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_changes(case: str) -> None:
    name, module, expected = CHANGES[case]
    check_change(module, expected, f"{name}{{optimization_level=1}}")


@table("case", UNCHANGED)
def test_left_alone(case: str) -> None:
    name, module = UNCHANGED[case]
    check_unchanged(module, f"{name}{{optimization_level=1}}")


def test_level_0_cuts_before_it_adds() -> None:
    module = build(cell, GATES, GATES)
    slices = [sum(op.name == "ttnn.slice_static" for op in lower_to_ttnn(module, CompilerOptions(optimization_level=level)).module.walk()) for level in (0, 1)]
    assert slices == [6, 3]
