"""A partitioned TTIR module on numpy, all chips step by step: what programs for a mesh are checked against."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import InternalError
from alchemist.frontends.base import AXES, FrontendResult, Mesh
from alchemist.ir import access
from alchemist.ir.edit import functions
from alchemist.mesh.placements import Array, groups, joined, parts
from alchemist.ops.evaluate import evaluate, hold


def run(captured: FrontendResult) -> list[Array]:
    """The outputs for the arguments' own values, joined.

    Raises: InternalError where chips that should have the same have not.
    """
    mesh = captured.mesh
    (func,) = functions(captured.module)
    values: dict[SSAValue, list[Array]] = {}
    for arg, argument in zip(func.args, captured.arguments, strict=True):
        values[arg] = [hold(part, arg) for part in parts(argument.value(), argument.placement, mesh)]
    for op in func.body.block.ops:
        if isinstance(op, ReturnOp):
            found = [values[value] for value in op.operands]
            break
        made = [_collective(op, values[op.operands[0]], mesh)] if access.attr(op, "cluster_axis") is not None else _on_each(op, values, mesh)
        values.update(zip(op.results, made, strict=True))
    outputs = []
    for output, chips in zip(captured.outputs, found, strict=True):
        whole = joined(chips, output.placement, mesh)
        for chip, part in enumerate(parts(whole, output.placement, mesh)):
            if not np.array_equal(part, chips[chip], equal_nan=True):
                raise InternalError(f"chip {chip} has other values of {output.name} than the chips that should have the same")
        outputs.append(whole)
    return outputs


def _on_each(op: Operation, values: dict[SSAValue, list[Array]], mesh: Mesh) -> list[list[Array]]:
    """Results by chip; chips with the same operands compute once."""
    known: dict[tuple[int, ...], list[Array]] = {}
    chips = []
    for chip in range(mesh.rows * mesh.columns):
        operands = {value: values[value][chip] for value in op.operands}
        key = tuple(id(operands[value]) for value in op.operands)
        if key not in known:
            known[key] = evaluate(op, operands)
        chips.append(known[key])
    return [list(result) for result in zip(*chips, strict=True)]


def _collective(op: Operation, chips: list[Array], mesh: Mesh) -> list[Array]:
    name, made = op.name.removeprefix("ttir."), list(chips)
    for group in groups(mesh, AXES[access.attr(op, "cluster_axis")]):
        held = [chips[chip] for chip in group]
        if name == "mesh_partition":
            split = [np.split(part, len(group), access.attr(op, "dim"))[place] for place, part in enumerate(held)]
        elif name == "all_gather":
            split = [np.concatenate(held, access.attr(op, "all_gather_dim"))] * len(group)
        else:
            total = np.sum(held, axis=0, dtype=np.float64 if held[0].dtype.kind == "f" else None).astype(held[0].dtype)
            dim = access.attr(op, "scatter_dim")
            split = [total] * len(group) if dim is None else np.split(total, len(group), dim)
        for chip, part in zip(group, split, strict=True):
            made[chip] = part
    return made
