"""Candidates by themselves: what is asked once, what is refused and why, and which of those that are as fast has the smallest buffers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from modules import lowered, mlp
from ttnn_shim.queries import Memory

from alchemist.ir.edit import functions
from alchemist.optimizer import matmul
from alchemist.optimizer.candidate import SAFE, Candidate, Priced
from alchemist.optimizer.choose import TRIFLE, fits, price_all, roomiest
from alchemist.optimizer.machine import machine

CARD = machine("n150")


def product() -> Any:
    (func,) = functions(lowered(mlp(256, 128, 512)), const_eval=False)
    return next(op for op in func.body.block.ops if op.name in ("ttnn.matmul", "ttnn.linear"))


def test_candidates_are_asked_once_and_refused_by_reason() -> None:
    op, refused = product(), dict[str, int]()
    good = list(matmul.interleaved(op, CARD, {}, None))
    assert len(good) > 3
    l1 = Memory("L1")
    made = price_all(op, CARD, [*good, *good, SAFE, replace(SAFE, label="again"), replace(SAFE, result=l1)], 1.0, refused)
    assert [one.ns for one in made] == sorted(one.ns for one in made)
    labels = [one.candidate.label for one in made]
    assert labels.count("as at level 0") == 2 and "again" not in labels  # in DRAM and in L1; once more asks the same
    assert len(made) + sum(refused.values()) == len(good) + 2
    refused.clear()
    assert price_all(op, CARD, good, 0.0, refused) == []
    assert refused["more L1 than the cap leaves"] > 1
    refused.clear()
    small = Candidate("no shards of it", operands={0: Memory("L1", "HEIGHT_SHARDED", ((31, 7), (0, 0, 7, 3), "ROW_MAJOR"))})
    assert price_all(op, CARD, [small, replace(small, operands={0: Memory("L1", "HEIGHT_SHARDED", ((31, 9), (0, 0, 7, 3), "ROW_MAJOR"))})], 1.0, refused) == []
    assert sum(refused.values()) == 2 and all(reason and len(reason) <= 160 for reason in refused)


def test_what_leaves_enough_l1() -> None:
    (safe,) = price_all(product(), CARD, [SAFE], 1.0, {})
    share = safe.answer.l1_peak_bytes / CARD.l1_bytes
    assert fits(safe.answer, CARD, share)
    assert not fits(safe.answer, CARD, share * 0.99)


@pytest.mark.parametrize(("slower", "chosen"), [(0.0, 1), (TRIFLE * 0.9, 1), (TRIFLE * 1.5, 0)])
def test_of_those_as_fast_the_smallest_buffers(slower: float, chosen: int) -> None:
    (safe,) = price_all(product(), CARD, [SAFE], 1.0, {})
    first, *others = (replace(program, cb_bytes=program.cb_bytes - 1) for program in safe.answer.programs)
    other = Priced(safe.candidate, replace(safe.answer, programs=(replace(first, ns=first.ns + safe.ns * slower), *others)))
    assert roomiest([safe, other]) is [safe, other][chosen]
