"""TTIR: decomposes convolutions, folds arithmetic into their weights, and chooses the order of their dims."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import LoweringError
from alchemist.ir import access
from alchemist.ir.access import element_type, operand, shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import add_sources, defining, erase_dead, functions, made_by, replace, single_use
from alchemist.ir.location import sources_of
from alchemist.ir.value import Value, concat, full
from alchemist.ops import POINTWISE
from alchemist.ops.axes import Regrouped
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import NOTE
from alchemist.ops.windows import expand, padding_pairs
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import permuted, reshaped
from alchemist.rewrite.moves import Regroupings, commute, regions, regroup, worked_dims

# --- TTIR: 1-D convolutions work on channels-last values, as the kernel reads them; with kernel size 1 they become linear layers. ---

_ORDER = (0, 2, 1)
"""[N, C, L] to [N, L, C] and back."""
_CHANNELS_LAST_GROUPS = ((0,), (2,), (1,))


@register("conv1d-channels-last", fusing=True)
class Conv1dChannelsLast(Pass):
    """Convolutions on [N, C, L] and the ops around them work on [N, L, C] where that takes fewer permutes; `fold` joins those that are left."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            if any(_is_conv(op) for op in func.body.block.ops):
                fixed = FixedValues(func)
                for region in regions(func, lambda op, fixed=fixed: _regrouped(op, fixed)):  # type: ignore[misc]
                    _permute_region(_worthwhile(list(region), fixed))
                erase_dead(func)
            for op in list(func.body.block.ops):
                if op.parent is not None and _is_pointwise(op):
                    _as_linear(op)


def _is_conv(op: Operation) -> bool:
    return op.name == "ttir.conv1d" and (access.attr(op, "channel_dim"), access.attr(op, "length_dim")) == (1, 2)


def _is_permute(op: object) -> bool:
    return isinstance(op, Operation) and op.name == "ttir.permute" and tuple(access.attr(op, "permutation")) == _ORDER


def _data(op: Operation) -> list[SSAValue]:
    """The operands that are permuted along with the result: all but a convolution's weights."""
    regrouped = regroup(op, _CHANNELS_LAST_GROUPS)
    return [] if regrouped is None else [value for value, groups in zip(op.operands, regrouped.operands, strict=True) if groups]


def _regrouped(op: Operation, fixed: FixedValues) -> Regrouped | None:
    if has_trait(op, "rearrangement") or len(op.results) != 1 or op.results[0] in fixed or (op.name == "ttir.conv1d" and not _is_conv(op)):
        return None
    return regroup(op, _CHANNELS_LAST_GROUPS) if len(worked_dims(op)) == 3 and {len(shape(value)) for value in _data(op)} == {3} else None


def _is_inside(op: Operation) -> bool:
    """Whether the op's result is permuted too. A result that lacks a reduced dim is the same in both orders."""
    return len(shape(op.results[0])) == 3


def _worthwhile(region: list[Operation], fixed: FixedValues) -> list[Operation]:
    """The region if permuting it saves permutes, else each convolution and the chain after it for which that holds."""
    for part in ([region], [_chain_after(op) for op in region if _is_conv(op)]):
        profitable = [candidate for candidate in part if any(_is_conv(op) for op in candidate) and _gain(candidate, fixed) > 0]
        if profitable:
            return [op for candidate in profitable for op in candidate]
    return []


def _chain_after(op: Operation) -> list[Operation]:
    """The op and the chain of unary elementwise ops after it, each the only reader of the previous result."""
    chain = [op]
    while len(uses := list(chain[-1].results[0].uses)) == 1 and uses[0].operation.name in POINTWISE and len(uses[0].operation.operands) == 1:
        chain.append(uses[0].operation)
    return chain


