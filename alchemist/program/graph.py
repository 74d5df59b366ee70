"""The flat graph between TTNN IR and the program: nodes in order, values with users, arguments already language neutral.

Structure recovery works on this graph alone, so it can be tested without any IR (`Value`, `Node`, `Graph` by hand).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from alchemist.ir.location import SourceInfo
from alchemist.ops.spec import Arg, OpSpec
from alchemist.program import model

_DRAM = model.MemoryConfig()


@dataclass(frozen=True, slots=True)
class TensorType:
    """What is known of a tensor: dtype by TT-NN name ("bfloat16"); `config` is its memory config, None on the host."""

    shape: tuple[int, ...]
    dtype: str = "bfloat16"
    layout: str = "tile"
    config: model.MemoryConfig | None = _DRAM

    @property
    def placement(self) -> str:
        """Where and in which layout: changes of it are worth a comment."""
        where = "host" if self.config is None else f"{self.config.memory} {self.config.buffer}"
        return f"{self.layout} {where}"

    @property
    def l1_elements(self) -> int:
        return math.prod(self.shape) if self.config is not None and self.config.buffer == "l1" else 0


SAVED, GRADIENTS = "saved", "gradients"
"""Collections that a program fills itself."""


@dataclass(eq=False, slots=True)
class Value:
    """An SSA value.

    name: exact source name of an argument. key: full weight key ("" = computed in the forward pass). made_from: names of the
    tensor files that a weight is made from. home: parameter path of the module around all users of a weight, None if unknown.
    written: an argument that ops change in place. group: the list that it is in, at `place`. part: what it is to a weight, as the beginning of
    a name and the weight's: ("d_", "layers.0.w") is that one's gradient. collection: which one holds `key`, "weights" or one that the program fills.
    variable: of the source, to which it assigns a prepared weight. by_layers: a prepared weight that layers of the model compute.
    """

    type: TensorType
    name: str = ""
    key: str = ""
    made_from: tuple[str, ...] = ()
    home: str | None = None
    node: Node | None = None
    users: list[Node] = field(default_factory=list)
    returned: bool = False
    written: bool = False
    group: ValueList | None = None
    place: int = 0
    part: tuple[str, str] | None = None
    collection: str = "weights"
    variable: str = ""
    by_layers: bool = False

    @property
    def files_of_modules(self) -> tuple[str, ...]:
        """Those of `made_from` that belong to a module; the others are constants of the export, and parameters of the model itself."""
        return tuple(name for name in self.made_from if "." in name)

    @property
    def reaches_out(self) -> bool:
        """Whether it is made from a file that belongs to no module: then the entry function prepares it, whatever module reads it."""
        return len(self.files_of_modules) < len(self.made_from)

    @property
    def is_gradient(self) -> bool:
        """Whether a backward pass makes the value."""
        return self.node is not None and self.node.is_gradient

    def __repr__(self) -> str:
        return f"Value({self.key or self.name or '%'}, {self.type.shape})"


@dataclass(frozen=True, eq=False, slots=True)
class ValueList:
    """Arguments of one type that equal layers have one of each. pattern: their names with `#` for the number."""

    name: str
    pattern: str
    values: tuple[Value, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Kept:
    """A value that is put into a collection. copy: what is read from there."""

    value: Value
    copy: Value


@dataclass(frozen=True, slots=True)
class Use:
    """A tensor inside an argument, before it has a name."""

    value: Value


Raw = Use | model.Value | tuple["Raw", ...]
"""An argument before naming: a tuple stands for a list of tensors."""


@dataclass(eq=False, slots=True)
class Node:
    """One call. position: index in the graph's order. frees: values whose life ends behind it. kept: of what it reads or makes.

    helper: name of the program's own function that is called instead of the op, "" for none; parts: the ops that it calls.
    called: what a pass says that the result is called, "" for none.
    """

    spec: OpSpec
    arguments: tuple[tuple[Arg, Raw], ...]
    results: tuple[Value, ...]
    sources: tuple[SourceInfo, ...] = ()
    note: str = ""
    position: int = -1
    frees: list[Value] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    helper: str = ""
    parts: tuple[Node, ...] = ()
    called: str = ""

    def __post_init__(self) -> None:
        for value in self.results:
            value.node = self
        for value in self.inputs():
            if not value.users or value.users[-1] is not self:
                value.users.append(self)

    def inputs(self) -> list[Value]:
        """Tensors read, in argument order (with repetitions)."""
        found: list[Value] = []
        for _, raw in self.arguments:
            found.extend(values_of(raw))
        return found

    @property
    def is_gradient(self) -> bool:
        """Whether the op is one of a backward pass."""
        return bool(self.sources) and self.sources[-1].is_gradient

    @property
    def code(self) -> tuple[str, tuple[tuple[str, object], ...]]:
        """Equal for ops that are the same call, tensors apart."""
        return (self.spec.name, tuple((arg.name, skeleton(raw)) for arg, raw in self.arguments))

    def __repr__(self) -> str:
        return f"Node({self.spec.name}, {self.position})"


def values_of(raw: Raw) -> Iterator[Value]:
    if isinstance(raw, Use):
        yield raw.value
    elif isinstance(raw, tuple):
        for part in raw:
            yield from values_of(part)


def map_raw(raw: Raw, convert: Callable[[Value], model.Value]) -> model.Value:
    """The argument with every tensor replaced."""
    if isinstance(raw, Use):
        return convert(raw.value)
    if isinstance(raw, tuple):
        return model.Items(tuple(map_raw(part, convert) for part in raw))
    return raw


def skeleton(raw: Raw) -> object:
    """The argument without its tensors, hashable: what must be equal for two calls to be the same code."""
    if isinstance(raw, Use):
        return "%"
    if isinstance(raw, tuple):
        return tuple(skeleton(part) for part in raw)
    if isinstance(raw, model.Literal):
        return (type(raw.value).__name__, repr(raw.value))  # 1, 1.0 and True are equal as keys, not as code
    return raw


@dataclass(eq=False, slots=True)
class ConstEval:
    """A const-eval function: tensor files in, prepared weights out. `results` become weight values of the forward graph."""

    name: str
    inputs: tuple[Value, ...]  # values with `name` = name of the tensor file
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]  # values inside
    results: tuple[Value, ...]  # the same seen from the forward graph


@dataclass(slots=True)
class Graph:
    """A forward function. inputs: arguments given at each call; weights: arguments read as they are stored."""

    inputs: tuple[Value, ...]
    weights: tuple[Value, ...]
    nodes: list[Node]
    outputs: tuple[Value, ...]
    output_names: tuple[str, ...]
    const_evals: tuple[ConstEval, ...] = ()

    def __post_init__(self) -> None:
        for value in self.outputs:
            value.returned = True
        for position, node in enumerate(self.nodes):
            node.position = position
