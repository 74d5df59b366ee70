"""TTNN text as the emitters need it: every tensor with a layout, no devices among the arguments, conversions in single steps.

Files of the real compiler's passes leave layouts out where a pass does not look at them. A tensor without one gets what the
library wants by default: tiles in DRAM; row-major where the reading op takes nothing else (ids, page tables, weights of
convolutions that are not prepared, which come from the host).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.errors import LoweringError
from alchemist.ir.access import attr, element_type, operands, shape
from alchemist.ir.attributes import DeviceType
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import TTOp
from alchemist.ir.edit import erase, replace
from alchemist.ir.layout import HELD_AS, TTNNLayout, layout_of
from alchemist.ir.location import place_of, sources_of
from alchemist.ir.op_class import named
from alchemist.ops.expand import COLLECTIVES, on_one_chip

_ROW_MAJOR = {
    "ttnn.embedding": {"input": "u32"}, "ttnn.embedding_bw": {"input": "u32"}, "ttnn.upsample": {"input": ""}, "ttnn.paged_fill_cache": {"page_table": "si32"},
    "ttnn.paged_update_cache": {"update_index": "si32", "page_table": "si32"},
    "ttnn.scaled_dot_product_attention_decode": {"cur_pos_tensor": "si32"},
    "ttnn.paged_scaled_dot_product_attention_decode": {"page_table": "si32", "cur_pos_tensor": "si32"},
    "ttnn.chunked_scaled_dot_product_attention": {"page_table": "si32", "chunk_start_idx": "si32"},
}  # fmt: skip
"""Operands that are read in row-major pages, and the data type they must have ("": their own)."""
_CONVOLUTIONS = named("ttnn", "convolution", "convolution2d")
_MOVES = {"ttnn.to_device": "dram", "ttnn.from_device": "system_memory"}


def take_devices(function: FuncOp) -> None:
    """Device arguments become `ttnn.get_device`: the program has its device."""
    block = function.body.block
    kept = [index for index, arg in enumerate(block.args) if not isinstance(arg.type, DeviceType)]
    if len(kept) == len(block.args):
        return
    given = function.properties.get("arg_attrs")
    if isinstance(given, ArrayAttr):
        function.properties["arg_attrs"] = ArrayAttr([given.data[index] for index in kept])
    device = Builder(block, block.first_op).op("ttnn.get_device", [], {}, [DeviceType()])
    for arg in [arg for arg in block.args if isinstance(arg.type, DeviceType)]:
        arg.replace_all_uses_with(device)
        block.erase_arg(arg)
    _signature(function)


def complete(module: ModuleOp) -> None:
    """Rewrites the functions with TTNN ops in place, calls inlined; others stay as they are.

    Raises:
        LoweringError: a tensor whose elements the device cannot hold.
    """
    for function in [op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks]:
        ops = list(function.body.block.ops)
        if any(op.name.startswith("ttnn.") for op in ops) and not any(op.name.startswith("ttir.") for op in ops):
            _layouts(function)
            for op in ops:
                if op.name == "ttnn.to_tensor_spec":
                    _in_steps(op)
                elif op.name == "ttnn.constant":
                    _constant_on_device(op)
                elif op.name in _CONVOLUTIONS and _is_raw(op):
                    _from_host(op, (*operands(op, "weight"), *operands(op, "bias")))
                elif op.name.startswith("ttnn.prepare_conv"):
                    _from_host(op, op.operands[:1])
                elif op.name == "ttnn.embedding_bw":
                    _table_gradient(op)
                elif op.name.removeprefix("ttnn.") in COLLECTIVES:
                    _collective(op)
            _signature(function)


def _layouts(function: FuncOp) -> None:
    block = function.body.block
    for value in [*block.args, *(result for op in block.ops for result in op.results)]:
        if isinstance(value.type, TensorType) and value.type.encoding.name == "none" and all(dim >= 0 for dim in value.type.get_shape()):
            Rewriter.replace_value_with_new_type(value, _layout(value).type_for(shape(value)))


def _layout(value: SSAValue) -> TTNNLayout:
    of = element_type(value)
    dtype, page, buffer = HELD_AS.get(of, of), "tile", "dram"
    maker = value.owner
    if isinstance(value.type, TensorType) and "quant" in str(value.type.get_element_type()):
        dtype = "si32"  # how the library holds quantised numbers
    if isinstance(maker, Operation) and maker.name in _MOVES:
        source = layout_of(maker.operands[0].type)
        page, buffer = source.page if source is not None else page, _MOVES[maker.name]
    elif isinstance(maker, Operation) and maker.name == "ttnn.upsample":
        page = "row_major"
    for op in [use.operation for use in value.uses]:
        for name, wanted in _ROW_MAJOR.get(op.name, {}).items():
            if isinstance(op, TTOp) and value in operands(op, name):
                page, dtype = "row_major", wanted or dtype
        if op.name in _CONVOLUTIONS and isinstance(op, TTOp) and value in (*operands(op, "weight"), *operands(op, "bias")) and _is_raw(op):
            page = "row_major"
    if dtype not in HELD_AS.values() and not dtype.startswith("bfp"):
        where = maker if isinstance(maker, Operation) else None
        raise LoweringError(
            "the device does not support this tensor", op=where.name if where else "func.func", got=of, location=place_of(where) if where else ""
        )
    return TTNNLayout.make(shape(value), dtype, "tile" if dtype.startswith("bfp") else page, buffer)


def _constant_on_device(op: Operation) -> None:
    """A constant of the host is made on the device, where programs make all of them, and brought back."""
    result = op.results[0]
    layout = layout_of(result.type)
    if layout is None or not layout.on_host:
        return
    b, dims = Builder.before(op), shape(result)
    b.source = sources_of(op) or None
    device = b.op("ttnn.get_device", [], {}, [DeviceType()])
    made = b.op("ttnn.constant", [device], {"value": op.properties["value"]}, [layout.with_(dims, buffer="dram").type_for(dims)])
    result.replace_all_uses_with(b.op("ttnn.from_device", [made], {}, [result.type]))
    erase(op)


_CALLS = named("ttnn", "collective")
"""Collectives that are one call along an axis of the mesh; a program for one chip is refused with them when it is lowered."""


def _collective(op: Operation) -> None:
    if on_one_chip(op):
        replace(op, [op.operands[0]])
    elif op.name not in _CALLS or attr(op, "cluster_axis") is None or attr(op, "reduce_type") not in (None, "sum"):
        hint = f"along one axis there are {', '.join(sorted(name.removeprefix('ttnn.') for name in _CALLS))} of sums; give the others as TTIR or StableHLO"
        raise LoweringError("a collective of several chips", op=op.name, location=place_of(op), hint=hint)


def _is_raw(op: Operation) -> bool:
    """Whether a convolution's weights have their own shape: [out, in, height, width], not prepared."""
    weight = operands(op, "weight")[0]
    return shape(weight)[:2] != (1, 1) and isinstance(weight.owner, Block)


