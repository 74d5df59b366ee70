"""Meshes and shardings as StableHLO states them (Shardy, GSPMD, tt-xla's attributes), over the rows and columns of chips.

Shardy names axes: `#sdy.sharding<@mesh, [{"batch"}, {}]>`. GSPMD numbers devices: `{devices=[2,1,4]<=[8] last_tile_dim_replicate}`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from alchemist.errors import FrontendError
from alchemist.frontends.base import AXES
from alchemist.frontends.stablehlo.values import Unsupported, Val
from alchemist.ir.attributes import OpaqueAttr, tensor
from alchemist.ir.location import to_location
from alchemist.ir.parser import foreign_class
from alchemist.ir.printer import attribute_text
from alchemist.ops.expand import CONSTRAINT, MESHES, sizes_of_meshes

if TYPE_CHECKING:
    from alchemist.frontends.stablehlo.convert import Converter

Array = np.ndarray[Any, Any]
_AXIS_SIZE = re.compile(r'"?([\w.-]+)"?\s*=\s*(\d+)')
_DIMENSION = re.compile(r"\{([^{}]*)\}")
_AXIS = re.compile(r'"([^"]+)"(:\(\d+\)\d+)?')
_TILES = re.compile(r"devices=\[([\d,]+)\](?:<=\[([\d,]+)\](?:T\(([\d,]+)\))?|([\d,]+))")


@dataclass(frozen=True, slots=True)
class Sharding:
    """dims: the axes of chips ("rows", "columns") that cut each dimension, the outermost first. open: dimensions that may be cut further."""

    dims: tuple[tuple[str, ...], ...]
    open: tuple[bool, ...]

    def attribute(self) -> OpaqueAttr:
        """Shardy's attribute over the chips' axes."""
        texts = [", ".join([f'"{axis}"' for axis in axes] + ["?"] * is_open) for axes, is_open in zip(self.dims, self.open, strict=True)]
        return OpaqueAttr(("#sdy.sharding", f"<@mesh, [{', '.join(f'{{{text}}}' for text in texts)}]>"))

    def part(self, shape: Sequence[int], extents: Mapping[str, int]) -> tuple[int, ...]:
        """Raises: Unsupported where chips do not divide a dimension."""
        counts = [math.prod(extents[axis] for axis in axes) for axes in self.dims]
        if len(counts) != len(shape) or any(size % count for size, count in zip(shape, counts, strict=True)):
            raise Unsupported(f"parts of {[*shape]} over {counts} chips", hint="give it dimensions that the chips divide")
        return tuple(size // count for size, count in zip(shape, counts, strict=True))


def sharding_of(attribute: Attribute) -> Sharding:
    """The inverse of `Sharding.attribute`."""
    return _parsed(str(attribute.data[1]), dict(zip(AXES, AXES, strict=True)))  # type: ignore[attr-defined]


def _parsed(text: str, chips: Mapping[str, str]) -> Sharding:
    """chips: axis of the mesh -> axis of chips, "" of one with a single device."""
    if "unreduced={" in text:
        raise Unsupported("a value that is a summand on each chip (unreduced axes)", hint="sum it first: jax.lax.psum, or out_sharding without unreduced")
    dims, opened = [], []
    for dim in _DIMENSION.findall(re.sub(r"replicated\s*=\s*\{[^}]*\}", "", text)):
        axes = []
        for name, part in _AXIS.findall(dim):
            if name not in chips:
                raise Unsupported(f"the sharding names no axis of its mesh: {name[:40]}", hint=f"its axes are {', '.join(chips) or 'none'}")
            if part and chips[name]:
                raise Unsupported(f'part of an axis ("{name[:40]}"{part})', hint="give the part an axis of its own in the mesh")
            axes += [chips[name]] if chips[name] else []
        dims.append(tuple(axes))
        opened.append("?" in dim)
    return Sharding(tuple(dims), tuple(opened))


class Meshes:
    """The mesh of a module. extents: rows and columns of chips, (1, 1) where the module is for one."""

    def __init__(self, module: ModuleOp) -> None:
        """Raises: FrontendError for a mesh of more than two axes, several meshes of other extents, GSPMD shardings that no mesh of two axes has."""
        self.extents = (1, 1)
        stated = sizes_of_meshes(module.attributes[MESHES]) if MESHES in module.attributes else []
        self._axes: dict[str, dict[str, str]] = {}
        for name, text in _named_meshes(module):
            sizes = {axis: int(size) for axis, size in _AXIS_SIZE.findall(text.partition("device_ids")[0])}
            self._axes[name] = self._on_chips(sizes)
        tilings = [tiling for text in _gspmd_texts(module) if (tiling := _tiling(text)) is not None]
        if tilings and self.extents == (1, 1):
            self.extents = _fitting(tilings)
        if len(stated) == 1 and len(stated[0]) == 2:
            self.take((stated[0][0], stated[0][1]))

    @property
    def chips(self) -> int:
        return math.prod(self.extents)

    @property
    def sizes(self) -> dict[str, int]:
        return dict(zip(AXES, self.extents, strict=True))

    def _on_chips(self, sizes: Mapping[str, int]) -> dict[str, str]:
        large = [axis for axis, size in sizes.items() if size > 1]
        if len(large) > 2:
            given = "x".join(str(size) for size in sizes.values())
            raise FrontendError("a mesh of more than two axes", op="sdy.mesh", expected="rows and columns of chips", got=given, hint="join two of the axes")
        extents = (1,) * (2 - len(large)) + tuple(sizes[axis] for axis in large)
        if large and self.extents != (1, 1) and extents != self.extents:
            raise FrontendError("several meshes", op="sdy.mesh", expected=f"one of {self.extents}", got=f"{extents}", hint="use one mesh in the whole program")
        if large:
            self.extents = extents[0], extents[1]
        on = dict(zip(large, AXES[2 - len(large) :], strict=True))
        return {axis: on.get(axis, "") for axis in sizes}

    def take(self, extents: tuple[int, int]) -> None:
        """The mesh of a module that states none."""
        if self.extents == (1, 1):
            self.extents = extents

    def shardings(self, attribute: Attribute | None, count: int) -> list[Sharding]:
        """Of `#sdy.sharding` or `#sdy.sharding_per_value`, or the text of either; as many as values. Raises: Unsupported."""
        if attribute is None:
            return []
        text = attribute.data if isinstance(attribute, StringAttr) else attribute_text(attribute)
        if "maximal" in text:
            raise Unsupported("a value on one of several chips", hint="all chips run the same program: leave it whole")
        inline = re.search(r"<\s*mesh<(\[[^\]]*\])", text)
        starts = [match.end() for match in re.finditer(r"<\s*(?:@[\w.$-]+|mesh<\[[^\]]*\][^>]*>)\s*,", text)]
        names = re.findall(r"<\s*(?:@([\w.$-]+)|mesh<)", text)
        made = []
        for start, end, name in zip(starts, [*starts[1:], len(text)], names, strict=False):
            chips = self._on_chips(dict((axis, int(size)) for axis, size in _AXIS_SIZE.findall(inline[1]))) if inline and not name else self._axes.get(name)
            if chips is None:
                raise Unsupported(f"a sharding over a mesh that the module does not have: @{name[:40]}")
            made.append(_parsed(text[start:end], chips))
        if len(made) != count:
            raise Unsupported(f"{len(made)} shardings for {count} values")
        return made

    def manual(self, attribute: Attribute | None, names: Collection[str], count: int) -> list[Sharding]:
        """The same, of the axes with these names alone."""
        kept = {chips for axes in self._axes.values() for name, chips in axes.items() if name in names}
        given = self.shardings(attribute, count)
        return [Sharding(tuple(tuple(axis for axis in axes if axis in kept) for axes in one.dims), (False,) * len(one.dims)) for one in given]

    def stated(self, facts: Mapping[str, Attribute], rank: int) -> Sharding | None:
        """What the attributes of an argument, a result or an op say."""
        given = facts.get("sdy.sharding") or frontend_sharding(facts)
        if given is not None:
            return self.shardings(given, 1)[0]
        text = facts.get("mhlo.sharding")
        return self.gspmd(text.data, rank) if isinstance(text, StringAttr) else None

    def gspmd(self, text: str, rank: int) -> Sharding | None:
        """Of the text of `mhlo.sharding`; None where it says nothing (`{manual}`)."""
        if "manual" in text:
            return None
        if "maximal" in text:
            raise Unsupported("a value on one of several chips", hint="all chips run the same program: leave it whole")
        tiling = _tiling(text)
        if tiling is None:
            return Sharding(((),) * rank, (False,) * rank)
        dims = _cut(tiling, self.extents)
        if dims is None or len(tiling.counts) != rank:
            raise Unsupported(f"a sharding that no axes of {self.extents[0]}x{self.extents[1]} chips give: {text[:100]}")
        return Sharding(dims, (False,) * rank)


def placed(c: Converter, name: str, val: Val, sharding: Sharding, shape: tuple[int, ...]) -> Val:
    """One of the three ops above, with a result of this shape."""
    properties, source = {"sharding": sharding.attribute()}, c.e.source
    location = None if source is None else to_location([source])
    op = foreign_class(name).create(operands=[c.e.full(val)], result_types=[tensor(shape, val.of)], properties=properties, location=location)
    c.e.b.insert(op)
    return Val(shape, val.of, op.results[0])


def constrained(c: Converter, val: Val, sharding: Sharding | None) -> Val:
    """The value, placed on the chips as `sharding` says."""
    if sharding is None or c.meshes.chips == 1 or val.const is not None or c.is_local:
        return val
    if len(sharding.dims) != len(val.shape):
        raise Unsupported(f"a sharding of {len(sharding.dims)} dimensions for {len(val.shape)}")
    return placed(c, CONSTRAINT, val, sharding, val.shape)


def annotated(c: Converter, vals: Sequence[Val], facts: Sequence[Mapping[str, Attribute]]) -> list[Val]:
    """The values with what attributes say of each: those of an op, of a function's arguments or of its results."""
    if c.meshes.chips == 1:
        return list(vals)
    return [constrained(c, val, c.meshes.stated(one, len(val.shape))) for val, one in zip(vals, facts or [{}] * len(vals), strict=True)]


