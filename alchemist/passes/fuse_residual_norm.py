"""TTNN: a sum that is only normalised becomes the norm's residual."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ir.access import operand, shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources, defining, erase, ops_named, replace, single_use
from alchemist.ir.location import sources_of
from alchemist.ops.spec import inline_scalar
from alchemist.passes.registry import Pass, register


@register("fuse-residual-norm", fusing=True)
class FuseResidualNorm(Pass):
    """ttnn.layer_norm(ttnn.add(a, b)) becomes ttnn.add_layer_norm(a, b): one device program."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttnn.layer_norm", "ttnn.rms_norm"):
            total = op.operands[0]
            add = defining(total, "ttnn.add")
            if add is None or not single_use(total) or "alchemist.activations" in add.attributes:
                continue
            if _module(add) != _module(op):
                continue  # the sum ends one module's function, the norm begins another: fused, neither would be whole
            if any(inline_scalar(v) is not None or shape(v) != shape(total) or v.type != total.type for v in add.operands):
                continue
            name = f"ttnn.add_{op.name.removeprefix('ttnn.')}"
            attributes = {key: access.attr(op, key) for key in ("epsilon", "compute_config")}
            attributes["compute_config"] = op.properties.get("compute_config")
            operands = [*add.operands, operand(op, "weight"), operand(op, "bias")]
            made = Builder.before(op).make(name, operands, attributes, [op.results[0].type])
            add_sources(made, add, op)
            replace(op, list(made.results))
            erase(add)


def _module(op: Operation) -> str:
    """Path of the innermost module of the model (not of the framework) that made the op."""
    scopes = [one for info in sources_of(op)[:1] for one in info.scopes if not one.class_name.startswith("torch.nn.")]
    return scopes[-1].path if scopes else ""
