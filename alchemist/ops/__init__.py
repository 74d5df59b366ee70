"""The op tables. Importing this package registers every op (`spec.TTNN_OPS`, `spec.TTIR_OPS`)."""

from alchemist.ops import (
    collectives,
    conv,
    creation,
    data_movement,
    eltwise_binary,
    eltwise_unary,
    embedding,
    layout,
    matmul,
    normalization,
    pool,
    reduction,
    transformer,
)
from alchemist.ops.axes import pointwise
from alchemist.ops.spec import TTIR_OPS, TTNN_OPS, OpSpec, TtirSpec, inline_scalar

POINTWISE = frozenset(name for name, spec in TTIR_OPS.items() if spec.axes is pointwise)
"""TTIR ops of each element by itself, of one or more operands that may be broadcast."""

__all__ = [
    "POINTWISE",
    "TTIR_OPS",
    "TTNN_OPS",
    "OpSpec",
    "TtirSpec",
    "collectives",
    "conv",
    "creation",
    "data_movement",
    "eltwise_binary",
    "eltwise_unary",
    "embedding",
    "inline_scalar",
    "layout",
    "matmul",
    "normalization",
    "pool",
    "reduction",
    "transformer",
]
