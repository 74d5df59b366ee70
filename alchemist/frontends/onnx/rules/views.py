"""Ops that move elements: everything is reshape, permute, slice_static, broadcast, concat, reverse or pad."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import Operation

from alchemist.frontends import composites
from alchemist.frontends.onnx.emitter import Array, Emitter, Tensor
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.registry import Node, rule
from alchemist.ir import access


@rule("Reshape")
def reshape(c: Emitter, node: Node, x: Tensor, shape: Tensor) -> Tensor:
    """0 copies the input's size (unless allowzero), -1 is inferred."""
    dims = c.integers(shape, "the shape") or []
    if not node.get("allowzero", 0):
        dims = [x.shape[dim] if size == 0 and dim < x.rank else size for dim, size in enumerate(dims)]
    if -1 in dims:
        rest = math.prod(size for size in dims if size != -1)
        dims[dims.index(-1)] = math.prod(x.shape) // rest if rest else 0
    if min(dims, default=1) < 0 or math.prod(dims) != math.prod(x.shape):
        raise Unsupported(f"a reshape of {list(x.shape)} to {dims}")
    return _turned_whole(c, x, dims) or c.reshape(x, dims)


def _turned_whole(c: Emitter, x: Tensor, dims: list[int]) -> Tensor | None:
    """A transpose of matrices with batch dims flattened, as torch's exporter writes it, becomes a permute of the original."""
    permute_op = x.ssa.owner if x.has_ssa else None
    if not isinstance(permute_op, Operation) or permute_op.name != "ttir.permute" or access.attr(permute_op, "permutation") != (0, 2, 1):
        return None
    merged = permute_op.operands[0].owner
    if not isinstance(merged, Operation) or merged.name != "ttir.reshape":
        return None
    shape = access.shape(merged.operands[0])
    flat = access.shape(merged.results[0])
    if len(shape) < 4 or shape[-2:] != flat[-2:] or tuple(dims) != (*shape[:-2], shape[-1], shape[-2]):
        return None
    rank = len(shape)
    return c.permute(c.value(shape, x.dtype, merged.operands[0]), [*range(rank - 2), rank - 1, rank - 2])


@rule("Flatten")
def flatten(c: Emitter, node: Node, x: Tensor) -> Tensor:
    axis = node.get("axis", 1)
    axis = axis + x.rank if axis < 0 else axis
    return c.reshape(x, [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])])


