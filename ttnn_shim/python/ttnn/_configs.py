"""Config classes, made from the table: one keyword-only constructor, checked read-write properties, printed as the real package does."""

from __future__ import annotations

import enum
import json
from functools import cache
from typing import Any, ClassVar

from ttnn import _grid
from ttnn._binding import Overloads, api_class
from ttnn._convert import MISMATCH, checker, default_value, encode_record, register_class, restrict
from ttnn._enums import UnaryOpType, enum_class, enum_names
from ttnn._facts import REQUIRED, facts, overload_set

# Type names that the core reads, where they are not the class name.
_RECORD = {"WormholeComputeKernelConfig": "ComputeKernelConfig"}
# Classes without a printed form of their own.
_OBJECT_REPR = {"WormholeComputeKernelConfig", "SoftmaxDefaultProgramConfig"}
_WIDE_REPR = {"SDPAProgramConfig", "SoftmaxShardedMultiCoreProgramConfig"}
# Fields that the real package leaves out when it prints.
_UNPRINTED = {"legacy_rsqrt", "output_layout_"}
# Fields that take another's value where none is given.
_LIKE = {"out_block_h": "per_core_M", "out_block_w": "per_core_N"}
_SLICE_TYPES = {"L1Full": "L1_FULL", "DRAMSliceHeight": "DRAM_HEIGHT", "DRAMSliceWidth": "DRAM_WIDTH"}


class Config:
    """Base of the config classes. Mutable until passed; a call encodes the values it finds."""

    _fields: ClassVar[dict[str, str]] = {}  # name -> type, in constructor order
    _defaults: ClassVar[dict[str, Any]] = {}
    _overloads: Overloads

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _, values = self._overloads.bind(args, kwargs)
        self._values = {name: values.get(name, self._defaults.get(name)) for name in self._fields}
        for name, source in _LIKE.items():
            if name in self._values and self._values[name] is None:
                self._values[name] = self._values[source]
        self._blob: bytes | None = None

    def __repr__(self) -> str:
        name = type(self).__name__
        if name in _OBJECT_REPR:
            return f"<ttnn.{name} object at {id(self):#x}>"
        wide = name in _WIDE_REPR
        parts = [f"{key}={_text(value, wide)}" for key, value in self._values.items() if key not in _UNPRINTED]
        return f"{name}({', '.join(parts) if wide else ','.join(parts)})"

    def _encode(self) -> bytes:
        if self._blob is None:
            name = type(self).__name__
            self._blob = encode_record(_RECORD.get(name, name), list(self._values.items()))
        return self._blob

    def to_json(self) -> str:
        return json.dumps({key: _plain(value) for key, value in self._values.items()}, separators=(",", ":"))


def _text(value: Any, wide: bool) -> str:
    if value is None:
        return "std::nullopt"
    if isinstance(value, bool):
        return str(value).lower() if wide else str(int(value))
    if isinstance(value, enum.Enum):
        kind = type(value).__name__
        return f"SliceType::{_SLICE_TYPES[value.name]}" if kind == "SliceTypeEnum" else f"{kind}::{value.name}"
    if isinstance(value, tuple):
        return "{" + ", ".join(map(str, value)) + "}"
    return str(value)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return json.loads(value.to_json()) if hasattr(value, "to_json") else str(value)


def _property(name: str, type_: str, writable: bool, int_kind: str) -> Any:
    def read(self: Config) -> Any:
        value = self._values[name]
        return list(value) if isinstance(value, tuple) else value

    def write(self: Config, value: Any) -> None:
        check = restrict(checker(type_), int_kind) if int_kind else checker(type_)
        converted = check(value, True)
        if converted is MISMATCH:
            at_least = " of at least 0" if int_kind.startswith("u") else ""
            raise TypeError(f"{type(self).__name__}.{name}: expected {type_}{at_least}, got {value!r}")
        self._values[name] = converted
        self._blob = None

    return property(read, write if writable else None)


