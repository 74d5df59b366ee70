"""MLIR text -> FrontendResult: each dialect enters at its own level."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import Unpack

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation

from alchemist.errors import FrontendError, InputError
from alchemist.frontends.base import Argument, ArgumentKind, FrontendResult, Output, distinct
from alchemist.frontends.mlir.entries import entry_names, function_names, keep_only, modules_in, refuse_types, state_mesh
from alchemist.frontends.mlir.host_calls import lift_host_calls
from alchemist.frontends.mlir.read import read_module, unwrap_device_module
from alchemist.frontends.mlir.ttnn_text import complete, take_devices
from alchemist.frontends.mlir.values import Array, LoadOptions, ValueOptions, Values, index_bound, is_prepared
from alchemist.frontends.stablehlo import Input, convert
from alchemist.frontends.stablehlo.shardings import without_constraints
from alchemist.ir.access import argument_attrs, element_type, entry_function, result_attrs, shape
from alchemist.ir.attribute_classes import enum
from alchemist.ir.attributes import numpy_dtype
from alchemist.ir.inline import callee_of, inline
from alchemist.ir.location import clone_with_places, from_location, place_of, set_place
from alchemist.ops.expand import CONSTRAINT, expand
from alchemist.ops.spec import MESH
from alchemist.options import ONE_CHIP, Init
from alchemist.toolchain.host_code import HostCode
from alchemist.toolchain.tosa import tosa_to_ttir


def load(text: str, filename: str = "<text>", **options: Unpack[LoadOptions]) -> FrontendResult:
    """Module text with one public function, or the function called `entry`.

    Raises:
        ParseError, VerifyError: file:line:column of what is wrong.
        UnsupportedOpError: StableHLO ops without a TTIR form.
        InputError: not exactly one public function and no `entry`, or values that do not fit.
    """
    return next(_load(text, filename, 1, **options))[1]


def load_each(text: str, filename: str = "<text>", **options: Unpack[LoadOptions]) -> Iterator[tuple[str, FrontendResult]]:
    """Name and capture of every public function that nothing else calls (only `entry` if it is given), one after the other.

    Options and errors as in `load`.
    """
    return _load(text, filename, 1000, **options)


def _load(text: str, filename: str, most: int, *, entry: str = "", mesh: str = ONE_CHIP, **given: Unpack[ValueOptions]) -> Iterator[tuple[str, FrontendResult]]:
    values = Values(**given)
    host: dict[str, HostCode] = {}
    module = tosa_to_ttir(unwrap_device_module(read_module(text, filename), host))
    state_mesh(module, mesh)
    modules = modules_in(module)
    named = [(name, module) for module in modules for name in entry_names(module)]
    if entry:
        named = [(entry, module) for module in modules if entry in function_names(module)][:1]
        if not named:
            known = [name for module in modules for name in function_names(module)]
            raise InputError(f"no function @{entry}", location=filename, expected=", ".join(f"@{name}" for name in known) or "none")
    if not named or len(named) > most:
        raise InputError(
            "the module needs exactly one public function with a body" if most == 1 else "the module has no public function with a body",
            location=filename,
            expected="one",
            got=", ".join(f"@{name}" for name, _ in named) or "none",
            hint="choose a function with --entry" if named else "",
        )
    taken: set[str] = set()
    for name, module in named:
        part = module
        if len(named) > 1:
            part = module.clone()
            for old, new in zip(module.walk(), part.walk(), strict=True):
                set_place(new, place_of(old))
        keep_only(part, name)
        unique = next(label for count in range(len(named)) if (label := f"{name}_{count}" if count else name) not in taken)
        taken.add(unique)
        yield unique, _captured(part, text, filename, values, host, strict=len(named) == 1)


def _captured(module: ModuleOp, text: str, filename: str, values: Values, host: Mapping[str, HostCode], strict: bool) -> FrontendResult:
    entry = entry_function(module)
    module.attributes.pop(MESH, None)  # what a partition of ours says, not a text
    take_devices(entry)
    constants = lift_host_calls(module, entry, host)
    refuse_types(entry, filename)
    model_name = _model_name(module, entry, filename)
    stages: dict[str, Callable[[], str]] = {}
    own = len(entry.args) - len(constants)
    names = [*_argument_names(entry)[:own], *(constant.name for constant in constants)]
    kinds: list[ArgumentKind] = [
        "parameter" if "ttcore.argument_type" not in facts and is_prepared(arg) else _kind(facts.get("ttcore.argument_type", ""))
        for arg, facts in zip(entry.args, argument_attrs(entry), strict=True)
    ]
    kinds[own:] = ["constant"] * len(constants)
    results = _result_names(entry)
    bounds = {name: index_bound(arg) for name, arg in zip(names, entry.args, strict=True)}
    if _is_stablehlo(module):
        stages["shlo"] = lambda: text
        module = _converted(module, entry)
        entry = entry_function(module)
    else:
        _inline_calls(module, entry)
        complete(module)
        expand(module)
        _describe(entry, names, kinds, results)
        entry.properties["sym_name"] = StringAttr("forward")
    described = zip(entry.args, argument_attrs(entry), strict=True)
    arguments = [
        values.argument(arg, facts, _kind(str(facts["ttcore.argument_type"])), index, bounds.get(str(facts["ttir.name"])))
        for index, (arg, facts) in enumerate(described)
    ]
    arguments[own:] = [constant.argument(arguments) for constant in constants]
    unknown = set(values.values or ()) - {argument.name for argument in arguments}
    if unknown and strict:
        raise InputError(f"unknown argument {', '.join(sorted(unknown))}", expected=", ".join(a.name for a in arguments))
    outputs = [Output(name, shape(type_), numpy_dtype(element_type(type_)).name) for name, type_ in zip(results, entry.function_type.outputs.data, strict=True)]
    return FrontendResult(
        module=module,
        framework="mlir",
        model_name=model_name,
        arguments=arguments,
        outputs=outputs,
        golden=_golden(module, arguments),
        stages=stages,
        made_from={"mlir": PurePath(filename).name},
    )


def _is_stablehlo(module: ModuleOp) -> bool:
    """Constants of arith alone are StableHLO too."""
    dialects = {op.name.partition(".")[0] for op in module.walk()}
    if dialects & {"ttir", "ttnn"}:
        return bool(dialects & {"stablehlo", "chlo"})
    return bool(dialects & {"stablehlo", "chlo", "sdy", "arith"})


def stablehlo_to_ttir(module: ModuleOp) -> ModuleOp:
    """The module in TTIR, with the argument and result names that `load` gives and every public function under its own name.

    Raises:
        UnsupportedOpError: StableHLO ops without a TTIR form.
    """
    module = unwrap_device_module(module)
    if not _is_stablehlo(module):
        return module
    inner = [op for op in module.ops if isinstance(op, ModuleOp)]
    for op in inner:
        converted = stablehlo_to_ttir(op.clone())
        if op.sym_name is not None:
            converted.properties["sym_name"] = op.sym_name
        module.body.block.insert_op_before(converted, op)
        module.body.block.erase_op(op)
    if inner and not function_names(module):
        return module
    made: list[Operation] = []
    for name in entry_names(module) or [entry_function(module).sym_name.data]:
        entry = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == name)
        refuse_types(entry, "")
        converted = _converted(module, entry)
        function = entry_function(converted)
        function.properties["sym_name"] = StringAttr(name)
        if entry.sym_visibility is not None:
            function.properties["sym_visibility"] = entry.sym_visibility
        function.detach()  # type: ignore[no-untyped-call]
        made.append(function)
    return ModuleOp(made, {key: value for key, value in module.attributes.items() if not key.startswith(("mhlo.", "jax."))})


def _converted(module: ModuleOp, entry: FuncOp) -> ModuleOp:
    kinds = [_kind(facts.get("ttcore.argument_type", "")) for facts in argument_attrs(entry)]
    inputs = [Input(name, kind) for name, kind in zip(_argument_names(entry), kinds, strict=True)]
    made = convert(module, inputs, _result_names(entry), entry=entry.sym_name.data).module
    expand(made)
    return made


def _model_name(module: ModuleOp, entry: FuncOp, filename: str) -> str:
    """The function's own name; for a generic one, the class of the root module in the locations (an export's `irs/`), else the file's name."""
    name = module.sym_name.data if module.sym_name is not None else entry.sym_name.data
    stem = PurePath(filename).stem
    if name not in ("main", "forward", "module", "_main"):
        return name.removeprefix("jit_")
    sources = (info for op in entry.walk() for info in from_location(op.location))
    root = next((scope.class_name.rpartition(".")[2] for info in sources for scope in info.scopes[:1] if not scope.path), "")
    return root or (stem if stem and not stem.startswith("<") else name)


