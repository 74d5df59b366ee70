"""Program configs, memory and layouts by simulated time."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ops.spec import WHY
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, functions, is_const_eval, register

DECISIONS = "alchemist.decisions"


@register("optimize")
class Optimize(Pass):
    """Chooses program configs, memory and layouts by simulated time (optimization_level 1 and 2)."""

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        if not self.options.optimization_level:
            return
        from alchemist.optimizer.choose import Decision, choose, key_of, reason
        from alchemist.optimizer.decisions import report
        from alchemist.optimizer.machine import machine

        card = machine(self.options.card)
        known: dict[Any, Decision | None] = {}
        counts: dict[Any, int] = {}
        for func in functions(module):
            if is_const_eval(func):
                continue
            for op in list(func.body.block.ops):
                key = key_of(op)
                if key not in known:
                    known[key] = choose(op, card, self.options.tensor_l1_usage_cap)
                counts[key] = counts.get(key, 0) + 1
                decision = known[key]
                if decision is not None and decision.chosen is not decision.safe:
                    _apply(op, decision.chosen.candidate.attributes)
                    access.set_attr(op, WHY, reason(decision))
        decided = [(decision, counts[key]) for key, decision in known.items() if decision is not None]
        if decided:
            module.attributes[DECISIONS] = StringAttr(report(decided, card.card))


def decisions_of(module: ModuleOp) -> str:
    """What the pass has decided, as text; taken from the module. "" when it has not run."""
    found = module.attributes.pop(DECISIONS, None)
    return found.data if isinstance(found, StringAttr) else ""


def _apply(op: Operation, attributes: Any) -> None:
    for name, value in attributes.items():
        if value is None:
            op.properties.pop(name, None)
            op.attributes.pop(name, None)
        else:
            access.set_attr(op, name, value)
