"""Reductions, views, data movement, creation, types."""

from __future__ import annotations

import math
import re

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from alchemist.ir.attributes import DenseElements
from alchemist.ir.rules.table import (
    Inferred,
    Shape,
    attribute,
    axis_of,
    broadcast,
    broadcast_shapes,
    element,
    infers,
    integer,
    is_float,
    is_integer,
    need,
    rank_is,
    rule,
    shapes_of,
    text_of,
)

infers("where", "pow_tensor", "ttnn.maximum", "ttnn.minimum", "ttnn.remainder", "ttnn.atan2", "ttnn.logical_left_shift")(broadcast)
infers("ttnn.bitwise_and", "ttnn.bitwise_or", "ttnn.bitwise_xor", "ttnn.add_in_place", "ttnn.multiply_in_place")(broadcast)


@infers("sum", "mean", "max", "min", "prod", "reduce_and", "reduce_or", "ttir.argmax")
def _reduce(op: Operation, inputs: list[Shape]) -> Inferred:
    dims = attribute(op, "dim_arg")
    keep = attribute(op, "keep_dim")
    shape = inputs[0]
    rank = len(shape)
    numbers = (dims,) if isinstance(dims, int) else () if dims is None else dims
    if not isinstance(numbers, tuple) or not all(isinstance(dim, int) for dim in numbers):
        return None
    need(len(set(numbers)) == len(numbers), f"reduced dimensions must differ, got {list(numbers)}")
    for dim in numbers:
        need(-max(rank, 1) <= dim < max(rank, 1), f"reduced dimension {dim} is out of range for rank {rank}")
    chosen = {dim % max(rank, 1) for dim in numbers} or set(range(rank))
    return tuple(1 if i in chosen else n for i, n in enumerate(shape) if keep or i not in chosen)


@infers("ttnn.argmax")
def _argmax(op: Operation, inputs: list[Shape]) -> Inferred:
    axis = axis_of(op, "dim", len(inputs[0]))
    keep = bool(attribute(op, "keep_dim"))
    return tuple(1 if axis in (None, i) else n for i, n in enumerate(inputs[0]) if keep or axis not in (None, i))


@infers("softmax")
def _softmax(op: Operation, inputs: list[Shape]) -> Inferred:
    axis_of(op, "dimension", len(inputs[0]))
    return inputs[0]


@infers(
    "layer_norm",
    "rms_norm",
    "typecast",
    "ttir.scatter",
    "clamp_scalar",
    "ttnn.pow_scalar",
    "cumprod",
    "ttnn.to_layout",
    "ttnn.to_device",
    "ttnn.from_device",
    "ttnn.to_memory_config",
)
def _same_shape(op: Operation, inputs: list[Shape]) -> Inferred:
    return inputs[0]


