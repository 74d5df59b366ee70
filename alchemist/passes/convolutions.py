"""TTIR: convolutions, what is folded into them, and the order of their dims."""

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
from alchemist.rewrite.moves import Known, commute, regions, regroup, worked_dims

# --- TTIR: values between 1-D convolutions store channels last, as the kernel reads them; a convolution of kernel size 1 becomes a linear layer. ---

_ORDER = (0, 2, 1)
"""[N, C, L] to [N, L, C] and back."""
_TURNED = ((0,), (2,), (1,))


@register("conv1d-channels-last", fusing=True)
class Conv1dChannelsLast(Pass):
    """Convolutions on [N, C, L] and the ops around them work on [N, L, C] where that takes fewer permutes; `fold` joins those that are left."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            if any(_is_conv(op) for op in func.body.block.ops):
                fixed = FixedValues(func)
                for region in regions(func, lambda op, fixed=fixed: _turned(op, fixed)):  # type: ignore[misc]
                    _turn(_worthwhile(list(region), fixed))
                erase_dead(func)
            for op in list(func.body.block.ops):
                if op.parent is not None and _is_pointwise(op):
                    _as_linear(op)


def _is_conv(op: Operation) -> bool:
    return op.name == "ttir.conv1d" and (access.attr(op, "channel_dim"), access.attr(op, "length_dim")) == (1, 2)


def _is_permute(op: object) -> bool:
    return isinstance(op, Operation) and op.name == "ttir.permute" and tuple(access.attr(op, "permutation")) == _ORDER


def _data(op: Operation) -> list[SSAValue]:
    """The operands that change places with the result: not a convolution's weights."""
    turned = regroup(op, _TURNED)
    return [] if turned is None else [value for value, groups in zip(op.operands, turned.operands, strict=True) if groups]


def _turned(op: Operation, fixed: FixedValues) -> Regrouped | None:
    if has_trait(op, "rearrangement") or len(op.results) != 1 or op.results[0] in fixed or (op.name == "ttir.conv1d" and not _is_conv(op)):
        return None
    return regroup(op, _TURNED) if len(worked_dims(op)) == 3 and {len(shape(value)) for value in _data(op)} == {3} else None


def _is_inside(op: Operation) -> bool:
    """Whether the op's result has the turned form too: one without a dimension for what was summed up is the same either way."""
    return len(shape(op.results[0])) == 3


def _worthwhile(region: list[Operation], fixed: FixedValues) -> list[Operation]:
    """The region if that saves permutes, else each convolution of it with what alone reads it, if that does."""
    for part in ([region], [_behind(op) for op in region if _is_conv(op)]):
        found = [one for one in part if any(_is_conv(op) for op in one) and _gain(one, fixed) > 0]
        if found:
            return [op for one in found for op in one]
    return []


def _behind(op: Operation) -> list[Operation]:
    """The op and the elementwise ops that alone read its result, one after another."""
    found = [op]
    while len(uses := list(found[-1].results[0].uses)) == 1 and uses[0].operation.name in POINTWISE and len(uses[0].operation.operands) == 1:
        found.append(uses[0].operation)
    return found


def _gain(region: list[Operation], fixed: FixedValues) -> int:
    """Permutes that turning the region saves. A convolution makes one in front of it and one behind it out of those of the old order."""
    inside = {id(op) for op in region}
    before = {id(value): value for op in region for value in _data(op) if not (isinstance(value.owner, Operation) and id(value.owner) in inside)}
    gain = len({op.operands[0] for op in region if _is_conv(op)}) + sum(_is_conv(op) for op in region)
    for value in before.values():
        if value not in fixed:
            gain += 1 if _is_permute(value.owner) else -1
    for op in region:
        users = [use.operation for use in op.results[0].uses if id(use.operation) not in inside] if _is_inside(op) else []
        turned = {id(user) for user in users if _is_permute(user)}
        gain += len(turned) - (len(turned) < len(users))
    return gain


