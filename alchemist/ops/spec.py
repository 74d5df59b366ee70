"""The op description: one record per op, from which IR checks, lowering, both emitters, docs and tests derive.

Two records exist. A `TtirSpec` says what a TTIR op means (`reference`, float32 numpy) and which TTNN op it is, if it is one (`target`).
An `OpSpec` says how a TTNN op is called: the ordered arguments in Python and in C++ (both from the table of signatures), where each comes
from in the IR, and what must hold (samples, tolerance). `alchemist/ops/<family>.py` registers both; nothing else lists ops.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from alchemist.ir.op_class import named
from alchemist.ops.axes import Axes
from alchemist.ops.library_names import check_names
from alchemist.ops.sharding import Sharding, whole


class Kind(enum.Enum):
    """How an argument's value is written. Both emitters have exactly one renderer per kind."""

    TENSOR = enum.auto()
    TENSOR_LIST = enum.auto()
    DEVICE = enum.auto()
    BOOL = enum.auto()
    INT = enum.auto()
    FLOAT = enum.auto()
    STR = enum.auto()
    INT_LIST = enum.auto()
    FLOAT_LIST = enum.auto()
    SHAPE = enum.auto()  # ttnn.Shape in C++, a plain list in Python
    DTYPE = enum.auto()
    LAYOUT = enum.auto()
    MEMORY_CONFIG = enum.auto()
    COMPUTE_CONFIG = enum.auto()
    CONV2D_CONFIG = enum.auto()
    PROGRAM_CONFIG = enum.auto()
    UNARY_LIST = enum.auto()  # fused activations: ttnn.UnaryWithParam
    ENUM = enum.auto()  # value is an `EnumRef`
    SCALAR = enum.auto()  # int or float, as given
    CORE_GRID = enum.auto()  # [x, y]: ttnn.CoreGrid(x=.., y=..)
    PAIR_LIST = enum.auto()  # flat list of an even number of integers, written as pairs: [[0, 1], [2, 3]]


@dataclass(frozen=True, slots=True)
class EnumRef:
    """An enumerator of the TTNN library: EnumRef("ttnn.UnaryOpType", "RELU")."""

    enum: str
    member: str

    def __post_init__(self) -> None:
        check_names(self.enum, self.member)


class Required(enum.Enum):
    """Marks a parameter without default."""

    REQUIRED = enum.auto()


REQUIRED = Required.REQUIRED


ONES = "ones"
"""A default of `Arg`: Python leaves a list of ones out, C++ has no default for it."""


@dataclass(frozen=True, slots=True)
class Arg:
    """One parameter of the TTNN call.

    name: Python parameter name, exactly as in the real package.
    source: where its value is in the IR op:
        "operand:<name>"  an SSA operand (several for TENSOR_LIST; absent optional operand = argument left out). When the
            operand is an inline scalar (`inline_scalar(value)` is not None) its literal is written instead of a name.
        "attr:<name>"     an attribute or property (absent = left out); discardable ones have dotted names
            ("attr:alchemist.core_grid")
        "dtype" | "layout" | "memory_config" | "shape"   derived from the first result's type
        "changed_dtype", "changed_memory_config"   the first result's where the first operand has another
        "device"          the device of the program
        "const:<python literal>"   always this value
    keyword: True if it must be or reads better as keyword in Python; tensors are positional where the API allows.
    default: value of the real package's default; an argument equal to it is not written. REQUIRED: always written.
    explicit: written even where it is the default, because a reader must not have to know that one.
    cpp_type: spelled type for literals that need one, e.g. "std::array<uint32_t, 2>", "std::string"; of a device "pointer" or "reference".
    """

    name: str
    source: str
    kind: Kind
    keyword: bool = True
    default: Any = REQUIRED
    cpp_type: str = ""
    explicit: bool = False


