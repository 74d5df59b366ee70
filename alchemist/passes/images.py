"""Images: resizes by matrix products, splits grouped convolutions, pads columns to whole tiles, and places images in L1."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, elements, operand, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import add_sources, defining, erase_dead, functions, replace, rewrite, single_use
from alchemist.ir.layout import TILE_EDGE, layout_of, tile_padded
from alchemist.ir.location import sources_of
from alchemist.ir.value import Value
from alchemist.ops.constants import FixedValues, constant_of
from alchemist.ops.evaluate import evaluate
from alchemist.ops.spec import LIFTED_NAME, NOTE
from alchemist.ops.windows import expand, padding_pairs
from alchemist.optimizer.images import PASS, leave_images_in_l1
from alchemist.optimizer.machine import machine
from alchemist.optimizer.movement import device_ns, resize_is_faster_by_product
from alchemist.options import CompilerOptions
from alchemist.passes.lower.eltwise import ACTIVATION
from alchemist.passes.optimize import l1_small_bytes
from alchemist.passes.registry import Pass, register

# --- TTIR: resizing an image by constants along height and width becomes one product of a constant matrix and its pixels. ---

MOST_ENTRIES = 1 << 18
"""Limit of the matrix's elements, as the matrix is computed by evaluating the ops on that many values."""
PIXELS_FIRST = ((0, 1, 2, 3), (0, 2, 3, 1))
"""[N, H, W, C] of an image's own dims, which may be [N, C, H, W]."""
Array = np.ndarray[Any, Any]


@register("resize-by-product", fusing=True)
class ResizeByProduct(Pass):
    """Gathers, products with constants and upsampling along an image's height and width become matmul(matrix, pixels).

    Where the clock prices the product as faster than what the ops take by themselves, without the moves around them. float32 values that are only
    copied stay as they are, unless a product reads them that cuts them as well.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in reversed(list(func.body.block.ops)):
                if op.parent is not None and op.name in named("ttir", "rearrangement", "resizes") and len(shape(op.results[0])) == 4:
                    _rewrite(op)
            erase_dead(func)


@dataclass(frozen=True, slots=True)
class Resize:
    """The ops that compute an image from the image `source`, the last one its result. order: the image's dims as [N, H, W, C]."""

    source: SSAValue
    ops: Sequence[Operation]
    order: tuple[int, ...]

    @property
    def result(self) -> SSAValue:
        return self.ops[-1].results[0]

    def sizes(self) -> tuple[int, int, int]:
        """Rows of the matrix, its columns, channels."""
        result_sizes, source_sizes = ([shape(value)[dim] for dim in self.order] for value in (self.result, self.source))
        return math.prod(result_sizes[:3]), math.prod(source_sizes[:3]), source_sizes[3]

    def apply(self, pixels: Array) -> Array:
        """[N*H*W, C] of the source -> [N*H*W, C] of the result."""
        ordered = pixels.reshape([shape(self.source)[dim] for dim in self.order])
        environment: dict[SSAValue, Array] = {self.source: ordered.transpose(np.argsort(self.order))}
        for op in self.ops:
            for value in op.operands:
                if value not in environment:
                    constant = constant_of(value)
                    assert constant is not None
                    environment[value] = constant
            environment[op.results[0]] = evaluate(op, environment)[0]
        return environment[self.result].transpose(self.order).reshape(-1, pixels.shape[1])

    def matrix(self) -> Array | None:
        """The matrix that the ops multiply the pixels by; None if they compute something else, such as mixing channels."""
        rows, columns, channels = self.sizes()
        weights = np.zeros((rows, columns), np.float32)
        for start in range(0, columns, channels):  # a different pixel in every channel
            count = min(channels, columns - start)
            probe = np.zeros((columns, channels), np.float32)
            probe[np.arange(start, start + count), np.arange(count)] = 1
            weights[:, start : start + count] = self.apply(probe)[:, :count]
        sample = np.random.default_rng(0).standard_normal((columns, channels)).astype(np.float32)
        return weights if np.allclose(self.apply(sample), weights @ sample, rtol=1e-4, atol=1e-4) else None


