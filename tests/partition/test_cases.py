"""Random cases: the values of the whole op, or refused; few are refused, and most ops run on parts."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from alchemist.errors import UserError
from alchemist.ir import access
from alchemist.ir.edit import functions
from tests.partition.cases import ROWS, draw


def _outcome(case, seed: int) -> str:
    """ "refused", "cut" where the op runs on a part of some operand, "whole"."""
    try:
        made = case.compare(seed)
    except UserError:
        return "refused"
    (func,) = functions(made.module)
    named = {"linear": "linear", "mean": "sum"}.get(case.name, case.name)
    op = next(op for op in func.body.block.ops if op.name in (f"ttir.{named}", f"ttir.{case.name}"))
    given = [access.shape(value) for value in op.operands]
    return "cut" if any(shape not in case.shapes for shape in given) or (case.name == "embedding" and len(made.arguments) > 2) else "whole"


def _run(count: int, seed: int) -> dict[str, Counter[str]]:
    rng = random.Random(seed)
    found: dict[str, Counter[str]] = {name: Counter() for name in ROWS}
    for number in range(count):
        case = draw(rng)
        found[case.name][_outcome(case, number)] += 1
    return found


def _judge(found: dict[str, Counter[str]]) -> None:
    total = sum(found.values(), Counter())
    print(*(f"{name:30} {dict(counts)}" for name, counts in found.items()), total, sep="\n")
    assert total["refused"] <= 0.2 * total.total()
    assert total["cut"] >= 0.7 * (total["cut"] + total["whole"])


def test_random_ops_are_equal_or_refused() -> None:
    _judge(_run(100, 46))


@pytest.mark.slow
def test_a_thousand_random_ops_are_equal_or_refused() -> None:
    _judge(_run(1000, 4646))
