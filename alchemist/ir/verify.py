"""Checks beyond the table: attribute kinds, shapes where they are cheap, calls, dominance.

Op-level checks raise xDSL's VerifyException (so `op.verify()` works); `verify_module` raises VerifyError with a location.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from alchemist.errors import VerifyError
from alchemist.ir.attributes import DenseElements, OpaqueAttr, OpaqueType, table
from alchemist.ir.printer import attribute_text
from alchemist.ir.rules import check
from alchemist.ir.rules.device import verify_trace

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


def _verify_tensors(op: Operation) -> None:
    """An op that the table gives tensors alone has no buffers, devices or scalars among its operands and results."""
    info = op.info  # type: ignore[attr-defined]
    for declared, values, role in ((info.operands, op.operands, "operand"), (info.results, op.results, "result")):
        if all(group.type == "AnyRankedTensor" for group in declared):
            for index, value in enumerate(values):
                unranked = isinstance(value.type, OpaqueType) and value.type.data[0] == "tensor"
                if not isinstance(value.type, TensorType) and not unranked:
                    raise VerifyException(f"{role} {index} must be a tensor, got {attribute_text(value.type)}")


def verify_shapes(op: Operation) -> None:
    """Checks result shapes and the other rules of the op."""
    _verify_tensors(op)
    try:
        check(op)
    except IndexError:  # a rule counts dimensions, or operands, that are not there
        shapes = [attribute_text(value.type) for value in (*op.operands, *op.results)]
        raise VerifyException(f"no such op on operands and results of these ranks: {', '.join(shapes)}") from None


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
    """Errors of all invalid ops, in text order."""
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
