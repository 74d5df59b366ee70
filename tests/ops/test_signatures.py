"""Every argument that the tables write exists in the real package: name, position, keyword-only-ness, default."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest

from alchemist.errors import InternalError
from alchemist.ops import TTNN_OPS, signatures
from alchemist.ops.spec import ONES, REQUIRED, Arg, EnumRef, Kind, OpSpec
from tests.tables import table

ENUM_DEFAULTS = {
    "DataType.BFLOAT16": "bf16",
    "Layout.ROW_MAJOR": "row_major",
    "Layout.TILE": "tile",
}


def _default(text: Any) -> Any:
    """A default of the extract in the tables' spelling."""
    if isinstance(text, str) and text in ENUM_DEFAULTS:
        return ENUM_DEFAULTS[text]
    if isinstance(text, str) and text.startswith("MemoryConfig("):
        return None  # interleaved DRAM: what leaving the argument out means
    if isinstance(text, str) and re.fullmatch(r"\[[\d, ]*\]", text):
        return tuple(int(part) for part in text.strip("[]").split(",") if part.strip())
    if isinstance(text, str) and text.startswith("GeluVariant."):
        return EnumRef("ttnn.GeluVariant", text.partition(".")[2])
    return tuple(text) if isinstance(text, list) else text


def _mismatch(args: tuple[Arg, ...], overload: list[list[Any]]) -> str:
    """Why `args` do not fit the overload, "" when they do."""
    names = [parameter[0] for parameter in overload]
    if names == ["args", "kwargs"]:  # a Python wrapper that hands everything on: the referee probes check the names
        return "" if all(arg.keyword for arg in args) else "positional argument to a wrapper"
    position = -1
    for arg in args:
        if arg.name not in names:
            return f"{arg.name} is not among {names}"
        at = names.index(arg.name)
        if at < position:
            return f"{arg.name} is out of order"
        position = at
        parameter = overload[at]
        if parameter[1] == "K" and not arg.keyword:
            return f"{arg.name} is keyword-only"
        if len(parameter) == 3 and arg.default is not REQUIRED:
            return f"{arg.name} has no default"
        if len(parameter) > 3 and arg.default is not REQUIRED:
            real, ours = _default(parameter[3]), None if arg.default == ONES else arg.default
            same = real == ours or (isinstance(real, float) and real == pytest.approx(ours, rel=1e-6))
            if not same:
                return f"{arg.name} defaults to {real!r}, not {ours!r}"
    missing = [p[0] for p in overload if len(p) == 3 and p[0] not in {arg.name for arg in args}]
    return f"required {missing} are missing" if missing else ""


@table("spec", TTNN_OPS.values(), ids=lambda spec: spec.name)
def test_python_arguments(spec: OpSpec, api: dict[str, Any]) -> None:
    overloads = api["python"][spec.target]
    reasons = [_mismatch(spec.args, overload) for overload in overloads]
    assert "" in reasons, "\n".join(reasons)


KINDS = {
    Kind.TENSOR: "Tensor|variant",
    Kind.TENSOR_LIST: "vector<ttnn::Tensor",
    Kind.BOOL: "bool",
    Kind.INT: r"int|char|long|ttsl::SmallVector",
    Kind.FLOAT: "float",
    Kind.STR: "basic_string",
    Kind.INT_LIST: "SmallVector|array|span|variant",
    Kind.PAIR_LIST: "SmallVector<std::array",
    Kind.SHAPE: "Shape|span",
    Kind.DTYPE: "DataType",
    Kind.LAYOUT: "Layout",
    Kind.MEMORY_CONFIG: "MemoryConfig",
    Kind.COMPUTE_CONFIG: "ComputeKernelConfig",
    Kind.CONV2D_CONFIG: "Conv2dConfig",
    Kind.PROGRAM_CONFIG: "ProgramConfig",
    Kind.UNARY_LIST: "span|vector",
    Kind.CORE_GRID: "CoreGrid",
    Kind.DEVICE: "MeshDevice",
    Kind.ENUM: "TensorMemoryLayout|GeluVariant",
    Kind.SCALAR: "variant|float|int",
}
NO_SYMBOL = {"ttnn.full", "ttnn.constant", "ttnn.global_avg_pool2d"}
"""Templates, constructors: the library exports no such symbol, or not under the header's name."""
TEMPLATES = {"ttnn.slice_static", "ttnn.slice_dynamic"}


