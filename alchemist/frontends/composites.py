"""Operations composed of several TTIR ops that more than one front end needs, in the emitters' common vocabulary.

Images are channels first, as in torch and ONNX: [N, C, D, H, W]. `pads` are (before, after) pairs, one per spatial dimension.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import OpResult

from alchemist.frontends.vocabulary import D, T, Vocabulary, progression
from alchemist.ir.dialects import has_trait

Pads = Sequence[tuple[int, int]]
Array = np.ndarray[Any, Any]

# --- activations --------------------------------------------------------------------------------------------------------------


def tanh_gelu(c: Vocabulary[T, D], x: T) -> T:
    """0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))); `ttir.gelu` is the exact one."""
    cube = c.binary("multiply", c.binary("multiply", x, x), x)
    inner = c.binary("multiply", c.binary("add", x, c.binary("multiply", cube, 0.044715)), math.sqrt(2 / math.pi))
    return c.binary("multiply", c.binary("multiply", x, 0.5), c.binary("add", c.unary("tanh", inner), 1.0))


def elu(c: Vocabulary[T, D], x: T, alpha: float, scale: float = 1, input_scale: float = 1) -> T:
    """scale * (x where positive, else alpha (exp(input_scale x) - 1))."""
    inner = x if input_scale == 1 else c.binary("multiply", x, input_scale)
    low = c.unary("expm1", c.binary("minimum", inner, 0))
    low = low if alpha == 1 else c.binary("multiply", low, alpha)
    out = c.where(c.binary("gt", x, 0, c.bool_dtype), x, low)
    return out if scale == 1 else c.binary("multiply", out, scale)


def softplus(c: Vocabulary[T, D], x: T, beta: float = 1, threshold: float = 20) -> T:
    """log(1 + exp(beta x)) / beta, and x itself above the threshold."""
    scaled = x if beta == 1 else c.binary("multiply", x, beta)
    soft = c.unary("log1p", c.unary("exp", c.binary("minimum", scaled, threshold)))
    soft = soft if beta == 1 else c.binary("div", soft, beta)
    return c.where(c.binary("gt", scaled, threshold, c.bool_dtype), x, soft)


def simple_power(c: Vocabulary[T, D], x: T, exponent: float) -> T | None:
    """x to a power that has an op of its own; None for any other."""
    if exponent == 1:
        return x
    name = {0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal", 2.0: "square"}.get(float(exponent))
    return c.unary(name, x) if name and (c.is_float(x.dtype) or name == "square") else None


def log_softmax(c: Vocabulary[T, D], x: T, dim: int) -> T:
    shifted = c.binary("subtract", x, c.reduce("max", x, [dim], True))
    total = c.reduce("sum", c.unary("exp", shifted), [dim], True)
    return c.binary("subtract", shifted, c.unary("log", total))


# --- padding ------------------------------------------------------------------------------------------------------------------


def pad_constant(c: Vocabulary[T, D], x: T, pads: Pads, value: float) -> T:
    """Pads every dimension (`pads` has one pair each); negative amounts crop."""
    for dim, (low, high) in enumerate(pads):
        if low < 0 or high < 0:
            x = c.slice(x, dim, max(0, -low), x.shape[dim] - max(0, -high))
    pads = [(max(0, low), max(0, high)) for low, high in pads]
    if not any(amount for pair in pads for amount in pair):
        return x
    if not c.is_float(x.dtype):  # ttir.pad has a float value: pad integers by concatenation
        for dim, pair in enumerate(pads):
            for amount, before in zip(pair, (True, False), strict=True):
                if amount:
                    block = c.full([amount if i == dim else size for i, size in enumerate(x.shape)], value, x.dtype)
                    x = c.concat([block, x] if before else [x, block], dim)
        return x
    return c.emit("pad", [x], {"padding": [amount for pair in pads for amount in pair], "value": float(value)})


def pad_edge(c: Vocabulary[T, D], x: T, dim: int, low: int, high: int, mode: str) -> T:
    """Padding of one dimension from the tensor's own values. mode: "reflect", "replicate" or "circular"; amounts from 0."""
    size = x.shape[dim]
    parts = [x]
    for amount, before in ((low, True), (high, False)):
        if not amount:
            continue
        if mode == "reflect":
            piece = c.slice(x, dim, 1, amount + 1) if before else c.slice(x, dim, size - 1 - amount, size - 1)
            piece = c.unary("reverse", piece, {"dimensions": [dim]}) if amount > 1 else piece
        elif mode == "replicate":
            piece = c.slice(x, dim, 0, 1) if before else c.slice(x, dim, size - 1, size)
            piece = c.expand(piece, [amount if d == dim else s for d, s in enumerate(x.shape)])
        else:
            piece = c.slice(x, dim, size - amount, size) if before else c.slice(x, dim, 0, amount)
        parts = [piece, *parts] if before else [*parts, piece]
    return c.concat(parts, dim)