def _is_on_device(value: SSAValue) -> bool:
    """Where the program has a value, which for conversions of an argument that the text keeps on the host is the device."""
    pending, seen = [value], set[Operation]()
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Block) or owner.name == "ttnn.to_device":
            return True
        if owner.name != "ttnn.from_device" and owner not in seen:
            seen.add(owner)
            sources = [operand for operand in owner.operands if isinstance(operand.type, TensorType)]
            if not sources:
                return True
            pending += sources
    return False


def _from_host(op: Operation, weights: Sequence[SSAValue]) -> None:
    """Programs load every argument to the device; weights that the library prepares must come from the host."""
    for value in weights:
        layout = layout_of(value.type)
        if layout is not None and _is_on_device(value):
            b, dims = Builder.before(op), shape(value)
            moved = b.op("ttnn.from_device", [value], {}, [layout.with_(dims, buffer="system_memory").type_for(dims)])
            if layout.page == "tile":  # texts of 2024: the runtime of that day untilized them
                moved = b.op("ttnn.to_layout", [moved], {}, [layout.with_(dims, buffer="system_memory", page="row_major").type_for(dims)])
            op.operands = [moved if operand is value else operand for operand in op.operands]


def _table_gradient(op: Operation) -> None:
    """What the library's call takes and gives: row-major ids, bfloat16, a result of rank 4. Texts before tt-mlir's workarounds have other types."""
    b, result = Builder.in_place_of(op), op.results[0]
    conversions: list[OpResult] = []

    def held(value: SSAValue, dtype: str, page: str) -> SSAValue:
        have = layout_of(value.type)
        if have is None or (have.dtype, have.page) == (dtype, page):
            return value
        to = have.with_(shape(value), dtype=dtype, page=page, buffer="dram").type_for(shape(value))
        conversions.append(b.op("ttnn.to_tensor_spec", [value], {}, [to]))
        return conversions[-1]

    ids, table, gradient = op.operands
    want = layout_of(result.type)
    assert want is not None
    full = (1,) * (4 - len(shape(result))) + shape(result)
    inside = want.with_(full, dtype="bf16", page="tile", buffer="dram")
    made = b.op("ttnn.embedding_bw", [held(ids, "u32", "row_major"), held(table, "bf16", "tile"), held(gradient, "bf16", "tile")], {}, [inside.type_for(full)])
    if full != shape(result):
        made = b.op("ttnn.reshape", [made], {"shape": [*shape(result)]}, [inside.with_(shape(result)).type_for(shape(result))])
    if made.type != result.type:
        made = b.op("ttnn.to_tensor_spec", [made], {}, [result.type])
        conversions.append(made)
    result.replace_all_uses_with(made)
    erase(op)
    for each in conversions:
        _in_steps(each.op)


