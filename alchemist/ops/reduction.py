"""Reductions, scans, sorting and sampling. Columns of REDUCTIONS: name, numpy function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops import sharding
from alchemist.ops.axes import along, dims_of, reduces
from alchemist.ops.describe import Array, Reference, op, ttir
from alchemist.ops.spec import ErrorSample, Sample

REDUCTIONS: tuple[tuple[str, Callable[..., Any], str], ...] = (
    ("sum", np.sum, "total"), ("mean", np.mean, "average"), ("max", np.max, "largest"), ("min", np.min, "smallest"),
)  # fmt: skip

SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...] = (
    ((1, 1), (1,), (1, 1)),
    ((31, 33), (1,), (31, 1)),
    ((32, 32), (0,), (1, 32)),
    ((2, 64, 96), (2,), (2, 64, 1)),
    ((1, 3, 40, 7), (2, 3), (1, 3, 1, 1)),
    ((2, 3, 32, 64), (1,), (2, 1, 32, 64)),
)
"""input shape, reduced dims, output shape with keep_dim."""


def _reduction(function: Callable[..., Any]) -> Reference:
    def reference(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
        x = inputs[0]
        axes = dims_of(attributes, x.ndim)
        return [np.asarray(function(x, axis=axes, keepdims=bool(attributes["keep_dim"])))]

    return reference


for _name, _function, _noun in REDUCTIONS:
    op(
        _name,
        "input_tensor dim=dim_arg keepdim=keep_dim memory_config compute_kernel_config",
        "reduction/generic/generic_reductions.hpp",
        samples=tuple(Sample(((shape, "bfloat16"),), {"dim_arg": list(dims), "keep_dim": True}, (out,)) for shape, dims, out in SHAPES),
        error_samples=(ErrorSample((((32, 32), "bfloat16"),), {"dim_arg": [2], "keep_dim": True}, "dim"),),
        reference=_reduction(_function),
        tolerance=8.0,
        noun=_noun,
    )
    ttir(_name, _reduction(_function), target=_name, axes=reduces, sharding=sharding.sums if _function in (np.sum, np.mean) else sharding.reduces)

ttir("reduce_and", _reduction(lambda x, **kw: np.all(x != 0, **kw)), axes=reduces, sharding=sharding.reduces)
ttir("reduce_or", _reduction(lambda x, **kw: np.any(x != 0, **kw)), axes=reduces, sharding=sharding.reduces)


def _prod(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    return _reduction(np.prod)(inputs, attributes, ())


op(
    "prod",
    "input_tensor dim=dim_arg keepdim=keep_dim memory_config",
    "reduction/prod/prod.hpp",
    samples=(
        Sample((((1, 1, 32, 32), "bfloat16"),), {"dim_arg": 3, "keep_dim": True}, ((1, 1, 32, 1),)),
        Sample((((2, 3, 31, 33), "bfloat16"),), {"dim_arg": 1, "keep_dim": True}, ((2, 1, 31, 33),)),
    ),
    reference=_prod,
    tolerance=16.0,
)
ttir("prod", _prod, axes=reduces, sharding=sharding.reduces)


def _argmax(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    x = inputs[0]
    dim = attributes.get("dim", attributes.get("dim_arg"))
    keep = bool(attributes.get("keep_dim", False))
    if dim is not None and not isinstance(dim, int):
        dims = tuple(sorted(d % x.ndim for d in dim))
        if len(dims) != 1:
            rest = tuple(d for d in range(x.ndim) if d not in dims)
            flat = x.transpose(rest + dims).reshape(*(x.shape[d] for d in rest), -1)
            shape = tuple(1 if d in dims else x.shape[d] for d in range(x.ndim)) if keep else flat.shape[:-1]
            return [np.argmax(flat, axis=-1).reshape(shape).astype(np.int32)]
        dim = dims[0]
    if dim is None:
        out = np.argmax(x).reshape((1,) * x.ndim if keep else ())
        return [np.asarray(out, np.int32)]
    return [np.argmax(x, axis=dim, keepdims=keep).astype(np.int32)]


op(
    "argmax",
    "input_tensor dim keepdim=keep_dim memory_config",
    "reduction/argmax/argmax.hpp",
    samples=tuple(
        Sample((((shape), "bfloat16"),), {"dim": len(shape) - 1, "keep_dim": True}, ((*shape[:-1], 1),), "row_major")
        for shape in ((1, 1, 32, 32), (1, 1, 31, 33), (2, 64, 96))
    ),
    reference=_argmax,
    tolerance=0.0,
    doc="row-major input, reduces the last dimension or everything",
)
ttir("argmax", _argmax, sharding=sharding.reduces)


def _cumulative(function: Callable[..., Any]) -> Reference:
    def reference(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
        return [np.asarray(function(inputs[0], axis=attributes["dim"]))]

    return reference


for _name, _first, _function in (("cumsum", "input", np.cumsum), ("cumprod", "input_tensor", np.cumprod)):
    op(
        _name,
        f"{_first} * dim memory_config",
        f"reduction/accumulation/{_name}/{_name}.hpp",
        samples=tuple(Sample(((shape, "bfloat16"),), {"dim": dim}, (shape,)) for shape, dim in (((32, 32), 0), ((2, 31, 33), 1), ((1, 3, 40, 7), 3))),
        reference=_cumulative(_function),
        tolerance=16.0,
    )
    ttir(_name, _cumulative(_function), target=_name, axes=along("dim"), sharding=sharding.along("dim"))


def _ordered(x: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    key = -x.astype(np.float64) if descending else x
    order = np.argsort(key, axis=dim, kind="stable")
    return np.take_along_axis(x, order, axis=dim), order.astype(np.int32)


def _sort(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    return _ordered(inputs[0], attributes.get("dim", -1), bool(attributes.get("descending", False)))


def _topk(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    dim, k = attributes.get("dim", -1), attributes["k"]
    values, indices = _ordered(inputs[0], dim, bool(attributes.get("largest", True)))
    return np.take(values, range(k), axis=dim), np.take(indices, range(k), axis=dim)


op(
    "sort",
    "input_tensor dim descending stable memory_config",
    "data_movement/sort/sort.hpp",
    samples=tuple(
        Sample(((shape, "bfloat16"),), {"dim": -1, "descending": flag, "stable": False}, (shape, shape))
        for shape, flag in (((32, 64), False), ((1, 1, 31, 33), True))
    ),
    reference=_sort,
    tolerance=0.0,
    doc="indices are uint16 up to 65,535 elements",
)
ttir("sort", _sort, target="sort", sharding=sharding.along("dim"))
op(
    "topk",
    "input_tensor k * dim largest sorted memory_config",
    "reduction/topk/topk.hpp",
    samples=tuple(
        Sample((((1, 1, 32, width), "bfloat16"),), {"k": k, "dim": -1, "largest": True, "sorted": True}, ((1, 1, 32, k), (1, 1, 32, k)))
        for width, k in ((64, 32), (128, 8))
    ),
    reference=_topk,
    tolerance=0.0,
)
ttir("topk", _topk, target="topk", sharding=sharding.along("dim"))
op(
    "sampling",
    "input_values_tensor=input_values input_indices_tensor=input_indices * k p temp seed",
    "reduction/sampling/sampling.hpp",
    doc="random: no reference; the seed makes it repeatable",
)
ttir("sampling")
