"""`precision`: floats as bfloat16, values between matrix products and convolutions as bfloat8_b, products in LoFi. Norms, softmax and the residual
stream of transformers keep bfloat16; sums of images between convolutions do not, as in hand-written networks."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import Float32Type, ModuleOp, TensorType, UnitAttr, bf16
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.optimizer.matmul import FAST
from alchemist.passes.lower.configs import BLOCK_PRECISIONS
from alchemist.passes.narrow_masks import narrow_masks
from alchemist.passes.registry import Pass, register

CARRIERS = {
    "ttnn.split_query_key_value_and_split_heads": (0,),
    "ttnn.scaled_dot_product_attention": (0, 1, 2),
    "ttnn.concatenate_heads": (0,),
    "ttnn.nlp_concat_heads": (0,),
    "ttnn.gelu": (0,),
    "ttnn.relu": (0,),
    "ttnn.silu": (0,),
}
"""Ops whose results have the type of these operands, which all have one type."""
IMAGES = "ttnn.conv2d"
SUMS = "ttnn.add"


@register("narrow-floats")
class NarrowFloats(Pass):
    """float32 values become bfloat16, inputs and results keep their type (`precision` other than `model`)."""

    precision: str

    def run(self, module: ModuleOp) -> None:
        if self.precision != "model":
            for func in functions(module):
                if _is_wide(func):
                    _narrow(func)


def _is_wide(func: FuncOp) -> bool:
    """Whether the model computes in float32: a bfloat16 model keeps what it computes in float32 on purpose."""
    elements = {"f32": 0, "bf16": 0}
    for argument in func.args:
        kind = access.element_type(argument) if isinstance(argument.type, TensorType) else ""
        if kind in elements:
            elements[kind] += math.prod(shape(argument))
    return elements["f32"] > elements["bf16"]


def _is_float32(kind: Attribute) -> bool:
    return isinstance(kind, TensorType) and isinstance(kind.element_type, Float32Type)


def _as_bf16(kind: Attribute) -> Attribute:
    assert isinstance(kind, TensorType)
    return TensorType(bf16, kind.shape, kind.encoding)


def _narrow(func: FuncOp) -> None:
    block = func.body.block
    ops = list(block.ops)
    for argument in func.args:
        if _is_float32(argument.type) and any(True for _ in argument.uses):
            cast = Builder.before(ops[0]).make("ttir.typecast", [argument], {}, [_as_bf16(argument.type)])
            argument.replace_uses_with_if(cast.results[0], lambda use, cast=cast: use.operation is not cast)  # type: ignore[misc]
    for op in ops:
        if isinstance(op, ReturnOp):
            for index, wanted in enumerate(func.function_type.outputs):
                value = op.operands[index]
                if _is_float32(wanted) and value.type != wanted:
                    back = Builder.before(op).make("ttir.typecast", [value], {}, [wanted])
                    if isinstance(value.owner, Operation):
                        set_source(back, *sources_of(value.owner))
                    op.operands[index] = back.results[0]
            continue
        for result in op.results:
            if not _is_float32(result.type):
                continue
            if any(isinstance(value.type, TensorType) for value in op.operands):
                Rewriter.replace_value_with_new_type(result, _as_bf16(result.type))
            else:  # a constant
                after = op.next_op
                assert after is not None
                cast = Builder.before(after).make("ttir.typecast", [result], {}, [_as_bf16(result.type)])
                set_source(cast, *sources_of(op))
                result.replace_uses_with_if(cast.results[0], lambda use, cast=cast: use.operation is not cast)  # type: ignore[misc]


@register("narrow-products")
class NarrowProducts(Pass):
    """Values that only matrix products, convolutions and attention read become bfloat8_b, products run in LoFi or HiFi2 (`precision` bfp8, bfp8_lofi).

    So do attention masks of two values, with an optimization level at any precision: they lose nothing.
    In bfp8_lofi a GELU that a program config of level 1 or 2 holds comes from the chip's table.
    """

    precision: str
    math_fidelity: str | None
    optimization_level: int

    def run(self, module: ModuleOp) -> None:
        if self.precision not in BLOCK_PRECISIONS:
            for func in functions(module) if self.optimization_level else ():
                if not is_const_eval(func):
                    narrow_masks(func)
            return
        fidelity = self.math_fidelity or ("lofi" if self.precision == "bfp8_lofi" else "hifi2")
        for func in functions(module, const_eval=False):
            for value in _narrow_values(func):
                layout = layout_of(value.type)
                assert layout is not None
                Rewriter.replace_value_with_new_type(value, layout.with_(shape(value), dtype="bfp_bf8").type_for(shape(value)))
            narrow_masks(func)
            for op in func.body.block.ops:
                if op.name in named("ttnn", "product", "convolution2d"):
                    _set_fidelity(op, fidelity)
                if op.name == IMAGES:
                    _prepare_for(op)
                if has_trait(op, "product") and self.precision == "bfp8_lofi" and access.attr(op, "activation") == "gelu":
                    op.attributes[FAST] = UnitAttr()


def _set_fidelity(op: Operation, fidelity: str) -> None:
    if access.attr(op, "compute_config") is None and _dtype(op.operands[0]) != "f32":
        values = {"math_fidelity": fidelity, "math_approx_mode": False, "fp32_dest_acc_en": False, "packer_l1_acc": True}
        access.set_attr(op, "compute_config", access.struct("ttnn.device_compute_kernel_config", values))


def _prepare_for(op: Operation) -> None:
    """Weights are prepared for the types that the convolution reads and writes."""
    read, made = _dtype(op.operands[0]), _dtype(op.results[0])
    for value in op.operands[1:]:
        maker = value.owner
        if isinstance(maker, Operation) and maker.name.startswith("ttnn.prepare_conv2d"):
            if read == "bfp_bf8":
                access.set_attr(maker, "input_dtype", read)
            if made and made != (read or "bf16"):
                access.set_attr(maker, "output_dtype", made)


def _dtype(value: SSAValue) -> str:
    layout = layout_of(value.type)
    return layout.dtype if layout is not None and layout.data.tile and not layout.on_host else ""


def _narrow_values(func: FuncOp) -> list[SSAValue]:
    """Results of products, convolutions and carriers that reach nothing but products and convolutions, through carriers and sums of images that become
    narrow as a whole."""
    found: dict[SSAValue, None] = {}
    for op in func.body.block.ops:
        if has_trait(op, "product") or op.name in CARRIERS or op.name == IMAGES or _is_sum(op):
            found.update(dict.fromkeys(value for value in op.results if _dtype(value) == "bf16"))
    changed = True
    while changed:
        before = len(found)
        for value in list(found):
            if not all(_may_read(use.operation, use.index, found) for use in value.uses) or not _is_made_narrow(value, found):
                found.pop(value)
        changed = len(found) < before
    return list(found)


def _may_read(op: Operation, index: int, narrow: dict[SSAValue, None]) -> bool:
    if has_trait(op, "product"):
        return index < 2
    if op.name == IMAGES:
        return index == 0
    if _is_sum(op):
        return all(each in narrow for each in (*op.operands, *op.results))
    return index in CARRIERS.get(op.name, ()) and all(result in narrow for result in op.results)


def _is_made_narrow(value: SSAValue, narrow: dict[SSAValue, None]) -> bool:
    op = value.owner
    assert isinstance(op, Operation)
    if has_trait(op, "product") or op.name == IMAGES:
        return True
    if _is_sum(op):
        return all(each in narrow for each in op.operands)
    return all(op.operands[index] in narrow for index in CARRIERS[op.name]) and all(result in narrow for result in op.results)


def _is_sum(op: Operation) -> bool:
    """A sum of two flat images [1, 1, N*H*W, C]."""
    if op.name != SUMS:
        return False
    shapes = {shape(value) for value in (*op.operands, *op.results)}
    return len(shapes) == 1 and all(len(each) == 4 and each[:2] == (1, 1) for each in shapes)
