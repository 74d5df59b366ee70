"""Passes and pipelines under the names of the real driver, as steps over modules."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Region

from alchemist.errors import OptionError
from alchemist.frontends.mlir.entries import state_mesh
from alchemist.ir.attribute_classes import enum
from alchemist.ir.attributes import OpaqueAttr
from alchemist.ir.dialects import named, op_classes
from alchemist.ir.location import place_of
from alchemist.ir.printer import attribute_text
from alchemist.options import CompilerOptions, described, pairs, values_of
from alchemist.passes import PASSES, PIPELINES, Pass, configure, lower_to_ttnn
from alchemist.passes.lower.configs import weight_dtype_of
from alchemist.passes.stages import Stage, stages_until
from alchemist.toolchain.descriptors import system_of
from alchemist.toolchain.tosa import tosa_to_ttir

TARGET = "alchemist.target"
"""Module attribute set by the emit pipelines: the language that `alchemist translate` is to write."""

_PRODUCTS = named("ttir", "product") | {"ttir.sparse_matmul"}

Transform = Callable[[ModuleOp, CompilerOptions], ModuleOp]


@dataclass(frozen=True, slots=True)
class Named:
    """The passes or pipeline behind a name of the real driver: our passes in order, or one step that is not a pass."""

    doc: str
    passes: tuple[str, ...] = ()
    transform: Transform | None = None
    spelled: tuple[tuple[str, str], ...] = ()
    """Its options under other names than ours: (its name, ours)."""
    takes_kinds: bool = False
    """Whether `argument-types` is an option."""


@dataclass(frozen=True, slots=True)
class Step:
    """label: the text that `--mlir-print-ir-after-all` prints."""

    label: str
    run: Callable[[ModuleOp], ModuleOp]


def _stablehlo_to_ttir(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    from alchemist.frontends.mlir.load import stablehlo_to_ttir

    return stablehlo_to_ttir(module)


def _arguments(function: FuncOp) -> list[dict[str, Attribute]]:
    """The attributes of each argument in the text."""
    attributes = function.properties.get("arg_attrs")
    return [dict(part.data) for part in attributes.data] if isinstance(attributes, ArrayAttr) else [{} for _ in function.function_type.inputs]


def _prepared(module: ModuleOp) -> ModuleOp:
    """The module as the first stage takes it: of one dialect, its arguments described."""
    from alchemist.frontends.mlir.entries import refuse_types
    from alchemist.frontends.mlir.read import unwrap_device_module
    from alchemist.frontends.mlir.values import is_prepared

    module = tosa_to_ttir(unwrap_device_module(module))
    for op in module.ops:
        if isinstance(op, FuncOp) and op.body.blocks and not any(part.name.startswith("ttnn.") for part in op.walk()):
            refuse_types(op, "")
            parameter = {"ttcore.argument_type": enum("ttcore.argument_type", "parameter")}
            facts = [(parameter if is_prepared(value) else {}) | declared for value, declared in zip(op.args, _arguments(op), strict=True)]
            if any(facts):
                op.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(row) for row in facts])
    return module


def _lower(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    module = _prepared(module)
    state_mesh(module, options.mesh_shape)
    for op in module.ops:
        if isinstance(op, ModuleOp):
            lowered = _lower(op.clone(), options)
            module.body.block.insert_op_before(lowered, op)
            module.body.block.erase_op(op)
    return lower_to_ttnn(module, options).module


def _emit(language: str) -> Transform:
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
    """Programs open their own device: nothing to register but the mesh."""
    state_mesh(module, options.mesh_shape)
    return module


def _load_descriptor(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    """The descriptor of the card as the module's attribute, from which later steps take the card."""
    chip = system_of(options.card)["chip_descs"][0]
    grid, keys = chip["grid_size"], ("l1_size", "num_dram_channels", "dram_channel_size")
    chips = len(system_of(options.card)["chip_descs"])
    body = f"arch = <{options.architecture}>, grid = {grid[0]}x{grid[1]}, " + ", ".join(f"{name} = {chip[name]}" for name in keys)
    indices, coords = ", ".join(map(str, range(chips))), ", ".join([" 0x0x0x0"] * chips)
    host = '[{role = host, target_triple = "x86_64-pc-linux"}]'
    capabilities = ", ".join(["1 : i32", "0 : i32"][:chips])
    described = ", ".join([f"{{{body}}}"] * chips)
    text = f"<{host}, [{described}], [{indices}], [{capabilities}], [{coords}]>"
    module.attributes["ttcore.system_desc"] = OpaqueAttr(("#ttcore.system_desc", text))
    return module


