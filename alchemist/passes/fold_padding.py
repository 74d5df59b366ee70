"""Zero padding in front of a convolution goes into the convolution."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ir.access import set_attr
from alchemist.ir.edit import add_sources, defining, erase_dead, functions
from alchemist.ops.windows import padding_pairs
from alchemist.passes.registry import Pass, register


def _merged(conv: Operation, pad: Operation) -> list[int] | None:
    """The convolution's padding with the pad's added, in tt-mlir's order; None when other dims are padded."""
    flat = access.attr(pad, "padding")
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    height, width = access.attr(conv, "height_dim"), access.attr(conv, "width_dim")
    if access.attr(pad, "value") != 0 or any(any(pair) for i, pair in enumerate(pairs) if i not in (height, width)):
        return None
    if any(part < 0 for pair in pairs for part in pair):
        return None
    (top, bottom), (left, right) = padding_pairs(access.attr(conv, "padding"), 2)
    more_rows, more_columns = pairs[height], pairs[width]
    return [top + more_rows[0], left + more_columns[0], bottom + more_rows[1], right + more_columns[1]]


@register("fold-padding", fusing=True)
class FoldPadding(Pass):
    """conv2d(pad(x)) with zeros becomes a convolution with more padding."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in func.body.block.ops:
                pad = defining(op.operands[0], "ttir.pad") if op.name == "ttir.conv2d" else None
                merged = _merged(op, pad) if pad is not None else None
                if pad is not None and merged is not None:
                    set_attr(op, "padding", merged)
                    add_sources(op, pad)
                    op.operands[0] = pad.operands[0]
            erase_dead(func)
