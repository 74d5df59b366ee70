"""The stages from TTIR to TTNN in order: the passes that make each, and the normal form that it promises. `lower_to_ttnn` runs them.

`alchemist opt --print-stages` shows them; `alchemist opt FILE --stop-after=STAGE` prints the module behind one.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation

from alchemist.errors import InternalError, OptionError, quoted
from alchemist.ir import access
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.ir.location import clone_with_places, place_of
from alchemist.ir.op_class import has_trait
from alchemist.options import CompilerOptions
from alchemist.passes import lower
from alchemist.passes.const_eval import INLINE_LIMIT, lifted
from alchemist.passes.optimize import DEALLOCATE, decisions_of, frees, gain_of, l1_small_bytes, last_uses
from alchemist.passes.registry import configure

Broken = Callable[[ModuleOp, CompilerOptions], Iterator[Operation]]


@dataclass(frozen=True, slots=True)
class Stage:
    """passes: names, in order. promise: the property of a module after the stage, one line. broken: finds the ops that violate the promise; without it
    the promise is that running the passes again changes nothing. kept: whether later stages of the same dialect keep the promise."""

    name: str
    passes: tuple[str, ...]
    promise: str
    broken: Broken | None = None
    kept: bool = False

    def run(self, module: ModuleOp, options: CompilerOptions) -> None:
        """Changes the module. Raises: UserError for what a pass cannot handle."""
        for step in configure(self.passes, options):
            step.run(module)

    def check(self, module: ModuleOp, options: CompilerOptions) -> None:
        """Raises: InternalError if the module violates the promise."""
        for op in self.broken(module, options) if self.broken else ():
            raise InternalError(f"stage {self.name}: a module breaks its promise", op=op.name, location=place_of(op), expected=self.promise)


def _ops(module: ModuleOp) -> Iterator[Operation]:
    return (op for func in functions(module) for op in func.body.block.ops)


def _called(module: ModuleOp, options: CompilerOptions) -> Iterator[Operation]:
    return (op for op in _ops(module) if isinstance(op, CallOp))


def _without_layout(module: ModuleOp, options: CompilerOptions) -> Iterator[Operation]:
    for op in _ops(module):
        if op.name.startswith("ttir.") or any(isinstance(value.type, TensorType) and layout_of(value.type) is None for value in op.operands):
            yield op


def _unused(module: ModuleOp, options: CompilerOptions) -> Iterator[Operation]:
    return (op for op in _ops(module) if has_trait(op, "pure") and not any(True for value in op.results for _ in value.uses))


def _large_constants(module: ModuleOp, options: CompilerOptions) -> Iterator[Operation]:
    for func in functions(module, const_eval=False):
        for op in func.body.block.ops:
            if op.name == "ttnn.constant" and int(np.prod(access.shape(op.results[0]), dtype=np.int64)) > INLINE_LIMIT:
                yield op


def _refused(module: ModuleOp, options: CompilerOptions) -> Iterator[Operation]:
    from alchemist.optimizer.finalists import timed
    from alchemist.optimizer.machine import machine

    small = l1_small_bytes(module)
    return (func for func in functions(module, const_eval=False) if timed(func, machine(options.card, module), small).ns is None)


def _kept_tensors(module: ModuleOp, options: CompilerOptions) -> Iterator[Operation]:
    for func in functions(module):
        if not is_const_eval(func):
            freed = {op.operands[0] for op in func.body.block.ops if op.name == DEALLOCATE}
            ends = last_uses(func).items() if options.enable_dealloc else ()
            yield from (op for op, values in ends if op.name != DEALLOCATE and any(value not in freed for value in values))


TTIR_STAGES = (
    Stage("inline", ("inline-calls",), "one function for each entry: nothing calls a function of the module", _called, kept=True),
    Stage("legalize-types", ("narrow-floats",), "floats have the type that `precision` asks for"),
    Stage("decompose", ("expand-ops", "keep-rank"), "ops of training, quantisation and routing are simpler ones; reshapes stand around no product"),
    Stage(
        "canonicalize",
        (
            "known-signs",
            "fold",
            "implicit-broadcast",
            "drop-unit-dims",
            "fold",
        ),
        "no identities, equal ops or constants to compute; views in one form; elementwise ops broadcast by themselves",
    ),
    Stage(
        "fuse",
        (
            "fuse-patterns",
            "turned-products",
            "fuse-attention",
            "merge-reductions",
            "plain-indices",
            "dense-experts",
            "kept-dims",
            "cut-residuals",
        ),
        "activations, norms, softmax and attention are one op each; no reduction of a reduction",
    ),
    Stage(
        "products",
        ("canonicalize-dots", "turned-products", "resize-by-product", "share-weights", "fuse-linear", "products-of-steps", "whole-before-parts"),
        "products are matmul or linear; a bias is an operand; a shared weight is read once",
    ),
    Stage(
        "convolutions",
        ("fold-padding", "fold-batch-norm", "order-in-weights", "decompose-conv", "conv1d-channels-last"),
        "paddings, batch norms and factors are in the convolution; each has two dims of pixels",
    ),
    Stage(
        "attention",
        (
            "group-attention-heads",
            "update-caches",
            "decode-attention",
            "fold-attention-scale",
            "merge-factors",
            "project-heads",
            "scale-queries",
            "fuse-concat-heads",
        ),
        "heads of one tensor come of one projection; caches are written in place; scales are in the attention",
    ),
    Stage(
        "commute-moves",
        ("undo-rows", "heads-of-rows", "users-as-rows", "shared-factors", "turned-operands"),
        "ops work on rows in the order in which they are stored",
    ),
    Stage(
        "reassociate",
        ("residuals-last", "constants-last", "gradient-algebra", "batches-as-rows"),
        "arithmetic of a module and its gradient is in its shortest form",
    ),
    Stage("fuse-activations", ("fuse-activation", "groups-in-parts"), "an activation of one use belongs to the op before it"),
    Stage("minimize-moves", ("fold", "fewer-moves", "position-tables"), "two neighbouring moves are the fewest that do their work"),
)
LOWERING = Stage("lower", ("ttir-to-ttnn",), "every op is a call of the library, every tensor has a layout", _without_layout, kept=True)
_SCHEDULE = Stage("schedule", ("fuse-roll", "fuse-centred", "order-joined", "order-by-module", "order-updates"), "the ops of a module call stand together")
MEMORY = Stage("bufferize", ("optimize",), "memories and program configs are chosen, and the library takes every call", _refused)
_LIFETIMES = Stage("deallocate", ("deallocate",), "each intermediate tensor is freed behind its last use", _kept_tensors)
TTNN_STAGES = (
    Stage("dce", ("free-views", "sweep"), "no pure op is unused", _unused),
    Stage("fold-casts", ("float32-sums", "fold-typecasts", "cast-in-product"), "casts that cancel out are gone; products write the type that is read"),
    Stage("rotary", ("heads-in-halves", "rotate-whole-heads", "fuse-rotary", "cast-before-rotation"), "a rotary embedding is one program"),
    Stage(
        "fuse-programs",
        ("columns-by-product", "fuse-piecewise", "fuse-operand-activation", "fuse-residual-norm"),
        "piecewise functions, activations of operands and residual norms are one program each",
    ),
    Stage("pad-tiles", ("rows-in-front", "whole-tiles", "returned-rows"), "rows and channels fill whole tiles where that is faster"),
    Stage("narrow", ("narrow-products", "narrow-caches"), "weights and caches have the block format that `precision` asks for"),
    Stage("join-heads", ("join-attention-heads",), "attention writes its heads joined where one program does both"),
    Stage("layout-moves", ("turned-moves", "moves-in-rows"), "moves of data work in tiles or on rows, as the clock says"),
    Stage("fuse-chains", ("fuse-addcmul", "fuse-unary-chain"), "a chain of functions of elements is one program"),
    Stage("place-conversions", ("place-conversions",), "a conversion that several modules read stands behind its maker"),
    Stage("lift-constants", ("lift-constants",), "constants of more than 16 elements are arguments", _large_constants, kept=True),
    Stage("const-eval", ("const-eval", "twin-views"), "what depends on parameters alone is computed once, in functions of its own"),
    _SCHEDULE,
    Stage("images", ("images-in-l1",), "the result that a convolution reads is in L1 where that is faster"),
    MEMORY,
    _LIFETIMES,
)
ORDER_STAGES = (_SCHEDULE, MEMORY, _LIFETIMES)
"""The stages for a text in the ttnn dialect."""
STAGES = (*TTIR_STAGES, LOWERING, *TTNN_STAGES)


def passes_of(stages: tuple[Stage, ...]) -> tuple[str, ...]:
    """The passes of the stages, in order."""
    return tuple(name for stage in stages for name in stage.passes)


PIPELINES: dict[str, tuple[str, ...]] = {
    "ttir-passes": passes_of(TTIR_STAGES),
    "ttnn-passes": passes_of(TTNN_STAGES),
    "ttir-to-ttnn-backend-pipeline": passes_of(STAGES),
}


def stages_until(name: str) -> tuple[Stage, ...]:
    """All stages up to the one of this name. Raises: OptionError for an unknown name."""
    names = [stage.name for stage in STAGES]
    if name not in names:
        near = difflib.get_close_matches(name, names, n=3) or names
        raise OptionError(f"no stage {quoted(name)}", expected=", ".join(near), hint="`alchemist opt --print-stages` shows all")
    return STAGES[: names.index(name) + 1]


def described() -> str:
    """One line for each stage with its name and promise, followed by its passes."""
    return "\n".join(f"{number:2}  {stage.name:18}{stage.promise}\n{'':22}{' '.join(stage.passes)}" for number, stage in enumerate(STAGES, 1))


# --- The whole way from TTIR to TTNN ---

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
    return any(layout_of(arg.type) is None for func in functions(module) for arg in func.args)