def without_constraints(func: FuncOp) -> None:
    """Takes constraints out of a function; its values stay what they are."""
    for op in [op for op in func.body.block.ops if op.name == CONSTRAINT]:
        op.results[0].replace_all_uses_with(op.operands[0])
        func.body.block.erase_op(op)


def on_arguments(func: FuncOp) -> None:
    """What constraints say of a function's arguments becomes `sdy.sharding` of the arguments, as tt-mlir has it, if nothing else reads them."""
    described = [dict(facts) for facts in facts_of(func, "arg_attrs")]
    for arg, facts in zip(func.body.block.args, described, strict=False):
        ops = [use.operation for use in arg.uses]
        if ops and all(op.name == CONSTRAINT for op in ops) and len({op.properties["sharding"] for op in ops}) == 1:
            facts["sdy.sharding"] = ops[0].properties["sharding"]
            for op in ops:
                op.results[0].replace_all_uses_with(arg)
                func.body.block.erase_op(op)
    if described:
        func.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(facts) for facts in described])


# --- where a module states meshes ---------------------------------------------------------------------------------------------


def _named_meshes(module: ModuleOp) -> Iterator[tuple[str, str]]:
    """`sdy.mesh` ops, and tt-xla's `xla.sdy.meshes` in the module's attributes."""
    for op in module.walk():
        if op.name == "sdy.mesh":
            name, mesh = op.properties.get("sym_name"), op.properties.get("mesh")
            if isinstance(name, StringAttr) and mesh is not None:
                yield name.data, attribute_text(mesh)
    facts = module.attributes.get("mhlo.frontend_attributes")
    stated = facts.data.get("xla.sdy.meshes") if isinstance(facts, DictionaryAttr) else None
    if isinstance(stated, StringAttr):
        for name, body in re.findall(r"(\w+)\s*=\s*#sdy\.mesh<([^>]*)>", stated.data.replace("\\22", '"').replace('\\"', '"')):
            yield name, body


