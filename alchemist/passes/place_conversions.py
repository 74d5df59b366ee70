"""Conversions that several modules share belong to the value's maker, not to the first module that asks."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist.ir.edit import ops_named
from alchemist.ir.location import SourceInfo, set_source, sources_of
from alchemist.ir.scopes import common_prefix
from alchemist.passes.registry import Pass, register

CONVERSIONS = ("ttnn.typecast", "ttnn.to_layout", "ttnn.repeat")


def scope_path(op: Operation) -> tuple[str, ...]:
    """Module paths around an op, outermost first: ("", "encoder", "encoder.layer.0", ...)."""
    infos = sources_of(op)
    return tuple(scope.path for scope in infos[0].scopes) if infos else ()


@register("place-conversions")
class PlaceConversions(Pass):
    """Moves shared typecasts and layout changes behind the op that made their operand."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, *CONVERSIONS, const_eval=False):
            users = list(dict.fromkeys(use.operation for use in op.results[0].uses if sources_of(use.operation)))
            if len(users) < 2 or not sources_of(op):
                continue
            paths = [scope_path(user) for user in users]
            shared = common_prefix(paths)
            depth = min(len(path) for path in paths)
            maker = op.operands[0].owner
            if len(shared) < depth - 1 and isinstance(maker, Operation) and sources_of(maker):
                op.detach()  # type: ignore[no-untyped-call]
                assert maker.parent is not None
                maker.parent.insert_op_after(op, maker)
                set_source(op, *sources_of(maker))
            elif len(shared) < len(scope_path(op)):
                set_source(op, *(_cut(info, len(shared)) for info in sources_of(op)))


def _cut(info: SourceInfo, depth: int) -> SourceInfo:
    return SourceInfo(info.scopes[:depth], info.frames, info.op, info.name, info.helper)
