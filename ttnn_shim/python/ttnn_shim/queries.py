"""`ttnn_shim.query`: what a TT-NN call would do, asked without tensors and without a device.

    >>> from ttnn_shim.queries import Spec
    >>> answer = ttnn_shim.query("ttnn.linear", [Spec((8, 224, 768)), Spec((768, 3072))], activation="gelu", card="n150")
    >>> answer.accepted, answer.ns, answer.cores, answer.l1_peak_bytes

The call goes through the op's own validation, placement, circular buffers, allocator and clock, on an idle device; kernels do not run.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, NamedTuple

from ttnn_shim import blobs
from ttnn_shim.error_bands import ratio_error, relative_error
from ttnn_shim.errors import BY_CODE, InternalError, InvalidArgument, ShimError
from ttnn_shim.machine import card_of
from ttnn_shim.native import load
from ttnn_shim.paths import signature_table
from ttnn_shim.records import summed_terms

Shard = tuple[tuple[int, int], tuple[int, ...], str]
"""(rows, columns) of a shard, corners x0, y0, x1, y1 of each range of cores, "ROW_MAJOR" or "COL_MAJOR"."""


@dataclass(frozen=True, slots=True)
class Record:
    """A config object of the library as plain data: Record("SDPAProgramConfig", (("q_chunk_size", 128), ...)). Enum members go by name."""

    type: str
    fields: tuple[tuple[str, Any], ...]

    def _encode(self) -> bytes:
        return _encoded(self)

    def _written(self) -> bytes:
        return _record(self.type, self.fields)


@dataclass(frozen=True, slots=True)
class Memory:
    """buffer: "DRAM", "L1", "L1_SMALL". layout: "INTERLEAVED", "HEIGHT_SHARDED", "WIDTH_SHARDED", "BLOCK_SHARDED"."""

    buffer: str = "DRAM"
    layout: str = "INTERLEAVED"
    shard: Shard | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.buffer, self.layout, self.shard)))

    def __hash__(self) -> int:  # the optimizer's search looks memories up a million times
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:  # texts have other hashes in another process
        return Memory, (self.buffer, self.layout, self.shard)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Memory):
            return NotImplemented
        return self._hash == other._hash and (self.buffer, self.layout, self.shard) == (other.buffer, other.layout, other.shard)

    def _encode(self) -> bytes:
        return _encoded(self)

    def _written(self) -> bytes:
        fields: list[tuple[str, Any]] = [("memory_layout", self.layout), ("buffer_type", self.buffer)]
        if self.shard is not None:
            shape, corners, orientation = self.shard
            fields.append(("shard_spec", Record("ShardSpec", (("grid", corners), ("shape", shape), ("orientation", orientation)))))
        return _record("MemoryConfig", fields)


@dataclass(frozen=True, slots=True)
class Spec:
    """A tensor without values. shape: elements. dtype: "bfloat16", "float32", "bfloat8_b", "bfloat4_b", "uint32" ... layout: "tile", "row_major"."""

    shape: tuple[int, ...]
    dtype: str = "bfloat16"
    layout: str = "tile"
    memory: Memory = Memory()
    on_host: bool = False

    def _encode(self) -> bytes:
        return _encoded(self)

    def _written(self) -> bytes:
        names = (("dtype", self.dtype.upper()), ("layout", self.layout.upper()))
        return _record("TensorSpec", (("shape", tuple(self.shape)), *names, ("memory_config", self.memory), ("on_host", self.on_host)))


@dataclass(frozen=True, slots=True)
class ProgramAnswer:
    """One device program. ns: its kernels. cb_bytes: circular buffers per core. l1_peak_bytes: those and all tensors, per core.

    family: the strategy's name ("matmul"). modelled: False for a roofline of its bytes. terms: (name, ns) of what `ns` is the sum of, the largest first.
    """

    name: str
    factory: str
    family: str
    cores: int
    ns: float
    gap_ns: float
    cb_bytes: int
    l1_peak_bytes: int
    bound: str
    modelled: bool
    terms: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The answer of `query`. error, hint, code: the refusal ("" if accepted); outputs: specs, None for an absent optional one."""

    accepted: bool
    error: str = ""
    hint: str = ""
    code: str = ""
    outputs: tuple[Spec | None, ...] = ()
    numbers: tuple[int, ...] = ()
    programs: tuple[ProgramAnswer, ...] = ()
    ns_error: float = field(default=0.0)

    @property
    def ns(self) -> float:
        """Kernel time of all programs."""
        return sum(program.ns for program in self.programs)

    @property
    def ratio_error_ns(self) -> float:
        """The least significant difference to another price of the same work (`ratio_error`). `ns_error`: error of the time on a card."""
        return sum(program.ns * ratio_error(program.family) for program in self.programs)

    @property
    def terms(self) -> dict[str, float]:
        """The terms of `ns` over all programs: "launch", "DRAM read", "tile math" ... -> nanoseconds, the largest first."""
        return summed_terms(program.terms for program in self.programs)

    @property
    def device_ns(self) -> float:
        """Kernel time and the gap before each program."""
        return sum(program.ns + program.gap_ns for program in self.programs)

    @property
    def cores(self) -> int:
        """Of the program with most."""
        return max((program.cores for program in self.programs), default=0)

    @property
    def cb_bytes(self) -> int:
        """Circular buffers per core, of the program with most."""
        return max((program.cb_bytes for program in self.programs), default=0)

    @property
    def l1_peak_bytes(self) -> int:
        """Tensors of the call and circular buffers, per core."""
        return max((program.l1_peak_bytes for program in self.programs), default=0)

    @property
    def bound(self) -> str:
        """The bottleneck of the longest program: "compute", "dram", "noc", "reader", "writer", "latency"; "" without programs."""
        longest = max(self.programs, key=lambda program: program.ns, default=None)
        return longest.bound if longest else ""


