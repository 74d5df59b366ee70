"""Lowers views, data movement and caches."""

from __future__ import annotations

import math

from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.layout import tile_padded
from alchemist.ir.op_class import short_names
from alchemist.ops import POINTWISE
from alchemist.ops.constants import constant_of, uniform
from alchemist.ops.spec import NOTE
from alchemist.optimizer.movement import price_of
from alchemist.passes.lower.context import INTEGERS, ROW_MAJOR, TILE, Lowering, Tensor, layout, rule, user_per_core
from alchemist.passes.lower.eltwise import broadcast_to, within_width

Shape = tuple[int, ...]


def natural_page(c: Lowering, value: SSAValue) -> str:
    """The current page layout of a value (for an argument without use yet, the one that its readers need)."""
    entry = c._entries.get(value)
    if entry is not None:
        return layout(entry.value).page
    return wanted_page(value)


_VIEWS = named("ttir", "view") | {"ttir.concat"}


def wanted_page(value: SSAValue) -> str:
    """Row-major if every use leads, through views, to an op that reads row-major pages."""
    work, seen = [value], 0
    while work and seen < 16:
        seen += 1
        for use in work.pop().uses:
            op = use.operation
            if has_trait(op, "view") or op.name == "ttir.concat":
                work.append(op.results[0])
            elif not has_trait(op, "reads_rows") and not (has_trait(op, "reads_positions") and use.index >= 2):
                return TILE
    return ROW_MAJOR


def index_dtype(value: SSAValue) -> str | None:
    """ "u32" when every use of an integer value leads, through views, to an index operand."""
    work, seen = [value], 0
    while work and seen < 16:
        seen += 1
        for use in work.pop().uses:
            op = use.operation
            if op.name in _VIEWS or (op.name == "ttir.typecast" and access.element_type(op.results[0]) in ("i32", "i64", "ui32")):
                work.append(op.results[0])
            elif not (op.name == "ttir.embedding" and use.index == 0) and not (op.name == "ttir.gather" and use.index == 1):
                return None
    return "u32"


def fetch(c: Lowering, value: SSAValue) -> SSAValue:
    """A view's operand in its current layout; an undecided argument gets the layout that its readers need."""
    dtype = None
    if c.dtype(value) in INTEGERS and c._entries.get(value) is None:
        dtype = index_dtype(value)
    return c.get(value, natural_page(c, value), dtype)


# --- reshape and permute, which are free between flat images --------------------------------------------------------------


_PIXELS_FIRST = ((0, 2, 3, 1), (0, 1, 2, 3))
_IMAGE_OPS = POINTWISE | named("ttir", "on_images")
"""Ops that work on flat images."""


def _as_image(c: Lowering, op: Operation) -> bool:
    """Tokens that are seen as planes [N, C, H, W], rows as pixels [N, H, W, C] are a flat image, where something reads them that works on those.

    Only in functions with windows: what four dims are otherwise, such as heads, is no image.
    """
    result = op.results[0]
    dims = shape(result)
    if len(dims) != 4 or not c.has_windows or not _reads_image(result):
        return False
    for order in _PIXELS_FIRST:
        pixels, channels = dims[order[1]] * dims[order[2]], dims[order[3]]
        root = c.pixels_of(result, order) if min(pixels, channels) > 1 else None
        if root is not None and (order == _PIXELS_FIRST[0] or (math.prod(shape(root)[:-2]), shape(root)[-1]) == (1, channels)):
            c.set(result, c.flat(result, order, natural_page(c, root)), order)
            return True
    return False


def _reads_image(value: SSAValue) -> bool:
    """Whether an op that works on flat images reads the value, also with its dims in another order."""
    readers = [use.operation for use in value.uses]
    return any(op.name in _IMAGE_OPS or (op.name == "ttir.permute" and _reads_image(op.results[0])) for op in readers)


