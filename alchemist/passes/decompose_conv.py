"""Convolutions that TTNN's conv2d cannot do as they stand: three spatial dims, weights that are not parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.errors import LoweringError
from alchemist.ir import access
from alchemist.ir.access import element_type, operand, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import sources_of
from alchemist.ops.windows import expand, padding_pairs
from alchemist.passes.registry import Pass, erase_dead, functions, register, replace

MOST_SLICES = 1024
"""More windows than this would make a program that nobody wants to read or run."""


class _Steps:
    """Ops in front of a convolution; results keep the operand's element type."""

    def __init__(self, op: Operation) -> None:
        self.b = Builder.before(op)
        self.b.source = sources_of(op) or None

    def make(self, name: str, operands: Sequence[Any], attributes: dict[str, Any], dims: Sequence[int], of: str) -> SSAValue:
        return self.b.value(f"ttir.{name}", operands, attributes, [tensor(tuple(dims), of)])

    def reshape(self, x: SSAValue, dims: Sequence[int]) -> SSAValue:
        dims = tuple(dims)
        return x if shape(x) == dims else self.make("reshape", [x], {"shape": dims}, dims, element_type(x))

    def permute(self, x: SSAValue, order: Sequence[int]) -> SSAValue:
        if list(order) == list(range(len(order))):
            return x
        dims = [shape(x)[i] for i in order]
        return self.make("permute", [x], {"permutation": tuple(order)}, dims, element_type(x))

    def pad(self, x: SSAValue, pairs: Sequence[tuple[int, int]]) -> SSAValue:
        if not any(any(pair) for pair in pairs):
            return x
        dims = [size + low + high for size, (low, high) in zip(shape(x), pairs, strict=True)]
        flat = [part for pair in pairs for part in pair]
        return self.make("pad", [x], {"padding": flat, "value": 0.0}, dims, element_type(x))

    def slice(self, x: SSAValue, cuts: dict[int, tuple[int, int, int]]) -> SSAValue:
        """cuts: dim -> (begin, step, count)."""
        begins, ends, steps, dims = [0] * len(shape(x)), list(shape(x)), [1] * len(shape(x)), list(shape(x))
        for dim, (begin, step, count) in cuts.items():
            begins[dim], ends[dim], steps[dim], dims[dim] = begin, begin + step * (count - 1) + 1, step, count
        if tuple(dims) == shape(x):
            return x
        return self.make("slice_static", [x], {"begins": begins, "ends": ends, "step": steps}, dims, element_type(x))

    def concat(self, parts: Sequence[SSAValue], dim: int) -> SSAValue:
        if len(parts) == 1:
            return parts[0]
        dims = list(shape(parts[0]))
        dims[dim] = sum(shape(part)[dim] for part in parts)
        return self.make("concat", [list(parts)], {"dim": dim}, dims, element_type(parts[0]))


def _order(op: Operation, names: Sequence[str]) -> list[int]:
    """Positions of batch, channel and spatial dims in the op's operand and result."""
    return [access.attr(op, f"{name}_dim") for name in ("batch", "channel", *names)]


def _back(order: Sequence[int]) -> list[int]:
    return [list(order).index(i) for i in range(len(order))]