def _gain(region: list[Operation], fixed: FixedValues) -> int:
    """The number of permutes saved. A convolution on [N, C, L] costs one permute before and one after it."""
    inside = {id(op) for op in region}
    before = {id(value): value for op in region for value in _data(op) if not (isinstance(value.owner, Operation) and id(value.owner) in inside)}
    gain = len({op.operands[0] for op in region if _is_conv(op)}) + sum(_is_conv(op) for op in region)
    for value in before.values():
        if value not in fixed:
            gain += 1 if _is_permute(value.owner) else -1
    for op in region:
        users = [use.operation for use in op.results[0].uses if id(use.operation) not in inside] if _is_inside(op) else []
        permutes = {id(user) for user in users if _is_permute(user)}
        gain += len(permutes) - (len(permutes) < len(users))
    return gain


def _permute_region(region: list[Operation]) -> None:
    shared: Regroupings = {}
    for op in region:
        if (to := regroup(op, _CHANNELS_LAST_GROUPS)) is not None:
            commute(op, to, shared)


def _is_pointwise(op: Operation) -> bool:
    """Whether the op is a channels-last convolution with kernel size 1 and one group."""
    if op.name != "ttir.conv1d" or (access.attr(op, "channel_dim"), access.attr(op, "length_dim")) != (2, 1):
        return False
    weight = operand(op, "weight")
    plain = access.attr(op, "stride") == 1 and access.attr(op, "padding") == 0 and access.attr(op, "groups") == 1
    return plain and weight is not None and shape(weight)[2] == 1


def _as_linear(op: Operation) -> None:
    b = Builder.in_place_of(op)
    weight, bias = operand(op, "weight"), operand(op, "bias")
    assert weight is not None
    transposed = Value(b, weight).reshape(*shape(weight)[:2]).permute(1, 0)
    x, bias_value = Value(b, op.operands[0]), Value(b, bias).reshape(shape(weight)[0]) if bias is not None else None
    replace(op, [(x.matmul(transposed) if bias_value is None else x.op("linear", transposed, bias_value)).ssa])


# --- Convolutions that TTNN's conv2d does not support: three spatial dims, weights that are not parameters. ---

MOST_SLICES = 1024
"""Limit of slices, as each window is a statement of the emitted program."""


def _sliced(x: Value, cuts: dict[int, tuple[int, int, int]]) -> Value:
    """cuts: dim -> (begin, step, count)."""
    begins, ends, steps = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    for dim, (begin, step, size) in cuts.items():
        begins[dim], ends[dim], steps[dim] = begin, begin + step * (size - 1) + 1, step
    return x.slice(begins, ends, steps)


def _order(op: Operation, names: Sequence[str]) -> list[int]:
    """Positions of batch, channel and spatial dims in the op's operand and result."""
    return [access.attr(op, f"{name}_dim") for name in ("batch", "channel", *names)]


def _inverse(order: Sequence[int]) -> list[int]:
    return [list(order).index(i) for i in range(len(order))]


def _conv3d(op: Operation) -> SSAValue:
    """A conv3d becomes a conv2d with depth windows as channels: [N, C, D, H, W] -> [N*D', C*KD, H, W]. The weights only need a reshape."""
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
        x = _sliced(x, {2: (0, 1, count * depth)}).reshape(n, channels, count, depth, height * width).permute(0, 2, 1, 3, 4)
    elif depth > 1:
        taps = [_sliced(x, {2: (tap, stride[0], count)}) for tap in range(depth)]
        x = concat([tap.reshape(n, channels, 1, count, height * width) for tap in taps], 2).permute(0, 3, 1, 2, 4)
    else:
        x = _sliced(x, {2: (0, stride[0], count)}).permute(0, 2, 1, 3, 4)
    x = x.reshape(n * count, channels * depth, height, width)
    flat = weight.reshape(out_channels, per_group * depth, *kernel)
    attributes = {
        "stride": stride[1:], "padding": [*(low for low, _ in pairs[1:]), *(high for _, high in pairs[1:])], "dilation": (1, 1),
        "groups": access.attr(op, "groups"), "batch_dim": 0, "channel_dim": 1, "height_dim": 2, "width_dim": 3,
    }  # fmt: skip
    conv = x.op("conv2d", flat, *(b_.reshape(1, out_channels, 1, 1) for b_ in bias), **attributes)
    conv = conv.reshape(n, count, out_channels, *result[3:]).permute(0, 2, 1, 3, 4)
    return conv.permute(*_inverse(order)).ssa


