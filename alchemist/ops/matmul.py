"""matmul, linear and dot_general."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops import sharding
from alchemist.ops.axes import contracts
from alchemist.ops.describe import Array, op, ttir
from alchemist.ops.spec import ErrorSample, Sample

HEADER = "matmul/matmul.hpp"
_ARGS = (
    "transpose_a transpose_b memory_config dtype=changed_dtype program_config=matmul_program_config activation compute_kernel_config "
    "core_grid=alchemist.core_grid"
)
"""With `core_grid` bias and activation become part of one matmul."""


def matmul(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: object) -> Sequence[Array]:
    a, b = inputs[0], inputs[1]
    if attributes.get("transpose_a"):
        a = np.swapaxes(a, -1, -2)
    if attributes.get("transpose_b"):
        b = np.swapaxes(b, -1, -2)
    return [np.asarray(np.matmul(a, b))]


def linear(inputs: Sequence[Array], attributes: Mapping[str, Any], shapes: object) -> Sequence[Array]:
    out = matmul(inputs, attributes, shapes)[0]
    if len(inputs) > 2 and inputs[2] is not None:
        out = out + inputs[2]
    activation = attributes.get("activation")
    return [ACTIVATIONS[activation](out) if activation else out]


def dot_general(inputs: Sequence[Array], attributes: Mapping[str, Any], shapes: Sequence[tuple[int, ...]]) -> Sequence[Array]:
    """batch dims, then free dims of lhs, then free dims of rhs."""
    lhs, rhs = inputs[0], inputs[1]
    batch_l, batch_r = list(attributes["batch_dims_lhs"]), list(attributes["batch_dims_rhs"])
    contract_l, contract_r = list(attributes["contract_dims_lhs"]), list(attributes["contract_dims_rhs"])
    free_l = [d for d in range(lhs.ndim) if d not in batch_l + contract_l]
    free_r = [d for d in range(rhs.ndim) if d not in batch_r + contract_r]
    batch = [lhs.shape[d] for d in batch_l]
    depth = int(np.prod([lhs.shape[d] for d in contract_l], dtype=np.int64))
    a = lhs.transpose(batch_l + free_l + contract_l).reshape(*batch, -1, depth)
    b = rhs.transpose(batch_r + contract_r + free_r).reshape(*batch, depth, -1)
    out = np.matmul(a, b)
    return [out.reshape(*batch, *(lhs.shape[d] for d in free_l), *(rhs.shape[d] for d in free_r))]


def _activations() -> dict[str, Any]:
    from alchemist.ops import eltwise_unary as unary

    table = {name: function for name, function in unary.UNARY}
    return {name: table[name] for name in ("relu", "silu", "tanh")} | {
        "gelu": unary.gelu,
        "gelu_tanh": unary.gelu_tanh,
        "sigmoid": unary.sigmoid,
    }


ACTIVATIONS = _activations()
"""Activation names that `ttnn.linear` takes and we fuse."""

_SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((32, 32), (32, 32)),
    ((1, 31), (31, 33)),
    ((1, 128, 96), (96, 64)),
    ((2, 3, 40, 24), (2, 3, 24, 72)),
)


def _out(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return (*a[:-1], b[-1])


_BAD_DEPTH = ErrorSample((((32, 32), "bfloat16"), ((64, 32), "bfloat16")), match="width")

op(
    "matmul",
    f"input_tensor_a=a input_tensor_b=b {_ARGS}",
    HEADER,
    samples=tuple(Sample(((a, "bfloat16"), (b, "bfloat16")), outputs=(_out(a, b),)) for a, b in _SHAPES),
    error_samples=(_BAD_DEPTH,),
    reference=matmul,
    tolerance=8.0,
    noun="product",
)
ttir("matmul", matmul, target="matmul", axes=contracts, sharding=sharding.contracts)
op(
    "linear",
    f"input_tensor_a=a input_tensor_b=b bias {_ARGS}",
    HEADER,
    samples=tuple(Sample(((a, "bfloat16"), (b, "bfloat16"), ((b[-1],), "bfloat16")), outputs=(_out(a, b),)) for a, b in _SHAPES[:3]),
    error_samples=(_BAD_DEPTH,),
    reference=linear,
    tolerance=8.0,
)
ttir("linear", linear, target="linear", axes=contracts, sharding=sharding.contracts)
ttir("dot_general", dot_general, sharding=sharding.contracts_dims)
