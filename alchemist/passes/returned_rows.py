"""Results whose rows would have to move between tiles are returned in rows."""

from __future__ import annotations

from collections.abc import Sequence

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import Spec, query
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp

from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining, functions, replace, single_use
from alchemist.ir.layout import layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ops.library_names import DTYPES
from alchemist.optimizer.movement import CARDS
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, register

WORTH = 50_000.0
"""Nanoseconds that returning rows has to save at optimization level 0: below that, a result in tiles like all others is worth more."""
_BLOCKS = ("bfp_bf8", "bfp_bf4")


@register("returned-rows")
class ReturnedRows(Pass):
    """The last reshape of a result works on rows, where it is a view, if the clock says that this is much faster.

    Optimization level 0 asks for both cards and for `WORTH` device time: what the caller gets is a result in rows, written by the library's plain path.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        cards, worth = ((self.options.card,), 0.0) if self.options.optimization_level else (CARDS, WORTH)
        for func in functions(module, const_eval=False):
            _return_rows(func, cards, worth)


def _return_rows(func: FuncOp, cards: Sequence[str], worth: float) -> None:
    end = func.get_return_op()
    assert end is not None
    for value in list(end.operands):
        op = defining(value, "ttnn.reshape")
        if op is None or not single_use(value) or shape(op.operands[0])[-1:] != shape(value)[-1:]:
            continue
        before, after = layout_of(op.operands[0].type), layout_of(value.type)
        if before is None or after is None or before.on_host or (before.page, after.page) != ("tile", "tile") or before.dtype in _BLOCKS:
            continue
        if before.is_sharded or not all(_gain_ns(shape(op.operands[0]), shape(value), DTYPES[before.dtype], card) > worth for card in cards):
            continue
        b = Builder.before(op)
        rows = b.make("ttnn.to_layout", [op.operands[0]], {}, [before.with_(shape(op.operands[0]), page="row_major").type_for(shape(op.operands[0]))])
        made = b.make("ttnn.reshape", [rows.results[0]], {"shape": shape(value)}, [after.with_(shape(value), page="row_major").type_for(shape(value))])
        for each in (rows, made):
            set_source(each, *sources_of(op))
        replace(op, [made.results[0]])
    func.properties["function_type"] = FunctionType.from_lists([argument.type for argument in func.args], [value.type for value in end.operands])


def _gain_ns(before: tuple[int, ...], after: tuple[int, ...], dtype: str, card: str) -> float:
    """How much less time tiles take to become rows than rows to move between tiles; 0 where the clock cannot tell."""
    tiled = Spec(before, dtype, "tile")
    try:
        moved = query("ttnn.reshape", [tiled], card=card, shape=after).device_ns
        untiled = query("ttnn.to_layout", [tiled], card=card, layout="row_major").device_ns
    except ShimError:
        return 0.0
    return moved - untiled if untiled else 0.0
