"""TTNN: rotary embedding that a model writes out, as one op."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.ir.location import sources_of
from alchemist.passes.lower.context import user_per_core
from alchemist.passes.registry import Pass, add_sources, defining, erase, ops_named, register, replace

MOVE = "ttnn.to_memory_config"


@register("fuse-rotary", fusing=True)
class FuseRotary(Pass):
    """x * cos + concat(-x[D/2:], x[:D/2]) * sin becomes rotary_embedding, for one token of each user rotary_embedding_hf on shards."""

    def run(self, module: ModuleOp) -> None:
        moved: dict[SSAValue, SSAValue] = {}
        for op in ops_named(module, "ttnn.add", const_eval=False):
            for straight, turned in (op.operands, reversed(op.operands)):
                if _fuse(op, straight, turned, moved):
                    break


def _fuse(op: Operation, straight: SSAValue, turned: SSAValue, moved: dict[SSAValue, SSAValue]) -> bool:
    """moved: cos and sin of all users -> their rows on the users' cores, which all layers share."""
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
        if op.results[0].type != x.type or not (_fits(x, cos, sin) or _fits_decode(x, cos, sin)):
            continue
        dead = [other, one, *reversed(ops)]
        if _fits(x, cos, sin):
            made = Builder.before(op).make("ttnn.rotary_embedding", [x, cos, sin], {}, [op.results[0].type])
            result: SSAValue = made.results[0]
        else:
            made, result = _on_cores(op, x, [_rows(table, moved) for table in (cos, sin)])
        add_sources(made, one, *ops, other, op)
        _read_on_cores(op.results[0], made.results[0])
        replace(op, [result])
        for part in (*dead, x.owner, result.owner):
            if isinstance(part, Operation) and part.parent is not None and not any(True for value in part.results for _ in value.uses):
                erase(part)
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
    dims = shape(x)
    return len(dims) == 4 and dims[2] % TILE_EDGE == 0 and _are_tiles(x, cos, sin) and all(shape(table) == (1, 1, *dims[2:]) for table in (cos, sin))


def _fits_decode(x: SSAValue, cos: SSAValue, sin: SSAValue) -> bool:
    """[1, B, H, D] that comes from the users' cores, and a row of the tables for each user."""
    dims = shape(x)
    source = defining(x, MOVE)
    if source is None or len(dims) != 4 or dims[2] > TILE_EDGE or not _are_tiles(x, cos, sin):
        return False
    of = layout_of(x.type)
    return of is not None and source.operands[0].type == user_per_core(dims, of.dtype).type_for(dims) and shape(cos) == shape(sin) == (1, dims[1], 1, dims[3])


def _are_tiles(*values: SSAValue) -> bool:
    layouts = [layout_of(value.type) for value in values]
    whole = shape(values[0])[-1] % (2 * TILE_EDGE) == 0
    return whole and all(one is not None and (one.dtype, one.page, one.is_sharded) == ("bf16", "tile", False) for one in layouts)


def _rows(table: SSAValue, moved: dict[SSAValue, SSAValue]) -> SSAValue:
    if table not in moved:
        owner, dims = table.owner, shape(table)
        b = Builder.after(owner) if isinstance(owner, Operation) else Builder(owner, owner.first_op)
        b.source = (sources_of(owner) or None) if isinstance(owner, Operation) else None
        moved[table] = b.op(MOVE, [table], {}, [user_per_core(dims, "bf16").type_for(dims)])
    return moved[table]


def _on_cores(op: Operation, x: SSAValue, tables: list[SSAValue]) -> tuple[Operation, SSAValue]:
    """The op on the users' cores, and its result where the model's own was."""
    source = x.owner
    assert isinstance(source, Operation)
    b = Builder.before(op)
    given = source.operands[0]
    made = b.make("ttnn.rotary_embedding_hf", [given, *tables], {"is_decode_mode": True}, [given.type])
    b.source = sources_of(op) or None
    result: SSAValue = b.op(MOVE, [made.results[0]], {}, [op.results[0].type])
    return made, result


def _read_on_cores(value: SSAValue, kept: SSAValue) -> None:
    """What moves `value` to where `kept` is reads that, and so does decode attention, whose queries may lie there."""
    for use in list(value.uses):
        user = use.operation
        if user.name == MOVE and user.results[0].type == kept.type:
            replace(user, [kept])
        elif user.name == "ttnn.scaled_dot_product_attention_decode" and use.index == 0:
            user.operands[0] = kept
