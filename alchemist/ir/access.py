"""Reads and changes ops as plain Python values.

`from_python` turns a value into the attribute that the table declares; `attrs` is the inverse with the table's defaults.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineMap

from alchemist.errors import InputError, InternalError
from alchemist.ir.attribute_classes import attribute_classes
from alchemist.ir.attributes import (
    CoreCoordAttr,
    CoreRangeSetAttr,
    DenseElements,
    EnumAttr,
    MemoryConfigAttr,
    OpaqueAttr,
    OpaqueType,
    ShapeAttr,
    ShardSpecAttr,
    StructAttr,
    element_name,
    element_name_of,
    numpy_dtype,
    table,
    tensor,
    to_python,
)
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ir.op_class import AttributeInfo, OpInfo, TTOp

Value = Any

_INTEGERS: dict[str, IntegerType] = {
    "I32Attr": i32,
    "I64Attr": i64,
    "SI8Attr": IntegerType(8, Signedness.SIGNED),
    "SI32Attr": IntegerType(32, Signedness.SIGNED),
    "SI64Attr": IntegerType(64, Signedness.SIGNED),
    "UI32Attr": IntegerType(32, Signedness.UNSIGNED),
}
_STRINGS = ("StrAttr", "Builtin_StringAttr", "SymbolNameAttr")
_VALUE = (OpResult, SSAValue)
"""For isinstance: SSAValue is an abstract class, for which Python's test of a subclass is slow, and most values are results of ops."""


def _info(op: Operation) -> OpInfo | None:
    return op.info if isinstance(op, TTOp) else None


# --- plain value -> attribute -------------------------------------------------------------------------------------------


