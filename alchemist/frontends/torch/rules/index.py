"""Look-ups and updates by index. Indices that are known while lowering (from arange, integer buffers) become slices."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from alchemist.frontends import composites
from alchemist.frontends.torch import masked_values
from alchemist.frontends.torch.dtypes import limits, to_numpy
from alchemist.frontends.torch.emitter import Emitter, Scalar, Tensor, progression
from alchemist.frontends.torch.errors import Unsupported
from alchemist.frontends.torch.registry import RULES, recipe, rule
from alchemist.frontends.torch.rules.conv import Windows

if TYPE_CHECKING:
    from alchemist.frontends.torch.lowering import Lowering

REDUCTIONS = {"sum": "sum", "add": "sum", "prod": "prod", "multiply": "prod", "amax": "max", "amin": "min"}
"""torch's reduction names -> `#ttcore.reduce_type`; no reduction is "invalid"."""


def take_rows(c: Emitter, table: Tensor, ids: Tensor) -> Tensor:
    """table [rows, ...rest] and ids [...] -> [...ids, ...rest]. Known ids in sequence become a slice, equal ones a broadcast."""
    if ids.rank == 0:
        return c.reshape(take_rows(c, table, c.reshape(ids, [1])), table.shape[1:])
    return composites.take(c, table, ids, None if ids.const is None else to_numpy(ids.const))


@rule("aten.embedding.default")
def embedding(c: Emitter, weight: Tensor, ids: Tensor, *_rest: object) -> Tensor:
    return take_rows(c, weight, ids)


def _take_along(c: Emitter, x: Tensor, dim: int, index: Tensor) -> Tensor:
    """x indexed by one tensor at `dim`; the index's dimensions stand in its place."""
    return composites.take_along(c, x, dim, index, None if index.const is None else to_numpy(index.const))


