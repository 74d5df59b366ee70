"""Convolutions with many groups in parts, each behind its part of the product that makes its channels."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, operand, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining, rewrite, single_use
from alchemist.ir.location import sources_of
from alchemist.ops.spec import NOTE
from alchemist.ops.windows import expand, padding_pairs
from alchemist.optimizer.machine import machine
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, register

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
    """Every pixel by itself."""
    weight = operand(op, "weight") if op.name == CONVOLUTION else None
    return (
        weight is not None and tuple(shape(weight)[2:]) == (1, 1) and int(access.attr(op, "groups")) == 1
        and _pair(access.attr(op, "stride")) == (1, 1) and not any(map(any, padding_pairs(access.attr(op, "padding"), 2)))
    )  # fmt: skip


def _only_reader(value: SSAValue) -> Operation | None:
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None


def _split(maker: Operation, op: Operation, reader: Operation | None, parts: Sequence[tuple[int, int, int]]) -> None:
    """Each part of the product stands before the convolution that reads it, and both belong to the module around them: equal parts are turns of a loop.

    parts: channels, groups and channels of the result of each.
    """
    channel = _dims(op)[-1]
    whole = shape(op.operands[0])[channel]
    b = Builder.before(op)
    b.source = tuple(dict.fromkeys((*sources_of(maker), *sources_of(op)))) or None
    results: list[SSAValue] = []
    first = first_out = 0
    for channels, groups, out in parts:
        made = _part(b, maker, maker.operands[0], first, channels, None)
        assert isinstance(made.owner, Operation)
        access.set_attr(made.owner, NOTE, _said(first, channels, parts[0][0], whole))
        results.append(_part(b, op, made, first_out, out, groups))
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


def _said(first: int, channels: int, full: int, whole: int) -> str:
    """The remark at a part. full: channels of those that are not the last."""
    why = "conv2d fills the weights of groups up with zeros to all channels"
    if channels == full and whole >= 2 * full:
        return f"{channels} of {whole} channels at a time: {why}"
    if not first:
        return f"the first {channels} of {whole} channels: {why}"
    zeros = f" and {first + channels - whole} of zeros: whole tiles" if first + channels > whole else ""
    return f"the last {min(channels, whole - first)} of {whole} channels{zeros}"


def _part(b: Builder, op: Operation, x: SSAValue, first: int, count: int, groups: int | None) -> SSAValue:
    """The convolution of some of its results. groups: how many these are, None for a product."""
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
    made = b.make(op.name, operands, attributes, [tensor(dims, element_type(op.results[0]))])
    for name, value in op.attributes.items():
        if name not in made.attributes:
            made.attributes[name] = value
    return made.results[0]


def _rows(b: Builder, value: SSAValue, axis: int, first: int, count: int) -> SSAValue:
    """Some of the values along an axis, zeros where there are no more."""
    dims, of = list(shape(value)), element_type(value)
    last = min(first + count, dims[axis])
    if (first, last) != (0, dims[axis]):
        begins, ends = [0] * len(dims), list(dims)
        begins[axis], ends[axis], dims[axis] = first, last, last - first
        value = b.op("ttir.slice_static", [value], {"begins": begins, "ends": ends, "step": [1] * len(dims)}, [tensor(dims, of)])
    if (missing := count - (last - first)) > 0:
        padding = [0] * (2 * len(dims))
        padding[2 * axis + 1], dims[axis] = missing, count
        value = b.op("ttir.pad", [value], {"padding": padding, "value": 0.0}, [tensor(dims, of)])
    return value
