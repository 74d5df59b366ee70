"""The op tables. Importing this package registers every op (`spec.TTNN_OPS`, `spec.TTIR_OPS`)."""

from alchemist.ops import (
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
from alchemist.ops.spec import TTIR_OPS, TTNN_OPS, OpSpec, TtirSpec, inline_scalar

__all__ = [
    "TTIR_OPS",
    "TTNN_OPS",
    "OpSpec",
    "TtirSpec",
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