MOST_REMEMBERED = 1 << 17
_answers: dict[bytes, CallAnswer] = {}


def query(
    op: str,
    inputs: Sequence[Any],
    *,
    card: str = "n150",
    l1_small_bytes: int = 0,
    l1_taken_bytes: int = 0,
    **configuration: Any,
) -> CallAnswer:
    """What the call `op(*inputs, **configuration)` would do.

    Args:
        op: "ttnn.linear", "ttnn.transformer.scaled_dot_product_attention" ...
        inputs: the call's positional arguments; a tensor is a `Spec`, or anything with shape, dtype, layout and memory_config().
        card: n150, n300, p100, p150, an architecture, or a mesh of a system ("t3000@2x4"), which collectives need. l1_small_bytes: as at `open_device`.
        l1_taken_bytes: per core, held by tensors that are not of this call.
        configuration: the call's other arguments by name; config objects of `ttnn`, `Record`, `Memory`, or plain values.

    Raises:
        InvalidArgument: an unknown op or card, or an argument that cannot be written. What the library refuses is in the answer.
    """
    if not isinstance(op, str):
        raise InvalidArgument(f"expected an op's name, got {type(op).__name__}", op="ttnn_shim.query")
    if isinstance(inputs, str) or not isinstance(inputs, Sequence):
        raise InvalidArgument("expected the call's positional arguments as a list", op="ttnn_shim.query")
    arguments, wrong = bound_arguments(op, inputs, configuration)
    if wrong:
        return CallAnswer(False, wrong, code=InvalidArgument.code)
    tensors: list[Any] = []
    try:
        configured = b"r" + blobs.name("Call") + encoded_arguments(arguments, tensors)
        listed = b"l" + len(tensors).to_bytes(4, "little") + b"".join(spec._encode() for spec in tensors)
        question = _head(card, op, l1_small_bytes, l1_taken_bytes) + blobs.name("inputs") + listed + blobs.name("configuration") + configured
    except (TypeError, ValueError, OverflowError, struct.error) as error:
        raise InvalidArgument(f"an argument that cannot be written: {error}", op="ttnn_shim.query") from error
    found = _answers.get(question)
    if found is None:
        if len(_answers) >= MOST_REMEMBERED:
            _answers.clear()
        found = _answers[question] = _ask(question, op, card)
    return found


