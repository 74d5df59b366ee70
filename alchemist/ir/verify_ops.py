"""Shape and attribute rules of single ops, as a table: op name -> function(op, input shapes, output shapes).

What tt-mlir's own verifiers refuse is refused here, in our words. Rules run only where every operand and result is a tensor of
static shape. A rule for "softmax" holds in ttir and ttnn, one for "ttir.conv2d" in that dialect alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from alchemist.ir.attributes import OpaqueType, element_name, to_python

Shape = tuple[int, ...]
Rule = Callable[[Operation, list[Shape], list[Shape]], None]
RULES: dict[str, Rule] = {}
TILE = 32


def check(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    """Raises VerifyException where a rule of the table does not hold."""
    found = RULES.get(op.name) or RULES.get(op.name.partition(".")[2])
    if found is not None:
        found(op, inputs, outputs)


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def add(function: Rule) -> Rule:
        RULES.update((name, function) for name in names)
        return function

    return add


# --- helpers ------------------------------------------------------------------------------------------------------------


def attribute(op: Operation, name: str) -> object:
    """An attribute as a plain value, None without it."""
    value = op.properties.get(name)
    return to_python(value) if value is not None else None


def _int(op: Operation, name: str) -> int | None:
    value = attribute(op, name)
    return value if isinstance(value, int) else None


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise VerifyException(message)


def _rank(shape: Shape, rank: int, what: str) -> None:
    _need(len(shape) == rank, f"{what} must be a {rank}D tensor, got rank {len(shape)}")


def _dim(op: Operation, name: str, rank: int, *, extra: int = 0) -> int | None:
    """The attribute as an index from the front; it may count from the back."""
    value = _int(op, name)
    if value is None:
        return None
    low, high = -(rank + extra), rank + extra
    _need(low <= value < max(high, 1) or (rank + extra == 0 and value in (0, -1)), f"{name} must be in [{low}, {high}), got {value}")
    return value % high if high else 0


def _element(value: SSAValue) -> Attribute:
    assert isinstance(value.type, TensorType)
    found: Attribute = value.type.get_element_type()
    return found


def _is_float(value: SSAValue) -> bool:
    return isinstance(_element(value), BFloat16Type | Float16Type | Float32Type | Float64Type)


def _is_integer(value: SSAValue) -> bool:
    return isinstance(_element(value), IntegerType)


def _is_quantised(value: SSAValue) -> bool:
    of = _element(value)
    return isinstance(of, OpaqueType) and str(of.data[0]).startswith("!quant.uniform")


def _same(actual: Shape, expected: Sequence[int], what: str = "result") -> None:
    _need(actual == tuple(expected), f"expected {what} shape {list(expected)}, got {list(actual)}")


# --- windows ------------------------------------------------------------------------------------------------------------


def _pair(op: Operation, name: str, least: int) -> tuple[int, int]:
    value = attribute(op, name)
    if value is None:
        return (least, least)
    given = (value, value) if isinstance(value, int) else value
    _need(isinstance(given, tuple) and len(given) == 2, f"{name}: expected an integer or a pair of integers, got {given}")
    assert isinstance(given, tuple)
    _need(all(number >= least for number in given), f"{name} values must be at least {least}, got {given}")
    return given


def _padding(op: Operation) -> tuple[int, int, int, int]:
    """(top, left, bottom, right)."""
    value = attribute(op, "padding")
    given = (value,) * 4 if isinstance(value, int) else value
    _need(isinstance(given, tuple) and len(given) in (2, 4), f"padding: expected an integer, a pair or four integers, got {given}")
    assert isinstance(given, tuple)
    _need(all(number >= 0 for number in given), f"padding values must be at least 0, got {given}")
    return given if len(given) == 4 else (*given, *given)


def _windows(size: int, kernel: int, stride: int, dilation: int, padding: int, *, ceil: bool, after: int = 0) -> int:
    """Number of positions; with `ceil` a last one that begins inside the input or its padding before (not in `after`)."""
    span = size + padding - dilation * (kernel - 1) - 1
    count = (span + (stride - 1 if ceil else 0)) // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= size + padding - after else count


def _fits(kernel: tuple[int, int], dilation: tuple[int, int], sizes: tuple[int, int]) -> None:
    spans = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    _need(all(a <= b for a, b in zip(spans, sizes, strict=True)), f"the kernel spans {spans}, the padded input has {sizes}")


@_rule("ttir.max_pool2d", "ttir.avg_pool2d", "ttir.max_pool2d_with_indices")
def _pool(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _rank(inputs[0], 4, "input")
    _rank(outputs[0], 4, "result")
    kernel, stride, dilation = _pair(op, "kernel", 1), _pair(op, "stride", 1), _pair(op, "dilation", 1)
    padding = _padding(op)
    _need(inputs[0][3] == outputs[0][3], f"result has {outputs[0][3]} channels, the input {inputs[0][3]}")
    flat = _flattened(op)
    batch, height, width = flat or inputs[0][:3]
    ceil = bool(attribute(op, "ceil_mode"))
    padded = (height + padding[0] + padding[2], width + padding[1] + padding[3])
    _fits(kernel, dilation, padded)
    expected = tuple(
        _windows(size, kernel[i], stride[i], dilation[i], padding[i] + padding[i + 2], ceil=ceil, after=padding[i + 2])
        for i, size in enumerate((height, width))
    )
    if flat:
        _need(inputs[0][2] == batch * height * width, f"the flattened dimension is {inputs[0][2]}, expected {batch * height * width}")
        total = batch * math.prod(expected)
        _need(outputs[0][2] == total, f"the result's flattened dimension is {outputs[0][2]}, expected {total}")
    else:
        _need(batch == outputs[0][0], f"result has batch size {outputs[0][0]}, the input {batch}")
        _need(outputs[0][1:3] == expected, f"expected height and width {list(expected)}, got {list(outputs[0][1:3])}")
    if len(op.results) > 1:
        _need(outputs[0] == outputs[1], "values and indices must have the same shape")
        _need(_is_integer(op.results[1]), "indices must be integers")


def _flattened(op: Operation) -> tuple[int, int, int] | None:
    """(batch, height, width) of `#ttir<flattened_compat batch_size = .., input_height = .., input_width = ..>`."""
    info = op.properties.get("flattened_compat_info")
    if info is None:
        return None
    numbers = dict(re.findall(r"(\w+) = (\d+)", str(to_python(info))))
    try:
        return int(numbers["batch_size"]), int(numbers["input_height"]), int(numbers["input_width"])
    except KeyError:
        return None


@_rule("ttir.conv2d")
def _conv2d(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _rank(inputs[0], 4, "input")
    _rank(inputs[1], 4, "weight")
    _rank(outputs[0], 4, "result")
    stride, dilation, padding = _pair(op, "stride", 1), _pair(op, "dilation", 1), _padding(op)
    groups = _int(op, "groups") or 1
    n, h, w, c = _axes(op)
    x, weight, y = inputs[0], inputs[1], outputs[0]
    _need(x[c] % groups == 0, f"{x[c]} input channels are not divisible by {groups} groups")
    _need(weight[0] % groups == 0, f"{weight[0]} output channels are not divisible by {groups} groups")
    _need(x[c] // groups == weight[1], f"the weight has {weight[1]} input channels, a group of the input {x[c] // groups}")
    _need(y[c] == weight[0], f"result has {y[c]} channels, the weight makes {weight[0]}")
    _bias(inputs, weight[0], c)
    flat = _flattened(op)
    batch, height, width = flat or (x[n], x[h], x[w])
    _fits((weight[2], weight[3]), dilation, (height + padding[0] + padding[2], width + padding[1] + padding[3]))
    expected = tuple(
        _windows(size, weight[2 + i], stride[i], dilation[i], padding[i] + padding[i + 2], ceil=False) for i, size in enumerate((height, width))
    )
    if flat:
        _need(x[2] == batch * height * width, f"the flattened dimension is {x[2]}, expected {batch * height * width}")
        _need(y[2] == batch * math.prod(expected), f"the result's flattened dimension is {y[2]}, expected {batch * math.prod(expected)}")
    else:
        _need(y[n] == batch, f"result has batch size {y[n]}, the input {batch}")
        _need((y[h], y[w]) == expected, f"expected height and width {list(expected)}, got {[y[h], y[w]]}")


def _axes(op: Operation) -> tuple[int, int, int, int]:
    values = [_int(op, name) for name in ("batch_dim", "height_dim", "width_dim", "channel_dim")]
    axes = [default if value is None else value for default, value in enumerate(values)]
    _need(sorted(axes) == [0, 1, 2, 3], f"batch, height, width and channel dimensions must be 0..3 in some order, got {axes}")
    return axes[0], axes[1], axes[2], axes[3]


def _bias(inputs: list[Shape], channels: int, axis: int) -> None:
    if len(inputs) > 2 and inputs[2] != (channels,):  # a vector is our own front ends' spelling
        _rank(inputs[2], 4, "bias")
        _need(inputs[2][axis] == channels, f"the bias has {inputs[2][axis]} channels, the result {channels}")


@_rule("ttir.conv_transpose2d")
def _conv_transpose2d(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _rank(inputs[0], 4, "input")
    _rank(inputs[1], 4, "weight")
    _rank(outputs[0], 4, "result")
    stride, dilation, extra, padding = _pair(op, "stride", 1), _pair(op, "dilation", 1), _pair(op, "output_padding", 0), _padding(op)
    groups = _int(op, "groups") or 1
    n, h, w, c = _axes(op)
    x, weight, y = inputs[0], inputs[1], outputs[0]
    _need(x[c] == weight[0], f"the weight has {weight[0]} input channels, the input {x[c]}")
    _need(x[c] % groups == 0, f"{x[c]} input channels are not divisible by {groups} groups")
    _need(y[c] % groups == 0, f"{y[c]} output channels are not divisible by {groups} groups")
    _need(y[c] // groups == weight[1], f"the weight has {weight[1]} output channels, a group of the result {y[c] // groups}")
    _bias(inputs, y[c], c)
    if _flattened(op):
        return
    _need(x[n] == y[n], f"result has batch size {y[n]}, the input {x[n]}")
    expected = [
        (x[axis] - 1) * stride[i] - padding[i] - padding[i + 2] + dilation[i] * (weight[2 + i] - 1) + extra[i] + 1 for i, axis in enumerate((h, w))
    ]
    _need(min(expected) > 0, f"the result would have height and width {expected}")
    _need([y[h], y[w]] == expected, f"expected height and width {expected}, got {[y[h], y[w]]}")


@_rule("ttir.upsample2d", "ttnn.upsample")
def _upsample(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _rank(inputs[0], 4, "input")
    _rank(outputs[0], 4, "result")
    high, wide = _pair(op, "scale_factor", 1)
    mode = attribute(op, "mode")
    _need(mode in (None, "nearest", "bilinear"), f'mode must be "nearest" or "bilinear", got "{mode}"')
    n, h, w, c = inputs[0]
    _same(outputs[0], (n, h * high, w * wide, c))


@_rule("ttir.global_avg_pool2d")
def _global_pool(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _need(len(inputs[0]) >= 3, f"input must have at least 3 dimensions, got rank {len(inputs[0])}")
    _same(outputs[0], (*inputs[0][:-3], 1, 1, inputs[0][-1]))


# --- reductions, dimensions -------------------------------------------------------------------------------------------------


@_rule("sum", "mean", "max", "min", "prod", "reduce_and", "reduce_or", "ttir.argmax")
def _reduce(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    dims = attribute(op, "dim_arg")
    keep = attribute(op, "keep_dim")
    shape = inputs[0]
    rank = len(shape)
    if dims is None:
        chosen = set(range(rank))
    else:
        given = (dims,) if isinstance(dims, int) else dims
        if not isinstance(given, tuple) or not all(isinstance(dim, int) for dim in given):
            return
        _need(len(set(given)) == len(given), f"reduced dimensions must differ, got {list(given)}")
        for dim in given:
            _need(-max(rank, 1) <= dim < max(rank, 1), f"reduced dimension {dim} is out of range for rank {rank}")
        chosen = {dim % max(rank, 1) for dim in given} or set(range(rank))
    expected = [1 if i in chosen else n for i, n in enumerate(shape) if keep or i not in chosen]
    _need(list(outputs[0]) == expected or (not expected and outputs[0] == (1,)), f"expected result shape {expected}, got {list(outputs[0])}")


@_rule("ttnn.argmax")
def _argmax(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis = _dim(op, "dim", len(inputs[0]))
    keep = bool(attribute(op, "keep_dim"))
    chosen = set(range(len(inputs[0]))) if axis is None else {axis}
    _same(outputs[0], [1 if i in chosen else n for i, n in enumerate(inputs[0]) if keep or i not in chosen])


@_rule("softmax")
def _softmax(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _dim(op, "dimension", len(inputs[0]))


@_rule("cumsum")
def _cumsum(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _dim(op, "dim", len(inputs[0]))
    _same(outputs[0], inputs[0])


@_rule("sort")
def _sort(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _dim(op, "dim", len(inputs[0]))
    _same(outputs[0], inputs[0], "values'")
    _same(outputs[1], inputs[0], "indices'")
    _need(_is_integer(op.results[1]), f"indices must be integers, got {element_name(_element(op.results[1]))}")
    _need(_element(op.operands[0]) == _element(op.results[0]), "values must have the input's element type")


@_rule("topk")
def _topk(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis = _dim(op, "dim", len(inputs[0]))
    count = _int(op, "k")
    if count is None or not inputs[0]:
        return
    axis = len(inputs[0]) - 1 if axis is None else axis
    _need(0 < count <= inputs[0][axis], f"k must be in [1, {inputs[0][axis]}], got {count}")
    _same(outputs[0], (*inputs[0][:axis], count, *inputs[0][axis + 1 :]))


@_rule("ttir.unsqueeze")
def _unsqueeze(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis = _dim(op, "dim", len(inputs[0]), extra=1)
    if axis is not None:
        _same(outputs[0], (*inputs[0][:axis], 1, *inputs[0][axis:]))


@_rule("ttir.squeeze")
def _squeeze(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis = _dim(op, "dim", len(inputs[0]))
    if axis is not None and inputs[0]:
        _need(inputs[0][axis] == 1, f"dimension {axis} has size {inputs[0][axis]}, it cannot be squeezed")
        _same(outputs[0], inputs[0][:axis] + inputs[0][axis + 1 :])


@_rule("transpose")
def _transpose(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    first, second = _dim(op, "dim0", len(inputs[0])), _dim(op, "dim1", len(inputs[0]))
    if first is not None and second is not None and inputs[0]:
        order = list(inputs[0])
        order[first], order[second] = order[second], order[first]
        _same(outputs[0], order)


@_rule("ttir.reverse")
def _reverse(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    dims = attribute(op, "dimensions")
    if isinstance(dims, tuple):
        _need(all(0 <= dim < len(inputs[0]) for dim in dims), f"dimensions must be in [0, {len(inputs[0])}), got {list(dims)}")
        _need(len(set(dims)) == len(dims), f"dimensions must differ, got {list(dims)}")
    _same(outputs[0], inputs[0])


@_rule("ttir.index")
def _index(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    rank = len(inputs[0])
    _need(rank > 0, "input must have at least one dimension")
    axis, begin, end, step = (_int(op, name) for name in ("dim", "begin", "end", "step"))
    if axis is None or begin is None or end is None or step is None:
        return
    _need(0 <= axis < rank, f"dim {axis} is out of range for rank {rank}")
    size = inputs[0][axis]
    _need(step != 0, "step cannot be zero")
    _need(-size <= begin < size, f"begin must be in [{-size}, {size}), got {begin}")
    _need(-size - 1 <= end <= size, f"end must be in [{-size - 1}, {size}], got {end}")
    count = len(range(begin % size, end if end >= 0 else end + size, step))
    _need(count > 0, f"from {begin} to {end} there is nothing in steps of {step}")
    _same(outputs[0], (*inputs[0][:axis], count, *inputs[0][axis + 1 :]))
    _need(_element(op.operands[0]) == _element(op.results[0]), "result must have the input's element type")


@_rule("ttir.index_select")
def _index_select(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    rank = len(inputs[0])
    axis = _dim(op, "dim", rank)
    begin, length, stride = _int(op, "begin"), _int(op, "length"), _int(op, "stride") or 0
    if axis is None or begin is None or length is None or not rank:
        return
    size = inputs[0][axis]
    _need(0 <= begin < size, f"begin must be in [0, {size}), got {begin}")
    _need(0 < length <= size - begin, f"length must be in [1, {size - begin}], got {length}")
    _need(stride == 0 or stride >= length, f"stride must be 0 or at least the length {length}, got {stride}")
    count = len(range(begin, size - length + 1, stride)) if stride else 1
    _same(outputs[0], (*inputs[0][:axis], count * length, *inputs[0][axis + 1 :]))


@_rule("ttir.slice_dynamic")
def _slice_dynamic(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    rank = len(inputs[0])
    _need(rank > 0, "input must have at least one dimension")
    for name, shape in zip(("begins", "ends"), inputs[1:3], strict=True):
        _rank(shape, 1, name)
        _need(shape[0] == rank, f"{name} must have {rank} elements, got {shape[0]}")
    steps = attribute(op, "step")
    if isinstance(steps, tuple):
        _need(len(steps) == rank, f"step must have {rank} elements, got {len(steps)}")
        _need(0 not in steps, "step cannot be zero")
    _rank(outputs[0], rank, "result")
    _need(_element(op.operands[0]) == _element(op.results[0]), "result must have the input's element type")


# --- shapes --------------------------------------------------------------------------------------------------------------


@_rule("reshape")
def _reshape(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _need(math.prod(inputs[0]) == math.prod(outputs[0]), f"cannot reshape {list(inputs[0])} to {list(outputs[0])}")
    shape = attribute(op, "shape")
    if not isinstance(shape, tuple):
        return
    _need(len(shape) == len(outputs[0]), f"shape has {len(shape)} entries, the result {len(outputs[0])} dimensions")
    _need(shape.count(-1) <= 1 and all(number >= -1 for number in shape), f"shape may hold one -1 and no other negative number, got {list(shape)}")
    _need(all(a in (-1, b) for a, b in zip(shape, outputs[0], strict=True)), f"shape {list(shape)} is not the result's {list(outputs[0])}")


@_rule("ttir.broadcast")
def _broadcast(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    factors = attribute(op, "broadcast_dimensions")
    _rank(outputs[0], len(inputs[0]), "result")
    if isinstance(factors, tuple):
        _need(len(factors) == len(inputs[0]), f"broadcast_dimensions must have {len(inputs[0])} entries, got {len(factors)}")
        _same(outputs[0], [size * factor for size, factor in zip(inputs[0], factors, strict=True)])


@_rule("ttir.repeat")
def _repeat(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    factors = attribute(op, "repeat_dimensions")
    if isinstance(factors, tuple):
        _need(len(factors) == len(inputs[0]), f"repeat_dimensions must have {len(inputs[0])} entries, got {len(factors)}")
        _need(all(factor > 0 for factor in factors), f"repeat_dimensions must be positive, got {list(factors)}")
        _same(outputs[0], [size * factor for size, factor in zip(inputs[0], factors, strict=True)])


@_rule("repeat_interleave")
def _repeat_interleave(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _need(len(inputs[0]) > 0, "input must have at least one dimension")
    axis, repeats = _dim(op, "dim", len(inputs[0])), _int(op, "repeats")
    if axis is not None and repeats is not None:
        _need(repeats > 0, "repeats cannot be zero")
        _same(outputs[0], [size * repeats if i == axis else size for i, size in enumerate(inputs[0])])


@_rule("ttir.pad")
def _pad(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    given = attribute(op, "padding")
    if isinstance(given, tuple):
        _need(len(given) == 2 * len(inputs[0]), f"padding must have {2 * len(inputs[0])} entries, got {len(given)}")
        _same(outputs[0], [size + given[2 * i] + given[2 * i + 1] for i, size in enumerate(inputs[0])])


@_rule("gather")
def _gather(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _need(len(inputs[0]) == len(inputs[1]), f"input and index must have the same rank, got {len(inputs[0])} and {len(inputs[1])}")
    _dim(op, "dim", len(inputs[0]))
    _need(_is_integer(op.operands[1]), f"index must hold integers, got {element_name(_element(op.operands[1]))}")
    _same(outputs[0], inputs[1])


@_rule("ttir.embedding")
def _embedding(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _need(len(inputs[0]) <= 2, f"input must have at most 2 dimensions, got rank {len(inputs[0])}")
    _need(len(inputs[1]) >= 2, f"weight must have at least 2 dimensions, got rank {len(inputs[1])}")
    _need(all(size == 1 for size in inputs[1][:-2]), f"weight must be a matrix but for dimensions of size 1, got {list(inputs[1])}")
    _same(outputs[0], (*inputs[0], inputs[1][-1]))


@_rule("ttir.concatenate_heads")
def _concatenate_heads(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _rank(inputs[0], 4, "input")
    batch, heads, length, size = inputs[0]
    _same(outputs[0], (batch, length, heads * size))


@_rule("ttir.arange")
def _arange(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    start, end, step = (_int(op, name) for name in ("start", "end", "step"))
    axis = _dim(op, "arange_dimension", len(outputs[0]))
    if start is None or end is None or step is None or axis is None:
        return
    _need(step != 0, "step cannot be zero")
    count = len(range(start, end, step))
    _need(outputs[0][axis] == count, f"from {start} to {end} in steps of {step} there are {count} numbers, the result has {outputs[0][axis]}")


@_rule("full", "zeros", "ones", "rand")
def _created(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    shape = attribute(op, "size" if op.name.endswith(".rand") else "shape")
    if isinstance(shape, tuple):
        _same(outputs[0], shape)
    low, high = attribute(op, "low"), attribute(op, "high")
    if isinstance(low, float) and isinstance(high, float):
        _need(low < high, f"low must be less than high, got {low} and {high}")


# --- normalisation, types ---------------------------------------------------------------------------------------------------


@_rule("ttir.rms_norm", "ttir.layer_norm")
def _norm(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _same(outputs[0], inputs[0])
    shape = attribute(op, "normalized_shape")
    if isinstance(shape, tuple):
        _need(inputs[0][len(inputs[0]) - len(shape) :] == shape, f"normalized_shape {list(shape)} is not the end of {list(inputs[0])}")
        for given in inputs[1:]:
            _same(given, shape, "weight and bias")


@_rule("ttnn.rms_norm")
def _rms_norm(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _same(outputs[0], inputs[0])
    for given in inputs[1:]:
        _need(math.prod(given) == math.prod(inputs[0][-1:]), f"weight and bias must have the {list(inputs[0][-1:])} elements of the last dimension")


@_rule("ttir.batch_norm_inference")
def _batch_norm(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    rank = len(inputs[0])
    _need(2 <= rank <= 5, f"input must have 2 to 5 dimensions, got rank {rank}")
    axis = _int(op, "dimension")
    _need(axis is None or 0 <= axis < rank, f"dimension {axis} is out of range for rank {rank}")
    _same(outputs[0], inputs[0])


@_rule("ttir.bitcast_convert")
def _bitcast(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    for value in (op.operands[0], op.results[0]):
        _need(_is_integer(value) or _is_float(value), "integers or floats are needed")
    widths = [int(re.sub(r"\D", "", element_name(_element(value))) or 0) for value in (op.operands[0], op.results[0])]
    _need(widths[0] == widths[1], f"element types must have the same width, got {widths[0]} and {widths[1]} bits")


@_rule("ttir.quantize", "ttir.dequantize", "ttir.requantize")
def _quantised(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _rank(outputs[0], len(inputs[0]), "result")
    _same(outputs[0], inputs[0])
    kind = op.name.partition(".")[2]
    given, made = op.operands[0], op.results[0]
    _need(_is_float(given) if kind == "quantize" else _is_quantised(given), f"input of {kind} cannot hold {_text(given)}")
    _need(_is_float(made) if kind == "dequantize" else _is_quantised(made), f"result of {kind} cannot hold {_text(made)}")


def _text(value: SSAValue) -> str:
    return element_name(_element(value))


# --- attention caches, several chips -----------------------------------------------------------------------------------------


@_rule("paged_fill_cache")
def _paged_fill_cache(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    batch = inputs[1][0] if inputs[1] else 1
    if len(inputs) == 3:
        _need(batch == 1, f"without batch_idx_tensor the input's batch size must be 1, got {batch}")
    elif len(inputs) == 4:
        _rank(inputs[3], 1, "batch_idx_tensor")
        _need(inputs[3][0] == batch, f"batch_idx_tensor must have {batch} elements, got {inputs[3][0]}")
        _need(_is_integer(op.operands[3]), "batch_idx_tensor must hold integers")


@_rule("all_gather")
def _all_gather(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _dim(op, "all_gather_dim", len(inputs[0]))


@_rule("reduce_scatter")
def _reduce_scatter(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _dim(op, "scatter_dim", len(inputs[0]))
    _summed(op)


@_rule("all_reduce")
def _all_reduce(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _summed(op)


def _summed(op: Operation) -> None:
    kind = attribute(op, "reduce_type")
    _need(kind in (None, "sum", "max", "min"), f"a collective cannot reduce by {kind}")


@_rule("ttir.all_to_all")
def _all_to_all(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    split, join, count = (_int(op, name) for name in ("split_dim", "concat_dim", "split_count"))
    rank = len(inputs[0])
    if split is None or join is None or count is None:
        return
    _need(0 <= split < rank, f"split_dim must be in [0, {rank}), got {split}")
    _need(0 <= join < rank, f"concat_dim must be in [0, {rank}), got {join}")
    _need(count > 0, f"split_count must be positive, got {count}")
    _need(inputs[0][split] % count == 0, f"dimension {split} of size {inputs[0][split]} is not divisible by {count}")
    expected = [size // count if i == split else size for i, size in enumerate(inputs[0])]
    expected[join] *= count
    _same(outputs[0], expected)
    _need(_element(op.operands[0]) == _element(op.results[0]), "result must have the input's element type")


@_rule("ttir.collective_broadcast")
def _collective_broadcast(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _need(op.operands[0].type == op.results[0].type, "input and result must have the same type")
    _chips(op, "replica_groups")


@_rule("ttir.collective_permute")
def _collective_permute(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    pairs = getattr(op.properties.get("source_target_pairs"), "array", None)
    if pairs is not None:
        _need(pairs.ndim == 2 and pairs.shape[1] == 2, f"source_target_pairs must be a list of pairs, got shape {list(pairs.shape)}")
        for column in pairs.T:
            _need(len(set(column.tolist())) == len(column), "a chip is named twice as source or target")


def _chips(op: Operation, name: str) -> None:
    groups = getattr(op.properties.get(name), "array", None)
    if groups is not None:
        _need(groups.ndim == 2, f"{name} must be a 2D array, got rank {groups.ndim}")
        flat = groups.reshape(-1).tolist()
        _need(all(0 <= chip < len(flat) for chip in flat), f"{name} must name the chips 0 to {len(flat) - 1}")
        _need(len(set(flat)) == len(flat), f"{name} names a chip twice")


@_rule("all_to_all_dispatch", "all_to_all_combine", "all_to_all_dispatch_metadata", "moe_expert_token_remap")
def _experts(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    if not op.name.endswith("metadata"):
        for number, shape in enumerate(inputs):
            _rank(shape, 4, f"operand {number}")
    for name in ("num_devices", "num_experts_per_tok"):
        value = _int(op, name)
        _need(value is None or value > 0, f"{name} must be positive, got {value}")
    axis = _int(op, "cluster_axis")
    _need(axis in (None, 0, 1), f"cluster_axis must be 0 or 1, got {axis}")