@rule("reshape", "squeeze", "unsqueeze")
def reshape(c: Lowering, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    dims, order = shape(result), c.is_image(source)
    if order is None and _as_image(c, op):
        return
    if order is not None:
        flattened = _flattened(c, source, order, dims)
        if flattened is not None:
            c.set(result, flattened)
            return
    to_rows = wanted_page(result) == ROW_MAJOR or (c._entries.get(source) is None and _wasteful(shape(source)))
    c.set(result, c.reshape(c.get(source, ROW_MAJOR) if to_rows and not _is_index(c, source) else fetch(c, source), dims))


def _is_index(c: Lowering, value: SSAValue) -> bool:
    """An integer argument whose dtype its first use decides."""
    return c._entries.get(value) is None and c.dtype(value) in INTEGERS


def _wasteful(dims: Shape) -> bool:
    """Whether tiles of a tensor would hold at least four times its elements."""
    return len(dims) > 2 and math.prod(dims) >= 4096 and math.prod(tile_padded(dims)) >= 4 * math.prod(dims)


def _flattened(c: Lowering, source: SSAValue, order: Shape, dims: Shape) -> SSAValue | None:
    """A reshape of a flat image that only joins dims in memory order: one reshape of the flat value."""
    if order == tuple(range(len(order))) or sum(n != 1 for n in shape(source)[1:]) <= 1:
        return c.reshape(c.flat(source, order), dims)
    ordered = [shape(source)[i] for i in order]
    n, h, w, ch = ordered
    if h * w == 1 and dims[:1] == (n,) and ch == math.prod(dims[1:]):
        return c.reshape(c.flat(source, order), dims)
    # [N, C, H, W] -> [N, C, H*W]: keep channels last, then one transpose
    if order == (0, 2, 3, 1) and dims == (n, ch, h * w):
        rows = c.reshape(c.flat(source, order, TILE), (n, h * w, ch))
        return c.permute(rows, (0, 2, 1))
    return None


@rule("permute", "transpose")
def permute(c: Lowering, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    order = tuple(access.order_of(op))
    image = c.is_image(source)
    if image is not None:
        inverse = tuple(order.index(i) for i in range(len(order)))
        c.set(result, c.flat(source, image), tuple(inverse[i] for i in image))
        return
    if not _as_image(c, op):
        c.set(result, c.permute(fetch(c, source), order, note=str(access.attr(op, NOTE, ""))))


@rule("rearrange")
def rearrange(c: Lowering, op: Operation) -> None:
    left, right = (side.split() for side in access.attr(op, "pattern").replace("(", "").replace(")", "").split("->"))
    value = c.permute(fetch(c, op.operands[0]), [left.index(name) for name in right])
    c.set(op.results[0], c.reshape(value, shape(op.results[0])))


# --- copies -----------------------------------------------------------------------------------------------------------------


"""Ops that read positions as row-major integers."""


@rule("broadcast")
def broadcast(c: Lowering, op: Operation) -> None:
    """Elementwise ops broadcast implicitly: the copy is created only for other readers."""
    result = op.results[0]
    if shape(op.operands[0]) == (1,) and all(has_trait(use.operation, "by_position") for use in result.uses):
        value = c.get(op.operands[0], ROW_MAJOR, "si32")
        c.set(result, c.emit("repeat", [value], {"repeat_dims": shape(result)}))
        return
    c.set(result, broadcast_to(c, c.get(op.operands[0]), shape(result)))


@rule("repeat")
def repeat(c: Lowering, op: Operation) -> None:
    value = c.get(op.operands[0])
    counts = tuple(access.attr(op, "repeat_dimensions"))
    c.set(op.results[0], c.emit("repeat", [value], {"repeat_dims": counts}))


@rule("repeat_interleave")
def repeat_interleave(c: Lowering, op: Operation) -> None:
    value = c.get(op.operands[0])
    attributes = {"repeats": access.attr(op, "repeats"), "dim": access.attr(op, "dim")}
    c.set(op.results[0], c.emit("repeat_interleave", [value], attributes))


@rule("concat")
def concat(c: Lowering, op: Operation) -> None:
    result = op.results[0]
    dim = access.attr(op, "dim")
    orders = {c.is_image(value) for value in op.operands}
    order = orders.pop() if len(orders) == 1 else None
    if order is not None and dim % len(order) == order[3]:  # channels of flat images
        values = [c.flat(value, order, TILE) for value in op.operands]
        c.set(result, c.emit("concat", [values], {"dim": 3}), order)
        return
    pages = {natural_page(c, value) for value in op.operands}
    page = ROW_MAJOR if pages == {ROW_MAJOR} or len(shape(result)) == 1 else TILE
    dtype = c.dtype(result) if access.element_type(result) != "i1" else c.actual(op.operands[0])
    values = [c.get(value, page, dtype) for value in op.operands]
    c.set(result, c.emit("concat", [values], {"dim": dim}))


@rule("slice_static")
def slice_static(c: Lowering, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    dims = shape(source)
    begins, ends, steps = (list(access.attr(op, name)) for name in ("begins", "ends", "step"))
    begins = [max(0, b + n) if b < 0 else min(b, n) for b, n in zip(begins, dims, strict=True)]
    ends = [max(0, e + n) if e < 0 else min(e, n) for e, n in zip(ends, dims, strict=True)]
    value = fetch(c, source)
    if dims == shape(result):
        c.set(result, value)
        return
    dim = _step_of(c, op, value)
    front = value if dim is None else _steps_in_front(c, op, value, dim)
    if dim is not None and front is not value:
        c.set(result, Tensor(c, front).cut(0, begins[dim], begins[dim] + 1).reshape(*shape(result)).ssa)
        return
    c.set(result, c.emit("slice_static", [value], {"begins": begins, "ends": ends, "step": steps}))


def _step_of(c: Lowering, op: Operation, value: SSAValue) -> int | None:
    """The dim, other than the first, of which the op slices one step of a tiled value, from level 1 on; None for any other slice."""
    dims, left = shape(op.operands[0]), shape(op.results[0])
    cut = [dim for dim, (whole, part) in enumerate(zip(dims, left, strict=True)) if whole != part]
    single = len(cut) == 1 and cut[0] > 0 and left[cut[0]] == 1
    return cut[0] if c.options.optimization_level and layout(value).page == TILE and single else None


def _steps_in_front(c: Lowering, op: Operation, value: SSAValue, dim: int) -> SSAValue:
    """The value permuted so that the dim comes first, if the permute and the slices then take less time; else the value itself.

    To slice a step within a tile, the library untilizes the whole tensor each time.
    """
    left = shape(op.results[0])
    reader = next(iter(op.results[0].uses)).operation if op.results[0].has_one_use() else None
    read = shape(reader.results[0]) if reader is not None and reader.name == "ttir.reshape" else left
    count = sum(use.operation.name == op.name and shape(use.operation.results[0]) == left for use in op.operands[0].uses)
    key = (value, f"{count} steps of dim {dim} read as {read}")
    if count > 1 and key not in c._converted:
        whole, middle = Tensor(c, value), shape(value)[dim] // 2
        front = whole.permute(dim, *(axis for axis in range(len(left)) if axis != dim))

        def cut_ns(of: Tensor, dim: int) -> float:
            step = of.cut(dim, middle, middle + 1)
            return sum(price_of(new.ssa.owner, c.options).ns for new in (step, step.reshape(*read)) if isinstance(new.ssa.owner, Operation))

        assert isinstance(front.ssa.owner, Operation)
        moved_ns = price_of(front.ssa.owner, c.options).ns + count * cut_ns(front, 0)
        c._converted[key] = front.ssa if moved_ns < count * cut_ns(whole, dim) < math.inf else value
    return c._converted.get(key, value)


@rule("index", "index_select")
def index(c: Lowering, op: Operation) -> None:
    """A slice along one dim; the pass fold rewrites most of them before."""
    dims = shape(op.operands[0])
    dim = access.attr(op, "dim") % len(dims)
    begin, step = access.attr(op, "begin"), access.attr(op, "step", 1)
    if op.name == "ttir.index":
        starts, length = [begin], access.attr(op, "end") - begin
    else:
        stride, length = access.attr(op, "stride", 0), access.attr(op, "length")
        starts = list(range(begin, dims[dim] - length + 1, stride)) if stride else [begin]
    value = Tensor(c, fetch(c, op.operands[0]))
    parts = [value.cut(dim, start, start + length, step).ssa for start in starts]
    c.set(op.results[0], c.emit("concat", [parts], {"dim": dim}) if len(parts) > 1 else parts[0])


@rule("slice_dynamic")
def slice_dynamic(c: Lowering, op: Operation) -> None:
    begins, ends = (constant_of(value) for value in op.operands[1:3])
    if begins is None or ends is None:
        raise c.error("slice bounds that are computed at run time", hint="make the bounds constants of the model")
    dims = shape(op.operands[0])
    value = fetch(c, op.operands[0])
    attributes = {
        "begins": [int(v) for v in begins.reshape(-1)],
        "ends": [int(v) for v in ends.reshape(-1)],
        "step": list(access.attr(op, "step") or [1] * len(dims)),
    }
    c.set(op.results[0], c.emit("slice_static", [value], attributes))


@rule("reverse")
def reverse(c: Lowering, op: Operation) -> None:
    """Flips by a gather in reverse order; slices of size 1 are concatenated in reverse."""
    source, result = op.operands[0], op.results[0]
    value = c.get(source, TILE)
    dims = shape(source)
    for dim in access.attr(op, "dimensions"):
        parts = [Tensor(c, value).cut(dim, i, i + 1).ssa for i in reversed(range(dims[dim]))]
        if dims[dim] > 64:
            raise c.error("reversing a long dimension", expected="at most 64 elements", got=str(dims[dim]))
        value = c.emit("concat", [parts], {"dim": dim}) if len(parts) > 1 else value
    c.set(result, value)


@rule("pad")
def pad(c: Lowering, op: Operation) -> None:
    """Pads row-major: tiled padding only grows at the end."""
    source, result = op.operands[0], op.results[0]
    padding = list(access.attr(op, "padding"))
    front = any(padding[::2])
    order = c.is_image(source)
    value = c.get(source, ROW_MAJOR if front or order is not None or natural_page(c, source) == ROW_MAJOR else TILE)
    attributes = {"padding": padding, "value": access.attr(op, "value"), "use_multicore": True}
    c.set(result, c.emit("pad", [value], attributes))


_REDUCE_NAMES = {"sum": "add", "prod": "multiply"}


@rule("scatter")
def scatter(c: Lowering, op: Operation) -> None:
    target, index, source = op.operands
    result = op.results[0]
    dtype = c.dtype(result)
    operands = [c.get(target, ROW_MAJOR, dtype), c.get(index, ROW_MAJOR, "si32"), c.get(source, ROW_MAJOR, dtype)]
    kind = str(access.attr(op, "scatter_reduce_type"))
    if kind in short_names("ttir", "extreme"):  # small ones are expanded before
        raise c.error(f"a scatter of this size that keeps the {kind}imum", expected="ttnn.scatter adds or multiplies", got=str(list(shape(target))))
    attributes: dict[str, object] = {"dim": access.attr(op, "dim"), "scatter_reduce_type": kind}
    if kind in _REDUCE_NAMES:
        attributes["alchemist.reduce"] = _REDUCE_NAMES[kind]
    scattered = c.emit("scatter", operands, attributes, shape(result), dtype, ROW_MAJOR)
    adds = kind != "invalid" and access.element_type(result) in ("i8", "si8", "ui8", "i16", "si16", "ui16")
    c.set(result, within_width(c, c.convert(scattered, TILE, None), access.element_type(result)) if adds else scattered)


# --- caches ----------------------------------------------------------------------------------------------------------------


@rule("fill_cache")
def fill_cache(c: Lowering, op: Operation) -> None:
    cache, update = op.operands
    value = c.get(cache, TILE)
    c.b.make("ttnn.fill_cache", [value, c.get(update, TILE, layout(value).dtype)], {"batch_offset": access.attr(op, "batch_offset")}, [])
    for result in op.results:
        c.set(result, value)


@rule("update_cache")
def update_cache(c: Lowering, op: Operation) -> None:
    """A position known here is a number in the call; one known at run time goes to the update that reads it from a tensor."""
    cache, update, index = op.operands
    value = c.get(cache, TILE)
    row = uniform(constant_of(index))
    if row is not None:
        position = c.get(index, TILE, "u32")
        attributes = {"batch_offset": access.attr(op, "batch_offset"), "alchemist.update_index": int(row)}
        c.b.make("ttnn.update_cache", [value, c.get(update, TILE, layout(value).dtype), position], attributes, [])
    else:
        users = shape(cache)[0]
        rows = c.get(update, TILE, layout(value).dtype)
        axis = 0 if shape(update)[0] == users and users > 1 else 2
        if shape(update)[axis] != users or shape(update)[2 - axis] != 1:
            raise c.error("a cache update of several positions", expected=f"one position for {users} users", got=str(list(shape(update))))
        rows = _one_user_per_core(c, c.permute(rows, (2, 0, 1, 3) if axis == 0 else (0, 2, 1, 3)))
        position = c.get(index, ROW_MAJOR, "si32")
        if shape(position) != (users,):
            position = c.emit("repeat", [c.reshape(position, (1,))], {"repeat_dims": (users,)})
        c.b.make("ttnn.paged_update_cache", [value, rows, position, None], {"share_cache": False}, [])
    for result in op.results:
        c.set(result, value)


def _one_user_per_core(c: Lowering, value: SSAValue) -> SSAValue:
    """[1, B, H, D] height-sharded in L1, a user's heads on each of B cores: what the update reads."""
    to = user_per_core(shape(value), layout(value).dtype).type_for(shape(value))
    maker = value.owner
    if isinstance(maker, Operation) and maker.name == "ttnn.to_memory_config" and maker.operands[0].type == to:
        return maker.operands[0]  # it has this layout already: the copy is dead if it has no other reader
    return c.b.value("ttnn.to_memory_config", [value], {}, [to])


@rule("paged_update_cache", "paged_fill_cache")
def paged_cache(c: Lowering, op: Operation) -> None:
    name = op.name.removeprefix("ttir.")
    cache = c.get(op.operands[0], TILE)
    update = c.get(op.operands[1], TILE, layout(cache).dtype)
    if name == "paged_update_cache":
        update = _one_user_per_core(c, update)
    operands = [cache, update]
    for group in ("update_index", "page_table", "batch_idx_tensor"):
        if group in {g.name for g in op.info.operands}:  # type: ignore[attr-defined]
            value = access.operand(op, group)
            operands.append(None if value is None else c.get(value, ROW_MAJOR, "si32"))  # type: ignore[arg-type]
    attributes = {"share_cache": access.attr(op, "share_cache")} if name == "paged_update_cache" else {}
    c.b.make(f"ttnn.{name}", operands, attributes, [])
    for result in op.results:
        c.set(result, cache)
