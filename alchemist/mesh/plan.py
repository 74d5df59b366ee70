"""What the caller says of a mesh: its size, and how weights and inputs are spread, as the placement of each argument."""

from __future__ import annotations

import difflib
import fnmatch
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ttnn_shim.machine import card_of, systems
from xdsl.dialects.builtin import StringAttr

from alchemist.errors import InputError, OptionError, quoted
from alchemist.frontends.base import Argument, FrontendResult, Mesh, Placement
from alchemist.ir.access import entry_function
from alchemist.mesh.local import partition
from alchemist.mesh.own_plan import fewer_heads, own_plan, patterns
from alchemist.mesh.stated import stated_mesh, states_shardings
from alchemist.ops.spec import CUT_RESIDUALS
from alchemist.options import CARDS, CompilerOptions

Shardings = str | Mapping[str, Any] | Callable[[str, tuple[int, ...]], Placement | None]

CUT = "-cut"
"""End of a plan's name: the residual stream is cut over the chips as well."""
_STYLES: dict[str, tuple[int | None, int | None]] = {
    **dict.fromkeys(("colwise", "colwise_rep", "colwise_gather_output"), (0, 0)),
    **dict.fromkeys(("rowwise", "rowwise_rep", "rowwise_split_input"), (1, None)),
    "embedding_rowwise": (0, None),
    "embedding_colwise": (1, None),
    **dict.fromkeys(("replicate", "sequence_parallel", "replicated_with_grad_allreduce", "all_reduce", "mla_kv_a_proj", "moe_identity_expert"), (None, None)),
}
"""Styles of transformers' plans: the dimension of a module's weight that is cut, and that of its bias."""
_CLASSES = {"ColwiseParallel": "colwise", "RowwiseParallel": "rowwise", "SequenceParallel": "sequence_parallel"}
"""torch.distributed.tensor.parallel's classes."""


def mesh_of(given: Any, options: CompilerOptions) -> Mesh:
    """The mesh with the smallest system that has it; the options say of which architecture.

    Raises: OptionError for what is no mesh of a system, or an option that programs for several chips do not have.
    """
    if not (isinstance(given, Sequence) and len(given) == 2 and all(type(size) is int and size > 0 for size in given)):
        raise OptionError("mesh is not the rows and columns of chips", expected="two whole numbers, as mesh=(1, 2)", got=quoted(str(given)))
    rows, columns = given
    if rows * columns == 1:
        return Mesh(1, 1)
    for name in ("enable_trace", "target_module", "target_dylib", "tensor_load_directory"):
        if getattr(options, name):
            raise OptionError(f"{name} is for programs on one chip", expected="mesh without it", got=f"{name}={getattr(options, name)}")
    wanted = f"{rows}x{columns}"
    near = [system for system in systems().values() if card_of(system.name).architecture == options.architecture]
    for held in ("meshes", "parts"):
        for system in near:
            if wanted in getattr(system, held):
                return Mesh(rows, columns, system.name)
    there = "; ".join(f"{system.name}: {' '.join((*system.meshes, *system.parts))}" for system in near)
    raise OptionError(f"no {options.architecture} system has a mesh of {wanted}", expected=there, got=wanted)


def options_on(mesh: Mesh, options: CompilerOptions) -> CompilerOptions:
    """The options with the card that each chip is."""
    if mesh.extents == (1, 1):
        return options
    return replace(options, arch=next(name for name, (_, card) in CARDS.items() if card == card_of(mesh.system).name))


def refuse_on_meshes(given: Mapping[str, bool]) -> None:
    """Raises: OptionError for the first of what does not go together with several chips, if it is given."""
    for what in (what for what, holds in given.items() if holds):
        raise OptionError(f"{what} and a mesh of several chips do not go together yet", expected="one of the two")


def mesh_of_model(captured: FrontendResult, given: Mesh, shardings: Shardings, options: CompilerOptions) -> Mesh:
    """The given mesh, or without one that of the model's own shardings or of the `NamedSharding`s in a plan.

    Raises: OptionError where they are over another mesh than the given one, or a plan by name stands beside the model's own.
    """
    stated = [extents for extents in [stated_mesh(captured)] if extents is not None and states_shardings(captured)]
    if stated and isinstance(shardings, str) and shardings != "auto":
        hint = "leave shardings out; a dictionary says it for arguments of which the model says nothing"
        raise OptionError("the model contains its own shardings", expected='shardings="auto"', got=quoted(shardings), hint=hint)
    stated += [_named(value)[0] for value in shardings.values() if _is_named(value)] if isinstance(shardings, Mapping) else []
    for extents in stated:
        if extents != stated[0] or given.extents not in ((1, 1), extents):
            other = stated[0] if extents != stated[0] else given.extents
            raise OptionError(
                "shardings over another mesh", expected=f"mesh={other}", got=f"{extents[0]}x{extents[1]}", hint="leave mesh out: the shardings say it"
            )
    return mesh_of(stated[0], options) if stated and given.extents == (1, 1) else given


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def on_mesh(captured: FrontendResult, model: Any, mesh: Mesh, shardings: Shardings, say: Callable[[str], None] | None = _tell) -> FrontendResult:
    """The captured model as the program of each chip.

    say: gets a line with the plan of a model that brings none. None: nobody reads it, nor is the program compared with the whole model.

    Raises:
        UserError: names that the model does not have, dimensions that it has not or that chips do not divide, a model that cannot be spread.
    """
    found = placements(captured, model, mesh, shardings, say or (lambda text: None))
    plan = {argument.name: placement for argument, placement in zip(captured.arguments, found, strict=True) if placement is not None}
    made = replace(partition(captured, mesh, found, is_compared=say is not None), plan=plan)
    if isinstance(shardings, str) and shardings.endswith(CUT):
        made.module.attributes[CUT_RESIDUALS] = StringAttr(f"{mesh.rows}x{mesh.columns}")
    return made


