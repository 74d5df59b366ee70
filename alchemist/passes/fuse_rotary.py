"""TTNN: rotary embedding that a model writes out, as one op."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.passes.registry import Pass, add_sources, defining, erase, ops_named, register, replace


@register("fuse-rotary", fusing=True)
class FuseRotary(Pass):
    """x * cos + concat(-x[D/2:], x[:D/2]) * sin becomes rotary_embedding(x, cos, sin)."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttnn.add", const_eval=False):
            for straight, turned in (op.operands, reversed(op.operands)):
                if _fuse(op, straight, turned):
                    break


def _fuse(op: Operation, straight: SSAValue, turned: SSAValue) -> bool:
    one, other = defining(straight, "ttnn.multiply"), defining(turned, "ttnn.multiply")
    if one is None or other is None or any("alchemist.activations" in part.attributes for part in (op, one, other)):
        return False
    for place in (0, 1):
        half = _half_turn(other.operands[place])
        if half is None:
            continue
        x, ops = half
        if x not in one.operands:
            continue
        cos, sin = one.operands[1 - list(one.operands).index(x)], other.operands[1 - place]
        if not _fits(x, cos, sin) or op.results[0].type != x.type:
            continue
        made = Builder.before(op).make("ttnn.rotary_embedding", [x, cos, sin], {}, [op.results[0].type])
        add_sources(made, one, *ops, other, op)
        replace(op, list(made.results))
        for dead in (other, one, *reversed(ops)):
            if not any(True for result in dead.results for _ in result.uses):
                erase(dead)
        return True
    return False


def _half_turn(value: SSAValue) -> tuple[SSAValue, list[Operation]] | None:
    """concat(-x[..., D/2:], x[..., :D/2])"""
    joined = defining(value, "ttnn.concat")
    if joined is None or len(joined.operands) != 2 or access.attr(joined, "dim") % len(shape(value)) != len(shape(value)) - 1:
        return None
    negated = defining(joined.operands[0], "ttnn.neg")
    cuts = [defining(negated.operands[0] if negated is not None else None, "ttnn.slice_static"), defining(joined.operands[1], "ttnn.slice_static")]
    upper, lower = cuts
    if negated is None or upper is None or lower is None or upper.operands[0] is not lower.operands[0]:
        return None
    x = upper.operands[0]
    dims = shape(x)
    size = dims[-1]
    for cut, begin in ((upper, size // 2), (lower, 0)):
        begins = [0] * (len(dims) - 1) + [begin]
        ends = [*dims[:-1], begin + size // 2]
        if list(access.attr(cut, "begins")) != begins or list(access.attr(cut, "ends")) != ends or any(step != 1 for step in access.attr(cut, "step")):
            return None
    return x, [lower, upper, negated, joined]


def _fits(x: SSAValue, cos: SSAValue, sin: SSAValue) -> bool:
    """What the kernel takes: whole tiles, halves of whole tiles, one table for all batches and heads, all of one type."""
    dims, layouts = shape(x), [layout_of(value.type) for value in (x, cos, sin)]
    if len(dims) != 4 or dims[2] % TILE_EDGE or dims[3] % (2 * TILE_EDGE):
        return False
    if any(shape(table) != (1, 1, *dims[2:]) for table in (cos, sin)):
        return False
    return all(one is not None and (one.dtype, one.page) == ("bf16", "tile") for one in layouts)
