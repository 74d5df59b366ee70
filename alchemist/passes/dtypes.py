"""Element types: narrower formats, redundant casts, and accumulation in float32."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import Float32Type, FunctionType, IntegerType, ModuleOp, TensorType, UnitAttr, bf16
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import set_attr, shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import defining, erase, functions, is_const_eval, ops_named, single_use
from alchemist.ir.layout import layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ops.spec import LARGEST_BFLOAT16, MOVING, NOTE, PRODUCTS
from alchemist.optimizer.matmul import FAST
from alchemist.passes.attention import narrow_masks
from alchemist.passes.lower.configs import BLOCK_PRECISIONS
from alchemist.passes.registry import Pass, register
from alchemist.passes.signs import INTEGERS, is_whole, stored_type

# --- `precision`: floats as bfloat16, values between matrix products and convolutions as bfloat8_b, products in LoFi. Norms, softmax and the residual
# stream of transformers keep bfloat16; sums of images between convolutions do not, as in hand-written networks.

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
    """float32 values become bfloat16, arguments and results too (`precision` other than `model`), so that the program is that of the model in bfloat16.

    Angles and indices computed from positions and constants keep float32: bfloat16 cannot represent 257.
    """

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


def _is_float32(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and isinstance(value.type.element_type, Float32Type)


def _narrow(func: FuncOp) -> None:
    exact = _exact_values(func)
    block = func.body.block
    values: list[SSAValue] = [*block.args, *(value for op in block.ops for value in op.results)]
    for value in values:
        if not _is_float32(value):
            continue
        kind = value.type
        assert isinstance(kind, TensorType)
        narrow = TensorType(bf16, kind.shape, kind.encoding)
        op = value.owner
        is_constant = isinstance(op, Operation) and not any(isinstance(operand.type, TensorType) for operand in op.operands)
        if value not in exact and not is_constant:
            Rewriter.replace_value_with_new_type(value, narrow)
            continue
        readers = [use for use in value.uses if not any(result in exact for result in use.operation.results) and not _is_cast_to_integers(use.operation)]
        if not readers:
            continue
        after = op.next_op if isinstance(op, Operation) else block.first_op
        assert after is not None
        cast = _narrow_fill(op, Builder.before(after), narrow) or Builder.before(after).make("ttir.typecast", [value], {}, [narrow])
        if isinstance(op, Operation):
            set_source(cast, *sources_of(op))
        for use in readers:
            use.operation.operands[use.index] = cast.results[0]
    last = block.last_op
    assert isinstance(last, ReturnOp)
    func.function_type = FunctionType.from_lists([argument.type for argument in func.args], [value.type for value in last.operands])


def _narrow_fill(op: object, builder: Builder, kind: TensorType) -> Operation | None:
    """The largest bfloat16 for a fill of a larger finite float32 such as `finfo(float32).min`, which a cast would make infinite."""
    fill = access.attr(op, "fill_value") if isinstance(op, Operation) and op.name == "ttir.full" else math.inf
    if not LARGEST_BFLOAT16 < abs(fill) < math.inf:
        return None
    attributes = {"shape": kind.get_shape(), "fill_value": math.copysign(LARGEST_BFLOAT16, fill)}
    return builder.make("ttir.full", [], attributes, [kind])


def _is_cast_to_integers(op: Operation) -> bool:
    kind = op.results[0].type if op.name == "ttir.typecast" else None
    return isinstance(kind, TensorType) and isinstance(kind.element_type, IntegerType) and kind.element_type.width.data > 1


def _exact_values(func: FuncOp) -> set[SSAValue]:
    """float32 values whose rounding would move an angle or an index: operands of sin, cos and casts to integers, and the values they are
    computed from, unless an activation is among these."""
    exact: set[SSAValue] = set()
    fixed = [access.is_fixed(facts) for facts in access.argument_attrs(func)]
    for op in func.body.block.ops:
        is_angle = has_trait(op, "angle")
        if (is_angle or _is_cast_to_integers(op)) and _is_float32(op.operands[0]) and op.operands[0] not in exact:
            exact |= _positions(op.operands[0], fixed)
        if is_angle and op.operands[0] in exact:
            exact.add(op.results[0])
    return exact


def _positions(value: SSAValue, fixed: Sequence[bool]) -> set[SSAValue]:
    """The float32 values that this one is computed from, including itself; empty if weights or activations are among them.

    Follows elementwise ops, data movement, and products without a float input. fixed: arguments that are the same in every call.
    """
    aliases, seen = [value], {value}
    has_product = has_input = False
    for current in aliases:
        op = current.owner
        if isinstance(current, BlockArgument):
            has_input |= not fixed[current.index]
        if not isinstance(op, Operation):
            continue
        if has_trait(op, "product"):
            has_product = True
        elif not any(has_trait(op, trait) for trait in _BY_ELEMENT):
            return set()
        fresh = {operand for operand in op.operands if _is_float32(operand)} - seen
        seen |= fresh
        aliases += fresh
    return set() if has_product and has_input else seen


_BY_ELEMENT = ("elementwise_unary", "elementwise_binary", "elementwise_ternary", "creation", "selects", "view", "keeps_weight")


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
    """Sets the types for which weights are prepared to those that the convolution reads and writes."""
    read, result_dtype = _dtype(op.operands[0]), _dtype(op.results[0])
    for value in op.operands[1:]:
        maker = value.owner
        if isinstance(maker, Operation) and maker.name.startswith("ttnn.prepare_conv2d"):
            if read == "bfp_bf8":
                access.set_attr(maker, "input_dtype", read)
            if result_dtype and result_dtype != (read or "bf16"):
                access.set_attr(maker, "output_dtype", result_dtype)


def _dtype(value: SSAValue) -> str:
    layout = layout_of(value.type)
    return layout.dtype if layout is not None and layout.data.tile and not layout.on_host else ""


def _narrow_values(func: FuncOp) -> list[SSAValue]:
    """Results of products, convolutions and carriers that reach nothing but products and convolutions, through carriers and sums of images that become
    narrow as a whole."""
    narrow: dict[SSAValue, None] = {}
    for op in func.body.block.ops:
        if has_trait(op, "product") or op.name in CARRIERS or op.name == IMAGES or _is_sum(op):
            narrow.update(dict.fromkeys(value for value in op.results if _dtype(value) == "bf16"))
    changed = True
    while changed:
        before = len(narrow)
        for value in list(narrow):
            if not all(_may_read(use.operation, use.index, narrow) for use in value.uses) or not _is_made_narrow(value, narrow):
                narrow.pop(value)
        changed = len(narrow) < before
    return list(narrow)


def _may_read(op: Operation, index: int, narrow: dict[SSAValue, None]) -> bool:
    if has_trait(op, "product"):
        return index < 2
    if op.name == IMAGES:
        return index == 0
    if _is_sum(op):
        return all(value in narrow for value in (*op.operands, *op.results))
    return index in CARRIERS.get(op.name, ()) and all(result in narrow for result in op.results)


def _is_made_narrow(value: SSAValue, narrow: dict[SSAValue, None]) -> bool:
    op = value.owner
    assert isinstance(op, Operation)
    if has_trait(op, "product") or op.name == IMAGES:
        return True
    if _is_sum(op):
        return all(value in narrow for value in op.operands)
    return all(op.operands[index] in narrow for index in CARRIERS[op.name]) and all(result in narrow for result in op.results)


def _is_sum(op: Operation) -> bool:
    """Whether the op adds two flat images [1, 1, N*H*W, C]."""
    if op.name != SUMS:
        return False
    shapes = {shape(value) for value in (*op.operands, *op.results)}
    return len(shapes) == 1 and all(len(dims) == 4 and dims[:2] == (1, 1) for dims in shapes)


# --- TTNN: casts that cancel out, and casts through a wider type. ---

_EXACT = frozenset({("bf16", "f32"), ("u32", "si32"), ("si32", "u32"), ("u16", "u32"), ("u16", "si32"), ("u8", "u32"), ("u8", "si32")})
"""Lossless casts."""


@register("fold-typecasts")
class FoldTypecasts(Pass):
    """Removes casts that cancel out or go through a needless type.

    eq(typecast(x), c) of an unsigned x and a constant c >= 0 becomes eq(x, c): the chosen experts of a token.
    """

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttnn.typecast"):
            _fold(op)
        for op in ops_named(module, "ttnn.typecast", const_eval=False):
            if op.parent is not None and (stored_type(op.operands[0]), stored_type(op.results[0])) == ("u32", "si32"):
                _compare_unsigned(op)


def _fold(op: Operation) -> None:
    inner = defining(op.operands[0], "ttnn.typecast")
    if inner is None:
        return
    source = inner.operands[0]
    first, middle, last = stored_type(source), stored_type(inner.results[0]), stored_type(op.results[0])
    exact = (first, middle) in _EXACT or (first not in INTEGERS and middle in INTEGERS and is_whole(source))
    if first == last and exact and source.type == op.results[0].type:
        op.results[0].replace_all_uses_with(source)
        erase(op)
    elif (first, middle) == ("u32", "si32") and last not in INTEGERS and is_whole(source):
        op.operands[0] = source
    else:
        return
    if not any(True for _ in inner.results[0].uses):
        erase(inner)


_EQUALITY = named("ttnn", "comparison") & named("ttnn", "commutative")


def _compare_unsigned(cast: Operation) -> None:
    """Removes the cast, and all others whose results are compared with the same constants, if only such comparisons read them."""
    values, casts, constants = [cast.results[0]], [cast], []
    for value in values:
        for use in value.uses:
            if use.operation.name in MOVING:
                values += [one for one in use.operation.results if one not in values]
            elif use.operation.name not in _EQUALITY:
                return
            else:
                other = use.operation.operands[1 - use.index]
                while other not in values:
                    values.append(other)
                    if (move := defining(other, "ttnn.reshape", "ttnn.to_layout")) is not None:
                        other = move.operands[0]
        owner = value.owner
        if isinstance(owner, Operation) and owner.name == "ttnn.constant" and access.attr(owner, "value").min() >= 0:
            constants.append(owner)
        elif isinstance(owner, Operation) and owner.name == "ttnn.typecast" and stored_type(owner.operands[0]) == "u32":
            casts += [owner] if owner not in casts else []
        elif defining(value, "ttnn.reshape", "ttnn.to_layout") is None:
            return
    for constant in constants:
        set_attr(constant, "value", np.asarray(access.attr(constant, "value")).astype(np.uint32))
    _retype([value for value in values if value.owner not in casts], casts, "u32")


# --- TTNN: a matrix product writes the type that its readers need, and reads narrower types without a cast. ---

ROTATION = "ttnn.rotary_embedding_hf"


@register("cast-in-product", fusing=True)
class CastInProduct(Pass):
    """typecast(move(matmul(a, b))) becomes move(matmul(a, b, dtype=...)), rounded once as before; heads are joined, and what
    products alone read is reshaped, before a typecast to a wider type.

    So do convolutions, sums and products of elements from float32 to bfloat16, and comparisons to any type that their results are cast to.

    matmul(typecast(a), b) of a typecast from bfloat16 to float32 becomes matmul(a, b, dtype=float32): the product is the same.
    """

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, *named("ttnn", "product", "arithmetic", "convolution2d"), const_eval=False):
            _fold_cast(op)
        for op in ops_named(module, *named("ttnn", "comparison"), const_eval=False):
            _fold_truth(op)
        for op in ops_named(module, "ttnn.concatenate_heads", const_eval=False):
            _widen_later(op)
        for op in ops_named(module, "ttnn.reshape", const_eval=False):
            if _is_read_by_products(op):
                _widen_later(op)
        for op in ops_named(module, *named("ttnn", "product"), const_eval=False):
            _read_narrow(op)


@register("cast-before-rotation", fusing=True)
class CastBeforeRotation(Pass):
    """typecast(rotary_embedding_hf(heads of a product)) becomes rotary_embedding_hf of heads that the product writes in bfloat16, by tables in float32.

    What attention reads in bfloat16 is rounded there; queries and keys once more behind the rotation. Only where the product's other heads are
    cast, too, so that three programs go away.
    """

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, *named("ttnn", "product"), const_eval=False):
            _fold_cast(op, ROTATION)


def _fold_cast(product: Operation, through: str = "") -> None:
    """through: an op that has to be on the way to the casts, and is passed like data movement."""
    if stored_type(product.results[0]) != "f32" or any(stored_type(value) != "f32" for value in product.operands[:2] if has_trait(product, "arithmetic")):
        return
    moved_values, casts = _readers(product.results[0], (*named("ttnn", "keeps_elements"), through))
    if not casts or any(stored_type(cast.results[0]) != "bf16" for cast in casts):
        return
    if through and not any(defining(value, through) for value in moved_values):
        return
    note = next((cast.attributes[NOTE] for cast in casts if NOTE in cast.attributes), None)
    _retype(moved_values, casts, "bf16")
    if note is not None and NOTE not in product.attributes:
        product.attributes[NOTE] = note


def _readers(value: SSAValue, passed: Sequence[str]) -> tuple[list[SSAValue], list[Operation]]:
    """(the value and the results of ops named in `passed` that read it, the typecasts of these); no typecasts if any other op reads one of them."""
    moved_values, casts = [value], []
    for moved_value in moved_values:
        for use in moved_value.uses:
            if use.operation.name == "ttnn.typecast":
                casts.append(use.operation)
            elif use.operation.name in passed and use.index == 0:
                moved_values += [result for result in use.operation.results if result not in moved_values]
            else:
                return moved_values, []
    return moved_values, casts


def _fold_truth(op: Operation) -> None:
    moved_values, casts = _readers(op.results[0], ("ttnn.reshape",))
    types = {stored_type(cast.results[0]) for cast in casts}
    if len(types) == 1 and not types & {"u8", "u16"}:
        _retype(moved_values, casts, types.pop())


def _retype(values: list[SSAValue], casts: list[Operation], dtype: str) -> None:
    """Sets the type of the values to `dtype` and removes the casts."""
    for value in values:
        layout = layout_of(value.type)
        assert layout is not None
        Rewriter.replace_value_with_new_type(value, layout.with_(shape(value), dtype=dtype).type_for(shape(value)))
    for cast in casts:
        source = cast.operands[0]
        cast.results[0].replace_all_uses_with(source)
        erase(cast)


def _is_read_by_products(op: Operation) -> bool:
    """Whether only products read the result, which all accept a narrower type."""
    uses = list(op.results[0].uses)
    return bool(uses) and all(use.index == 0 and use.operation.name in PRODUCTS and _reads_narrow(use.operation) for use in uses)


def _reads_narrow(product: Operation) -> bool:
    return (stored_type(product.operands[1]), stored_type(product.results[0])) == ("f32", "f32")


def _widen_later(heads: Operation) -> None:
    """Sinks a cast below the data movement that reads it."""
    cast = defining(heads.operands[0], "ttnn.typecast")
    if cast is None or not single_use(cast.results[0]) or (stored_type(cast.operands[0]), stored_type(cast.results[0])) != ("bf16", "f32"):
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
    if cast is None or (stored_type(cast.operands[0]), stored_type(cast.results[0])) != ("bf16", "f32") or not _reads_narrow(product):
        return
    product.operands[0] = cast.operands[0]
    if not list(cast.results[0].uses):
        erase(cast)


# --- TTNN: a compute config without an accumulation setting keeps float32 accumulation. ---

_CONFIG, _FIELD = "compute_config", "fp32_dest_acc_en"


@register("float32-sums")
class Float32Sums(Pass):
    """A compute config that says nothing of sums adds float32 operands in 32 bits, as the library does without any config.

    The library's config class has 16-bit sums for what is not given: `math_fidelity=hifi4` alone would make a float32 model less exact.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in func.body.block.ops:
                config = access.attr(op, _CONFIG) if op.operands else None
                if config is None or config.get(_FIELD) is not None:
                    continue
                layouts = [layout_of(value.type) for value in op.operands[:2]]
                if all(of is None or of.dtype == "f32" for of in layouts):
                    access.set_attr(op, _CONFIG, access.struct("ttnn.device_compute_kernel_config", {**config, _FIELD: True}))