def from_python(value: Value, declared: str = "") -> Attribute:
    """Attribute of the declared table type; without one the natural type of the value (int -> i64, float -> f32)."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if declared in _INTEGERS:
        return IntegerAttr(int(value), _INTEGERS[declared])
    if declared == "BoolAttr":
        return IntegerAttr(int(bool(value)), i1)
    if declared == "F32Attr":
        return FloatAttr(float(value), f32)
    if declared in _STRINGS:
        return StringAttr(value)
    if declared in ("DenseI32ArrayAttr", "DenseI64ArrayAttr"):
        return DenseArrayBase.from_list(i64 if "64" in declared else i32, [int(part) for part in value])
    if declared == "I32ArrayAttr":
        return ArrayAttr([IntegerAttr(int(part), i32) for part in value])
    if declared in ("ElementsAttr", "I64ElementsAttr"):
        return elements(np.asarray(value, dtype=np.int64) if declared.startswith("I64") else np.asarray(value))
    if declared in ("FlatSymbolRefAttr", "SymbolRefAttr"):
        root, *rest = str(value).split("::")
        return SymbolRefAttr(root, [StringAttr(part) for part in rest])
    if declared.startswith("AnyAttrOf<"):
        return _from_choice(value, declared)
    if declared == "AffineMapAttr" and isinstance(value, AffineMap):
        return AffineMapAttr(value)
    record = table("attributes")["attrs"].get(declared)
    if record is not None:
        return _dialect_attribute(value, record["name"], declared)
    return _natural(value)


def _from_choice(value: Value, declared: str) -> Attribute:
    if isinstance(value, Sequence) and not isinstance(value, str) and "i32 dense array" in declared:
        return from_python(value, "DenseI32ArrayAttr")
    if isinstance(value, float) and "32-bit float" in declared:
        return from_python(value, "F32Attr")
    if isinstance(value, int) and "signed integer" in declared.replace("signless", ""):
        return from_python(value, "SI32Attr")
    if isinstance(value, int) and "index attribute" in declared:
        return IntegerAttr.from_index_int_value(value)
    if isinstance(value, int):
        return from_python(value, "I32Attr")
    return _natural(value)


def _dialect_attribute(value: Value, name: str, declared: str) -> Attribute:
    cls = attribute_classes().get(name)
    if cls is None:
        if isinstance(value, str):
            return OpaqueAttr((f"#{name}", value))
        raise InternalError(f"#{name} is built from its text only", got=repr(value))
    if issubclass(cls, EnumAttr):
        if value not in cls.cases:
            raise InternalError(f"#{name} has no case {value!r}", expected=", ".join(cls.cases))
        return cls(value)
    if issubclass(cls, StructAttr):
        return struct(name, value)
    if cls is MemoryConfigAttr:
        return memory_config(**value)
    if cls is CoreRangeSetAttr:
        return cls(tuple(tuple(tuple(corner) for corner in cores) for cores in value))
    if cls in (ShapeAttr, CoreCoordAttr):
        return cls(tuple(int(part) for part in value))
    raise InternalError(f"#{name} ({declared}) needs an attribute object", got=repr(value))


def struct(name: str, values: Mapping[str, Value]) -> StructAttr:
    """Struct attribute with `values` in declaration order; None leaves a field out, an unknown field is an InternalError."""
    cls = attribute_classes()[name]
    if not issubclass(cls, StructAttr):
        raise InternalError(f"#{name} is not a struct")
    unknown = set(values) - {field for field, _ in cls.fields}
    if unknown:
        raise InternalError(f"#{name} has no field {', '.join(sorted(unknown))}")
    return cls(tuple((field, _field(values[field], cpp)) for field, cpp in cls.fields if values.get(field) is not None))


def _field(value: Value, cpp: str) -> Any:
    if "CoreCoordAttr" in cpp and not isinstance(value, Attribute):
        return CoreCoordAttr(tuple(value))
    if "CoreRangeSetAttr" in cpp and not isinstance(value, Attribute):
        return _dialect_attribute(value, "ttnn.core_range_set", cpp)
    if "UnaryWithParamAttr" in cpp and not isinstance(value, Attribute):
        spec = {"op_type": value} if isinstance(value, str) else dict(value)
        params = spec.get("params")
        if params is not None:
            spec["params"] = tuple(FloatAttr(float(part), f32) for part in params) or None
        return struct("ttnn.unary_with_param", spec)
    return tuple(value) if isinstance(value, list) else value


def memory_config(buffer: str, memory: str = "interleaved", shard: Value = None) -> MemoryConfigAttr:
    """`#ttnn.memory_config`; shard: None, an attribute or {"ranges", "shape", "orientation"}."""
    if isinstance(shard, Mapping):
        shard = ShardSpecAttr((tuple(shard["ranges"]), tuple(shard["shape"]), shard["orientation"]))
    return MemoryConfigAttr((buffer, memory, shard))


def memory_config_of(layout: TTNNLayout) -> MemoryConfigAttr:
    """Where a layout puts a tensor."""
    shard = {"ranges": layout.data.ranges, "shape": layout.shard_shape(), "orientation": layout.orientation} if layout.is_sharded else None
    return memory_config(layout.buffer, layout.memory, shard)


def elements(array: np.ndarray[Any, Any], of: str = "") -> DenseElements:
    """Dense elements of a numpy array; `of` overrides the element type ("si32", "ui32", "bf16")."""
    return DenseElements(array, tensor(array.shape, of or element_name_of(array.dtype)))


def splat(value: bool | float, shape: Sequence[int], of: str) -> DenseElements:
    """One value for a whole tensor of element type `of`, O(1) in memory."""
    return DenseElements(value, tensor(tuple(shape), of))


def _natural(value: Value) -> Attribute:
    match value:
        case bool():
            return IntegerAttr(int(value), i1)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f32)
        case str():
            return StringAttr(value)
        case np.ndarray():
            return elements(value)
        case Mapping():
            return DictionaryAttr({key: _natural(part) for key, part in value.items()})
        case Sequence():
            return ArrayAttr([_natural(part) for part in value])
        case Attribute():
            return value
        case AffineMap():
            return AffineMapAttr(value)
        case None:
            return UnitAttr()
        case _:
            raise InternalError("no attribute for this value", got=repr(value))


# --- defaults -----------------------------------------------------------------------------------------------------------


@cache
def default_value(info: AttributeInfo) -> Value:
    """The table's default as a plain value; None when it has none (or means "absent")."""
    text = info.default
    if text is None or text == "nullptr":
        return None
    if info.type in _INTEGERS:
        return int(text)
    if info.type == "BoolAttr":
        return text == "true"
    if info.type == "F32Attr":
        return float(text.rstrip("f"))
    if info.type in _STRINGS:
        return text.strip('"')
    if text.startswith("{"):
        return tuple(int(part) for part in text.strip("{}").split(",") if part.strip())
    record = table("attributes")["attrs"].get(info.type, {})
    if "enum" in record:
        return text.rpartition("::")[2].lower()
    raise InternalError(f"cannot read the default {text!r} of {info.name}")


