"""Passes over TTIR and TTNN. `lower_to_ttnn` is the whole way; `PASSES` lists what runs alone."""

from alchemist.passes import (
    broadcast,
    const_eval,
    deallocate,
    fold,
    fold_batch_norm,
    fuse_linear,
    fuse_patterns,
    fuse_residual_norm,
    lift_constants,
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
    "fold",
    "fold_batch_norm",
    "fuse_linear",
    "fuse_patterns",
    "fuse_residual_norm",
    "lift_constants",
    "lower_to_ttnn",
    "run_named",
]