def _cpp_mismatch(spec: OpSpec, types: list[str]) -> str:
    if len(types) != len(spec.cpp):
        return f"{len(types)} parameters, not {len(spec.cpp)}"
    kinds = {arg.name: arg.kind for arg in spec.args}
    for parameter, type_ in zip(spec.cpp, types, strict=True):
        if parameter.arg and not re.search(KINDS[kinds[parameter.arg]], type_):
            return f"{parameter.name} is {type_}"
        if parameter.default == "std::nullopt" and not type_.startswith(("std::optional", "ttsl::OptionalReference")):
            return f"{parameter.name} is {type_}, not optional"
    return ""


@table("spec", TTNN_OPS.values(), ids=lambda spec: spec.name)
def test_cpp_parameters(spec: OpSpec, api: dict[str, Any]) -> None:
    """The C++ parameter list has the length and types of an exported overload."""
    candidates = api["cpp"][spec.name]
    if not candidates:
        assert spec.name in NO_SYMBOL | TEMPLATES
        return
    reasons = [_cpp_mismatch(spec, types) for types in candidates]
    assert "" in reasons, "\n".join(sorted(set(reasons)))
    filled = {parameter.arg for parameter in spec.cpp if parameter.arg}
    unfilled = [arg.name for arg in spec.args if arg.default is REQUIRED and arg.name not in filled]
    assert not unfilled


def _word(arg: Arg) -> str:
    return f"{arg.name}={arg.source}"


ROWS = [
    (spec.name, spec.target, spec.cpp_target, " ".join([*(_word(a) for a in spec.args if not a.keyword), "*", *(_word(a) for a in spec.args if a.keyword)]))
    for spec in TTNN_OPS.values()
    if spec.target != "ttnn.Tensor"
]


def test_each_quirk_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of overloads.csv that changes nothing is stale."""
    made = {(name, target, cpp_target): signatures.signature(name, target, cpp_target, words) for name, target, cpp_target, words in ROWS}
    rows = [(op, parameter, field) for (op, parameter), fields in signatures._quirks().items() for field in fields]
    assert len(rows) > 20
    quirks, stale = signatures._quirks(), []
    for op, parameter, field in rows:
        less = {key: {name: value for name, value in fields.items() if (*key, name) != (op, parameter, field)} for key, fields in quirks.items()}
        monkeypatch.setattr(signatures, "_quirks", lambda less=less: {key: fields for key, fields in less.items() if fields})
        (row,) = [row for row in ROWS if row[0] == op]
        with contextlib.suppress(InternalError):
            if signatures.signature(*row) == made[row[:3]]:
                stale.append(f"{op},{parameter},{field}")
    assert not stale


@table(
    ("op", "parameter", "text"),
    [
        ("conv2d", "input_tensor", ""), ("conv2d", "dtype", "std::nullopt"), ("conv2d", "return_output_dim", "false"), ("conv_transpose2d", "mirror_kernel", "true"),
        ("conv2d", "groups", "1"), ("softmax", "dim", "-1"), ("rand", "high", "1.0"), ("layer_norm", "epsilon", "1e-12"), ("addcmul", "value", "1.0f"),
        ("add", "activations", "{}"), ("conv3d", "dilation", "{1,1,1}"), ("fold", "padding", "{0,0}"), ("prepare_conv3d_weights", "device", "nullptr"),
        ("empty", "dtype", "ttnn::DataType::BFLOAT16"), ("empty", "memory_config", "ttnn::MemoryConfig{}"), ("rand", "layout", "ttnn::Layout::TILE"),
        ("gelu", "variant", "ttnn::operations::unary::GeluVariant::Accurate"), ("embedding", "embeddings_type", "ttnn::prim::EmbeddingsType::GENERIC"),
    ],
)  # fmt: skip
def test_what_stands_in_a_gap(op: str, parameter: str, text: str) -> None:
    """C++ has no names of arguments: one that is left out before another is written as its default."""
    (row,) = [row for row in ROWS if row[0] == f"ttnn.{op}"]
    _, cpp, *_ = signatures.signature(*row)
    assert [one.default for one in cpp if one.name == parameter] == [text]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("input_tensor dim memory_confg", "neither operand nor attribute"),
        ("input_tensor=input dim=dimension exact=numericStable", "no overload of ttnn.softmax has the parameters"),
        ("input_tensor dim=input", "no overload of ttnn.softmax has the parameters"),
    ],
)
def test_words_of_no_overload_are_refused(words: str, reason: str) -> None:
    with pytest.raises(InternalError, match=reason):
        signatures.signature("ttnn.softmax", "ttnn.softmax", "", words)
