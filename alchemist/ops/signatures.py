"""The library's declaration of a call: Python arguments and C++ parameters of an `OpSpec`, from the table of signatures.

The table (`ttnn/_signatures.json` of the simulator, made from the real package's API and exported symbols) has names, order, types and
defaults of the Python overloads and the parameter types of the C++ ones. A row of an op only says where its arguments come from, as words
`parameter` or `parameter=source`, in any order:

    input_tensor                an operand or attribute of the IR op with that name, or the one that `SHORTHANDS` gives
    dim=dim_arg                 an operand or attribute of another name; dotted ones are discardable attributes
    memory_config, dtype, layout, device    of the result's type, of the program
    dtype=changed_dtype         of the result's type where it is another than the first operand's
    memory_config=changed_memory_config     the same of the memory, for calls whose result lies where the first operand does
    return_indices=const:True   any source of `Arg` in full

A lone `*` divides the arguments written without their names from those written with them; without it the required ones are written without.
What the table cannot say (a C++ parameter without default, the parameters of a template) is a row of `overloads.csv`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from ttnn_shim.paths import signature_table

from alchemist.errors import InternalError
from alchemist.ir.dialects import op_table
from alchemist.ops.spec import ONES, REQUIRED, Arg, CppParam, EnumRef, Kind

SHORTHANDS = {"input_tensor": "input", "tensor": "input", "compute_kernel_config": "compute_config"}
EXPLICIT = frozenset({"is_causal", "scale", "epsilon", "transpose_key", "dim"})
"""Parameters that change what is computed: calls show their values, the library's defaults too."""
DERIVED = ("memory_config", "dtype", "changed_dtype", "changed_memory_config", "layout", "device")
_ENUMS = {"GeluVariant", "TensorMemoryLayout"}
_KINDS = {
    "bool": Kind.BOOL, "int": Kind.INT, "float": Kind.FLOAT, "str": Kind.STR, "Sequence[int]": Kind.INT_LIST, "DataType": Kind.DTYPE, "Layout": Kind.LAYOUT,
    "MemoryConfig": Kind.MEMORY_CONFIG, "MeshDevice": Kind.DEVICE, "WormholeComputeKernelConfig": Kind.COMPUTE_CONFIG, "Conv2dConfig": Kind.CONV2D_CONFIG,
    "CoreGrid": Kind.CORE_GRID, "Sequence[EltwiseUnaryWithParam]": Kind.UNARY_LIST, "Sequence[Sequence[int]]": Kind.PAIR_LIST, "Shape": Kind.INT_LIST,
}  # fmt: skip
_TENSOR = re.compile(r"\bTensor\b")
_DEFAULTS = {"DataType.BFLOAT16": "bf16", "Layout.ROW_MAJOR": "row_major", "Layout.TILE": "tile"}
# The part of a C++ type that a kind needs; the first parameter of the Python overload that fits takes the C++ one.
_CPP = {
    Kind.TENSOR: r"(?<!array<)(?<!vector<)(?<!tuple<)ttnn::Tensor\b",
    Kind.TENSOR_LIST: "(array|vector|tuple)<ttnn::Tensor",
    Kind.BOOL: r"\bbool\b",
    Kind.INT: r"\b(int|char|long)\b",
    Kind.FLOAT: r"\bfloat\b",
    Kind.SCALAR: "variant<|float|int",
    Kind.STR: "basic_string",
    Kind.INT_LIST: r"SmallVector|array<unsigned|array<int|vector<unsigned|span<int|Shape\b",
    Kind.PAIR_LIST: "SmallVector<std::array",
    Kind.DTYPE: "DataType",
    Kind.LAYOUT: r"::Layout\b",
    Kind.MEMORY_CONFIG: "::MemoryConfig",
    Kind.COMPUTE_CONFIG: "ComputeKernelConfig",
    Kind.CONV2D_CONFIG: "Conv2dConfig",
    Kind.PROGRAM_CONFIG: "ProgramConfig",
    Kind.UNARY_LIST: "(span|vector)<ttnn::operations::unary",
    Kind.CORE_GRID: "CoreGrid",
    Kind.DEVICE: "MeshDevice",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a Python overload; type and default as the table spells them."""

    name: str
    keyword_only: bool
    type: str
    default: Any = REQUIRED

    @property
    def members(self) -> list[str]:
        """The alternatives of its type."""
        return [part for part in re.split(r" \| (?![^\[]*\])", self.type) if part != "None"]


@cache
def _quirks() -> Mapping[tuple[str, str], Mapping[str, str]]:
    """(op, parameter) -> field -> value of overloads.csv."""
    quirks: dict[tuple[str, str], dict[str, str]] = {}
    for row in csv.DictReader(resources.files("alchemist.ops").joinpath("overloads.csv").read_text(encoding="utf-8").splitlines()):
        quirks.setdefault((row["op"], row["parameter"]), {})[row["field"]] = row["value"]
    return quirks


def python_overloads(target: str) -> list[tuple[list[Parameter], str]]:
    """Parameters and result type of each overload; the C++ function's where the package has a wrapper of any arguments."""
    table = signature_table()
    name = table["aliases"].get(target, target)
    index = table["wrapped"].get(name, table["functions"][name][0])
    overloads = []
    for returns, *params in table["sets"][index]:
        rows = [table["params"][i] for i in params]
        parameters = [Parameter(row[0], row[1] == "K", table["types"][row[2]] or "object", *row[3:]) for row in rows if not row[1].startswith("*")]
        overloads.append((parameters, table["types"][returns] or ""))
    return overloads


def cpp_overloads(name: str, target: str) -> list[list[str]]:
    """Parameter types of each exported overload of a function with dots in its name; of a template, as overloads.csv has them for the IR op."""
    table = signature_table()
    if quirk := _quirks().get((name, "*")):
        return [quirk["types"].split("; ")]
    short = target.rpartition(".")[2]
    names = [target] if target in table["cpp"] else [name for name in table["cpp"] if name.startswith("ttnn.operations.") and name.endswith(f".{short}")]
    return [[table["cpp_types"][i] for i in overload] for name in names for overload in table["cpp"][name]]


def has_parameter(target: str, name: str) -> bool:
    """Whether some overload has the parameter."""
    return any(param.name == name for parameters, _ in python_overloads(target) for param in parameters)


def result_of(target: str) -> str:
    """The form in which the C++ function returns its tensors: "vector", "variant" (a tensor by default), or "" for itself or a tuple."""
    returns = python_overloads(target)[0][1]
    return "vector" if "list[" in returns else "variant" if " | tuple" in returns else ""


def signature(name: str, target: str, cpp_target: str, words: str) -> tuple[tuple[Arg, ...], tuple[CppParam, ...]]:
    """Python arguments and C++ parameters of IR op `name`.

    Raises:
        InternalError: the table has no overload for the words.
    """
    before, star, after = words.partition("*")
    sources = _sources(name, f"{before} {after}")
    for parameters, _ in python_overloads(target):
        if sources.keys() <= {p.name for p in parameters} and all(_fits(p, sources.get(p.name)) for p in parameters):
            break
    else:
        raise InternalError(f"no overload of {target} has the parameters {' '.join(sources)}", op=name)
    kinds = {p.name: _kind(name, p, sources.get(p.name, "")) for p in parameters}
    overloads = [(types, params) for types in cpp_overloads(name, cpp_target or target) if (params := _assign(types, parameters, kinds, sources)) is not None]
    if not overloads:
        raise InternalError(f"no C++ overload of {cpp_target or target} takes {' '.join(sources)}", op=name)
    types, params = min(overloads, key=lambda pair: _misfit(pair[0], pair[1], parameters, sources))
    types_of = {p.name: type_ for p, type_ in zip(params, types, strict=True) if p is not None}
    bare = {word.partition("=")[0] for word in before.split()} if star else {p.name for p in parameters if not p.keyword_only and p.default is REQUIRED}
    present = [p for p in parameters if p.name in sources]
    args = {p.name: _arg(name, p, sources[p.name], kinds[p.name], types_of[p.name], p.name not in bare) for p in present}
    return tuple(args.values()), tuple(_cpp(name, p, type_, args) for p, type_ in zip(params, types, strict=True))


def _sources(name: str, words: str) -> dict[str, str]:
    """Parameter -> source as in `Arg`."""
    info = op_table("ttnn").get(name)
    operands, attributes = ({operand.name for operand in info.operands}, set(info.attributes)) if info else (set(), set())
    sources = {}
    for word in words.split():
        param, _, source = word.partition("=")
        declared = operands | attributes
        if not source:
            source = SHORTHANDS[param] if param in SHORTHANDS and param not in declared else param
        if ":" in source or source in DERIVED:
            sources[param] = source
        elif source in operands:
            sources[param] = f"operand:{source}"
        elif source in attributes or "." in source:
            sources[param] = f"attr:{source}"
        else:
            raise InternalError(f"{source} of {word} is neither operand nor attribute", op=name)
    return sources


def _fits(parameter: Parameter, source: str | None) -> bool:
    """Whether the source's values suit the parameter. None: the argument is omitted."""
    if source is None:
        return parameter.default is not REQUIRED
    tensors = [_TENSOR.search(part) is not None for part in parameter.members]
    return parameter.type == "object" or (any(tensors) if source.startswith("operand:") else not all(tensors))


def _kind(name: str, parameter: Parameter, source: str) -> Kind:
    if kind := _quirk(name, parameter, "kind"):
        return Kind[kind]
    members = parameter.members
    tensors = [part for part in members if _TENSOR.search(part)]
    if source.startswith("operand:") or (tensors and tensors == members):
        return Kind.TENSOR_LIST if any("[" in part for part in tensors) else Kind.TENSOR
    if any(re.fullmatch(r"(Sequence|[lL]ist)\[int\]", part) for part in members):
        return Kind.INT_LIST
    if {"int", "float"} <= set(members):
        return Kind.SCALAR
    if members and all("ProgramConfig" in part for part in members):
        return Kind.PROGRAM_CONFIG
    return next((_KINDS[part] for part in members if part in _KINDS), Kind.ENUM)


def _assign(types: Sequence[str], parameters: Sequence[Parameter], kinds: Mapping[str, Kind], sources: Mapping[str, str]) -> list[Parameter | None] | None:
    """The Python parameter of each C++ one (None: Python has none). None: one that is given has no place, or one without a value is left."""
    rest = list(parameters)
    assigned: list[Parameter | None] = []
    for type_ in types:
        assigned.append(next((param for param in rest if _takes(type_, kinds[param.name], param)), None))
        rest = [param for param in rest if param is not assigned[-1]]
    if any(param.name in sources for param in rest):
        return None
    for index, type_ in enumerate(types):  # classes of other names in Python, in their order
        if assigned[index] is None and (_optional(type_) or "vector<" in type_):
            assigned[index] = rest.pop(0) if rest else None
        elif assigned[index] is None:
            return None
    return assigned


def _misfit(types: Sequence[str], assigned: Sequence[Parameter | None], parameters: Sequence[Parameter], sources: Mapping[str, str]) -> tuple[int, int]:
    """(number of C++ parameters that need a value that Python lacks, number of pairs in another order than in Python)."""
    places = [parameters.index(p) for p in assigned if p is not None]
    open_ = [p.default is None and p.name not in sources and not _optional(type_) for p, type_ in zip(assigned, types, strict=True) if p is not None]
    return sum(open_), sum(a > b for index, a in enumerate(places) for b in places[index:])


def _takes(type_: str, kind: Kind, parameter: Parameter) -> bool:
    if _optional(type_) and parameter.default is REQUIRED:
        return False
    if kind is Kind.ENUM:
        return any(part in type_ for part in parameter.members)
    if (
        kind in (Kind.INT, Kind.FLOAT, Kind.BOOL)
        and re.search(r"Tensor|UnaryWithParam|Config|std::(vector|array|span)<|<std::array|tuple", type_)
        and "variant<int" not in type_
    ):
        return False
    return re.search(_CPP[kind], type_) is not None


def _optional(type_: str) -> bool:
    return type_.startswith(("std::optional", "ttsl::OptionalReference"))


def _arg(name: str, parameter: Parameter, source: str, kind: Kind, type_: str, keyword: bool) -> Arg:
    if kind is Kind.INT_LIST and type_.startswith("tt::tt_metal::Shape"):
        kind = Kind.SHAPE
    elif kind is Kind.INT_LIST and "SmallVector<std::array" in type_:
        kind = Kind.PAIR_LIST
    quirk = _quirk(name, parameter, "default")
    default = REQUIRED if quirk == "none" else ONES if quirk == "ones" else _default(parameter.default)
    return Arg(parameter.name, source, kind, keyword, default, cpp_type=_cpp_type(name, parameter, kind, type_), explicit=parameter.name in EXPLICIT)


def _quirk(name: str, parameter: Parameter, field: str) -> str:
    return _quirks().get((name, parameter.name), {}).get(field, "")


def _default(value: Any) -> Any:
    """A default of the table in the IR's spelling."""
    if isinstance(value, str) and value in _DEFAULTS:
        return _DEFAULTS[value]
    if isinstance(value, str) and value.startswith("MemoryConfig("):
        return None  # interleaved DRAM, the default of an omitted argument
    if isinstance(value, str) and re.fullmatch(r"\[[-\d, ]*\]", value):
        return tuple(json.loads(value))
    if isinstance(value, str) and value.partition(".")[0] in _ENUMS:
        return EnumRef(f"ttnn.{value.partition('.')[0]}", value.partition(".")[2])
    if isinstance(value, float):
        return float(str(np.float32(value)))
    return tuple(value) if isinstance(value, list) else value


def _cpp_type(name: str, parameter: Parameter, kind: Kind, type_: str) -> str:
    """The type that a literal must be spelled with."""
    if quirk := _quirk(name, parameter, "cpp_type"):
        return quirk
    if kind is Kind.DEVICE:
        return "pointer" if type_.endswith(("*", "*>")) else "reference"
    if kind is Kind.STR:
        return "std::string"
    if kind not in (Kind.INT_LIST, Kind.PAIR_LIST):
        return ""
    if re.search(r"variant<(?:int|long)\b", type_):
        return ""
    match = re.search(r"(?:ttsl::SmallVector|std::array|std::span)<(?:[^<>]|<[^<>]*>)*>", type_)
    text = re.sub(r", 8ul|, 18446744073709551615ul|ul\b", "", match[0]) if match else ""
    return text.replace("unsigned int", "uint32_t").replace("long", "int64_t").replace("std::span<int const>", "ttsl::SmallVector<int32_t>")


def _cpp(name: str, parameter: Parameter | None, type_: str, args: Mapping[str, Arg]) -> CppParam:
    if parameter is None:
        return CppParam("", "", "std::nullopt" if _optional(type_) else "{}")
    arg = args.get(parameter.name)
    quirks = _quirks().get((name, parameter.name), {})
    return CppParam(parameter.name, parameter.name if arg else "", quirks.get("cpp_default") or _cpp_default(parameter, type_, arg), "required" in quirks)


def _cpp_default(parameter: Parameter, type_: str, arg: Arg | None) -> str:
    """C++ text of a Python default; "" without one, or where the emitter writes what the argument's kind makes of it."""
    value, plain = parameter.default, type_.removesuffix(" const&").replace("tt::tt_metal", "ttnn")
    if value is REQUIRED or (arg is not None and arg.default is not None and arg.kind in (Kind.INT_LIST, Kind.STR)):
        return ""
    if _optional(type_) and (arg is None or value is None):
        return "std::nullopt"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        literal = str(_default(value))
        return f"{literal}f" if isinstance(value, float) and "variant<" in type_ else literal  # a double does not convert
    if value is None:
        return "nullptr" if type_.endswith("*") else "{}"
    if isinstance(value, str) and re.fullmatch(r"\w+\.\w+", value):
        return f"{plain}::{value.partition('.')[2]}"
    if isinstance(value, str) and value.startswith("MemoryConfig("):
        return f"{plain}{{}}"
    return re.sub(r"[\[ ]", lambda match: "{" if match[0] == "[" else "", value).replace("]", "}") if isinstance(value, str) else "{}"
