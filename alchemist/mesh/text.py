"""TTIR text that has collectives of its own as the program of each chip: what it cuts at its arguments and joins at its results is how they lie on the mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation

from alchemist.errors import InternalError, LoweringError
from alchemist.frontends.base import FrontendResult, Mesh, Placement
from alchemist.ir import access
from alchemist.ir.edit import functions
from alchemist.ir.location import place_of
from alchemist.mesh import lockstep
from alchemist.mesh.placements import Array
from alchemist.ops.expand import COLLECTIVES
from alchemist.ops.spec import MESH
from alchemist.passes.lower import RULES

WHOLE: Placement = (None, None)


def has_collectives(captured: FrontendResult) -> bool:
    return any(op.name.removeprefix("ttir.") in COLLECTIVES for op in captured.module.walk())


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


def _check(func: FuncOp) -> None:
    for op in func.body.block.ops:
        if op.name.removeprefix("ttir.") not in COLLECTIVES:
            continue
        if op.name not in RULES or access.attr(op, "reduce_type") not in (None, "sum"):
            what = f"{op.name.removeprefix('ttir.')} of {access.attr(op, 'reduce_type')}" if op.name in RULES else "a collective of several chips"
            raise LoweringError(f"{what} is not written yet", op=op.name, location=place_of(op), hint="sums, gathers and cuts of arguments and results are")
