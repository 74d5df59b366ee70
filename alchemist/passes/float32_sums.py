"""TTNN: float32 stays float32 under a compute config that only says something else."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from alchemist.ir import access
from alchemist.ir.edit import functions
from alchemist.ir.layout import layout_of
from alchemist.passes.registry import Pass, register

_CONFIG, _FIELD = "compute_config", "fp32_dest_acc_en"


@register("float32-sums")
class Float32Sums(Pass):
    """A compute config that says nothing of sums adds float32 operands in 32 bits, as the library does without any config.

    The library's config class has 16-bit sums for what is not given: `math_fidelity=hifi4` alone would make a float32 model less exact.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in func.body.block.ops:
                config = access.attr(op, _CONFIG) if op.operands else None
                if config is None or config.get(_FIELD) is not None:
                    continue
                layouts = [layout_of(value.type) for value in op.operands[:2]]
                if all(of is None or of.dtype == "f32" for of in layouts):
                    access.set_attr(op, _CONFIG, access.struct("ttnn.device_compute_kernel_config", {**config, _FIELD: True}))
