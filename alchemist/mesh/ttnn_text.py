"""TTNN text with collectives of its own: what `distribute_tensor` cuts and `aggregate_tensor` joins is how arguments and results lie on the mesh."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.errors import LoweringError
from alchemist.frontends.base import FrontendResult, Mesh, Placement
from alchemist.ir.access import shape
from alchemist.ir.edit import functions
from alchemist.ir.layout import layout_of
from alchemist.ir.location import place_of
from alchemist.ir.op_class import has_trait
from alchemist.ir.printer import attribute_text
from alchemist.mesh.text import with_golden
from alchemist.ops.evaluate_ttnn import can_evaluate
from alchemist.ops.spec import MESH

_CUT = "ttnn.distribute_tensor"
_JOINED = "ttnn.aggregate_tensor"


def is_ttnn(captured: FrontendResult) -> bool:
    return any(op.name.startswith("ttnn.") for op in captured.module.walk())


def each_chip(captured: FrontendResult, mesh: Mesh) -> FrontendResult:
    """The captured function on each chip of the mesh, in place.

    Raises:
        LoweringError: a tensor is distributed that is no argument, or aggregated that is no result; parts that are not those of the mesh.
    """
    (func,) = functions(captured.module)
    arguments, outputs = list(captured.arguments), list(captured.outputs)
    for op in [op for op in func.body.block.ops if op.name == _CUT]:
        path = _path(op.operands[0], op)
        arg = path[0]
        if not isinstance(arg.owner, Block):
            raise LoweringError("a tensor is distributed that the program computes", op=op.name, location=place_of(op), hint="mesh_partition cuts it")
        place = _placement(op, "mapper_config", mesh, shape(op.operands[0]), shape(op.results[0]))
        arguments[arg.index] = replace(arguments[arg.index], placement=place)  # type: ignore[attr-defined]
        for value in path:
            _retype(value, shape(op.results[0]))
        op.results[0].replace_all_uses_with(op.operands[0])
        func.body.block.erase_op(op)
    returned = next(op for op in func.body.block.ops if isinstance(op, ReturnOp))
    for number, value in enumerate(returned.operands):
        path = _path(value, returned)
        op = path[0].owner
        if isinstance(op, Operation) and op.name == _JOINED:
            place = _placement(op, "composer_config", mesh, shape(op.results[0]), shape(op.operands[0]))
            outputs[number] = replace(outputs[number], placement=place)
            for one in path[1:]:
                _retype(one, shape(op.operands[0]))
            op.results[0].replace_all_uses_with(op.operands[0])
            func.body.block.erase_op(op)
    for op in func.body.block.ops:
        if op.name == _JOINED:
            raise LoweringError("a tensor is aggregated that is no result", op=op.name, location=place_of(op), hint="all_gather joins it on the chips")
    func.properties["function_type"] = FunctionType.from_lists([arg.type for arg in func.args], [value.type for value in returned.operands])
    captured.module.attributes[MESH] = StringAttr(f"{mesh.rows}x{mesh.columns}")
    made = replace(captured, mesh=mesh, arguments=arguments, outputs=outputs)
    return with_golden(made) if can_evaluate(captured.module, collectives=True) else replace(made, golden=None)


def _path(value: SSAValue, reader: Operation) -> list[SSAValue]:
    """The value and those before it that only move it, the first one first; each has one reader."""
    path = [value]
    while isinstance(op := path[0].owner, Operation) and has_trait(op, "placement") and len(list(path[0].uses)) == 1:
        path.insert(0, op.operands[0])
    return path


def _retype(value: SSAValue, dims: tuple[int, ...]) -> None:
    layout = layout_of(value.type)
    if layout is not None and shape(value) != dims:
        Rewriter.replace_value_with_new_type(value, layout.with_(dims).type_for(dims))


def _placement(op: Operation, config: str, mesh: Mesh, whole: Sequence[int], part: Sequence[int]) -> Placement:
    """The dimension that each axis cuts. Raises: LoweringError where the parts are not those of the mesh."""
    text = attribute_text(op.properties[config])
    if config == "mapper_config":
        given = [int(dim) if dim else None for dim in re.findall(r"<\s*(?:replicate|shard,\s*(-?\d+))", text)]
    else:
        given = [int(dim) for dim in re.findall(r"-?\d+", text.partition("mesh_shape")[0].partition("dims")[2].replace("i64", ""))]
    placed: list[int | None] = [None] * (2 - len(given))
    placed += [dim if dim is None else dim % len(whole) for dim in given]
    first, second = (dim if chips > 1 and dim is not None and whole[dim] != part[dim] else None for dim, chips in zip(placed, mesh.extents, strict=True))
    expected = list(whole)
    for dim, chips in zip((first, second), mesh.extents, strict=True):
        if dim is not None:
            expected[dim] //= chips
    if tuple(expected) != tuple(part):
        parts = f"{mesh.rows}x{mesh.columns} parts of {[*whole]}"
        raise LoweringError("the parts are not those of the mesh", op=op.name, location=place_of(op), expected=parts, got=f"{[*part]}")
    return first, second
