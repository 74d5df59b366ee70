"""TTNN: a reshape that a long concat reads has a twin for what else reads it, so that the values of all steps are alike."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist.ir.edit import ops_named
from alchemist.passes.registry import Pass, register

STEPS = 3
"""Tensors of a concat that may be the steps of a loop."""


@register("twin-views", fusing=True)
class TwinViews(Pass):
    """concat([..., y]) and f(y) of one y = reshape(x) become concat([..., y]) and f(reshape(x)): the last step of a recurrence, which is returned too."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttnn.reshape", const_eval=False):
            users = list(dict.fromkeys(use.operation for use in op.results[0].uses))
            joins = [user for user in users if user.name == "ttnn.concat" and len(user.operands) >= STEPS]
            if len(joins) == 1 and len(users) > 1 and isinstance(op.operands[0].owner, Operation):
                _give_twin(op, joins[0], users)


def _give_twin(op: Operation, join: Operation, users: list[Operation]) -> None:
    block = op.parent
    assert block is not None
    others = {user for user in users if user is not join}
    twin = op.clone()
    first = next(one for one in block.ops if one in others)
    block.insert_op_before(twin, first)
    op.results[0].replace_uses_with_if(twin.results[0], lambda use: use.operation in others)