@rule("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(c: Emitter, x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    present = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    if len(present) == 1:
        dim, only = present[0]
        return _take_along(c, x, dim, _from_start(c, only, x.shape[dim]))
    plain = _broadcast_index(c, x, present)
    if plain is not None:
        return plain
    front, shape, flat = _linear(c, x, present)
    picked = take_rows(c, front, flat)
    dims = [dim for dim, _ in present]
    if dims == list(range(dims[0], dims[0] + len(dims))) and dims[0] > 0:
        n, first = len(shape), dims[0]
        picked = c.permute(picked, [*range(n, n + first), *range(n), *range(n + first, picked.rank)])
    return picked


def _without_masks(c: Emitter, indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Known boolean indices as integer ones."""
    out: list[Tensor | None] = []
    for index in indices:
        if index is not None and index.dtype in (torch.bool, torch.uint8):
            if index.const is None:
                raise Unsupported("boolean indexing: the result's shape depends on data (use torch.where)")
            out.extend(c.constant(part) for part in index.const.to(torch.bool).nonzero(as_tuple=True))
        else:
            out.append(index)
    return out


def _broadcast_index(c: Emitter, x: Tensor, present: Sequence[tuple[int, Tensor]]) -> Tensor | None:
    """x[arange[:, None], arange[None, :]] is a slice per dimension: true when each index counts along its own dimension."""
    dims = [dim for dim, _ in present]
    if dims != list(range(len(dims))) or any(index.const is None for _, index in present):
        return None
    shape = torch.broadcast_shapes(*(index.shape for _, index in present))
    rank = len(shape)
    place: dict[int, int] = {}  # dimension of x -> dimension of the index shape it runs along
    ranges: list[tuple[int, int, int]] = []
    for dim, index in present:
        values: torch.Tensor = index.const
        lifted = values.reshape((1,) * (rank - values.dim()) + tuple(values.shape))
        same = index.uniform
        if same is not None:
            start = int(same) % x.shape[dim]
            ranges.append((start, start + 1, 1))
            continue
        steps = progression(lifted)
        if steps is None or steps[2] < 1 or steps[1] < 0 or steps[0] in place.values():
            return None
        place[dim] = steps[0]
        ranges.append((steps[1], steps[1] + steps[2] * (lifted.shape[steps[0]] - 1) + 1, steps[2]))
    if list(place.values()) != sorted(place.values()):
        return None
    for dim, (start, end, step) in enumerate(ranges):
        x = c.slice(x, dim, start, end, step)
    rest = x.shape[len(dims) :]
    out = [1] * rank
    for dim, position in place.items():
        out[position] = x.shape[dim]
    return c.expand(c.reshape(x, [*out, *rest]), [*shape, *rest])


def _from_start(c: Emitter, index: Tensor, size: int, is_read: bool = True) -> Tensor:
    """See `composites.from_start`; known indices are replaced."""
    if index.const is None:
        return composites.from_start(c, index, size, is_read)
    const = index.const
    return c.constant(torch.where(const < 0, const + size, const)) if bool((const < 0).any()) else index


def _linear(c: Emitter, x: Tensor, present: Sequence[tuple[int, Tensor]]) -> tuple[Tensor, list[int], Tensor]:
    """(x with the indexed dimensions merged in front, index shape, merged index)."""
    dims = [dim for dim, _ in present]
    rest = [i for i in range(x.rank) if i not in dims]
    sizes = [x.shape[dim] for dim in dims]
    front = c.reshape(c.permute(x, [*dims, *rest]), [math.prod(sizes), *(x.shape[i] for i in rest)])
    shape = list(torch.broadcast_shapes(*(index.shape for _, index in present)))
    consts = [index.const for _, index in present]
    if all(const is not None for const in consts):
        flat = torch.zeros(shape, dtype=torch.int64)
        for const, size in zip(consts, sizes, strict=True):
            flat = flat * size + torch.where(const < 0, const + size, const)  # type: ignore[operator]
        return front, shape, c.constant(flat)
    parts: list[Tensor] = []
    stride = math.prod(sizes)
    for (_, index), size in zip(present, sizes, strict=True):
        stride //= size
        index = _from_start(c, c.cast(index, torch.int64), size, is_read=False)
        part = c.binary("multiply", index, stride) if stride != 1 else index
        if part.rank < len(shape):
            part = c.reshape(part, [*[1] * (len(shape) - part.rank), *part.shape])
        parts.append(part)
    return front, shape, c.expand(functools.reduce(lambda total, part: c.binary("add", total, part), parts), shape)


@rule("aten.gather.default")
def gather(c: Emitter, x: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    return _gather(c, x, dim % max(x.rank, 1), index)


def _gather(c: Emitter, x: Tensor, dim: int, index: Tensor) -> Tensor:
    """x at the index along one dim; a line is looked up as the rows of a table."""
    return take_rows(c, x, index) if x.rank == 1 else c.emit("gather", [x, index], {"dim": dim})


@rule("aten.take.default")
def take(c: Emitter, x: Tensor, index: Tensor) -> Tensor:
    return take_rows(c, c.reshape(x, [math.prod(x.shape)]), _from_start(c, index, math.prod(x.shape)))


@rule("aten.take_along_dim.default")
def take_along_dim(c: Emitter, x: Tensor, index: Tensor, dim: int | None = None) -> Tensor:
    if dim is None:
        return take_rows(c, c.reshape(x, [math.prod(x.shape)]), c.reshape(index, [math.prod(index.shape)]))
    shape = list(c.out_shape)
    wide = c.expand(x, [x.shape[i] if i == dim % x.rank else size for i, size in enumerate(shape)])
    return _gather(c, wide, dim % x.rank, c.expand(index, shape))


def _scatter(c: Emitter, x: Tensor, dim: int, index: Tensor, source: Tensor | Scalar, reduce: str) -> Tensor:
    if not isinstance(source, Tensor):
        source = c.expand(c.full(index.shape, source, x.dtype), index.shape)
    if source.shape != index.shape:  # torch reads only the part that the index covers
        for i, size in enumerate(index.shape):
            source = c.slice(source, i, 0, size)
    attributes = {"dim": dim % max(x.rank, 1), "scatter_reduce_type": reduce}
    return c.emit("scatter", [x, index, c.cast(source, x.dtype)], attributes)


@rule("aten.scatter.src", "aten.scatter.value")
def scatter(c: Emitter, x: Tensor, dim: int, index: Tensor, source: Tensor | Scalar) -> Tensor:
    return _scatter(c, x, dim, index, source, "invalid")


@rule("aten.scatter.reduce", "aten.scatter.value_reduce")
def scatter_with(c: Emitter, x: Tensor, dim: int, index: Tensor, source: Tensor | Scalar, *, reduce: str) -> Tensor:
    return _scatter(c, x, dim, index, source, REDUCTIONS[reduce])


@rule("aten.scatter_add.default")
def scatter_add(c: Emitter, x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    return _scatter(c, x, dim, index, source, "sum")


@rule("aten.scatter_reduce.two")
def scatter_reduce(c: Emitter, x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    if x.dtype == torch.bool:
        raise Unsupported("scatter_reduce of booleans: convert them with .int() first")
    if reduce == "mean":
        hits = _scatter(c, c.full(x.shape, 0, x.dtype), dim, index, c.full(index.shape, 1, x.dtype), "sum")
        if include_self:
            hits = c.binary("add", hits, 1)
        else:
            x = c.where(c.binary("gt", hits, 0, torch.bool), c.full((1,) * x.rank, 0, x.dtype), x)
            hits = c.binary("maximum", hits, 1)
        total = _scatter(c, x, dim, index, source, "sum")
        return c.binary("div", total, hits) if x.dtype.is_floating_point else RULES["aten.floor_divide.default"](c, total, hits)
    if not include_self:
        start = {"sum": 0, "prod": 1, "amax": limits(x.dtype)[0], "amin": limits(x.dtype)[1]}[reduce]
        neutral = _scatter(c, x, dim, index, start, "invalid")
        return _scatter(c, neutral, dim, index, source, REDUCTIONS[reduce])
    return _scatter(c, x, dim, index, source, REDUCTIONS[reduce])


def _along(c: Emitter, index: Tensor, dim: int, shape: Sequence[int]) -> Tensor:
    """A 1-d index as an index tensor of `shape`."""
    placed = c.reshape(index, [index.shape[0] if index.rank and i == dim else 1 for i in range(len(shape))])
    return c.expand(placed, shape)


@rule("aten.index_copy.default")
def index_copy(c: Emitter, x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    return _index_write(c, x, dim, index, source, "invalid")


@rule("aten.index_add.default")
def index_add(c: Emitter, x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
    source = source if alpha == 1 else c.binary("multiply", source, alpha)
    return _index_write(c, x, dim, index, source, "sum")


@recipe("aten.index_reduce.default")
def index_reduce(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, reduce: str, *, include_self: bool = True) -> torch.Tensor:
    places = index.reshape([-1 if i == dim % x.dim() else 1 for i in range(x.dim())]).expand(source.shape)
    return torch.scatter_reduce(x, dim, places, source, reduce, include_self=include_self)


@recipe("aten.put.default")
def put(x: torch.Tensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    return x.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate).reshape(x.shape)


@recipe("aten.as_strided_scatter.default")
def as_strided_scatter(x: torch.Tensor, source: torch.Tensor, size: Sequence[int], stride: Sequence[int], offset: int | None = None) -> torch.Tensor:
    return put(x, _strided_places(size, stride, offset), source)


@recipe("aten.diagonal_scatter.default")
def diagonal_scatter(x: torch.Tensor, source: torch.Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> torch.Tensor:
    return put(x, torch.arange(x.numel()).reshape(x.shape).diagonal(offset, dim1, dim2), source)


@recipe("aten.repeat_interleave.Tensor")
def repeat_interleave(repeats: torch.Tensor, *, output_size: int | None = None) -> torch.Tensor:
    """How often each place is repeated -> the place that each of the results comes from; their count must be known."""
    if output_size is None:
        raise Unsupported("repeat_interleave without output_size: the result's shape depends on data")
    return torch.searchsorted(torch.cumsum(repeats, 0), torch.arange(output_size), right=True)


def _index_write(c: Emitter, x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str) -> Tensor:
    dim %= x.rank
    positions = index.const
    if reduce == "invalid" and positions is not None and index.rank == 1:
        steps = progression(positions) if positions.numel() > 1 else (0, int(positions[0]), 1) if positions.numel() else None
        if steps is not None and steps[2] == 1:
            from alchemist.frontends.torch.rules.views import slice_scatter

            return slice_scatter(c, x, source, dim, steps[1], steps[1] + positions.numel())
    return _scatter(c, x, dim, _along(c, index, dim, source.shape), source, reduce)


@rule("aten.index_put.default", "aten._unsafe_index_put.default", "aten._index_put_impl.default")
def index_put(c: Lowering, x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False, unsafe: bool = False) -> Tensor:
    masked = masked_values.write(c, x, indices, values, accumulate)
    if masked is not None:
        return masked
    indices = _without_masks(c, indices)
    present = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    dims = [dim for dim, _ in present]
    reduce = "sum" if accumulate else "invalid"
    rest = [i for i in range(x.rank) if i not in dims]
    front, shape, flat = _linear(c, x, present)
    adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
    values = c.cast(values, x.dtype)
    first_dim = dims[0] if adjacent else 0
    want = [*(x.shape[i] for i in range(first_dim)), *shape, *(x.shape[i] for i in rest if i >= first_dim or not adjacent)]
    if not adjacent:
        want = [*shape, *(x.shape[i] for i in rest)]
    values = c.expand(values, want)
    n = len(shape)
    order = [*range(first_dim, first_dim + n), *range(first_dim), *range(first_dim + n, len(want))]
    values = c.permute(values, order)
    count = math.prod(shape)
    rows = c.reshape(values, [count, *front.shape[1:]])
    index = _along(c, c.reshape(flat, [count]), 0, rows.shape)
    written = _scatter(c, front, 0, index, rows, reduce)
    opened = c.reshape(written, [*(x.shape[dim] for dim in dims), *(x.shape[i] for i in rest)])
    order = [*dims, *rest]
    return c.permute(opened, [order.index(i) for i in range(x.rank)])


def _triangle(name: str) -> None:
    @rule(f"aten.{name}.default")
    def lower(c: Emitter, x: Tensor, diagonal: int = 0) -> Tensor:
        keep = getattr(torch.ones(x.shape[-2:], dtype=torch.bool), name)(diagonal)
        mask = c.reshape(c.constant(keep), [*[1] * (x.rank - 2), *x.shape[-2:]])
        return c.where(mask, x, c.full((1,) * x.rank, 0, x.dtype))


_triangle("tril")
_triangle("triu")


@rule("aten.as_strided.default")
def as_strided(c: Emitter, x: Tensor, size: Sequence[int], stride: Sequence[int], offset: int | None = None) -> Tensor:
    """A look-up of known positions in the flat tensor (of a contiguous one: others have no such meaning in the graph)."""
    positions = _strided_places(size, stride, offset)
    total = math.prod(x.shape)
    if positions.numel() == total and bool((positions.flatten() == torch.arange(total)).all()):
        return c.reshape(x, size)
    flat = c.reshape(x, [total, 1])
    return c.reshape(take_rows(c, flat, c.constant(positions.flatten())), size)


def _strided_places(size: Sequence[int], stride: Sequence[int], offset: int | None) -> torch.Tensor:
    """The place of each element in the flat tensor."""
    places = torch.full(tuple(size), offset or 0, dtype=torch.int64)
    for dim, (count, step) in enumerate(zip(size, stride, strict=True)):
        places = places + (torch.arange(count) * step).reshape([count if i == dim else 1 for i in range(len(size))])
    return places


@rule("aten.diagonal.default")
def diagonal(c: Emitter, x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    dims = [dim1 % x.rank, dim2 % x.rank]
    rest = [i for i in range(x.rank) if i not in dims]
    rows, columns = x.shape[dims[0]], x.shape[dims[1]]
    count = c.out_shape[-1]
    i = torch.arange(count) + max(0, -offset)
    j = torch.arange(count) + max(0, offset)
    front = c.reshape(c.permute(x, [*dims, *rest]), [rows * columns, *(x.shape[k] for k in rest)])
    picked = take_rows(c, front, c.constant(i * columns + j))
    return c.permute(picked, [*range(1, picked.rank), 0])


@recipe("aten.im2col.default")
def im2col(x: torch.Tensor, kernel: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]) -> torch.Tensor:
    windows, (n, channels, *sizes) = Windows(kernel, stride, padding, dilation), x.shape
    out = [(size + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i, size in enumerate(sizes)]
    return torch.stack(windows.taps(x, 0.0, out), 2).reshape(n, channels * math.prod(kernel), math.prod(out))


@rule("aten.bucketize.Tensor", "aten.searchsorted.Tensor")
def bucketize(
    c: Emitter, a: Tensor, b: Tensor, *, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Tensor | None = None
) -> Tensor:
    """Number of boundaries below each value. Boundaries of several dims go with the values' rows."""
    values, bounds_ = (b, a) if "searchsorted" in str(c.node.target) else (a, b)
    if sorter is not None:
        bounds_ = _gather(c, bounds_, bounds_.rank - 1, sorter)
    rows = list(bounds_.shape[:-1]) if bounds_.rank > 1 else [1] * max(values.rank - 1, 0)
    common = torch.result_type(*(torch.empty([1] * operand.rank, dtype=operand.dtype) for operand in (bounds_, values)))
    values = c.cast(values, common)
    line = c.reshape(c.cast(bounds_, common), [*rows, *[1] * min(values.rank, 1), bounds_.shape[-1]])
    hits = c.binary("le" if right or side == "right" else "lt", line, c.reshape(values, [*values.shape, 1]), torch.bool)
    return c.reduce("sum", c.cast(hits, c.out_dtype), [values.rank], False)


@recipe("aten.histc.default")
def histc(x: torch.Tensor, bins: int = 100, min: float = 0, max: float = 0) -> torch.Tensor:
    if min == max:
        raise NotImplementedError("histc without bounds: they depend on data")
    place = torch.floor((x.reshape(-1, 1) - min) * (bins / (max - min)))
    inside = (x.reshape(-1, 1) >= min) & (x.reshape(-1, 1) <= max)
    hits = (torch.clamp(place, None, bins - 1) == torch.arange(bins, dtype=x.dtype)) & inside
    return hits.to(x.dtype).sum(0)


@recipe("aten.embedding_bag.padding_idx", "aten._embedding_bag_forward_only.default", "aten._embedding_bag.default")
def embedding_bag(
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    scale_grad: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: torch.Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = -1,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Bags of a flat index list as a product with a membership matrix; the three bookkeeping results are not computed."""
    rows = weight[indices]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    starts = offsets[:-1] if include_last_offset else offsets
    count = indices.shape[0]
    place = torch.arange(count)
    begun = (starts.unsqueeze(1) <= place.unsqueeze(0)).to(weight.dtype)
    ends = torch.cat([begun[1:], torch.zeros(1, count, dtype=weight.dtype)])
    member = begun - ends
    if padding_idx is not None and padding_idx >= 0:
        member = member * (indices != padding_idx).to(weight.dtype)
    if mode == 2:
        peak = torch.where(member.unsqueeze(-1) > 0, rows.unsqueeze(0), -math.inf).amax(1)
        return torch.where(member.sum(1, keepdim=True) > 0, peak, 0.0), offsets, offsets, offsets
    out = torch.matmul(member, rows)
    if mode == 1:
        out = out / torch.clamp(member.sum(1, keepdim=True), min=1.0)
    return out, offsets, offsets, offsets


@recipe("aten.masked_scatter.default")
def masked_scatter(x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    mask = mask.expand(x.shape).reshape(-1)
    place = (torch.cumsum(mask.to(torch.int64), 0) - 1).clamp(0, source.numel() - 1)
    return torch.where(mask, source.reshape(-1)[place], x.reshape(-1)).reshape(x.shape)


@recipe("aten._is_all_true.default")
def is_all_true(x: torch.Tensor) -> torch.Tensor:
    return x.all()
