"""Ops of training, quantisation and routing in terms of simpler ones (`alchemist/ops/expand.py`)."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from alchemist.ops.expand import expand
from alchemist.options import CompilerOptions
from alchemist.passes.registry import register


@register("expand-ops")
def expand_ops(module: ModuleOp, options: CompilerOptions) -> None:
    """Gradients, optimizer steps, batch statistics, quantised types, flattened images become simpler TTIR ops."""
    del options
    expand(module)