def _propagate_weight_dtype(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    """Writes the block format of their weight on products; convert-ttir-to-ttnn reads it at the argument by the same rule."""
    for func in (op for op in module.walk() if isinstance(op, FuncOp)):
        for op in func.walk():
            if op.name in _PRODUCTS and (dtype := weight_dtype_of(options, func, op.operands[1])) is not None:
                op.attributes["ttcore.weight_dtype"] = StringAttr(dtype)
    return module


def _decompose_layouts(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    from alchemist.frontends.mlir.ttnn_text import complete

    complete(module)
    return module


def _raise_to_ttir(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    from alchemist.driver.ttnn_to_ttir import convert

    return convert(module)


def _mark_forward(module: ModuleOp, options: CompilerOptions) -> ModuleOp:
    for op in module.walk():
        if isinstance(op, FuncOp) and op.sym_visibility is None and op.body.blocks and "tt.function_type" not in op.attributes:
            op.attributes["tt.function_type"] = StringAttr("forward_device")
    return module


def _populate(text: str, module: ModuleOp) -> ModuleOp:
    """`argument-types=forward=input,parameter;other=...`: sets the kind of each argument of a function."""
    functions = {op.sym_name.data: op for op in module.walk() if isinstance(op, FuncOp)}
    for word in filter(None, text.split(";")):
        name, _, listed = word.partition("=")
        kinds = listed.rstrip(",").split(",")
        if name not in functions:
            message = f'Function: "{name[:80]}" was provided in the argument types map, however it was not found in module!'
            raise OptionError(message, expected=", ".join(list(functions)[:8]), location=place_of(next(iter(functions.values()), module)))
        arguments = _arguments(functions[name])
        if len(kinds) != len(arguments):
            counts = f"Expected: {len(arguments)} arguments, got: {len(kinds)} arguments"
            raise OptionError(f'Did not provide the correct number of argument types for function: "{name}". {counts}', location=place_of(functions[name]))
        if unknown := [kind for kind in kinds if kind not in ("input", "parameter", "constant")]:
            raise OptionError("unknown argument type", expected="input, parameter, constant", got=unknown[0][:80])
        described = [{**facts, "ttcore.argument_type": enum("ttcore.argument_type", kind)} for facts, kind in zip(arguments, kinds, strict=True)]
        functions[name].properties["arg_attrs"] = ArrayAttr([DictionaryAttr(facts) for facts in described])
    return module


DONE_ELSEWHERE = {
    "ttir-implicit-device": "programs open their own device",
    "ttir-layout": "convert-ttir-to-ttnn gives every tensor its layout",
    "ttnn-layout": "convert-ttir-to-ttnn gives every tensor its layout",
    "ttir-flatten-sliding-window": "convert-ttir-to-ttnn flattens images",
    "ttnn-workaround": "each op is lowered to a call that the library takes",
    "ttnn-set-compute-kernel-config": "the options math-fidelity and fp32-dest-acc-en choose it",
    "ttnn-collect-perf-metrics": "`./run --profile` and `alchemist show` tell them",
    "stablehlo-pipeline": "of one chip; stablehlo-to-ttir-pipeline follows",
}
"""Passes of the real driver whose work another step does here."""
_NO_METAL = re.compile(r"ttmetal|ttkernel|d2m|^ttir-(to-ttir-)?generic")
_FUSING = ("fuse-patterns", "fuse-linear", "fold-batch-norm", "project-heads", "fuse-concat-heads", "fuse-activation")
_BACKEND = Named("TTIR -> TTNN with layouts, const-eval and deallocation", transform=_lower, takes_kinds=True)
_STABLEHLO = Named("StableHLO and CHLO -> TTIR", transform=_stablehlo_to_ttir)
# The names of the real driver; passes and pipelines of ours go by their own names.
NAMES: dict[str, Named] = {
    "stablehlo-to-ttir-pipeline": _STABLEHLO,
    "convert-stablehlo-to-ttir": _STABLEHLO,
    "convert-tosa-to-ttir": Named("TOSA -> TTIR", transform=lambda module, options: tosa_to_ttir(module)),
    "ttir-to-ttnn-backend-pipeline": _BACKEND,
    "ttir-to-ttnn-runtime-pipeline": _BACKEND,
    "ttir-to-ttnn-common-pipeline": _BACKEND,
    "ttir-to-emitpy-pipeline": Named("TTIR -> TTNN for `translate --mlir-to-python`", transform=_emit("python")),
    "ttir-to-emitc-pipeline": Named("TTIR -> TTNN for `translate --mlir-to-cpp`", transform=_emit("cpp")),
    "ttnn-common-to-emitpy-pipeline": Named("TTNN for `translate --mlir-to-python`", transform=_emit("python")),
    "ttnn-common-to-emitc-pipeline": Named("TTNN for `translate --mlir-to-cpp`", transform=_emit("cpp")),
    "ttcore-wrap-device-module": Named("puts the module into ttcore.device_module", transform=_wrap),
    "ttcore-unwrap-device-module": Named("takes the module out of ttcore.device_module", transform=_unwrap),
    "ttcore-register-device": Named("the mesh of the option mesh-shape; programs open their own device", transform=_same),
    "ttnn-decompose-layouts": Named("ttnn.to_tensor_spec in single steps, layouts where there are none", transform=_decompose_layouts),
    "ttcore-mark-functions-as-forward": Named("public functions get tt.function_type", transform=_mark_forward),
    "canonicalize": Named("identities, constants, views (fold)", ("fold",)),
    "tt-populate-argument-types": Named("says which arguments are inputs, parameters, constants", transform=_same, takes_kinds=True),
    "fuse-split-heads": Named("project-heads, by its former name", ("project-heads",)),
    "cse": Named("merges equal ops (fold)", ("fold",)),
    "inline": Named("inlines private functions (inline-calls)", ("inline-calls",)),
    "remove-dead-values": Named("pure ops without uses (sweep)", ("sweep",)),
    "symbol-dce": Named("private functions without uses (inline-calls)", ("inline-calls",)),
    "ttir-fusing": Named("all fusing passes on TTIR", ("fuse-patterns", "canonicalize-dots", *_FUSING[1:])),
    "ttir-to-ttir-decomposition": Named(
        "ops of training, quantisation, routing, products over any dimensions by simpler ones", ("expand-ops", "canonicalize-dots")
    ),
    "ttir-erase-inverse-ops": Named("views that cancel each other (fold)", ("fold",)),
    "ttnn-common-to-runtime-pipeline": Named("deallocate", ("deallocate",)),
    "ttir-implicit-broadcast-fold": Named("implicit-broadcast", ("implicit-broadcast",)),
    "convert-ttir-to-ttnn": Named("ttir-to-ttnn", ("ttir-to-ttnn",)),
    "ttnn-fusing": Named("fuse-residual-norm, fuse-roll", ("fuse-residual-norm", "fuse-roll")),
    "ttir-load-system-desc": Named("the card's descriptor as the module's attribute", transform=_load_descriptor, spelled=(("path", "system-desc-path"),)),
    "ttcore-load-system-desc": Named("the same", transform=_load_descriptor, spelled=(("path", "system-desc-path"),)),
    "ttir-propagate-weight-dtype": Named("ttcore.weight_dtype of an argument on the products that read it", transform=_propagate_weight_dtype),
    "convert-ttnn-to-ttir": Named("TTNN ops -> the TTIR ops of the same meaning, layouts kept", transform=_raise_to_ttir),
    "convert-ttnn-to-emitpy": Named("the same module, for `translate --mlir-to-python`", transform=_emit("python")),
    "convert-ttnn-to-emitc": Named("the same module, for `translate --mlir-to-cpp`", transform=_emit("cpp")),
    **{name: Named(f"nothing: {why}", transform=_same) for name, why in DONE_ELSEWHERE.items()},
    "const-eval-hoist-transform": Named("const-eval", ("const-eval",)),
    "ttnn-deallocate": Named("deallocate", ("deallocate",)),
}


STOP_AFTER = "stop-after"


def _until(text: str) -> list[Step]:
    """The stages up to one. text: `"STAGE k=v k=v"`. Each is checked to keep its promise."""
    name, _, rest = text.strip("\"' ").partition(" ")
    words = pairs(rest)
    CompilerOptions.parse(words, warn=False)

    def run(stage: Stage, module: ModuleOp, options: CompilerOptions) -> ModuleOp:
        stage.run(module, options)
        stage.check(module, options)
        return module

    stages = [Step(stage.name, partial(_whole, partial(run, stage), words)) for stage in stages_until(name)]
    return [Step("prepare", _prepared), *stages]


def names() -> dict[str, str]:
    """Every name that `alchemist opt` runs and what it does."""
    docs = {name: entry.doc() for name, entry in PASSES.items()}
    docs |= {name: " ".join(steps) for name, steps in PIPELINES.items()}
    return dict(sorted((docs | {name: entry.doc for name, entry in NAMES.items()}).items()))


def own_options() -> dict[str, list[str]]:
    """Pass -> its own options with values and meaning."""
    rows = {name: [f"{key} = {' | '.join(values_of(entry))}: {described(entry)}" for key, entry in cls.own_options().items()] for name, cls in PASSES.items()}
    return {name: row for name, row in rows.items() if row}


def steps(name: str, text: str = "") -> list[Step]:
    """The steps of a pass or pipeline.

    Args:
        text: compiler options and the passes' own, `"k=v k=v"`.

    Raises:
        OptionError: no such name (near ones are listed), or a bad option.
    """
    if name == STOP_AFTER:
        return _until(text)
    entry = NAMES.get(name)
    if entry is None and _NO_METAL.search(name):
        raise OptionError(
            f"{name[:80]!r} lowers to TTMetal, which is not supported",
            expected="ttir-to-ttnn-backend-pipeline",
            hint="compile to TTNN instead; `ttnn_jit` (docs/ttnn_jit.md) predicts times of fused kernels",
        )
    if entry is None and name not in PIPELINES and name not in PASSES:
        near = difflib.get_close_matches(name, names(), n=4, cutoff=0.45)
        raise OptionError(
            f"no pass, pipeline or option {name[:80]!r}",
            expected=", ".join(near) or "one of `alchemist opt --list`",
            hint=f"did you mean --{near[0]}?" if near else "`alchemist opt --list` shows all",
        )
    pass_names = entry.passes if entry is not None else PIPELINES.get(name, (name,))
    own = {field for step in pass_names for field in PASSES[step].own_options()}
    spelled = dict(entry.spelled) if entry is not None else {}
    written = pairs(text)
    kinds = written.pop("argument-types", "") if entry is not None and entry.takes_kinds else ""
    first = [Step("tt-populate-argument-types", partial(_populate, kinds))] if kinds else []
    by_field = {key.replace("-", "_"): (key, value) for word, value in written.items() for key in [spelled.get(word, word)]}
    words = {key: value for field, (key, value) in by_field.items() if field not in own}
    options = CompilerOptions.parse(words, warn=False)
    if entry is not None and entry.transform is not None:
        return [*first, Step(name, partial(_whole, entry.transform, words))]
    passes = configure(pass_names, options, {field: value for field, (_, value) in by_field.items() if field in own})
    return [Step(step.name, partial(_in_place, step)) for step in passes]


def _whole(transform: Transform, words: dict[str, str], module: ModuleOp) -> ModuleOp:
    described = next((op.attributes["ttcore.system_desc"] for op in module.walk() if "ttcore.system_desc" in op.attributes), None)
    return transform(module, CompilerOptions.for_module(words, attribute_text(described) if described is not None else "", warn=False))


def _in_place(step: Pass, module: ModuleOp) -> ModuleOp:
    step.run(module)
    return module
