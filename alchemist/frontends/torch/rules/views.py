"""Shape ops: everything is reshape, permute, slice_static, broadcast, concat, reverse or pad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from alchemist.frontends import composites
from alchemist.frontends.torch.emitter import Emitter, Scalar, Tensor
from alchemist.frontends.torch.errors import Unsupported
from alchemist.frontends.torch.registry import rule

RESHAPES = (
    "view.default reshape.default _unsafe_view.default flatten.using_ints unflatten.int squeeze.default squeeze.dim "
    "squeeze.dims unsqueeze.default view_as.default view_copy.default ravel.default _reshape_alias.default "
    "unsqueeze_copy.default reshape_as.default"
)


@rule(*(f"aten.{name}" for name in RESHAPES.split()))
def reshape(c: Emitter, x: Tensor, *_args: Any, **_kwargs: Any) -> Tensor:
    return c.reshape(x, c.out_shape)


_SAME_WIDTH = ({torch.float32, torch.int32, torch.uint32}, {torch.bfloat16, torch.uint16})


@rule("aten.view.dtype")
def reinterpret(c: Emitter, x: Tensor, dtype: torch.dtype) -> Tensor:
    """The bits of a dtype as another of the same width."""
    if x.dtype is dtype:
        return x
    if not any({x.dtype, dtype} <= group for group in _SAME_WIDTH):
        raise Unsupported(f"bits of {x.dtype} as {dtype}")
    return c.emit("bitcast_convert", [x], dtype=c.out_dtype)


@rule("aten.permute.default", "aten.permute_copy.default")
def permute(c: Emitter, x: Tensor, dims: Sequence[int]) -> Tensor:
    return c.permute(x, dims)


@rule("aten.transpose.int", "aten.transpose.default", "aten.swapaxes.default", "aten.swapdims.default")
def transpose(c: Emitter, x: Tensor, a: int, b: int) -> Tensor:
    dims = list(range(x.rank))
    if x.rank:
        dims[a], dims[b] = dims[b], dims[a]
    return c.permute(x, dims)


@rule("aten.t.default", "aten.numpy_T.default", "aten.mT.default", "aten.adjoint.default")
def t(c: Emitter, x: Tensor) -> Tensor:
    if x.rank < 2:
        return x
    swapped = list(range(x.rank))
    if str(c.node.target) == "aten.numpy_T.default":
        return c.permute(x, swapped[::-1])
    return transpose(c, x, -2, -1)


@rule("aten.expand.default", "aten.expand_as.default", "aten.broadcast_to.default", "aten.expand_copy.default")
def expand(c: Emitter, x: Tensor, *_args: Any, **_kwargs: Any) -> Tensor:
    return c.expand(x, c.out_shape)


@rule("aten.repeat.default", "aten.tile.default")
def repeat(c: Emitter, x: Tensor, repeats: Sequence[int]) -> Tensor:
    shape = c.out_shape
    x = c.reshape(x, (1,) * (len(shape) - x.rank) + x.shape)
    factors = [want // have if have else 1 for want, have in zip(shape, x.shape, strict=True)]
    if all(factor == 1 for factor in factors):
        return x
    if all(factor == 1 or size == 1 for factor, size in zip(factors, x.shape, strict=True)):
        return c.expand(x, shape)
    return c.emit("repeat", [x], {"repeat_dimensions": factors})


@rule("aten.repeat_interleave.self_int")
def repeat_interleave(c: Emitter, x: Tensor, repeats: int, dim: int | None = None, output_size: int | None = None) -> Tensor:
    if dim is None:
        x, dim = c.reshape(x, [torch.Size(x.shape).numel()]), 0
    return c.emit("repeat_interleave", [x], {"repeats": repeats, "dim": dim % x.rank})


def bounds(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    """Python slice bounds clamped to the dimension."""
    begin, stop, _ = slice(start, end).indices(size)
    return begin, max(begin, stop)


@rule("aten.slice.Tensor", "aten.slice_copy.Tensor")
def slice_(c: Emitter, x: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    return c.slice(x, dim % x.rank, *bounds(x.shape[dim], start, end), step)


@rule("aten.select.int", "aten.select_copy.int")
def select(c: Emitter, x: Tensor, dim: int, index: int) -> Tensor:
    index %= x.shape[dim]
    return c.reshape(c.slice(x, dim % x.rank, index, index + 1), c.out_shape)


def _pieces(c: Emitter, x: Tensor, dim: int, sizes: Sequence[int]) -> list[Tensor]:
    out, start = [], 0
    for size in sizes:
        out.append(c.slice(x, dim % x.rank, start, start + size))
        start += size
    return out


@rule(
    "aten.split.Tensor", "aten.split_with_sizes.default", "aten.chunk.default", "aten.tensor_split.sections", "aten.split.sizes",
    "aten.split_with_sizes_copy.default", "aten.split_copy.Tensor", "aten.unsafe_split.Tensor", "aten.unsafe_chunk.default",
    "aten.tensor_split.indices",
)  # fmt: skip
def split(c: Emitter, x: Tensor, _sizes: Any, dim: int = 0) -> list[Tensor]:
    return _pieces(c, x, dim, [int(part.shape[dim]) for part in c.out])


@rule("aten.cat.default", "aten.concat.default", "aten.concatenate.default")
def cat(c: Emitter, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    parts = [c.cast(part, c.out_dtype) for part in tensors if part.shape != (0,)]
    whole = [part for part in parts if part.shape[dim]]
    return c.concat(whole or parts[:1] or [c.cast(tensors[0], c.out_dtype)], dim % len(c.out_shape))


@rule("aten.stack.default")
def stack(c: Emitter, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    dim %= len(c.out_shape)
    shape = [1 if i == dim else size for i, size in enumerate(c.out_shape)]
    return c.concat([c.reshape(c.cast(part, c.out_dtype), shape) for part in tensors], dim)


@rule("aten.flip.default")
def flip(c: Emitter, x: Tensor, dims: Sequence[int]) -> Tensor:
    return c.emit("reverse", [x], {"dimensions": sorted(dim % x.rank for dim in dims)}) if dims else x


@rule("aten.roll.default")
def roll(c: Emitter, x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    if not dims:
        flat = c.reshape(x, [torch.Size(x.shape).numel()])
        return c.reshape(_rolled(c, flat, 0, shifts[0]), x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = _rolled(c, x, dim % x.rank, shift)
    return x


def _rolled(c: Emitter, x: Tensor, dim: int, shift: int) -> Tensor:
    size = x.shape[dim]
    cut = (size - shift % size) % size if size else 0
    if cut == 0:
        return x
    return c.concat([c.slice(x, dim, cut, size), c.slice(x, dim, 0, cut)], dim)


@rule("aten.constant_pad_nd.default")
def constant_pad(c: Emitter, x: Tensor, pad: Sequence[int], value: Scalar = 0) -> Tensor:
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    return composites.pad_constant(c, x, [(0, 0)] * (x.rank - len(pairs)) + pairs, value)


@rule("aten.pad.default")
def pad(c: Emitter, x: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    if mode == "constant":
        return constant_pad(c, x, pad, value or 0)
    return _edge_pad(c, x, pad, mode)


def _edge_pad(c: Emitter, x: Tensor, pad: Sequence[int], mode: str) -> Tensor:
    """Padding from the tensor's own values, one dimension after the other."""
    for i in range(len(pad) // 2):
        low, high = pad[2 * i], pad[2 * i + 1]
        if mode == "circular" and min(low, high) < 0:
            size = x.shape[x.rank - 1 - i]
            x, low, high = c.slice(x, x.rank - 1 - i, max(-low, 0), size - max(-high, 0)), max(low, 0), max(high, 0)
        if min(low, high) < 0 or mode not in ("reflect", "replicate", "circular"):
            raise Unsupported(f"negative padding in mode {mode!r}" if min(low, high) < 0 else f"padding mode {mode!r}")
        x = composites.pad_edge(c, x, x.rank - 1 - i, low, high, mode)
    return x


def _edge_rule(mode: str, ranks: Sequence[int]) -> None:
    aten = {"reflect": "reflection", "replicate": "replication"}[mode]

    @rule(*(f"aten.{aten}_pad{rank}d.default" for rank in ranks))
    def lower(c: Emitter, x: Tensor, padding: Sequence[int]) -> Tensor:
        return _edge_pad(c, x, padding, mode)


_edge_rule("reflect", (1, 2, 3))
_edge_rule("replicate", (1, 2, 3))


@rule("aten.select_scatter.default")
def select_scatter(c: Emitter, x: Tensor, source: Tensor, dim: int, index: int) -> Tensor:
    dim, index = dim % x.rank, index % x.shape[dim]
    shape = [1 if i == dim else size for i, size in enumerate(x.shape)]
    return _spliced(c, x, c.reshape(c.cast(source, x.dtype), shape), dim, index)


@rule("aten.slice_scatter.default")
def slice_scatter(c: Emitter, x: Tensor, source: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    dim %= x.rank
    begin, stop = bounds(x.shape[dim], start, end)
    source = c.cast(source, x.dtype)
    if step == 1:
        return _spliced(c, x, source, dim, begin)
    rows = {position: i for i, position in enumerate(range(begin, stop, step))}
    pieces = [c.slice(source, dim, rows[i], rows[i] + 1) if i in rows else c.slice(x, dim, i, i + 1) for i in range(x.shape[dim])]
    return c.concat(pieces, dim)


def _spliced(c: Emitter, x: Tensor, source: Tensor, dim: int, start: int) -> Tensor:
    """`x` with the rows from `start` replaced by `source`."""
    stop, size = start + source.shape[dim], x.shape[dim]
    if source.shape[dim] == 0:
        return x
    parts = [c.slice(x, dim, 0, start)] if start else []
    parts.append(source)
    if stop < size:
        parts.append(c.slice(x, dim, stop, size))
    return c.concat(parts, dim)


@rule("aten.unfold.default")
def unfold(c: Emitter, x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows along a dimension; each becomes a slice, the window's inside the last dimension."""
    if x.rank == 0:
        return c.reshape(x, c.out_shape)
    dim = dimension % x.rank
    count = c.out_shape[dim]
    if step == size:
        shape = [*x.shape[:dim], count, size, *x.shape[dim + 1 :]]
        order = [*range(dim + 1), *range(dim + 2, x.rank + 1), dim + 1]
        return c.permute(c.reshape(c.slice(x, dim, 0, count * size), shape), order)
    if size <= count:
        parts = [c.slice(x, dim, i, i + (count - 1) * step + 1, step) for i in range(size)]
        return c.concat([c.reshape(part, [*part.shape, 1]) for part in parts], x.rank)
    parts = []
    for i in range(count):
        window = c.slice(x, dim, i * step, i * step + size)
        order = [*range(dim), *range(dim + 1, x.rank), dim]
        permuted = c.permute(window, order)
        parts.append(c.reshape(permuted, [*permuted.shape[:dim], 1, *permuted.shape[dim:]]))
    return c.concat(parts, dim)