def frontend_sharding(facts: Mapping[str, Attribute]) -> StringAttr | None:
    """tt-xla's `mhlo.frontend_attributes = {xla.sdy.sharding = "..."}`."""
    given = facts.get("mhlo.frontend_attributes")
    stated = given.data.get("xla.sdy.sharding") if isinstance(given, DictionaryAttr) else None
    return StringAttr(stated.data.replace("\\22", '"').replace('\\"', '"')) if isinstance(stated, StringAttr) else None


def _gspmd_texts(module: ModuleOp) -> Iterator[str]:
    for op in module.walk():
        if isinstance(text := op.properties.get("mhlo.sharding"), StringAttr):
            yield text.data
        for facts in (*facts_of(op, "arg_attrs"), *facts_of(op, "res_attrs")) if isinstance(op, FuncOp) else ():
            if isinstance(text := facts.get("mhlo.sharding"), StringAttr):
                yield text.data


def facts_of(op: Operation, key: str) -> list[Mapping[str, Attribute]]:
    """The dictionaries of a function's arguments ("arg_attrs") or results ("res_attrs")."""
    given = op.properties.get(key)
    return [one.data if isinstance(one, DictionaryAttr) else {} for one in given.data] if isinstance(given, ArrayAttr) else []


# --- GSPMD: devices by number -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tiling:
    """counts: parts of each dimension. devices: their numbers, in an array of `counts` and the devices that have the same part."""

    counts: tuple[int, ...]
    devices: Array


