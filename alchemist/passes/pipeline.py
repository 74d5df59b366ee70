"""Lowers TTIR to TTNN, stage by stage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from alchemist.ir.edit import functions
from alchemist.ir.location import clone_with_places
from alchemist.options import CompilerOptions
from alchemist.passes import lower
from alchemist.passes.const_eval import lifted
from alchemist.passes.optimize import decisions_of, frees, gain_of, l1_small_bytes
from alchemist.passes.stages import MEMORY, ORDER_STAGES, TTIR_STAGES, TTNN_STAGES, Stage

SKIP_LEVEL0_COMPARISON_ABOVE = 1.1
"""If the optimizer predicts more than this speed-up, `lower_to_ttnn` does not also compile level 0 for comparison."""


@dataclass(slots=True)
class Lowered:
    """module: in the ttnn dialect, with `@forward` and private `@const_eval_<n>`. constants: values of the `@forward`
    arguments that lowering added, by name. l1_small_bytes: L1_SMALL region that sliding-window ops need, 0 without any. decisions: what the
    optimizer chose and why, as text; "" at level 0."""

    module: ModuleOp
    constants: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    l1_small_bytes: int = 0
    decisions: str = ""


def lower_to_ttnn(module: ModuleOp, options: CompilerOptions | None = None) -> Lowered:
    """TTIR (or TTNN text, which only passes through) -> TTNN. The given module is left as it is.

    Raises:
        UnsupportedOpError: ops without a TTNN form. LoweringError: an op that cannot be lowered as it stands.
    """
    options = options or CompilerOptions()
    lowered, gain = _lowered(module, options)
    if gain is None or gain > SKIP_LEVEL0_COMPARISON_ABOVE:
        return lowered
    level_0, _ = _lowered(module, replace(options, optimization_level=0))
    times_ns = [device_ns(module, options) for module in (level_0, lowered)]
    if times_ns[0] >= times_ns[1]:
        return lowered
    message = f"Level 0 stays: with what levels 1 and 2 rewrite the program takes {times_ns[1] / 1000:.1f} us, without {times_ns[0] / 1000:.1f}.\n"
    return replace(level_0, decisions=message + lowered.decisions)


def device_ns(lowered: Lowered, options: CompilerOptions) -> float:
    """Time of all functions in ns, with the deallocations of the emitted program; infinite for a program that the library rejects."""
    from alchemist.optimizer.finalists import timed
    from alchemist.optimizer.machine import machine

    times = [timed(func, machine(options.card, lowered.module), lowered.l1_small_bytes).ns for func in functions(lowered.module, const_eval=False)]
    return sum(math.inf if ns is None else ns for ns in times)


def _lowered(module: ModuleOp, options: CompilerOptions) -> tuple[Lowered, float | None]:
    """The module at the options' level, and the speed-up that its optimizer predicts."""
    module = clone_with_places(module)
    if not any(op.name.startswith("ttir.") for func in functions(module) for op in func.body.block.ops):
        if not _needs_lowering(module):
            if not any(frees(func) for func in functions(module)):
                _run(ORDER_STAGES, module, options)
            return Lowered(module, {}, l1_small_bytes(module), decisions_of(module)), None
    _run(TTIR_STAGES, module, options)
    small = lower.lower_module(module, options)
    _run(TTNN_STAGES, module, options)
    gain = gain_of(module)
    return Lowered(module, lifted(module), small, decisions_of(module)), gain


def _run(stages: Sequence[Stage], module: ModuleOp, options: CompilerOptions) -> None:
    """Where modules are kept, each is checked to be as its stage promises; but not by the clock, which takes as long as the stage."""
    for stage in stages:
        stage.run(module, options)
        if options.dump_irs and stage is not MEMORY:
            stage.check(module, options)


def _needs_lowering(module: ModuleOp) -> bool:
    from alchemist.ir.layout import layout_of

    return any(layout_of(arg.type) is None for func in functions(module) for arg in func.args)
