"""The finished program is timed again: what a search promised wrongly is not emitted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from modules import decisions, lowered, mlp
from ttnn_shim.queries import Memory

from alchemist.errors import OptionError
from alchemist.ir.edit import functions, is_const_eval
from alchemist.optimizer import level2, search
from alchemist.optimizer.finalists import Timed, beside_level_0, timed
from alchemist.optimizer.graph import DRAM, L1, Forward
from alchemist.optimizer.level2 import Plan, Replayed
from alchemist.optimizer.machine import machine
from alchemist.optimizer.placement import Choice
from alchemist.optimizer.search import Taken
from alchemist.passes.elementwise import FuseUnaryChain


def many_alive(count: int = 5, rows: int = 4096, width: int = 2560) -> str:
    """Values that all live until the last one is made; each alone fits into L1, together they do not."""
    kind = f"tensor<{rows}x{width}xbf16>"
    body = [f'%e{number} = "ttir.exp"({"%x" if not number else f"%e{number - 1}"}) : ({kind}) -> {kind}' for number in range(count)]
    for number in range(1, count):
        before = "%e0" if number == 1 else f"%s{number - 1}"
        body.append(f'%s{number} = "ttir.add"({before}, %e{number}) : ({kind}, {kind}) -> {kind}')
    argument = f'%x: {kind} {{ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "x"}}'
    return f"module {{\n  func.func @forward({argument}) -> {kind} {{\n    " + "\n    ".join(body) + f"\n    return %s{count - 1} : {kind}\n  }}\n}}\n"


def moved_for_nothing(listed: Sequence[Choice], held: Sequence[Memory]) -> Choice:
    return next((choice for choice in listed if choice.result == DRAM and set(choice.operands) == {L1}), listed[0])


def in_l1(listed: Sequence[Choice], held: Sequence[Memory]) -> Choice:
    return min(listed, key=lambda choice: (choice.operands != tuple(held), choice.result.buffer != "L1"))


def misled(pick: Callable[[Sequence[Choice], Sequence[Memory]], Choice]) -> Callable[..., Plan]:
    """A search that takes what `pick` says and promises a nanosecond."""

    def search(graph: Forward, options: Mapping[int, Sequence[Choice]], *_: Any) -> Plan:
        held: dict[int, Memory] = {}
        plan = Plan(1.0)
        for number, step in enumerate(graph.steps):
            at = [held[place] for _, place in step.operands]
            choice = pick(options[number], at)
            moves = [(index, wanted) for (index, _), have, wanted in zip(step.operands, at, choice.operands, strict=True) if have != wanted]
            held.update(dict.fromkeys(step.results, choice.leaves))
            plan.taken[number] = Taken(choice, tuple(moves))
        return plan

    return search


def ns_of(module: Any) -> Timed:
    (forward,) = [func for func in functions(module) if not is_const_eval(func)]
    return timed(forward, machine("n150"), 0)


@pytest.mark.parametrize(
    ("text", "pick", "reason"),
    [(many_alive(3, 1024, 512), moved_for_nothing, "us, level 0"), (many_alive(), in_l1, "the finished program is refused at")],
    ids=["slower", "no room"],
)
def test_a_broken_promise_is_not_emitted(text: str, pick: Any, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search and a replay that see neither time nor room: the next finalist is taken, at last level 0, and the decision file says so."""
    before = ns_of(lowered(text)).ns
    monkeypatch.setattr(level2, "search", misled(pick))
    monkeypatch.setattr(search, "consistent", lambda plan, *_: plan)
    monkeypatch.setattr(level2, "replay", lambda graph, plan, *_: Replayed(1.0 if plan.taken else 2.0))
    after = ns_of(lowered(text, optimization_level=2))
    assert before is not None and after.ns is not None and after.ns <= before, after.error
    said = decisions(text, optimization_level=2)
    assert "Dropped: the plan of 0.0 us" in said and reason in said, said


def test_refused_overrides_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    text = re.sub(r"(%[es]\d+ = .*)", r'\1 loc("value")', many_alive())
    monkeypatch.setattr(level2, "search", misled(in_l1))
    monkeypatch.setattr(search, "consistent", lambda plan, *_: plan)
    monkeypatch.setattr(level2, "replay", lambda *_: Replayed(1.0))
    with pytest.raises(OptionError, match="refuses the program with these overrides"):
        lowered(text, optimization_level=2, override_output_layout="value*=l1")


def test_a_function_that_level_0_cannot_run_gets_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Level 0 may run out of memory where a plan with other memories or blocks does not."""
    replay = level2.replay

    def refusing(graph: Forward, plan: Plan, *rest: Any) -> Replayed:
        return replay(graph, plan, *rest) if plan.taken else Replayed(None, 0, "no room")

    monkeypatch.setattr(level2, "replay", refusing)
    assert "level 0's choices are refused" in decisions(mlp(), optimization_level=2)


@pytest.mark.parametrize("rewrites", [0, 3], ids=["as it is", "a pass that costs"])
def test_level_0_stays_where_a_pass_of_the_level_costs_more_than_is_gained(rewrites: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes that levels 1 and 2 want rewrite by estimates of their own."""
    text = many_alive(2, 256, 256)

    def longer(_: FuseUnaryChain, module: Any) -> None:
        last = next(op for op in module.walk() if op.name == "ttnn.add")
        for _ in range(rewrites):
            again = last.clone()
            again.operands[0] = last.results[0]
            last.parent.insert_op_after(again, last)
            last.results[0].replace_uses_with_if(again.results[0], lambda use, again=again: use.operation is not again)
            last = again

    monkeypatch.setattr(FuseUnaryChain, "run", longer)
    level_0, level_1 = lowered(text), lowered(text, optimization_level=1)
    added = [sum(op.name == "ttnn.add" for op in module.walk()) for module in (level_0, level_1)]
    assert added == [1, 1]
    assert (ns_of(level_1).ns or 0) <= (ns_of(level_0).ns or 0)
    assert decisions(text, optimization_level=1).startswith("Level 0 stays: with what levels 1 and 2 rewrite") == bool(rewrites)


@pytest.mark.parametrize(
    ("level_0", "found", "refused"),
    [
        ({}, {}, ""),
        ({"ttnn.a: one": 1}, {"ttnn.a: one": 1}, ""),
        ({"ttnn.a: one": 2}, {"ttnn.a: other": 1, "ttnn.a: one": 1}, ""),  # whatever the reason
        ({"ttnn.a: one": 1}, {"ttnn.a: other": 1, "ttnn.a: one": 1}, "ttnn.a: other"),
        ({"ttnn.a: one": 1}, {"ttnn.b: one": 1}, "ttnn.b: one"),
        ({}, {"ttnn.a: one": 1}, "ttnn.a: one"),
    ],
)
def test_no_more_calls_are_refused_than_at_level_0(level_0: dict[str, int], found: dict[str, int], refused: str) -> None:
    made = Timed(5.0, "", Counter(found))
    assert beside_level_0(made, Timed(7.0, "", Counter(level_0))) == (Timed(None, refused) if refused else made)
