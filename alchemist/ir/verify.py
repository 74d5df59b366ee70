"""Checks beyond the table: attribute kinds, shapes where they are cheap, calls, dominance.

Op-level checks raise xDSL's VerifyException (so `op.verify()` works); `verify_module` raises VerifyError with a location.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from alchemist.errors import VerifyError
from alchemist.ir.attributes import DenseElements, OpaqueAttr, OpaqueType, table
from alchemist.ir.printer import attribute_text
from alchemist.ir.rules import attribute as _attribute
from alchemist.ir.rules import check
from alchemist.ir.rules.device import verify_trace

Shape = tuple[int, ...]
_KINDS: dict[str, tuple[tuple[type[Attribute], ...], str]] = {
    "BoolAttr": ((IntegerAttr,), "true or false"),
    "F32Attr": ((FloatAttr,), "a float"),
    "StrAttr": ((StringAttr,), "a string"),
    "SymbolNameAttr": ((StringAttr,), "a symbol name"),
    "FlatSymbolRefAttr": ((SymbolRefAttr,), "a symbol"),
    "SymbolRefAttr": ((SymbolRefAttr,), "a symbol"),
    "ElementsAttr": ((DenseElements,), "dense elements"),
    "I64ElementsAttr": ((DenseElements,), "dense elements"),
    "I32ArrayAttr": ((ArrayAttr,), "an array [..]"),
    "DenseI32ArrayAttr": ((DenseArrayBase,), "array<i32: ..>"),
    "DenseI64ArrayAttr": ((DenseArrayBase,), "array<i64: ..>"),
}
_KINDS.update((name, ((IntegerAttr,), "an integer")) for name in ("I32Attr", "I64Attr", "SI8Attr", "SI32Attr", "SI64Attr", "UI32Attr"))


def verify_attributes(op: Operation) -> None:
    """Every declared attribute has the kind of attribute that the table declares."""
    declared = op.info.attributes  # type: ignore[attr-defined]
    enums = table("attributes")["attrs"]
    for name, value in op.properties.items():
        info = declared.get(name)
        if info is None:
            continue
        kind = _KINDS.get(info.type)
        if kind is not None and not isinstance(value, kind[0]) and not _without_values(info.type, value):
            raise VerifyException(f"attribute {name} must be {kind[1]} ({info.type}), got {type(value).__name__}")
        if info.type == "I32ArrayAttr" and isinstance(value, ArrayAttr):
            for part in value:
                if not isinstance(part, IntegerAttr):
                    raise VerifyException(f"attribute {name} must hold integers ({info.type}), got {attribute_text(part)}")
        record = enums.get(info.type)
        if record is not None and value.name != record["name"] and value.name != "tt.opaque":
            raise VerifyException(f"attribute {name} must be #{record['name']}, got #{value.name}")


def _without_values(declared: str, value: Attribute) -> bool:
    """Elements kept as text: a resource that the file does not hold, sparse or complex ones. They are refused on lowering."""
    return declared.endswith("ElementsAttr") and isinstance(value, OpaqueAttr) and not value.data[0].startswith("#")


# --- shapes -------------------------------------------------------------------------------------------------------------


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape | None:
    """numpy's broadcast of static shapes, None if they do not fit."""
    rank = max((len(shape) for shape in shapes), default=0)
    out = []
    for index in range(-rank, 0):
        sizes = {shape[index] for shape in shapes if -index <= len(shape)} - {1}
        if len(sizes) > 1:
            return None
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)


def _shapes(values: Sequence[SSAValue]) -> list[Shape] | None:
    """Shapes of the tensors among the values (devices and semaphores are none), None where one is not static."""
    found = [value.type.get_shape() for value in values if isinstance(value.type, TensorType)]
    return found if all(dim >= 0 for dims in found for dim in dims) else None


def _expect(actual: Shape, expected: Shape, what: str) -> None:
    if actual != expected:
        raise VerifyException(f"{what}: expected result shape {list(expected)}, got {list(actual)}")