@rule("ttir.get_dimension_size")
def _dimension_size(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis_of(op, "dimension", len(inputs[0]))


@infers("cumsum", "sort")
def _along_axis(op: Operation, inputs: list[Shape]) -> Inferred:
    axis_of(op, "dim", len(inputs[0]))
    return inputs[0]


@rule("sort")
def _sorted(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(is_integer(op.results[1]), f"indices must be integers, got {text_of(op.results[1])}")
    need(element(op.operands[0]) == element(op.results[0]), "values must have the input's element type")


@infers("topk")
def _topk(op: Operation, inputs: list[Shape]) -> Inferred:
    axis = axis_of(op, "dim", len(inputs[0]))
    count = integer(op, "k")
    if count is None or not inputs[0]:
        return None
    axis = len(inputs[0]) - 1 if axis is None else axis
    need(0 < count <= inputs[0][axis], f"k must be in [1, {inputs[0][axis]}], got {count}")
    return (*inputs[0][:axis], count, *inputs[0][axis + 1 :])


@rule("ttir.topk")
def _indices(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(len(op.results) < 2 or is_integer(op.results[1]), "indices must be integers")


@infers("ttir.unsqueeze")
def _unsqueeze(op: Operation, inputs: list[Shape]) -> Inferred:
    axis = axis_of(op, "dim", len(inputs[0]), extra=1)
    return None if axis is None else (*inputs[0][:axis], 1, *inputs[0][axis:])


@infers("ttir.squeeze")
def _squeeze(op: Operation, inputs: list[Shape]) -> Inferred:
    axis = axis_of(op, "dim", len(inputs[0]))
    if axis is None or not inputs[0]:
        return None
    need(inputs[0][axis] == 1, f"dimension {axis} has size {inputs[0][axis]}, it cannot be squeezed")
    return inputs[0][:axis] + inputs[0][axis + 1 :]


@infers("transpose")
def _transpose(op: Operation, inputs: list[Shape]) -> Inferred:
    first, second = axis_of(op, "dim0", len(inputs[0])), axis_of(op, "dim1", len(inputs[0]))
    if first is None or second is None or not inputs[0]:
        return None
    order = list(inputs[0])
    order[first], order[second] = order[second], order[first]
    return tuple(order)


@infers("permute")
def _permute(op: Operation, inputs: list[Shape]) -> Inferred:
    order = attribute(op, "permutation")
    if not isinstance(order, tuple):
        return None
    need(sorted(order) == list(range(len(inputs[0]))), f"{list(order)} is no permutation of {len(inputs[0])} dimensions")
    return tuple(inputs[0][axis] for axis in order)


@infers("matmul", "linear")
def _matmul(op: Operation, inputs: list[Shape]) -> Inferred:
    left, right = inputs[0], inputs[1]
    if attribute(op, "transpose_a") and len(left) > 1:
        left = (*left[:-2], left[-1], left[-2])
    if attribute(op, "transpose_b") and len(right) > 1:
        right = (*right[:-2], right[-1], right[-2])
    need(bool(left) and bool(right), "operands of a matmul have at least one dimension")
    inner = right[-2] if len(right) > 1 else right[0]
    need(left[-1] == inner, f"inner dimensions differ: {list(left)} times {list(right)}")
    batch = broadcast_shapes([left[:-2], right[:-2]])
    if batch is None:
        raise VerifyException(f"batch dimensions differ: {list(left)} times {list(right)}")
    expected = batch + (left[-2:-1] if len(left) > 1 else ()) + (right[-1:] if len(right) > 1 else ())
    if op.name.endswith(".linear") and len(inputs) > 2 and (expected or math.prod(inputs[2]) > 1):
        need(bool(inputs[2]), "the bias must have at least one dimension")
        biased = broadcast_shapes([expected, inputs[2]])
        if biased is None:
            raise VerifyException(f"the bias {list(inputs[2])} cannot be added to {list(expected)}")
        expected = biased
        results = shapes_of(op.results) if op.name.startswith("ttnn.") else None
        if results and math.prod(expected) == math.prod(results[0]):
            return None  # a bias of higher rank; a workaround of tt-mlir puts the shape right
    return expected


@infers("concat")
def _concat(op: Operation, inputs: list[Shape]) -> Inferred:
    axis = attribute(op, "dim")
    rank = len(inputs[0])
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise VerifyException(f"dimension {axis} is out of range for rank {rank}")
    axis %= rank
    others = {shape[:axis] + shape[axis + 1 :] for shape in inputs}
    need(len(others) == 1, f"shapes differ outside dimension {axis}: {[list(shape) for shape in inputs]}")
    return (*inputs[0][:axis], sum(shape[axis] for shape in inputs), *inputs[0][axis + 1 :])


@infers("slice_static")
def _slice(op: Operation, inputs: list[Shape]) -> Inferred:
    begins, ends, steps = (attribute(op, name) for name in ("begins", "ends", "step"))
    if not (isinstance(begins, tuple) and isinstance(ends, tuple) and isinstance(steps, tuple)):
        return None
    for size, begin, end in zip(inputs[0], begins, ends, strict=False):
        first, last = begin + size * (begin < 0), end + size * (end < 0)
        need(first == last or 0 <= first < max(size, 1), f"begin must be in [{-size}, {size}), got {begin}")
        need(first == last or 0 <= last <= size, f"end must be in [{-size}, {size}], got {end}")
    need(len(begins) == len(ends) == len(steps) == len(inputs[0]), f"begins, ends and step need {len(inputs[0])} entries")
    need(0 not in steps, "step cannot be zero")
    return tuple(len(range(size)[slice(b, e, s)]) for size, b, e, s in zip(inputs[0], begins, ends, steps, strict=True))


@infers("ttir.rearrange")
def _rearrange(op: Operation, inputs: list[Shape]) -> Inferred:
    pattern = str(attribute(op, "pattern"))
    sides = [re.sub(r"[()]", " ", side).split() for side in pattern.split("->")]
    plain = len(sides) == 2 and sorted(sides[0]) == sorted(sides[1]) and len(set(sides[0])) == len(sides[0])
    need(plain, f'pattern must name the same dimensions on both sides of ->, got "{pattern[:80]}"')
    need(len(sides[0]) == len(inputs[0]) and "(" not in pattern.split("->")[0], f"pattern names {len(sides[0])} dimensions, the input has {len(inputs[0])}")
    sizes = dict(zip(sides[0], inputs[0], strict=True))
    groups = re.findall(r"\(([^()]*)\)|([^\s()]+)", pattern.split("->")[1])
    return [math.prod(sizes[name] for name in (several or single).split()) for several, single in groups]


@infers("ttir.reverse")
def _reverse(op: Operation, inputs: list[Shape]) -> Inferred:
    dims = attribute(op, "dimensions")
    if isinstance(dims, tuple):
        need(all(0 <= dim < len(inputs[0]) for dim in dims), f"dimensions must be in [0, {len(inputs[0])}), got {list(dims)}")
        need(len(set(dims)) == len(dims), f"dimensions must differ, got {list(dims)}")
    return inputs[0]


@infers("ttir.index")
def _index(op: Operation, inputs: list[Shape]) -> Inferred:
    rank = len(inputs[0])
    need(rank > 0, "input must have at least one dimension")
    axis, begin, end, step = (integer(op, name) for name in ("dim", "begin", "end", "step"))
    if axis is None or begin is None or end is None or step is None:
        return None
    need(0 <= axis < rank, f"dim {axis} is out of range for rank {rank}")
    size = inputs[0][axis]
    need(step != 0, "step cannot be zero")
    need(-size <= begin < size, f"begin must be in [{-size}, {size}), got {begin}")
    need(-size <= end <= size, f"end must be in [{-size}, {size}], got {end}")
    count = len(range(begin % size, end if end >= 0 else end + size, step))
    need(count > 0, f"from {begin} to {end} there is nothing in steps of {step}")
    return (*inputs[0][:axis], count, *inputs[0][axis + 1 :])


@rule("ttir.index", "ttir.all_to_all")
def _same_element(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(element(op.operands[0]) == element(op.results[0]), "result must have the input's element type")


@infers("ttir.index_select")
def _index_select(op: Operation, inputs: list[Shape]) -> Inferred:
    rank = len(inputs[0])
    axis = axis_of(op, "dim", rank)
    begin, length, stride = integer(op, "begin"), integer(op, "length"), integer(op, "stride") or 0
    if axis is None or begin is None or length is None or not rank:
        return None
    size = inputs[0][axis]
    need(stride <= size, f"stride must be at most {size}, got {stride}")
    need(0 <= begin < size, f"begin must be in [0, {size}), got {begin}")
    need(0 < length <= size - begin, f"length must be in [1, {size - begin}], got {length}")
    need(stride == 0 or stride >= length, f"stride must be 0 or at least the length {length}, got {stride}")
    count = len(range(begin, size - length + 1, stride)) if stride else 1
    return (*inputs[0][:axis], count * length, *inputs[0][axis + 1 :])


@rule("ttir.slice_dynamic")
def _slice_dynamic(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    rank = len(inputs[0])
    need(rank > 0, "input must have at least one dimension")
    for name, shape in zip(("begins", "ends"), inputs[1:3], strict=True):
        rank_is(shape, 1, name)
        need(shape[0] == rank, f"{name} must have {rank} elements, got {shape[0]}")
    steps = attribute(op, "step")
    if isinstance(steps, tuple):
        need(len(steps) == rank, f"step must have {rank} elements, got {len(steps)}")
        need(0 not in steps, "step cannot be zero")
    rank_is(outputs[0], rank, "result")
    need(element(op.operands[0]) == element(op.results[0]), "result must have the input's element type")


@infers("reshape")
def _reshape(op: Operation, inputs: list[Shape]) -> Inferred:
    shape = attribute(op, "shape")
    if not isinstance(shape, tuple):
        return None
    need(shape.count(-1) <= 1 and all(number >= -1 for number in shape), f"shape may hold one -1 and no other negative number, got {list(shape)}")
    known_size, size = math.prod(number for number in shape if number != -1), math.prod(inputs[0])
    dims = tuple(size // max(known_size, 1) if number == -1 else number for number in shape)
    need(math.prod(dims) == size, f"cannot reshape {list(inputs[0])} to {list(shape)}")
    return dims


@infers("ttir.broadcast")
def _broadcast(op: Operation, inputs: list[Shape]) -> Inferred:
    factors = attribute(op, "broadcast_dimensions")
    if not isinstance(factors, tuple):
        return None
    need(len(factors) == len(inputs[0]), f"broadcast_dimensions must have {len(inputs[0])} entries, got {len(factors)}")
    return [size * factor for size, factor in zip(inputs[0], factors, strict=True)]


@infers("repeat")
def _repeat(op: Operation, inputs: list[Shape]) -> Inferred:
    factors = attribute(op, "repeat_dimensions" if op.name.startswith("ttir.") else "repeat_dims")
    if not isinstance(factors, tuple):
        return None
    need(len(factors) == len(inputs[0]), f"repeat_dimensions must have {len(inputs[0])} entries, got {len(factors)}")
    need(all(factor > 0 for factor in factors), f"repeat_dimensions must be positive, got {list(factors)}")
    return [size * factor for size, factor in zip(inputs[0], factors, strict=True)]


@infers("repeat_interleave")
def _repeat_interleave(op: Operation, inputs: list[Shape]) -> Inferred:
    need(len(inputs[0]) > 0, "input must have at least one dimension")
    axis, repeats = axis_of(op, "dim", len(inputs[0])), integer(op, "repeats")
    if axis is None or repeats is None:
        return None
    need(repeats > 0, "repeats cannot be zero")
    return [size * repeats if i == axis else size for i, size in enumerate(inputs[0])]


@infers("pad")
def _pad(op: Operation, inputs: list[Shape]) -> Inferred:
    padding = attribute(op, "padding")
    if not isinstance(padding, tuple):
        return None
    need(len(padding) == 2 * len(inputs[0]), f"padding must have {2 * len(inputs[0])} entries, got {len(padding)}")
    return [size + padding[2 * i] + padding[2 * i + 1] for i, size in enumerate(inputs[0])]


@infers("gather")
def _gather(op: Operation, inputs: list[Shape]) -> Inferred:
    need(len(inputs[0]) == len(inputs[1]), f"input and index must have the same rank, got {len(inputs[0])} and {len(inputs[1])}")
    axis_of(op, "dim", len(inputs[0]))
    need(is_integer(op.operands[1]), f"index must hold integers, got {text_of(op.operands[1])}")
    return inputs[1]


@infers("ttir.embedding")
def _embedding(op: Operation, inputs: list[Shape]) -> Inferred:
    need(len(inputs[1]) >= 2, f"weight must have at least 2 dimensions, got rank {len(inputs[1])}")
    need(all(size == 1 for size in inputs[1][:-2]), f"weight must be a matrix but for dimensions of size 1, got {list(inputs[1])}")
    return (*inputs[0], inputs[1][-1])


@rule("ttir.embedding")
def _ids(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(len(inputs[0]) <= 2, f"input must have at most 2 dimensions, got rank {len(inputs[0])}")


@infers("ttir.concatenate_heads")
def _concatenate_heads(op: Operation, inputs: list[Shape]) -> Inferred:
    rank_is(inputs[0], 4, "input")
    batch, heads, length, size = inputs[0]
    return (batch, length, heads * size)


@infers("arange")
def _arange(op: Operation, inputs: list[Shape]) -> Inferred:
    """Of rank one where the op has no result yet."""
    outputs = shapes_of(op.results) or [(1,)]
    start, end, step = (integer(op, name) for name in ("start", "end", "step"))
    axis = axis_of(op, "arange_dimension", len(outputs[0])) or 0
    if start is None or end is None or step is None or not outputs[0]:
        return None
    need(step != 0, "step cannot be zero")
    count = len(range(start, end, step))
    return (*outputs[0][:axis], count, *outputs[0][axis + 1 :])


@infers("full", "zeros", "ones", "rand")
def _created(op: Operation, inputs: list[Shape]) -> Inferred:
    shape = attribute(op, "size" if op.name.endswith(".rand") else "shape")
    low, high = attribute(op, "low"), attribute(op, "high")
    if isinstance(low, float) and isinstance(high, float):
        need(low < high, f"low must be less than high, got {low} and {high}")
    return shape if isinstance(shape, tuple) else None


@infers("constant")
def _constant(op: Operation, inputs: list[Shape]) -> Inferred:
    value = op.properties.get("value")
    return tuple(value.type.get_shape()) if isinstance(value, DenseElements) else None


@rule("ttir.bitcast_convert")
def _bitcast(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    for value in (op.operands[0], op.results[0]):
        need(is_integer(value) or is_float(value), "integers or floats are needed")
    widths = [int(re.sub(r"\D", "", text_of(value)) or 0) for value in (op.operands[0], op.results[0])]
    need(widths[0] == widths[1], f"element types must have the same width, got {widths[0]} and {widths[1]} bits")
