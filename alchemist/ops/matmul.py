"""matmul, linear and dot_general."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops.describe import COMPUTE, MEMORY, Array, attribute, op, optional_tensor, tensor, ttir
from alchemist.ops.spec import ErrorSample, Kind, Sample

HEADER = "matmul/matmul.hpp"
_ARGS = (
    attribute("transpose_a", Kind.BOOL, default=False),
    attribute("transpose_b", Kind.BOOL, default=False),
    MEMORY,
    attribute("program_config", Kind.PROGRAM_CONFIG, "matmul_program_config", default=None),
    attribute("activation", Kind.STR, default=None, cpp_type="std::string"),
    COMPUTE,
    attribute("core_grid", Kind.CORE_GRID, "alchemist.core_grid", default=None),
)
"""With `core_grid` bias and activation become part of one matmul."""
_CPP = (
    "transpose_a=false transpose_b=false memory_config? dtype? program_config? activation? compute_kernel_config? "
    "core_grid? output_tile? optional_output_tensor? global_cb? sub_device_id? prefetcher_pipes={}"
)


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

    table = {name: function for name, _, function in unary.UNARY}
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
    [tensor("input_tensor_a", "a"), tensor("input_tensor_b", "b"), *_ARGS],
    f"input_tensor_a input_tensor_b {_CPP}",
    HEADER,
    samples=tuple(Sample(((a, "bfloat16"), (b, "bfloat16")), outputs=(_out(a, b),)) for a, b in _SHAPES),
    error_samples=(_BAD_DEPTH,),
    reference=matmul,
    tolerance=8.0,
)
ttir("matmul", matmul, target="matmul")
op(
    "linear",
    [tensor("input_tensor_a", "a"), tensor("input_tensor_b", "b"), optional_tensor("bias"), *_ARGS],
    f"input_tensor_a input_tensor_b bias? {_CPP} in0_column_offset?",
    HEADER,
    samples=tuple(Sample(((a, "bfloat16"), (b, "bfloat16"), ((b[-1],), "bfloat16")), outputs=(_out(a, b),)) for a, b in _SHAPES[:3]),
    error_samples=(_BAD_DEPTH,),
    reference=linear,
    tolerance=8.0,
)
ttir("linear", linear, target="linear")
ttir("dot_general", dot_general)