# --- arguments ----------------------------------------------------------------------------------------------------------


def _kind(declared: str) -> ArgumentKind:
    match declared:
        case "parameter":
            return "parameter"
        case "constant":
            return "constant"
        case _:
            return "input"


def _argument_names(entry: FuncOp) -> list[str]:
    """`ttir.name`, else the argument's location name, else arg<n>; made unique."""
    described = zip(entry.args, argument_attrs(entry), strict=True)
    return distinct(str(facts.get("ttir.name") or _location_name(arg) or f"arg{index}") for index, (arg, facts) in enumerate(described))


def _location_name(arg: BlockArgument) -> str:
    """`state['conv1']['kernel'].value` (JAX) -> conv1.kernel; only plain words and dots are kept."""
    infos = from_location(arg.location)
    text = infos[0].name if infos else ""
    if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", text):
        return text
    parts = re.findall(r"\['?(\w+)'?\]", text)
    return ".".join(parts)


def _result_names(entry: FuncOp) -> list[str]:
    count = len(entry.function_type.outputs.data)
    described = result_attrs(entry) or [{}] * count
    default = ["output"] if count == 1 else [f"output_{i}" for i in range(count)]
    names: list[str] = []
    for facts, stem in zip(described, default, strict=True):
        info = str(facts.get("jax.result_info", ""))
        keys = ".".join(re.findall(r"\['?(\w*[A-Za-z]\w*)'?\]", info))
        name = str(facts.get("ttir.name") or keys or stem)
        names.append(name if name not in names else stem)
    return distinct(names)


