"""TTNN: a product that is only added to something, in the program of the sum."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources, defining, erase, ops_named, replace, single_use
from alchemist.ir.location import sources_of
from alchemist.ops.spec import inline_scalar
from alchemist.optimizer.movement import lies_in_tiles, price_of
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, register

DTYPES = ("bf16", "f32")


@register("fuse-addcmul", fusing=True, from_level=1)
class FuseAddcmul(Pass):
    """a + b * c and a - b * c are one addcmul(a, b, c, value=1 or -1), where the clock prices that as faster.

    Only where operands and results have one dtype, bfloat16 or float32: the library refuses others. What it takes apart into several programs again, operands
    that it cannot broadcast together, is not faster.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttnn.add", "ttnn.subtract", const_eval=False):
            self._fuse(op)

    def _fuse(self, op: Operation) -> None:
        if not _is_plain(op):
            return
        for place in (1, 0) if op.name == "ttnn.add" else (1,):
            product, other = op.operands[place], op.operands[1 - place]
            made = defining(product, "ttnn.multiply")
            if made is None or not single_use(product) or product == other or not _is_plain(made):
                continue
            value = 1.0 if op.name == "ttnn.add" else -1.0
            b = Builder.before(op)
            b.source = sources_of(op)
            fused = b.make("ttnn.addcmul", [other, *made.operands], {"value": value}, [op.results[0].type])
            if price_of(fused, self.options).ns < price_of(made, self.options).ns + price_of(op, self.options).ns < float("inf"):
                add_sources(fused, made, op)
                replace(op, list(fused.results))
                erase(made)
                return
            erase(fused)


def _is_plain(op: Operation) -> bool:
    """Whether the op takes and makes tensors in tiles of one dtype and does nothing else with them."""
    values = (*op.operands, op.results[0])
    if len(values) != 3 or any(inline_scalar(value) is not None for value in op.operands) or any(name.endswith("activations") for name in op.attributes):
        return False
    return any(all(lies_in_tiles(value, (dtype,)) for value in values) for dtype in DTYPES)
