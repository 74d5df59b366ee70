"""What `axes` of the op table say: an op on rearranged operands gives the rearranged result, or refuses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "passes"))

from pass_graphs import arrays, build

from alchemist.ir.access import entry_function
from alchemist.ir.edit import erase_dead
from alchemist.ops.evaluate import run
from alchemist.rewrite.moves import commute, regroup, worked_dims

CUBE, ROW, FEW, MATRIX = ((2, 1, 4, 6), "f32", "input"), ((6,), "f32", "input"), ((1, 1, 4, 1), "f32", "input"), ((6, 5), "f32", "parameter")
PART = {"begins": [0, 0, 1, 0], "ends": [2, 1, 3, 6], "step": [1, 1, 1, 1]}
OPS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a sum": (lambda g, x, y: g("add", x, y), (CUBE, CUBE)),
    "a sum with a row": (lambda g, y, x: g("add", y, x, out=CUBE[0]), (ROW, CUBE)),
    "a sum with a column": (lambda g, x, y: g("subtract", x, y), (CUBE, FEW)),
    "one reduction": (lambda g, x: g("sum", x, out=(2, 1, 4, 1), dim_arg=[3], keep_dim=True), (CUBE,)),
    "a reduction without its dims": (lambda g, x: g("max", x, out=(1, 4), dim_arg=[0, -1], keep_dim=False), (CUBE,)),
    "a reduction of everything": (lambda g, x: g("mean", x, out=(1, 1, 1, 1), keep_dim=True), (CUBE,)),
    "a softmax": (lambda g, x: g("softmax", x, dimension=-1), (CUBE,)),
    "a part": (lambda g, x: g("slice_static", x, out=(2, 1, 2, 6), **PART), (CUBE,)),
    "zeros around": (lambda g, x: g("pad", x, out=(2, 1, 4, 9), padding=[0, 0, 0, 0, 0, 0, 1, 2], value=0.0), (CUBE,)),
    "two beside each other": (lambda g, x, y: g("concat", x, y, out=(2, 1, 8, 6), dim=2), (CUBE, CUBE)),
    "a permute": (lambda g, x: g("permute", x, out=(4, 6, 2, 1), permutation=[2, 3, 0, 1]), (CUBE,)),
    "a product": (lambda g, x, w: g("matmul", x, w, out=(2, 1, 4, 5)), (CUBE, MATRIX)),
    "a norm": (lambda g, x, w: g("rms_norm", x, w, None, normalized_shape=[6], epsilon=1e-5), (CUBE, ROW)),
    "a running sum": (lambda g, x: g("cumsum", x, dim=2), (CUBE,)),
}  # fmt: skip
GROUPS = {
    "without the unit": ((0,), (2,), (3,)),
    "one more unit": ((0,), (1,), (), (2,), (3,)),
    "rows joined": ((), (0, 1, 2), (3,)),
    "all joined": ((0, 1, 2, 3),),
    "first two swapped": ((2,), (1,), (0,), (3,)),
    "last two swapped": ((0,), (1,), (3,), (2,)),
    "swapped and joined": ((2, 0), (3,)),
}
REFUSED = {
    *((op, "all joined") for op in OPS if op not in ("a sum", "a reduction of everything")),
    *((op, groups) for op in ("a product", "a norm") for groups in ("last two swapped",)),
    *((op, groups) for op in ("a sum with a column", "a part", "two beside each other", "a running sum") for groups in ("rows joined", "swapped and joined")),
    *(("a reduction without its dims", groups) for groups in ("rows joined", "swapped and joined")),
    *(("a permute", groups) for groups in ("one more unit", "rows joined", "swapped and joined")),
    *(("a reduction of everything", groups) for groups in ("without the unit", "swapped and joined")),
}


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("name", OPS)
def test_a_rearranged_op_has_the_same_values(name: str, groups: str) -> None:
    net, inputs = OPS[name]
    before = build(net, *inputs)
    module = before.clone()
    func = entry_function(module)
    op = next(iter(func.body.block.ops))
    assert len(worked_dims(op)) == 4
    to = regroup(op, GROUPS[groups])
    assert (to is None) == ((name, groups) in REFUSED)
    if to is not None:
        commute(op, to)
        erase_dead(func)
        module.verify()
        given = arrays(before)
        for want, have in zip(run(before, given), run(module, given), strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-6)
