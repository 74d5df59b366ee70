"""Convolutions that TTNN's conv2d cannot do as they stand: three spatial dims, weights that are not parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import LoweringError
from alchemist.ir import access
from alchemist.ir.access import operand, shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import named
from alchemist.ir.edit import erase_dead, functions, replace
from alchemist.ir.value import Value, concat
from alchemist.ops.constants import FixedValues
from alchemist.ops.windows import expand, padding_pairs
from alchemist.passes.registry import Pass, register

MOST_SLICES = 1024
"""More windows than this would make a program that nobody wants to read or run."""


def _taken(x: Value, cuts: dict[int, tuple[int, int, int]]) -> Value:
    """cuts: dim -> (begin, step, count)."""
    begins, ends, steps = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    for dim, (begin, step, size) in cuts.items():
        begins[dim], ends[dim], steps[dim] = begin, begin + step * (size - 1) + 1, step
    return x.slice(begins, ends, steps)


def _order(op: Operation, names: Sequence[str]) -> list[int]:
    """Positions of batch, channel and spatial dims in the op's operand and result."""
    return [access.attr(op, f"{name}_dim") for name in ("batch", "channel", *names)]


def _back(order: Sequence[int]) -> list[int]:
    return [list(order).index(i) for i in range(len(order))]


def _conv3d(op: Operation) -> SSAValue:
    """Depth windows as channels of a conv2d: [N, C, D, H, W] -> [N*D', C*KD, H, W]. Joined weights need only a reshape."""
    b = Builder.in_place_of(op)
    order = _order(op, ("depth", "height", "width"))
    x, weight, *bias = (Value(b, value) for value in op.operands)
    x = x.permute(*order)
    out_channels, per_group, depth, *kernel = weight.shape
    pairs = padding_pairs(access.attr(op, "padding"), 3)
    stride = expand(access.attr(op, "stride"), 3)
    x = x.pad([(0, 0), (0, 0), pairs[0], (0, 0), (0, 0)])
    n, channels, _, height, width = x.shape
    result = [shape(op.results[0])[i] for i in order]
    count = result[2]
    if depth == stride[0]:
        x = _taken(x, {2: (0, 1, count * depth)}).reshape(n, channels, count, depth, height * width).permute(0, 2, 1, 3, 4)
    elif depth > 1:
        taps = [_taken(x, {2: (tap, stride[0], count)}) for tap in range(depth)]
        x = concat([tap.reshape(n, channels, 1, count, height * width) for tap in taps], 2).permute(0, 3, 1, 2, 4)
    else:
        x = _taken(x, {2: (0, stride[0], count)}).permute(0, 2, 1, 3, 4)
    x = x.reshape(n * count, channels * depth, height, width)
    flat = weight.reshape(out_channels, per_group * depth, *kernel)
    attributes = {
        "stride": stride[1:], "padding": [*(low for low, _ in pairs[1:]), *(high for _, high in pairs[1:])], "dilation": (1, 1),
        "groups": access.attr(op, "groups"), "batch_dim": 0, "channel_dim": 1, "height_dim": 2, "width_dim": 3,
    }  # fmt: skip
    made = x.op("conv2d", flat, *(one.reshape(1, out_channels, 1, 1) for one in bias), **attributes)
    made = made.reshape(n, count, out_channels, *result[3:]).permute(0, 2, 1, 3, 4)
    return made.permute(*_back(order)).ssa


