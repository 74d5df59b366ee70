"""A partitioned TTIR function on numpy, all chips step by step: what programs for a mesh are checked against."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import InternalError
from alchemist.frontends.base import AXES, Argument, FrontendResult, Mesh
from alchemist.ir import access
from alchemist.ir.edit import functions
from alchemist.ir.location import place_of
from alchemist.ir.op_class import named
from alchemist.mesh.placements import Array, groups, joined, parts, parts_of_cut
from alchemist.mesh.shardy import Cut
from alchemist.mesh.stated import computing_ops
from alchemist.ops import evaluate_ttnn
from alchemist.ops.evaluate import can_evaluate, evaluate, hold
from alchemist.ops.expand import CONSTRAINT

MOST_PRODUCTS, MOST_ARGUMENT_BYTES = 3e9, 2**28
"""Multiplications of a call, and bytes of its arguments, up to which `compare` runs: about a second."""
_PRODUCTS_PER_ELEMENT = 20
"""Multiplications of a matrix product that take the time of one element of any other op."""
_TOLERANCE = 1e-4
"""Of the largest value of operands and result: how far sums in another order may be off. Faults of a partition are off by a whole summand."""


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
        made = [_collective(op, [values[value] for value in op.operands], mesh)] if access.attr(op, "cluster_axis") is not None else _on_each(op, values, mesh)
        values.update(zip(op.results, made, strict=True))
    outputs = []
    for output, chips in zip(captured.outputs, found, strict=True):
        whole = joined(chips, output.placement, mesh)
        for chip, part in enumerate(parts(whole, output.placement, mesh)):
            if not np.array_equal(part, chips[chip], equal_nan=True):
                raise InternalError(f"chip {chip} has other values of {output.name} than the chips that should have the same")
        outputs.append(whole)
    return outputs


@dataclass(frozen=True, slots=True)
class Lies:
    """whole: the value of the function before it was partitioned. cut: how a value of the partitioned one lies on the mesh. is_partial: chips have
    summands."""

    whole: SSAValue
    cut: Cut
    is_partial: bool


def is_cheap(whole: FuncOp, arguments: Sequence[Argument]) -> bool:
    """Whether `compare` takes about a second at most, and knows every op."""
    ops = computing_ops(whole)
    argument_bytes = sum(math.prod(argument.shape) * 4 for argument in arguments)
    return argument_bytes <= MOST_ARGUMENT_BYTES and all(map(can_evaluate, ops)) and sum(map(_products, ops)) <= MOST_PRODUCTS


def _products(op: Operation) -> float:
    sizes = [math.prod(access.shape(value)) for value in (*op.operands[:2], *op.results[:1])]
    return math.sqrt(math.prod(sizes)) if op.name in named("ttir", "product") else _PRODUCTS_PER_ELEMENT * sum(sizes)


def compare(whole: FuncOp, local: FuncOp, lies: Mapping[SSAValue, Lies], arguments: Sequence[Argument], mesh: Mesh) -> None:
    """Runs a function and its partitioned form side by side on the arguments' values.

    Each op of the partitioned form gets the parts of the whole function's values, so that no op's rounding reaches another op's choice.

    Raises: InternalError that names the first op whose chips have other values than the parts of the whole.
    """
    wholes: dict[SSAValue, Array] = {}
    for arg, argument in zip(whole.body.block.args, arguments, strict=False):  # the partitioned function may have more
        wholes[arg] = hold(argument.value(), arg)
    for op in whole.body.block.ops:
        if op.name == CONSTRAINT:
            wholes[op.results[0]] = wholes[op.operands[0]]
        elif not isinstance(op, ReturnOp):
            wholes.update(zip(op.results, evaluate(op, wholes), strict=True))
    values: dict[SSAValue, list[Array]] = {}
    for arg, argument in zip(local.body.block.args, arguments, strict=True):
        values[arg] = [hold(part, arg) for part in parts(argument.value(), argument.placement, mesh)]
    for op in local.body.block.ops:
        if isinstance(op, ReturnOp):
            return
        made = [_collective(op, [values[value] for value in op.operands], mesh)] if access.attr(op, "cluster_axis") is not None else _on_each(op, values, mesh)
        for result, chips in zip(op.results, made, strict=True):
            if result not in lies or lies[result].is_partial:
                values[result] = chips
                continue
            values[result] = parts_of_cut(wholes[lies[result].whole], lies[result].cut, mesh)
            scales = [_largest([want, *(values[value][chip] for value in op.operands)]) for chip, want in enumerate(values[result])]
            wrong = next((chip for chip, scale in enumerate(scales) if not _agree(chips[chip], values[result][chip], scale)), None)
            if wrong is not None:
                raise InternalError(
                    "a partitioned op computes other values than the whole model's", op=op.name, location=place_of(op),
                    expected=f"the values of its part, {list(values[result][wrong].shape)}", got=f"others on chip {wrong} of {mesh.rows}x{mesh.columns}",
                )  # fmt: skip


def _largest(tensors: Sequence[Array]) -> float:
    """The largest finite number among tensors of floats."""
    return max(float(np.abs(one[np.isfinite(one)]).max(initial=0.0)) if one.dtype.kind == "f" else 0.0 for one in tensors)


def _agree(got: Array, want: Array, scale: float) -> bool:
    if got.shape != want.shape or got.dtype.kind != "f":
        return np.array_equal(got, want)
    return np.allclose(got, want, rtol=_TOLERANCE, atol=_TOLERANCE * scale, equal_nan=True)


def _on_each(op: Operation, values: dict[SSAValue, list[Array]], mesh: Mesh) -> list[list[Array]]:
    """Results by chip; chips with the same operands compute once."""
    known: dict[tuple[int, ...], list[Array]] = {}
    chips = []
    for chip in range(mesh.rows * mesh.columns):
        operands = {value: values[value][chip] for value in op.operands}
        key = tuple(id(operands[value]) for value in op.operands)
        if key not in known:
            known[key] = evaluate_ttnn.evaluate(op, operands) if op.name.startswith("ttnn.") else evaluate(op, operands)
        chips.append(known[key])
    return [list(result) for result in zip(*chips, strict=True)]


def _collective(op: Operation, operands: Sequence[list[Array]], mesh: Mesh) -> list[Array]:
    chips, *weights = operands
    name, made = op.name.partition(".")[2], list(chips)
    for group in groups(mesh, AXES[access.attr(op, "cluster_axis")]):
        held = [chips[chip] for chip in group]
        if name == "mesh_partition":
            split = [np.split(part, len(group), access.attr(op, "dim"))[place] for place, part in enumerate(held)]
        elif name == "all_gather":
            split = [np.concatenate(held, access.attr(op, "all_gather_dim"))] * len(group)
        elif name == "distributed_rms_norm":
            power = np.mean(np.square(np.concatenate(held, -1, dtype=np.float64)), -1, keepdims=True) + access.attr(op, "epsilon")
            split = [(chips[chip] / np.sqrt(power) * (weights[0][chip] if weights else 1)).astype(chips[chip].dtype) for chip in group]
        else:
            total = np.sum(held, axis=0, dtype=np.float64 if held[0].dtype.kind == "f" else None).astype(held[0].dtype)
            dim = access.attr(op, "scatter_dim")
            split = [total] * len(group) if dim is None else np.split(total, len(group), dim)
        for chip, part in zip(group, split, strict=True):
            made[chip] = part
    return made
