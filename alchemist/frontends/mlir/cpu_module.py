"""`ttcore.cpu_module`: functions that tt-mlir runs on the host before the first call become const-eval functions.

The CPU module holds a function in TTIR for each private declaration of the device module. Its ops are spelled as TTNN's on the device, between a
conversion of each operand from the declared layout and one of each result to it, and take the place of the calls.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from alchemist.errors import LoweringError
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import DeviceType, ShapeAttr
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import op_classes
from alchemist.ir.inline import inline
from alchemist.ir.layout import HELD_AS, TTNNLayout
from alchemist.ir.location import place_of, sources_of
from alchemist.toolchain.host_code import HostCode

_NAMES = {"div": "divide", "pow": "pow_tensor", "broadcast": "repeat"}
"""TTIR op -> TTNN op with the same operands, where the names differ."""
_DERIVED = ("conservative_folding",)


def take_in(device: ModuleOp, cpu: Operation, host: dict[str, HostCode] | None = None) -> None:
    """Replaces the calls of CPU functions in `device` by their ops.

    host: receives the functions that are LLVM, whose calls then stay.

    Raises:
        LoweringError: a function in LLVM without `host`, or an op that has no TTNN op of its own.
    """
    text = cpu.attributes.get("llvm_text")
    code = HostCode(text.data) if isinstance(text, StringAttr) else None
    bodies = {op.sym_name.data: op for op in cpu.walk() if isinstance(op, FuncOp) and op.body.blocks}
    declared = {op.sym_name.data: op for op in device.ops if isinstance(op, FuncOp) and not op.body.blocks}
    for call in [op for op in device.walk() if isinstance(op, CallOp) and op.callee.root_reference.data in declared]:
        name = call.callee.root_reference.data
        if code is not None and host is not None and name in code:
            host[name] = code
            continue
        if name not in bodies:
            hint = "use the text of the step before (ttnn.mlir), whose CPU functions are TTIR" if "llvm_text" in cpu.attributes else ""
            where = place_of(call)
            raise LoweringError(f"@{name} is compiled for the host's processor", op="func.call", location=where, expected="a function in TTIR", hint=hint)
        inline(call, _on_device(bodies[name], declared[name]))
    for name, function in declared.items():
        if name in bodies:
            device.body.block.erase_op(function)


def _held(value: SSAValue) -> TensorType[Attribute]:
    of = element_type(value)
    return TTNNLayout.make(shape(value), HELD_AS.get(of, of)).type_for(shape(value))


def _on_device(body: FuncOp, declared: FuncOp) -> FuncOp:
    """A function with the declared signature and TTNN ops, in no module."""
    block = Block(arg_types=declared.function_type.inputs.data)
    b = Builder(block)
    values: dict[SSAValue, SSAValue] = {old: b.op("ttnn.to_tensor_spec", [new], {}, [_held(old)]) for old, new in zip(body.args, block.args, strict=True)}
    for op in body.body.block.ops:
        b.source = sources_of(op) or None
        if isinstance(op, ReturnOp):
            kinds = declared.function_type.outputs.data
            b.insert(ReturnOp(*(b.op("ttnn.to_tensor_spec", [values[value]], {}, [kind]) for value, kind in zip(op.operands, kinds, strict=True))))
        else:
            values.update(zip(op.results, _respelled(b, op, [values[value] for value in op.operands]), strict=True))
    function = declared.clone()
    function.body.add_block(block)
    return function


def _respelled(b: Builder, op: Operation, operands: list[SSAValue]) -> list[SSAValue]:
    types = [_held(result) for result in op.results]
    short = op.name.partition(".")[2]
    if short == "typecast" and operands[0].type == types[0]:
        return operands
    cls = op_classes().get(f"ttnn.{_NAMES.get(short, short)}")
    properties = {key: value for key, value in op.properties.items() if key not in _DERIVED}
    if short == "broadcast":
        properties = {"repeat_dims": ShapeAttr(tuple(b // a for a, b in zip(shape(operands[0]), shape(op.results[0]), strict=True)))}
    if cls is not None and any(group.name == "device" for group in cls.info.operands):
        operands = [*operands, b.op("ttnn.get_device", [], {}, [DeviceType()])]
    is_known = cls is not None and op.name.startswith("ttir.") and set(properties) <= {*cls.info.attributes, "operandSegmentSizes"}
    if cls is None or not is_known or len(operands) > len(cls.info.operands):
        raise LoweringError("a CPU function contains an op without an equivalent TTNN op", op=op.name, location=place_of(op))
    return list(b.insert(cls.create(operands=operands, result_types=types, properties=properties, location=op.location)).results)
