"""TTNN: caches of keys and values in a block format (`experimental_kv_cache_dtype`, and `precision` bfp8, bfp8_lofi), as hand-written decoders hold them."""

from __future__ import annotations

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir.access import WRITTEN, argument_attrs, shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.passes.lower.configs import BLOCK_PRECISIONS
from alchemist.passes.registry import Pass, register

_KEYS, _VALUES = 1, 2
"""Places of the caches among an attention's operands."""


@register("narrow-caches")
class NarrowCaches(Pass):
    """Caches that only cache writes and attention use become bfloat8_b; the rows of a prompt are cast in front of `fill_cache`."""

    experimental_kv_cache_dtype: str
    precision: str

    def run(self, module: ModuleOp) -> None:
        dtype = self.experimental_kv_cache_dtype
        if dtype == "none":
            dtype = "bfp_bf8" if self.precision in BLOCK_PRECISIONS else ""
        for func in functions(module) if dtype else ():
            if not is_const_eval(func):
                _narrow(func, dtype)


def _narrow(func: FuncOp, dtype: str) -> None:
    caches = _caches(func)
    for cache in caches:
        for use in list(cache.uses):
            if has_trait(use.operation, "writes_rows"):
                _cast_rows(use.operation, dtype)
        _retype(cache, dtype)
    if caches:
        last = func.body.block.last_op
        assert isinstance(last, ReturnOp)
        inputs, outputs = [argument.type for argument in func.args], [value.type for value in last.operands]
        func.function_type = FunctionType.from_lists(inputs, outputs)


def _caches(func: FuncOp) -> list[BlockArgument]:
    """Written arguments in bfloat16 that nothing but cache writes and attention reads; keys and values that one attention reads go together."""
    found = {
        argument
        for argument, facts in zip(func.args, argument_attrs(func), strict=True)
        if WRITTEN in facts and _is_tiled_bf16(argument) and any(has_trait(use.operation, "attention") for use in argument.uses)
    }
    changed = True
    while changed:
        kept = {cache for cache in found if all(_may_use(use.operation, use.index, found) for use in cache.uses)}
        changed, found = len(kept) < len(found), kept
    return [argument for argument in func.args if argument in found]


def _is_tiled_bf16(value: SSAValue) -> bool:
    layout = layout_of(value.type)
    return layout is not None and layout.dtype == "bf16" and layout.page == "tile" and not layout.on_host


def _may_use(op: Operation, index: int, caches: set[BlockArgument]) -> bool:
    if has_trait(op, "attention"):
        return index in (_KEYS, _VALUES) and all(op.operands[place] in caches for place in (_KEYS, _VALUES))
    return isinstance(op, ReturnOp) or (op.name in named("ttnn", "writes_position", "writes_rows") and index == 0)


def _retype(value: SSAValue, dtype: str) -> None:
    layout = layout_of(value.type)
    assert layout is not None
    Rewriter.replace_value_with_new_type(value, layout.with_(shape(value), dtype=dtype).type_for(shape(value)))


def _cast_rows(write: Operation, dtype: str) -> None:
    rows = write.operands[1]
    layout = layout_of(rows.type)
    if layout is None or layout.dtype == dtype:
        return
    cast = Builder.before(write).make("ttnn.typecast", [rows], {}, [layout.with_(shape(rows), dtype=dtype).type_for(shape(rows))])
    set_source(cast, *sources_of(write))
    write.operands[1] = cast.results[0]