def _ask(question: bytes, op: str, card: str) -> CallAnswer:
    ffi, lib, _ = load()
    out = ffi.new("char **")
    if lib.shim_query(question, len(question), out):
        message, hint = (ffi.string(text).decode("utf-8", "replace") for text in (lib.shim_error_message(), lib.shim_error_hint()))
        kind: type[ShimError] = BY_CODE.get(lib.shim_error_code(), InternalError)
        raise kind(message, op=op, hint=hint)
    data = json.loads(ffi.string(ffi.gc(out[0], lib.shim_string_free)))
    programs = tuple(
        ProgramAnswer(
            row["name"],
            row["factory"],
            row["op"],
            row["cores"],
            row["ns"],
            row["gap_ns"],
            row["l1_bytes"],
            row["l1_peak_bytes"],
            row["bound"],
            row["modelled"],
            tuple(summed_terms([row["terms"].items()]).items()),
        )
        for row in data["programs"]
    )
    outputs = tuple(None if row is None else _spec(row) for row in data["outputs"])
    code = "" if data["accepted"] else BY_CODE.get(data["code"], InternalError).code
    error = sum(program.ns * relative_error(program.family, card, program.modelled) for program in programs)
    return CallAnswer(data["accepted"], data["message"], data["hint"], code, outputs, tuple(data["numbers"]), programs, error)


def _spec(row: Mapping[str, Any]) -> Spec:
    shard: Shard | None = None
    if "shard_shape" in row:
        shard = (tuple(row["shard_shape"]), tuple(row["shard_corners"]), row["shard_orientation"])
    return Spec(tuple(row["shape"]), row["dtype"].lower(), row["layout"].lower(), Memory(row["buffer_type"], row["memory_layout"], shard))


@dataclass(frozen=True, slots=True)
class Card:
    """name, architecture: "n150", "wormhole_b0". grid: columns and rows of worker cores. l1_bytes: of a core, that tensors and buffers share."""

    name: str
    architecture: str
    grid: tuple[int, int]
    l1_bytes: int
    dram_banks: int


@cache
def card(name: str) -> Card:
    """Facts of a card, or of an architecture's smallest one. Raises: InvalidArgument for an unknown one."""
    ffi, lib, _ = load()
    device, facts = ffi.new("shim_device **"), ffi.new("shim_device_info_t *")
    if lib.shim_device_open(name.encode(), 0, 0, 1, device):
        raise InvalidArgument(ffi.string(lib.shim_error_message()).decode("utf-8", "replace"), op="ttnn_shim.query")
    try:
        lib.shim_device_info(device[0], facts)
    finally:
        lib.shim_device_close(device[0])
        lib.shim_device_free(device[0])
    named = ffi.string(facts.card).decode()
    return Card(named, card_of(named).architecture, (facts.grid_x, facts.grid_y), facts.l1_bytes_per_bank, facts.dram_banks)


class _Parameter(NamedTuple):
    name: str
    takes_tensor: bool
    takes_tensors_alone: bool
    by_position: bool


@cache
def _overloads(op: str) -> tuple[tuple[_Parameter, ...], ...]:
    """Parameters of each overload of an op. Empty for an op that the table does not have."""
    data = signature_table()
    name = data["aliases"].get(op, op)
    index = data["wrapped"].get(name)
    if index is None:
        entry = data["functions"].get(name)
        if entry is None:
            return ()
        index = entry[0]
    params = data["params"]
    return tuple(
        tuple(
            _Parameter(
                params[place][0], "Tensor" in (kind := str(data["types"][params[place][2]])), kind in ("Tensor", "Tensor | None"), params[place][1] in ("", "P")
            )
            for place in overload[1:]
        )
        for overload in data["sets"][index]
    )