def _rewrite(last: Operation) -> None:
    for resize in _resizes(last):
        rows, columns, channels = resize.sizes()
        element = element_type(resize.source)
        if rows * columns > MOST_ENTRIES or element not in ("f32", "bf16") or element_type(resize.result) != element:
            continue
        if resize.order != PIXELS_FIRST[0] and not _read_by(resize.result, named("ttir", "convolution2d")):
            continue
        if (
            element == "f32"
            and all(has_trait(op, "rearrangement") or _copies(op) for op in resize.ops)
            and not _read_by(resize.result, named("ttir", "convolution2d", "product"))
        ):
            continue
        replaced = [op for op in resize.ops if has_trait(op, "resizes")]
        if resize_is_faster_by_product(rows, columns, channels, element, replaced) and (matrix := resize.matrix()) is not None:
            _replace(resize, matrix)
            return


def _replace(resize: Resize, matrix: Array) -> None:
    (rows, columns, channels), element = resize.sizes(), element_type(resize.source)
    b = Builder.in_place_of(resize.ops[-1])
    pixels = Value(b, resize.source).permute(*resize.order).reshape(columns, channels)
    constant = {"value": elements(matrix, element), LIFTED_NAME: f"resize_{columns}_to_{rows}_pixels"}
    weights = b.value("ttir.constant", [], constant)
    product = Value(b, weights).matmul(pixels)
    assert isinstance(product.ssa.owner, Operation)
    add_sources(product.ssa.owner, *resize.ops)
    image = product.reshape(*(shape(resize.result)[dim] for dim in resize.order))
    replace(resize.ops[-1], [image.permute(*(resize.order.index(dim) for dim in range(4))).ssa])


def _resizes(last: Operation) -> list[Resize]:
    """Candidates that end with `last`: with as many ops as possible that compute pixels, and no more data movement than needed."""
    ops, resizes, largest = [last], [], 0
    while (value := _image(ops[0])) is not None:
        count = sum(has_trait(op, "resizes") for op in ops)
        if count > largest and (here := _between(value, list(ops))):
            resizes, largest = here, count
        maker = value.owner
        if not isinstance(maker, Operation) or maker.name not in named("ttir", "rearrangement", "resizes") or not single_use(value):
            break
        ops.insert(0, maker)
    return resizes


def _image(op: Operation) -> SSAValue | None:
    """The only operand that is not a constant; None if there are several."""
    images = [value for value in op.operands if constant_of(value) is None]
    return images[0] if len(images) == 1 and ACTIVATION not in op.attributes else None


def _between(source: SSAValue, ops: list[Operation]) -> list[Resize]:
    """The resize in both possible orders of the image's dims."""
    if len(shape(source)) != 4:
        return []
    source_dims, result_dims = shape(source), shape(ops[-1].results[0])
    return [Resize(source, ops, order) for order in PIXELS_FIRST if source_dims[0] == result_dims[0] and 1 < source_dims[order[3]] == result_dims[order[3]]]


def _copies(op: Operation) -> bool:
    return op.name == "ttir.upsample2d" and access.attr(op, "mode") == "nearest"


def _read_by(value: SSAValue, names: Collection[str]) -> bool:
    return any(use.operation.name in names or (has_trait(use.operation, "view") and _read_by(use.operation.results[0], names)) for use in value.uses)


# --- Splits convolutions with many groups into parts, each after its part of the product that computes its channels. ---

CONVOLUTION = "ttir.conv2d"
DIMS = ("batch_dim", "height_dim", "width_dim", "channel_dim")