def _in_steps(op: Operation) -> None:
    """`ttnn.to_tensor_spec` as the library's own calls: to the device, data type, page layout, memory, to the host."""
    value, result = op.operands[0], op.results[0]
    have, want = layout_of(value.type), layout_of(result.type)
    if have is None or want is None:
        raise LoweringError("a conversion of a tensor without layout", op=op.name, location=place_of(op))
    dims = shape(result)
    b = Builder.in_place_of(op)

    def step(name: str, to: TTNNLayout, *more: SSAValue) -> None:
        nonlocal value, have
        value, have = b.op(f"ttnn.{name}", [value, *more], {}, [to.type_for(dims)]), to

    on_host = have.on_host and want.on_host
    if have.on_host and not on_host:
        step("to_device", have.with_(dims, buffer="dram"), b.op("ttnn.get_device", [], {}, [DeviceType()]))
    if have.dtype != want.dtype:
        if have.page == "row_major":  # the library converts tiles on the device
            step("to_layout", have.with_(dims, page="tile"))
        step("typecast", have.with_(dims, dtype=want.dtype))
    if have.page != want.page:
        step("to_layout", have.with_(dims, page=want.page))
    if not want.on_host and (have.buffer, have.memory, have.grid) != (want.buffer, want.memory, want.grid):
        step("to_memory_config", want)
    if want.on_host and not have.on_host:
        step("from_device", want)
    if value.type != result.type:
        value = b.op("ttnn.assign", [value], {}, [result.type]) if value is op.operands[0] else Rewriter.replace_value_with_new_type(value, result.type)
    result.replace_all_uses_with(value)
    erase(op)


def _signature(function: FuncOp) -> None:
    block = function.body.block
    end = block.last_op
    outputs = list(end.operand_types) if isinstance(end, ReturnOp) else list(function.function_type.outputs.data)
    function.properties["function_type"] = FunctionType.from_lists([arg.type for arg in block.args], outputs)
