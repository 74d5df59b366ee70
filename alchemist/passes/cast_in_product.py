"""TTNN: a matrix product is written in the type that its readers ask for, and reads a narrower one as it is."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir.access import shape
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import defining, erase, ops_named, single_use
from alchemist.ir.layout import layout_of
from alchemist.ops.spec import NOTE, PRODUCTS
from alchemist.passes.registry import Pass, register

MOVES = ("ttnn.split_query_key_value_and_split_heads", "ttnn.reshape", "ttnn.permute", "ttnn.transpose", "ttnn.slice_static")
"""Ops that give values of any type as they are."""


ROTATION = "ttnn.rotary_embedding_hf"


@register("cast-in-product", fusing=True)
class CastInProduct(Pass):
    """typecast(move(matmul(a, b))) becomes move(matmul(a, b, dtype=...)), rounded once as before; heads are joined, and what
    products alone read is reshaped, before a typecast to a wider type.

    So do sums and products of elements from float32 to bfloat16, and comparisons to any type that their results are cast to.

    matmul(typecast(a), b) of a typecast from bfloat16 to float32 becomes matmul(a, b, dtype=float32): the product is the same.
    """

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, *named("ttnn", "product", "arithmetic"), const_eval=False):
            _fold(op)
        for op in ops_named(module, *named("ttnn", "comparison"), const_eval=False):
            _fold_truth(op)
        for op in ops_named(module, "ttnn.concatenate_heads", const_eval=False):
            _widen_later(op)
        for op in ops_named(module, "ttnn.reshape", const_eval=False):
            if _is_read_by_products(op):
                _widen_later(op)
        for op in ops_named(module, *named("ttnn", "product"), const_eval=False):
            _read_narrow(op)


def _dtype(value: SSAValue) -> str:
    layout = layout_of(value.type)
    return layout.dtype if layout is not None else ""


@register("cast-before-rotation", fusing=True)
class CastBeforeRotation(Pass):
    """typecast(rotary_embedding_hf(heads of a product)) becomes rotary_embedding_hf of heads that the product writes in bfloat16, by tables in float32.

    What attention reads in bfloat16 is rounded there; queries and keys once more behind the rotation. Only where the product's other heads are
    cast, too, so that three programs go away.
    """

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, *named("ttnn", "product"), const_eval=False):
            _fold(op, ROTATION)


def _fold(product: Operation, through: str = "") -> None:
    """through: an op without which this is not done, and which is passed like moves."""
    if _dtype(product.results[0]) != "f32" or any(_dtype(value) != "f32" for value in product.operands[:2] if has_trait(product, "arithmetic")):
        return
    moved: list[SSAValue] = [product.results[0]]
    casts: list[Operation] = []
    for value in moved:
        for use in value.uses:
            if use.operation.name == "ttnn.typecast":
                casts.append(use.operation)
            elif use.operation.name in (*MOVES, through) and use.index == 0:
                moved += [result for result in use.operation.results if result not in moved]
            else:
                return
    if not casts or any(_dtype(cast.results[0]) != "bf16" for cast in casts):
        return
    if through and not any(defining(value, through) for value in moved):
        return
    note = next((cast.attributes[NOTE] for cast in casts if NOTE in cast.attributes), None)
    _retype(moved, casts, "bf16")
    if note is not None and NOTE not in product.attributes:
        product.attributes[NOTE] = note


def _fold_truth(op: Operation) -> None:
    moved: list[SSAValue] = [op.results[0]]
    casts: list[Operation] = []
    for value in moved:
        for use in value.uses:
            if use.operation.name == "ttnn.typecast":
                casts.append(use.operation)
            elif use.operation.name == "ttnn.reshape":
                moved.append(use.operation.results[0])
            else:
                return
    wanted = {_dtype(cast.results[0]) for cast in casts}
    if len(wanted) == 1 and not wanted & {"u8", "u16"}:
        _retype(moved, casts, wanted.pop())


def _retype(values: list[SSAValue], casts: list[Operation], dtype: str) -> None:
    """The values are of type `dtype`, the casts go away."""
    for value in values:
        layout = layout_of(value.type)
        assert layout is not None
        Rewriter.replace_value_with_new_type(value, layout.with_(shape(value), dtype=dtype).type_for(shape(value)))
    for cast in casts:
        source = cast.operands[0]
        cast.results[0].replace_all_uses_with(source)
        erase(cast)


def _is_read_by_products(op: Operation) -> bool:
    """Whether nothing but products that read a narrower type as it is, too, reads the result."""
    uses = list(op.results[0].uses)
    return bool(uses) and all(use.index == 0 and use.operation.name in PRODUCTS and _reads_narrow(use.operation) for use in uses)


def _reads_narrow(product: Operation) -> bool:
    return (_dtype(product.operands[1]), _dtype(product.results[0])) == ("f32", "f32")


def _widen_later(heads: Operation) -> None:
    """A cast in front of a move stands behind it."""
    cast = defining(heads.operands[0], "ttnn.typecast")
    if cast is None or not single_use(cast.results[0]) or (_dtype(cast.operands[0]), _dtype(cast.results[0])) != ("bf16", "f32"):
        return
    wide = heads.results[0].type
    result: SSAValue = heads.results[0]
    layout = layout_of(wide)
    assert layout is not None
    heads.operands[0] = cast.operands[0]
    result = Rewriter.replace_value_with_new_type(result, layout.with_(shape(result), dtype="bf16").type_for(shape(result)))
    cast.detach()  # type: ignore[no-untyped-call]
    assert heads.parent is not None
    heads.parent.insert_op_after(cast, heads)
    result.replace_all_uses_with(Rewriter.replace_value_with_new_type(cast.results[0], wide))
    cast.operands[0] = result


def _read_narrow(product: Operation) -> None:
    cast = defining(product.operands[0], "ttnn.typecast")
    if cast is None or (_dtype(cast.operands[0]), _dtype(cast.results[0])) != ("bf16", "f32") or not _reads_narrow(product):
        return
    product.operands[0] = cast.operands[0]
    if not list(cast.results[0].uses):
        erase(cast)