def _turn(region: list[Operation]) -> None:
    turned: Known = {}
    for op in region:
        if (to := regroup(op, _TURNED)) is not None:
            commute(op, to, turned)


def _is_pointwise(op: Operation) -> bool:
    """A convolution of one tap with its channels last, of all channels together."""
    if op.name != "ttir.conv1d" or (access.attr(op, "channel_dim"), access.attr(op, "length_dim")) != (2, 1):
        return False
    weight = operand(op, "weight")
    plain = access.attr(op, "stride") == 1 and access.attr(op, "padding") == 0 and access.attr(op, "groups") == 1
    return plain and weight is not None and shape(weight)[2] == 1


def _as_linear(op: Operation) -> None:
    b = Builder.in_place_of(op)
    weight, bias = operand(op, "weight"), operand(op, "bias")
    assert weight is not None
    turned = Value(b, weight).reshape(*shape(weight)[:2]).permute(1, 0)
    x, added = Value(b, op.operands[0]), Value(b, bias).reshape(shape(weight)[0]) if bias is not None else None
    replace(op, [(x.matmul(turned) if added is None else x.op("linear", turned, added)).ssa])


# --- Convolutions that TTNN's conv2d cannot do as they stand: three spatial dims, weights that are not parameters. ---

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


# --- A batch norm behind a convolution or a linear layer goes into its weights, written as one op or (convolutions) as arithmetic with a number per
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
    made = b.make(name, [maker.operands[0], weight, bias], access.declared(maker))
    add_sources(made, maker, *views, norm)
    b.source = sources_of(norm)
    result = reshaped(b, made.results[0], shape(norm.results[0]))
    for op in (value.owner for value in (rows, weight, bias, factor.ssa)):
        if isinstance(op, Operation):
            add_sources(op, norm)
    replace(norm, [result])