def _as_convolution(op: Operation) -> tuple[Operation, SSAValue]:
    """A conv_transpose2d becomes a conv2d over the image with zeros between its pixels: (convolution, replacement of the op's result)."""
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
    reversed_weight = weight.op("reverse", dimensions=(2, 3)).reshape(groups, channels // groups, per_group, math.prod(kernel)).permute(0, 2, 1, 3)
    reversed_weight = reversed_weight.reshape(groups * per_group, channels // groups, *kernel)
    attributes = {
        "stride": (1, 1), "padding": (0, 0), "dilation": dilation, "groups": groups, "batch_dim": 0, "channel_dim": 1, "height_dim": 2, "width_dim": 3
    }  # fmt: skip
    conv = x.op("conv2d", reversed_weight, *(term.reshape(1, groups * per_group, 1, 1) for term in bias), **attributes)
    assert isinstance(conv.ssa.owner, Operation)
    return conv.ssa.owner, conv.permute(*_inverse(order)).ssa


def _as_matmul(op: Operation) -> SSAValue:
    """A convolution becomes a matmul with its windows as columns, or as rows if there are fewer outputs than taps (im2col)."""
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
        for index in _positions(kernel):
            cuts = {2 + d: (index[d] * dilation[d], stride[d], out[d]) for d in range(rank)}
            parts.append(_sliced(x, cuts).reshape(n, channels, 1, places))
        x = concat(parts, 2)
    else:
        for index in _positions(out):
            cuts = {2 + d: (index[d] * stride[d], dilation[d], kernel[d]) for d in range(rank)}
            parts.append(_sliced(x, cuts).reshape(n, channels, taps, 1))
        x = concat(parts, 3)
    depth = channels // groups * taps
    rows = weight.reshape(1, groups, weight.shape[0] // groups, depth)
    rows = rows.broadcast(n, *rows.shape[1:])
    x = rows.op("matmul", x.reshape(n, groups, depth, places)).reshape(*result)
    for term in bias:
        x += term.reshape(1, result[1], *[1] * rank)
    return x.permute(*_inverse(order)).ssa


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


# --- A batch norm after a convolution or a linear layer is folded into its weights; so is arithmetic with one number per channel after convolutions.
# channel.


def _fold(maker: Operation, views: Sequence[Operation], norm: Operation) -> None:
    """weight' = weight * factor, bias' = (bias - mean) * factor + offset with factor = scale / sqrt(variance + epsilon)."""
    is_product = has_trait(maker, "product")
    weight, bias = operand(maker, "b" if is_product else "weight"), operand(maker, "bias") if maker.name != "ttir.matmul" else None
    assert weight is not None
    b = Builder.before(norm)
    b.source = None
    scale, offset, mean, variance = (Value(b, value) for value in norm.operands[1:5])
    size = scale.shape[0]
    epsilon = full(b, (size,), float(access.attr(norm, "epsilon")), scale.of)
    factor = scale * (variance + epsilon).op("rsqrt")
    if is_product:
        weight = rows = (Value(b, weight) * factor.reshape(*((size, 1) if access.attr(maker, "transpose_b") else (1, size)))).ssa
    else:
        weight, rows = _scaled_rows(b, weight, factor.ssa)
    if bias is not None:
        mean = mean - Value(b, bias).reshape(size)
    bias = (offset - mean * factor).ssa
    name = "ttir.linear" if is_product else maker.name
    folded = b.make(name, [maker.operands[0], weight, bias], access.declared(maker))
    add_sources(folded, maker, *views, norm)
    b.source = sources_of(norm)
    result = reshaped(b, folded.results[0], shape(norm.results[0]))
    for op in (value.owner for value in (rows, weight, bias, factor.ssa)):
        if isinstance(op, Operation):
            add_sources(op, norm)
    replace(norm, [result])


def _scaled_rows(b: Builder, weight: SSAValue, factor: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The weight with each output channel scaled, also as a matrix: tiles of a [O, C, 1, 1] tensor would be nearly all padding."""
    dims = shape(weight)
    rows = Value(b, weight).reshape(dims[0], math.prod(dims[1:])) * Value(b, factor).reshape(dims[0], 1)
    return rows.reshape(*dims).ssa, rows.ssa


def _per_channel(op: Operation, fixed: FixedValues) -> tuple[Operation, SSAValue] | None:
    """Matches an op on a convolution's result and one constant per channel: (convolution, constants)."""
    for value, numbers in (op.operands, reversed(op.operands)):
        conv = made_by(value, "convolution")
        if conv is None or not single_use(value) or access.attr(conv, "alchemist.activation") or numbers not in fixed:
            continue
        rank, channel = len(shape(value)), access.attr(conv, "channel_dim")
        dims = (1,) * (rank - len(shape(numbers))) + shape(numbers)
        dims_per_channel = tuple(n if dim == channel % rank else 1 for dim, n in enumerate(shape(value)))
        if dims == dims_per_channel and op.results[0].type == value.type and element_type(numbers) == element_type(value):
            return conv, numbers
    return None


def _fold_arithmetic(op: Operation, conv: Operation, numbers: SSAValue) -> None:
    """Folds conv(x) * factor into weight and bias, conv(x) + offset into the bias."""
    weight, bias = operand(conv, "weight"), operand(conv, "bias")
    assert weight is not None
    b = Builder.in_place_of(op)
    if op.name == "ttir.multiply":
        weight, _ = _scaled_rows(b, weight, numbers)
    if bias is not None:
        bias = Value(b, bias).op(op.name.removeprefix("ttir."), Value(b, numbers).reshape(*shape(bias))).ssa
    elif op.name == "ttir.add":
        bias = Value(b, numbers).reshape(shape(weight)[0]).ssa
    folded = b.make(conv.name, [conv.operands[0], weight, *([bias] if bias is not None else [])], access.declared(conv))
    add_sources(folded, conv)
    replace(op, [folded.results[0]])


@register("fold-batch-norm", fusing=True)
class FoldBatchNorm(Pass):
    """batch_norm_inference(conv(x)) becomes a convolution with scaled weights; so do conv(x) * factor and conv(x) + offset per channel.

    batch_norm_inference(linear(x)) becomes a linear layer, also of its rows flattened to a matrix.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            fixed = FixedValues(func)
            for op in list(func.body.block.ops):
                if has_trait(op, "arithmetic") and has_trait(op, "commutative") and (match := _per_channel(op, fixed)) is not None:
                    _fold_arithmetic(op, *match)
                if op.name != "ttir.batch_norm_inference":
                    continue
                maker = _maker(op.operands[0])
                if maker is not None and access.attr(op, "dimension") == _channels(maker[0], op.operands[0], fixed):
                    _fold(*maker, op)
            erase_dead(func)


def _maker(value: SSAValue) -> tuple[Operation, list[Operation]] | None:
    """The convolution that computes the value, or the matrix product and the reshapes of rows after it, in order.

    None if one of these values has another use.
    """
    if (conv := made_by(value, "convolution")) is not None:
        return (conv, []) if single_use(value) and not access.attr(conv, "alchemist.activation") else None
    views: list[Operation] = []
    while single_use(value) and (view := defining(value, "ttir.reshape")) is not None and shape(view.operands[0])[-1:] == shape(value)[-1:]:
        views.insert(0, view)
        value = view.operands[0]
    product = made_by(value, "product")
    return None if product is None or not single_use(value) or access.attr(product, "alchemist.activation") else (product, views)


def _channels(maker: Operation, value: SSAValue, fixed: FixedValues) -> int | None:
    """The dim of the result whose elements have separate weights; None if the weights are not constant."""
    if not has_trait(maker, "product"):
        channel_dim: int = access.attr(maker, "channel_dim")
        return channel_dim
    weight = maker.operands[1]
    return len(shape(value)) - 1 if weight in fixed and len(shape(weight)) == 2 else None


# --- TTIR: a product of flattened images reads them channels last, as convolutions and pools write them; its weights are reordered. ---

_CHANNELS_FIRST = (0, 3, 1, 2)
_CHANNELS_LAST = (0, 2, 3, 1)


@register("order-in-weights", fusing=True, from_level=1)
class OrderInWeights(Pass):
    """linear(reshape(x [N, C, H, W] -> [N, C*H*W]), w) becomes linear(reshape(permute(x) -> [N, H*W*C]), w') where x is stored channels last.

    The same numbers are added in another order. w' is made at const-eval; x is neither turned nor taken apart.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            products = [op for op in func.body.block.ops if has_trait(op, "product")]
            fixed = FixedValues(func)
            for op in products:
                if operand(op, "b") in fixed:
                    _reorder(op)
            erase_dead(func)


def _reorder(product: Operation) -> None:
    rows, weight = product.operands[:2]
    flatten = defining(rows, "ttir.reshape")
    if flatten is None or access.attr(product, "transpose_a") or len(shape(weight)) != 2:
        return
    image = flatten.operands[0]
    dims = shape(image)
    if len(dims) != 4 or shape(rows) != (dims[0], math.prod(dims[1:])) or 1 in (dims[1], dims[2] * dims[3]) or not _has_channels_last(image):
        return
    b = Builder.before(product)
    b.source = sources_of(flatten)
    product.operands[0] = reshaped(b, permuted(b, image, _CHANNELS_LAST), shape(rows))
    b.source = sources_of(product)
    product.operands[1] = _reordered_weight(b, weight, dims[1:], bool(access.attr(product, "transpose_b")))
    add_sources(product, flatten)


def _reordered_weight(b: Builder, weight: SSAValue, dims: Sequence[int], is_transposed: bool) -> SSAValue:
    """Reorders the rows (transposed: columns) of a weight from C, H, W to H, W, C.

    Pixels are one dim: tiles of [H, W] would be nearly all padding.
    """
    channels, pixels = dims[0], math.prod(dims[1:])
    outputs = shape(weight)[0 if is_transposed else 1]
    if is_transposed:
        reordered = permuted(b, reshaped(b, weight, (outputs, channels, pixels)), (0, 2, 1))
    else:
        reordered = permuted(b, reshaped(b, weight, (channels, pixels, outputs)), (1, 0, 2))
    if isinstance(reordered.owner, Operation):
        access.set_attr(reordered.owner, NOTE, "pixels before channels: as the image lies in memory")
    return reshaped(b, reordered, shape(weight))


def _has_channels_last(image: SSAValue) -> bool:
    """Whether [N, C, H, W] is computed by a channels-last convolution or pool, through elementwise ops."""
    maker = defining(image, "ttir.conv2d", "ttir.permute", *POINTWISE)
    while maker is not None and maker.name in POINTWISE:
        same_shaped = [value for value in maker.operands if shape(value) == shape(image)]
        maker = defining(same_shaped[0], "ttir.conv2d", "ttir.permute", *POINTWISE) if same_shaped else None
    if maker is None:
        return False
    if maker.name == "ttir.permute":
        return tuple(access.attr(maker, "permutation")) == _CHANNELS_FIRST
    return int(access.attr(maker, "channel_dim")) == 1
