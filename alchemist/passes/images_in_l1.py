"""TTNN: images that convolutions read, in L1."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from alchemist.ir.edit import functions
from alchemist.optimizer.images import PASS, leave_images_in_l1
from alchemist.options import CompilerOptions
from alchemist.passes.optimize import l1_small_bytes
from alchemist.passes.registry import Pass, register


@register(PASS, fusing=True)
class ImagesInL1(Pass):
    """The result that a convolution reads is left in L1 where that is faster on both cards, as many as a fixed part of L1 holds (level 0)."""

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        if not self.options.optimization_level:
            for func in functions(module, const_eval=False):
                leave_images_in_l1(func, l1_small_bytes(module))