# --- convolutions -------------------------------------------------------------------------------------------------------------


def image_dims(rank: int) -> dict[str, int]:
    """The attributes with the dims of a channels-first image for TTIR's convolutions."""
    names = {1: ["length"], 2: ["height", "width"], 3: ["depth", "height", "width"]}[rank]
    return {"batch_dim": 0, "channel_dim": 1} | {f"{name}_dim": i + 2 for i, name in enumerate(names)}


def _flat_pads(pairs: Pads) -> list[int]:
    """[pad, ...] when symmetric, else all low values and then all high values (top, left, bottom, right)."""
    if all(low == high for low, high in pairs):
        return [low for low, _ in pairs]
    return [low for low, _ in pairs] + [high for _, high in pairs]


def convolution(c: Vocabulary[T, D], x: T, weight: T, bias: T | None, stride: Sequence[int], pads: Pads, dilation: Sequence[int], groups: int) -> T:
    """Of 1, 2 or 3 spatial dimensions: x [N, C, ...], weight [out, C / groups, ...], bias [out]."""
    rank = weight.rank - 2
    if rank != 2 and any(low != high for low, high in pads):
        x = pad_constant(c, x, [(0, 0), (0, 0), *pads], 0.0)
        pads = [(0, 0)] * rank
    attributes: dict[str, Any] = {"stride": list(stride), "padding": _flat_pads(pads), "groups": groups, **image_dims(rank)}
    if rank == 1:
        attributes |= {"stride": stride[0], "padding": pads[0][0]}
    if rank < 3:
        attributes["dilation"] = dilation[0] if rank == 1 else list(dilation)
    else:  # TTIR's conv3d has no dilation: zeros between the taps
        for dim, step in enumerate(dilation, 2):
            weight = _spread_taps(c, weight, dim, step)
    if bias is not None:  # TTIR: the bias has the rank of the output, channels where the output has them
        bias = c.reshape(bias, [1, bias.shape[0], *[1] * rank])
    return c.emit(f"conv{rank}d", [x, weight, bias], attributes)


def _spread_taps(c: Vocabulary[T, D], weight: T, dim: int, step: int) -> T:
    """`step` - 1 zeros between the elements along `dim`."""
    if step == 1 or weight.shape[dim] == 1:
        return weight
    before, size, after = weight.shape[:dim], weight.shape[dim], weight.shape[dim + 1 :]
    count = math.prod(after)
    rows = c.reshape(weight, [math.prod(before), size, 1, count])
    pads = {"padding": [0, 0, 0, 0, 0, step - 1, 0, 0], "value": 0.0}
    rows = c.emit("pad", [rows], pads)
    rows = c.slice(c.reshape(rows, [math.prod(before), size * step, count]), 1, 0, (size - 1) * step + 1)
    return c.reshape(rows, [*before, (size - 1) * step + 1, *after])