# --- reading ------------------------------------------------------------------------------------------------------------


def attrs(op: Operation) -> dict[str, Value]:
    """All attributes as plain values, defaults of the table filled in; discardable ones are included under their name."""
    info = _info(op)
    values: dict[str, Value] = {}
    if info is not None:
        for name, declared in info.attributes.items():
            attribute = op.properties.get(name)
            value = to_python(attribute) if attribute is not None else default_value(declared)
            if value is not None:
                values[name] = value
    else:
        values.update((name, to_python(part)) for name, part in op.properties.items())
    values.update((name, to_python(part)) for name, part in op.attributes.items())
    return values


def order_of(op: Operation) -> list[int]:
    """The dim of the operand that each dim of the result of a permute or a transpose is."""
    attributes = attrs(op)
    if "permutation" in attributes:
        return list(attributes["permutation"])
    order = list(range(len(shape(op.operands[0]))))
    first, second = attributes["dim0"], attributes["dim1"]
    order[first], order[second] = order[second], order[first]
    return order


def declared(op: Operation) -> dict[str, Value]:
    """The op's attributes that its table row declares, as plain values. Other attributes of a text cannot be copied to another op."""
    info = _info(op)
    return {name: to_python(part) for name, part in op.properties.items() if info is not None and name in info.attributes}


def attr(op: Operation, name: str, default: Value = None) -> Value:
    """One attribute as a plain value; the table's default, then `default`, when absent."""
    attribute = op.properties.get(name)
    if attribute is None:
        attribute = op.attributes.get(name)
    if attribute is not None:
        return to_python(attribute)
    info = _info(op)
    if info is not None and name in info.attributes:
        declared = default_value(info.attributes[name])
        return default if declared is None else declared
    return default


def set_attr(op: Operation, name: str, value: Value) -> None:
    """Sets (None: removes) an attribute; declared ones are converted to their table type."""
    info = _info(op)
    declared = info.attributes.get(name) if info is not None else None
    where = op.properties if declared is not None else op.attributes
    if value is None:
        op.properties.pop(name, None)
        op.attributes.pop(name, None)
    else:
        where[name] = from_python(value, declared.type if declared is not None else "")


def set_attrs(op: Operation, attributes: Mapping[str, Value]) -> None:
    """Several at once, as `set_attr`."""
    for name, value in attributes.items():
        set_attr(op, name, value)


def operands(op: Operation, name: str) -> tuple[SSAValue, ...]:
    """The values of operand group `name` (empty for an absent optional one)."""
    info = _info(op)
    if info is None or not isinstance(op, TTOp):
        raise InternalError(f"{op.name} has no table row", op=op.name)
    start = 0
    for group, size in zip(info.operands, op.operand_sizes(), strict=True):
        if group.name == name:
            return tuple(op.operands[start : start + size])
        start += size
    raise InternalError(f"no operand {name!r}", op=op.name, expected=", ".join(group.name for group in info.operands))


def operand(op: Operation, name: str) -> SSAValue | None:
    """The single value of operand group `name`, None when absent."""
    values = operands(op, name)
    return values[0] if values else None


def shape(value: SSAValue | Attribute) -> tuple[int, ...]:
    """Shape of a value or tensor type."""
    type_ = value.type if isinstance(value, _VALUE) else value
    if not isinstance(type_, TensorType):
        raise InternalError("a tensor was expected", got=str(type_))
    return tuple(type_.get_shape())


