"""Ops of training, quantisation and routing in terms of simpler ones (`alchemist/ops/expand.py`)."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from alchemist.ops.expand import expand
from alchemist.passes.registry import Pass, register


@register("expand-ops")
class ExpandOps(Pass):
    """Gradients, optimizer steps, batch statistics, quantised types, flattened images become simpler TTIR ops."""

    def run(self, module: ModuleOp) -> None:
        expand(module)
