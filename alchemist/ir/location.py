"""Source locations of values: module scopes, source lines and framework op, carried as MLIR locations.

Front ends attach a `SourceInfo` to every TTIR op (`set_source(op, info)`). Passes keep it: a rewritten op gets the sources of
all ops it replaces. The program builder reads it (`sources_of(op)`) to recover structure, names and comments. The text
form is a location of the kind tt-xla writes, so files from the real compiler keep their structure too:

    loc("7|BertLayer[encoder.layer.0]|BertSelfAttention[encoder.layer.0.attention.self]|modeling_bert.py:192|forward|192|aten.linear"
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation


@dataclass(frozen=True, slots=True)
class Scope:
    """A module instance: its parameter path ("encoder.layer.0", "" for the root) and its class (qualified name)."""

    path: str
    class_name: str


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of the model's source: file relative to its package root ("transformers/models/bert/modeling_bert.py")."""

    file: str
    line: int
    function: str = ""


GRADIENT = " (gradient)"
"""Suffix of the name of a framework op in a backward pass."""


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """Origin of one op.

    scopes: outermost first; the root module is included with path "".
    frames: outermost first, model code only (no frames of the framework); the last one is the statement that made the op.
    op: framework op ("aten.linear.default", "stablehlo.dot_general"), with `GRADIENT` behind in a backward pass.
    name: the framework's own name of the value ("linear_3"), a last resort for naming.
    helper: the statement in a plain function that the last frame's statement calls, where the front end tells it apart from the modules' own.
    """

    scopes: tuple[Scope, ...] = ()
    frames: tuple[Frame, ...] = ()
    op: str = ""
    name: str = ""
    helper: Frame | None = None

    @property
    def is_gradient(self) -> bool:
        """Whether the op belongs to the backward pass of its statement."""
        return self.op.endswith(GRADIENT)


ROLE = "alchemist.role"
"""Framework op of a source whose name is the role of a value that a pass computes and the model has no variable for."""


def with_role(infos: Sequence[SourceInfo], role: str) -> tuple[SourceInfo, ...]:
    """These sources for an op whose result has a role, which names it."""
    return tuple(replace(info, op=ROLE, name=role) for info in infos[-1:]) or (SourceInfo(op=ROLE, name=role),)


_PLACES: WeakKeyDictionary[Operation, str] = WeakKeyDictionary()


def set_place(op: Operation, place: str) -> None:
    """Stores an op's position in the text that it was read from: `file:line:column`, for error messages only."""
    _PLACES[op] = place


def place_of(op: Operation) -> str:
    """`file:line:column` of an op that was read from text, else ""."""
    return _PLACES.get(op, "")


def clone_with_places(module: ModuleOp) -> ModuleOp:
    """A copy of a module. `clone` keeps op locations (checked by a test), but not the places in the text that error messages name."""
    copied = module.clone()
    for old, new in zip(module.walk(), copied.walk(), strict=True):
        if place := place_of(old):
            set_place(new, place)
    return copied


# --- codec --------------------------------------------------------------------------------------------------------------

_FRAME = re.compile(r"(.*):(\d{1,9})\Z", re.DOTALL)
_SCOPE = re.compile(r"([^\[\]]*)\[(.*)\]\Z", re.DOTALL)


def _quote(text: str) -> str:
    return text.replace("%", "%25").replace("|", "%7C")


def _unquote(text: str) -> str:
    return text.replace("%7C", "|").replace("%25", "%") if "%" in text else text


@lru_cache(maxsize=65536)
def encode(info: SourceInfo) -> str:
    """The text of one source: `name|Class[path]...|file:line|function|line ...|op`. Behind a helper's function stands no line."""
    parts = [_quote(info.name), *(f"{_quote(scope.class_name)}[{_quote(scope.path)}]" for scope in info.scopes)]
    for frame in info.frames:
        parts += [f"{_quote(frame.file)}:{frame.line}", _quote(frame.function), str(frame.line)]
    if info.helper is not None:
        parts += [f"{_quote(info.helper.file)}:{info.helper.line}", _quote(info.helper.function), ""]
    return "|".join([*parts, _quote(info.op)])


@lru_cache(maxsize=65536)
def decode(text: str) -> SourceInfo:
    """Inverse of `encode`; any other text (a plain MLIR name location) becomes the value's name."""
    parts = text.split("|")
    if len(parts) < 2:
        return SourceInfo(name=text)
    scopes: list[Scope] = []
    frames: list[Frame] = []
    helper: Frame | None = None
    index = 1
    while index < len(parts) - 1 and (match := _SCOPE.match(parts[index])):
        scopes.append(Scope(_unquote(match[2]), _unquote(match[1])))
        index += 1
    while index + 2 < len(parts) and (match := _FRAME.match(parts[index])):
        frame = Frame(_unquote(match[1]), int(match[2]), _unquote(parts[index + 1]))
        if parts[index + 2]:
            frames.append(frame)
        else:
            helper = frame
        index += 3
    return SourceInfo(tuple(scopes), tuple(frames), _unquote(parts[-1]), _unquote(parts[0]), helper)


def to_location(infos: Sequence[SourceInfo]) -> LocationAttr:
    """MLIR location of one or more sources: a name location each, fused when several."""
    names = tuple(_name_loc(encode(info)) for info in dict.fromkeys(infos))
    if not names:
        return UnknownLoc()
    return names[0] if len(names) == 1 else FusedLoc(ArrayAttr(names), NoneAttr())


@lru_cache(maxsize=65536)
def _name_loc(text: str) -> NameLoc:
    return NameLoc(StringAttr(text), NoneAttr())


def from_location(location: Attribute) -> tuple[SourceInfo, ...]:
    """Sources of any MLIR location: our own text form, or names, files and call sites of other tools."""
    match location:
        case NameLoc():
            own = decode(location.desc.data)
            inner = from_location(location.location)
            if not inner or own.frames or own.scopes:
                return (own,)
            return tuple(SourceInfo(i.scopes, i.frames, own.op or i.op, own.name or i.name, i.helper) for i in inner)
        case FileLineColLoc():
            return (SourceInfo(frames=(Frame(location.filename.data, location.line.data),)),)
        case CallSiteLoc():
            callee, caller = from_location(location.callee), from_location(location.caller)
            if not callee or not caller:
                return callee or caller
            first, outer = callee[0], caller[0]
            return (SourceInfo(outer.scopes + first.scopes, outer.frames + first.frames, first.op, first.name, first.helper),)
        case FusedLoc():
            parts = location.locations.data if isinstance(location.locations, ArrayAttr) else ()
            return tuple(dict.fromkeys(info for part in parts for info in from_location(part)))
        case _:
            return ()


def set_source(op: Operation, *infos: SourceInfo) -> None:
    """Sets the op's location to these sources (duplicates dropped, order kept); none clears it."""
    op.location = to_location(infos)


def sources_of(op: Operation) -> tuple[SourceInfo, ...]:
    """The op's sources, first = the one that names it. Cached per location."""
    return _sources(op.location)


def is_gradient(op: Operation) -> bool:
    """Whether the op is one of a backward pass."""
    return bool(sources := sources_of(op)) and sources[-1].is_gradient


@lru_cache(maxsize=65536)
def _sources(location: Attribute) -> tuple[SourceInfo, ...]:
    return from_location(location)
