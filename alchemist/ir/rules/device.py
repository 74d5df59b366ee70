"""Rules of ops of the device's dialect alone: memory, traces, copies, arguments of raw convolutions."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, Signedness, SymbolRefAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.ir.printer import attribute_text
from alchemist.ir.rules.table import Shape, any_rule, attribute, element, integer, need, rule, same, shape_of, value_of

_QUEUES = (0, 1)


@rule("ttnn.assign")
def _assign(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    same(outputs[0], inputs[0])
    layouts = [layout_of(value.type) for value in (op.operands[0], op.results[0])]
    have, to = (layout.dtype if layout is not None else None for layout in layouts)
    need(element(op.operands[0]) == element(op.results[0]) and (have == to or None in (have, to)), "result must have the input's data type")


@rule("ttnn.clamp_scalar", "ttnn.clamp_tensor", "ttir.clamp_scalar")
def _clamp(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    same(outputs[0], inputs[0])


@any_rule("ttnn.pow_scalar")
def _pow(op: Operation) -> None:
    exponent = attribute(op, "rhs")
    need(isinstance(exponent, int | float) and exponent >= 0, f"the exponent must be a number of at least 0, got {exponent}")


@any_rule("ttnn.constant")
def _constant(op: Operation) -> None:
    layout = layout_of(op.results[0].type)
    if layout is not None:
        there = value_of(op, "device") is not None
        need(layout.on_host != there, f"a constant in {layout.buffer} takes {'no' if layout.on_host else 'a'} device")


@any_rule("ttnn.copy")
def _copy(op: Operation) -> None:
    for value, name in zip(op.operands, ("source", "destination"), strict=True):
        layout = layout_of(value.type)
        need(layout is None or not layout.on_host, f"the {name} must be on the device")
    need(op.operands[0].type == op.operands[1].type, "source and destination must have the same type")


@any_rule("ttnn.write_tensor")
def _write(op: Operation) -> None:
    _queue(op)
    for name, host in (("host_tensor", True), ("device_tensor", False)):
        value = value_of(op, name)
        layout = layout_of(value.type) if value is not None else None
        need(layout is None or layout.on_host == host, f"{name} must be on the {'host' if host else 'device'}")


@any_rule("ttnn.load_tensor", "ttnn.dump_tensor")
def _file(op: Operation) -> None:
    need(str(attribute(op, "file_path")).endswith(".tensorbin"), f"file_path must end in .tensorbin, got {attribute(op, 'file_path')}")


@rule("ttnn.point_to_point")
def _point_to_point(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    if len(inputs) > 1:
        same(inputs[1], inputs[0], "optional_output_tensor")
        need(element(op.operands[0]) == element(op.operands[1]), "optional_output_tensor must have the input's element type")
        need(attribute(op, "sender_coord") != attribute(op, "receiver_coord"), "a chip cannot send to itself")


# --- traces ---------------------------------------------------------------------------------------------------------------


def _queue(op: Operation) -> None:
    number = integer(op, "cq_id")
    need(number in (None, *_QUEUES), f"there is no command queue {number}")


def is_trace_id(type_: Attribute) -> bool:
    return isinstance(type_, TensorType) and len(type_.get_shape()) == 0 and attribute_text(type_.encoding) == "#ttnn.trace_id"


def _trace_id(value: SSAValue) -> None:
    type_ = value.type
    need(isinstance(type_, TensorType) and len(type_.get_shape()) == 0, "a trace id must be a scalar")
    of = element(value)
    need(isinstance(of, IntegerType), "a trace id must be an integer")
    assert isinstance(of, IntegerType)
    need(of.signedness.data is Signedness.UNSIGNED, "a trace id must be unsigned")
    need(of.width.data == 32, "a trace id has 32 bits")
    need(is_trace_id(type_), "a trace id has the encoding #ttnn.trace_id")


@any_rule("ttnn.begin_trace_capture", "ttnn.end_trace_capture", "ttnn.execute_trace")
def _trace(op: Operation) -> None:
    _queue(op)
    value = op.results[0] if op.results else value_of(op, "trace_id")
    assert value is not None
    _trace_id(value)


def verify_trace(op: Operation, functions: dict[str, FuncOp]) -> None:
    """`ttnn.capture_or_execute_trace`: its three functions, and the one that is traced, fit together. Raises VerifyException."""

    def named(attribute_name: str) -> FuncOp:
        symbol = op.properties.get(attribute_name)
        name = symbol.root_reference.data if isinstance(symbol, SymbolRefAttr) else ""
        need(name in functions, f"@{name} is not a function")
        return functions[name]

    inputs, outputs = [value for value in _group(op, "inputs")], list(op.results)
    slots = named("allocate_slots_callee").function_type
    on_device = [value.type for value in inputs if not _on_host(value.type)]
    need(list(slots.inputs.data) == on_device, "the slot allocation must take the inputs that are on the device")
    expected = len(inputs) + len(outputs)
    need(len(slots.outputs.data) == expected, f"the slot allocation must return {expected} slots, got {len(slots.outputs.data)}")
    need([value.type for value in outputs] == list(slots.outputs.data[len(inputs) :]), "output slots must have the results' types")
    capture = named("capture_callee")
    semaphores = [value.type for value in _group(op, "semaphore_inputs")]
    wants = [value.type for value in inputs if _on_host(value.type)] + list(slots.outputs.data) + semaphores
    function_type = capture.function_type
    need(len(function_type.inputs.data) == len(wants), f"the capture function must take {len(wants)} arguments, got {len(function_type.inputs.data)}")
    for index, (have, want) in enumerate(zip(function_type.inputs.data, wants, strict=True)):
        need(have == want, f"argument {index} of the capture function has another type")
    need(len(function_type.outputs.data) == 1, f"the capture function must return one trace id, got {len(function_type.outputs.data)} values")
    need(is_trace_id(function_type.outputs.data[0]), "the capture function must return a trace id")
    call = next((inner for inner in capture.walk() if isinstance(inner, CallOp)), None)
    need(call is not None, "the capture function calls no function to trace")
    assert call is not None
    name = call.callee.root_reference.data
    need(name in functions, f"@{name} is not a function")
    traced = functions[name]
    need(not traced.function_type.outputs.data, "the traced function must return nothing; it writes into its output slots")
    mesh = [_mesh(inner) for inner in (getattr(value_of(op, "device"), "owner", None), *traced.walk()) if isinstance(inner, Operation)]
    need(len({device for device in mesh if device}) < 2, "the traced function gets another device")
    execute = named("execute_callee").function_type.inputs.data
    need(len(execute) == 1, f"the execute function must take one trace id, got {len(execute)} arguments")
    need(is_trace_id(execute[0]), "the execute function must take a trace id")


def _group(op: Operation, name: str) -> tuple[SSAValue, ...]:
    from alchemist.ir.access import operands

    return operands(op, name)


def _on_host(type_: Attribute) -> bool:
    layout = layout_of(type_)
    return layout is not None and layout.on_host


def _mesh(op: Operation) -> str:
    return f"{attribute(op, 'mesh_shape')} {attribute(op, 'mesh_offset')}" if op.name == "ttnn.get_device" else ""


# --- experts --------------------------------------------------------------------------------------------------------------


@rule("moe_compute")
def _moe_compute(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    size = integer(op, "intermediate_size") or 0
    need(size > 0 and size % TILE_EDGE == 0, f"intermediate_size must be a positive multiple of {TILE_EDGE}, got {size}")
    need((integer(op, "output_height_shard_dim") or 0) > 0, "output_height_shard_dim must be positive")
    need(
        len(inputs[0]) > 1 and inputs[0][-1] > 0 and inputs[0][-1] % TILE_EDGE == 0,
        f"the hidden size must be a positive multiple of {TILE_EDGE}, got {list(inputs[0])}",
    )


@rule("moe_gpt")
def _moe_gpt(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    first, second = shape_of(op, "w0_w1_tensor") or (), shape_of(op, "w2_tensor") or ()
    for shape, name in ((first, "w0_w1_tensor"), (second, "w2_tensor")):
        need(len(shape) == 6, f"{name} must be a 6D tensor, got rank {len(shape)}")
        need(shape[5] == 128, f"the last dimension of {name} must be 128, got {shape[5]}")
    need(first[0] == second[0] and first[2] == second[2], "w0_w1_tensor and w2_tensor must have the same cores and experts")
    need(len(inputs[1]) > 1 and len(inputs[2]) > 1, "expert_indices and expert_scores must have at least 2 dimensions")


@any_rule("ttnn.prepare_moe_compute_w0_w1_weights")
def _moe_weights(op: Operation) -> None:
    need((value_of(op, "bias_0") is None) == (value_of(op, "bias_1") is None), "bias_0 and bias_1 come together")
