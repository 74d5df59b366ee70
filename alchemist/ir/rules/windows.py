"""Convolutions, pools and other windows."""

from __future__ import annotations

import math
import re

from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ir.rules.table import Inferred, Shape, attribute, infers, integer, is_integer, need, rank_is, rule, shape_of


def _pair(op: Operation, name: str, least: int) -> tuple[int, int]:
    value = attribute(op, name)
    if value is None:
        return (least, least)
    numbers = (value, value) if isinstance(value, int) else value
    need(isinstance(numbers, tuple) and len(numbers) == 2, f"{name}: expected an integer or a pair of integers, got {numbers}")
    assert isinstance(numbers, tuple)
    need(all(number >= least for number in numbers), f"{name} values must be at least {least}, got {numbers}")
    return numbers


def _padding(op: Operation) -> tuple[int, int, int, int]:
    """(top, left, bottom, right)."""
    value = attribute(op, "padding")
    numbers = (value,) * 4 if isinstance(value, int) else value
    need(isinstance(numbers, tuple) and len(numbers) in (2, 4), f"padding: expected an integer, a pair or four integers, got {numbers}")
    assert isinstance(numbers, tuple)
    need(all(number >= 0 for number in numbers), f"padding values must be at least 0, got {numbers}")
    return numbers if len(numbers) == 4 else (*numbers, *numbers)


def _windows(size: int, kernel: int, stride: int, dilation: int, padding: int, *, ceil: bool, after: int = 0) -> int:
    """Number of positions; with `ceil` a last one that begins inside the input or its padding before (not in `after`)."""
    span = size + padding - dilation * (kernel - 1) - 1
    count = (span + (stride - 1 if ceil else 0)) // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= size + padding - after else count


def sizes_of(op: Operation, sizes: tuple[int, int]) -> tuple[int, int]:
    """Height and width of the result of a convolution or pool on images of `sizes`.

    Raises:
        VerifyException: invalid attributes, or a kernel that does not fit.
    """
    weight = access.shape(op.operands[1]) if "pool" not in op.name else None
    kernel = _pair(op, "kernel", 1) if weight is None else (weight[2], weight[3])
    stride, dilation, padding = _pair(op, "stride", 1), _pair(op, "dilation", 1), _padding(op)
    around = (padding[0] + padding[2], padding[1] + padding[3])
    if op.name == "ttir.conv_transpose2d":
        extra = _pair(op, "output_padding", 0)
        high, wide = ((sizes[i] - 1) * stride[i] - around[i] + dilation[i] * (kernel[i] - 1) + extra[i] + 1 for i in (0, 1))
        need(min(high, wide) > 0, f"the result would have height and width {[high, wide]}")
    else:
        _fits(kernel, dilation, (sizes[0] + around[0], sizes[1] + around[1]))
        ceil = bool(attribute(op, "ceil_mode"))
        high, wide = (_windows(sizes[i], kernel[i], stride[i], dilation[i], around[i], ceil=ceil, after=padding[i + 2]) for i in (0, 1))
    return high, wide


def _fits(kernel: tuple[int, int], dilation: tuple[int, int], sizes: tuple[int, int]) -> None:
    spans = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    need(all(a <= b for a, b in zip(spans, sizes, strict=True)), f"the kernel spans {spans}, the padded input has {sizes}")


@infers("ttir.max_pool2d", "ttir.avg_pool2d", "ttir.max_pool2d_with_indices")
def _pool(op: Operation, inputs: list[Shape]) -> Inferred:
    rank_is(inputs[0], 4, "input")
    return _images(op, inputs[0], inputs[0][3], (0, 1, 2, 3))


