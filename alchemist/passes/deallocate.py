"""`ttnn.deallocate` after the last use of every intermediate value."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir.builder import Builder
from alchemist.ir.layout import layout_of
from alchemist.ops.spec import INLINE
from alchemist.passes.registry import Pass, functions, is_const_eval, register

VIEWS = frozenset(("ttnn.reshape", "ttnn.to_layout", "ttnn.to_memory_config", "ttnn.typecast", "ttnn.permute", "ttnn.repeat"))
"""Ops whose result may share its operand's buffer."""
_KEPT = ("ttcore.load_cached", "ttnn.get_device", "ttnn.load_tensor")


def last_uses(block_ops: list[Operation]) -> dict[Operation, list[SSAValue]]:
    """op -> values whose buffer dies after it. Arguments, weights and results never die; views extend their source."""
    root: dict[SSAValue, SSAValue] = {}
    last: dict[SSAValue, Operation] = {}
    kept: set[SSAValue] = set()
    for op in block_ops:
        for value in op.operands:
            own = root.get(value, value)
            last[own] = op
            if isinstance(op, ReturnOp):
                kept.add(own)
        if op.name in _KEPT or INLINE in op.attributes:
            continue
        for result in op.results:
            source = op.operands[0] if op.name in VIEWS else None
            root[result] = root.get(source, source) if source is not None else result
            last[root[result]] = op
    dead: dict[Operation, list[SSAValue]] = {}
    owned = {value for value, own in root.items() if own is value}
    for value, op in last.items():
        layout = layout_of(value.type)
        if value in owned and value not in kept and not isinstance(value, BlockArgument) and layout is not None and not layout.on_host:
            dead.setdefault(op, []).append(value)
    return dead


@register("deallocate")
class Deallocate(Pass):
    """Frees every intermediate value behind its last use; weights, arguments and results stay."""

    enable_dealloc: bool = True

    def run(self, module: ModuleOp) -> None:
        if not self.enable_dealloc:
            return
        for func in functions(module):
            if is_const_eval(func):
                continue
            ops = list(func.body.block.ops)
            for op, values in last_uses(ops).items():
                b = Builder.after(op)
                for value in values:
                    b.make("ttnn.deallocate", [value], {"force": False}, [])
