"""Expands ops of training and quantization to simpler TTIR ops, for both references and lowering.

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
from alchemist.ir.edit import replace
from alchemist.ir.op_class import short_names
from alchemist.ir.printer import attribute_text
from alchemist.ir.value import Value, constant, count, full

Expansion = Callable[[Builder, Operation, dict[str, Any]], Sequence[Value] | None]
EXPANSIONS: dict[str, Expansion] = {}
_QUANTISED = re.compile(r"<[su]?i\d+:\w+(?::(\d+))?, *(\{[^}]*\}|[^{}>]+)>")


def expand(module: ModuleOp) -> int:
    """Rewrites every op that has an expansion, in all functions; returns how many."""
    expanded = 0
    for function in [op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks]:
        for op in list(function.body.block.ops):
            expansion = EXPANSIONS.get(op.name)
            results = expansion(Builder.in_place_of(op), op, attrs(op)) if expansion is not None else None
            if results is None:
                continue
            replace(op, [new.ssa for new in results])
            expanded += 1
    return expanded


def _expansion(*names: str) -> Callable[[Expansion], Expansion]:
    def add(function: Expansion) -> Expansion:
        EXPANSIONS.update((f"ttir.{name}", function) for name in names)
        return function

    return add


def _values(b: Builder, op: Operation) -> list[Value]:
    return [Value(b, value) for value in op.operands]


@_expansion("gelu")
def _gelu(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value] | None:
    """tt-xla writes the form of its composite behind the op, which has no such attribute in the table."""
    if access.attr(op, "approximate") != "tanh":
        return None
    return [_values(b, op)[0].op("gelu", **{"alchemist.variant": "Tanh"})]


# --- training ----------------------------------------------------------------------------------------------------------------


@_expansion("gelu_bw")
def _gelu_bw(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value]:
    """grad * (cdf(x) + x * pdf(x)), or the derivative of the tanh form."""
    grad, x = _values(b, op)
    if a.get("approximate") == "tanh":
        square, scale = x * x, math.sqrt(2 / math.pi)
        tanh = (x * (square * 0.044715 + 1.0) * scale).op("tanh")
        slope = (square * (3 * 0.044715) + 1.0) * scale
        return [grad * ((tanh + 1.0 + (1.0 - tanh * tanh) * slope * x) * 0.5)]
    cdf = ((x * math.sqrt(0.5)).op("erf") + 1.0) * 0.5
    pdf = (x * x * -0.5).op("exp") * (1 / math.sqrt(2 * math.pi))
    return [grad * (cdf + x * pdf)]


@_expansion("embedding_backward")
def _embedding_backward(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value]:
    """Rows of the gradient summed where their id is: the ids as one-hot rows, times the gradient."""
    ids, weight, grad = _values(b, op)
    size, (rows, width) = math.prod(ids.shape), weight.shape[-2:]
    numbers = count(b, rows, 1, 2)
    where = ids.cast("i32").reshape(size, 1).op("eq", numbers).cast(grad.of)
    product = where.matmul(grad.reshape(size, width), transpose_a=True)
    return [product.cast(element_type(op.results[0])).reshape(*shape(op.results[0]))]


_SCATTER_LIMIT = 1 << 26
"""Limit of elements of the comparison that replaces a scatter with a maximum."""


@_expansion("scatter")
def _scatter_extreme(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value] | None:
    """A scatter that keeps the largest or smallest value, which the library has none of: every place against every index."""
    kind = a["scatter_reduce_type"]
    x, index, source = _values(b, op)
    dims, places = x.shape, index.shape
    axis = a["dim"] % max(len(dims), 1)
    if kind not in short_names("ttir", "extreme") or not dims or dims[axis] * math.prod(places) > _SCATTER_LIMIT:
        return None
    whole = not x.of.startswith(("f", "bf"))
    bounds: tuple[float, float] = (np.iinfo(np.int32).min, np.iinfo(np.int32).max) if whole else (-math.inf, math.inf)
    neutral = bounds[kind == "min"]
    source = source.slice((0,) * len(places), places)  # only the part that the index covers is read
    before, behind = places[:axis], places[axis + 1 :]
    wide = (*before, dims[axis], places[axis], *behind)
    column = (*before, 1, places[axis], *behind)
    numbers = count(b, dims[axis], axis, len(wide))
    hits = index.cast("i32").reshape(*column).op("eq", numbers)
    # two tensors of other shapes than the mask's are more than the library broadcasts; integers have to be tensors
    rest = full(b, wide, int(neutral), x.of) if whole else source.number(neutral)
    extreme = hits.op("where", source.reshape(*column), rest).reduce(kind, [axis + 1]).reshape(*before, dims[axis], *behind)
    # the index may be smaller than the target along other dimensions
    extreme = extreme.pad([(0, want - have) for have, want in zip(extreme.shape, dims, strict=True)], neutral)
    return [x.op("maximum" if kind == "max" else "minimum", extreme)]


@_expansion("batch_norm_training")
def _batch_norm_training(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value]:
    x, scale, offset = _values(b, op)[:3]
    axis = a["dimension"] % len(x.shape)
    others = [index for index in range(len(x.shape)) if index != axis]
    dims = [size if index == axis else 1 for index, size in enumerate(x.shape)]
    mean = x.reduce("mean", others)
    centred = x - mean
    variance = (centred * centred).reduce("mean", others)
    normal = centred * (variance + a["epsilon"]).op("rsqrt")
    result = normal * scale.reshape(*dims) + offset.reshape(*dims)
    return [result, *(value.reshape(*shape(declared)) for value, declared in zip((mean, variance), op.results[1:], strict=True))]


@_expansion("adamw")
def _adamw(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value] | None:
    if a.get("stochastic_rounding"):
        return None
    param, grad, first, second, *largest = _values(b, op)
    mean = first * a["beta1"] + grad * (1 - a["beta1"])
    square = second * a["beta2"] + grad * grad * (1 - a["beta2"])
    bound = [maximum.op("maximum", square) for maximum in largest]
    root = ((bound[0] if bound else square) * (1 / (1 - a["beta2_pow"]))).op("sqrt")
    step = mean * (a["lr"] / (1 - a["beta1_pow"])) / (root + a["epsilon"])
    return [param * (1 - a["lr"] * a["weight_decay"]) - step, mean, square, *bound]


@_expansion("sdpa_fw")
def _sdpa_fw(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value] | None:
    if a.get("dropout_probability") or len(op.results) > 1:
        return None
    operands = [*(_with_batch(value).ssa for value in _values(b, op)[:3]), operand(op, "attention_mask"), None]
    attention = b.value("ttir.scaled_dot_product_attention", operands, {"is_causal": a.get("mask_type") == "causal"})
    return [Value(b, attention).reshape(*shape(op.results[0]))]


def _with_batch(value: Value) -> Value:
    """[heads, rows, columns] -> [1, heads, rows, columns]."""
    return value.reshape(*(1,) * (4 - len(value.shape)), *value.shape)


@_expansion("sdpa_bw")
def _sdpa_bw(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value] | None:
    """The gradients of softmax(Q K' / sqrt(D) + mask) V, the probabilities computed anew."""
    if not all(3 <= len(shape(value)) <= 4 for value in op.operands[:5]):
        return None
    grad, query, key, value = (_with_batch(Value(b, op.operands[index])) for index in (0, 2, 3, 4))
    if a.get("dropout_probability") or query.shape[1] != key.shape[1]:
        return None
    scale, rows = 1 / math.sqrt(query.shape[-1]), query.shape[2]
    scores = query.matmul(key, transpose_b=True) * scale
    mask = operand(op, "attention_mask")
    if a.get("mask_type") == "causal":
        values = np.triu(np.full((rows, key.shape[2]), -1e9, np.float32), 1).reshape(1, 1, rows, -1)
        scores += constant(b, values).cast(query.of)
    elif mask is not None:
        scores += mask
    chances = scores.op("softmax", dimension=3)
    grad_value = chances.matmul(grad, transpose_a=True)
    rise = grad.matmul(value, transpose_b=True)
    centred = rise - (rise * chances).reduce("sum", [3])
    slope = chances * centred * scale
    gradients = (slope.matmul(key), slope.matmul(query, transpose_a=True), grad_value)
    return [gradient.reshape(*shape(result)) for gradient, result in zip(gradients, op.results, strict=True)]


# --- several chips -----------------------------------------------------------------------------------------------------------

CONSTRAINT = "sdy.sharding_constraint"
"""How a value is sharded over the chips, in TTIR too; `alchemist/mesh` removes these ops."""
TO_PART, TO_WHOLE = "spmd.full_to_shard_shape", "spmd.shard_to_full_shape"
"""Around a computation of each chip on its own shard: the shard of a tensor, and the tensor of which a value is the shard."""
STATEMENTS = (CONSTRAINT, TO_PART, TO_WHOLE)
MESHES = "ttcore.meshes"
"""Attribute of a module: the meshes that its ops are for."""
COLLECTIVES = frozenset({
    "all_gather", "all_reduce", "all_reduce_async", "all_to_all", "collective_broadcast", "collective_permute", "mesh_partition", "mesh_shard",
    "reduce_scatter",
})  # fmt: skip
SHAPED = frozenset({"all_gather", "mesh_partition", "mesh_shard", "reduce_scatter"})
"""Collectives of several chips change a shape: one that does not has a single chip along its axis, or the same values on all."""


def on_one_chip(op: Operation) -> bool:
    """Whether a collective does nothing: it keeps its type, and its shape or the module's mesh says that there is one chip along its axis, or no chip
    sends to another (tt-mlir folds a permutation without pairs too; a chip beside named ones that is not named gets zeros)."""
    if [value.type for value in op.operands[:1]] != [result.type for result in op.results]:
        return False
    permutation = attrs(op).get("source_target_pairs")
    pairs = np.reshape(() if permutation is None else permutation, (-1, 2))
    to_itself = permutation is not None and bool((pairs[:, 0] == pairs[:, 1]).all()) and (0 in pairs or not len(pairs))
    return op.name.partition(".")[2] in SHAPED or to_itself or _chips(op) == 1


def _chips(op: Operation) -> int | None:
    """Chips of the mesh that a module around `op` states, along the axis of `op` where it has one; None without a mesh."""
    parent: Operation | None = op
    while parent is not None:
        if MESHES in parent.attributes:
            sizes, axis = sizes_of_meshes(parent.attributes[MESHES]), attrs(op).get("cluster_axis")
            return sizes[0][axis] if len(sizes) == 1 and axis is not None and 0 <= axis < len(sizes[0]) else math.prod(map(math.prod, sizes))
        parent = parent.parent_op()
    return None


def sizes_of_meshes(meshes: Attribute) -> list[list[int]]:
    """The extents of each mesh of `ttcore.meshes`."""
    return [[int(size) for size in mesh.split("x")] for mesh in re.findall(r"= (\d+(?:x\d+)*)", attribute_text(meshes))]


@_expansion(*COLLECTIVES)
def _collective(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value] | None:
    return _values(b, op)[:1] if on_one_chip(op) else None


# --- experts -----------------------------------------------------------------------------------------------------------------


@_expansion("topk_router_gpt")
def _router(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value]:
    """The k best experts of every token and the softmax of their scores."""
    x, weight, bias = _values(b, op)
    scores = x.matmul(weight) + bias
    dims = (*scores.shape[:-1], a["k"])
    top, indices = b.op("ttir.topk", [scores.ssa], {"k": a["k"], "dim": -1, "largest": True, "sorted": True}, [tensor(dims, scores.of), tensor(dims, "i32")])
    chances = Value(b, top).op("softmax", dimension=len(dims) - 1)
    return [Value(b, indices).cast(element_type(op.results[0])), chances.cast(element_type(op.results[1]))]


@_expansion("sparse_matmul")
def _sparse_matmul(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value] | None:
    """Every expert's product, zero where the token is not the expert's."""
    x, weights, sparsity = _values(b, op)
    _, experts, inner, columns = weights.shape
    groups, blocks, rows = (x.shape[0], 1, x.shape[2]) if a.get("is_input_a_sparse") else x.shape[:3]
    if len(x.shape) != 4 or math.prod(sparsity.shape) != groups * blocks * experts:
        return None
    if a.get("is_input_a_sparse"):
        split = x.matmul(weights)
    else:
        side = weights.permute(0, 2, 1, 3).reshape(inner, experts * columns)
        split = x.reshape(groups * blocks * rows, inner).matmul(side).reshape(groups * blocks, rows, experts, columns).permute(0, 2, 1, 3)
    mask = sparsity.op("ne", 0.0).cast(x.of).reshape(groups * blocks, experts, 1, 1)
    return [(split * mask).reshape(*shape(op.results[0]))]


# --- quantisation, images ----------------------------------------------------------------------------------------------------


@_expansion("quantize", "dequantize", "requantize")
def _quantised(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value] | None:
    """The same with scales and zero points as constants."""
    ends = [op.operands[0], op.results[0]]
    quantizations = [_scales(value) for value in ends]
    axis = next((quantization[0] for quantization in quantizations if quantization is not None), None)
    operands = [op.operands[0]]
    for scales_of in quantizations:
        if scales_of is not None:
            _, scales, zeros = scales_of
            operands += [constant(b, scales).ssa, constant(b, zeros).ssa]
    return [Value(b, b.value(f"{op.name}_unrolled", operands, {"axis": axis}, [op.results[0].type]))]


def _scales(value: SSAValue) -> tuple[int | None, np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """Axis, scales and zero points of a quantised type, None for any other."""
    of = value.type.get_element_type() if isinstance(value.type, TensorType) else None
    match = _QUANTISED.match(str(of.data[1])) if isinstance(of, OpaqueType) else None
    if match is None:
        return None
    pairs = [pair.partition(":") for pair in match[2].strip("{}").split(",")]
    scales = np.array([float(scale) for scale, _, _ in pairs], np.float32)
    zeros = np.array([int(zero or 0) for _, _, zero in pairs], np.int32)
    return (int(match[1]) if match[1] else None), scales, zeros


@_expansion("conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d")
def _flattened(b: Builder, op: Operation, a: dict[str, Any]) -> Sequence[Value] | None:
    """An op on flattened images [1, 1, N*H*W, C] as the same op on [N, H, W, C]."""
    info = a.get("flattened_compat_info")
    if info is None:
        return None
    numbers = {key: int(number) for key, number in re.findall(r"(\w+) = (\d+)", str(info))}
    batch, height, width = numbers["batch_size"], numbers["input_height"], numbers["input_width"]
    x, *others = _values(b, op)
    attributes = {name: value for name, value in access.declared(op).items() if name != "flattened_compat_info"}
    images = x.reshape(batch, height, width, x.shape[-1]).op(op.name.removeprefix("ttir."), *others, of=element_type(op.results[0]), **attributes)
    return [images.reshape(*shape(op.results[0]))]


__all__ = ["COLLECTIVES", "EXPANSIONS", "expand", "on_one_chip"]
