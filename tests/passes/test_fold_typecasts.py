"""Casts that cancel out, and cutting off fractions that are not there: when, when not, and with the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pass_graphs import Graph, build, names
from ttnn_numpy import run as run_ttnn

from alchemist.ops.evaluate import run as run_ttir
from alchemist.passes import lower_to_ttnn

ROWS = ((32, 32), "f32", "input")
WHOLE = ((32, 32), "i32", "input")


def cast(g: Graph, x: Any, to: str) -> Any:
    return g("typecast", x, of=to)


CASES = {
    "cut off after floor": (lambda g, x: cast(g, g("floor", x), "i32"), ROWS, ["floor", "typecast"]),
    "cut off after a comparison's sum": (
        lambda g, x: cast(g, g("sum", cast(g, g("gt", x, g("neg", x), of="f32"), "f32"), out=(32,), dim_arg=[1], keep_dim=False), "i32"),
        ROWS,
        ["neg", "gt", "sum", "typecast"],
    ),
    "there and back of whole numbers": (lambda g, x: g("exp", cast(g, cast(g, g("ceil", x), "i32"), "f32")), ROWS, ["ceil", "exp"]),
    "cut off after division": (lambda g, x: cast(g, g("multiply", x, x), "i32"), ROWS, ["multiply", "abs", "floor", "sign", "multiply", "typecast"]),
    "there and back of fractions": (
        lambda g, x: g("exp", cast(g, cast(g, x, "i32"), "f32")),
        ROWS,
        ["abs", "floor", "sign", "multiply", "typecast", "typecast", "exp"],
    ),
    "there only": (lambda g, x: g("exp", cast(g, x, "f32")), WHOLE, ["typecast", "exp"]),
}


@pytest.mark.parametrize("case", CASES)
def test_casts(case: str) -> None:
    net, given, wanted = CASES[case]
    module = build(net, given)
    lowered = lower_to_ttnn(module)
    made = [name for name in names(lowered.module) if name not in ("get_device", "to_layout", "deallocate", "to_device")]
    assert sorted(made) == sorted(wanted)
    rng = np.random.default_rng(0)
    x = rng.normal(0, 3, given[0]).astype(np.float32) if given[1] == "f32" else rng.integers(-4, 4, given[0]).astype(np.int32)
    for want, have in zip(run_ttir(module, [x]), run_ttnn(lowered.module, [x]), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5)
