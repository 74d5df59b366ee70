"""Chooses program configs, layouts and memories; inserts deallocations."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import FloatAttr, ModuleOp, StringAttr, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import OptionError
from alchemist.ir import access
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.ir.location import clone_with_places
from alchemist.ops.spec import INLINE, WHY
from alchemist.optimizer.machine import Machine, machine
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, register
from alchemist.progress import Progress

# --- Program configs, memory and layouts by simulated time. ---

if TYPE_CHECKING:
    from alchemist.optimizer.finalists import Finalist
    from alchemist.optimizer.level2 import Placed

DECISIONS = "alchemist.decisions"
GAIN = "alchemist.gain"
MANY_OPS = 500
"""Ops of a function from which on a user should know that levels 1 and 2 take long."""


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
        card = machine(self.options.card, module)
        small = l1_small_bytes(module)
        for name in [func.sym_name.data for func in functions(module) if not is_const_eval(func)]:
            if report := self._best(module, name, card, small):
                module.attributes[DECISIONS] = StringAttr(report)

    def _best(self, module: ModuleOp, name: str, card: Machine, l1_small: int) -> str:
        """Replaces the function by the candidate whose finished program is the fastest that the library accepts; returns the decisions, "" for none."""
        from alchemist.optimizer.finalists import Finalist, best_of, timed
        from alchemist.optimizer.overrides import given

        func = _function(module, name)
        forced = given(self.options)
        must_gain = self.options.layout_policy == "time" and not forced
        say = Progress().say
        if (ops := sum(1 for _ in func.body.block.ops)) >= MANY_OPS:
            say(f"choosing memory and configs for {ops} ops takes a while; optimization_level 0 is faster to export", always=True)
        images = self._with_images_in_l1(module, name, l1_small)
        level_0 = timed(func if images is None else _function(images, name), card, l1_small)
        placed = self._placed(module, name, card, l1_small, say, may_rewrite=must_gain)
        dropped: list[str] = []
        each_op = Finalist("each op on its own", level_0.ns or math.inf, partial(self._level_1, card=card, l1_small=l1_small))
        for finalists in (placed, [] if forced else [each_op]):
            won, reasons = best_of(module, name, finalists, level_0, card, l1_small, must_gain=must_gain, say=say)
            dropped += reasons
            if won is not None:
                _become(module, won.module)
                if must_gain and level_0.ns is not None:
                    module.attributes[GAIN] = FloatAttr(level_0.ns / won.ns if won.ns else math.inf, f64)
                return won.text + "".join(f"{line}\n" for line in dropped)
        if forced:
            raise OptionError(
                "the library refuses the program with these overrides", expected="layouts that it takes", got="; ".join(dropped), hint="leave one out"
            )
        if images is not None:
            _become(module, images)
        module.attributes[GAIN] = FloatAttr(1.0, f64)
        return "\n".join(("Level 0 stays: nothing else is faster and accepted.", *dropped, "")) if dropped else ""

    def _with_images_in_l1(self, module: ModuleOp, name: str, l1_small: int) -> ModuleOp | None:
        """The module with level 0's images in L1; None if that changes nothing."""
        from alchemist.optimizer.images import PASS, leave_images_in_l1

        if PASS in self.options.disable or not self.options.enable_fusing or not any(has_trait(op, "convolution2d") for op in module.walk()):
            return None
        candidate = clone_with_places(module)
        leave_images_in_l1(_function(candidate, name), l1_small)
        return candidate

    def _placed(self, module: ModuleOp, name: str, card: Machine, l1_small: int, say: Callable[[str], None], may_rewrite: bool) -> list[Finalist]:
        """Plans of the function, its very wide products in parts and biases behind streamed products, and at level 2 of that one with exact GELUs as
        products with the error function."""
        from alchemist.optimizer.activations import exact_gelus, split_gelus
        from alchemist.optimizer.biased_streams import biased_streams, split_bias
        from alchemist.optimizer.finalists import placed_finalist
        from alchemist.optimizer.wide_products import split_product, wide_products

        def in_parts(func: FuncOp) -> None:
            for op, parts in wide_products(func, card, self.options.tensor_l1_usage_cap):
                split_product(op, parts)
            for op in biased_streams(func, card, self.options.tensor_l1_usage_cap):
                split_bias(op)

        def in_parts_without_gelus(func: FuncOp) -> None:
            in_parts(func)
            split_gelus(func)

        func = _function(module, name)
        if not may_rewrite:  # overrides are written into the function itself
            return [placed_finalist(placed, card, plan) for plan, placed in self._plans(func, card, l1_small, say)]
        cap = self.options.tensor_l1_usage_cap
        is_changed = bool(wide_products(func, card, cap) or biased_streams(func, card, cap))
        candidates: list[Finalist] = []

        def plan(called: str, rewrite: Callable[[FuncOp], None]) -> None:
            tried = func
            if is_changed or rewrite is not in_parts:
                tried = _function(clone_with_places(module), name)
                rewrite(tried)
            for plan, placed in self._plans(tried, card, l1_small, lambda text: say(f"{called}: {text}" if called else text)):
                candidates.append(placed_finalist(placed, card, f"{plan} with {called}" if called else plan, rewrite))

        plan("", in_parts)
        if self.options.optimization_level > 1 and any(True for _ in exact_gelus(func)):
            plan("GELU by its error function", in_parts_without_gelus)
        return sorted(candidates, key=lambda finalist: finalist.planned_ns)

    def _level_1(self, func: FuncOp, card: Machine, l1_small: int) -> str:
        from alchemist.optimizer.choose import Decision, choose, key_of, reason
        from alchemist.optimizer.decisions import report

        cache: dict[Any, Decision | None] = {}
        counts: dict[Any, int] = {}
        for op in list(func.body.block.ops):
            key = key_of(op)
            if key not in cache:
                cache[key] = choose(op, card, self.options.tensor_l1_usage_cap, l1_small)
            counts[key] = counts.get(key, 0) + 1
            decision = cache[key]
            if decision is not None and decision.chosen is not decision.safe:
                access.set_attrs(op, decision.chosen.candidate.attributes)
                access.set_attr(op, WHY, reason(decision))
        decided = [(decision, counts[key]) for key, decision in cache.items() if decision is not None]
        return report(decided, card.card) if decided else ""

    def _plans(self, func: FuncOp, card: Machine, l1_small: int, say: Callable[[str], None]) -> list[tuple[str, Placed]]:
        """Plans over the whole function with their names, fastest first; none at level 1 if no op of the function can use shards."""
        from alchemist.optimizer.level2 import plans
        from alchemist.optimizer.overrides import given
        from alchemist.optimizer.search import Policy
        from alchemist.optimizer.stream import may_stream

        level = self.options.optimization_level
        if level < 2 and not given(self.options) and not any(has_trait(op, "window") or may_stream(op) for op in func.body.block.ops):
            return []
        policy: Policy = "lexicographic" if self.options.layout_policy == "lexicographic" else "time"
        candidates = plans(func, card, self.options.tensor_l1_usage_cap, l1_small, level, policy, say, self.options)
        return [(f"the plan of {plan.ns / 1000:.1f} us", plan) for plan in candidates]


