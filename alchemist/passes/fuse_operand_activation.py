"""TTNN: an activation that only one operand of a product or sum reads becomes an argument of that op."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import set_attr, shape
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import add_sources, all_ops, erase, made_by, single_use
from alchemist.ir.location import sources_of
from alchemist.ir.scopes import paths_around
from alchemist.ops.spec import inline_scalar
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, register

ATTRIBUTES = ("alchemist.lhs_activations", "alchemist.rhs_activations")


@register("fuse-operand-activation", fusing=True)
class FuseOperandActivation(Pass):
    """multiply(a, silu(b)) is one program: multiply(a, b, input_tensor_b_activations=[SILU]).

    At level 0 also where a product has the activation as its argument: without a program config the library runs it as a program of its own. The
    optimizer's configs put it into the product, which is better still.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for op in all_ops(module):
            if has_trait(op, "arithmetic") and len(op.operands) == 2:
                self._fuse(op)

    def _fuse(self, op: Operation) -> None:
        result = op.results[0]
        if any(inline_scalar(value) is not None or shape(value) != shape(result) or value.type != result.type for value in op.operands):
            return
        for place, attribute in enumerate(ATTRIBUTES):
            value = op.operands[place]
            if attribute in op.attributes or not single_use(value):
                continue
            maker = made_by(value, "activation")
            if maker is not None and maker.operands[0].type == value.type and not settings(maker):
                set_attr(op, attribute, (maker.name.removeprefix("ttnn."),))
                add_sources(op, maker)
                op.operands[place] = maker.operands[0]
                erase(maker)
            elif self.options.optimization_level == 0 and (name := _activation_of_product(value)):
                product = made_by(value, "product")
                assert product is not None
                if paths_around(sources_of(product)) != paths_around(sources_of(op)):
                    continue  # what another module's function ends with stays its result
                del product.properties["activation"]
                set_attr(op, attribute, (name,))


def settings(op: Operation) -> dict[str, Any]:
    """Attributes that say how the activation is computed."""
    return {name: value for name, value in access.attrs(op).items() if value is not None and name not in ("memory_config", "dtype", "layout")}


def _activation_of_product(value: SSAValue) -> str:
    product = made_by(value, "product")
    if product is None or "activation" not in product.properties:
        return ""
    name = str(access.attr(product, "activation"))
    return name if f"ttnn.{name}" in named("ttnn", "activation") else ""