def _conv3d(op: Operation) -> SSAValue:
    """Depth windows as channels of a conv2d: [N, C, D, H, W] -> [N*D', C*KD, H, W]. Joined weights need only a reshape."""
    s = _Steps(op)
    order = _order(op, ("depth", "height", "width"))
    source, weight = op.operands[0], operand(op, "weight")
    assert weight is not None
    x = s.permute(source, order)
    out_channels, per_group, depth, *kernel = shape(weight)
    pairs = padding_pairs(access.attr(op, "padding"), 3)
    stride = expand(access.attr(op, "stride"), 3)
    x = s.pad(x, [(0, 0), (0, 0), pairs[0], (0, 0), (0, 0)])
    n, channels, _, height, width = shape(x)
    result = [shape(op.results[0])[i] for i in order]
    count = result[2]
    if depth == stride[0]:
        x = s.slice(x, {2: (0, 1, count * depth)})
        x = s.permute(s.reshape(x, (n, channels, count, depth, height * width)), (0, 2, 1, 3, 4))
    elif depth > 1:
        taps = [s.slice(x, {2: (tap, stride[0], count)}) for tap in range(depth)]
        x = s.concat([s.reshape(tap, (n, channels, 1, count, height * width)) for tap in taps], 2)
        x = s.permute(x, (0, 3, 1, 2, 4))
    else:
        x = s.permute(s.slice(x, {2: (0, stride[0], count)}), (0, 2, 1, 3, 4))
    x = s.reshape(x, (n * count, channels * depth, height, width))
    flat = s.reshape(weight, (out_channels, per_group * depth, *kernel))
    attributes = {
        "stride": stride[1:], "padding": [*(low for low, _ in pairs[1:]), *(high for _, high in pairs[1:])], "dilation": (1, 1),
        "groups": access.attr(op, "groups"), "batch_dim": 0, "channel_dim": 1, "height_dim": 2, "width_dim": 3,
    }  # fmt: skip
    bias = operand(op, "bias")
    operands = [x, flat] if bias is None else [x, flat, s.reshape(bias, (1, out_channels, 1, 1))]
    made = s.make("conv2d", operands, attributes, (n * count, out_channels, *result[3:]), element_type(op.results[0]))
    made = s.permute(s.reshape(made, (n, count, out_channels, *result[3:])), (0, 2, 1, 3, 4))
    return s.permute(made, _back(order))


