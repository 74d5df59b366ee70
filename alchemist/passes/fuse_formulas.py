"""The passes that are tables of `alchemist/rules`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from alchemist.passes.registry import Pass, register
from alchemist.rewrite.driver import Rules
from alchemist.rules.activations import ACTIVATIONS
from alchemist.rules.norms import NORMS
from alchemist.rules.ttnn_fusions import PIECEWISE


class _RulePass(Pass):
    rules: ClassVar[Rules]

    def run(self, module: ModuleOp) -> None:
        self.rules.apply(module)


@register("fuse-patterns", fusing=True)
class FusePatterns(_RulePass):
    """Written-out sigmoid, silu, gelu, softmax, rms_norm, layer_norm and group_norm become one op each."""

    rules = Rules("ttir", *ACTIVATIONS.rules, *NORMS.rules)


@register("fuse-piecewise", fusing=True)
class FusePiecewise(_RulePass):
    """TTNN: where(x > 0, x, a * expm1(min(x, 0))) becomes ttnn.elu; log(1 + exp(x)) in the forms of torch, JAX and ONNX becomes ttnn.softplus."""

    rules = PIECEWISE
