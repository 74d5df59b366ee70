"""Compares the memory of a chip with what it needs: its weights, and the other tensors that are live at the same time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ttnn_shim.dtypes import BYTES, tile_bytes
from ttnn_shim.machine import System, card_of, cards, systems
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from alchemist.errors import OptionError
from alchemist.frontends.base import FrontendResult, Mesh
from alchemist.ir import access
from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.ir.location import place_of, sources_of
from alchemist.ops.library_names import DTYPES
from alchemist.passes.lower.context import location_text

_BYTES = {"f64": 4, "i64": 4, "ui64": 4, "i1": 2}
"""Of an element on the device, where it is not the type's own size: TT-NN has no 64-bit types."""


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes of one chip. other_bytes: inputs, outputs and computed tensors at their largest sum of live ones."""

    weight_bytes: float
    other_bytes: float

    @property
    def total_bytes(self) -> float:
        return self.weight_bytes + self.other_bytes


def check_fits(made: FrontendResult) -> str:
    """A line with what a chip needs, and the smallest mesh of the system that has room.

    Raises: OptionError where a chip has less memory.
    """
    mesh, system = made.mesh, systems()[made.mesh.system]
    room = card_of(system.name).dram_bytes
    need = need_on(made, mesh)
    smallest = next((found for found in _meshes(system) if need_on(made, found).total_bytes <= room), None)
    what = f"{_mb(need.weight_bytes)} of weights and {_mb(need.other_bytes)} of other tensors"
    if need.total_bytes <= room:
        fits = f"; {smallest.rows}x{smallest.columns} would be enough" if smallest and smallest.extents != mesh.extents else ""
        return f"each chip of {mesh.rows}x{mesh.columns} needs {what}, and has {_mb(room)}{fits}"
    near = [one for one in systems().values() if card_of(one.name).architecture == card_of(system.name).architecture]
    larger = [found for one in near for found in _meshes(one) if need_on(made, found).total_bytes <= room]
    first = min(larger, key=lambda found: found.rows * found.columns, default=None)
    raise OptionError(
        f"{made.model_name} does not fit on {mesh.rows}x{mesh.columns} chips of a {system.name}", expected=f"at most {_mb(room)} on each", got=what,
        hint=f"mesh=({first.rows}, {first.columns}) has room" if first else "no mesh has room: cut more of the weights, use bfloat16, or a smaller batch",
    )  # fmt: skip


def check_one_chip(lowered: ModuleOp, card: str) -> None:
    """Checks that an op's operands and results are in the card's memory together.

    Raises: OptionError for an op that needs more than the card has.
    """
    room = card_of(card).dram_bytes
    for function in lowered.walk():
        if not isinstance(function, FuncOp) or function.is_declaration:
            continue
        for op in function.body.block.ops:
            need = sum(_device_bytes(value) for value in {*op.operands, *op.results})
            if need > room and op.results:
                larger = next((name for name, one in cards().items() if name == one.name and one.dram_bytes >= need), "")
                raise OptionError(
                    f"{op.name} does not fit in the memory of one {card}",
                    location=location_text(sources_of(op)) or place_of(op),
                    expected=f"at most {_mb(room)} of operands and results",
                    got=_mb(need),
                    hint="use a smaller batch or bfloat16" + (f', or a card with more memory: compiler_options={{"arch": "{larger}"}}' if larger else ""),
                )


def _device_bytes(value: SSAValue) -> int:
    """Of a tensor in the card's DRAM; 0 of others."""
    layout = layout_of(value.type)
    if layout is None or layout.buffer != "dram":
        return 0
    count = math.prod(layout.shard_shape()) * math.prod(layout.grid)
    name = DTYPES.get(layout.dtype, layout.dtype)
    return count // TILE_EDGE**2 * tile_bytes(name) if layout.page == "tile" else count * BYTES[name]


def need_on(made: FrontendResult, mesh: Mesh) -> Need:
    """The need on another mesh with the same placements. Computed tensors scale with the batch."""
    ratios = [one / other for one, other in zip(made.mesh.extents, mesh.extents, strict=True)]
    function = access.entry_function(made.module)
    weights = inputs = 0.0
    batch = 1.0
    for argument, value in zip(made.arguments, function.body.block.args, strict=True):
        grown = math.prod(ratio for ratio, dim in zip(ratios, argument.placement, strict=True) if dim is not None)
        if argument.kind == "input":
            inputs, batch = inputs + _size(value) * grown, max(batch, grown) if grown > 1 else min(batch, grown)
        else:
            weights += _size(value) * grown
    return Need(weights, inputs + _most_at_once(made) * batch)


def _most_at_once(made: FrontendResult) -> int:
    """Bytes of results between their op and the last op that reads them, where they are the most."""
    block = access.entry_function(made.module).body.block
    place = {op: number for number, op in enumerate(block.ops)}
    ends: dict[int, int] = {}
    live = most = 0
    for op, number in place.items():
        if isinstance(op, ReturnOp):
            break
        for result in op.results:
            last = max((place[use.operation] for use in result.uses if use.operation in place), default=number)
            ends[last] = ends.get(last, 0) + _size(result)
            live += _size(result)
        most = max(most, live)
        live -= ends.pop(number, 0)
    return most


def _size(value: SSAValue) -> int:
    """In tiles."""
    dims = (1, 1, *access.shape(value))
    tiled = (*dims[:-2], *(-(-size // TILE_EDGE) * TILE_EDGE for size in dims[-2:]))
    element = access.element_type(value)
    return math.prod(tiled) * _BYTES.get(element, max(int("".join(filter(str.isdigit, element)) or 32) // 8, 1))


def _meshes(system: System) -> Iterator[Mesh]:
    """Of a system and its parts, those of few chips first."""
    found = [tuple(map(int, text.split("x"))) for text in (*system.parts, *system.meshes)]
    return iter(Mesh(rows, columns, system.name) for rows, columns in sorted(found, key=math.prod))


def _mb(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