def _as_convolution(op: Operation) -> tuple[Operation, SSAValue]:
    """A transposed 2-d convolution as one over the image with zeros between its pixels; (the convolution, what stands for the op's result)."""
    s = _Steps(op)
    order = _order(op, ("height", "width"))
    weight = operand(op, "weight")
    assert weight is not None
    groups, of = access.attr(op, "groups"), element_type(op.results[0])
    stride, dilation = expand(access.attr(op, "stride"), 2), expand(access.attr(op, "dilation"), 2)
    extra = expand(access.attr(op, "output_padding"), 2)
    x = s.permute(op.operands[0], order)
    n, channels, height, width = shape(x)
    x = s.pad(s.reshape(x, (n * channels, height * width, 1)), [(0, 0), (0, 0), (0, stride[1] - 1)])
    x = s.pad(s.reshape(x, (n * channels * height, 1, width * stride[1])), [(0, 0), (0, stride[0] - 1), (0, 0)])
    x = s.reshape(x, (n, channels, height * stride[0], width * stride[1]))
    kernel, pairs = shape(weight)[2:], padding_pairs(access.attr(op, "padding"), 2)
    for dim, (low, high) in enumerate(pairs):
        reach = dilation[dim] * (kernel[dim] - 1)
        margins = [reach - low, reach - high + extra[dim] - (stride[dim] - 1)]
        cut = max(0, -margins[0])
        x = s.slice(x, {2 + dim: (cut, 1, shape(x)[2 + dim] - cut - max(0, -margins[1]))})
        x = s.pad(x, [(max(0, margins[0]), max(0, margins[1])) if d == 2 + dim else (0, 0) for d in range(4)])
    per_group = shape(weight)[1]
    turned = s.make("reverse", [weight], {"dimensions": (2, 3)}, shape(weight), element_type(weight))
    turned = s.permute(s.reshape(turned, (groups, channels // groups, per_group, math.prod(kernel))), (0, 2, 1, 3))
    turned = s.reshape(turned, (groups * per_group, channels // groups, *kernel))
    bias = operand(op, "bias")
    operands = [x, turned] if bias is None else [x, turned, s.reshape(bias, (1, groups * per_group, 1, 1))]
    attributes = {
        "stride": (1, 1), "padding": (0, 0), "dilation": dilation, "groups": groups, "batch_dim": 0, "channel_dim": 1, "height_dim": 2, "width_dim": 3
    }  # fmt: skip
    made = s.make("conv2d", operands, attributes, [shape(op.results[0])[i] for i in order], of)
    assert isinstance(made.owner, Operation)
    return made.owner, s.permute(made, _back(order))


def _as_matmul(op: Operation) -> SSAValue:
    """The windows as columns (or, when there are fewer outputs than taps, as rows) of a matmul."""
    s = _Steps(op)
    spatial = ("length",) if op.name == "ttir.conv1d" else ("height", "width")
    rank = len(spatial)
    order = _order(op, spatial)
    weight = operand(op, "weight")
    assert weight is not None
    of, groups = element_type(op.results[0]), access.attr(op, "groups")
    x = s.permute(op.operands[0], order)
    x = s.pad(x, [(0, 0), (0, 0), *padding_pairs(access.attr(op, "padding"), rank)])
    result = [shape(op.results[0])[i] for i in order]
    out, kernel = result[2:], shape(weight)[2:]
    stride, dilation = expand(access.attr(op, "stride"), rank), expand(access.attr(op, "dilation"), rank)
    taps, places = math.prod(kernel), math.prod(out)
    if min(taps, places) > MOST_SLICES:
        raise LoweringError("a convolution whose weights are not parameters", op=op.name, hint=f"its windows need {min(taps, places)} slices")
    n, channels = shape(x)[:2]
    parts = []
    if taps <= places:
        for at in _positions(kernel):
            cuts = {2 + d: (at[d] * dilation[d], stride[d], out[d]) for d in range(rank)}
            parts.append(s.reshape(s.slice(x, cuts), (n, channels, 1, places)))
        x = s.concat(parts, 2)
    else:
        for at in _positions(out):
            cuts = {2 + d: (at[d] * stride[d], dilation[d], kernel[d]) for d in range(rank)}
            parts.append(s.reshape(s.slice(x, cuts), (n, channels, taps, 1)))
        x = s.concat(parts, 3)
    depth = channels // groups * taps
    rows = s.reshape(weight, (1, groups, shape(weight)[0] // groups, depth))
    if n > 1:
        dims = (n, *shape(rows)[1:])
        rows = s.make("broadcast", [rows], {"broadcast_dimensions": (n, 1, 1, 1)}, dims, element_type(rows))
    x = s.reshape(x, (n, groups, depth, places))
    x = s.reshape(s.make("matmul", [rows, x], {}, (n, groups, shape(rows)[2], places), of), result)
    bias = operand(op, "bias")
    if bias is not None:
        x = s.make("add", [x, s.reshape(bias, (1, result[1], *[1] * rank))], {}, result, of)
    return s.permute(x, _back(order))


def _positions(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    places: list[tuple[int, ...]] = [()]
    for size in sizes:
        places = [(*place, i) for place in places for i in range(size)]
    return places


def _of_parameters(func: FuncOp, value: SSAValue, known: dict[SSAValue, bool]) -> bool:
    """Whether const-eval can compute the value: it depends on parameters and constants alone."""
    kinds = access.argument_attrs(func)
    stack = [value]
    while stack:
        current = stack[-1]
        if current in known:
            stack.pop()
        elif isinstance(current, BlockArgument):
            known[current] = access.is_fixed(kinds[current.index])
        else:
            op = current.owner
            parts = list(op.operands) if isinstance(op, Operation) else []
            todo = [part for part in parts if part not in known]
            if todo:
                stack += todo
            else:
                known[current] = all(known[part] for part in parts)
    return known[value]


@register("decompose-conv")
class DecomposeConv(Pass):
    """conv3d becomes conv2d over joined depth windows; a convolution with computed weights becomes a matmul."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            known: dict[SSAValue, bool] = {}
            for op in list(func.body.block.ops):
                if op.name == "ttir.conv3d":
                    replace(op, [_conv3d(op)])
            for op in list(func.body.block.ops):
                if op.name not in ("ttir.conv1d", "ttir.conv2d", "ttir.conv_transpose2d") or "flattened_compat_info" in op.properties:
                    continue
                weight = operand(op, "weight")
                if weight is not None and not _of_parameters(func, weight, known):
                    convolution = op
                    if op.name == "ttir.conv_transpose2d":
                        convolution, result = _as_convolution(op)
                        replace(op, [result])
                    replace(convolution, [_as_matmul(convolution)])
            erase_dead(func)
