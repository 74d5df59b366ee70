"""Origins from JAX locations: scopes from marked named scopes, frames from call site chains."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute

from alchemist.ir.location import GRADIENT, Frame, Scope, SourceInfo, decode

_MARK = re.compile(r"@([^/\[\]()]+)\[([^\]/]*)\]")
_LABEL = re.compile(r"#(\d+)")
_LIBRARY = re.compile(r"(^|/)(jax|jaxlib|flax|equinox|optax|einops|alchemist)/|^<frozen|/lib/python3\.\d+/(?!site-packages)")
_HELPERS = re.compile(r"(^|/)(flax|equinox|optax|einops)/|(^|/)jax/(_src/)?nn/")
"""Libraries of layers and functions: what their statements assign names a value where the model's own do not."""
_BACKWARD = re.compile(r"(^|/)transpose\(")
"""JAX's mark in the names of a backward pass: transpose(jvp(...))."""
ENTRY = "alchemist_traced_entry"
"""Name of the function that the JAX front end traces; frames outside it are not the model's."""


def scope_mark(class_name: str, path: str) -> str:
    """Text for `jax.named_scope` that `Sources` turns into a Scope."""
    return f"@{class_name}[{path}]"


def package_path(file: str) -> str:
    """A file relative to its package root: the part after site-packages, or its name below folders with __init__.py."""
    _, separator, rest = file.partition("/site-packages/")
    return rest if separator else file.rpartition("/")[2]


class Sources:
    """Memoised reading of locations. files: relative name -> path of every frame seen.

    roots: folders of frameworks (guessed from paths when empty). name_of: path -> name as in `Frame.file`. entry: scope name of
    the traced function where it only calls a module, which is the root then. labels: name of a value by the number of its
    equation ("#17" in its scopes), where values are recorded.
    """

    def __init__(
        self,
        roots: tuple[str, ...] = (),
        name_of: Callable[[str], str] = package_path,
        entry: str = "",
        labels: Mapping[int, str] | None = None,
    ) -> None:
        self.labels = labels
        self._entry = entry
        self._roots = roots
        self._name_of = name_of
        self._known: dict[int, SourceInfo] = {}
        self._alive: list[Attribute] = []
        self.files: dict[str, str] = {}

    def of(self, location: Attribute, op: str) -> SourceInfo:
        """Origin of an op called `op`."""
        info = self._known.get(id(location))
        if info is None:
            info = self._known[id(location)] = self._read(location)
            self._alive.append(location)
        return replace(info, op=op + GRADIENT if info.is_gradient else op)

    def _is_library(self, file: str) -> bool:
        if self._roots:
            return file.startswith((*self._roots, "<frozen"))
        return _LIBRARY.search(file) is not None

    def _read(self, location: Attribute) -> SourceInfo:
        path, frames = _walk(location)
        if "|" in path:
            return decode(path)
        for index, (_, _, function) in enumerate(frames):
            if function.endswith(ENTRY):
                frames = frames[index + 1 :]
                break
        own: list[Frame] = []
        helper: Frame | None = None
        for file, line, function in frames:
            if file and self._is_library(file) and _HELPERS.search(file):
                helper = Frame(package_path(file), line, function.rpartition(".")[2])
                self.files.setdefault(helper.file, file)
            if file and not self._is_library(file):
                name = self._name_of(file)
                self.files.setdefault(name, file)
                frame = Frame(name, line, function.rpartition(".")[2])
                helper = None
                if own[-1:] != [frame]:
                    own.append(frame)
        scopes = nested([Scope(match[2], match[1]) for match in _MARK.finditer(path) if match[1] != self._entry])
        if self.labels is None:
            name = re.sub(r"\W+", "_", path.rpartition("/")[2]).strip("_")
        else:
            numbers = _LABEL.findall(path)
            name = self.labels.get(int(numbers[-1]), "") if numbers else ""
        return SourceInfo(tuple(dict.fromkeys(scopes)), tuple(own), GRADIENT if _BACKWARD.search(path) else "", name, helper)


def nested(scopes: Sequence[Scope]) -> list[Scope]:
    """Calls of functions ("blocks.0@7", "@8") get their weights from where the caller does, unless they are given a part of those."""
    result: list[Scope] = []
    parent = ""
    for scope in scopes:
        path, mark, number = scope.path.partition("@")
        if mark and not (path and f"{path}.".startswith(f"{parent}." if parent else "")):
            path = parent
        result.append(Scope(path + mark + number, scope.class_name))
        parent = path
    return result


def _walk(location: Attribute, function: str = "") -> tuple[str, list[tuple[str, int, str]]]:
    """(name path, frames outermost first as (file, line, function))."""
    match location:
        case NameLoc(location=FileLineColLoc()):
            return "", _walk(location.location, location.desc.data)[1]
        case NameLoc():
            path, frames = _walk(location.location)
            own = location.desc.data
            return (own if not path or path == own else f"{own}/{path}" if "/" not in own else own), frames
        case CallSiteLoc():
            path, inner = _walk(location.callee)
            outer_path, outer = _walk(location.caller)
            return path or outer_path, outer + inner
        case FileLineColLoc():
            return "", [(location.filename.data, location.line.data, function)]
        case FusedLoc():
            parts = location.locations.data if isinstance(location.locations, ArrayAttr) else ()
            return _walk(parts[0]) if parts else ("", [])
        case _:
            return "", []