@rule("ttir.max_pool2d_with_indices")
def _indices(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(is_integer(op.results[1]), "indices must be integers")


def _images(op: Operation, x: Shape, channels: int, axes: tuple[int, int, int, int]) -> Shape:
    """The expected result shape of a convolution or pool on `x`. axes: of batch, height, width and channels."""
    flat = _flattened(op)
    batch, height, width = flat or (x[axes[0]], x[axes[1]], x[axes[2]])
    expected = sizes_of(op, (height, width))
    if flat:
        need(x[2] == batch * height * width, f"the flattened dimension is {x[2]}, expected {batch * height * width}")
        return (x[0], x[1], batch * math.prod(expected), channels)
    sizes = dict(zip(axes, (batch, *expected, channels), strict=True))
    return tuple(sizes[axis] for axis in range(4))


def _flattened(op: Operation) -> tuple[int, int, int] | None:
    """(batch, height, width) of `#ttir<flattened_compat batch_size = .., input_height = .., input_width = ..>`."""
    info = attribute(op, "flattened_compat_info")
    if info is None:
        return None
    numbers = dict(re.findall(r"(\w+) = (\d+)", str(info)))
    try:
        return int(numbers["batch_size"]), int(numbers["input_height"]), int(numbers["input_width"])
    except KeyError:
        return None


@infers("ttir.conv2d")
def _conv2d(op: Operation, inputs: list[Shape]) -> Inferred:
    rank_is(inputs[0], 4, "input")
    rank_is(inputs[1], 4, "weight")
    groups = integer(op, "groups") or 1
    axes = _axes(op)
    c = axes[3]
    x, weight = inputs[0], inputs[1]
    need(x[c] % groups == 0, f"{x[c]} input channels are not divisible by {groups} groups")
    need(weight[0] % groups == 0, f"{weight[0]} output channels are not divisible by {groups} groups")
    need(x[c] // groups == weight[1], f"the weight has {weight[1]} input channels, a group of the input {x[c] // groups}")
    _bias(inputs, weight[0], c)
    return _images(op, x, weight[0], axes)


def _axes(op: Operation) -> tuple[int, int, int, int]:
    values = [integer(op, name) for name in ("batch_dim", "height_dim", "width_dim", "channel_dim")]
    axes = [default if value is None else value for default, value in enumerate(values)]
    need(sorted(axes) == [0, 1, 2, 3], f"batch, height, width and channel dimensions must be 0..3 in some order, got {axes}")
    return axes[0], axes[1], axes[2], axes[3]


def _bias(inputs: list[Shape], channels: int, axis: int) -> None:
    if len(inputs) > 2 and inputs[2] != (channels,):  # a vector is our own front ends' spelling
        rank_is(inputs[2], 4, "bias")
        need(channels in (inputs[2][axis], inputs[2][3]), f"the bias has {inputs[2][axis]} channels, the result {channels}")  # the last one whatever the order


@infers("ttir.conv_transpose2d")
def _conv_transpose2d(op: Operation, inputs: list[Shape]) -> Inferred:
    rank_is(inputs[0], 4, "input")
    rank_is(inputs[1], 4, "weight")
    groups = integer(op, "groups") or 1
    axes = _axes(op)
    c = axes[3]
    x, weight = inputs[0], inputs[1]
    need(x[c] == weight[0], f"the weight has {weight[0]} input channels, the input {x[c]}")
    need(x[c] % groups == 0, f"{x[c]} input channels are not divisible by {groups} groups")
    _bias(inputs, weight[1] * groups, c)
    return _images(op, x, weight[1] * groups, axes)


@infers("ttir.upsample2d", "ttnn.upsample")
def _upsample(op: Operation, inputs: list[Shape]) -> Inferred:
    rank_is(inputs[0], 4, "input")
    high, wide = _pair(op, "scale_factor", 1)
    mode = attribute(op, "mode")
    need(mode in (None, "nearest", "bilinear"), f'mode must be "nearest" or "bilinear", got "{mode}"')
    n, h, w, c = inputs[0]
    return (n, h * high, w * wide, c)


@infers("ttir.global_avg_pool2d")
def _global_pool(op: Operation, inputs: list[Shape]) -> Inferred:
    need(len(inputs[0]) >= 3, f"input must have at least 3 dimensions, got rank {len(inputs[0])}")
    return (*inputs[0][:-3], 1, 1, inputs[0][-1])


# --- as the library takes them ----------------------------------------------------------------------------------------------


def _values(op: Operation, name: str, least: int, counts: tuple[int, ...]) -> tuple[int, ...]:
    value = attribute(op, name)
    assert isinstance(value, tuple)
    need(len(value) in counts, f"{name} must have {' or '.join(map(str, counts))} values, got {len(value)}")
    need(all(number >= least for number in value), f"{name} values must be at least {least}, got {value}")
    return value


def _flat(size: int, op: Operation, names: tuple[str, ...], label: str) -> None:
    total = math.prod(integer(op, name) or 0 for name in names)
    need(size == total, f"the flattened dimension of the {label} is {size}, {' * '.join(names)} is {total}")


def _raw_weight(op: Operation, weight: Shape, kernel: tuple[int, ...]) -> None:
    """[out, in / groups, height, width]."""
    rank_is(weight, 4, "weight")
    outputs, channels, groups = integer(op, "out_channels"), integer(op, "in_channels") or 0, integer(op, "groups") or 1
    need(weight[0] == outputs, f"the weight has {weight[0]} output channels, out_channels is {outputs}")
    need(weight[1] == channels // groups, f"the weight has {weight[1]} input channels, a group of in_channels {channels // groups}")
    need(weight[2:] == kernel, f"the weight has kernel size {list(weight[2:])}, kernel_size is {list(kernel)}")


@rule("ttnn.conv2d")
def _device_conv2d(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    x, weight, bias, y = inputs[0], inputs[1], shape_of(op, "bias"), outputs[0]
    for shape, label in ((x, "input"), (weight, "weight"), (y, "result")):
        rank_is(shape, 4, label)
    if bias is not None:
        rank_is(bias, 4, "bias")
    kernel, stride, dilation = (_values(op, name, 1, (2,)) for name in ("kernel_size", "stride", "dilation"))
    padding = _values(op, "padding", 0, (2, 4))
    top, bottom, left, right = padding if len(padding) == 4 else (padding[0], padding[0], padding[1], padding[1])
    if weight[:2] != (1, 1) and getattr(op.operands[1].owner, "name", "") not in ("ttnn.prepare_conv2d_weights", "ttcore.load_cached"):
        _raw_weight(op, weight, kernel)
    _flat(x[2], op, ("batch_size", "input_height", "input_width"), "input")
    sizes = (integer(op, "input_height") or 0, integer(op, "input_width") or 0)
    _fits((kernel[0], kernel[1]), (dilation[0], dilation[1]), (sizes[0] + top + bottom, sizes[1] + left + right))
    sizes_out = [_windows(sizes[i], kernel[i], stride[i], dilation[i], (top + bottom, left + right)[i], ceil=False) for i in (0, 1)]
    total = (integer(op, "batch_size") or 0) * math.prod(sizes_out)
    need(y[2] == total, f"the flattened dimension of the result is {y[2]}, expected {total}")


@rule("ttnn.prepare_conv2d_weights")
def _prepare(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(attribute(op, "weights_format") == "OIHW", f'weights_format must be "OIHW", got "{attribute(op, "weights_format")}"')
    kernel = _values(op, "kernel_size", 1, (2,))
    for name in ("stride", "dilation"):
        _values(op, name, 1, (2,))
    _values(op, "padding", 0, (2, 4))
    _raw_weight(op, inputs[0], kernel)


@infers("ttir.conv1d")
def _conv1d(op: Operation, inputs: list[Shape]) -> Inferred:
    (x, weight), sizes = inputs[:2], {"stride": 1, "dilation": 1, "padding": 0}
    for name in sizes:
        value = attribute(op, name)
        numbers = value if isinstance(value, tuple) else (value,)
        need(value is None or all(isinstance(number, int) for number in numbers), f"{name}: expected integers, got {value}")
        need(name == "padding" or value is None or all(number >= 1 for number in numbers), f"{name} values must be at least 1, got {value}")
        if value is not None:
            sizes[name] = sum(numbers) if len(numbers) == 2 else numbers[0] * (2 if name == "padding" else 1)
    n, length, c = axes = tuple(
        default if axis is None else axis for default, axis in enumerate(integer(op, f"{name}_dim") for name in ("batch", "length", "channel"))
    )
    if len(x) != 3 or len(weight) != 3 or sorted(axes) != [0, 1, 2]:
        return None
    count = _windows(x[length], weight[2], sizes["stride"], sizes["dilation"], sizes["padding"], ceil=False)
    result = {n: x[n], length: count, c: weight[0]}
    return tuple(result[axis] for axis in range(3))


@infers("ttir.conv3d")
def _conv3d(op: Operation, inputs: list[Shape]) -> Inferred:
    for shape, label in ((inputs[0], "input"), (inputs[1], "weight")):
        rank_is(shape, 5, label)
    groups, weight = integer(op, "groups") or 1, inputs[1]
    channel = integer(op, "channel_dim")
    c = 4 if channel is None else channel
    need(0 <= c < 5, f"the channel dimension must be 0..4, got {c}")
    need(groups >= 1 and weight[0] % groups == 0, f"{weight[0]} output channels are not divisible by {groups} groups")
    need(inputs[0][c] == weight[1] * groups, f"the weight has {weight[1]} input channels, a group of the input {inputs[0][c] // groups}")
    named = [integer(op, name) for name in ("batch_dim", "depth_dim", "height_dim", "width_dim")]
    axes = [default if axis is None else axis for default, axis in enumerate(named)]
    need(sorted((*axes, c)) == [0, 1, 2, 3, 4], f"the dimensions must be 0..4 in some order, got {[*axes, c]}")
    stride, padding = _values(op, "stride", 1, (3,)), _values(op, "padding", 0, (3,))
    spatial = [inputs[0][axis] for axis in axes[1:]]
    expected = [_windows(size, weight[2 + i], stride[i], 1, 2 * padding[i], ceil=False) for i, size in enumerate(spatial)]
    sizes = dict(zip((*axes, c), (inputs[0][axes[0]], *expected, weight[0]), strict=True))
    return [sizes[axis] for axis in range(5)]


@rule("ttnn.conv3d")
def _device_conv3d(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    x, weight, bias, y = inputs[0], inputs[1], shape_of(op, "bias"), outputs[0]
    rank_is(x, 5, "input")
    need(len(weight) in (2, 5), f"weight must be a 5D tensor, or a 2D one when it is prepared, got rank {len(weight)}")
    rank_is(y, 5, "result")
    if bias is not None:
        rank_is(bias, 2, "bias")
        need(bias[0] == 1, f"the first dimension of the bias must be 1, got {bias[0]}")
    kernel, _, _ = (_values(op, name, least, (3,)) for name, least in (("kernel_size", 1), ("stride", 1), ("padding", 0)))
    groups = integer(op, "groups") or 0
    need(groups >= 1, f"groups must be at least 1, got {groups}")
    for name in ("in_channels", "out_channels"):
        need((integer(op, name) or 0) % groups == 0, f"{name} {integer(op, name)} are not divisible by {groups} groups")
    if len(weight) == 2:
        rows = math.prod(kernel) * (integer(op, "in_channels") or 0) // groups
        need(weight[0] == rows, f"the prepared weight has {weight[0]} rows, expected {rows}")
    channels = weight[1] if len(weight) == 2 else weight[0]
    need(bias is None or bias[1] == channels, f"the bias has {bias[1] if bias else 0} channels, the weight makes {channels}")