@dataclass(frozen=True, slots=True)
class CppParam:
    """One parameter of the C++ overload, in order. `arg` names the `Arg` that fills it, "" = always the default.

    default: C++ text when there is no value ("std::nullopt", "false"); "" = required. Trailing defaults are not written,
    unless `always`: the library's own declaration has none.
    """

    name: str
    arg: str
    default: str = ""
    always: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """A small call for tests: input shapes and dtypes, attribute values of the IR op, expected output shapes."""

    inputs: tuple[tuple[tuple[int, ...], str], ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[tuple[int, ...], ...] = ()
    layout: str = "tile"


@dataclass(frozen=True, slots=True)
class ErrorSample:
    """A call that must be refused; `match` is a fragment of the message (tests/ops/test_error_samples.py)."""

    inputs: tuple[tuple[tuple[int, ...], str], ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    match: str = ""


@dataclass(frozen=True, slots=True)
class OpSpec:
    """A TTNN op.

    name: IR name ("ttnn.softmax"). target: the callee with dots, valid in Python and, with `::`, in C++ ("ttnn.softmax");
        cpp_target where C++ differs. header: C++ include path. args: Python order. cpp: C++ parameter order of the overload
        that the emitter calls (every `Arg` the overload lacks must be left at its default). cpp_result: "vector" or "variant" where the C++
        function gives its tensors in one.
    reference: numpy function (inputs in float32 or integer, attributes by IR name) -> outputs; used by tests only.
    tolerance: max relative L2 error in units of the result dtype's epsilon. doc: a remark for docs/ops.md. noun: what its result is called in
        programs where nothing says more of it, "" for the function's own name; the same for all ops of one target.
    """

    name: str
    target: str
    args: tuple[Arg, ...]
    header: str
    cpp: tuple[CppParam, ...] = ()
    cpp_target: str = ""
    cpp_result: str = ""
    reference: Callable[..., Sequence[Any]] | None = None
    samples: tuple[Sample, ...] = ()
    error_samples: tuple[ErrorSample, ...] = ()
    tolerance: float = 4.0
    doc: str = ""
    noun: str = ""


@dataclass(frozen=True, slots=True)
class TtirSpec:
    """A TTIR op: meaning and lowering.

    reference(inputs, attributes, result_shapes) -> outputs: numpy, float32 (integers stay integers); shares no code with
        the shim's kernels. It is what `.mlir` inputs are checked against.
    target: the TTNN op that it becomes one to one, "" when a rule of alchemist/passes/lower rewrites it.
    axes: what it does to each dimension (alchemist/ops/axes.py), None for an op whose dims have to stay as they are.
    sharding: how it may be cut over chips (alchemist/ops/sharding.py).
    """

    name: str
    reference: Callable[..., Sequence[Any]] | None = None
    target: str = ""
    axes: Axes | None = None
    sharding: Sharding = whole


INLINE = "alchemist.inline"
"""Unit attribute on a `ttnn.full` of rank 0: it is no tensor but a literal argument of its users (scale, fill value,
mask value). It makes no statement, no device program and is never deallocated. Set when its users are lowered."""

MOVING = frozenset(f"ttnn.{name}" for name in ("to_layout", "to_device", "from_device", "to_memory_config", "to_dtype", "reshape", "squeeze", "unsqueeze"))
"""Ops that leave a tensor's values and their order alone."""
SHAPING = MOVING | {f"ttnn.{name}" for name in ("transpose", "permute", "typecast", "expand", "repeat")}
"""Ops that a reader takes for the same value in another form."""
IN_PLACE = named("ttnn", "writes_position", "writes_rows") | {"ttnn.assign"}
"""Ops with a result that write to their first tensor as well."""

NOTE = "alchemist.note"
"""String attribute on any TTNN op: a remark for the emitted comment ("bfloat16: ttnn.embedding refuses float32")."""

FUSED_ACTIVATIONS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "relu": ("RELU", ()), "relu6": ("RELU6", ()), "gelu": ("GELU", (0.0,)), "gelu_tanh": ("GELU_TANH", ()), "silu": ("SILU", ()), "tanh": ("TANH", (0.0,)),
}  # fmt: skip
"""Activations of a product -> the same function as `fused_activation` of its program config."""
UNOPTIMIZED = "unoptimized"
"""Word before the time of level 0 in a config's comment."""
RESHARD = "moved: "
"""Beginning of the remark of a move that the optimizer put in."""

MESH = "alchemist.mesh"
"""String attribute on a module: the mesh whose chips run it, as `Mesh.name` ("t3000@2x4")."""

CUT_RESIDUALS = "alchemist.cut_residuals"
"""String attribute on a module for several chips: the residual stream is to be cut over the chips too; rows and columns of the mesh ("2x4")."""

LIFTED_NAME = "alchemist.lifted_name"
"""String attribute on a `ttnn.constant`: its name, or that of the argument it becomes, instead of `constant`."""
EXPERT_MASK, CHOICE_WEIGHTS, ROUTING_WEIGHTS = "expert_mask", "choice_weights", "routing_weights"
"""What a layer of experts computes before its products: which tokens have chosen each expert, and with which weights."""
LARGEST_BFLOAT16 = 255 * 2.0**120
"""The largest finite number of the type."""
TABLE_PARTS = ("high", "middle", "low")
"""Suffixes of the bfloat16 tables of a float32 table: `wte.weight_high`."""
PRODUCTS = named("ttnn", "product")
"""Products of a tensor and a matrix, which have program configs of matmul."""
COLUMN_MATRICES = ("half_turn", "pair_turn", "chosen_columns")
"""Names of constants that choose columns: a product with one is another form of its first operand."""

WHY = "alchemist.why"
"""String attribute on any TTNN op: why its program config is as it is, for the comment at the emitted constant."""


def inline_scalar(value: Any) -> int | float | None:
    """The literal value of an SSA value whose defining op is marked INLINE, else None."""
    owner = getattr(value, "op", None)
    if owner is None or owner.name != "ttnn.full" or INLINE not in owner.attributes:
        return None
    from alchemist.ir.access import attr

    literal: int | float = attr(owner, "fill_value")
    return literal


TTNN_OPS: dict[str, OpSpec] = {}
TTIR_OPS: dict[str, TtirSpec] = {}


def register(*specs: OpSpec | TtirSpec) -> None:
    """Adds records; a second record of one name is our bug and raises InternalError."""
    from alchemist.errors import InternalError

    for spec in specs:
        table: dict[str, Any] = TTNN_OPS if isinstance(spec, OpSpec) else TTIR_OPS
        if spec.name in table:
            raise InternalError(f"{spec.name} is registered twice", op=spec.name)
        table[spec.name] = spec
