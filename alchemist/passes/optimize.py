"""Program configs, memory and layouts by simulated time."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from alchemist.errors import OptionError
from alchemist.ir import access
from alchemist.ops.spec import WHY
from alchemist.optimizer.machine import Machine, machine
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, functions, is_const_eval, register
from alchemist.progress import Progress

DECISIONS = "alchemist.decisions"


@register("optimize")
class Optimize(Pass):
    """Chooses program configs, memory and layouts by simulated time (optimization_level 1 and 2)."""

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        from alchemist.optimizer.overrides import given

        if not self.options.optimization_level:
            if given(self.options):
                raise OptionError(
                    "overrides without an optimization level",
                    expected="optimization_level 1 or 2",
                    got="optimization_level=0",
                    hint="overrides change what the optimizer chooses; level 0 leaves everything to the library",
                )
            return
        from alchemist.optimizer.placement import WINDOWS

        card = machine(self.options.card)
        small = l1_small_bytes(module)
        for func in functions(module):
            if not is_const_eval(func):
                windows = given(self.options) or any(op.name in WINDOWS for op in func.body.block.ops)
                report = self._placed(func, card, small) if self.options.optimization_level >= 2 or windows else ""
                report = report or self._level_1(func, card, small)
                if report:
                    module.attributes[DECISIONS] = StringAttr(report)

    def _level_1(self, func: FuncOp, card: Machine, l1_small: int) -> str:
        from alchemist.optimizer.apply import set_attributes
        from alchemist.optimizer.choose import Decision, choose, key_of, reason
        from alchemist.optimizer.decisions import report

        known: dict[Any, Decision | None] = {}
        counts: dict[Any, int] = {}
        for op in list(func.body.block.ops):
            key = key_of(op)
            if key not in known:
                known[key] = choose(op, card, self.options.tensor_l1_usage_cap, l1_small)
            counts[key] = counts.get(key, 0) + 1
            decision = known[key]
            if decision is not None and decision.chosen is not decision.safe:
                set_attributes(op, decision.chosen.candidate.attributes)
                access.set_attr(op, WHY, reason(decision))
        decided = [(decision, counts[key]) for key, decision in known.items() if decision is not None]
        return report(decided, card.card) if decided else ""

    def _placed(self, func: FuncOp, card: Machine, l1_small: int) -> str:
        """ "" when no plan is faster than level 0."""
        from alchemist.optimizer.apply import apply
        from alchemist.optimizer.decisions import placed_reason, placed_report
        from alchemist.optimizer.level2 import place
        from alchemist.optimizer.search import Policy

        policy: Policy = "lexicographic" if self.options.layout_policy == "lexicographic" else "time"
        say = Progress().say
        placed = place(func, card, self.options.tensor_l1_usage_cap, l1_small, self.options.optimization_level, policy, say, self.options)
        if placed is None:
            return ""
        for number, step in enumerate(placed.graph.steps):
            if why := placed_reason(placed, number):
                access.set_attr(step.op, WHY, why)
        text = placed_report(placed, card.card)
        apply(placed)
        return text


def l1_small_bytes(module: ModuleOp) -> int:
    """What the program opens the device with: sliding windows need a region."""
    from alchemist.passes.lower.convolution import L1_SMALL_BYTES

    names = ("ttnn.conv", "ttnn.max_pool2d", "ttnn.avg_pool2d", "ttnn.upsample")
    found = any(op.name.startswith(names) for func in functions(module) for op in func.body.block.ops)
    return L1_SMALL_BYTES if found else 0


def decisions_of(module: ModuleOp) -> str:
    """What the pass has decided, as text; taken from the module. "" when it has not run."""
    found = module.attributes.pop(DECISIONS, None)
    return found.data if isinstance(found, StringAttr) else ""
