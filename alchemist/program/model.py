"""The emitted program, before it is text in any language.

A `Program` has functions in print order (callee first), const-eval functions that mirror them, named constants and the
facts of the header. Names are final identifiers; strings (comments, weight keys) are as in the source and are sanitised
by the emitters. Python and C++ print the same statements in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from alchemist.ops.library_names import check_names
from alchemist.ops.spec import Arg, EnumRef, Kind, OpSpec

# ---------------------------------------------------------------------------------------------------------------- values


@dataclass(frozen=True, slots=True)
class Index:
    """A loop variable inside a weight key: `{i}`, or `{2 * i + 1}` with a scale and an offset. With `text`, the variable is a string."""

    variable: str
    offset: int = 0
    text: bool = False
    scale: int = 1

    @property
    def expression(self) -> str:
        """The variable, what it is multiplied with and what is added to it: the same in both languages."""
        scaled = self.variable if self.scale == 1 else f"{self.scale} * {self.variable}"
        return f"{scaled} {'+' if self.offset > 0 else '-'} {abs(self.offset)}" if self.offset else scaled


Key = tuple[str | Index, ...]
"""A weight key or scope, as pieces: ("encoder.layer.", Index("i"), ".output")."""


@dataclass(frozen=True, slots=True)
class TensorRef:
    name: str


@dataclass(frozen=True, slots=True)
class Element:
    """A tensor of a list: `key_caches[i]`."""

    name: str
    index: int | Index


@dataclass(frozen=True, slots=True)
class WeightRef:
    """A prepared weight (`weights[key]`), or with `stored` a tensor file (`stored[key]`), or what is kept in a `collection` of the program's own.

    taken: it leaves the collection, `saved.pop(key)`.
    """

    key: Key
    stored: bool = False
    collection: str = "weights"
    taken: bool = False


@dataclass(frozen=True, slots=True)
class DeviceRef:
    """The device, in a variable `device`; with `stored`, the device of the tensor files (`stored.device`)."""

    stored: bool = False


@dataclass(frozen=True, slots=True)
class Literal:
    """head_dim: of an attention's scale that is `head_dim ** -0.5`, 0 for all other values. source: the model's attribute: "TrainingStep.rate"."""

    value: bool | int | float | str | None
    head_dim: int = 0
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Items:
    """A list of values."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class DType:
    """A tensor's data type by its TT-NN name in lower case: "bfloat16", "bfloat8_b", "uint32"."""

    name: str

    def __post_init__(self) -> None:
        check_names(self.name)


@dataclass(frozen=True, slots=True)
class Layout:
    """ "tile" or "row_major"."""

    name: str

    def __post_init__(self) -> None:
        check_names(self.name)


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """buffer: "dram", "l1", "l1_small"; memory: "interleaved", "height_sharded" ...

    shard: (shape of a shard, core ranges ((x0, y0), (x1, y1)) ..., orientation), or None.
    """

    buffer: str = "dram"
    memory: str = "interleaved"
    shard: tuple[tuple[int, ...], tuple[tuple[tuple[int, int], tuple[int, int]], ...], str] | None = None

    def __post_init__(self) -> None:
        check_names(self.buffer, self.memory, *(() if self.shard is None else (self.shard[2],)))


@dataclass(frozen=True, slots=True)
class Record:
    """A config object of the library: ttnn.WormholeComputeKernelConfig(math_fidelity=...). Only fields that are set.

    comment: why it is as it is, for the constant's; equal configs are one whatever it says.
    """

    class_name: str
    fields: tuple[tuple[str, Value], ...]
    comment: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        check_names(self.class_name, *(name for name, _ in self.fields))


@dataclass(frozen=True, slots=True)
class Unary:
    """A fused activation: ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU[, parameters]). source: the only parameter's, as of a `Literal`; named: its constant."""

    op: str
    parameters: tuple[float, ...] = ()
    source: str = field(default="", compare=False)
    named: ConstantRef | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_names(self.op)


@dataclass(frozen=True, slots=True)
class ConstantRef:
    name: str


@dataclass(frozen=True, slots=True)
class InverseRoot:
    """`of ** -0.5`."""

    of: Value


@dataclass(frozen=True, slots=True)
class NumberRef:
    """An integer parameter of the function, or an expression of such in Python's spelling: "4 * channels", "size // 2"."""

    name: str


@dataclass(frozen=True, slots=True)
class ParameterRef:
    """A parameter of the function that is neither a tensor nor an integer: a memory config, a flag."""

    name: str


@dataclass(frozen=True, slots=True)
class KeyText:
    """A weight key or scope as a string: f"layers.{i}.norm"."""

    key: Key


