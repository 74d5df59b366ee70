"""dot_general -> matmul, convolution -> conv2d / conv_transpose2d / conv3d."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from alchemist.frontends.stablehlo.convert import Converter, prop, rule, type_of
from alchemist.frontends.stablehlo.rules_eltwise import array_of
from alchemist.frontends.stablehlo.rules_shape import flip, numbers, pad_val, slice_val, spread_val
from alchemist.frontends.stablehlo.values import FOLD_LIMIT, Unsupported, Val


@rule("stablehlo.dot_general")
def dot_general(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """Operands become [batch ..., M, K] and [batch ..., K, N] with as few moves as possible.

    A weight with several free or contracted dimensions (attention heads) is reshaped, so that the moves fall on the
    weight, where they cost nothing at run time.
    """
    d = numbers(prop(op, "dot_dimension_numbers"))
    lhs_batch, rhs_batch = d.get("lhs_batching_dimensions", ()), d.get("rhs_batching_dimensions", ())
    lhs_k, rhs_k = d.get("lhs_contracting_dimensions", ()), d.get("rhs_contracting_dimensions", ())
    lhs, rhs = vals
    shape, of = type_of(op.results[0])
    if lhs.const is not None and rhs.const is not None and math.prod(shape) <= FOLD_LIMIT // 64:
        return _fold_dot(c, lhs, rhs, (lhs_batch, rhs_batch, lhs_k, rhs_k), shape, of)
    if lhs.of != rhs.of or not of.startswith(("f", "bf")):
        summed = "i32" if of == "i1" else of  # a sum of booleans is true where any product is
        lhs, rhs = c.e.typecast(lhs, summed), c.e.typecast(rhs, summed)
    lhs_free = [i for i in range(len(lhs.shape)) if i not in lhs_batch and i not in lhs_k]
    rhs_free = [i for i in range(len(rhs.shape)) if i not in rhs_batch and i not in rhs_k]
    batch = [lhs.shape[i] for i in lhs_batch]
    m = [lhs.shape[i] for i in lhs_free]
    n = [rhs.shape[i] for i in rhs_free]
    k = math.prod(lhs.shape[i] for i in lhs_k)
    # right side: [batch, K, N], or [batch, N, K] with transpose_b when that is how it lies
    flip_b = bool(rhs_free) and max(rhs_k, default=-1) > min(rhs_free) and (*rhs_batch, *rhs_free, *rhs_k) == tuple(range(len(rhs.shape)))
    tail = (*rhs_free, *rhs_k) if flip_b else (*rhs_k, *rhs_free)
    b = c.e.permute(rhs, [*rhs_batch, *tail])
    b = c.e.reshape(b, (*batch, math.prod(n), k) if flip_b else (*batch, k, math.prod(n)))
    # left side: [batch, M, K]; without batch the free dimensions may stay as they are
    flip_a = bool(lhs_free) and (*lhs_batch, *lhs_k, *lhs_free) == tuple(range(len(lhs.shape))) and len(lhs_free) == 1
    a = lhs if flip_a else c.e.permute(lhs, [*lhs_batch, *lhs_free, *lhs_k])
    keep = not batch and len(m) >= 1 and not flip_a
    rows = m if keep else [math.prod(m)]
    a = c.e.reshape(a, (*batch, k, *rows) if flip_a else (*batch, *rows, k))
    attributes = {"transpose_a": flip_a or None, "transpose_b": flip_b or None}
    product = c.e.make("ttir.matmul", [c.e.full(a), c.e.full(b)], attributes)
    return c.e.typecast(c.e.reshape(product, shape), of)


def _fold_dot(c: Converter, lhs: Val, rhs: Val, dims: tuple[Sequence[int], ...], shape: tuple[int, ...], of: str) -> Val:
    lhs_batch, rhs_batch, lhs_k, rhs_k = dims
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left = [""] * len(lhs.shape)
    right = [""] * len(rhs.shape)
    for i, j in [*zip(lhs_batch, rhs_batch, strict=True), *zip(lhs_k, rhs_k, strict=True)]:
        left[i] = right[j] = next(letters)
    left = [name or next(letters) for name in left]
    right = [name or next(letters) for name in right]
    out = [left[i] for i in lhs_batch]
    out += [name for i, name in enumerate(left) if i not in lhs_batch and i not in lhs_k]
    out += [name for i, name in enumerate(right) if i not in rhs_batch and i not in rhs_k]
    wide = [array_of(v).astype(np.float32 if v.of.startswith("bf") else array_of(v).dtype) for v in (lhs, rhs)]
    return c.e.const(np.einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", *wide), shape, of)


# --- convolution --------------------------------------------------------------------------------------------------------


def _layout(text: str) -> tuple[list[str], list[str], list[str]]:
    """`<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>` -> the three lists."""
    lhs, kernel, out = (part.replace(" ", "").split(",") for part in re.findall(r"\[([^\]]*)\]", text))
    return lhs, kernel, out


@rule("stablehlo.convolution")
def convolution(c: Converter, op: Operation, vals: list[Val]) -> Val:
    x, weight = vals
    lhs, kernel, out = _layout(prop(op, "dimension_numbers"))
    rank = len(lhs) - 2
    groups, batch_groups = prop(op, "feature_group_count", 1), prop(op, "batch_group_count", 1)
    stride = list(prop(op, "window_strides", (1,) * rank))
    dilation = list(prop(op, "rhs_dilation", (1,) * rank))
    spread = list(prop(op, "lhs_dilation", (1,) * rank))
    padding_attribute = prop(op, "padding")
    padding = np.zeros((rank, 2), np.int64) if padding_attribute is None else np.asarray(padding_attribute).reshape(rank, 2)
    before, after = [int(v) for v in padding[:, 0]], [int(v) for v in padding[:, 1]]
    if batch_groups != 1:
        x, groups = _batch_as_channels(c, x, lhs, batch_groups), batch_groups
    if rank not in (1, 2, 3):
        raise Unsupported(f"convolution over {rank} spatial dimensions")
    shape, given_of = type_of(op.results[0])
    of = given_of if given_of.startswith(("f", "bf")) else "f32"  # the device multiplies floats only
    x, weight = c.e.typecast(x, of), c.e.typecast(weight, of)
    spatial = [str(i) for i in range(rank)]
    weight = flip(c, weight, [kernel.index(name) for name, turned in zip(spatial, prop(op, "window_reversal", ()), strict=False) if turned])
    room = [(weight.shape[kernel.index(name)] - 1) * step for name, step in zip(spatial, dilation, strict=True)]
    is_direct = c.is_fixed(weight) and rank != 3 and all(n == 1 for n in stride) and all(size >= n for size, n in zip(room, before, strict=True))
    if any(n != 1 for n in spread) and not is_direct:  # not as a transposed convolution
        for name, step in zip(spatial, spread, strict=True):
            x = spread_val(c, x, lhs.index(name), step - 1, c.e.scalar(0.0, (), x.of))
        spread = [1] * rank
    if rank == 3:
        for name, step in zip(spatial, dilation, strict=True):
            weight = spread_val(c, weight, kernel.index(name), step - 1, c.e.scalar(0.0, (), of))
        dilation = [1] * rank
    transposed = any(n != 1 for n in spread)
    # weights as the ops want them: [O, I, ...], transposed convolutions [I, O, ...] with flipped windows
    w = c.e.permute(weight, [kernel.index(name) for name in ["o", "i", *spatial]])
    sizes = [weight.shape[kernel.index(name)] for name in spatial]
    lifted = rank == 1
    if lifted:  # a second spatial dimension of size 1
        x = c.e.reshape(x, (*x.shape, 1))
        lhs, out, spatial = [*lhs, "1"], [*out, "1"], ["0", "1"]
        w = c.e.reshape(w, (*w.shape, 1))
        sizes, stride, dilation, spread = [*sizes, 1], [*stride, 1], [*dilation, 1], [*spread, 1]
        before, after = [*before, 0], [*after, 0]
        shape = (*shape, 1)
    if len(spatial) == 2 and min(before + after) < 0 and not transposed:
        x, before, after = _crop(c, x, lhs, spatial, before, after)
    names = ("batch_dim", *(("height_dim", "width_dim") if len(spatial) == 2 else ("depth_dim", "height_dim", "width_dim")), "channel_dim")
    dims = dict(zip(names, [lhs.index(name) for name in ["b", *spatial, "f"]], strict=True))
    result = tuple(shape[out.index(name)] for name in lhs)
    attributes: dict[str, Any] = {"stride": stride, "groups": groups, **dims}
    if transposed:
        found, cut = _transposed(sizes, spread, dilation, before, after)
        axes = [lhs.index(name) for name in spatial]
        whole = list(result)
        for axis, size in zip(axes, cut, strict=True):
            whole[axis] += size
        operands = [c.e.full(x), c.e.full(_flip_weights(c, w, groups))]
        made = c.e.make("ttir.conv_transpose2d", operands, attributes | found)
        made = slice_val(c, made, [0] * len(whole), result)
    elif len(spatial) == 2:
        attributes |= {"padding": [*before, *after], "dilation": dilation}
        made = c.e.make("ttir.conv2d", [c.e.full(x), c.e.full(w)], attributes)
    else:
        if before != after:
            low, high = [0] * len(x.shape), [0] * len(x.shape)
            for axis, a, b in zip((lhs.index(name) for name in spatial), before, after, strict=True):
                low[axis], high[axis] = a, b
            x, before = pad_val(c, x, low, high, 0.0), [0] * rank
        attributes |= {"padding": before}
        made = c.e.make("ttir.conv3d", [c.e.full(x), c.e.full(w)], attributes)
    made = c.e.permute(made, [lhs.index(name) for name in out])
    return c.e.typecast(c.e.reshape(made, shape[:-1]) if lifted else made, given_of)


def _batch_as_channels(c: Converter, x: Val, lhs: list[str], groups: int) -> Val:
    """Groups of the batch as groups of channels: every group of filters sees its own."""
    batch, channel = lhs.index("b"), lhs.index("f")
    n, width = x.shape[batch], x.shape[channel]
    split = c.e.reshape(x, (*x.shape[:batch], groups, n // groups, *x.shape[batch + 1 :]))
    order: list[int] = []
    for i in range(len(x.shape)):
        order += [batch] if i == channel else []
        order.append(i if i < batch else i + 1)
    permuted = c.e.permute(split, order)
    grown = {batch: n // groups, channel: groups * width}
    return c.e.reshape(permuted, tuple(grown.get(i, size) for i, size in enumerate(x.shape)))


def _crop(c: Converter, x: Val, lhs: list[str], spatial: Sequence[str], before: list[int], after: list[int]) -> tuple[Val, list[int], list[int]]:
    begins, ends = [0] * len(x.shape), list(x.shape)
    for i, name in enumerate(spatial):
        axis = lhs.index(name)
        begins[axis], ends[axis] = max(0, -before[i]), x.shape[axis] - max(0, -after[i])
    return slice_val(c, x, begins, ends), [max(0, n) for n in before], [max(0, n) for n in after]


def _transposed(
    sizes: Sequence[int], spread: Sequence[int], dilation: Sequence[int], before: Sequence[int], after: Sequence[int]
) -> tuple[dict[str, Any], list[int]]:
    """Attributes of conv_transpose2d for a convolution over a spread input, and what to cut off behind.

    The op cuts the same amount on both sides and can add behind; the convolution may cut more behind than before.
    """
    extents = [(k - 1) * d for k, d in zip(sizes, dilation, strict=True)]
    low = [extent - n for extent, n in zip(extents, before, strict=True)]
    high = [extent - n for extent, n in zip(extents, after, strict=True)]
    extra = [max(0, a - b) for a, b in zip(low, high, strict=True)]
    cut = [max(0, b - a) for a, b in zip(low, high, strict=True)]
    attributes = {"stride": list(spread), "padding": low + low, "output_padding": extra, "dilation": list(dilation)}
    return attributes, cut


def _flip_weights(c: Converter, w: Val, groups: int) -> Val:
    """[O, I/g, h, w] -> [I, O/g, h, w] with reversed windows."""
    outs, ins, height, width = w.shape
    if groups > 1:
        split = c.e.reshape(w, (groups, outs // groups, ins, height, width))
        w = c.e.reshape(c.e.permute(split, [0, 2, 1, 3, 4]), (groups * ins, outs // groups, height, width))
    else:
        w = c.e.permute(w, [1, 0, 2, 3])
    return flip(c, w, [2, 3])
