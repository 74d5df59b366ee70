"""State of lowering one TTIR function: values, their layouts, and the emission of TTNN ops.

A TTIR value is held as one TTNN value in the *logical* form (same shape) or in the *flat image* form: the dims reordered by
`order` to [N, H, W, C] and collapsed to [1, 1, N*H*W, C], which convolutions and pools read and write. Rules ask for what
they need with `get` (logical form, page layout, dtype) or `flat`; conversions are emitted once and remembered. Function
arguments take the layout of their first use, so that no conversion is needed for it.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from alchemist.errors import LoweringError
from alchemist.ir import access
from alchemist.ir.access import elements, shape
from alchemist.ir.attributes import DeviceType, Range
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources
from alchemist.ir.layout import HELD_AS, TTNNLayout, layout_of
from alchemist.ir.location import SourceInfo, sources_of
from alchemist.ir.scopes import paths_around
from alchemist.ir.value import Value
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import INLINE, LIFTED_NAME, NOTE
from alchemist.optimizer.movement import are_faster
from alchemist.options import CompilerOptions
from alchemist.passes.lower.configs import TRUNCATED_PART, WEIGHT_SPLIT
from alchemist.passes.views import joined, view_of

Shape = tuple[int, ...]
Rule = Callable[["Lowering", Operation], None]

RULES: dict[str, Rule] = {}

INTEGERS = ("si32", "u32", "u16", "u8")
_WIDER = {"u8": "si32", "u16": "si32"}
"""Few ops of the library support 8 and 16 bits: only arguments have them, computed values are wider."""
TILE = "tile"
ROW_MAJOR = "row_major"


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers a lowering rule for TTIR ops (names without dialect)."""

    def add(function: Rule) -> Rule:
        for name in names:
            RULES[f"ttir.{name}"] = function
        return function

    return add


@dataclass(frozen=True, slots=True)
class Entry:
    """value: the TTNN value. order: None for the logical form, else the dim order of the flat image form."""

    value: SSAValue
    order: tuple[int, ...] | None = None


class Tensor(Value):
    """A TTNN value in an expression. A number beside it is a literal of its data type; what moves or converts it is remembered as in `Lowering`."""

    __slots__ = ("c",)

    def __init__(self, c: Lowering, ssa: SSAValue) -> None:
        super().__init__(c.b, ssa)
        self.c = c

    def with_(self, ssa: SSAValue) -> Self:
        return type(self)(self.c, ssa)

    def number(self, value: float) -> Self:
        dtype = layout(self.ssa).dtype
        return self.with_(self.c.scalar(int(value) if dtype in INTEGERS else float(value), dtype))

    def __truediv__(self, other: Value | SSAValue | float) -> Self:
        return self.op("divide", other)

    def cast(self, of: str) -> Self:
        return self.with_(self.c.convert(self.ssa, TILE, of))

    def reshape(self, *dims: int) -> Self:
        return self.with_(self.c.reshape(self.ssa, dims))

    def permute(self, *order: int) -> Self:
        return self.with_(self.c.permute(self.ssa, order))