@dataclass(frozen=True, slots=True)
class HasWeight:
    """Whether the prepared weights have one of this name: what tells modules of a class apart that have different parts."""

    key: Key
    collection: str = "weights"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A named tuple of configs. kinds: its fields as parameters."""

    type_: str
    fields: tuple[tuple[str, Value], ...]
    kinds: tuple[Parameter, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unused:
    """What a call gives a parameter that none of its statements reads, while functions are made; no program has it."""


Value = (
    TensorRef | Element | NumberRef | ParameterRef | WeightRef | DeviceRef | Literal | KeyText | Items
    | DType | Layout | MemoryConfig | Record | Unary | EnumRef | ConstantRef | InverseRoot | HasWeight | Bundle | Unused
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------ statements


@dataclass(frozen=True, slots=True)
class Blank:
    """An empty line; at the start of a block or doubled it is not printed."""


@dataclass(frozen=True, slots=True)
class Comment:
    text: str


Target = str | WeightRef
"""What a call's result is bound to: a variable, or an entry of the prepared weights."""


@dataclass(frozen=True, slots=True)
class Call:
    """A TT-NN call. `arguments` are in the Python API's order; `returned` = `return op(...)`. `note`: comment behind.

    l1_elements: of each result, how many it has in L1.
    """

    spec: OpSpec
    arguments: tuple[tuple[Arg, Value], ...]
    results: tuple[Target, ...]
    note: str = ""
    returned: bool = False
    l1_elements: tuple[int, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CallFunction:
    """A call of one of the program's own functions, by its parameters in order. l1_elements: as of a `Call`."""

    function: str
    arguments: tuple[Argument, ...]
    results: tuple[Target, ...]
    note: str = ""
    returned: bool = False
    l1_elements: tuple[int, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ScopeArgument:
    """A collection narrowed to a scope; an empty key passes it on as it is."""

    collection: str  # "weights", "stored" or one of the program's own
    key: Key = ()


@dataclass(frozen=True, slots=True)
class NumberArgument:
    """An integer or another constant for one of the program's own functions, by the parameter's name."""

    name: str
    value: Value


Argument = Value | ScopeArgument | NumberArgument


@dataclass(frozen=True, slots=True)
class Assign:
    """A second name for a value."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Store:
    """A tensor that is kept under a weight's name as it is."""

    target: WeightRef
    value: Value


@dataclass(frozen=True, slots=True)
class Drop:
    """Takes a tensor out of a collection of the program's own."""

    place: WeightRef


@dataclass(frozen=True, slots=True)
class Free:
    """Drops the last references to these variables."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewList:
    """A list of tensors, at first of these."""

    name: str
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class NewCollection:
    """An empty collection of tensors by name, as the weights are."""

    name: str


@dataclass(frozen=True, slots=True)
class Gather:
    """A list of `count` weights; `key` has the number as `i`."""

    name: str
    key: Key
    count: int


@dataclass(frozen=True, slots=True)
class Append:
    """A tensor at the end of a list, or at its front, or where a flag of the function puts it (true: at the front). index: the variable that counts the
    elements of a list that has its length from the beginning."""

    name: str
    value: Value
    front: bool | ParameterRef = False
    index: str = ""


@dataclass(frozen=True, slots=True)
class Loop:
    """for variable in range(start, stop, step); `stop` may be a named constant. container: what is counted ("layer").

    variable: "_" where the body does not read it. length: the named number of turns of a loop that counts down to 0. backwards: the flag of
    the function that makes a loop from 0 in steps of 1 count down instead. fills: lists of that length, made before the loop, whose elements it sets.
    """

    variable: str
    start: int
    stop: Value
    step: int
    body: tuple[Statement, ...]
    container: str = ""
    length: ConstantRef | None = None
    backwards: ParameterRef | None = None
    fills: tuple[str, ...] = ()

    @property
    def counts_down(self) -> bool:
        """Whether it goes through a sequence from its end to its beginning."""
        return self.step == -1 and self.stop == Literal(-1)

    @property
    def listed(self) -> tuple[int, ...]:
        """The numbers of two or three turns in steps of several, which read better as they are: `for i in (0, 3)`; () of other loops."""
        if self.step <= 1 or not isinstance(self.stop, Literal) or not isinstance(self.stop.value, int):
            return ()
        turns = tuple(range(self.start, self.stop.value, self.step))
        return turns if 2 <= len(turns) <= 3 else ()

    @property
    def whole(self) -> Value | None:
        """The number of turns of a loop over a whole sequence, in either direction; None for other loops."""
        if self.counts_down:
            return Literal(self.start + 1)
        return self.stop if self.start == 0 and self.step == 1 else None


@dataclass(frozen=True, slots=True)
class NameLoop:
    """for variable in (names): the variable is a string. collection: whose names they are, in the order in which it got them; `names` is empty then."""

    variable: str
    names: tuple[Key, ...]
    body: tuple[Statement, ...]
    collection: str = ""


@dataclass(frozen=True, slots=True)
class RowLoop:
    """for each of the rows: `columns` are its cells, texts or constants."""

    columns: tuple[Parameter, ...]
    rows: tuple[tuple[Value, ...], ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class If:
    """if condition: body, else: otherwise. results: variables that both sides set and that are read behind."""

    condition: Value
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extents:
    """Variables for a tensor's extents; "_" for one that nothing reads."""

    names: tuple[str, ...]
    tensor: Value


@dataclass(frozen=True, slots=True)
class Return:
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ReturnNamed:
    """Returns the tensors of a collection of the program's own; names: of all outputs, in order."""

    collection: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GetDevice:
    """`device = <tensor>.device()`."""

    tensor: Value


Statement = (
    Blank | Comment | Call | CallFunction | Assign | NewList | NewCollection | Gather | Append | Store | Drop | Free | Loop | NameLoop | RowLoop | If
    | Extents | Return | ReturnNamed | GetDevice
)  # fmt: skip

# -------------------------------------------------------------------------------------------------------------- program


CONSTANT_KINDS = (
    "number", "bool", "float", "text", "dtype", "layout",
    "memory_config", "conv2d_config", "attention_config", "matmul_config", "norm_config", "compute_config",
)  # fmt: skip
"""Parameters that stand for constants; so do those of a named tuple's type."""
_BUNDLE, _OPTIONAL = "bundle ", "optional "


def bundle_kind(type_: str) -> str:
    """The kind of a parameter that is a named tuple."""
    return _BUNDLE + type_


def bundle_type(kind: str) -> str:
    """The type of a parameter that is a named tuple, "" for other kinds."""
    return kind.removeprefix(_BUNDLE) if kind.startswith(_BUNDLE) else ""


def optional_kind(kind: str) -> str:
    """The kind of a config that some calls leave to the library."""
    return _OPTIONAL + kind


def plain_kind(kind: str) -> str:
    """The kind of a config, whether all calls give one or not."""
    return kind.removeprefix(_OPTIONAL)


def is_constant(kind: str) -> bool:
    """Whether a parameter of the kind stands for a constant."""
    return plain_kind(kind) in CONSTANT_KINDS or bool(bundle_type(kind))


@dataclass(frozen=True, slots=True)
class Parameter:
    """kind: "tensor", "tensors" (a list), "weights" (prepared, read), "output" (prepared, written), "stored" (tensor files), "kept" (a collection
    of the program's own), "device", "number".

    Other constants are of kind "bool", "float", "text", "dtype", "layout", "memory_config", "conv2d_config", "attention_config", "matmul_config"
    "norm_config" or "compute_config", or `bundle_kind`, `optional_kind`.
    default: what calls leave out.
    note: a tensor's shape and what is unusual about it. memory: where a tensor lies, None where calls differ.
    """

    name: str
    kind: str = "tensor"
    note: str = field(default="", compare=False)
    default: Value | None = None
    memory: MemoryConfig | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the emitted program.

    returns: number of results, `lists` of them being lists of tensors (by place). doc: one line, or "". module, scopes, source: class, parameter scopes (with
    `{0..11}` for loops) and "file:line" it was made from, for the outline and the manifest. brief: the doc where each parameter's note
    stands beside it, "" for none.
    """

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    returns: int
    doc: str = ""
    module: str = ""
    scopes: tuple[str, ...] = ()
    source: str = ""
    brief: str = ""
    lists: tuple[int, ...] = ()

    def origin(self) -> dict[str, str]:
        """Where the function comes from, for the manifest."""
        return {"module": self.module, "scope": ", ".join(self.scopes), "source": self.source}


@dataclass(frozen=True, slots=True)
class Constant:
    """A named value of both languages. kind: how C++ types it. `comment` stands above it."""

    name: str
    value: Value
    kind: Kind
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """An input or output of the program: exact name and the identifier that holds it.

    place: where an output is that the program writes in place and does not return; None for what it returns. element: of a list that the entry
    function returns, None for a tensor that it returns by itself.
    """

    name: str
    identifier: str
    place: TensorRef | WeightRef | None = None
    element: Element | None = None

    @property
    def result(self) -> str:
        """The variable that the entry function's result is bound to."""
        return self.element.name if self.element else self.identifier


def returned_of(outputs: Sequence[Variable]) -> tuple[Variable, ...]:
    """Outputs that the entry function returns, in its order: a list's tensors one after the other."""
    returned = [output for output in outputs if output.place is None]
    results = results_of(outputs)
    return tuple(output for name in results for output in returned if output.result == name)


def results_of(outputs: Sequence[Variable]) -> tuple[str, ...]:
    """Variables for what the entry function returns: tensors and lists."""
    return tuple(dict.fromkeys(output.result for output in outputs if output.place is None))


@dataclass(frozen=True, slots=True)
class Step:
    """One TT-NN call of a forward pass, in the order in which the program makes them.

    op: the callee ("ttnn.linear"). shape, dtype: of its only result, None for several. values: framework names of the values
    behind it, latest last. source: index of the step that made its first tensor, -1 for none; same_value: it only gives
    that tensor another form.
    """

    op: str
    shape: tuple[int, ...] | None
    dtype: str
    values: tuple[str, ...]
    source: int = -1
    same_value: bool = False


MANY_OUTPUTS = 16
"""Outputs that a program names one by one at most; those of more are named by their place."""
FORWARD = "forward"
"""What the only entry point of a program is called where it has no name of its own."""


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """One of a program's functions that are called from outside, by the name that the user gave it."""

    name: str
    function: str
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]

    @property
    def returned(self) -> tuple[Variable, ...]:
        """Outputs that the function returns, in order."""
        return returned_of(self.outputs)


@dataclass(frozen=True, slots=True)
class DecodingStep:
    """The entry point that makes a token: names of its token and position inputs and of the logits, positions that its caches hold.

    fed: further input -> the output of another entry point that it is given.
    """

    entry: str
    tokens: str
    position: str
    logits: str
    length: int
    fed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PromptEntry:
    """The entry point that takes a prompt as a whole: its token input. logits: its output, "" of an encoder, whose states the step reads."""

    entry: str
    tokens: str
    logits: str


@dataclass(frozen=True, slots=True)
class Generation:
    """What makes a program one that generates text. prompt: None where the step takes the prompt token by token."""

    step: DecodingStep
    prompt: PromptEntry | None = None


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """One line of the call tree. `times` = 0 when not in a loop. inlined: classes of modules around others whose code is in the function."""

    depth: int
    function: str
    module: str = ""
    scope: str = ""
    times: int = 0
    inlined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """Everything both emitters print.

    facts: header rows (label, text) such as ("Inputs", "image [8, 28, 28, 1] bfloat16"). functions: callee first, the last one is `entry`. prepare:
    const-eval functions, the last one is `prepare`; empty when nothing is computed from weights. source_file: the file that line numbers refer to.
    typical: dtype, layout and buffer of most tensors. split_prepare: const-eval functions have a file of their own. steps: the calls of a forward
    pass. generation: set where the program can generate text. entries: of a program with several; inputs, outputs and entry are then those of the
    first.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    outline: tuple[OutlineRow, ...]
    constants: tuple[Constant, ...]
    prepare_constants: tuple[Constant, ...]
    functions: tuple[Function, ...]
    prepare: tuple[Function, ...]
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    entry: str
    has_weights: bool
    split_prepare: bool = True
    source_file: str = ""
    typical: tuple[str, str, str] = ("bfloat16", "tile", "dram")
    steps: tuple[Step, ...] = ()
    generation: Generation | None = None
    entries: tuple[EntryPoint, ...] = ()

    @property
    def returned(self) -> tuple[Variable, ...]:
        """Outputs that the entry function returns, in order."""
        return returned_of(self.outputs)


def statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, those in loops and branches included."""
    for statement in body:
        yield statement
        if isinstance(statement, Loop | NameLoop | RowLoop | If):
            yield from statements(statement.body)
        if isinstance(statement, If):
            yield from statements(statement.otherwise)


def with_device_parameter(program: Program) -> Program:
    """Where the entry function has no tensor to ask for the device, it takes the device as its first argument."""

    def changed(function: Function) -> Function:
        if function.name != program.entry or GetDevice(DeviceRef()) not in function.body:
            return function
        body = tuple(statement for statement in function.body if statement != GetDevice(DeviceRef()))
        return replace(function, parameters=(Parameter("device", "device"), *function.parameters), body=body)

    return replace(program, functions=tuple(changed(function) for function in program.functions))


def takes_device(program: Program, entry: str = "") -> bool:
    """Whether the first argument of the entry function (of several, of the function `entry`) is the device."""
    return any(function.name == (entry or program.entry) and any(p.kind == "device" for p in function.parameters) for function in program.functions)
