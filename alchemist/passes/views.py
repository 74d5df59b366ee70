"""Represents reshapes, permutes and slices as one strided view, and rewrites views to the fewest ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import defining, erase, functions, made_by, replace, rewrite, single_use
from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.location import is_gradient, sources_of
from alchemist.ir.value import Value, concat
from alchemist.passes.registry import Pass, register

# --- Reshapes, permutes and slices as one strided view of their source: the normal form, in which spellings of the same rearrangement are
# equal.

Dims = tuple[int, ...]
Part = tuple[int, int]
"""(size, stride in elements of the root, which is in row-major order)"""
Axis = tuple[Part, ...]
"""The parts that a dim joins, the outermost first; a dim of size 1 has none."""


def reshaped(b: Builder, value: SSAValue, dims: Sequence[int]) -> SSAValue:
    """`value` reshaped to `dims`; no op if it has them."""
    return Value(b, value).reshape(*dims).ssa


def permuted(b: Builder, value: SSAValue, order: Sequence[int]) -> SSAValue:
    """`value` permuted; no op for the identity."""
    return Value(b, value).permute(*order).ssa


def sliced(b: Builder, value: SSAValue, begins: Sequence[int], ends: Sequence[int]) -> SSAValue:
    """The part of `value` from `begins` to `ends`."""
    return Value(b, value).slice(begins, ends).ssa


def concatenated(b: Builder, values: Sequence[SSAValue], dim: int) -> SSAValue:
    """The concatenation of the values; no op for one value."""
    return concat([Value(b, value) for value in values], dim).ssa


def joined(parts: Iterable[Part]) -> Axis:
    """Merges adjacent parts with compatible strides."""
    parts_: list[Part] = []
    for size, stride in parts:
        if size == 1:
            continue
        if parts_ and parts_[-1][1] == size * stride:
            parts_[-1] = (parts_[-1][0] * size, stride)
        else:
            parts_.append((size, stride))
    return tuple(parts_)


def split(parts: Sequence[Part], sizes: Sequence[int]) -> tuple[Axis, ...] | None:
    """Splits the parts into axes of `sizes`; None if a part is not divisible."""
    rest = list(reversed(joined(parts)))
    if any(size == 0 for size, _ in rest):  # nothing to walk
        return None
    axes: list[Axis] = []
    for target in sizes:
        axis: list[Part] = []
        while target > 1:
            if not rest:
                return None
            size, stride = rest.pop()
            if target % size == 0:
                axis.append((size, stride))
                target //= size
            elif size % target == 0:
                inner = size // target
                axis.append((target, stride * inner))
                rest.append((inner, stride))
                target = 1
            else:
                return None
        axes.append(joined(axis))
    return tuple(axes) if not rest else None


def count(axis: Axis) -> int:
    return math.prod(size for size, _ in axis)


@dataclass(frozen=True, slots=True)
class View:
    """root: the value that is rearranged. axes: its dims. offset: element of the root where it starts."""

    root: SSAValue
    axes: tuple[Axis, ...]
    offset: int = 0

    @staticmethod
    def whole(root: SSAValue) -> View:
        dims = shape(root)
        strides = [math.prod(dims[place + 1 :]) for place in range(len(dims))]
        return View(root, tuple(joined([part]) for part in zip(dims, strides, strict=True)))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(count(axis) for axis in self.axes)

    @property
    def parts(self) -> Axis:
        """The parts of all dims in order."""
        return joined(part for axis in self.axes for part in axis)

    def reshape(self, dims: Sequence[int]) -> View | None:
        axes = split(self.parts, dims)
        return None if axes is None else View(self.root, axes, self.offset)

    def permute(self, order: Sequence[int]) -> View:
        return View(self.root, tuple(self.axes[place] for place in order), self.offset)

    def slice(self, begins: Sequence[int], sizes: Sequence[int]) -> View | None:
        """Slices consecutive elements of each dim; a slice of a dim of several parts has to keep its inner ones whole."""
        axes, offset = list(self.axes), self.offset
        for place, (axis, begin, size) in enumerate(zip(self.axes, begins, sizes, strict=True)):
            if (begin, size) == (0, count(axis)):
                continue
            (outer, stride), inner = axis[0], axis[1:]
            step = count(inner)
            if begin % step or size % step or begin + size > outer * step:
                return None
            offset += begin // step * stride
            axes[place] = joined([(size // step, stride), *inner])
        return View(self.root, tuple(axes), offset)

    def over(self, inner: View) -> View | None:
        """Composes this view of `inner`'s value with `inner`; None if `inner` slices or repeats its root."""
        if self.offset or math.prod(self.shape) != math.prod(inner.shape):
            return None
        places = sorted((part for axis in self.axes for part in axis), key=lambda part: -part[1])
        if joined(places) != joined([(math.prod(self.shape), 1)]):
            return None
        view = inner.reshape([size for size, _ in places])
        if view is None:
            return None
        place_of = {part: place for place, part in enumerate(places)}
        axes = tuple(joined(part for outer in axis for part in view.axes[place_of[outer]]) for axis in self.axes)
        return View(view.root, axes, view.offset)

    def through(self, inner: View) -> View | None:
        """Composes this view of `inner`'s value with `inner`, also if `inner` slices its root."""
        walk = [part for axis in inner.axes for part in axis]
        places = [math.prod(size for size, _ in walk[index + 1 :]) for index in range(len(walk))]
        digits: list[int] = []
        rest, offset = self.offset, inner.offset
        for place, (_, stride) in zip(places, walk, strict=True):
            digit, rest = divmod(rest, place)
            digits.append(digit)
            offset += digit * stride
        axes: list[Axis] = []
        for axis in self.axes:
            parts: list[Part] = []
            for size, stride in axis:
                steps = _steps(size, stride, walk, places, digits)
                if steps is None:
                    return None
                parts += steps
            axes.append(joined(parts))
        return View(inner.root, tuple(axes), offset)

    def cut(self, b: Builder) -> SSAValue | None:
        """Creates the view as a slice of the root followed by `emit`; None if the elements are not a block of the root."""
        dims = shape(self.root)
        strides = [math.prod(dims[place + 1 :]) for place in range(len(dims))]
        begins = [self.offset // stride % size for size, stride in zip(dims, strides, strict=True)]
        walk = list(zip(dims, strides, strict=True))
        parts: list[list[tuple[int, int, int]]] = []  # of each axis: (dim, size, step in the dim)
        for axis in self.axes:
            parts.append([])
            for size, stride in axis:
                for count_, step in _steps(size, stride, walk, strides, begins) or [(0, 1)]:
                    place = next(index for index in range(len(dims)) if strides[index] <= step)
                    parts[-1].append((place, count_, step // strides[place]))
        sizes = [1] * len(dims)
        for place, count_, step in sorted((part for axis in parts for part in axis), key=lambda part: part[2]):
            if count_ == 0 or step != sizes[place]:
                return None
            sizes[place] *= count_
        value = self.root
        if tuple(sizes) != dims:
            value = sliced(b, value, begins, [begin + size for begin, size in zip(begins, sizes, strict=True)])
        inside = [math.prod(sizes[place + 1 :]) for place in range(len(dims))]
        return View(value, tuple(joined((count_, step * inside[place]) for place, count_, step in axis) for axis in parts)).emit(b)

    def emit(self, b: Builder) -> SSAValue:
        """Creates the view as at most reshape, permute, reshape. It has to contain each element of the root once."""
        order = [part for axis in self.axes for part in axis]
        places = sorted(order, key=lambda part: -part[1])
        value = reshaped(b, self.root, [size for size, _ in places])
        return reshaped(b, permuted(b, value, [places.index(part) for part in order]), self.shape)


def _steps(size: int, stride: int, walk: Sequence[Part], places: Sequence[int], digits: Sequence[int]) -> list[Part] | None:
    """`size` steps of `stride` elements along `walk`, as parts with strides in its root; None if they are not evenly spaced there.

    places: elements per step of each part of the walk. digits: position of the first step on each part.
    """
    parts: list[Part] = []
    while size > 1:
        index = next((index for index, place in enumerate(places) if place <= stride and walk[index][0] > 1), None)
        if index is None or stride % places[index]:
            return None
        step, (extent, root_stride) = stride // places[index], walk[index]
        if extent % step or step >= extent:
            return None
        count = min(size, extent // step)
        if size % count or digits[index] + (count - 1) * step >= extent or (count < size and digits[index]):
            return None
        parts.append((count, root_stride * step))
        size, stride = size // count, places[index] * extent
    return parts[::-1]


def view_of(value: SSAValue, may_pass: Callable[[Operation], bool] = lambda op: True) -> tuple[View, list[Operation]]:
    """`value` as a view of the furthest possible root, and the view ops between, in program order.

    may_pass: filters the view ops to look through.
    """
    chain: list[Operation] = []
    while (op := made_by(value, "view")) is not None and may_pass(op):
        chain.append(op)
        value = op.operands[0]
    for start in range(len(chain), -1, -1):  # a view without a strided form becomes the root of the ones after it
        root = chain[start].results[0] if start < len(chain) else value
        view = _applied(View.whole(root), reversed(chain[:start]))
        if view is not None:
            return view, list(reversed(chain[:start]))
    raise AssertionError("a value is a view of itself")


def _applied(view: View | None, ops: Iterable[Operation]) -> View | None:
    for op in ops:
        if view is None:
            return None
        if op.name == "ttir.reshape":
            view = view.reshape(shape(op.results[0]))
        elif op.name == "ttir.permute":
            view = view.permute(access.attr(op, "permutation"))
        elif all(step == 1 for step in access.attr(op, "step")) and all(begin >= 0 for begin in access.attr(op, "begins")):
            view = view.slice(access.attr(op, "begins"), shape(op.results[0]))
        else:
            return None
    return view


# --- TTIR: shortens chains of reshapes and permutes to one reshape, permute, reshape, without dims of size 1 between them. ---


@register("fewer-moves", fusing=True)
class FewerMoves(Pass):
    """permute(reshape(x, [B, H, D, 1])) and other detours become at most reshape, permute, reshape, where fewer tiles move.

    A dim of size 1 behind the others costs a tile per element, whatever it is for.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in reversed(list(func.body.block.ops)):
                if op.parent is not None and has_trait(op, "rearrangement") and not _is_passed(op):
                    _shorten(op)


def _is_passed(op: Operation) -> bool:
    """Whether the result is only an intermediate step of a longer chain."""
    value = op.results[0]
    return single_use(value) and has_trait(next(iter(value.uses)).operation, "rearrangement")


def _shorten(op: Operation) -> None:
    view, chain = view_of(op.results[0], lambda link: has_trait(link, "rearrangement") and (link is op or single_use(link.results[0])))
    if len(chain) < 2 or not _shows_all(view) or any(_turns_images(op) for op in chain):
        return
    b = Builder.before(op)
    b.source = tuple(dict.fromkeys(source for op in chain for source in sources_of(op))) or None
    new_ops = made_between(view.root, value := view.emit(b))
    if tiles_moved(new_ops) < tiles_moved(chain):
        replace(op, [value])
        erase(*chain[:-1])
    else:
        erase(*new_ops)


def _turns_images(op: Operation) -> bool:
    """Whether the op moves channels to or from the end: pools and convolutions work channels last, so that such a permute cancels out."""
    order = list(access.attr(op, "permutation")) if op.name == "ttir.permute" else []
    rank = len(order)
    return rank >= 4 and order in ([0, *range(2, rank), 1], [0, rank - 1, *range(1, rank - 1)])


def _shows_all(view: View) -> bool:
    return not view.offset and math.prod(view.shape) == math.prod(shape(view.root)) != 0


def made_between(root: SSAValue, value: SSAValue) -> list[Operation]:
    """The views that lead from one value to another, makers first."""
    ops: list[Operation] = []
    while value is not root and (op := made_by(value, "view")) is not None:
        ops.append(op)
        value = op.operands[0]
    return ops[::-1]


def tiles_moved(ops: Iterable[Operation]) -> int:
    """The number of tiles that the ops read and write. A reshape that keeps every row in its place counts as 0."""
    total = 0
    for op in ops:
        before, after = shape(op.operands[0]), shape(op.results[0])
        if op.name != "ttir.reshape" or not is_free(before, after):
            total += _tiles_of(before) + _tiles_of(after)
    return total


def _tiles_of(dims: Sequence[int]) -> int:
    rows, columns = (1, 1, *dims)[-2:]
    return math.prod(dims[:-2]) * -(-rows // TILE_EDGE) * -(-columns // TILE_EDGE)


# --- TTIR: products read their operands without a permute, in gradients. ---


@register("turned-operands", fusing=True)
class TurnedOperands(Pass):
    """permute(x) @ y that lets the rows and columns of x change places becomes x^T @ y in backward passes: gradients in torch."""

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _turn_back, "ttir.matmul")


def is_free(source_dims: Dims, dims: Dims) -> bool:
    """Whether a reshape keeps every element in its place in its tile: equal last dim, and rows that fill tiles before and after."""
    if not source_dims or not dims or source_dims[-1] != dims[-1] or math.prod(source_dims) != math.prod(dims):
        return False
    rows, new_rows = (sizes[-2] if len(sizes) > 1 else 1 for sizes in (source_dims, dims))
    return rows == new_rows or (rows % TILE_EDGE == 0 and new_rows % TILE_EDGE == 0)


def _turn_back(op: Operation) -> None:
    if not is_gradient(op):
        return
    for place, name in enumerate(("transpose_a", "transpose_b")):
        turn = defining(op.operands[place], "ttir.permute")
        if turn is None or not isinstance(turn.operands[0].owner, Operation):
            continue  # weights are transposed once, before the first run
        order = list(access.attr(turn, "permutation"))
        rank = len(order)
        if order == [*range(rank - 2), rank - 1, rank - 2]:
            op.operands[place] = turn.operands[0]
            access.set_attr(op, name, not access.attr(op, name))