def transposed_convolution(
    c: Vocabulary[T, D], x: T, weight: T, bias: T | None, stride: Sequence[int], padding: Sequence[int], output_padding: Sequence[int],
    dilation: Sequence[int], groups: int,
) -> T:  # fmt: skip
    """Of 1, 2 or 3 spatial dimensions: x [N, C, ...], weight [C, out / groups, ...], bias [out]; the padding is the same on both sides."""
    if weight.rank == 5:
        return _transposed_3d(c, x, weight, bias, (stride, padding, output_padding, dilation), groups)
    flat = weight.rank == 3
    if flat:  # as a 2-d one of height 1
        x = c.reshape(x, [*x.shape[:2], 1, x.shape[2]])
        weight = c.reshape(weight, [*weight.shape[:2], 1, weight.shape[2]])
        stride, padding, output_padding, dilation = [1, *stride], [0, *padding], [0, *output_padding], [1, *dilation]
    attributes = {
        "stride": list(stride), "padding": list(padding), "output_padding": list(output_padding), "dilation": list(dilation), "groups": groups,
        **image_dims(2),
    }  # fmt: skip
    if bias is not None:
        bias = c.reshape(bias, [1, bias.shape[0], 1, 1])
    out = c.emit("conv_transpose2d", [x, weight, bias], attributes)
    return c.reshape(out, [*out.shape[:2], out.shape[3]]) if flat else out


def _transposed_3d(c: Vocabulary[T, D], x: T, weight: T, bias: T | None, geometry: Sequence[Sequence[int]], groups: int) -> T:
    """One 2-D transposed convolution per depth tap; each tap's planes are spread by the stride, shifted and added."""
    stride, padding, extra, dilation = (list(part) for part in geometry)
    n, channels, depth, height, width = x.shape
    planes = c.reshape(c.permute(x, [0, 2, 1, 3, 4]), [n * depth, channels, height, width])
    out_channels, taps = weight.shape[1] * groups, weight.shape[2]
    attributes = {
        "stride": stride[1:], "padding": padding[1:], "output_padding": extra[1:], "dilation": dilation[1:], "groups": groups, **image_dims(2)
    }  # fmt: skip
    total: T | None = None
    whole = (depth - 1) * stride[0] + dilation[0] * (taps - 1) + 1 + extra[0]
    for tap in range(taps):
        kernel = c.reshape(c.slice(weight, 2, tap, tap + 1), [*weight.shape[:2], *weight.shape[3:]])
        transposed = c.emit("conv_transpose2d", [planes, kernel, None], attributes)
        sizes, area = transposed.shape[2:], math.prod(transposed.shape[2:])
        transposed = c.reshape(transposed, [n, depth, 1, out_channels * area])
        transposed = pad_constant(c, transposed, [(0, 0), (0, 0), (0, stride[0] - 1), (0, 0)], 0.0)
        transposed = c.slice(c.reshape(transposed, [n, depth * stride[0], out_channels * area]), 1, 0, (depth - 1) * stride[0] + 1)
        begin = tap * dilation[0]
        transposed = pad_constant(c, transposed, [(0, 0), (begin, whole - transposed.shape[1] - begin), (0, 0)], 0.0)
        total = transposed if total is None else c.binary("add", total, transposed)
    assert total is not None
    total = c.slice(total, 1, padding[0], whole - padding[0])
    out = c.permute(c.reshape(total, [n, total.shape[1], out_channels, *sizes]), [0, 2, 1, 3, 4])
    if bias is not None:
        out = c.binary("add", out, c.reshape(bias, [1, out_channels, 1, 1, 1]))
    return out


# --- pools and resizing -------------------------------------------------------------------------------------------------------


def channels_last(c: Vocabulary[T, D], x: T) -> T:
    return c.permute(x, [0, 2, 3, 1])


def channels_first(c: Vocabulary[T, D], x: T) -> T:
    return c.permute(x, [0, 3, 1, 2])