@register("groups-in-parts", fusing=True, from_level=2)
class GroupsInParts(Pass):
    """Convolutions with many groups, behind products with their pixels, become several of some groups each where the clock gains (from level 2 on)."""

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        rewrite(module, self._change, CONVOLUTION)

    def _change(self, op: Operation) -> None:
        from alchemist.optimizer.grouped import DTYPES, Grouped, widths
        from alchemist.passes.lower.convolution import L1_SMALL_BYTES

        maker = defining(op.operands[0], CONVOLUTION)
        if int(access.attr(op, "groups")) < 2 or maker is None or not single_use(op.operands[0]) or not _is_product(maker) or _dims(maker) != _dims(op):
            return
        n, height, width, channel = _dims(op)
        before, image, result = shape(maker.operands[0]), shape(op.operands[0]), op.results[0]
        if element_type(result) not in DTYPES or access.attr(op, "flattened_compat_info") is not None:
            return
        weight = operand(op, "weight")
        assert weight is not None
        (top, bottom), (left, right) = padding_pairs(access.attr(op, "padding"), 2)
        whole = Grouped(
            batch=image[n],
            height=image[height],
            width=image[width],
            before=before[channel],
            channels=image[channel],
            out=shape(result)[channel],
            groups=int(access.attr(op, "groups")),
            kernel=(shape(weight)[2], shape(weight)[3]),
            stride=_pair(access.attr(op, "stride")),
            padding=(top, bottom, left, right),
            dilation=_pair(access.attr(op, "dilation")),
            dtype=element_type(result),
            l1_small_bytes=L1_SMALL_BYTES,
        )
        reader = _only_reader(result)
        if whole.channels % 32 and (reader is None or not _is_product(reader) or reader.operands[0] is not result or _dims(reader) != _dims(op)):
            return
        parts = widths(whole, machine(self.options.card))
        if not parts:
            return
        _split(maker, op, reader, [(part, whole.of(part).groups, whole.of(part).out) for part in parts])


def _dims(op: Operation) -> tuple[int, ...]:
    return tuple(int(access.attr(op, name)) for name in DIMS)


def _pair(value: int | Sequence[int]) -> tuple[int, int]:
    first, second = expand(value, 2)
    return int(first), int(second)


def _is_product(op: Operation) -> bool:
    """Whether the convolution has kernel size 1, so that each pixel is a separate product."""
    weight = operand(op, "weight") if op.name == CONVOLUTION else None
    return (
        weight is not None and tuple(shape(weight)[2:]) == (1, 1) and int(access.attr(op, "groups")) == 1
        and _pair(access.attr(op, "stride")) == (1, 1) and not any(map(any, padding_pairs(access.attr(op, "padding"), 2)))
    )  # fmt: skip


def _only_reader(value: SSAValue) -> Operation | None:
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None


def _split(maker: Operation, op: Operation, reader: Operation | None, parts: Sequence[tuple[int, int, int]]) -> None:
    """Creates each part of the product right before the convolution that reads it, both in the surrounding module: equal parts become iterations of a loop.

    parts: channels, groups and channels of the result of each.
    """
    channel = _dims(op)[-1]
    whole = shape(op.operands[0])[channel]
    b = Builder.before(op)
    b.source = tuple(dict.fromkeys((*sources_of(maker), *sources_of(op)))) or None
    results: list[SSAValue] = []
    first = first_out = 0
    for channels, groups, out in parts:
        part = _part(b, maker, maker.operands[0], first, channels, None)
        assert isinstance(part.owner, Operation)
        access.set_attr(part.owner, NOTE, _part_note(first, channels, parts[0][0], whole))
        results.append(_part(b, op, part, first_out, out, groups))
        first, first_out = first + channels, first_out + out
    dims = list(shape(op.results[0]))
    dims[channel] = first_out
    joined = b.op("ttir.concat", [results], {"dim": channel}, [tensor(dims, element_type(op.results[0]))])
    if reader is not None and tuple(dims) != shape(op.results[0]):
        weight = operand(reader, "weight")
        assert weight is not None
        place = list(reader.operands).index(weight)
        reader.operands[place] = _rows(Builder.in_place_of(reader), weight, 1, 0, first_out)
    op.results[0].replace_all_uses_with(joined)