def make_config(name: str) -> type[Config]:
    """`ttnn.Conv1dConfig` -> the class `Conv2dConfig`."""
    row = facts()["classes"][name]
    of = row["of"]
    kinds = facts()["int_kinds"].get(name, {})
    overloads = Overloads("__init__", overload_set(row["init"]), "method", f"ttnn.{of}", kinds)
    fields: dict[str, str] = {}
    defaults: dict[str, Any] = {}
    if not any(param.kind in ("*", "**") for overload in overloads.overloads for param in overload.params):
        for one in overloads.overloads:
            for param in one.params:
                fields.setdefault(param.name, param.type)
                if param.default is not REQUIRED:
                    value = default_value(param.default, param.type)
                    defaults[param.name] = tuple(value) if isinstance(value, list) else value
    if of == "Op2DSliceConfig":
        defaults["num_slices"] = 0
    body: dict[str, Any] = {"_fields": fields, "_defaults": defaults, "_overloads": overloads, "__module__": "ttnn"}
    for prop, (type_, access) in row["props"].items():
        kind = next((of_overload[prop] for of_overload in kinds.values() if prop in of_overload), "")
        body[prop] = _property(prop, type_, access == "rw", kind)
    if "to_json" not in row["methods"]:
        body["to_json"] = None
    if "from_json" in row["methods"]:
        body["from_json"] = classmethod(_from_json)
    cls = type(of, (Config,), body)

    def build(self: Any, *args: Any, **kwargs: Any) -> None:
        Config.__init__(self, *args, **kwargs)

    build.__overloads__ = overloads  # type: ignore[attr-defined]
    cls.__init__ = build  # type: ignore[misc]
    cls.__doc__ = overloads.doc()
    register_class(of, cls)
    return cls


def _from_json(cls: type[Config], text: str) -> Config:
    values = {}
    for key, value in json.loads(text).items():
        type_ = cls._fields[key].split(" | ")[0]
        if value is None or value == "{}":  # as it is without being given
            continue
        if type_ in enum_names():
            value = enum_class(enum_names()[type_])[value]
        elif type_ in ("CoreCoord", "CoreRangeSet", "UnaryWithParam"):
            value = config_or_value(type_).from_json(json.dumps(value))
        values[key] = value
    return cls(**values)


def config_or_value(short: str) -> Any:
    return UnaryWithParam if short == "UnaryWithParam" else getattr(_grid, short)


@api_class("ttnn.UnaryWithParam")
class UnaryWithParam:
    """An element-wise op to fuse, with its parameters."""

    __slots__ = ("_blob", "op_type", "params")

    def __init__(self, arg: Any = None, arg0: Any = None, arg1: float | None = None, arg2: float | None = None) -> None:
        if isinstance(arg, tuple):
            arg0, arg1 = arg
        elif arg is not None:
            arg0 = arg
        set_ = object.__setattr__
        set_(self, "op_type", arg0)
        set_(self, "params", [float(number) for number in (arg1, arg2) if number is not None])
        set_(self, "_blob", encode_record("UnaryWithParam", [("op_type", arg0), ("params", tuple(self.params) or None)]))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"property '{name}' of 'UnaryWithParam' object has no setter")

    op_type: Any
    params: list[float]

    def __repr__(self) -> str:
        params = f", params=[{', '.join(f'{number:g}' for number in self.params)}]" if self.params else ""
        return f"UnaryWithParam(op_type=UnaryOpType::{self.op_type.name}{params})"

    def to_json(self) -> str:
        return json.dumps({"op_type": self.op_type.name, "params": self.params})

    @staticmethod
    def from_json(text: str) -> UnaryWithParam:
        data = json.loads(text)
        return UnaryWithParam(UnaryOpType[data["op_type"]], *data["params"])

    def _encode(self) -> bytes:
        blob: bytes = self._blob  # type: ignore[attr-defined]
        return blob


def _activation_from(value: Any) -> Any:
    """From an op type (or its number), or a pair of one and a parameter."""
    op_type = checker("UnaryOpType")
    parts = tuple(value) if isinstance(value, list | tuple) and len(value) == 2 else (value,)
    kind = op_type(parts[0], True)
    parameter = checker("float")(parts[1], True) if len(parts) == 2 else None
    if kind is MISMATCH or parameter is MISMATCH:
        return MISMATCH
    return UnaryWithParam(kind) if parameter is None else UnaryWithParam(kind, parameter)


register_class("UnaryWithParam", UnaryWithParam, _activation_from)


@cache
def config_class(name: str) -> type[Config]:
    """Full name, `ttnn.SDPAProgramConfig`, to the class."""
    return make_config(name)


# Bases that only exist to be named.
MARKERS = ("ttnn.SoftmaxProgramConfig", "ttnn.operations.matmul.MatmulProgramConfig", "ttnn.operations.normalization.LayerNormProgramConfig",
           "ttnn.DeviceComputeKernelConfig")  # fmt: skip


def marker_class(name: str) -> type:
    of = facts()["classes"][name]["of"]

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise TypeError(f"{of}: no constructor defined!")

    return type(of, (), {"__init__": refuse, "__module__": "ttnn"})
