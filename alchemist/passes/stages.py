"""The stages from TTIR to TTNN in order: the passes that make each, and the normal form that it promises.

`alchemist opt --print-stages` shows them; `alchemist opt FILE --stop-after=STAGE` prints the module behind one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation

from alchemist.errors import InternalError, OptionError, quoted
from alchemist.ir import access
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.ir.location import place_of
from alchemist.ir.op_class import has_trait
from alchemist.options import CompilerOptions
from alchemist.passes.const_eval import INLINE_LIMIT
from alchemist.passes.optimize import DEALLOCATE, l1_small_bytes, last_uses
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
        ("fuse-patterns", "turned-products", "fuse-attention", "merge-reductions", "sums-of-rows", "plain-indices", "kept-dims", "cut-residuals"),
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
    Stage("reassociate", ("residuals-last", "gradient-algebra", "batches-as-rows"), "arithmetic of a module and its gradient is in its shortest form"),
    Stage("fuse-activations", ("fuse-activation", "groups-in-parts"), "an activation of one use belongs to the op before it"),
    Stage("minimize-moves", ("fold", "fewer-moves", "position-tables"), "two neighbouring moves are the fewest that do their work"),
)
LOWERING = Stage("lower", ("ttir-to-ttnn",), "every op is a call of the library, every tensor has a layout", _without_layout, kept=True)
_SCHEDULE = Stage("schedule", ("fuse-roll", "order-joined", "order-by-module", "order-updates"), "the ops of a module call stand together")
MEMORY = Stage("bufferize", ("optimize",), "memories and program configs are chosen, and the library takes every call", _refused)
_LIFETIMES = Stage("deallocate", ("deallocate",), "each intermediate tensor is freed behind its last use", _kept_tensors)
TTNN_STAGES = (
    Stage("dce", ("sweep",), "no pure op is unused", _unused),
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
