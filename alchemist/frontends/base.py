"""What every front end returns: one TTIR module plus everything the exporter needs beside it."""

from __future__ import annotations

import hashlib
import itertools
import re
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from alchemist.frontends.structure import Structure

ArgumentKind = Literal["input", "parameter", "constant"]

RECURRENT_CELLS = "alchemist/frontends/recurrent_cells.py"
RECURRENT_CLASSES = "alchemist.frontends.recurrent_cells."
"""The source of recurrent layers of frameworks that have none in Python, as frames name it."""
FRAMEWORK_LOCK = threading.RLock()
"""Held while a framework traces, and while torch runs a model for us: torch.export patches torch.nn.Module for the whole process,
and flax's classes are wrapped during a trace."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_TEXT_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Mesh:
    """Chips in rows and columns, of a system of `ttnn_shim.machine.systems`."""

    rows: int
    columns: int
    system: str = ""

    @property
    def extents(self) -> tuple[int, int]:
        return self.rows, self.columns

    @property
    def name(self) -> str:
        """ "t3000@2x4", as `ttnn_shim.query` takes it for a card; "2x4" without a system."""
        return f"{self.system}@{self.rows}x{self.columns}".removeprefix("@")


ONE_CHIP = Mesh(1, 1)
AXES = ("rows", "columns")
"""Names of the axes of a mesh."""
Placement = tuple[int | None, int | None]
"""The dimension that each axis of a mesh (rows, columns) cuts; None: all chips along it have the same."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the TTIR function `@forward`, in order.

    name: exact source name: forward()'s parameter name for inputs (pytree path joined with "." when nested),
        `encoder.layer.0.attention.self.query.weight` for parameters and buffers, a source-derived name for lifted constants.
    kind: input = given at each call; parameter = trained weight or buffer; constant = tensor found in the graph.
    value: returns the value as a C-contiguous numpy array (`ml_dtypes.bfloat16` for bfloat16) without keeping a copy;
        called once at export, so that weights need not be in memory together.
    shape, dtype: as the framework has them (dtype a numpy dtype name: "float32", "bfloat16", "int64", "bool" ...).
    placement: how it lies on the mesh.
    buffer: whether a "parameter" is one of the framework's buffers, which no training changes.
    """

    name: str
    kind: ArgumentKind
    shape: tuple[int, ...]
    dtype: str
    value: Callable[[], np.ndarray[Any, Any]]
    placement: Placement = (None, None)
    buffer: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """One result of `@forward`: name from the output pytree ("last_hidden_state"), `output` or `output_0` without one.

    mutates: name of the argument (buffer, variable, input) that this output is the new value of (static KV cache), or "".
    placement: how it lies on the mesh.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    mutates: str = ""
    placement: Placement = (None, None)


@dataclass(frozen=True, slots=True)
class CallLeaf:
    """One leaf of the arguments that the model was captured with.

    name: as in `Argument`. dtype, shape: of a tensor, as the framework has it. value: of anything else (a number, a string, None),
    `python_value` of it; the program holds what the model made of that value, so a later call must give the same.
    """

    name: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    value: str = ""


def distinct(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names, with `_2`, `_3` behind those that came before or are in `taken`: what bears one name has one file and one variable."""
    names = list(names)
    wanted, used = set(names), set(taken)
    counts: dict[str, int] = {}
    made = []
    for name in names:
        chosen = name
        while chosen in used or (chosen != name and chosen in wanted):
            counts[name] = counts.get(name, 1) + 1
            chosen = f"{name}_{counts[name]}"
        used.add(chosen)
        made.append(chosen)
    return made


FIRST_STEP = 1_000_000
"""Added to the number of a step of a recurrent layer: the program tells iterations from calls of a module by seven digits."""
STATES = ("hidden", "cell")
"""Names of the variables in a recurrent layer's loop over time."""


def initial_name(count: int, taken: Container[str], state: str = "") -> str:
    """Of the argument that a loop's variable starts with. count: of those made before; `INITIAL` in program/functions.py knows the form.

    state: one of STATES, "" for the variable of another loop.
    """
    names = (
        (f"initial_{state}" + f"_{number}" * (number > 1) for number in itertools.count(1))
        if state
        else (f"initial_{number}" for number in itertools.count(count))
    )
    return next(name for name in names if name not in taken)


def python_value(value: Any) -> str:
    """Type and text of a value that is no tensor ("float 2.0"): equal for equal numbers, strings, enumerations, dataclasses.

    Of objects that print their address only the type remains; long texts are shortened to a hash.
    """
    try:
        text = _ADDRESS.sub("", repr(value))
    except Exception:  # noqa: BLE001 (an object of a user's class may raise anything)
        text = "without text"
    if len(text) > _TEXT_LIMIT:
        text = f"{text[:60]}... sha256 {hashlib.sha256(text.encode(errors='replace')).hexdigest()[:16]}"
    return f"{type(value).__name__} {text}"


@dataclass(slots=True)
class FrontendResult:
    """A captured model.

    module: `builtin.module` with one public `func.func @forward` in the ttir dialect. Each function argument carries
        `ttcore.argument_type = #ttcore.argument_type<input|parameter|constant>` and `ttir.name = "..."` argument attributes.
        Types are the framework's own (f32, bf16, i64, i1 ...): normalising to device types is a pass.
    stages: name -> text of earlier stages for `irs/` ("fx" or "shlo"), made lazily.
    source_files: file (as in `Frame.file`) -> its text, or the lines of it that are known; used for comments and names.
    class_sources: class qualified name -> (file, first line) of its `forward`/`__call__` definition.
    model_name: class name of the model or function name. made_from: e.g. {"torch": "2.13.0", "transformers": "5.23.0"}.
    golden: runs the framework itself on the given inputs; one array per output (float32 or integer).
    plan: what the caller's plan says of arguments, by name, where the program is for several chips: it can be made for other meshes.
    call: every leaf of the arguments, in order; empty where nobody calls the program in the model's place (MLIR files).
    golden_ops: the same with every op's value by SourceInfo.name, for export_golden="ops"; None where not offered.
    structure: what the model is made of; {} where nothing is known (MLIR and ONNX files, plain functions).
    mesh: the chips that the module is for; of more than one, the types of its values are one chip's.
    numbers: module path -> its attributes that are Python floats.
    moved_by_rounding: how far each output of the framework moves (relative L2; share of whole numbers that change) when weights and results are off
        by half a unit of the last place that a device reads of them.
    """

    module: ModuleOp
    framework: Literal["torch", "jax", "mlir", "onnx"]
    model_name: str
    arguments: Sequence[Argument]
    outputs: Sequence[Output]
    golden: Callable[[], list[np.ndarray[Any, Any]]] | None
    stages: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    source_files: Mapping[str, str] = field(default_factory=dict)
    class_sources: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    made_from: Mapping[str, str] = field(default_factory=dict)
    golden_ops: Callable[[], dict[str, np.ndarray[Any, Any]]] | None = None
    call: Sequence[CallLeaf] = ()
    structure: Structure = field(default_factory=dict)
    mesh: Mesh = ONE_CHIP
    moved_by_rounding: Callable[[], list[float]] | None = None
    plan: Mapping[str, Placement] = field(default_factory=dict)
    numbers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