def _part_note(first: int, channels: int, full: int, whole: int) -> str:
    """The note at a part. full: channels of all parts but the last."""
    why = "conv2d fills the weights of groups up with zeros to all channels"
    if channels == full and first + channels <= whole >= 2 * full:
        return f"{channels} of {whole} channels at a time: {why}"
    if not first:
        return f"the first {channels} of {whole} channels: {why}"
    zeros = f" and {first + channels - whole} of zeros: whole tiles" if first + channels > whole else ""
    return f"the last {min(channels, whole - first)} of {whole} channels{zeros}"


def _part(b: Builder, op: Operation, x: SSAValue, first: int, count: int, groups: int | None) -> SSAValue:
    """The convolution for a range of its result channels. groups: of this range; None for a product."""
    channel = _dims(op)[-1]
    weight, bias = operand(op, "weight"), operand(op, "bias")
    assert weight is not None
    operands = [x, _rows(b, weight, 0, first, count)]
    if bias is not None:
        axis = channel if len(shape(bias)) == len(shape(x)) else len(shape(bias)) - 1
        operands.append(_rows(b, bias, axis, first, count))
    attributes = {**access.declared(op), **({} if groups is None else {"groups": groups})}
    dims = list(shape(op.results[0]))
    dims[channel] = count
    new_op = b.make(op.name, operands, attributes, [tensor(dims, element_type(op.results[0]))])
    for name, value in op.attributes.items():
        if name not in new_op.attributes:
            new_op.attributes[name] = value
    return new_op.results[0]


def _rows(b: Builder, value: SSAValue, axis: int, first: int, count: int) -> SSAValue:
    """A range of the values along an axis, padded with zeros."""
    last = min(first + count, shape(value)[axis])
    missing = [(0, count - (last - first) if dim == axis else 0) for dim in range(len(shape(value)))]
    return Value(b, value).cut(axis, first, last).pad(missing).ssa


# --- TTNN: pads the columns between two products to whole tiles. ---

LEAST_GAIN_NS = 2000.0
"""Least gain of all products that read the columns, in ns, that justifies shapes other than the model's."""


@register("whole-tiles", fusing=True, from_level=1)
class WholeTiles(Pass):
    """linear(linear(x)) over 24 columns becomes one over 32, with zeros in both weights, where the clock says that it is faster (optimization_level 1 and 2).

    The reader of a product's first operand clears the columns of its last tile that belong to nothing, one by one, whenever it reads them.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            for group in _groups(func):
                if _gain_ns(group, self.options.card) >= LEAST_GAIN_NS:
                    _fill_up(group)


@dataclass(eq=False)
class _Group:
    """Values with the same columns. makers: products that compute them. joins: ops between them. readers: products that read them."""

    values: list[SSAValue] = field(default_factory=list)
    makers: list[Operation] = field(default_factory=list)
    joins: list[Operation] = field(default_factory=list)
    readers: list[Operation] = field(default_factory=list)


def _groups(func: FuncOp) -> list[_Group]:
    """Groups of values that only products and joins compute and read."""
    fixed = FixedValues(func)
    group_of: dict[SSAValue, _Group] = {}
    for op in func.body.block.ops:
        if _is_plain_product(op, fixed) and _has_part_of_a_tile(op.results[0]):
            group_of[op.results[0]] = _Group([op.results[0]], [op])
        elif (
            op.name in named("ttnn", "arithmetic", "finite_at_zero")
            and op.operands
            and all(value.type == op.results[0].type and value in group_of for value in op.operands)
        ):
            merged = _merged(dict.fromkeys(group_of[value] for value in op.operands))
            merged.values.append(op.results[0])
            merged.joins.append(op)
            for value in merged.values:
                group_of[value] = merged
    return [group for group in dict.fromkeys(group_of.values()) if _find_readers(group, fixed)]


def _merged(groups: Iterable[_Group]) -> _Group:
    first, *others = groups
    for other in others:
        first.values += other.values
        first.makers += other.makers
        first.joins += other.joins
    return first


def _find_readers(group: _Group, fixed: FixedValues) -> bool:
    """Collects the products that read a group's values; False if there are none or another op reads one."""
    joins = set(group.joins)
    for value in group.values:
        for use in value.uses:
            if use.operation in joins:
                continue
            if use.index != 0 or not _is_plain_product(use.operation, fixed):
                return False
            group.readers.append(use.operation)
    return bool(group.readers)


