"""dot_general -> matmul, linear + activation."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import set_attr, shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources, all_ops, defining, made_by, replace, single_use
from alchemist.passes.registry import Pass, register
from alchemist.rules.linear import ACTIVATION


def _as_matmul(op: Operation) -> dict[str, bool] | None:
    """Transposition flags under which a dot_general is a plain matmul, else None."""
    lhs, rhs = (len(shape(value)) for value in op.operands)
    batch_l, batch_r = list(access.attr(op, "batch_dims_lhs")), list(access.attr(op, "batch_dims_rhs"))
    contract_l, contract_r = list(access.attr(op, "contract_dims_lhs")), list(access.attr(op, "contract_dims_rhs"))
    count = len(batch_l)
    if batch_l != list(range(count)) or batch_r != batch_l or len(contract_l) != 1 or len(contract_r) != 1:
        return None
    if rhs != count + 2 or (count and lhs != count + 2) or lhs < 2:
        return None
    if contract_l[0] == lhs - 1:
        transpose_a = False
    elif contract_l[0] == lhs - 2 and lhs == count + 2:
        transpose_a = True
    else:
        return None
    return {"transpose_a": transpose_a, "transpose_b": contract_r[0] == rhs - 1}


@register("canonicalize-dots")
class CanonicalizeDots(Pass):
    """dot_general with leading batch dims and one contracted dim becomes matmul."""

    def run(self, module: ModuleOp) -> None:
        for op in all_ops(module):
            flags = _as_matmul(op) if op.name == "ttir.dot_general" else None
            if flags is not None:
                b = Builder.in_place_of(op)
                replace(op, [b.op("ttir.matmul", list(op.operands), flags, [op.results[0].type])])


FUSED = {
    "ttir.linear": ("relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"),
    "ttir.matmul": ("relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"),
    "ttir.conv2d": ("relu", "relu6", "gelu", "silu", "sigmoid", "tanh"),
    "ttir.conv1d": ("relu", "relu6", "gelu", "silu", "sigmoid", "tanh"),
    "ttir.add": ("relu",),
}
"""Op -> activations that its TTNN call takes."""


@register("fuse-activation", fusing=True)
class FuseActivation(Pass):
    """An activation whose operand has no other use becomes an argument of the op before it."""

    def run(self, module: ModuleOp) -> None:
        for op in all_ops(module):
            name = op.name.removeprefix("ttir.")
            if access.attr(op, "alchemist.variant") == "Tanh":
                name = "gelu_tanh"
            source = op.operands[0] if len(op.operands) == 1 else None
            producer = _producer(source) if source is not None else None
            if producer is None or source is None or name not in FUSED[producer.name]:
                continue
            if ACTIVATION in producer.attributes or operand_is_constant(producer):
                continue
            if access.element_type(source) not in ("f32", "bf16", "f16"):
                continue
            set_attr(producer, ACTIVATION, name)
            add_sources(producer, op, before=False)
            replace(op, [source])


def _producer(value: SSAValue) -> Operation | None:
    """The op that the value alone comes from, a convolution's also as another view of it."""
    producer = defining(value, *FUSED) if single_use(value) else None
    while producer is None and single_use(value) and (view := defining(value, "ttir.reshape")) is not None:
        value = view.operands[0]
        producer = defining(value, "ttir.conv1d", "ttir.conv2d") if single_use(value) else None
    return producer


def operand_is_constant(op: Operation) -> bool:
    """add with a constant operand keeps its activation apart: scalar adds take none."""
    return op.name == "ttir.add" and any(made_by(value, "constant") is not None for value in op.operands)
