"""Results whose rows would have to move between tiles are returned in rows."""

from __future__ import annotations

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import Spec, query
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp

from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.layout import layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ops.library_names import DTYPES
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, defining, functions, is_const_eval, register, replace, single_use

_BLOCKS = ("bfp_bf8", "bfp_bf4")


@register("returned-rows")
class ReturnedRows(Pass):
    """The last reshape of a result works on rows, where it is a view, if the clock says that this is faster (optimization_level 1 and 2)."""

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module) if self.options.optimization_level else ():
            if not is_const_eval(func):
                _return_rows(func, self.options.card)


def _return_rows(func: FuncOp, card: str) -> None:
    end = func.get_return_op()
    assert end is not None
    for value in list(end.operands):
        op = defining(value, "ttnn.reshape")
        if op is None or not single_use(value) or shape(op.operands[0])[-1:] != shape(value)[-1:]:
            continue
        before, after = layout_of(op.operands[0].type), layout_of(value.type)
        if before is None or after is None or before.on_host or (before.page, after.page) != ("tile", "tile") or before.dtype in _BLOCKS:
            continue
        if before.is_sharded or not _is_faster(shape(op.operands[0]), shape(value), DTYPES[before.dtype], card):
            continue
        b = Builder.before(op)
        rows = b.make("ttnn.to_layout", [op.operands[0]], {}, [before.with_(shape(op.operands[0]), page="row_major").type_for(shape(op.operands[0]))])
        made = b.make("ttnn.reshape", [rows.results[0]], {"shape": shape(value)}, [after.with_(shape(value), page="row_major").type_for(shape(value))])
        for each in (rows, made):
            set_source(each, *sources_of(op))
        replace(op, [made.results[0]])
    func.properties["function_type"] = FunctionType.from_lists([argument.type for argument in func.args], [value.type for value in end.operands])


def _is_faster(before: tuple[int, ...], after: tuple[int, ...], dtype: str, card: str) -> bool:
    """Whether tiles become rows in less time than rows move between tiles."""
    tiled = Spec(before, dtype, "tile")
    try:
        moved = query("ttnn.reshape", [tiled], card=card, shape=after).device_ns
        untiled = query("ttnn.to_layout", [tiled], card=card, layout="row_major").device_ns
    except ShimError:
        return False
    return 0 < untiled < moved
