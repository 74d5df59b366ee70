"""TTNN: two slices of a value joined the other way round are ttnn.roll."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources, defining, erase, ops_named, replace, single_use
from alchemist.ops.spec import NOTE
from alchemist.passes.registry import Pass, register


@register("fuse-roll", fusing=True)
class FuseRoll(Pass):
    """concat(x[k:], x[:k]) becomes roll(x, -k); rolls of one value along several dimensions become one call."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttnn.concat", const_eval=False):
            if (found := _rolled(op)) is not None:
                _fuse(op, *found)


def _rolled(joined: Operation) -> tuple[SSAValue, int, int] | None:
    """(value, shift, dimension) when the op joins the value's end and its beginning."""
    parts = [part for value in joined.operands if (part := defining(value, "ttnn.slice_static")) is not None]
    if len(parts) != 2 or len(joined.operands) != 2 or not all(single_use(part.results[0]) for part in parts):
        return None
    end, begin = parts
    source = end.operands[0]
    if begin.operands[0] is not source or source.type != joined.results[0].type:
        return None
    shape = access.shape(source)
    (first, last, first_step), (start, stop, step) = [[access.attr(part, name) for name in ("begins", "ends", "step")] for part in parts]
    dims = [dim for dim, extent in enumerate(shape) if (first[dim], last[dim]) != (0, extent)]
    if len(dims) != 1 or any(number != 1 for number in (*first_step, *step)):
        return None
    (dim,) = dims
    cut = first[dim]
    beginning = [cut if index == dim else extent for index, extent in enumerate(shape)]
    if last[dim] != shape[dim] or not 0 < cut < shape[dim] or any(start) or list(stop) != beginning:
        return None
    if access.attr(joined, "dim") not in (dim, dim - len(shape)):
        return None
    return source, -cut if 2 * cut <= shape[dim] else shape[dim] - cut, dim


def _fuse(joined: Operation, source: SSAValue, shift: int, dim: int) -> None:
    parts = [defining(value, "ttnn.slice_static") for value in joined.operands]
    slices = [part for part in parts if part is not None]
    gone = list(slices)
    shifts, dims = [shift], [dim]
    before = defining(source, "ttnn.roll")
    if before is not None and {use.operation for use in source.uses} == set(slices):
        shifts, dims = [*access.attr(before, "shifts"), shift], [*access.attr(before, "dim"), dim]
        source = before.operands[0]
        gone.insert(0, before)
    notes = list(dict.fromkeys(note for op in (*gone, joined) if (note := access.attr(op, NOTE, ""))))
    made = Builder.before(joined).make("ttnn.roll", [source], {"shifts": shifts, "dim": dims, NOTE: "; ".join(notes) or None}, joined.result_types)
    add_sources(made, *gone, joined)
    replace(joined, list(made.results))
    for op in reversed(gone):
        erase(op)
