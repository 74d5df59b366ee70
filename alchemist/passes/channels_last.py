"""TTIR: conv1d with its channels last, as the kernel has them; what only rearranges moves behind elementwise ops and meets its inverse."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import sources_of
from alchemist.ops.eltwise_unary import UNARY
from alchemist.passes.registry import Pass, functions, register, single_use
from alchemist.passes.views import permuted

ELEMENTWISE = frozenset(f"ttir.{name}" for name in (*(name for name, _ in UNARY), "gelu", "silu", "sigmoid", "leaky_relu", "clamp_scalar", "typecast"))
_ORDER = (0, 2, 1)
"""[N, C, L] to [N, L, C] and back."""


@register("conv1d-channels-last", fusing=True)
class Conv1dChannelsLast(Pass):
    """f(conv1d(x)) on [N, C, L] becomes permute(f(conv1d(permute(x)))) on [N, L, C], for elementwise f; `fold` joins permutes."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            made: set[SSAValue] = set()
            for op in list(func.body.block.ops):
                if _is_conv(op) and (op.operands[0] in made or all(_turns(use.operation) for use in _behind(op)[-1].results[0].uses)):
                    made.add(_turn(op))


def _is_conv(op: Operation) -> bool:
    return op.name == "ttir.conv1d" and (access.attr(op, "channel_dim"), access.attr(op, "length_dim")) == (1, 2)


def _turns(op: Operation) -> bool:
    """Whether a permute in front of the op vanishes."""
    return _is_conv(op) or (op.name == "ttir.permute" and tuple(access.attr(op, "permutation")) == _ORDER)


def _behind(op: Operation) -> list[Operation]:
    """The op and the elementwise ops that alone read its result, one after another."""
    found = [op]
    while single_use(found[-1].results[0]) and (user := next(iter(found[-1].results[0].uses)).operation).name in ELEMENTWISE:
        found.append(user)
    return found


def _turn(op: Operation) -> SSAValue:
    """Returns the value in the old order."""
    before = Builder.before(op)
    before.source = sources_of(op) or None
    op.operands[0] = permuted(before, op.operands[0], _ORDER)
    for name, dim in (("channel_dim", 2), ("length_dim", 1)):
        access.set_attr(op, name, dim)
    n, channels, length = shape(op.results[0])
    dims = (n, length, channels)
    chain = _behind(op)
    for one in chain:
        Rewriter.replace_value_with_new_type(one.results[0], tensor(dims, element_type(one.results[0])))
    last = chain[-1]
    made = last.results[0]
    after = Builder.after(last)
    after.source = sources_of(last) or None
    back = permuted(after, made, _ORDER)
    made.replace_uses_with_if(back, lambda use: use.operation is not back.owner)
    return back
