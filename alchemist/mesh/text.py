"""TTIR text that has collectives of its own as the program of each chip: what it cuts at its arguments and joins at its results is how they lie on the mesh."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation

from alchemist.errors import InternalError, LoweringError
from alchemist.frontends.base import FrontendResult, Mesh, Placement
from alchemist.frontends.stablehlo.exchanges import Chips, along_groups, dealt, exchanged, from_first, parted, reduced, scattered, senders_of
from alchemist.frontends.stablehlo.values import Emitter, Unsupported, Val
from alchemist.ir import access
from alchemist.ir.builder import Builder
from alchemist.ir.edit import functions
from alchemist.ir.edit import replace as replace_op
from alchemist.ir.location import place_of
from alchemist.mesh import lockstep
from alchemist.mesh.placements import Array
from alchemist.ops.expand import COLLECTIVES
from alchemist.ops.spec import MESH
from alchemist.passes.lower import RULES

WHOLE: Placement = (None, None)


def has_collectives(captured: FrontendResult) -> bool:
    return any(op.name.partition(".")[2] in COLLECTIVES or op.name == "ttnn.distribute_tensor" for op in captured.module.walk())


def each_chip(captured: FrontendResult, mesh: Mesh) -> FrontendResult:
    """The captured function on each chip of the mesh, in place.

    Raises:
        LoweringError: a collective that is not written yet, or a cut of what is neither an argument nor a result.
    """
    (func,) = functions(captured.module)
    arguments, outputs = list(captured.arguments), list(captured.outputs)
    returned = next(op for op in func.body.block.ops if isinstance(op, ReturnOp))
    for number, value in enumerate(returned.operands):
        op = value.owner
        if isinstance(op, Operation) and op.name == "ttir.mesh_shard" and _direction(op) == "shard_to_full":
            outputs[number] = replace(outputs[number], placement=_placement(op, mesh, access.shape(op.results[0]), access.shape(op.operands[0])))
            returned.operands[number] = op.operands[0]
    for number, arg in enumerate(func.args):
        cuts = [use.operation for use in arg.uses if use.operation.name == "ttir.mesh_shard"]
        if cuts and len(cuts) == len(list(arg.uses)) and len({(_placed(op, mesh), op.results[0].type) for op in cuts}) == 1:
            arguments[number] = replace(arguments[number], placement=_placed(cuts[0], mesh))
            _local(arg, cuts)
    for op in list(func.body.block.ops):
        if op.name == "ttir.mesh_shard" and not op.results[0].first_use:
            func.body.block.erase_op(op)
    _write_out(func, mesh)
    _check(func)
    func.properties["function_type"] = FunctionType.from_lists([arg.type for arg in func.args], [value.type for value in returned.operands])
    captured.module.attributes[MESH] = StringAttr(mesh.name)
    made = replace(captured, mesh=mesh, arguments=arguments, outputs=outputs)
    return with_golden(made)


def with_golden(made: FrontendResult) -> FrontendResult:
    """With the values of all chips step by step, where a module has no meaning on one chip."""
    return replace(made, golden=lambda: _in_lockstep(made))


def _in_lockstep(made: FrontendResult) -> list[Array]:
    try:
        return lockstep.run(made)
    except InternalError as error:
        raise LoweringError(error.message, op="ttir.mesh_shard", hint="a result that is not cut needs the same values on all chips") from error


def _placed(op: Operation, mesh: Mesh) -> Placement:
    return _placement(op, mesh, access.shape(op.operands[0]), access.shape(op.results[0]))


def _local(arg: BlockArgument, cuts: Sequence[Operation]) -> None:
    arg._type = cuts[0].results[0].type
    for op in cuts:
        op.results[0].replace_all_uses_with(arg)


def _direction(op: Operation) -> str:
    return str(access.attr(op, "shard_direction"))


def _placement(op: Operation, mesh: Mesh, whole: tuple[int, ...], part: tuple[int, ...]) -> Placement:
    """Of the whole tensor. Raises: LoweringError where the parts are not those of the mesh."""
    kind, rank = str(access.attr(op, "shard_type")), len(whole)
    given = (
        [int(dim) for dim in access.attr(op, "shard_dims")] if kind == "devices" or part != whole else []
    )  # a tensor that lies on the chips already moves nothing
    given = [-1] * (2 - len(given)) + given  # fewer than the mesh has axes: of the last ones
    first, second = (dim if 0 <= dim < rank and chips > 1 else None for dim, chips in zip(given, mesh.extents, strict=True))
    expected = list(whole)
    for dim, chips in zip((first, second), mesh.extents, strict=True):
        if dim is not None:
            expected[dim] //= chips
    both = first is not None and first == second
    divides = all(dim is None or whole[dim] % chips == 0 for dim, chips in zip((first, second), mesh.extents, strict=True))
    if both or not divides or kind not in ("devices", "replicate") or tuple(expected) != part:
        raise LoweringError(
            "the parts are not those of the mesh", op=op.name, location=place_of(op), expected=f"{mesh.rows}x{mesh.columns} parts of {[*whole]}",
            got=f"{[*part]} by shard_dims {given}, {kind}",
        )  # fmt: skip
    return first, second


_REDUCTIONS = {"sum": "sum", "max": "max", "min": "min", "prod": "prod"}
"""TTIR's words for what a collective computes -> its ops on one chip."""
_Exchange = Callable[[Chips, Val, Operation], Val]


