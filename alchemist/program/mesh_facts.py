"""Rows of the header of a program for several chips: the mesh, the sharded tensors, the number of collectives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from alchemist.frontends.base import FrontendResult, Placement
from alchemist.ir.op_class import named
from alchemist.program.graph import Graph

_COLLECTIVES = {f"ttnn.{name.partition('.')[2]}" for name in named("ttir", "ccl")}


def mesh_facts(result: FrontendResult, graph: Graph) -> list[tuple[str, str]]:
    """(label, text); none for one chip. Layers of one kind are a row: `layers.*.up_proj.weight`."""
    mesh = result.mesh
    if mesh.rows * mesh.columns == 1:
        return []
    rows = [("Mesh", f"{mesh.rows} x {mesh.columns} chips of system {mesh.system}; every chip runs every call, and shapes are one chip's")]
    groups: dict[Placement, list[str]] = {}
    placements = [(one.placement, one.name) for one in result.arguments] + [(one.placement, one.name) for one in result.outputs]
    for placement, name in placements:
        groups.setdefault(placement, []).append(name)
    for placement, names in groups.items():
        if said := placed(placement):
            rows.append(("Sharded", f"{said}: {', '.join(_patterns(names))}"))
    rows.append(("Others", "replicated: each chip has the whole tensor"))
    counts: dict[str, int] = {}
    for node in (part for whole in graph.nodes for part in (whole.parts or (whole,))):
        if node.spec.name in _COLLECTIVES:
            kind = node.results[0].type
            text = f"{node.spec.name.partition('.')[2]} of {list(kind.shape)} {kind.dtype}"
            counts[text] = counts.get(text, 0) + 1
    listed = ", ".join(f"{count} {text}" for text, count in counts.items())
    rows.append(("Exchange", f"collectives: {listed}" if listed else "no collectives: no chip needs data of another"))
    return rows


def placed(placement: Placement) -> str:
    """ "dimension 1 over the columns of chips", "" for a replicated tensor."""
    said = [f"dimension {dim} over the {axis} of chips" for axis, dim in zip(("rows", "columns"), placement, strict=True) if dim is not None]
    return ", ".join(said)


def _patterns(names: Iterable[str]) -> Sequence[str]:
    return list(dict.fromkeys(re.sub(r"(?<=\.)\d+(?=\.)", "*", name) for name in names))