def plan_on(plan: Mapping[str, Placement], captured: FrontendResult, mesh: Mesh) -> Callable[[str, tuple[int, ...]], Placement | None]:
    """The plan of one mesh on another, as a function of name and shape.

    A plan over one axis that cuts weights goes over the columns where there are several, and the rows cut the batch; one that cuts inputs alone over the
    first axis that there is. Of a plan over both axes the inner one stays where there is one axis.
    """
    used = [axis for axis in (0, 1) if any(placement[axis] is not None for placement in plan.values())]
    there = [axis for axis, chips in enumerate(mesh.extents) if chips > 1]
    if len(there) == 2 == len(used) or not used or not there:
        return lambda name, shape: plan.get(name)
    inputs = {argument.name for argument in captured.arguments if argument.kind == "input"}
    of_weights = any(dim is not None for name, placement in plan.items() if name not in inputs for dim in placement)
    axis = there[-1] if of_weights else there[0]
    made = {name: _on_axis(axis, placement[used[-1]]) for name, placement in plan.items()}
    if of_weights and len(there) == 2:
        made |= _by_batch(captured.arguments, mesh, 0)
    return lambda name, shape: made.get(name)


def placements(captured: FrontendResult, model: Any, mesh: Mesh, shardings: Shardings, say: Callable[[str], None] = _tell) -> list[Placement | None]:
    """Of each argument; None where the caller says nothing."""
    arguments = captured.arguments
    if shardings == "auto" and states_shardings(captured):
        return [None] * len(arguments)
    if callable(shardings):
        chosen = [(argument, shardings(argument.name, argument.shape)) for argument in arguments]
        return [None if placement is None else _checked(argument, placement) for argument, placement in chosen]
    axis = 1 if mesh.columns > 1 else 0
    made: dict[str, Placement] = {}
    if isinstance(shardings, Mapping):
        for pattern, value in shardings.items():
            found = _said(arguments, model, str(pattern), value, axis)
            if not found:
                raise _no_match(arguments, str(pattern), value)
            made |= found
    elif shardings in ("auto", "tensor", "data", f"auto{CUT}", f"tensor{CUT}"):
        shardings = shardings.removesuffix(CUT)
        if shardings != "data":
            made |= _by_plan(captured, model, mesh, axis, say)
        data = axis if shardings == "data" else 0
        if shardings != "tensor" and mesh.extents[data] > 1 and (shardings == "data" or data != axis):
            made |= _by_batch(arguments, mesh, data)
    else:
        known = '"auto", "data", "tensor", "auto-cut", "tensor-cut", "tune"'
        raise OptionError("shardings is no plan", expected=f"{known}, a dictionary or a function", got=quoted(str(shardings)))
    return [made.get(argument.name) for argument in arguments]


def _checked(argument: Argument, value: Any) -> Placement:
    """Raises: OptionError for what is no placement of the argument."""
    rank = len(argument.shape)
    value = _named(value)[1] if _is_named(value) else value
    if not (isinstance(value, Sequence) and len(value) == 2 and all(dim is None or (type(dim) is int and -rank <= dim < rank) for dim in value)):
        raise OptionError(
            f"shardings: no placement of {argument.name}", expected=f"a dimension of {list(argument.shape)} or None for each axis of the mesh, as (None, 0)",
            got=quoted(str(value)),
        )  # fmt: skip
    first, second = (dim if dim is None else dim % rank for dim in value)
    return first, second


def _is_named(value: Any) -> bool:
    """Whether it is a `jax.sharding.NamedSharding`, which is not imported here."""
    return type(value).__name__ == "NamedSharding"


def _named(value: Any) -> tuple[tuple[int, int], Placement]:
    """Rows and columns of a NamedSharding's mesh, and the dimension that each of them cuts.

    Raises: OptionError for a mesh of more than two axes, or a dimension that both cut.
    """
    large = [axis for axis, size in value.mesh.shape.items() if size > 1]
    cuts = {axis: dim for dim, entry in enumerate(value.spec) for axis in (entry if isinstance(entry, tuple) else (entry,))}
    sizes, dims = [value.mesh.shape[axis] for axis in large], [cuts.get(axis) for axis in large]
    if len(large) > 2 or (len(large) == 2 and dims[0] == dims[1] is not None):
        raise OptionError(f"shardings: {value.spec} over {dict(value.mesh.shape)}", expected="a mesh of two axes, each of which cuts another dimension")
    rows, columns = [1] * (2 - len(sizes)) + sizes
    first, second = [None] * (2 - len(dims)) + dims
    return (rows, columns), (first, second)