def pool(
    c: Vocabulary[T, D], name: str, x: T, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
    ceil_mode: bool, extra: dict[str, Any],
) -> T:  # fmt: skip
    """Of an image with 1, 2 or 3 spatial dimensions, by TTIR's 2-d pool `name`: over depth by one behind that over the planes."""
    n, channels, *sizes = x.shape
    if len(sizes) == 1:
        flat = c.reshape(x, [n, channels, 1, *sizes])
        out = pool(c, name, flat, [1, *kernel], [1, *stride], [0, *padding], [1, *dilation], ceil_mode, extra)
        return c.reshape(out, [n, channels, out.shape[3]])
    if len(sizes) == 3:
        planes = c.reshape(x, [n, channels * sizes[0], *sizes[1:]])
        planes = pool(c, name, planes, kernel[1:], stride[1:], padding[1:], dilation[1:], ceil_mode, extra)
        lines = c.reshape(planes, [n, channels, sizes[0], math.prod(planes.shape[2:])])
        lines = pool(c, name, lines, [kernel[0], 1], [stride[0], 1], [padding[0], 0], [dilation[0], 1], ceil_mode, extra)
        return c.reshape(lines, [n, channels, lines.shape[2], *planes.shape[2:]])
    if ceil_mode:  # one window over everything, as heads with a pool of the channel count have it
        kernel = [min(k, size + 2 * p) if d == 1 else k for k, size, p, d in zip(kernel, x.shape[2:], padding, dilation, strict=True)]
    attributes = {
        "kernel": list(kernel), "stride": list(stride), "padding": list(padding), "dilation": list(dilation), "ceil_mode": ceil_mode, **extra
    }  # fmt: skip
    return channels_first(c, c.emit(name, [channels_last(c, x)], attributes))


def global_average(c: Vocabulary[T, D], x: T) -> T:
    """[N, C, H, W] -> [N, C, 1, 1]."""
    return channels_first(c, c.emit("global_avg_pool2d", [channels_last(c, x)]))


def upsample(c: Vocabulary[T, D], x: T, factors: Sequence[int], mode: str) -> T:
    """By whole factors. mode: "nearest" or "bilinear" (pixels have centres)."""
    if list(factors) == [1, 1]:
        return x
    return channels_first(c, c.emit("upsample2d", [channels_last(c, x)], {"scale_factor": list(factors), "mode": mode}))


def separable(c: Vocabulary[T, D], x: T, matrices: Sequence[Array]) -> T:
    """Applies one matrix [out, in] along each of the last dimensions: any linear, separable resampling."""
    rank = len(matrices)
    for k, matrix in enumerate(matrices):
        dim = x.rank - rank + k
        if matrix.shape[0] == matrix.shape[1] and bool((matrix == np.eye(matrix.shape[0])).all()):
            continue
        order = [i for i in range(x.rank) if i != dim]
        dim_last = c.permute(x, [*order, dim])
        weight = c.array(np.ascontiguousarray(matrix.T), x.dtype)
        flat = c.reshape(dim_last, [math.prod(dim_last.shape[:-1]), dim_last.shape[-1]])
        product = c.emit("matmul", [flat, weight])
        back = list(range(x.rank - 1))
        back.insert(dim, x.rank - 1)
        x = c.permute(c.reshape(product, [*dim_last.shape[:-1], matrix.shape[0]]), back)
    return x


def log_sum_exp(c: Vocabulary[T, D], x: T, dims: list[int] | None, limit: float) -> T:
    """Over `dims`, which are kept. limit: the largest number of the type: infinities have no difference from the peak."""
    peak = c.unary("clamp_scalar", c.reduce("max", x, dims, True), {"min": -limit, "max": limit})
    total = c.reduce("sum", c.unary("exp", c.binary("subtract", x, peak)), dims, True)
    return c.binary("add", c.unary("log", total), peak)


def modulo(c: Vocabulary[T, D], x: T, y: T, rounding: str, finite: bool) -> T:
    """x - y round(x / y). rounding: "floor" (the divisor's sign) or "trunc" (the dividend's, `fmod`). finite: y is known to be.

    The remainder by an infinite divisor is x, or the divisor where "floor" asks for its sign: the product there is 0 of a clamped divisor, not NaN.
    """
    whole = c.unary(rounding if finite else "trunc", c.binary("div", x, y))
    if finite:
        return c.binary("subtract", x, c.binary("multiply", y, whole))
    largest = float(np.finfo(np.float32).max)
    left = c.binary("subtract", x, c.binary("multiply", c.unary("clamp_scalar", y, {"min": -largest, "max": largest}), whole))
    differs = c.binary("lt", c.binary("multiply", left, y), 0, c.bool_dtype)
    return c.where(differs, c.binary("add", left, y), left) if rounding == "floor" else left


# --- whole numbers ------------------------------------------------------------------------------------------------------------