def _axis(chips: Chips, op: Operation) -> tuple[int, ...]:
    """Along one axis, or along both of them; those of one chip are none."""
    given = access.attr(op, "cluster_axis")
    return tuple(axis for axis, size in enumerate(chips.extents) if size > 1 and given in (None, axis))


def _groups(chips: Chips, op: Operation) -> tuple[int, ...]:
    return along_groups(op.properties["replica_groups"].array, chips.extents)  # type: ignore[attr-defined]


def _kind(op: Operation) -> str:
    kind = str(access.attr(op, "reduce_type") or "sum")
    if kind not in _REDUCTIONS:
        raise Unsupported(f"a collective that reduces by {kind}", hint=f"there are {', '.join(_REDUCTIONS)}")
    return _REDUCTIONS[kind]


_EXCHANGES: Mapping[str, _Exchange] = {
    "ttir.all_reduce": lambda chips, val, op: reduced(chips, val, _axis(chips, op), _kind(op)),
    "ttir.reduce_scatter": lambda chips, val, op: scattered(chips, val, _axis(chips, op), _kind(op), access.attr(op, "scatter_dim")),
    "ttir.mesh_partition": lambda chips, val, op: parted(chips, val, _axis(chips, op), access.attr(op, "dim")),
    "ttir.all_to_all": lambda chips, val, op: dealt(chips, val, _groups(chips, op), access.attr(op, "split_dim"), access.attr(op, "concat_dim")),
    "ttir.collective_broadcast": lambda chips, val, op: from_first(chips, val, _groups(chips, op)),
    "ttir.collective_permute": lambda chips, val, op: exchanged(chips, val, senders_of(op)),
}


def _write_out(func: FuncOp, mesh: Mesh) -> None:
    """Collectives become those of one axis that TT-NN has."""
    for op in [op for op in func.body.block.ops if op.name in _EXCHANGES]:
        b = Builder.in_place_of(op)
        e = Emitter(b)
        operand = op.operands[0]
        try:
            made = e.full(_EXCHANGES[op.name](Chips(e, mesh.extents), Val(access.shape(operand), access.element_type(operand), operand), op))
        except Unsupported as error:
            raise LoweringError(error.message, op=op.name, location=place_of(op), hint=error.hint) from None
        if made.type != op.results[0].type:
            what = "the result does not follow from the mesh"
            raise LoweringError(what, op=op.name, location=place_of(op), expected=str(made.type), got=str(op.results[0].type))
        replace_op(op, [made])


def _check(func: FuncOp) -> None:
    for op in func.body.block.ops:
        if op.name.removeprefix("ttir.") not in COLLECTIVES:
            continue
        if op.name not in RULES:
            what = "a cut of what is neither an argument nor a result" if op.name == "ttir.mesh_shard" else "a collective that is not written yet"
            raise LoweringError(what, op=op.name, location=place_of(op), hint="mesh_partition cuts what is computed, all_gather joins it")