def _is_plain_product(op: Operation, fixed: FixedValues) -> bool:
    """Whether the op is a product with one constant weight matrix."""
    if not has_trait(op, "product") or access.attr(op, "transpose_a") or access.attr(op, "transpose_b") or not fixed.issuperset(op.operands[1:]):
        return False
    return op.operands[0] not in fixed and len(shape(op.operands[1])) == 2


def _has_part_of_a_tile(value: SSAValue) -> bool:
    kind = layout_of(value.type)
    return kind is not None and kind.page == "tile" and kind.dtype in ("bf16", "f32") and not kind.is_sharded and shape(value)[-1] % TILE_EDGE != 0


def _filled(columns: int) -> int:
    return tile_padded((columns,))[-1]


def _gain_ns(group: _Group, card: str) -> float:
    """How much faster the products that read the columns become."""
    whole = []
    for op in group.readers:
        dims, matrix = shape(op.operands[0]), shape(op.operands[1])
        kinds = [layout_of(value.type) for value in op.operands[:2]]
        assert kinds[0] is not None
        assert kinds[1] is not None
        columns = _filled(dims[-1])
        to = [kinds[0].with_((*dims[:-1], columns)).type_for((*dims[:-1], columns)), kinds[1].with_((columns, matrix[1])).type_for((columns, matrix[1]))]
        block = Block(arg_types=[*to, *(value.type for value in op.operands[2:])])
        clone = type(op).create(operands=list(block.args), result_types=list(op.result_types), properties=dict(op.properties), attributes=dict(op.attributes))
        block.add_op(clone)
        whole.append(clone)
    return device_ns(group.readers, card) - device_ns(whole, card)


def _fill_up(group: _Group) -> None:
    columns = shape(group.values[0])[-1]
    note = f"{columns} columns and {_filled(columns) - columns} of zeros: whole tiles"
    for op in group.makers:
        for place in range(1, len(op.operands)):
            op.operands[place] = _padded(op.operands[place], -1, op)
        access.set_attr(op, NOTE, note)
    for op in dict.fromkeys(group.readers):
        op.operands[1] = _padded(op.operands[1], 0, op)
    for value in group.values:
        kind, dims = layout_of(value.type), (*shape(value)[:-1], _filled(columns))
        assert kind is not None
        value._type = kind.with_(dims).type_for(dims)


def _padded(value: SSAValue, axis: int, before: Operation) -> SSAValue:
    """Pads the end of an axis with zeros to whole tiles."""
    dims = shape(value)
    padding = [0] * (2 * len(dims))
    padding[2 * (axis % len(dims)) + 1] = _filled(dims[axis]) - dims[axis]
    b = Builder.in_place_of(before)
    return b.value("ttnn.pad", [value], {"padding": padding, "value": 0.0, "use_multicore": True})


# --- TTNN: places images that convolutions read in L1. ---


@register(PASS, fusing=True)
class ImagesInL1(Pass):
    """The result that a convolution reads is left in L1 where that is faster on both cards, as many as a fixed part of L1 holds (level 0)."""

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        if not self.options.optimization_level:
            for func in functions(module, const_eval=False):
                leave_images_in_l1(func, l1_small_bytes(module))