def towards_zero(c: Vocabulary[T, D], left: T, a: T, b: T) -> T:
    """The remainder of integers with the dividend's sign (C's, `fmod`) from the one with the divisor's."""
    differs = c.binary("lt", c.binary("multiply", c.unary("sign", left), c.unary("sign", a)), 0, c.bool_dtype)
    return c.where(differs, c.binary("subtract", left, b), left)


def in_opposite_order(c: Vocabulary[T, D], x: T) -> T:
    """Reverses the order of values: the complement for integers, since not every integer has a negative."""
    return c.unary("neg" if c.is_float(x.dtype) else "logical_not" if x.dtype == c.bool_dtype else "bitwise_not", x)


# --- products and look-ups ----------------------------------------------------------------------------------------------------


def matmul(c: Vocabulary[T, D], a: T, b: T) -> T:
    """numpy.matmul: vectors become one-row or one-column matrices, batch dimensions broadcast."""
    left = c.reshape(a, [1, a.shape[0]]) if a.rank == 1 else a
    right = c.reshape(b, [b.shape[0], 1]) if b.rank == 1 else b
    product = c.emit("matmul", [left, right])
    rows = [] if a.rank == 1 else [left.shape[-2]]
    columns = [] if b.rank == 1 else [right.shape[-1]]
    return c.reshape(product, [*product.shape[:-2], *rows, *columns])


def rows_of(c: Vocabulary[T, D], table: T, ids: T) -> T:
    """table [rows, ...rest] and ids [...] from 0 -> [...ids, ...rest]."""
    rest = table.shape[1:]
    if len(rest) == 1:
        return c.emit("embedding", [ids, table])
    flat = c.reshape(table, [table.shape[0], math.prod(rest)])
    flat_ids = ids if ids.rank else c.reshape(ids, [1])
    return c.reshape(c.emit("embedding", [flat_ids, flat]), [*ids.shape, *rest])


def take(c: Vocabulary[T, D], table: T, ids: T, values: Array | None) -> T:
    """Like `rows_of`. values: known ids (which may count from the end); consecutive ones become a slice, equal ones a broadcast."""
    if values is None or not values.size:
        return rows_of(c, table, ids)
    rest, shape = table.shape[1:], [*ids.shape, *table.shape[1:]]
    if bool((values < 0).any()):
        values = np.where(values < 0, values + table.shape[0], values)
        ids = c.array(values, ids.dtype)
    if bool((values == values.flat[0]).all()):
        row = int(values.flat[0])
        part = c.slice(table, 0, row, row + 1)
        return c.expand(c.reshape(part, [*[1] * ids.rank, *rest]), shape)
    steps = progression(values)
    if steps is not None and steps[2] > 0:
        dim, start, step = steps
        count = ids.shape[dim]
        part = c.slice(table, 0, start, start + step * (count - 1) + 1, step)
        return c.expand(c.reshape(part, [*(count if i == dim else 1 for i in range(ids.rank)), *rest]), shape)
    return rows_of(c, table, ids)


def from_start(c: Vocabulary[T, D], index: T, size: int, is_read: bool = True) -> T:
    """A computed index below 0 counts from the end: -1 is size - 1. is_read: a look-up reads the index itself, not a number made of it.

    An input that is read has no negative value if the exported call has none: the device reads it as unsigned, so a later call with one is refused.
    The passes known-signs and plain-indices remove the comparison where a computed index cannot be negative.
    """
    value = index.ssa
    while isinstance(value, OpResult) and (value.op.name == "ttir.typecast" or has_trait(value.op, "rearrangement")):
        value = value.op.operands[0]
    if c.element(index.dtype).startswith("u") or (is_read and not isinstance(value, OpResult) and value not in c.negative_inputs):
        return index
    return c.where(c.binary("lt", index, 0, c.bool_dtype), c.binary("add", index, size), index)


def take_along(c: Vocabulary[T, D], x: T, dim: int, ids: T, values: Array | None) -> T:
    """x indexed by one tensor at `dim`; the index's dimensions stand in its place."""
    if dim == 0:
        return take(c, x, ids, values)
    front = c.permute(x, [dim, *(i for i in range(x.rank) if i != dim)])
    rows = take(c, front, ids, values)
    n = ids.rank
    return c.permute(rows, [*range(n, n + dim), *range(n), *range(n + dim, rows.rank)])