def _function(module: ModuleOp, name: str) -> FuncOp:
    (func,) = (func for func in functions(module) if func.sym_name.data == name)
    return func


def _become(module: ModuleOp, other: ModuleOp) -> None:
    """Replaces the content of `module` by that of the other."""
    module.detach_region(module.body)
    module.add_region(other.detach_region(other.body))


def l1_small_bytes(module: ModuleOp) -> int:
    """Size of the L1_SMALL region that the program opens the device with: sliding windows need one."""
    from alchemist.passes.lower.convolution import L1_SMALL_BYTES

    is_needed = any(has_trait(op, "needs_l1_small") for func in functions(module) for op in func.body.block.ops)
    return L1_SMALL_BYTES if is_needed else 0


def decisions_of(module: ModuleOp) -> str:
    """The decisions of the pass as text, removed from the module; "" if it has not run."""
    decisions = module.attributes.pop(DECISIONS, None)
    return decisions.data if isinstance(decisions, StringAttr) else ""


def gain_of(module: ModuleOp) -> float | None:
    """The speed-up that the pass predicts, removed from the module; None if it has not run or followed overrides."""
    gain = module.attributes.pop(GAIN, None)
    return float(gain.value.data) if isinstance(gain, FloatAttr) else None


# --- Inserts `ttnn.deallocate` after the last use of every intermediate tensor. ---

DEALLOCATE = "ttnn.deallocate"


def last_uses(func: FuncOp) -> dict[Operation, list[SSAValue]]:
    """op -> tensors whose last use it is. Arguments, prepared weights and results are excluded.

    A view counts as a separate tensor: with `force = false` the buffer lives until the last tensor that shares it is deallocated.
    """
    last: dict[SSAValue, Operation] = {}
    for op in func.body.block.ops:
        for value in op.operands:
            if value in last:
                last[value] = op
        if op.name != "ttcore.load_cached" and INLINE not in op.attributes:
            last.update((result, op) for result in op.results if layout_of(result.type) is not None)
    last_uses_of: dict[Operation, list[SSAValue]] = {}
    for value, op in last.items():
        if not any(isinstance(use.operation, ReturnOp) for use in value.uses):
            last_uses_of.setdefault(op, []).append(value)
    return last_uses_of


def frees(func: FuncOp) -> bool:
    """Whether the function has deallocations already; its order is then kept, too."""
    return any(op.name == DEALLOCATE for op in func.body.block.ops)


@register("deallocate")
class Deallocate(Pass):
    """Frees every intermediate tensor behind its last use; weights, arguments and results stay, and so do functions that free already."""

    enable_dealloc: bool = True

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            if self.enable_dealloc and not is_const_eval(func) and not frees(func):
                for op, values in last_uses(func).items():
                    b = Builder.after(op)
                    for value in values:
                        b.make(DEALLOCATE, [value], {"force": False}, [])