def _as_convolution(op: Operation) -> tuple[Operation, SSAValue]:
    """A transposed 2-d convolution as one over the image with zeros between its pixels; (the convolution, what stands for the op's result)."""
    b = Builder.in_place_of(op)
    order = _order(op, ("height", "width"))
    x, weight, *bias = (Value(b, value) for value in op.operands)
    groups = access.attr(op, "groups")
    stride, dilation = expand(access.attr(op, "stride"), 2), expand(access.attr(op, "dilation"), 2)
    extra = expand(access.attr(op, "output_padding"), 2)
    x = x.permute(*order)
    n, channels, height, width = x.shape
    x = x.reshape(n * channels, height * width, 1).pad([(0, 0), (0, 0), (0, stride[1] - 1)])
    x = x.reshape(n * channels * height, 1, width * stride[1]).pad([(0, 0), (0, stride[0] - 1), (0, 0)])
    x = x.reshape(n, channels, height * stride[0], width * stride[1])
    kernel, pairs = weight.shape[2:], padding_pairs(access.attr(op, "padding"), 2)
    for dim, (low, high) in enumerate(pairs):
        reach = dilation[dim] * (kernel[dim] - 1)
        margins = [reach - low, reach - high + extra[dim] - (stride[dim] - 1)]
        cut = max(0, -margins[0])
        x = x.cut(2 + dim, cut, x.shape[2 + dim] - max(0, -margins[1]))
        x = x.pad([(max(0, margins[0]), max(0, margins[1])) if d == 2 + dim else (0, 0) for d in range(4)])
    per_group = weight.shape[1]
    turned = weight.op("reverse", dimensions=(2, 3)).reshape(groups, channels // groups, per_group, math.prod(kernel)).permute(0, 2, 1, 3)
    turned = turned.reshape(groups * per_group, channels // groups, *kernel)
    attributes = {
        "stride": (1, 1), "padding": (0, 0), "dilation": dilation, "groups": groups, "batch_dim": 0, "channel_dim": 1, "height_dim": 2, "width_dim": 3
    }  # fmt: skip
    made = x.op("conv2d", turned, *(one.reshape(1, groups * per_group, 1, 1) for one in bias), **attributes)
    assert isinstance(made.ssa.owner, Operation)
    return made.ssa.owner, made.permute(*_back(order)).ssa


def _as_matmul(op: Operation) -> SSAValue:
    """The windows as columns (or, when there are fewer outputs than taps, as rows) of a matmul."""
    b = Builder.in_place_of(op)
    spatial = ("length",) if op.name == "ttir.conv1d" else ("height", "width")
    rank = len(spatial)
    order = _order(op, spatial)
    x, weight, *bias = (Value(b, value) for value in op.operands)
    groups = access.attr(op, "groups")
    x = x.permute(*order).pad([(0, 0), (0, 0), *padding_pairs(access.attr(op, "padding"), rank)])
    result = [shape(op.results[0])[i] for i in order]
    out, kernel = result[2:], weight.shape[2:]
    stride, dilation = expand(access.attr(op, "stride"), rank), expand(access.attr(op, "dilation"), rank)
    taps, places = math.prod(kernel), math.prod(out)
    if min(taps, places) > MOST_SLICES:
        raise LoweringError("a convolution whose weights are not parameters", op=op.name, hint=f"its windows need {min(taps, places)} slices")
    n, channels = x.shape[:2]
    parts = []
    if taps <= places:
        for at in _positions(kernel):
            cuts = {2 + d: (at[d] * dilation[d], stride[d], out[d]) for d in range(rank)}
            parts.append(_taken(x, cuts).reshape(n, channels, 1, places))
        x = concat(parts, 2)
    else:
        for at in _positions(out):
            cuts = {2 + d: (at[d] * stride[d], dilation[d], kernel[d]) for d in range(rank)}
            parts.append(_taken(x, cuts).reshape(n, channels, taps, 1))
        x = concat(parts, 3)
    depth = channels // groups * taps
    rows = weight.reshape(1, groups, weight.shape[0] // groups, depth)
    rows = rows.broadcast(n, *rows.shape[1:])
    x = rows.op("matmul", x.reshape(n, groups, depth, places)).reshape(*result)
    for one in bias:
        x += one.reshape(1, result[1], *[1] * rank)
    return x.permute(*_back(order)).ssa


def _positions(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    places: list[tuple[int, ...]] = [()]
    for size in sizes:
        places = [(*place, i) for place in places for i in range(size)]
    return places


@register("decompose-conv")
class DecomposeConv(Pass):
    """conv3d becomes conv2d over joined depth windows; a convolution with computed weights, or of whole numbers, becomes a matmul."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            fixed = FixedValues(func)
            for op in list(func.body.block.ops):
                if op.name == "ttir.conv3d":
                    replace(op, [_conv3d(op)])
            for op in list(func.body.block.ops):
                if op.name not in named("ttir", "convolution", "convolution2d") or "flattened_compat_info" in op.properties:
                    continue
                weight = operand(op, "weight")
                if weight is not None and (weight not in fixed or access.element_type(op.results[0]).startswith(("i", "si", "ui"))):
                    convolution = op
                    if op.name == "ttir.conv_transpose2d":
                        convolution, result = _as_convolution(op)
                        replace(op, [result])
                    replace(convolution, [_as_matmul(convolution)])
            erase_dead(func)
