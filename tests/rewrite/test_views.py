"""A view that moves dims makes another formula of what looks like a rule's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "passes"))

from pass_graphs import Graph, build, names, viewed

from alchemist.driver.opt import run_pipeline

SQUARE, VECTOR = ((8, 8), "f32", "input"), ((8,), "f32", "parameter")


def softmax(g: Graph, x: Any, *peak_dims: int) -> Any:
    peak = viewed(g, g("max", x, out=(8,), dim_arg=[1], keep_dim=False), *peak_dims)
    e = g("exp", g("subtract", x, peak))
    return g("div", e, g("sum", e, out=(8, 1), dim_arg=[1], keep_dim=True))


def weighted(g: Graph, x: Any, w: Any, *dims: int) -> Any:
    return g("multiply", g("rms_norm", x, None, None, normalized_shape=[8], epsilon=1e-5), viewed(g, w, *dims))


@pytest.mark.parametrize(
    ("net", "inputs", "is_one_op"),
    [
        (lambda g, x: softmax(g, x, 8, 1), [SQUARE], True),
        (lambda g, x: softmax(g, x, 1, 8), [SQUARE], False),  # the maximum of another row
        (lambda g, x, w: weighted(g, x, w, 1, 8), [SQUARE, VECTOR], True),
        (lambda g, x, w: weighted(g, x, w, 8, 1), [SQUARE, VECTOR], False),  # a weight per row
    ],
)
def test_dims_have_to_stay_where_they_are(net: Callable[..., Any], inputs: list[Any], is_one_op: bool) -> None:
    module = build(net, *inputs)
    run_pipeline(module, "fuse-patterns")
    assert (len(names(module)) == 1) == is_one_op