def _tiling(text: str) -> _Tiling | None:
    """None of a sharding that cuts nothing."""
    found = _TILES.search(text)
    if found is None:
        return None
    counts = [int(size) for size in found[1].split(",")]
    if found[4]:
        devices = np.array([int(number) for number in found[4].split(",")])
    else:
        sizes = [int(size) for size in found[2].split(",")]
        devices = np.arange(math.prod(sizes)).reshape(sizes)
        devices = devices.transpose([int(axis) for axis in found[3].split(",")]) if found[3] else devices
    if math.prod(counts) != devices.size:
        raise FrontendError("a sharding of other devices than its tiles", op="mhlo.sharding", got=text[:100])
    subgroups = re.search(r"last_tile_dims=\{([^}]*)\}", text)
    kept = len(counts) - (1 if "last_tile_dim_replicate" in text else len(subgroups[1].split(",")) if subgroups else 0)
    return _Tiling(tuple(counts[:kept]), devices.reshape(*counts[:kept], -1))


def _cut(tiling: _Tiling, extents: tuple[int, int]) -> tuple[tuple[str, ...], ...] | None:
    """The axes of chips that cut each dimension; None where none do."""
    rows, columns = extents
    if tiling.devices.size != rows * columns:
        return None
    tile = {int(device): place[:-1] for place, device in np.ndenumerate(tiling.devices)}
    places = np.array([[tile[row * columns + column] for column in range(columns)] for row in range(rows)]).reshape(rows, columns, -1)
    dims: list[tuple[str, ...]] = []
    for dim, count in enumerate(tiling.counts):
        held = places[:, :, dim]
        row, column = np.arange(rows)[:, None] + 0 * held, np.arange(columns)[None, :] + 0 * held
        for axes, wanted, size in ((), 0 * held, 1), (AXES[:1], row, rows), (AXES[1:], column, columns), (AXES, row * columns + column, rows * columns):
            if size == count and np.array_equal(held, wanted):
                dims.append(tuple(axis for axis, chips in zip(AXES, extents, strict=True) if axis in axes and chips > 1))
                break
        else:
            return None
    return tuple(dims)


def _fitting(tilings: Sequence[_Tiling]) -> tuple[int, int]:
    """The mesh whose axes give all of the shardings; of one axis if that does."""
    count = tilings[0].devices.size
    for rows in range(1, count + 1):
        if count % rows == 0 and all(_cut(tiling, (rows, count // rows)) is not None for tiling in tilings):
            return rows, count // rows
    raise FrontendError(f"GSPMD shardings that no mesh of {count} chips in rows and columns has", op="mhlo.sharding")


def axes_of_groups(groups: Array, extents: tuple[int, int]) -> tuple[int, ...] | None:
    """The axes of chips along which these groups of chips are, the outer one first; None where they are no axis. Groups of one: ()."""
    rows, columns = extents
    chips = np.arange(rows * columns).reshape(rows, columns)
    for axes, wanted in ((), chips.reshape(-1, 1)), ((1,), chips), ((0,), chips.T), ((0, 1), chips.reshape(1, -1)):
        if sorted(map(tuple, groups.tolist())) == sorted(map(tuple, wanted.tolist())):
            return tuple(axis for axis in axes if extents[axis] > 1)
    return None


def extents_of_groups(groups: Array) -> tuple[int, int]:
    """The mesh that a collective with these groups of chips is for, where nothing else says it: consecutive numbers are a row."""
    count, size = groups.shape
    return (count, size) if size < 2 or groups[0, 1] == groups[0, 0] + 1 else (size, count)
