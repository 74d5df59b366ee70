"""Ops of training and quantisation in terms of simpler TTIR ops: what they mean is said once, here, and holds for references and lowering.

`expand(module)` rewrites them in place; an op that cannot be written so (dropout, more outputs than are described) stays as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import attrs, element_type, operand, shape
from alchemist.ir.attributes import OpaqueType, tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import place_of, set_place
from alchemist.ir.printer import attribute_text
from alchemist.ir.rules.windows import sizes_of

Expansion = Callable[["Steps", Operation, dict[str, Any]], Sequence[SSAValue] | None]
EXPANSIONS: dict[str, Expansion] = {}
_QUANTISED = re.compile(r"<[su]?i\d+:\w+(?::(\d+))?, *(\{[^}]*\}|[^{}>]+)>")


def expand(module: ModuleOp) -> int:
    """Rewrites every op that has an expansion, in all functions; returns how many."""
    count = 0
    for function in [op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks]:
        for op in list(function.body.block.ops):
            expansion = EXPANSIONS.get(op.name)
            results = expansion(Steps.before(op), op, attrs(op)) if expansion is not None else None
            if results is None:
                continue
            for old, new in zip(op.results, results, strict=True):
                old.replace_all_uses_with(new)
            op.detach()  # type: ignore[no-untyped-call]
            op.erase()
            count += 1
    return count


def _expansion(*names: str) -> Callable[[Expansion], Expansion]:
    def add(function: Expansion) -> Expansion:
        EXPANSIONS.update((f"ttir.{name}", function) for name in names)
        return function

    return add


class Steps:
    """Makes TTIR ops where a builder stands."""

    def __init__(self, builder: Builder, place: str = "") -> None:
        self._b = builder
        self._place = place

    @staticmethod
    def before(op: Operation) -> Steps:
        """In front of `op`, with its sources."""
        builder = Builder.in_place_of(op)
        return Steps(builder, place_of(op))

    def op(self, name: str, operands: Sequence[SSAValue | None], dims: Sequence[int], of: str, **attributes: Any) -> SSAValue:
        return self.typed(name, operands, tensor(tuple(dims), of), **attributes)

    def typed(self, name: str, operands: Sequence[SSAValue | None], *types: Attribute, **attributes: Any) -> SSAValue:
        made = self._b.make(f"ttir.{name}", list(operands), attributes, list(types))
        if self._place:
            set_place(made, self._place)
        return made.results[0]

    def binary(self, name: str, a: SSAValue, b: SSAValue | float) -> SSAValue:
        """Elementwise, broadcast; a number is a constant of a's type."""
        if not isinstance(b, SSAValue):
            b = self.number(b, a)
        dims = np.broadcast_shapes(shape(a), shape(b))
        return self.op(name, [a, b], dims, element_type(a))

    def unary(self, name: str, value: SSAValue) -> SSAValue:
        return self.typed(name, [value], value.type)

    def number(self, value: float, like: SSAValue) -> SSAValue:
        dims = (1,) * max(len(shape(like)), 1)
        return self.op("full", [], dims, element_type(like), shape=dims, fill_value=float(value))

    def reshape(self, value: SSAValue, dims: Sequence[int]) -> SSAValue:
        return value if shape(value) == tuple(dims) else self.op("reshape", [value], dims, element_type(value), shape=tuple(dims))

    def permute(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        dims = [shape(value)[axis] for axis in order]
        return self.op("permute", [value], dims, element_type(value), permutation=tuple(order))

    def cast(self, value: SSAValue, of: str) -> SSAValue:
        return value if element_type(value) == of else self.op("typecast", [value], shape(value), of)

    def reduce(self, name: str, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """Kept dimensions."""
        dims = [1 if axis in axes else size for axis, size in enumerate(shape(value))]
        return self.op(name, [value], dims, element_type(value), keep_dim=True, dim_arg=tuple(axes))

    def matmul(self, a: SSAValue, b: SSAValue, *, transpose_a: bool = False, transpose_b: bool = False) -> SSAValue:
        rows, columns = shape(a)[-1 if transpose_a else -2], shape(b)[-2 if transpose_b else -1]
        dims = (*np.broadcast_shapes(shape(a)[:-2], shape(b)[:-2]), rows, columns)
        return self.op("matmul", [a, b], dims, element_type(a), transpose_a=transpose_a, transpose_b=transpose_b)


# --- training ----------------------------------------------------------------------------------------------------------------


@_expansion("gelu_bw")
def _gelu_bw(s: Steps, op: Operation, a: dict[str, Any]) -> Sequence[SSAValue]:
    """grad * (cdf(x) + x * pdf(x)), or the derivative of the tanh form."""
    grad, x = op.operands
    if a.get("approximate") == "tanh":
        square = s.binary("multiply", x, x)
        scale = math.sqrt(2 / math.pi)
        inner = s.binary("multiply", s.binary("multiply", x, s.binary("add", s.binary("multiply", square, 0.044715), 1.0)), scale)
        tanh = s.unary("tanh", inner)
        slope = s.binary("multiply", s.binary("add", s.binary("multiply", square, 3 * 0.044715), 1.0), scale)
        rise = s.binary("multiply", s.binary("multiply", s.binary("subtract", s.number(1.0, x), s.binary("multiply", tanh, tanh)), slope), x)
        derivative = s.binary("multiply", s.binary("add", s.binary("add", tanh, 1.0), rise), 0.5)
    else:
        cdf = s.binary("multiply", s.binary("add", s.unary("erf", s.binary("multiply", x, math.sqrt(0.5))), 1.0), 0.5)
        pdf = s.binary("multiply", s.unary("exp", s.binary("multiply", s.binary("multiply", x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
        derivative = s.binary("add", cdf, s.binary("multiply", x, pdf))
    return [s.binary("multiply", grad, derivative)]


@_expansion("embedding_backward")
def _embedding_backward(s: Steps, op: Operation, a: dict[str, Any]) -> Sequence[SSAValue]:
    """Rows of the gradient summed where their id is: the ids as one-hot rows, times the gradient."""
    ids, weight, grad = op.operands
    count, (rows, width) = math.prod(shape(ids)), shape(weight)[-2:]
    of = element_type(grad)
    numbers = s.op("arange", [], (1, rows), "i32", start=0, end=rows, step=1, arange_dimension=1)
    column = s.reshape(s.cast(ids, "i32"), (count, 1))
    where = s.cast(s.op("eq", [column, numbers], (count, rows), "i1"), of)
    made = s.matmul(where, s.reshape(grad, (count, width)), transpose_a=True)
    return [s.reshape(s.cast(made, element_type(op.results[0])), shape(op.results[0]))]


_SCATTER_LIMIT = 1 << 26
"""Most elements of the comparison that stands for a scatter with a maximum."""


@_expansion("scatter")
def _scatter_extreme(s: Steps, op: Operation, a: dict[str, Any]) -> Sequence[SSAValue] | None:
    """A scatter that keeps the largest or smallest value, which the library has none of: every place against every index."""
    kind = a["scatter_reduce_type"]
    x, index, source = op.operands
    dims, places, of = shape(x), shape(index), element_type(x)
    axis = a["dim"] % max(len(dims), 1)
    if kind not in ("max", "min") or not dims or dims[axis] * math.prod(places) > _SCATTER_LIMIT:
        return None
    whole = not of.startswith(("f", "bf"))
    bounds: tuple[float, float] = (np.iinfo(np.int32).min, np.iinfo(np.int32).max) if whole else (-math.inf, math.inf)
    neutral = bounds[kind == "min"]
    if shape(source) != places:  # only the part that the index covers is read
        rank = len(places)
        source = s.op("slice_static", [source], places, of, begins=(0,) * rank, ends=tuple(places), step=(1,) * rank)
    before, behind = places[:axis], places[axis + 1 :]
    wide = (*before, dims[axis], places[axis], *behind)
    column = (*before, 1, places[axis], *behind)
    numbers = s.op("arange", [], [dims[axis] if i == axis else 1 for i in range(len(wide))], "i32", start=0, end=dims[axis], step=1, arange_dimension=axis)
    hits = s.op("eq", [s.reshape(s.cast(index, "i32"), column), numbers], wide, "i1")
    # two tensors of other shapes than the mask's are more than the library broadcasts; integers have to be tensors
    rest = s.op("full", [], wide, of, shape=wide, fill_value=int(neutral)) if whole else s.number(neutral, source)
    values = s.op("where", [hits, s.reshape(source, column), rest], wide, of)
    found = s.reshape(s.reduce(kind, values, [axis + 1]), (*before, dims[axis], *behind))
    if shape(found) != dims:  # the index is smaller than the target along other dimensions
        room = [part for have, want in zip(shape(found), dims, strict=True) for part in (0, want - have)]
        found = s.op("pad", [found], dims, of, padding=tuple(room), value=neutral)
    return [s.op("maximum" if kind == "max" else "minimum", [x, found], dims, of)]


@_expansion("batch_norm_training")
def _batch_norm_training(s: Steps, op: Operation, a: dict[str, Any]) -> Sequence[SSAValue]:
    x, scale, offset = op.operands[:3]
    axis = a["dimension"] % len(shape(x))
    others = [index for index in range(len(shape(x))) if index != axis]
    dims = [size if index == axis else 1 for index, size in enumerate(shape(x))]
    mean = s.reduce("mean", x, others)
    centred = s.binary("subtract", x, mean)
    variance = s.reduce("mean", s.binary("multiply", centred, centred), others)
    normal = s.binary("multiply", centred, s.unary("rsqrt", s.binary("add", variance, a["epsilon"])))
    result = s.binary("add", s.binary("multiply", normal, s.reshape(scale, dims)), s.reshape(offset, dims))
    return [result, *(s.reshape(value, shape(given)) for value, given in zip((mean, variance), op.results[1:], strict=True))]


@_expansion("adamw")
def _adamw(s: Steps, op: Operation, a: dict[str, Any]) -> Sequence[SSAValue] | None:
    if a.get("stochastic_rounding"):
        return None
    param, grad, first, second = op.operands[:4]
    largest = operand(op, "max_exp_avg_sq")
    mean = s.binary("add", s.binary("multiply", first, a["beta1"]), s.binary("multiply", grad, 1 - a["beta1"]))
    square = s.binary("add", s.binary("multiply", second, a["beta2"]), s.binary("multiply", s.binary("multiply", grad, grad), 1 - a["beta2"]))
    bound = s.binary("maximum", largest, square) if largest is not None else None
    root = s.unary("sqrt", s.binary("multiply", square if bound is None else bound, 1 / (1 - a["beta2_pow"])))
    step = s.binary("div", s.binary("multiply", mean, a["lr"] / (1 - a["beta1_pow"])), s.binary("add", root, a["epsilon"]))
    updated = s.binary("subtract", s.binary("multiply", param, 1 - a["lr"] * a["weight_decay"]), step)
    return [updated, mean, square, *([bound] if bound is not None else [])]


@_expansion("sdpa_fw")
def _sdpa_fw(s: Steps, op: Operation, a: dict[str, Any]) -> Sequence[SSAValue] | None:
    if a.get("dropout_probability") or len(op.results) > 1:
        return None
    given = [*(_with_batch(s, value) for value in op.operands[:3]), operand(op, "attention_mask"), None]
    dims, of = shape(op.results[0]), element_type(op.results[0])
    made = s.op("scaled_dot_product_attention", given, (*(1,) * (4 - len(dims)), *dims), of, is_causal=a.get("mask_type") == "causal")
    return [s.reshape(made, dims)]


def _with_batch(s: Steps, value: SSAValue) -> SSAValue:
    """[heads, rows, columns] -> [1, heads, rows, columns]."""
    return s.reshape(value, (*(1,) * (4 - len(shape(value))), *shape(value)))


@_expansion("sdpa_bw")
def _sdpa_bw(s: Steps, op: Operation, a: dict[str, Any]) -> Sequence[SSAValue] | None:
    """The gradients of softmax(Q K' / sqrt(D) + mask) V, the probabilities computed anew."""
    if not all(3 <= len(shape(value)) <= 4 for value in op.operands[:5]):
        return None
    grad, query, key, value = (_with_batch(s, op.operands[index]) for index in (0, 2, 3, 4))
    if a.get("dropout_probability") or shape(query)[1] != shape(key)[1]:
        return None
    scale, of, rows = 1 / math.sqrt(shape(query)[-1]), element_type(query), shape(query)[2]
    scores = s.binary("multiply", s.matmul(query, key, transpose_b=True), scale)
    mask = operand(op, "attention_mask")
    if a.get("mask_type") == "causal":
        values = np.triu(np.full((rows, shape(key)[2]), -1e9, np.float32), 1).reshape(1, 1, rows, -1)
        mask = s.cast(s.op("constant", [], values.shape, "f32", value=values), of)
    if mask is not None:
        scores = s.binary("add", scores, mask)
    chances = s.typed("softmax", [scores], scores.type, dimension=3)
    grad_value = s.matmul(chances, grad, transpose_a=True)
    rise = s.matmul(grad, value, transpose_b=True)
    centred = s.binary("subtract", rise, s.reduce("sum", s.binary("multiply", rise, chances), [3]))
    slope = s.binary("multiply", s.binary("multiply", chances, centred), scale)
    made = (s.matmul(slope, key), s.matmul(slope, query, transpose_a=True), grad_value)
    return [s.reshape(gradient, shape(result)) for gradient, result in zip(made, op.results, strict=True)]


# --- several chips -----------------------------------------------------------------------------------------------------------

COLLECTIVES = frozenset({
    "all_gather", "all_reduce", "all_reduce_async", "all_to_all", "collective_broadcast", "collective_permute", "mesh_partition", "mesh_shard",
    "reduce_scatter",
})  # fmt: skip
SHAPED = frozenset({"all_gather", "mesh_partition", "mesh_shard", "reduce_scatter"})
"""Collectives of several chips change a shape: one that does not has a single chip along its axis, or the same values on all."""


def on_one_chip(op: Operation) -> bool:
    """Whether a collective does nothing: it keeps its type, and its shape or the module's mesh says that there is one chip."""
    if [value.type for value in op.operands[:1]] != [result.type for result in op.results]:
        return False
    return op.name.partition(".")[2] in SHAPED or _chips(op) == 1


def _chips(op: Operation) -> int | None:
    """Chips of the mesh that a module around `op` states, None without one."""
    parent: Operation | None = op
    while parent is not None:
        meshes = parent.attributes.get("ttcore.meshes")
        if meshes is not None:
            return math.prod(int(size) for mesh in re.findall(r"= (\d+(?:x\d+)*)", attribute_text(meshes)) for size in mesh.split("x"))
        parent = parent.parent_op()
    return None


@_expansion(*COLLECTIVES)
def _collective(s: Steps, op: Operation, a: dict[str, Any]) -> Sequence[SSAValue] | None:
    return [op.operands[0]] if on_one_chip(op) else None


# --- experts -----------------------------------------------------------------------------------------------------------------


@_expansion("topk_router_gpt")
def _router(s: Steps, op: Operation, a: dict[str, Any]) -> Sequence[SSAValue]:
    """The k best experts of every token and the softmax of their scores."""
    x, weight, bias = op.operands
    scores = s.binary("add", s.matmul(x, weight), bias)
    dims, of = (*shape(scores)[:-1], a["k"]), element_type(scores)
    top = s.typed("topk", [scores], tensor(dims, of), tensor(dims, "i32"), k=a["k"], dim=-1, largest=True, sorted=True)
    indices = top.owner.results[1]  # type: ignore[union-attr]
    chances = s.typed("softmax", [top], top.type, dimension=len(dims) - 1)
    return [s.cast(indices, element_type(op.results[0])), s.cast(chances, element_type(op.results[1]))]


@_expansion("sparse_matmul")
def _sparse_matmul(s: Steps, op: Operation, a: dict[str, Any]) -> Sequence[SSAValue] | None:
    """Every expert's product, zero where the token is not the expert's."""
    x, weights, sparsity = op.operands
    _, experts, inner, columns = shape(weights)
    groups, blocks, rows = (shape(x)[0], 1, shape(x)[2]) if a.get("is_input_a_sparse") else shape(x)[:3]
    if len(shape(x)) != 4 or math.prod(shape(sparsity)) != groups * blocks * experts:
        return None
    if a.get("is_input_a_sparse"):
        split = s.matmul(x, weights)
    else:
        side = s.reshape(s.permute(weights, (0, 2, 1, 3)), (inner, experts * columns))
        flat = s.matmul(s.reshape(x, (groups * blocks * rows, inner)), side)
        split = s.permute(s.reshape(flat, (groups * blocks, rows, experts, columns)), (0, 2, 1, 3))
    chosen = s.op("ne", [sparsity, s.number(0.0, sparsity)], shape(sparsity), "i1")
    mask = s.reshape(s.cast(chosen, element_type(x)), (groups * blocks, experts, 1, 1))
    return [s.reshape(s.binary("multiply", split, mask), shape(op.results[0]))]


# --- quantisation, images ----------------------------------------------------------------------------------------------------


@_expansion("quantize", "dequantize", "requantize")
def _quantised(s: Steps, op: Operation, a: dict[str, Any]) -> Sequence[SSAValue] | None:
    """The same with scales and zero points as constants."""
    ends = [op.operands[0], op.results[0]]
    known = [_scales(value) for value in ends]
    axis = next((found[0] for found in known if found is not None), None)
    operands: list[SSAValue | None] = [op.operands[0]]
    for found in known:
        if found is not None:
            _, scales, zeros = found
            operands.append(s.op("constant", [], scales.shape, "f32", value=scales))
            operands.append(s.op("constant", [], zeros.shape, "i32", value=zeros))
    more = {} if axis is None else {"axis": axis}
    return [s.typed(f"{op.name.removeprefix('ttir.')}_unrolled", operands, op.results[0].type, **more)]


def _scales(value: SSAValue) -> tuple[int | None, np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """Axis, scales and zero points of a quantised type, None for any other."""
    of = value.type.get_element_type() if isinstance(value.type, TensorType) else None
    match = _QUANTISED.match(str(of.data[1])) if isinstance(of, OpaqueType) else None
    if match is None:
        return None
    pairs = [one.partition(":") for one in match[2].strip("{}").split(",")]
    scales = np.array([float(scale) for scale, _, _ in pairs], np.float32)
    zeros = np.array([int(zero or 0) for _, _, zero in pairs], np.int32)
    return (int(match[1]) if match[1] else None), scales, zeros


@_expansion("conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d")
def _flattened(s: Steps, op: Operation, a: dict[str, Any]) -> Sequence[SSAValue] | None:
    """An op on flattened images [1, 1, N*H*W, C] as the same op on [N, H, W, C]."""
    info = a.get("flattened_compat_info")
    if info is None:
        return None
    numbers = {key: int(number) for key, number in re.findall(r"(\w+) = (\d+)", str(info))}
    batch, height, width = numbers["batch_size"], numbers["input_height"], numbers["input_width"]
    x, *others = op.operands
    image = s.reshape(x, (batch, height, width, shape(x)[-1]))
    given = {name: value for name, value in access.declared(op).items() if name != "flattened_compat_info"}
    sizes = sizes_of(op, (height, width))
    made = s.typed(op.name.removeprefix("ttir."), [image, *others], tensor((batch, *sizes, shape(op.results[0])[-1]), element_type(op.results[0])), **given)
    return [s.reshape(made, shape(op.results[0]))]


__all__ = ["COLLECTIVES", "EXPANSIONS", "Steps", "expand", "on_one_chip"]
