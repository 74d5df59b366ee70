"""Shardy as the partitioner: a TTIR function as generic text with a rule for each op in, ops and collectives with the cut of each value out.

Shardy is part of jaxlib (extra `mesh`) and runs in a process of its own, kept for the next module: a text that it cannot take may end it.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from alchemist.errors import InternalError, OptionError
from alchemist.frontends.base import AXES
from alchemist.ir import access
from alchemist.line_process import LineProcess
from alchemist.mesh.stated import BOUNDARIES, computing_ops, crosses, stated
from alchemist.ops.expand import CONSTRAINT, TO_WHOLE
from alchemist.ops.sharding import Axes, Factor, Rule, whole
from alchemist.ops.spec import TTIR_OPS

Cut = tuple[tuple[str, ...], ...]
"""The axes of the mesh that cut each dimension, the outermost first."""


@dataclass(frozen=True, slots=True)
class Step:
    """op: the place of a function's op, None of a collective. operands: values by number, arguments first. cuts: of each result. summed: axes along
    which a collective adds up."""

    op: int | None
    kind: str
    operands: tuple[int, ...]
    cuts: tuple[Cut, ...]
    summed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """arguments: the cut of each. returned: values by number."""

    arguments: tuple[Cut, ...]
    steps: tuple[Step, ...]
    returned: tuple[int, ...]


def rules_of(func: FuncOp, uncut: Collection[int] = ()) -> list[Rule]:
    """How each op may be cut. uncut: places of ops that are to run on whole tensors."""
    rules = []
    for place, op in enumerate(computing_ops(func)):
        inputs, results = [access.shape(value) for value in op.operands], [access.shape(value) for value in op.results]
        if op.name in BOUNDARIES:
            rules.append(crosses(op.name, inputs, results))
            continue
        spec = TTIR_OPS.get(op.name)
        sharding = whole if place in uncut or spec is None else spec.sharding
        rules.append(sharding(inputs, access.attrs(op), results))
    return rules


def partition(func: FuncOp, extents: tuple[int, int], cuts: Sequence[Cut | None], rules: Sequence[Rule]) -> Answer:
    """Where each value of a TTIR function lies on a mesh of `extents`, and the collectives between.

    cuts: of the arguments; Shardy chooses that of an argument with None. rules: of the ops.

    Raises:
        OptionError: no jaxlib, or one of another version. InternalError: Shardy does not take the text.
    """
    answer = _SHARDY.ask(_text(func, extents, cuts, rules))
    ranks = [len(access.shape(arg)) for arg in func.args]
    ops = computing_ops(func)
    arguments = tuple(_cut(given, rank) for given, rank in zip(answer["arguments"], ranks, strict=True))
    steps = []
    for step in answer["steps"]:
        wanted = [len(access.shape(value)) for value in ops[step["op"]].results] if step["op"] is not None else [ranks[step["operands"][0]]]
        given = step["cuts"] or [None] * len(wanted)
        made = tuple(_cut(one, rank) for one, rank in zip(given, wanted, strict=True))
        steps.append(Step(step["op"], step["kind"], tuple(step["operands"]), made, tuple(step["summed"])))
        ranks += wanted
    if [step.op for step in steps if step.op is not None] != list(range(len(ops))):
        raise InternalError("Shardy left out ops, or put them in another order", got=", ".join(str(step.op) for step in steps)[:500])
    return Answer(arguments, tuple(steps), tuple(answer["returned"]))


def _cut(given: Sequence[Sequence[str]] | None, rank: int) -> Cut:
    return tuple(tuple(axes) for axes in given) if given else ((),) * rank


def _text(func: FuncOp, extents: tuple[int, int], cuts: Sequence[Cut | None], rules: Sequence[Rule]) -> str:
    """Generic text without attributes but the rules; element types do not matter here."""
    names: dict[SSAValue, str] = {arg: f"%{number}" for number, arg in enumerate(func.args)}
    sharded = [f" {{sdy.sharding = {_sharding(cut)}}}" if cut is not None else "" for cut in cuts]
    head = ", ".join(f"{names[arg]}: {_type(arg)}{more}" for arg, more in zip(func.args, sharded, strict=True))
    lines = []
    outputs: Sequence[SSAValue] = ()
    places = {op: place for place, op in enumerate(computing_ops(func))}
    for op in func.body.block.ops:
        if isinstance(op, ReturnOp):
            outputs = op.operands
            break
        for result in op.results:
            names[result] = f"%{len(names)}"
        if op.name == CONSTRAINT:
            lines.append(f"    {names[op.results[0]]} = {CONSTRAINT} {names[op.operands[0]]} {stated(op)} : {_type(op.results[0])}")
            continue
        place = places[op]
        made = ", ".join(names[result] for result in op.results)
        types = f"({', '.join(map(_type, op.operands))}) -> ({', '.join(map(_type, op.results))})"
        rule = f", sdy.sharding_rule = {_rule(rules[place])}" if op.operands else ""  # without operands there is none: the result stays whole
        fixed = f", sdy.sharding = #sdy.sharding_per_value<[{stated(op)}]>" if op.name == TO_WHOLE else ""
        lines.append(f'    {made} = "{op.name}"({", ".join(names[value] for value in op.operands)}) {{op = {place} : i64{rule}{fixed}}} : {types}')
    mesh = ", ".join(f'"{name}"={extent}' for name, extent in zip(AXES, extents, strict=True))
    types = ", ".join(map(_type, outputs))
    lines.append(f"    return {', '.join(names[value] for value in outputs)} : {types}" if outputs else "    return")
    return "\n".join([f"module {{\n  sdy.mesh @mesh = <[{mesh}]>", f"  func.func @main({head}) -> ({types}) {{", *lines, "  }\n}"])


def _type(value: SSAValue) -> str:
    return f"tensor<{''.join(f'{size}x' for size in access.shape(value))}f32>"


def _sharding(cut: Cut) -> str:
    return f"#sdy.sharding<@mesh, [{', '.join('{' + ', '.join(map(json.dumps, axes)) + '}' for axes in cut)}]>"


def _rule(rule: Rule) -> str:
    """Factors are named in the order in which they appear."""
    factors: dict[Factor, str] = {}

    def side(tensors: Sequence[Axes]) -> str:
        texts = []
        for tensor in tensors:
            dims = []
            for dim in tensor:
                given = dim or [Factor(1)]
                for factor in given:
                    factors.setdefault(factor, chr(ord("i") + len(factors)) if len(factors) < 18 else f"z_{len(factors) - 17}")
                dims.append("".join(factors[factor] for factor in given))
            texts.append(f"[{', '.join(dims)}]")
        return ", ".join(texts)

    text = f"({side(rule.operands)})->({side(rule.results)}) {{{', '.join(f'{name}={factor.size}' for factor, name in factors.items())}}}"
    for word, kind in (("reduction", "sum"), ("need_replication", "whole")):
        held = [name for factor, name in factors.items() if factor.kind == kind]
        text += f" {word}={{{', '.join(held)}}}" if held else ""
    return f"#sdy.op_sharding_rule<{text}>"


_TEST = """module {
  sdy.mesh @mesh = <["rows"=1, "columns"=2]>
  func.func @main(%0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"columns"}]>}, %1: tensor<8x4xf32>) -> (tensor<4x4xf32>) {
    %2 = "ttir.matmul"(%0, %1) {op = 0 : i64, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=4, j=8, k=4} reduction={j}>}
      : (tensor<4x8xf32>, tensor<8x4xf32>) -> (tensor<4x4xf32>)
    return %2 : tensor<4x4xf32>
  }
}"""
"""A product whose depth is cut: the second operand has to follow, and the result has to be added up."""


class _Shardy:
    """At most one process; threads take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: LineProcess | None = None

    def ask(self, text: str) -> dict[str, Any]:
        with self._lock:
            answer = self._started().ask(text)
        if not answer or "error" in answer:
            raise InternalError("Shardy does not take the module", got=answer.get("error", "its process ended"))
        return answer

    def _started(self) -> LineProcess:
        if self._process is not None and self._process.is_usable:
            return self._process
        self.close()
        hint = "pip install 'alchemist-ttnn[mesh]'"
        if importlib.util.find_spec("jaxlib") is None:
            raise OptionError("a mesh of several chips needs Shardy, which is part of jaxlib", expected="jaxlib >=0.10,<0.11", got="none", hint=hint)
        self._process = process = LineProcess([str(Path(__file__).with_name("worker.py"))], os.environ)
        version = json.loads(process.read_line() or "{}").get("jaxlib", "one that cannot be imported")
        found = process.ask(_TEST) if version.startswith("0.") else {}
        steps = found.get("steps", [])
        if [step["summed"] for step in steps] != [[], ["columns"]] or found["arguments"][1] != [["columns"], []]:
            self.close()
            raise OptionError("Shardy of this jaxlib does not partition a product as expected", expected="jaxlib >=0.10,<0.11", got=version, hint=hint)
        return process

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()


_SHARDY = _Shardy()
atexit.register(_SHARDY.close)
