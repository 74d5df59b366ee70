"""Lowers collectives between the chips of a mesh."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import Operation

from alchemist.errors import LoweringError
from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.location import place_of
from alchemist.ops.spec import MESH
from alchemist.passes.lower.configs import wide_sums_config
from alchemist.passes.lower.context import ROW_MAJOR, TILE, Lowering, layout, rule
from alchemist.passes.lower.norm import vector


@rule("all_reduce", "all_gather", "reduce_scatter", "mesh_partition")
def _collective(c: Lowering, op: Operation) -> None:
    """Tiled; the library splits only at whole tiles, so smaller parts are split row-major."""
    result, name = op.results[0], op.name.removeprefix("ttir.")
    dims, page = shape(result), TILE
    if name == "mesh_partition":
        dim = access.attr(op, "dim") % len(dims)
        page = ROW_MAJOR if len(dims) < 2 or (dim >= len(dims) - 2 and dims[dim] % TILE_EDGE) else TILE
    value = c.get(op.operands[0], page)
    c.set(result, c.emit(name, [value], access.declared(op), dims, layout(value).dtype, page))


def _chips_along(op: Operation, axis: int) -> int:
    """Of the mesh that the module is for."""
    module = op.parent_op()
    while module is not None and MESH not in module.attributes:
        module = module.parent_op()
    assert module is not None
    name: Any = module.attributes[MESH]
    return int(name.data.rpartition("@")[2].split("x")[axis])


@rule("distributed_rms_norm")
def _norm_of_parts(c: Lowering, op: Operation) -> None:
    """Each chip's sums of squares, those of all chips, and the norm of its part. The kernels have no float32, and want four dims."""
    result, axis = op.results[0], access.attr(op, "cluster_axis")
    dims, config = shape(result), wide_sums_config(c.options)
    chips = _chips_along(op, axis)
    if access.operand(op, "residual") is not None:
        raise LoweringError("a norm over chips that adds a residual is not written yet", op=op.name, location=place_of(op), hint="add it before")
    four = (1,) * (4 - len(dims)) + dims if len(dims) < 5 else (1, math.prod(dims[:-2]), *dims[-2:])
    value = c.reshape(c.get(op.operands[0], TILE, "bf16"), four)
    weight = vector(c, access.operand(op, "weight"), dims[-1], "bf16")
    squares = c.emit("rms_norm_pre_all_gather", [value], {"compute_config": config}, (*four[:-1], TILE_EDGE), "bf16")
    gathered = {"all_gather_dim": 3, "cluster_axis": axis}
    squares = c.emit("all_gather", [squares], gathered, (*four[:-1], TILE_EDGE * chips), "bf16")
    attributes = {"epsilon": access.attr(op, "epsilon"), "compute_config": config}
    c.set(result, c.reshape(c.emit("rms_norm_post_all_gather", [value, squares, weight], attributes), dims))
