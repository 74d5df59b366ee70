"""Lowers reductions, scans and sorts."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.op_class import has_trait
from alchemist.ops.axes import dims_of
from alchemist.passes.lower import whole_numbers
from alchemist.passes.lower.configs import compute_config, wide_sums_config
from alchemist.passes.lower.context import INTEGERS, ROW_MAJOR, TILE, Lowering, Tensor, layout, rule
from alchemist.passes.lower.eltwise import within_width
from alchemist.passes.signs import magnitude

MOST_ONES = 1 << 18
"""Elements of the matrix that collects the rows of images."""


def _reduced(dims: tuple[int, ...], axes: tuple[int, ...], keep: bool) -> tuple[int, ...]:
    return tuple(1 if d in axes else n for d, n in enumerate(dims) if keep or d not in axes)


@rule("sum", "mean", "max", "min")
def reduction(c: Lowering, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    dims, dtype = shape(source), c.dtype(result)
    axes = dims_of(access.attrs(op), len(dims))
    name = op.name.removeprefix("ttir.")
    image = c.is_image(source)
    if image is not None and set(axes) == {image[1], image[2]}:
        _image_reduction(c, op, name, image)
        return
    if name == "mean" and dtype == "f32" and (whole := _integers_of(source)) is not None:
        c.set(result, c.reshape(_mean_of_integers(c, source, whole, axes), shape(result)))
        return
    if name == "mean" and dtype == "f32" and _is_taken_off(op):
        c.set(result, c.reshape(_centre(c, c.get(source, TILE, dtype), axes), shape(result)))
        return
    reduced = reduce_to(c, name, c.get(source, TILE, dtype), axes, shape(result), bool(access.attr(op, "keep_dim")))
    c.set(result, within_width(c, reduced, access.element_type(result)))


def _integers_of(value: SSAValue) -> SSAValue | None:
    """The integers that floats are a cast of."""
    cast = value.owner
    if not isinstance(cast, Operation) or cast.name != "ttir.typecast":
        return None
    element = access.element_type(cast.operands[0])
    return cast.operands[0] if element.startswith(("i", "si", "ui")) and element not in ("i1", "ui1") else None


def _mean_of_integers(c: Lowering, floats: SSAValue, integers: SSAValue, axes: tuple[int, ...]) -> SSAValue:
    """The mean with kept dims, whole where the exact one is: ttnn.mean multiplies by 1 / count, which is rounded.

    A sum of int32 is exact modulo 2^32. Where it may not fit, the sum of floats, of which the matrix engine reads 11 bits, tells how often it wrapped.
    """
    kept_dims = _reduced(shape(floats), axes, True)
    count = math.prod(shape(floats)[axis] for axis in axes)
    total = Tensor(c, reduce_to(c, "sum", c.get(integers, TILE, "si32"), axes, kept_dims, True)).cast("f32")
    if magnitude(integers) * count >= 1 << 31:
        about = reduce_to(c, "sum", c.get(floats, TILE, "f32"), axes, kept_dims, True)
        wrapped = c.emit("subtract", [about, total.ssa], note="a sum of int32 wraps: the sum of floats, which has 11 bits of each, tells how often")
        total = total + (Tensor(c, wrapped) * 2.0**-32 + 0.5).op("floor") * 2.0**32
    return c.emit("divide", [total.ssa, c.scalar(float(count), "f32")], note="ttnn.mean multiplies by 1 / count, which rounds whole means")


def _is_taken_off(op: Operation) -> bool:
    """Whether the mean is subtracted from the values that it is computed from."""
    todo = [op.results[0]]
    while todo:
        for use in todo.pop().uses:
            if use.operation.name == "ttir.subtract" and use.index == 1 and use.operation.operands[0] is op.operands[0]:
                return True
            if has_trait(use.operation, "move"):
                todo.append(use.operation.results[0])
    return False


def _centre(c: Lowering, x: SSAValue, axes: tuple[int, ...]) -> SSAValue:
    """The mean of float32 values, kept dims, in two passes: the matrix engine reads 11 bits of each value, which a mean that is large beside the
    spread leaves none of. The mean of what is left after the first pass has those bits."""
    kept_dims = _reduced(shape(x), axes, True)
    first = reduce_to(c, "mean", x, axes, kept_dims, True)
    left = c.emit("subtract", [x, first], note="ttnn.mean rounds its input to 11 bits of mantissa: the mean of what is left corrects it")
    return c.emit("add", [first, reduce_to(c, "mean", left, axes, kept_dims, True)])


def reduce_to(c: Lowering, name: str, value: SSAValue, axes: tuple[int, ...], out: tuple[int, ...], keep: bool) -> SSAValue:
    """A reduction over `axes`; over dims of size 1 it is a reshape."""
    dims = shape(value)
    real = tuple(axis for axis in axes if dims[axis] != 1)
    if not real:
        return c.reshape(value, out)
    attributes = {"dim_arg": list(axes), "keep_dim": keep, "compute_config": compute_config(c.options)}
    reduced = c.emit(name, [value], attributes)
    return c.reshape(reduced, out)


def _image_reduction(c: Lowering, op: Operation, name: str, order: tuple[int, ...]) -> None:
    """Over height and width of a flat image: one reduction over rows."""
    source, result = op.operands[0], op.results[0]
    dims = shape(source)
    n, h, w, ch = (dims[i] for i in order)
    flat = c.flat(source, order, TILE, c.dtype(result))
    means = image_reduction(c, name, flat, n, h * w, ch)
    if len(shape(result)) == len(dims):
        c.set(result, c.reshape(means, (1, 1, n, ch)), order)
        return
    kept_dims = [shape(result)[0], shape(result)[1]]
    value = c.reshape(means, (n, ch))
    c.set(result, value if kept_dims == [n, ch] else c.permute(value, (1, 0)))


def image_reduction(c: Lowering, name: str, flat: SSAValue, images: int, pixels: int, channels: int) -> SSAValue:
    """A reduction over the rows of each image, [1, 1, N*H*W, C] -> [N, 1, 1, C] or, for some means, [1, 1, N, C]."""
    if name == "mean":
        return image_means(c, flat, images, pixels, channels)
    return reduce_to(c, name, c.reshape(flat, (images, 1, pixels, channels)), (2,), (images, 1, 1, channels), True)


def image_means(c: Lowering, flat: SSAValue, images: int, pixels: int, channels: int) -> SSAValue:
    """Means over the rows of each image, [1, 1, N*H*W, C] -> [N, 1, 1, C] or, collected by a product with ones, [1, 1, N, C]."""
    dtype = layout(flat).dtype

    def of_rows() -> SSAValue:
        return reduce_to(c, "mean", c.reshape(flat, (images, 1, pixels, channels)), (2,), (images, 1, 1, channels), True)

    def by_ones() -> SSAValue:
        ones = np.kron(np.eye(images, dtype=np.float32), np.ones((1, pixels), np.float32))[None, None]
        product = {"transpose_a": False, "transpose_b": False, "compute_config": wide_sums_config(c.options)}
        operands, note = [c.matrix(ones, dtype, "rows_of_images"), flat], "sums over the rows of each image: they share tiles"
        total = c.emit("matmul", operands, product, note=note)
        return c.emit("multiply", [total, c.scalar(1.0 / pixels, dtype)])

    share_tiles = images > 1 and pixels % TILE_EDGE != 0 and images * images * pixels <= MOST_ONES
    return c.fastest(flat, of_rows, *([by_ones] if dtype == "bf16" and c.options.optimization_level and share_tiles else []))


@rule("reduce_and", "reduce_or")
def logical_reduction(c: Lowering, op: Operation) -> None:
    """Truth values are 0 and 1: all = min, any = max."""
    source, result = op.operands[0], op.results[0]
    value = c.get(source)
    if layout(value).dtype in INTEGERS:
        value = c.convert(value, TILE, "f32")
    if access.element_type(source) != "i1":
        value = c.emit("ne", [value, c.scalar(0.0, layout(value).dtype)])
    axes = dims_of(access.attrs(op), len(shape(source)))
    name = "min" if op.name == "ttir.reduce_and" else "max"
    c.set(result, reduce_to(c, name, value, axes, shape(result), bool(access.attr(op, "keep_dim"))))


@rule("prod")
def prod(c: Lowering, op: Operation) -> None:
    """One dim per call, or all dims at once (bfloat16)."""
    source, result = op.operands[0], op.results[0]
    dims, dtype = shape(source), c.dtype(result)
    axes = dims_of(access.attrs(op), len(dims))
    value = c.get(source, TILE, dtype)
    if dtype in INTEGERS:
        result_value = c.reshape(whole_numbers.product(c, value, axes), shape(result))
        c.set(result, within_width(c, result_value, access.element_type(result)))
        return
    for axis in axes:
        value = c.emit("prod", [value], {"dim_arg": axis, "keep_dim": True})
    c.set(result, c.convert(c.reshape(value, shape(result)), TILE, dtype))


@rule("cumsum", "cumprod")
def cumulative(c: Lowering, op: Operation) -> None:
    result = op.results[0]
    value = c.get(op.operands[0], TILE, c.dtype(result))
    sums = c.emit(op.name.removeprefix("ttir."), [value], {"dim": access.attr(op, "dim")})
    c.set(result, within_width(c, sums, access.element_type(result)))


@rule("argmax")
def argmax(c: Lowering, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    dims = access.attr(op, "dim_arg")
    keep = bool(access.attr(op, "keep_dim"))
    rank = len(shape(source))
    if dims is not None and len(dims) != 1 and len(set(d % rank for d in dims)) != rank:  # flattened to one row
        reduced = sorted({d % rank for d in dims})
        others = [d for d in range(rank) if d not in reduced]
        rows = c.permute(c.get(source), (*others, *reduced))
        rows = c.reshape(rows, (*(shape(source)[d] for d in others), int(np.prod([shape(source)[d] for d in reduced]))))
        c.set(result, _argmax_of_rows(c, rows, len(others), shape(result)))
        return
    dim = dims[0] % rank if dims is not None and len(dims) == 1 else None
    out = _reduced(shape(source), tuple(range(rank)) if dim is None else (dim,), keep)
    if c.actual(source) in INTEGERS and not whole_numbers.is_small(source):
        c.set(result, _argmax_of_rows(c, c.get(source), dim, shape(result)))
        return
    value = c.get(source, TILE if dim is not None else ROW_MAJOR, "f32" if c.actual(source) in INTEGERS else None)
    indices = c.emit("argmax", [value], {"dim": dim, "keep_dim": keep}, out, "u32", ROW_MAJOR)
    c.set(result, c.reshape(indices, shape(result)))


def _argmax_of_rows(c: Lowering, value: SSAValue, dim: int | None, out: tuple[int, ...]) -> SSAValue:
    """Of integers, which the library compares along rows in row-major layout alone."""
    dims = shape(value)
    rows = c.reshape(value, (int(np.prod(dims)),)) if dim is None else c.permute(value, (*(d for d in range(len(dims)) if d != dim), dim))
    rows = c.convert(rows, ROW_MAJOR)
    return c.reshape(c.emit("argmax", [rows], {"dim": len(shape(rows)) - 1, "keep_dim": False}, of="u32"), out)


def _index_dtype(dtype: str) -> str:
    """What the device writes beside sorted values."""
    return "u16" if dtype == "bf16" else "u32"


def _sorted(c: Lowering, op: Operation, name: str, attributes: dict[str, object]) -> None:
    values, indices = op.results
    dtype = c.dtype(values)
    if dtype in INTEGERS and not whole_numbers.is_small(op.operands[0]):
        _sorted_whole(c, op)
        return
    work = "f32" if dtype in INTEGERS else dtype
    source = c.get(op.operands[0], TILE, work)
    pair = c.emit_many(name, [source], attributes, [(shape(values), work), (shape(indices), _index_dtype(work))])
    c.set(values, c.convert(pair[0], TILE, dtype))
    wide = c.convert(pair[1], TILE, "u32" if any(True for _ in indices.uses) else None)
    c.set(indices, c.convert(wide, TILE, "si32") if any(True for _ in indices.uses) else wide)


def _sorted_whole(c: Lowering, op: Operation) -> None:
    """`sort` and `topk` of numbers that float32 may not represent: sorts all values, of which `topk` takes the first."""
    values, indices = op.results
    dim = access.attr(op, "dim") % len(shape(values))
    descending = bool(access.attr(op, "descending") if op.name == "ttir.sort" else access.attr(op, "largest"))
    pair = whole_numbers.sorted_pair(c, c.get(op.operands[0], TILE, c.dtype(values)), dim, descending)
    for result, value in zip((values, indices), pair, strict=True):
        if shape(value) != shape(result):
            attributes = {"begins": [0] * len(shape(result)), "ends": list(shape(result)), "step": [1] * len(shape(result))}
            value = c.emit("slice_static", [value], attributes)
        c.set(result, c.convert(value, TILE, c.dtype(result)))


@rule("sort")
def sort(c: Lowering, op: Operation) -> None:
    _sorted(c, op, "sort", {key: access.attr(op, key) for key in ("dim", "descending", "stable")})


@rule("topk")
def topk(c: Lowering, op: Operation) -> None:
    attributes = {key: access.attr(op, key) for key in ("k", "dim", "largest")} | {"sorted": True}
    _sorted(c, op, "topk", attributes)


_USERS = 32


@rule("sampling")
def sampling(c: Lowering, op: Operation) -> None:
    """One of a row's candidates for each of 32 users: values and indices [32, W] or [1, 1, 32, W], k, p and temp one number per user."""
    values, indices, k, p, temp = op.operands
    dims, result = shape(values), op.results[0]
    if len(dims) not in (2, 4) or dims[:-1] not in ((_USERS,), (1, 1, _USERS)):
        raise c.error("ttnn.sampling works for 32 users", expected="[32, W] or [1, 1, 32, W]", got=str(list(dims)))
    square = (1, 1, _USERS, dims[-1])
    operands = [
        c.reshape(c.get(values, TILE, "bf16"), square),
        c.reshape(c.get(indices, ROW_MAJOR, c.dtype(indices)), square),
        *(c.reshape(c.get(value, ROW_MAJOR, of), (_USERS,)) for value, of in ((k, "u32"), (p, "bf16"), (temp, "bf16"))),
    ]
    seed = access.attr(op, "seed")
    attributes = {} if seed is None else {"seed": seed}
    samples = c.emit("sampling", operands, attributes, (1, 1, 1, _USERS), "u32", ROW_MAJOR)
    c.set(result, c.reshape(samples, shape(result)))