def bound_arguments(op: str, inputs: Sequence[Any], configuration: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The arguments by name, bound to the first overload with their names that takes tensors where tensors are; or an error."""
    overloads = _overloads(op)
    if not overloads:  # the core checks that the op exists; without parameter names the arguments are passed unchanged
        return {f"argument_{index}": value for index, value in enumerate(inputs)} | dict(configuration), ""
    error = ""
    for overload in overloads:
        positional = [one.name for one in overload if one.by_position]
        takes = {one.name: one.takes_tensor for one in overload}
        tensors_alone = {one.name for one in overload if one.takes_tensors_alone}
        arguments = dict(zip(positional, inputs, strict=False))
        twice = next((name for name in configuration if name in arguments), None)
        unknown = next((name for name in configuration if name not in takes), None)
        arguments.update(configuration)
        if len(inputs) > len(positional):
            error = error or f"takes {len(positional)} positional arguments, got {len(inputs)}"
        elif twice or unknown:
            error = error or (f"argument {twice!r} is given twice" if twice else f"no parameter {unknown!r}")
        elif wrong := next((name for name, value in arguments.items() if _is_tensor(value) and not takes[name]), None):
            error = error or f"parameter {wrong!r} takes no tensor"
        elif wrong := next((name for name, value in arguments.items() if name in tensors_alone and isinstance(value, int | float)), None):
            error = error or f"parameter {wrong!r} takes tensors only, got {arguments[wrong]!r}"
        else:
            return arguments, ""
    return {}, error


def encoded_arguments(arguments: Mapping[str, Any], tensors: list[Any]) -> bytes:
    """The arguments as an attribute blob; their tensors are appended to `tensors`. Raises: TypeError for a value that cannot be written."""
    fields = [blobs.name(name) + _value(value, tensors, name) for name, value in arguments.items() if value is not None]
    return len(fields).to_bytes(2, "little") + b"".join(fields)


@lru_cache(maxsize=4096)
def _head(card: str, op: str, l1_small_bytes: int, l1_taken_bytes: int) -> bytes:
    fields = (("card", card), ("op", op), ("l1_small_bytes", l1_small_bytes), ("l1_taken_bytes", l1_taken_bytes))
    return (6).to_bytes(2, "little") + b"".join(blobs.name(name) + _value(value, None) for name, value in fields)


# --- values as the core reads them (include/ttnn_shim/abi.h) ----------------------------------------------------------------------------


def _encoded(value: Record | Memory | Spec) -> bytes:
    """Of plain data, remembered; data that cannot be hashed (a list in a record) is written each time."""
    try:
        return _remembered(value)
    except TypeError:
        return value._written()


@lru_cache(maxsize=1 << 16)
def _remembered(value: Record | Memory | Spec) -> bytes:
    return value._written()


def _record(kind: str, fields: Iterable[tuple[str, Any]]) -> bytes:
    rows = [blobs.name(name) + _value(value, None, name) for name, value in fields if value is not None]
    return b"r" + blobs.name(kind) + len(rows).to_bytes(2, "little") + b"".join(rows)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Spec) or (hasattr(value, "_handle") and hasattr(value, "layout"))


def _as_spec(value: Any) -> Any:
    if isinstance(value, Spec) or isinstance(getattr(value, "spec", None), Spec):
        return value
    memory = value.memory_config()
    return _Described(_record("TensorSpec", (("shape", tuple(value.shape)), ("dtype", value.dtype), ("layout", value.layout), ("memory_config", memory))))


@dataclass(frozen=True, slots=True)
class _Described:
    blob: bytes

    def _encode(self) -> bytes:
        return self.blob


def _value(value: Any, tensors: list[Any] | None, name: str = "") -> bytes:
    if isinstance(value, bool | int | float):
        return blobs.number(value)
    if isinstance(value, str):
        return blobs.text(value.upper() if name in ("dtype", "layout", "output_dtype", "output_layout") else value)
    if tensors is not None and _is_tensor(value):
        tensors.append(_as_spec(value))
        return struct.pack("<cI", b"t", len(tensors) - 1)
    method = getattr(value, "_encode", None)
    if method is not None:
        return bytes(method())
    if isinstance(value, list | tuple):
        return _sequence(value, tensors)
    members = getattr(type(value), "_blobs_", None)  # an enum of the `ttnn` package
    if members is not None:
        return bytes(members[value])
    raise TypeError(f"cannot ask about a {type(value).__name__} ({name})")


def _sequence(values: Sequence[Any], tensors: list[Any] | None) -> bytes:
    found = blobs.numbers(values)
    if found is not None:
        return found
    if tensors is not None and all(map(_is_tensor, values)):
        first = len(tensors)
        tensors.extend(map(_as_spec, values))
        return struct.pack(f"<cI{len(values)}I", b"T", len(values), *range(first, len(tensors)))
    return b"l" + len(values).to_bytes(4, "little") + b"".join(_value(value, tensors) for value in values)
