"""Reductions, views, data movement, creation, types."""

from __future__ import annotations

import math
import re

from xdsl.ir import Operation

from alchemist.ir.rules.table import Shape, attribute, axis_of, element, integer, is_float, is_integer, need, rank_is, rule, same, text_of


@rule("sum", "mean", "max", "min", "prod", "reduce_and", "reduce_or", "ttir.argmax")
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
        need(len(set(given)) == len(given), f"reduced dimensions must differ, got {list(given)}")
        for dim in given:
            need(-max(rank, 1) <= dim < max(rank, 1), f"reduced dimension {dim} is out of range for rank {rank}")
        chosen = {dim % max(rank, 1) for dim in given} or set(range(rank))
    expected = [1 if i in chosen else n for i, n in enumerate(shape) if keep or i not in chosen]
    need(list(outputs[0]) == expected or (not expected and outputs[0] == (1,)), f"expected result shape {expected}, got {list(outputs[0])}")


@rule("ttnn.argmax")
def _argmax(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis = axis_of(op, "dim", len(inputs[0]))
    keep = bool(attribute(op, "keep_dim"))
    chosen = set(range(len(inputs[0]))) if axis is None else {axis}
    same(outputs[0], [1 if i in chosen else n for i, n in enumerate(inputs[0]) if keep or i not in chosen])


@rule("softmax")
def _softmax(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis_of(op, "dimension", len(inputs[0]))


@rule("ttir.get_dimension_size")
def _dimension_size(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis_of(op, "dimension", len(inputs[0]))


@rule("cumsum")
def _cumsum(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis_of(op, "dim", len(inputs[0]))
    same(outputs[0], inputs[0])


@rule("ttnn.roll")
def _roll(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    shifts, dims = attribute(op, "shifts"), attribute(op, "dim")
    same(outputs[0], inputs[0])
    need(isinstance(shifts, list | tuple) and isinstance(dims, list | tuple) and len(shifts) == len(dims), "there is one shift for each dimension")


@rule("sort")
def _sort(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis_of(op, "dim", len(inputs[0]))
    same(outputs[0], inputs[0], "values'")
    same(outputs[1], inputs[0], "indices'")
    need(is_integer(op.results[1]), f"indices must be integers, got {text_of(op.results[1])}")
    need(element(op.operands[0]) == element(op.results[0]), "values must have the input's element type")


@rule("topk")
def _topk(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis = axis_of(op, "dim", len(inputs[0]))
    count = integer(op, "k")
    if count is None or not inputs[0]:
        return
    axis = len(inputs[0]) - 1 if axis is None else axis
    need(0 < count <= inputs[0][axis], f"k must be in [1, {inputs[0][axis]}], got {count}")
    same(outputs[0], (*inputs[0][:axis], count, *inputs[0][axis + 1 :]))
    need(len(op.results) < 2 or op.name != "ttir.topk" or is_integer(op.results[1]), "indices must be integers")


@rule("ttir.unsqueeze")
def _unsqueeze(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis = axis_of(op, "dim", len(inputs[0]), extra=1)
    if axis is not None:
        same(outputs[0], (*inputs[0][:axis], 1, *inputs[0][axis:]))


@rule("ttir.squeeze")
def _squeeze(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis = axis_of(op, "dim", len(inputs[0]))
    if axis is not None and inputs[0]:
        need(inputs[0][axis] == 1, f"dimension {axis} has size {inputs[0][axis]}, it cannot be squeezed")
        same(outputs[0], inputs[0][:axis] + inputs[0][axis + 1 :])


@rule("transpose")
def _transpose(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    first, second = axis_of(op, "dim0", len(inputs[0])), axis_of(op, "dim1", len(inputs[0]))
    if first is not None and second is not None and inputs[0]:
        order = list(inputs[0])
        order[first], order[second] = order[second], order[first]
        same(outputs[0], order)


@rule("ttir.rearrange")
def _rearrange(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    pattern = str(attribute(op, "pattern"))
    sides = [re.sub(r"[()]", " ", side).split() for side in pattern.split("->")]
    plain = len(sides) == 2 and sorted(sides[0]) == sorted(sides[1]) and len(set(sides[0])) == len(sides[0])
    need(plain, f'pattern must name the same dimensions on both sides of ->, got "{pattern[:80]}"')
    need(len(sides[0]) == len(inputs[0]) and "(" not in pattern.split("->")[0], f"pattern names {len(sides[0])} dimensions, the input has {len(inputs[0])}")
    sizes = dict(zip(sides[0], inputs[0], strict=True))
    groups = re.findall(r"\(([^()]*)\)|([^\s()]+)", pattern.split("->")[1])
    same(outputs[0], [math.prod(sizes[name] for name in (several or one).split()) for several, one in groups])


@rule("ttir.reverse")
def _reverse(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    dims = attribute(op, "dimensions")
    if isinstance(dims, tuple):
        need(all(0 <= dim < len(inputs[0]) for dim in dims), f"dimensions must be in [0, {len(inputs[0])}), got {list(dims)}")
        need(len(set(dims)) == len(dims), f"dimensions must differ, got {list(dims)}")
    same(outputs[0], inputs[0])


@rule("ttir.index")
def _index(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    rank = len(inputs[0])
    need(rank > 0, "input must have at least one dimension")
    axis, begin, end, step = (integer(op, name) for name in ("dim", "begin", "end", "step"))
    if axis is None or begin is None or end is None or step is None:
        return
    need(0 <= axis < rank, f"dim {axis} is out of range for rank {rank}")
    size = inputs[0][axis]
    need(step != 0, "step cannot be zero")
    need(-size <= begin < size, f"begin must be in [{-size}, {size}), got {begin}")
    need(-size <= end <= size, f"end must be in [{-size}, {size}], got {end}")
    count = len(range(begin % size, end if end >= 0 else end + size, step))
    need(count > 0, f"from {begin} to {end} there is nothing in steps of {step}")
    same(outputs[0], (*inputs[0][:axis], count, *inputs[0][axis + 1 :]))
    need(element(op.operands[0]) == element(op.results[0]), "result must have the input's element type")


@rule("ttir.index_select")
def _index_select(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    rank = len(inputs[0])
    axis = axis_of(op, "dim", rank)
    begin, length, stride = integer(op, "begin"), integer(op, "length"), integer(op, "stride") or 0
    if axis is None or begin is None or length is None or not rank:
        return
    size = inputs[0][axis]
    need(stride <= size, f"stride must be at most {size}, got {stride}")
    need(0 <= begin < size, f"begin must be in [0, {size}), got {begin}")
    need(0 < length <= size - begin, f"length must be in [1, {size - begin}], got {length}")
    need(stride == 0 or stride >= length, f"stride must be 0 or at least the length {length}, got {stride}")
    count = len(range(begin, size - length + 1, stride)) if stride else 1
    same(outputs[0], (*inputs[0][:axis], count * length, *inputs[0][axis + 1 :]))


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


@rule("reshape")
def _reshape(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(math.prod(inputs[0]) == math.prod(outputs[0]), f"cannot reshape {list(inputs[0])} to {list(outputs[0])}")
    shape = attribute(op, "shape")
    if not isinstance(shape, tuple):
        return
    need(len(shape) == len(outputs[0]), f"shape has {len(shape)} entries, the result {len(outputs[0])} dimensions")
    need(shape.count(-1) <= 1 and all(number >= -1 for number in shape), f"shape may hold one -1 and no other negative number, got {list(shape)}")
    need(all(a in (-1, b) for a, b in zip(shape, outputs[0], strict=True)), f"shape {list(shape)} is not the result's {list(outputs[0])}")


@rule("ttir.broadcast")
def _broadcast(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    factors = attribute(op, "broadcast_dimensions")
    rank_is(outputs[0], len(inputs[0]), "result")
    if isinstance(factors, tuple):
        need(len(factors) == len(inputs[0]), f"broadcast_dimensions must have {len(inputs[0])} entries, got {len(factors)}")
        same(outputs[0], [size * factor for size, factor in zip(inputs[0], factors, strict=True)])


@rule("ttir.repeat")
def _repeat(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    factors = attribute(op, "repeat_dimensions")
    if isinstance(factors, tuple):
        need(len(factors) == len(inputs[0]), f"repeat_dimensions must have {len(inputs[0])} entries, got {len(factors)}")
        need(all(factor > 0 for factor in factors), f"repeat_dimensions must be positive, got {list(factors)}")
        same(outputs[0], [size * factor for size, factor in zip(inputs[0], factors, strict=True)])


@rule("repeat_interleave")
def _repeat_interleave(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(len(inputs[0]) > 0, "input must have at least one dimension")
    axis, repeats = axis_of(op, "dim", len(inputs[0])), integer(op, "repeats")
    if axis is not None and repeats is not None:
        need(repeats > 0, "repeats cannot be zero")
        same(outputs[0], [size * repeats if i == axis else size for i, size in enumerate(inputs[0])])


@rule("ttir.pad")
def _pad(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    given = attribute(op, "padding")
    if isinstance(given, tuple):
        need(len(given) == 2 * len(inputs[0]), f"padding must have {2 * len(inputs[0])} entries, got {len(given)}")
        same(outputs[0], [size + given[2 * i] + given[2 * i + 1] for i, size in enumerate(inputs[0])])


@rule("gather")
def _gather(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(len(inputs[0]) == len(inputs[1]), f"input and index must have the same rank, got {len(inputs[0])} and {len(inputs[1])}")
    axis_of(op, "dim", len(inputs[0]))
    need(is_integer(op.operands[1]), f"index must hold integers, got {text_of(op.operands[1])}")
    same(outputs[0], inputs[1])


@rule("ttir.embedding")
def _embedding(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(len(inputs[0]) <= 2, f"input must have at most 2 dimensions, got rank {len(inputs[0])}")
    need(len(inputs[1]) >= 2, f"weight must have at least 2 dimensions, got rank {len(inputs[1])}")
    need(all(size == 1 for size in inputs[1][:-2]), f"weight must be a matrix but for dimensions of size 1, got {list(inputs[1])}")
    same(outputs[0], (*inputs[0], inputs[1][-1]))


@rule("ttir.concatenate_heads")
def _concatenate_heads(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    rank_is(inputs[0], 4, "input")
    batch, heads, length, size = inputs[0]
    same(outputs[0], (batch, length, heads * size))


@rule("ttir.arange")
def _arange(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    start, end, step = (integer(op, name) for name in ("start", "end", "step"))
    axis = axis_of(op, "arange_dimension", len(outputs[0]))
    if start is None or end is None or step is None or axis is None:
        return
    need(step != 0, "step cannot be zero")
    count = len(range(start, end, step))
    need(outputs[0][axis] == count, f"from {start} to {end} in steps of {step} there are {count} numbers, the result has {outputs[0][axis]}")


@rule("full", "zeros", "ones", "rand")
def _created(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    shape = attribute(op, "size" if op.name.endswith(".rand") else "shape")
    if isinstance(shape, tuple):
        same(outputs[0], shape)
    low, high = attribute(op, "low"), attribute(op, "high")
    if isinstance(low, float) and isinstance(high, float):
        need(low < high, f"low must be less than high, got {low} and {high}")


@rule("ttir.bitcast_convert")
def _bitcast(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    for value in (op.operands[0], op.results[0]):
        need(is_integer(value) or is_float(value), "integers or floats are needed")
    widths = [int(re.sub(r"\D", "", text_of(value)) or 0) for value in (op.operands[0], op.results[0])]
    need(widths[0] == widths[1], f"element types must have the same width, got {widths[0]} and {widths[1]} bits")