def _scaled_rows(b: Builder, weight: SSAValue, factor: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The weight with every output channel scaled, and the same as a matrix: tiles of a [O, C, 1, 1] tensor would be nearly all padding."""
    dims = shape(weight)
    rows = Value(b, weight).reshape(dims[0], math.prod(dims[1:])) * Value(b, factor).reshape(dims[0], 1)
    return rows.reshape(*dims).ssa, rows.ssa


def _per_channel(op: Operation, fixed: FixedValues) -> tuple[Operation, SSAValue] | None:
    """(convolution, numbers) where the op does the same to all that the convolution has made for a channel."""
    for made, numbers in (op.operands, reversed(op.operands)):
        conv = made_by(made, "convolution")
        if conv is None or not single_use(made) or access.attr(conv, "alchemist.activation") or numbers not in fixed:
            continue
        rank, channel = len(shape(made)), access.attr(conv, "channel_dim")
        dims = (1,) * (rank - len(shape(numbers))) + shape(numbers)
        wanted = tuple(n if dim == channel % rank else 1 for dim, n in enumerate(shape(made)))
        if dims == wanted and op.results[0].type == made.type and element_type(numbers) == element_type(made):
            return conv, numbers
    return None


def _fold_arithmetic(op: Operation, conv: Operation, numbers: SSAValue) -> None:
    """conv(x) * factor scales weight and bias, conv(x) + offset is the bias or a part of it."""
    weight, bias = operand(conv, "weight"), operand(conv, "bias")
    assert weight is not None
    b = Builder.in_place_of(op)
    if op.name == "ttir.multiply":
        weight, _ = _scaled_rows(b, weight, numbers)
    if bias is not None:
        bias = Value(b, bias).op(op.name.removeprefix("ttir."), Value(b, numbers).reshape(*shape(bias))).ssa
    elif op.name == "ttir.add":
        bias = Value(b, numbers).reshape(shape(weight)[0]).ssa
    made = b.make(conv.name, [conv.operands[0], weight, *([bias] if bias is not None else [])], access.declared(conv))
    add_sources(made, conv)
    replace(op, [made.results[0]])


@register("fold-batch-norm", fusing=True)
class FoldBatchNorm(Pass):
    """batch_norm_inference(conv(x)) becomes a convolution with scaled weights; so do conv(x) * factor and conv(x) + offset per channel.

    batch_norm_inference(linear(x)) becomes a linear layer, also of its rows flattened to a matrix.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            fixed = FixedValues(func)
            for op in list(func.body.block.ops):
                if has_trait(op, "arithmetic") and has_trait(op, "commutative") and (found := _per_channel(op, fixed)) is not None:
                    _fold_arithmetic(op, *found)
                if op.name != "ttir.batch_norm_inference":
                    continue
                maker = _maker(op.operands[0])
                if maker is not None and access.attr(op, "dimension") == _channels(maker[0], op.operands[0], fixed):
                    _fold(*maker, op)
            erase_dead(func)


def _maker(value: SSAValue) -> tuple[Operation, list[Operation]] | None:
    """The convolution that makes the value, or the product that makes its rows and the views that number those otherwise, the first one first.

    None where something else reads that.
    """
    if (conv := made_by(value, "convolution")) is not None:
        return (conv, []) if single_use(value) and not access.attr(conv, "alchemist.activation") else None
    views: list[Operation] = []
    while single_use(value) and (view := defining(value, "ttir.reshape")) is not None and shape(view.operands[0])[-1:] == shape(value)[-1:]:
        views.insert(0, view)
        value = view.operands[0]
    product = made_by(value, "product")
    return None if product is None or not single_use(value) or access.attr(product, "alchemist.activation") else (product, views)


def _channels(maker: Operation, made: SSAValue, fixed: FixedValues) -> int | None:
    """The dimension of what it has made of which each place has weights of its own, None where those are computed."""
    if not has_trait(maker, "product"):
        found: int = access.attr(maker, "channel_dim")
        return found
    weight = maker.operands[1]
    return len(shape(made)) - 1 if weight in fixed and len(shape(weight)) == 2 else None


# --- TTIR: a product of flattened images reads them with channels last, as convolutions and pools leave them; its weights take the other order. ---

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
    product.operands[1] = _turned_weight(b, weight, dims[1:], bool(access.attr(product, "transpose_b")))
    add_sources(product, flatten)


def _turned_weight(b: Builder, weight: SSAValue, dims: Sequence[int], is_transposed: bool) -> SSAValue:
    """The rows (or, transposed, columns) of a weight from the order C, H, W in the order H, W, C.

    Pixels are one dim: tiles of [H, W] would be nearly all padding.
    """
    channels, pixels = dims[0], math.prod(dims[1:])
    outputs = shape(weight)[0 if is_transposed else 1]
    if is_transposed:
        turned = permuted(b, reshaped(b, weight, (outputs, channels, pixels)), (0, 2, 1))
    else:
        turned = permuted(b, reshaped(b, weight, (channels, pixels, outputs)), (1, 0, 2))
    if isinstance(turned.owner, Operation):
        access.set_attr(turned.owner, NOTE, "pixels before channels: as the image lies in memory")
    return reshaped(b, turned, shape(weight))


def _has_channels_last(image: SSAValue) -> bool:
    """Whether [N, C, H, W] comes from a convolution or a pool, through ops that work element by element."""
    maker = defining(image, "ttir.conv2d", "ttir.permute", *POINTWISE)
    while maker is not None and maker.name in POINTWISE:
        whole = [value for value in maker.operands if shape(value) == shape(image)]
        maker = defining(whole[0], "ttir.conv2d", "ttir.permute", *POINTWISE) if whole else None
    if maker is None:
        return False
    if maker.name == "ttir.permute":
        return tuple(access.attr(maker, "permutation")) == _CHANNELS_FIRST
    return int(access.attr(maker, "channel_dim")) == 1