def _describe(entry: FuncOp, names: Sequence[str], kinds: Sequence[str], results: Sequence[str]) -> None:
    """Writes names and kinds into the function's attributes, keeping the others."""
    given = entry.properties.get("arg_attrs")
    before = [part.data for part in given.data] if isinstance(given, ArrayAttr) else [{} for _ in names]
    entry.properties["arg_attrs"] = ArrayAttr(
        [
            DictionaryAttr({**facts, "ttcore.argument_type": enum("ttcore.argument_type", kind), "ttir.name": StringAttr(name)})
            for facts, name, kind in zip(before, names, kinds, strict=True)
        ]
    )
    given = entry.properties.get("res_attrs")
    before = [part.data for part in given.data] if isinstance(given, ArrayAttr) else [{} for _ in results]
    entry.properties["res_attrs"] = ArrayAttr([DictionaryAttr({**facts, "ttir.name": StringAttr(name)}) for facts, name in zip(before, results, strict=True)])


# --- calls --------------------------------------------------------------------------------------------------------------


def _inline_calls(module: ModuleOp, entry: FuncOp) -> None:
    """Replaces calls of private functions and composites by their bodies, innermost ones included."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    _refuse_recursion(functions, entry)
    budget = 100_000
    pending = [(op, name) for op in entry.body.block.ops if (name := callee_of(op)) is not None]
    while pending:
        call, name = pending.pop()
        target = functions.get(name)
        if target is None or target.is_declaration:
            raise FrontendError("a call of a function without a body", op=name, location=place_of(call))
        made = inline(call, target)
        budget -= len(made)
        if budget < 0:
            raise FrontendError("recursive calls", op=name, hint="recursion is not supported")
        pending += [(op, inner) for op in made if (inner := callee_of(op)) is not None]
    used = {
        op.properties["callee"].root_reference.data  # type: ignore[attr-defined]
        for op in module.walk()
        if "callee" in op.properties
    }
    for name, function in functions.items():
        if function is not entry and name not in used:
            module.body.block.erase_op(function)


def _refuse_recursion(functions: dict[str, FuncOp], entry: FuncOp) -> None:
    """Raises: FrontendError: a function that the entry reaches calls itself, directly or through others."""
    callees = {name: list(dict.fromkeys(callee for op in function.walk() if (callee := callee_of(op)) is not None)) for name, function in functions.items()}
    done: set[str] = set()
    path: dict[str, None] = {}
    pending = [(entry.sym_name.data, False)]
    while pending:  # depth first; a name comes again, as left, when all that it calls is done
        name, is_left = pending.pop()
        if is_left:
            del path[name]
            done.add(name)
        elif name in path:
            cycle = [*list(path)[list(path).index(name) :], name]
            raise FrontendError("recursive calls", op=name, got=" -> ".join(cycle), hint="recursion is not supported")
        elif name not in done:
            path[name] = None
            pending += [(name, True), *((callee, False) for callee in callees.get(name, ()))]


# --- reference ----------------------------------------------------------------------------------------------------------


def _golden(module: ModuleOp, arguments: Sequence[Argument]) -> Callable[[], list[Array]] | None:
    """The reference functions of the ops; None where an op has none (collectives, paged caches, random numbers)."""
    import alchemist.ops  # noqa: F401 (registers the references)
    from alchemist.ops import evaluate, evaluate_ttnn

    if any(op.name == CONSTRAINT for op in entry_function(module).body.block.ops):
        module = clone_with_places(module)
        without_constraints(entry_function(module))
    body = entry_function(module).body.block
    if all(evaluate.can_evaluate(op) or isinstance(op, ReturnOp) for op in body.ops):
        run = partial(evaluate.run, module)
    elif evaluate_ttnn.can_evaluate(module):
        run = partial(evaluate_ttnn.run, module)
    else:
        return None
    return lambda: [np.asarray(out) for out in run([argument.value() for argument in arguments])]


__all__ = ["Init", "load", "load_each", "stablehlo_to_ttir"]
