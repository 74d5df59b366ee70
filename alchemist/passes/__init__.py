"""Passes over TTIR and TTNN. `lower_to_ttnn` is the whole way; `PASSES` lists what runs alone."""

from alchemist.passes import (
    broadcast,
    const_eval,
    deallocate,
    decompose_conv,
    expand_ops,
    fold,
    fold_batch_norm,
    fold_padding,
    fold_typecasts,
    fuse_heads,
    fuse_linear,
    fuse_patterns,
    fuse_residual_norm,
    inline_calls,
    keep_rank,
    lift_constants,
    place_conversions,
)
from alchemist.passes.pipeline import PIPELINES, Lowered, lower_to_ttnn, run_named
from alchemist.passes.registry import PASSES, Pass

__all__ = [
    "PASSES",
    "PIPELINES",
    "Lowered",
    "Pass",
    "broadcast",
    "const_eval",
    "deallocate",
    "decompose_conv",
    "expand_ops",
    "fold",
    "fold_batch_norm",
    "fold_padding",
    "fold_typecasts",
    "fuse_heads",
    "fuse_linear",
    "fuse_patterns",
    "fuse_residual_norm",
    "inline_calls",
    "keep_rank",
    "lift_constants",
    "lower_to_ttnn",
    "place_conversions",
    "run_named",
]