def _said(arguments: Sequence[Argument], model: Any, pattern: str, value: Any, axis: int) -> dict[str, Placement]:
    """What one row of a plan says: a placement of arguments, or a style of modules."""
    style = _style(value)
    if not style:
        return {one.name: _checked(one, value) for one in arguments if fnmatch.fnmatchcase(one.name, pattern)}
    if style not in _STYLES:
        raise OptionError(f"shardings: {pattern} has a style that is not spread over chips here", expected=", ".join(_STYLES), got=style)
    made = {}
    for one in arguments:
        module, _, leaf = one.name.rpartition(".")
        if fnmatch.fnmatchcase(module, pattern) and leaf in ("weight", "bias"):
            dim = _STYLES[_of_table(style, model, module)][leaf == "bias"]
            made[one.name] = _on_axis(axis, dim if dim is None or dim < len(one.shape) else None)
    return made


def _style(value: Any) -> str:
    """The style's name; "" for a placement."""
    return value if isinstance(value, str) else _CLASSES.get(type(value).__name__, "")


def _no_match(arguments: Sequence[Argument], pattern: str, value: Any) -> OptionError:
    """A style is for a module, a placement for a tensor: the close names are of the kind that the value needs."""
    tensors = [argument.name for argument in arguments]
    modules = list(dict.fromkeys(name.rpartition(".")[0] for name in tensors if name.endswith((".weight", ".bias"))))
    wanted, other, kind = (modules, tensors, "module") if _style(value) else (tensors, modules, "tensor")
    hint = ""
    if any(fnmatch.fnmatchcase(name, pattern) for name in other):
        hint = "a style is for a module, a dimension for each mesh axis is for a tensor"
    related = [name for name in wanted if name.startswith(f"{pattern}.") or pattern.startswith(f"{name}.")]
    close = related or difflib.get_close_matches(pattern, wanted, 3, 0.4)
    return OptionError(f"shardings: no {kind} is called {quoted(pattern)}", expected=", ".join(close[:3] or wanted[:4]), hint=hint)


def _of_table(style: str, model: Any, module: str) -> str:
    """torch's styles of an embedding cut its table the other way round than a linear layer's weight."""
    found: Any = model
    for part in module.split("."):
        found = getattr(found, part, None)
    return {"colwise": "embedding_colwise", "rowwise": "embedding_rowwise"}.get(style, style) if type(found).__name__ == "Embedding" else style


def _on_axis(axis: int, dim: int | None) -> Placement:
    return (dim, None) if axis == 0 else (None, dim)


def _by_plan(captured: FrontendResult, model: Any, mesh: Mesh, axis: int, say: Callable[[str], None]) -> dict[str, Placement]:
    """transformers' own plan of the model, whose entries are for any of its variants; without one ours, which is printed."""
    plan = getattr(model, "tp_plan", None) or {}
    made: dict[str, Placement] = {}
    for pattern, style in plan.items():
        if style in _STYLES:  # experts are left whole
            made |= _said(captured.arguments, model, str(pattern).replace("*", "[0-9]*"), style, axis)
    few = fewer_heads(entry_function(captured.module), captured.arguments, mesh.extents[axis])
    made = {name: placement for name, placement in made.items() if name not in few}  # each chip has all of the few heads, and takes its own
    if any(dim is not None for placement in made.values() for dim in placement):
        return made
    found = own_plan(entry_function(captured.module), captured.arguments, mesh.extents[axis])
    shown = {name: _on_axis(axis, dim) for name, dim in patterns(found).items()}
    say(f"alchemist: {captured.model_name} brings no plan; chosen: shardings={shown}")
    made = {name: _on_axis(axis, dim) for name, dim in found.items()}
    if not made:
        raise OptionError(
            f"{captured.model_name} has no linear layers that can be cut over {mesh.extents[axis]} chips",
            expected="layers between which chips need nothing, of sizes that they divide",
            hint='shardings={"*.up_proj.weight": (None, 0), "*.down_proj.weight": (None, 1)} says it for each weight; shardings="data" cuts the batch',
        )  # fmt: skip
    return made


def _by_batch(arguments: Sequence[Argument], mesh: Mesh, axis: int) -> dict[str, Placement]:
    """Inputs with as many rows as the first one."""
    inputs = [argument for argument in arguments if argument.kind == "input" and argument.shape]
    batch, chips = (inputs[0].shape[0] if inputs else 1), mesh.extents[axis]
    if batch % chips:
        fit = [rows for rows in range(1, chips) if batch % rows == 0 and chips % rows == 0]
        raise InputError(
            f"{chips} chips along axis {axis} of the mesh do not divide the batch", expected=f"a batch of a multiple of {chips}", got=f"{batch}",
            hint=f"{' or '.join(map(str, fit))} of {chips} would",
        )  # fmt: skip
    return {argument.name: _on_axis(axis, 0) for argument in inputs if argument.shape[0] == batch}