def _permute(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    order = _attribute(op, "permutation")
    if isinstance(order, tuple):
        if sorted(order) != list(range(len(inputs[0]))):
            raise VerifyException(f"{list(order)} is no permutation of {len(inputs[0])} dimensions")
        _expect(outputs[0], tuple(inputs[0][axis] for axis in order), "permute")


def _matmul(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    left, right = inputs[0], inputs[1]
    if _attribute(op, "transpose_a") and len(left) > 1:
        left = (*left[:-2], left[-1], left[-2])
    if _attribute(op, "transpose_b") and len(right) > 1:
        right = (*right[:-2], right[-1], right[-2])
    if not left or not right:
        raise VerifyException("operands of a matmul have at least one dimension")
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] != inner:
        raise VerifyException(f"inner dimensions differ: {list(left)} times {list(right)}")
    batch = broadcast_shapes([left[:-2], right[:-2]])
    if batch is None:
        raise VerifyException(f"batch dimensions differ: {list(left)} times {list(right)}")
    expected = batch + (left[-2:-1] if len(left) > 1 else ()) + (right[-1:] if len(right) > 1 else ())
    if not expected and outputs[0] == (1,):
        return  # tt-mlir's spelling of a product of two vectors
    if op.name.endswith(".linear") and len(inputs) > 2:
        if not inputs[2]:
            raise VerifyException("the bias must have at least one dimension")
        biased = broadcast_shapes([expected, inputs[2]])
        if biased is None:
            raise VerifyException(f"the bias {list(inputs[2])} cannot be added to {list(expected)}")
        expected = biased
        if op.name.startswith("ttnn.") and math.prod(expected) == math.prod(outputs[0]):
            return  # a bias of higher rank; a workaround of tt-mlir puts the shape right
    _expect(outputs[0], expected, "matmul")


def _concat(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis = _attribute(op, "dim")
    rank = len(inputs[0])
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise VerifyException(f"dimension {axis} is out of range for rank {rank}")
    axis %= rank
    if any(shape[:axis] + shape[axis + 1 :] != inputs[0][:axis] + inputs[0][axis + 1 :] for shape in inputs):
        raise VerifyException(f"shapes differ outside dimension {axis}: {[list(shape) for shape in inputs]}")
    total = sum(shape[axis] for shape in inputs)
    _expect(outputs[0], (*inputs[0][:axis], total, *inputs[0][axis + 1 :]), "concat")


def _same_shape(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _expect(outputs[0], inputs[0], op.name)


def _slice(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    begins, ends, steps = (_attribute(op, name) for name in ("begins", "ends", "step"))
    if not (isinstance(begins, tuple) and isinstance(ends, tuple) and isinstance(steps, tuple)):
        return
    for size, begin, end in zip(inputs[0], begins, ends, strict=False):
        first, last = begin + size * (begin < 0), end + size * (end < 0)
        if first != last and not 0 <= first < max(size, 1):
            raise VerifyException(f"begin must be in [{-size}, {size}), got {begin}")
        if first != last and not 0 <= last <= size:
            raise VerifyException(f"end must be in [{-size}, {size}], got {end}")
    if not len(begins) == len(ends) == len(steps) == len(inputs[0]):
        raise VerifyException(f"begins, ends and step need {len(inputs[0])} entries")
    if 0 in steps:
        raise VerifyException("step cannot be zero")
    expected = tuple(len(range(size)[slice(b, e, s)]) for size, b, e, s in zip(inputs[0], begins, ends, steps, strict=True))
    _expect(outputs[0], expected, "slice")


_SHAPE_RULES: dict[str, Callable[[Operation, list[Shape], list[Shape]], None]] = {
    "permute": _permute,
    "matmul": _matmul,
    "linear": _matmul,
    "concat": _concat,
    "softmax": _same_shape,
    "layer_norm": _same_shape,
    "rms_norm": _same_shape,
    "typecast": _same_shape,
    "slice_static": _slice,
}


def _verify_tensors(op: Operation) -> None:
    """An op that the table gives tensors alone has no buffers, devices or scalars among its operands and results."""
    info = op.info  # type: ignore[attr-defined]
    for declared, values, what in ((info.operands, op.operands, "operand"), (info.results, op.results, "result")):
        if all(group.type == "AnyRankedTensor" for group in declared):
            for index, value in enumerate(values):
                unranked = isinstance(value.type, OpaqueType) and value.type.data[0] == "tensor"
                if not isinstance(value.type, TensorType) and not unranked:
                    raise VerifyException(f"{what} {index} must be a tensor, got {attribute_text(value.type)}")


def verify_shapes(op: Operation) -> None:
    """Result shapes of elementwise ops and of the ops in `_SHAPE_RULES`."""
    _verify_tensors(op)
    try:
        _verify_shapes(op)
    except IndexError:  # a rule counts dimensions, or operands, that are not there
        shapes = [attribute_text(value.type) for value in (*op.operands, *op.results)]
        raise VerifyException(f"no such op on operands and results of these ranks: {', '.join(shapes)}") from None


def _verify_shapes(op: Operation) -> None:
    inputs, outputs = _shapes(op.operands), _shapes(op.results)
    if inputs is None or not outputs:
        check(op, inputs, outputs)
        return
    traits = op.info.traits  # type: ignore[attr-defined]
    if "elementwise_binary" in traits or "elementwise_ternary" in traits or op.name.endswith(".where"):
        expected = broadcast_shapes(inputs)
        if expected is None:
            raise VerifyException(f"operands cannot be broadcast: {[list(shape) for shape in inputs]}")
        _expect(outputs[0], expected, "broadcast")
    elif "elementwise_unary" in traits and len(inputs) == 1:
        _expect(outputs[0], inputs[0], "elementwise")
    elif (rule := _SHAPE_RULES.get(op.name.partition(".")[2])) is not None and inputs:
        rule(op, inputs, outputs)
    check(op, inputs, outputs)


# --- modules ------------------------------------------------------------------------------------------------------------


def verify_module(module: ModuleOp, locate: Callable[[Operation], str] | None = None) -> None:
    """Verifies every op, function signatures, calls and the order of definitions and uses.

    locate: gives an op's place for the message; its source location is used without.

    Raises:
        VerifyError: first op that is wrong.
    """
    for error in verify_errors(module, locate):
        raise error


def verify_errors(module: ModuleOp, locate: Callable[[Operation], str] | None = None) -> Iterator[VerifyError]:
    """Every op that is wrong, in order of the text."""
    tables: dict[Operation, dict[str, FuncOp]] = {}  # a symbol is that of the module around its user
    for op in module.walk():
        if isinstance(op, ModuleOp):
            tables[op] = {part.sym_name.data: part for part in op.ops if isinstance(part, FuncOp)}
    for op in module.walk():
        try:
            op.verify_()
            _verify_structure(op, tables)
        except VerifyException as error:
            yield VerifyError(str(error), op=op.name, location=locate(op) if locate else _source(op))


def _source(op: Operation) -> str:
    from alchemist.ir.location import sources_of

    for info in sources_of(op):
        if info.frames:
            return f"{info.frames[-1].file}:{info.frames[-1].line}"
        if info.name:
            return info.name
    return ""


def _functions_around(op: Operation, tables: dict[Operation, dict[str, FuncOp]]) -> dict[str, FuncOp]:
    around = op.parent_op()
    while around is not None and not isinstance(around, ModuleOp):
        around = around.parent_op()
    return tables.get(around, {}) if around is not None else {}


def _verify_structure(op: Operation, tables: dict[Operation, dict[str, FuncOp]]) -> None:
    if isinstance(op, FuncOp):
        block = op.body.blocks.first
        if block is not None:
            if not isinstance(block.last_op, ReturnOp):
                raise VerifyException(f"@{op.sym_name.data} does not end in a return")
            _verify_order(block)
    elif op.name == "ttnn.capture_or_execute_trace":
        verify_trace(op, _functions_around(op, tables))
    elif isinstance(op, CallOp) or op.name == "ttcore.load_cached":
        callee = op.properties["callee"]
        name = callee.root_reference.data if isinstance(callee, SymbolRefAttr) else ""
        target = _functions_around(op, tables).get(name)
        if target is None:
            raise VerifyException(f"@{name} is not defined")
        signature = (target.function_type.inputs.data, target.function_type.outputs.data)
        if signature != (tuple(op.operand_types), tuple(op.result_types)):
            raise VerifyException(f"the call's types differ from the signature of @{name}")


def _verify_order(block: Block) -> None:
    seen: set[SSAValue] = set(block.args)
    for op in block.ops:
        for index, value in enumerate(op.operands):
            if value not in seen:
                raise VerifyException(f"operand {index} of {op.name} is used before it is defined")
        seen.update(op.results)
