"""Lowers collectives between the chips of a mesh."""

from __future__ import annotations

from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.layout import TILE_EDGE
from alchemist.passes.lower.context import ROW_MAJOR, TILE, Lowering, layout, rule


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
