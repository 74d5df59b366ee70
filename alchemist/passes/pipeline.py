"""The order of passes, and the whole way from TTIR to TTNN."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
from alchemist.passes.registry import configure

TTIR_PIPELINE = (
    "inline-calls",
    "narrow-floats",
    "expand-ops",
    "keep-rank",
    "known-signs",
    "fold",
    "implicit-broadcast",
    "drop-unit-dims",
    "fold",
    "fuse-patterns",
    "turned-products",
    "fuse-attention",
    "merge-reductions",
    "sums-of-rows",
    "plain-indices",
    "kept-dims",
    "canonicalize-dots",
    "turned-products",
    "resize-by-product",
    "share-weights",
    "fuse-linear",
    "products-of-steps",
    "whole-before-parts",
    "fold-padding",
    "fold-batch-norm",
    "order-in-weights",
    "decompose-conv",
    "conv1d-channels-last",
    "group-attention-heads",
    "update-caches",
    "decode-attention",
    "fold-attention-scale",
    "project-heads",
    "scale-queries",
    "fuse-concat-heads",
    "undo-rows",
    "heads-of-rows",
    "users-as-rows",
    "shared-factors",
    "turned-operands",
    "residuals-last",
    "gradient-algebra",
    "batches-as-rows",
    "fuse-activation",
    "groups-in-parts",
    "fold",
    "fewer-moves",
    "position-tables",
)
_ORDER, _PLACES = ("fuse-roll", "order-joined", "order-by-module", "order-updates"), ("optimize", "deallocate")
ORDER_PIPELINE = (*_ORDER, *_PLACES)
"""What decides the statements of the program, their order and lifetimes."""
TTNN_PIPELINE = (
    "sweep",
    "float32-sums",
    "fold-typecasts",
    "cast-in-product",
    "heads-in-halves",
    "rotate-whole-heads",
    "fuse-rotary",
    "cast-before-rotation",
    "columns-by-product",
    "fuse-piecewise",
    "fuse-operand-activation",
    "fuse-residual-norm",
    "rows-in-front",
    "whole-tiles",
    "returned-rows",
    "narrow-products",
    "narrow-caches",
    "join-attention-heads",
    "turned-moves",
    "moves-in-rows",
    "fuse-addcmul",
    "fuse-unary-chain",
    "place-conversions",
    "lift-constants",
    "const-eval",
    "twin-views",
    *_ORDER,
    "images-in-l1",
    *_PLACES,
)
PIPELINES: dict[str, tuple[str, ...]] = {
    "ttir-passes": TTIR_PIPELINE,
    "ttnn-passes": TTNN_PIPELINE,
    "ttir-to-ttnn-backend-pipeline": (*TTIR_PIPELINE, "ttir-to-ttnn", *TTNN_PIPELINE),
}


SURE_GAIN = 1.1
"""What the passes of levels 1 and 2 rewrite by estimates of their own never costs as much as the optimizer gains from here on."""


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
    if gain is None or gain > SURE_GAIN:
        return lowered
    level_0, _ = _lowered(module, replace(options, optimization_level=0))
    times_ns = [device_ns(each, options) for each in (level_0, lowered)]
    if times_ns[0] >= times_ns[1]:
        return lowered
    said = f"Level 0 stays: with what levels 1 and 2 rewrite the program takes {times_ns[1] / 1000:.1f} us, without {times_ns[0] / 1000:.1f}.\n"
    return replace(level_0, decisions=said + lowered.decisions)


def device_ns(lowered: Lowered, options: CompilerOptions) -> float:
    """Of all functions, as the emitted program runs them; infinite for a program that the library refuses."""
    from alchemist.optimizer.finalists import timed
    from alchemist.optimizer.machine import machine

    times = [timed(func, machine(options.card), lowered.l1_small_bytes).ns for func in functions(lowered.module, const_eval=False)]
    return sum(math.inf if ns is None else ns for ns in times)


def _lowered(module: ModuleOp, options: CompilerOptions) -> tuple[Lowered, float | None]:
    """The module at the level of the options, and what its optimizer says that it gained."""
    module = clone_with_places(module)
    if not any(op.name.startswith("ttir.") for func in functions(module) for op in func.body.block.ops):
        if not _needs_lowering(module):
            if not any(frees(func) for func in functions(module)):
                for step in configure(ORDER_PIPELINE, options):
                    step.run(module)
            return Lowered(module, {}, l1_small_bytes(module), decisions_of(module)), None
    for step in configure(TTIR_PIPELINE, options):
        step.run(module)
    small = lower.lower_module(module, options)
    constants: dict[str, np.ndarray[Any, Any]] = {}
    for step in configure(TTNN_PIPELINE, options):
        step.run(module)
        if step.name == "lift-constants":
            constants = lifted(module)
    gain = gain_of(module)
    return Lowered(module, constants, small, decisions_of(module)), gain


def _needs_lowering(module: ModuleOp) -> bool:
    from alchemist.ir.layout import layout_of

    return any(layout_of(arg.type) is None for func in functions(module) for arg in func.args)