@rule("Squeeze")
def squeeze(c: Emitter, node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
    dims = c.integers(axes, "the axes")
    squeezed = {dim % x.rank for dim in dims} if dims is not None else {dim for dim, size in enumerate(x.shape) if size == 1}
    return c.reshape(x, [size for dim, size in enumerate(x.shape) if dim not in squeezed])


@rule("Unsqueeze")
def unsqueeze(c: Emitter, node: Node, x: Tensor, axes: Tensor) -> Tensor:
    dims = c.integers(axes, "the axes") or []
    rank = x.rank + len(dims)
    new, rest = {dim % rank for dim in dims}, iter(x.shape)
    return c.reshape(x, [1 if dim in new else next(rest) for dim in range(rank)])


@rule("Transpose")
def transpose(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return c.permute(x, node.get("perm") or list(range(x.rank))[::-1])


@rule("Concat")
def concat(c: Emitter, node: Node, *parts: Tensor) -> Tensor:
    axis = node.get("axis", 0) % parts[0].rank
    whole = [part for part in parts if part.shape[axis]]
    return c.concat(whole or parts[:1], axis)


@rule("Expand")
def expand(c: Emitter, node: Node, x: Tensor, shape: Tensor) -> Tensor:
    return c.expand(x, np.broadcast_shapes(x.shape, tuple(c.integers(shape, "the shape") or [])))


@rule("Tile")
def tile(c: Emitter, node: Node, x: Tensor, repeats: Tensor) -> Tensor:
    factors = c.integers(repeats, "the repeats") or []
    shape = [size * factor for size, factor in zip(x.shape, factors, strict=True)]
    if all(factor == 1 or size == 1 for size, factor in zip(x.shape, factors, strict=True)):
        return c.expand(x, shape)
    return c.emit("repeat", [x], {"repeat_dimensions": factors})


@rule("Slice")
def slice_(c: Emitter, node: Node, x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None, steps: Tensor | None = None) -> Tensor:
    begins, stops = c.integers(starts, "the starts") or [], c.integers(ends, "the ends") or []
    dims = c.integers(axes, "the axes") or list(range(len(begins)))
    strides = c.integers(steps, "the steps") or [1] * len(begins)
    for dim, begin, stop, step in zip(dims, begins, stops, strides, strict=True):
        dim %= x.rank
        size = x.shape[dim]
        if step > 0:
            first, last, _ = slice(begin, stop, step).indices(size)
            x = c.slice(x, dim, first, max(first, last), step)
            continue
        picked = range(*slice(begin, stop if stop >= -size else None, step).indices(size))
        if len(picked):  # the same elements forwards, then reversed
            x = c.slice(x, dim, picked[-1], picked[0] + 1, -step)
            x = c.unary("reverse", x, {"dimensions": [dim]}) if len(picked) > 1 else x
        else:
            x = c.slice(x, dim, 0, 0)
    return x


@rule("Split")
def split(c: Emitter, node: Node, x: Tensor, sizes: Tensor | None = None) -> list[Tensor]:
    axis = node.get("axis", 0) % x.rank
    lengths = c.integers(sizes, "the sizes")
    if lengths is None:
        count = node.get("num_outputs") or len(node.wanted)
        part_size = -(-x.shape[axis] // count)
        lengths = [part_size] * (count - 1)
        lengths.append(x.shape[axis] - sum(lengths))
    if sum(lengths) != x.shape[axis] or min(lengths, default=0) < 0:
        raise Unsupported(f"a split of {x.shape[axis]} into {lengths}")
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    return [c.slice(x, axis, start, start + length) for start, length in zip(starts, lengths, strict=True)]


def _pad(c: Emitter, node: Node, x: Tensor, pads: Tensor, value: Tensor | None, dims: list[int]) -> Tensor:
    amounts = c.integers(pads, "the pads") or []
    pairs = [(0, 0)] * x.rank
    for i, dim in enumerate(dims):
        pairs[dim % x.rank] = (amounts[i], amounts[len(dims) + i])
    mode = node.get("mode", "constant")
    if mode == "constant":
        number = c.known(value, "the padding's value")
        return composites.pad_constant(c, x, pairs, 0 if number is None else number.reshape(-1)[0].item())
    for dim, (low, high) in enumerate(pairs):
        if low or high:
            limit = x.shape[dim] - (mode == "reflect")
            if min(low, high) < 0 or (mode != "edge" and max(low, high) > limit):
                raise Unsupported(f"padding of {low} and {high} in mode {mode!r} along a dimension of {x.shape[dim]}")
            x = composites.pad_edge(c, x, dim, low, high, {"edge": "replicate", "wrap": "circular"}.get(mode, mode))
    return x


@rule("Pad")
def pad(c: Emitter, node: Node, x: Tensor, pads: Tensor, value: Tensor | None = None) -> Tensor:
    return _pad(c, node, x, pads, value, list(range(x.rank)))


@rule("Pad", since=18)
def pad_axes(c: Emitter, node: Node, x: Tensor, pads: Tensor, value: Tensor | None = None, axes: Tensor | None = None) -> Tensor:
    dims = c.integers(axes, "the axes")
    return _pad(c, node, x, pads, value, list(range(x.rank)) if dims is None else dims)


@rule("DepthToSpace")
def depth_to_space(c: Emitter, node: Node, x: Tensor) -> Tensor:
    n, channels, height, width = x.shape
    size = node.get("blocksize")
    rest = channels // size**2
    if node.get("mode", "DCR") == "DCR":
        mixed = c.permute(c.reshape(x, [n, size, size, rest, height, width]), [0, 3, 4, 1, 5, 2])
    else:
        mixed = c.permute(c.reshape(x, [n, rest, size, size, height, width]), [0, 1, 4, 2, 5, 3])
    return c.reshape(mixed, [n, rest, height * size, width * size])


@rule("SpaceToDepth")
def space_to_depth(c: Emitter, node: Node, x: Tensor) -> Tensor:
    n, channels, height, width = x.shape
    size = node.get("blocksize")
    mixed = c.permute(c.reshape(x, [n, channels, height // size, size, width // size, size]), [0, 3, 5, 1, 2, 4])
    return c.reshape(mixed, [n, channels * size**2, height // size, width // size])


@rule("Trilu")
def trilu(c: Emitter, node: Node, x: Tensor, k: Tensor | None = None) -> Tensor:
    offset = (c.integers(k, "the diagonal") or [0])[0]
    ones: Array = np.ones(x.shape[-2:], dtype=np.bool_)
    triangle = np.triu(ones, offset) if node.get("upper", 1) else np.tril(ones, offset)
    mask = c.reshape(c.constant(triangle), [*[1] * (x.rank - 2), *x.shape[-2:]])
    return c.where(mask, x, c.full((1,) * x.rank, 0, x.dtype))


# --- shapes as values ---------------------------------------------------------------------------------------------------------


@rule("Shape")
def shape_(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return c.constant(np.array(x.shape[node.get("start", 0) : node.get("end")], dtype=np.int64))


@rule("Size")
def size(c: Emitter, node: Node, x: Tensor) -> Tensor:
    return c.constant(np.array(math.prod(x.shape), dtype=np.int64))


@rule("ConstantOfShape")
def constant_of_shape(c: Emitter, node: Node, shape: Tensor) -> Tensor:
    value = node.get("value")
    number = np.zeros((), np.float32) if value is None else value.reshape(())
    dims = tuple(c.integers(shape, "the shape") or [])
    c.type_of(dims, number.dtype)  # refuses what no card holds
    return c.constant(np.broadcast_to(number, dims))


@rule("EyeLike")
def eye_like(c: Emitter, node: Node, x: Tensor) -> Tensor:
    from alchemist.frontends.onnx.reading import dtype_of

    dtype = dtype_of(node.get("dtype")) if node.get("dtype") is not None else x.dtype
    return c.constant(np.eye(x.shape[0], x.shape[1], node.get("k", 0), dtype=np.float32).astype(dtype))
