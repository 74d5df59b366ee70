"""TTNN: rotary embedding that a model writes out, as one op."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources, defining, erase, erase_dead, functions, replace
from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.ir.location import sources_of
from alchemist.optimizer.movement import products_are_faster
from alchemist.options import CompilerOptions
from alchemist.passes.columns_by_product import Products
from alchemist.passes.lower.context import user_per_core
from alchemist.passes.registry import Pass, register
from alchemist.passes.rotations import Rotation, turns_halves

MOVE = "ttnn.to_memory_config"


@register("fuse-rotary", fusing=True)
class FuseRotary(Pass):
    """x * cos + turned x * sin becomes one program, for one token of each user rotary_embedding_hf on shards.

    turned: (-x2, x1) of two halves, or columns that a matrix makes of those of the same tile, in bfloat16 (pairs side by side).
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        moved: dict[SSAValue, SSAValue] = {}
        for func in functions(module, const_eval=False):
            if not any(op.name == "ttnn.concat" for op in func.body.block.ops):
                continue
            products = Products(func, self.options)
            for op in [op for op in func.body.block.ops if op.name == "ttnn.add"]:
                any(_replace(found, moved, products, self.options) for found in rotations(op, products))
            erase_dead(func)


def rotations(op: Operation, products: Products) -> Iterator[Rotation]:
    """Ways to read a ttnn.add as a rotation of columns of heads."""
    if len(shape(op.results[0])) != 4:
        return
    for straight, turned in (op.operands, reversed(op.operands)):
        one, other = defining(straight, "ttnn.multiply"), defining(turned, "ttnn.multiply")
        if one is None or other is None or any("alchemist.activations" in part.attributes for part in (op, one, other)):
            continue
        for place in (0, 1):
            views = products.views.of(other.operands[place]) if shape(other.operands[place]) else {}
            for x, cos in zip(one.operands, (one.operands[1], one.operands[0]), strict=True):
                if x in views and x is not other.operands[place]:
                    yield Rotation(op, x, views[x], cos, other.operands[1 - place])


def _replace(found: Rotation, moved: dict[SSAValue, SSAValue], products: Products, options: CompilerOptions) -> bool:
    """moved: cos and sin of all users -> their rows on the users' cores, which all layers share."""
    op, x, cos, sin = found.op, found.x, found.cos, found.sin
    replaced = products.between(x, op, cos, sin)
    if op.results[0].type == x.type and turns_halves(found.turned.picked) and _fits_decode(x, cos, sin):
        made, result = _on_cores(op, x, [_rows(table, moved) for table in (cos, sin)])
        add_sources(made, *reversed(replaced))
        _read_on_cores(op.results[0], made.results[0])
        replace(op, [result])
        return True
    written = found.written(products, replaced)
    if not written or not products_are_faster(written, replaced, options):
        for each in reversed(written):
            erase(each)
        return False
    replace(op, [written[-1].results[0]])
    return True


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
