"""The properties of a card that the optimizer uses."""

from __future__ import annotations

from dataclasses import dataclass

from ttnn_shim.queries import card as facts_of
from xdsl.dialects.builtin import ModuleOp, StringAttr

from alchemist.ops.spec import MESH


@dataclass(frozen=True, slots=True)
class Machine:
    """card: as `ttnn_shim.query` takes it. grid: columns and rows of worker cores. l1_bytes: of a core, for tensors and buffers."""

    card: str
    architecture: str
    grid: tuple[int, int]
    l1_bytes: int
    dram_banks: int = 12

    def rectangle(self, cores: int) -> tuple[int, int]:
        """The grid with the fewest cores beside `cores`, of those the widest; programs fill it row by row."""
        columns, rows = self.grid
        grids = [(width, -(-cores // width)) for width in range(min(cores, columns), 0, -1) if -(-cores // width) <= rows]
        return min(grids, key=lambda grid: grid[0] * grid[1])


def machine(card: str, module: ModuleOp | None = None) -> Machine:
    """Of the card, or of each chip of the mesh that the module is for: collectives have a price there."""
    mesh = module.attributes.get(MESH) if module is not None else None
    card = mesh.data if isinstance(mesh, StringAttr) and "@" in mesh.data else card
    facts = facts_of(card)
    return Machine(card if "@" in card else facts.name, facts.architecture, facts.grid, facts.l1_bytes, facts.dram_banks)
