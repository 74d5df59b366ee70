"""Passes and pipelines under the names of the real driver, as steps over modules."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region

from alchemist.errors import OptionError
from alchemist.ir.dialects import op_classes
from alchemist.options import CompilerOptions
from alchemist.passes import PASSES, PIPELINES, lower_to_ttnn

TARGET = "alchemist.target"
"""Module attribute set by the emit pipelines: the language that `alchemist translate` is to write."""

Step = Callable[[ModuleOp, CompilerOptions], ModuleOp]


@dataclass(frozen=True, slots=True)
class Named:
    """What a name on the command line runs: one or more steps, each with the name that `--mlir-print-ir-after-all` shows."""

    doc: str
    steps: tuple[tuple[str, Step], ...]


def _pass(name: str) -> tuple[str, Step]:
    def run(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
        PASSES[name].apply(module, options)
        return module

    return name, run


def _stablehlo_to_ttir(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    from alchemist.frontends.mlir.load import stablehlo_to_ttir

    return stablehlo_to_ttir(module)


def _lower(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    from alchemist.frontends.mlir.entries import refuse_types
    from alchemist.frontends.mlir.read import unwrap_device_module

    module = unwrap_device_module(module)
    for op in module.ops:
        if isinstance(op, FuncOp) and op.body.blocks and not any(part.name.startswith("ttnn.") for part in op.walk()):
            refuse_types(op, "")
        elif isinstance(op, ModuleOp):
            lowered = _lower(op.clone(), options)
            module.body.block.insert_op_before(lowered, op)
            module.body.block.erase_op(op)
    return lower_to_ttnn(module, options).module


def _emit(language: str) -> Step:
    def run(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
        if any(op.name.startswith("ttir.") for op in module.walk()):
            module = _lower(module, options)
        module.attributes[TARGET] = StringAttr(language)
        return module

    return run


def _wrap(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    """Puts the module into `ttcore.device_module { builtin.module { ... } }` unless it is there."""
    if any(op.name == "ttcore.device_module" for op in module.ops):
        return module
    wrapper = op_classes()["ttcore.device_module"].create(regions=[Region(Block([module]))])
    return ModuleOp([wrapper])


def _unwrap(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    """The module inside `ttcore.device_module`; the CPU module is dropped."""
    from alchemist.frontends.mlir.read import unwrap_device_module

    return unwrap_device_module(module)


def _same(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    """Programs open their own device: nothing to register."""
    return module


def _decompose_layouts(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    from alchemist.frontends.mlir.ttnn_text import complete

    complete(module)
    return module


def _mark_forward(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    for op in module.walk():
        if isinstance(op, FuncOp) and op.sym_visibility is None and op.body.blocks and "tt.function_type" not in op.attributes:
            op.attributes["tt.function_type"] = StringAttr("forward_device")
    return module


def _group(doc: str, *names: str) -> Named:
    return Named(doc, tuple(_pass(name) for name in names))


_FUSING = ("fuse-patterns", "fuse-linear", "fold-batch-norm", "fuse-split-heads", "fuse-concat-heads", "fuse-activation")
_BACKEND = Named("TTIR -> TTNN with layouts, const-eval and deallocation", (("ttir-to-ttnn-backend-pipeline", _lower),))
_STABLEHLO = Named("StableHLO and CHLO -> TTIR", (("stablehlo-to-ttir-pipeline", _stablehlo_to_ttir),))
NAMES: dict[str, Named] = {
    "stablehlo-to-ttir-pipeline": _STABLEHLO,
    "convert-stablehlo-to-ttir": _STABLEHLO,
    "ttir-to-ttnn-backend-pipeline": _BACKEND,
    "ttir-to-ttnn-runtime-pipeline": _BACKEND,
    "ttir-to-ttnn-common-pipeline": _BACKEND,
    "ttir-to-emitpy-pipeline": Named("TTIR -> TTNN for `translate --mlir-to-python`", (("ttir-to-emitpy-pipeline", _emit("python")),)),
    "ttir-to-emitc-pipeline": Named("TTIR -> TTNN for `translate --mlir-to-cpp`", (("ttir-to-emitc-pipeline", _emit("cpp")),)),
    "ttnn-common-to-emitpy-pipeline": Named("TTNN for `translate --mlir-to-python`", (("ttnn-common-to-emitpy-pipeline", _emit("python")),)),
    "ttnn-common-to-emitc-pipeline": Named("TTNN for `translate --mlir-to-cpp`", (("ttnn-common-to-emitc-pipeline", _emit("cpp")),)),
    "ttcore-wrap-device-module": Named("puts the module into ttcore.device_module", (("ttcore-wrap-device-module", _wrap),)),
    "ttcore-unwrap-device-module": Named("takes the module out of ttcore.device_module", (("ttcore-unwrap-device-module", _unwrap),)),
    "ttcore-register-device": Named("nothing: programs open their own device", (("ttcore-register-device", _same),)),
    "ttnn-decompose-layouts": Named("ttnn.to_tensor_spec in single steps, layouts where there are none", (("ttnn-decompose-layouts", _decompose_layouts),)),
    "ttcore-mark-functions-as-forward": Named("public functions get tt.function_type", (("ttcore-mark-functions-as-forward", _mark_forward),)),
    "canonicalize": _group("identities, constants, views (fold)", "fold"),
    "cse": _group("merges equal ops (fold)", "fold"),
    "inline": _group("inlines private functions (inline-calls)", "inline-calls"),
    "remove-dead-values": _group("pure ops without uses (sweep)", "sweep"),
    "symbol-dce": _group("private functions without uses (inline-calls)", "inline-calls"),
    "ttir-fusing": _group("all fusing passes on TTIR", "fuse-patterns", "canonicalize-dots", *_FUSING[1:]),
    "ttir-to-ttir-decomposition": _group("ops of training, quantisation, routing by simpler ones (expand-ops)", "expand-ops"),
    "ttir-erase-inverse-ops": _group("views that cancel each other (fold)", "fold"),
    "ttnn-common-to-runtime-pipeline": _group("deallocate", "deallocate"),
    "ttir-implicit-broadcast-fold": _group("implicit-broadcast", "implicit-broadcast"),
    "convert-ttir-to-ttnn": _group("ttir-to-ttnn", "ttir-to-ttnn"),
    "ttnn-fusing": _group("fuse-residual-norm", "fuse-residual-norm"),
    "const-eval-hoist-transform": _group("const-eval", "const-eval"),
    "ttnn-deallocate": _group("deallocate", "deallocate"),
}


def names() -> dict[str, str]:
    """Every name that `alchemist opt` runs and what it does."""
    found = {name: entry.doc for name, entry in PASSES.items()}
    found |= {name: " ".join(steps) for name, steps in PIPELINES.items()}
    return dict(sorted((found | {name: entry.doc for name, entry in NAMES.items()}).items()))


def steps(name: str) -> Iterator[tuple[str, Step]]:
    """The steps of a pass or pipeline.

    Raises:
        OptionError: no such name; near ones are listed.
    """
    if name in NAMES:
        yield from NAMES[name].steps
    elif name in PIPELINES:
        yield from (_pass(step) for step in PIPELINES[name])
    elif name in PASSES:
        yield _pass(name)
    else:
        near = difflib.get_close_matches(name, names(), n=4, cutoff=0.45)
        raise OptionError(
            f"no pass, pipeline or option {name!r}",
            expected=", ".join(near) or "one of `alchemist opt --list`",
            hint=f"did you mean --{near[0]}?" if near else "`alchemist opt --list` shows all",
        )