class Lowering:
    def __init__(self, func: FuncOp, block: Block, options: CompilerOptions) -> None:
        self.func = func
        self.block = block
        self.options = options
        self.b = Builder(block)
        self.op: Operation | None = None
        self.l1_small_bytes = 0
        self._entries: dict[SSAValue, Entry] = {}
        self._converted: dict[tuple[SSAValue, str], SSAValue] = {}
        self._arguments: dict[int, BlockArgument] = {}
        self._order: list[int] = []
        self._device: SSAValue | None = None
        self._scalars: dict[tuple[Any, str], SSAValue] = {}
        self._matrices: dict[tuple[Shape, bytes, str], SSAValue] = {}
        self._fixed = FixedValues(self.func)
        self.has_windows = any(has_trait(op, "window") for op in func.body.blocks[0].ops)

    # --- values ---------------------------------------------------------------------------------------------------------

    def dtype(self, value: SSAValue) -> str:
        """Device data type for the model's element type; integers of 8 and 16 bits are computed in 32."""
        return _WIDER.get(stored := self.stored_dtype(value), stored)

    def stored_dtype(self, value: SSAValue) -> str:
        """Device data type of a tensor from the caller, whose bits `ttir.bitcast_convert` reads."""
        element = access.element_type(value)
        dtype = HELD_AS.get(element)
        if dtype is None:
            raise LoweringError(f"no device data type for {element}", op=self.name, location=self.where)
        return dtype

    def actual(self, value: SSAValue) -> str:
        """Device data type of the converted value (booleans have that of the op that computes them)."""
        entry = self._entries.get(value)
        return _WIDER.get(stored := layout(entry.value).dtype, stored) if entry is not None else self.dtype(value)

    def is_image(self, value: SSAValue) -> tuple[int, ...] | None:
        """The dim order of a value held in flat image form, else None."""
        entry = self._entries.get(value)
        return entry.order if entry is not None else None

    def is_constant(self, value: SSAValue) -> bool:
        """Whether the value depends on parameters and constants alone (so that const-eval will compute it)."""
        return value in self._fixed

    def set(self, value: SSAValue, lowered: SSAValue, order: tuple[int, ...] | None = None) -> None:
        self._entries[value] = Entry(lowered, order)

    def get(self, value: SSAValue, page: str = TILE, dtype: str | None = None, *, host: bool = False, note: str = "") -> SSAValue:
        """The value in logical form with a page layout and data type (None: the one it has), on the device or the host."""
        entry = self._entries.get(value)
        if entry is None:
            entry = self._argument(value, page, dtype)
        if entry.order is not None:
            entry = self._logical(value, entry)
        return self.convert(entry.value, page, dtype or _WIDER.get(layout(entry.value).dtype), host=host, note=note)

    def flat(self, value: SSAValue, order: Sequence[int], page: str | None = None, dtype: str | None = None) -> SSAValue:
        """The value as [1, 1, N*H*W, C], where [N, H, W, C] are its dims in `order`."""
        order = tuple(order)
        dims = shape(value)
        n, h, w, c = (dims[i] for i in order)
        entry = self._entries.get(value)
        if entry is not None and entry.order == order:
            current = entry.value
        else:
            key = (value, f"flat {order}")
            cached = self._converted.get(key)
            if cached is None:
                root = self.pixels_of(value, order)
                if root is not None:
                    logical = self.get(root, self._page(root) or page or ROW_MAJOR)
                else:
                    logical = self.get(value, page or ROW_MAJOR)
                    if order != (0, 1, 2, 3):
                        logical = self.permute(logical, order)
                cached = self._converted[key] = self.reshape(logical, (1, 1, n * h * w, c))
            current = cached
        return self.convert(current, page or layout(current).page, dtype)

    def flat_page(self, value: SSAValue, order: Sequence[int]) -> str:
        """The page layout in which the value can be had as [1, 1, N*H*W, C] without a conversion, row-major where it has to be rearranged."""
        entry = self._entries.get(value)
        if entry is not None and entry.order == tuple(order):
            return layout(entry.value).page
        root = self.pixels_of(value, order)
        return (self._page(root) if root is not None else None) or ROW_MAJOR

    def _page(self, value: SSAValue) -> str | None:
        entry = self._entries.get(value)
        return layout(entry.value).page if entry is not None else None

    def pixels_of(self, value: SSAValue, order: Sequence[int]) -> SSAValue | None:
        """What the value is only another view of, if its elements lie there as [N, H, W, C]: tokens that are read as an image.

        None for a value that is rearranged, and for one that is no view.
        """
        view, chain = view_of(value)
        whole = math.prod(shape(view.root))
        if not chain or view.offset or whole != math.prod(shape(value)) or self.is_image(view.root) is not None:
            return None
        return view.root if view.permute(order).parts == joined([(whole, 1)]) else None

    def _logical(self, value: SSAValue, entry: Entry) -> Entry:
        key = (value, "logical")
        cached = self._converted.get(key)
        if cached is None:
            assert entry.order is not None
            dims = shape(value)
            ordered = tuple(dims[i] for i in entry.order)
            cached = self.reshape(entry.value, ordered)
            back = tuple(entry.order.index(i) for i in range(len(dims)))
            if back != tuple(range(len(dims))):
                cached = self.permute(cached, back)
            self._converted[key] = cached
        return Entry(cached)

    def _argument(self, value: SSAValue, page: str, dtype: str | None) -> Entry:
        """First use of a function argument: it gets the layout asked for, on the device, where programs load all tensors.

        Float dtypes are the model's own.
        """
        if not isinstance(value, BlockArgument):
            raise LoweringError("used before it was lowered", op=self.name, location=self.where)
        own = self.stored_dtype(value)
        element = access.element_type(value)
        if own in _WIDER and dtype != own:
            page = TILE  # in which the library casts them
        if dtype is not None and own in INTEGERS and dtype in ("si32", "u32") and not element.startswith("ui"):
            own = dtype
        return self.declare(value, page, own)

    def declare(self, value: BlockArgument, page: str, dtype: str) -> Entry:
        """Makes the lowered function's argument for `value`."""
        dims = shape(value)
        declared = TTNNLayout.make(dims, dtype, page)
        place = bisect.bisect_left(self._order, value.index)
        self._order.insert(place, value.index)
        argument = self.block.insert_arg(declared.type_for(dims), place)
        argument.location = value.location
        self._arguments[value.index] = argument
        entry = self._entries[value] = Entry(argument)
        return entry

    def declare_unused(self) -> None:
        for argument in self.func.body.blocks[0].args:
            if argument.index not in self._arguments:
                self.declare(argument, ROW_MAJOR, self.stored_dtype(argument))

    # --- emission -------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.op.name if self.op is not None else ""

    @property
    def where(self) -> str:
        infos = sources_of(self.op) if self.op is not None else ()
        return location_text(infos)

    def error(self, message: str, **details: str) -> LoweringError:
        """A LoweringError at the op in hand."""
        return LoweringError(message, op=self.name, location=self.where, **details)

    @property
    def device(self) -> SSAValue:
        if self._device is None:
            first = self.block.first_op
            b = Builder(self.block, first)
            self._device = b.op("ttnn.get_device", [], {}, [DeviceType()])
        return self._device

    def emit(
        self,
        name: str,
        operands: Sequence[Any],
        attributes: Mapping[str, Any] | None = None,
        dims: Sequence[int] | None = None,
        dtype: str = "",
        page: str = TILE,
        *,
        of: str = "",
        note: str = "",
    ) -> SSAValue:
        """A TTNN op with one result (name without dialect), whose type the op says, with elements `of` where given; else of `dims`, `dtype` and `page`."""
        with_note = {**(attributes or {}), NOTE: note} if note else attributes
        types = None if dims is None else [TTNNLayout.make(tuple(dims), dtype, page).type_for(tuple(dims))]
        return self.b.value(f"ttnn.{name}", operands, with_note, types, of=of)

    def emit_many(
        self, name: str, operands: Sequence[Any], attributes: Mapping[str, Any], results: Sequence[tuple[Shape, str]], page: str = TILE
    ) -> tuple[SSAValue, ...]:
        """The same with several results."""
        types = [TTNNLayout.make(dims, dtype, page).type_for(dims) for dims, dtype in results]
        return tuple(self.b.make(f"ttnn.{name}", operands, attributes, types).results)

    def convert(self, value: SSAValue, page: str = TILE, dtype: str | None = None, *, host: bool = False, note: str = "") -> SSAValue:
        """to_device / typecast / to_layout / from_device as needed, each made once per value."""
        have = layout(value)
        want = dtype or have.dtype
        if have.on_host and not host:
            value = self._step(value, "to_device", [value, self.device], have.with_(shape(value), buffer="dram"))
            have = layout(value)
        if want != have.dtype:
            value = self._step(value, "typecast", [value], have.with_(shape(value), dtype=want), note)
            have = layout(value)
        if page != have.page:
            value = self._step(value, "to_layout", [value], have.with_(shape(value), page=page))
            have = layout(value)
        if host and not have.on_host:
            value = self._step(value, "from_device", [value], have.with_(shape(value), buffer="system_memory"))
        return value

    def _step(self, value: SSAValue, name: str, operands: list[SSAValue], to: TTNNLayout, note: str = "") -> SSAValue:
        key = (value, f"{name} {to.dtype} {to.page}")
        cached = self._converted.get(key)
        if cached is None:
            cached = self.b.op(f"ttnn.{name}", operands, {NOTE: note} if note else {}, [to.type_for(shape(value))])
            self._converted[key] = cached
        return cached

    def fastest(self, root: SSAValue, *ways: Callable[[], SSAValue], beside: Sequence[SSAValue] = ()) -> SSAValue:
        """What the first way makes of `root`, or a later one whose ops behind `root` take less time by the clock; the others' ops are swept.

        beside: values whose users count, too.
        """
        chosen, fewest = root, None
        for way in ways:
            last, behind = self.block.last_op, {root, *beside}
            value = way()
            ops: list[Operation] = []
            while (last := self.block.first_op if last is None else last.next_op) is not None:
                if not behind.isdisjoint(last.operands):
                    behind.update(last.results)
                    ops.append(last)
            if fewest is None or are_faster(ops, fewest, self.options):
                chosen, fewest = value, ops
        return chosen

    def reshape(self, value: SSAValue, dims: Sequence[int]) -> SSAValue:
        dims = tuple(dims)
        if isinstance(value.owner, Operation) and value.owner.name == "ttnn.reshape":
            value = value.owner.operands[0]  # the reshape between is swept when nothing else uses it
        if shape(value) == dims:
            return value
        key = (value, f"reshape {dims} {self._module()}")
        cached = self._converted.get(key)
        if cached is None:
            cached = self._converted[key] = self.emit("reshape", [value], {"shape": dims})
        elif self.op is not None and isinstance(cached.owner, Operation):
            add_sources(cached.owner, self.op, before=False)
        return cached

    def _module(self) -> tuple[str, ...]:
        """The module around the op in hand: what one module makes of a value, another one makes for itself."""
        return paths_around(sources_of(self.op)) if self.op is not None else ()

    def permute(self, value: SSAValue, order: Sequence[int], note: str = "") -> SSAValue:
        """`ttnn.transpose` for the last two dims, `ttnn.permute` for anything else."""
        order = tuple(order)
        dims = shape(value)
        rank = len(dims)
        if order == tuple(range(rank)):
            return value
        maker = value.owner
        if isinstance(maker, Operation) and maker.name == "ttnn.transpose" and order == (*range(rank - 2), rank - 1, rank - 2):
            if {access.attr(maker, "dim0"), access.attr(maker, "dim1")} == {rank - 2, rank - 1}:
                return maker.operands[0]  # there and back: the first one is swept when nothing else uses it
        if order == (*range(rank - 2), rank - 1, rank - 2):
            return self.emit("transpose", [value], {"dim0": rank - 2, "dim1": rank - 1}, note=note)
        return self.emit("permute", [value], {"permutation": order}, note=note)

    def fitting(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Integers as the device can hold them. int64's extremes, which models use as "no value", become int32's.

        Raises:
            LoweringError: a value beyond 32 bits.
        """
        if values.dtype.kind not in "iu" or not values.size:
            return values
        if values.dtype == np.int64:
            widest, narrow = np.iinfo(np.int64), np.iinfo(np.int32)
            values = np.where(values == widest.max, narrow.max, np.where(values == widest.min, narrow.min, values))
        if values.min() < -(2**31) or values.max() > 2**32 - 1:
            raise self.error("a constant does not fit 32 bits", got=f"{values.min()} .. {values.max()}", hint="TT-NN has no 64-bit integers")
        return values

    def product_weight(self, value: SSAValue, page: str = TILE, *, host: bool = False) -> SSAValue:
        """A constant operand of a product, converted as `convert` does. With `round_weights` a float32 one is rounded to what the matrix engine reads
        of it, and larger by what the engine truncates off the other operand."""
        if self.options.round_weights and layout(value).dtype == "f32":
            larger = "larger by what the matrix engine truncates off the other operand, on average"
            tiled = self.emit("multiply", [self.convert(value, TILE), self.scalar(1 + TRUNCATED_PART, "f32")], note=larger)
            note = "rounded to what the matrix engine reads of a float32: it would truncate"
            scaled = self.emit("multiply", [tiled, self.scalar(WEIGHT_SPLIT, "f32")], note=note)
            value = self.emit("subtract", [scaled, self.emit("subtract", [scaled, tiled])])
        return self.convert(value, page, host=host)

    def scalar(self, number: int | float, dtype: str) -> SSAValue:
        """An inline scalar: a literal argument of the op that takes it."""
        if isinstance(number, int) and not isinstance(number, bool):
            number = int(self.fitting(np.asarray(number)))
        key = (repr(number), dtype)
        cached = self._scalars.get(key)
        if cached is None:
            kind = TTNNLayout.make((), dtype).type_for(())
            attributes = {"shape": (), "fill_value": number, INLINE: UnitAttr()}
            b = Builder(self.block, self.block.first_op)
            cached = self._scalars[key] = b.op("ttnn.full", [], attributes, [kind])
        return cached

    def matrix(self, values: np.ndarray[Any, Any], dtype: str, name: str) -> SSAValue:
        """A constant that lowering adds, in tiles, once for equal values. name: of the argument that it becomes."""
        key = (values.shape, values.tobytes(), dtype)
        cached = self._matrices.get(key)
        if cached is None:
            attributes = {"value": elements(values, "f32"), LIFTED_NAME: name}
            stored = self.emit("constant", [self.device], attributes, values.shape, dtype, ROW_MAJOR)
            cached = self._matrices[key] = self.convert(stored, TILE)
        return cached


def layout(value: SSAValue) -> TTNNLayout:
    result = layout_of(value.type)
    assert result is not None, "a lowered value has a layout"
    return result


def user_per_core(dims: Shape, dtype: str) -> TTNNLayout:
    """Layout of [1, B, H, D] height-sharded in L1: the heads of each user on a core of its own, rows of eight cores."""
    return TTNNLayout.make(dims, dtype, TILE, "l1", "height_sharded", (dims[1], 1), first_cores(dims[1]))


def first_cores(cores: int, width: int = 8) -> tuple[Range, ...]:
    """Ranges of the first cores of a grid, row by row of `width`."""
    whole, rest = divmod(cores, width)
    return (*((((0, 0), (width - 1, whole - 1)),) if whole else ()), *((((0, whole), (rest - 1, whole)),) if rest else ()))


def location_text(infos: Sequence[SourceInfo]) -> str:
    for info in infos:
        if info.frames:
            return f"{info.frames[-1].file}:{info.frames[-1].line}"
    return infos[0].name if infos else ""
