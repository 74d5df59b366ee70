"""Replays finished functions: a plan is accepted only if the function to emit reaches the predicted time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from alchemist.ir.location import clone_with_places
from alchemist.optimizer.apply import apply
from alchemist.optimizer.compute import repeat_for_equal_calls
from alchemist.optimizer.decisions import note_reasons, placed_report
from alchemist.optimizer.graph import forward_of
from alchemist.optimizer.level2 import Placed, Plan, replay
from alchemist.optimizer.machine import Machine


@dataclass(frozen=True, slots=True)
class Timed:
    """A replay of a finished function on an idle device. ns: None if it runs out of memory or the library refuses a call; error: why.

    skipped: calls that the replay cannot run, as "op: reason" with a count; those that level 0 has too do not count against a plan.
    """

    ns: float | None
    error: str = ""
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Finalist:
    """A way to emit the function. planned_ns: predicted by its search. write: changes a function of the same steps, and returns the decisions as text."""

    name: str
    planned_ns: float
    write: Callable[[FuncOp], str]


@dataclass(frozen=True, slots=True)
class Winner:
    """module: with the changed function. text: its decisions."""

    name: str
    module: ModuleOp
    ns: float
    text: str


def timed(func: FuncOp, machine: Machine, l1_small_bytes: int) -> Timed:
    """Replays a finished function as the emitted program runs it: lifetimes, addresses, circular buffers, clock."""
    graph = forward_of(func)
    done = replay(graph, Plan(0.0), machine, l1_small_bytes)
    if done.ns is None:
        where = graph.steps[done.failed].op.name if done.failed < len(graph.steps) else "the end"
        return Timed(None, f"{where}: {_first_line(done.error)}")
    skipped = Counter(f"{graph.steps[number].op.name}: {_first_line(error)}" for number, error in done.skipped.items())
    return Timed(done.ns, skipped=skipped)


def beside_level_0(result: Timed, level_0: Timed) -> Timed:
    """`result`, marked as refused if it has a refused call that level 0 does not have."""
    of_op = Counter(text.partition(":")[0] for text in level_0.skipped.elements())
    for text in result.skipped:
        op = text.partition(":")[0]
        if sum(count for reason, count in result.skipped.items() if reason.partition(":")[0] == op) > of_op[op]:
            return Timed(None, text)
    return result


def placed_finalist(placed: Placed, machine: Machine, name: str, rewrite: Callable[[FuncOp], None] = lambda func: None) -> Finalist:
    """A plan of level 2, or of level 1 with sliding windows. rewrite: creates the function that was planned."""

    def write(func: FuncOp) -> str:
        rewrite(func)
        own_plan = replace(placed, graph=forward_of(func))
        note_reasons(own_plan)
        text = placed_report(own_plan, machine.card)
        apply(own_plan)
        repeat_for_equal_calls(func, machine.architecture)
        return text

    return Finalist(name, placed.ns, write)


def best_of(
    module: ModuleOp,
    name: str,
    finalists: list[Finalist],
    level_0: Timed,
    machine: Machine,
    l1_small_bytes: int,
    *,
    must_gain: bool,
    say: Callable[[str], None],
) -> tuple[Winner | None, list[str]]:
    """The fastest finalist by its finished function, and a line for each that was dropped.

    A finalist is dropped when the library refuses its function, or when it does not gain what it promised over level 0 and `must_gain`. Those behind one that
    keeps what it promised are not tried.

    Args:
        finalists: by promised time. name: of the function in `module`, which stays as it is.
    """
    best: Winner | None = None
    dropped: list[str] = []
    for finalist in finalists:
        if best is not None and best.ns <= finalist.planned_ns:
            break
        tried = clone_with_places(module)
        func = next(op for op in tried.ops if isinstance(op, FuncOp) and op.sym_name.data == name)
        text = finalist.write(func)
        say(f"timing the finished program of {finalist.name}")
        result = beside_level_0(timed(func, machine, l1_small_bytes), level_0)
        if result.ns is None:
            reason = f"the finished program is refused at {result.error}"
        elif must_gain and level_0.ns is not None and (result.ns > level_0.ns or result.ns == level_0.ns > finalist.planned_ns):
            reason = f"the finished program takes {result.ns / 1000:.1f} us, level 0 {level_0.ns / 1000:.1f}"
        elif best is not None and best.ns <= result.ns:
            reason = f"the finished program takes {result.ns / 1000:.1f} us, {best.name} {best.ns / 1000:.1f}"
        else:
            if best is not None:
                dropped.append(f"Dropped: {best.name}: the finished program takes {best.ns / 1000:.1f} us, {finalist.name} {result.ns / 1000:.1f}")
            before = f", level 0 {level_0.ns / 1000:.1f}" if level_0.ns is not None else ""
            text = f"{text}\nThe finished program, timed again: {result.ns / 1000:.1f} us{before}.\n" if text else ""
            best = Winner(finalist.name, tried, result.ns, text)
            continue
        dropped.append(f"Dropped: {finalist.name}: {reason}")
        say(dropped[-1])
    return best, dropped


def _first_line(text: str) -> str:
    return text.splitlines()[0][:300] if text else "refused"