def element_type(value: SSAValue | Attribute) -> str:
    """Element type name of a value or tensor type: "f32", "bf16", "i1", "si32", "ui32", "bfp_bf8" ...

    Quantised numbers are "si32", which is how the library holds them.
    """
    type_ = value.type if isinstance(value, _VALUE) else value
    of = type_.get_element_type() if isinstance(type_, TensorType) else type_
    return "si32" if isinstance(of, OpaqueType) and of.data[0] == "!quant.uniform" else element_name(of)


def argument_attrs(func: Operation) -> list[dict[str, Value]]:
    """`func.func` argument attributes as plain dicts, one per argument (`ttir.name`, `ttcore.argument_type` ...)."""
    declared = func.properties.get("arg_attrs")
    if isinstance(declared, ArrayAttr):
        return [dict(to_python(part)) for part in declared.data]
    return [{} for _ in func.regions[0].blocks[0].args] if func.regions and func.regions[0].blocks else []


WRITTEN = "ttir.written"
"""Argument attribute: a later call has another value there (a cache, a counter), whatever kind of argument it is."""


def is_fixed(facts: Mapping[str, Value]) -> bool:
    """Whether an argument with these attributes has the same value at every call, so that const-eval may use it."""
    return facts.get("ttcore.argument_type", "input") in ("parameter", "constant") and WRITTEN not in facts


def mark_written(func: Operation, names: Collection[str]) -> None:
    """Marks the arguments with these names as written by the program."""
    declared = func.properties.get("arg_attrs")
    if not names or not isinstance(declared, ArrayAttr):
        return
    described = zip(declared.data, argument_attrs(func), strict=True)
    func.properties["arg_attrs"] = ArrayAttr(
        [DictionaryAttr(part.data | {WRITTEN: UnitAttr()}) if facts.get("ttir.name") in names else part for part, facts in described]
    )


def result_attrs(func: Operation) -> list[dict[str, Value]]:
    """`func.func` result attributes as plain dicts (empty list when there are none)."""
    declared = func.properties.get("res_attrs")
    return [dict(to_python(part)) for part in declared.data] if isinstance(declared, ArrayAttr) else []


@dataclass(frozen=True, slots=True)
class ForwardArgument:
    """One argument of the entry function.

    dtype: numpy spelling ("bfloat16", "int32"), as it is stored; tiled: page layout of its TTNN type; used: some op reads it.
    block: element type of the block format that the program wants it in on the device ("bfp_bf8"), "" for `dtype`.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    tiled: bool
    used: bool
    block: str = ""


def entry_function(module: ModuleOp) -> FuncOp:
    """The public function of a module (inside `ttcore.device_module` too); InputError unless there is exactly one."""
    candidates = [
        op for op in module.walk() if isinstance(op, FuncOp) and (op.sym_visibility is None or op.sym_visibility.data == "public") and not op.is_declaration
    ]
    if len(candidates) != 1:
        names = ", ".join(f"@{op.sym_name.data}" for op in candidates) or "none"
        raise InputError("the module needs exactly one public function with a body", expected="one", got=names)
    return candidates[0]


def rename_arguments(module: ModuleOp, names: Mapping[str, str]) -> None:
    """Renames arguments of the entry function: old -> new."""
    func = entry_function(module)
    declared = func.properties.get("arg_attrs")
    if names and isinstance(declared, ArrayAttr):
        described = zip(declared.data, argument_attrs(func), strict=True)
        new = [(part, names.get(str(facts.get("ttir.name")))) for part, facts in described]
        func.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(part.data | {"ttir.name": StringAttr(name)}) if name else part for part, name in new])


def forward_arguments(module: ModuleOp) -> list[ForwardArgument]:
    """Arguments of the entry function in order; unnamed ones are called `arg<n>`, those without a kind are inputs."""
    func = entry_function(module)
    arguments: list[ForwardArgument] = []
    for index, (arg, described) in enumerate(zip(func.args, argument_attrs(func), strict=True)):
        layout = layout_of(arg.type)
        of = element_type(arg)
        arguments.append(
            ForwardArgument(
                str(described.get("ttir.name") or f"arg{index}"),
                str(described.get("ttcore.argument_type", "input")),
                shape(arg),
                numpy_dtype(of).name,
                layout is not None and layout.page == "tile",
                bool(arg.uses),
                of if of.startswith("bfp_") else "",
            )
        )
    return arguments
