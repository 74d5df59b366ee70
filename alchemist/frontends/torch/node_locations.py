"""Node metadata -> `SourceInfo`: module scopes, frames of the model's own code, and the text of its files."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import torch
from torch import fx

from alchemist.frontends.torch.training import framework_op
from alchemist.ir.location import Frame, Scope, SourceInfo
from alchemist.ir.scopes import SHARED

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)[^\n]*(?:\n(?P<code>[^\n]*))?', re.M)
_COUNTER = re.compile(r"(?<=[^\d_])_\d+$")
_TARGET = re.compile(r"^\s*(?:self\.)?([A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)")
_OWN = str(Path(__file__).resolve().parent)
_CONTAINER = "torch.nn.modules.container.Sequential"
_FRAMEWORK = ("torch/", "torch\\", "functools.py", "contextlib.py")


@lru_cache(maxsize=4096)
def relative_file(path: str) -> str:
    """The path from the package root: cut at site-packages, else at the outermost folder without `__init__.py`."""
    for marker in ("site-packages", "dist-packages"):
        _head, separator, tail = path.replace("\\", "/").rpartition(f"/{marker}/")
        if separator:
            return tail
    file = Path(path)
    root = file.parent
    while (root / "__init__.py").is_file() and root.parent != root:
        root = root.parent
    try:
        return file.relative_to(root).as_posix()
    except ValueError:
        return file.name


def is_framework(path: str) -> bool:
    """Whether no model's code is in the file."""
    return path.startswith((_OWN, "<")) or relative_file(path).startswith(_FRAMEWORK)


class Sources:
    """Collects the source information of the captured nodes.

    root_name: class or function name shown for the root scope. wrapped: the name of the function that is the model, "" for a module.
    files: `Frame.file` -> absolute path, for files seen.
    """

    def __init__(self, root: torch.nn.Module, root_name: str = "", wrapped: str = "") -> None:
        self.files: dict[str, str] = {}
        self.class_names: set[str] = set()
        self._root_name = root_name
        self._wrapped = wrapped
        self._classes = {qualified(type(module)): type(module) for module in root.modules()}
        first: dict[torch.nn.Module, str] = {}
        self._own_paths = {path: first.setdefault(module, path) for path, module in root.named_modules(remove_duplicate=False)}
        self._calls: dict[str, dict[tuple[str, str], int]] = {}  # module path -> how each of its calls is numbered
        self._frames: dict[str, tuple[tuple[Frame, ...], Frame | None]] = {}
        self._code: dict[str, str] = {}
        self._scopes: dict[tuple[tuple[str, str], ...], tuple[Scope, ...]] = {}
        self._shared: dict[str, str] = {}  # path of a container that is called several times -> base name of its function

    def note_shared(self, graph: fx.Graph) -> None:
        """Containers of several layers that the model calls more than once are modules like its own: a tower of a Siamese net, the head of all levels.

        They are called after their attribute, for a container's class says nothing.
        """
        calls: dict[str, set[str]] = {}
        for node in graph.nodes:
            for call, (path, cls) in (node.meta.get("nn_module_stack") or {}).items():
                if (cls if isinstance(cls, str) else qualified(cls)) == _CONTAINER:
                    calls.setdefault(self._own_paths.get(path, path), set()).add(call)
        for path, several in calls.items():
            words = [word for word in path.split(".") if not word.isdigit()]
            if len(several) > 1 and words:
                self._shared[path] = SHARED + "".join(part.capitalize() for part in words[-1].split("_"))

    def info(self, node: fx.Node, *, named: bool) -> SourceInfo:
        op = framework_op(node)
        frames, helper = self.frames(node)
        return SourceInfo(self.scopes(node), frames, op, node.name if named else "", helper)

    def in_step(self, outer: SourceInfo | None, node: fx.Node, cell: type, step: str) -> SourceInfo:
        """Of a node of a recurrent layer's step. outer: of the layer. step: its name, each is a call of the cell."""
        file = inspect.getsourcefile(cell) or ""
        lines = [int(match["line"]) for match in _FRAME.finditer(node.meta.get("stack_trace") or "") if match["file"] == file]
        return self.inside(outer, cell, step, lines[-1] if lines else 0, str(node.target))

    def inside(self, outer: SourceInfo | None, cls: type, name: str, line: int, op: str) -> SourceInfo:
        """Of an op in a call of one of the front end's own classes, which an op of the model stands for.

        outer: of the op, or of one within the call that is decomposed further. name: of the call. line: of the class's source, 0 for none.
        """
        outer, class_name = outer or SourceInfo(), qualified(cls)
        again = bool(outer.scopes) and outer.scopes[-1].class_name == class_name
        around = outer.scopes[:-1] if again else outer.scopes
        path = f"{around[-1].path}.{name}" if around and around[-1].path else name
        self._classes[class_name] = cls
        self.class_names.add(class_name)
        file = inspect.getsourcefile(cls) or ""
        frames = outer.frames[:-1] if again and outer.frames and outer.frames[-1].file == relative_file(file) else outer.frames
        if line:
            self.files.setdefault(relative_file(file), file)
            frames = (*frames, Frame(relative_file(file), line, "forward"))
        return SourceInfo((*around, Scope(path, class_name)), frames, op)

    def scopes(self, node: fx.Node) -> tuple[Scope, ...]:
        stack: Mapping[str, tuple[str, object]] = node.meta.get("nn_module_stack") or {}
        key = tuple((self._called(path, call), cls if isinstance(cls, str) else qualified(cls)) for call, (path, cls) in stack.items())  # type: ignore[arg-type]
        cached = self._scopes.get(key)
        if cached is None:
            cached = tuple(Scope(path, self._root_name if self._wrapped and not path else self._named(path, name)) for path, name in key)
            self.class_names.update(scope.class_name for scope in cached)
            self._scopes[key] = cached
        return cached

    def _named(self, path: str, name: str) -> str:
        return self._shared.get(path.partition("@")[0], name) if name == _CONTAINER else name

    def _called(self, path: str, call: str) -> str:
        """The module's path by its first name, with "@n" in its later calls. call: how the exporter tells calls apart."""
        own = self._own_paths.get(path, path)
        calls = self._calls.setdefault(own, {})
        number = calls.setdefault((path, call), len(calls))
        return f"{own}@{number}" if number and own else own

    def frames(self, node: fx.Node) -> tuple[tuple[Frame, ...], Frame | None]:
        """Of modules' forwards, and of the innermost function that the last one calls."""
        text = node.meta.get("stack_trace") or ""
        cached = self._frames.get(text)
        if cached is None:
            cached = self._parse(text)
            self._frames[text] = cached
        return cached

    def _parse(self, text: str) -> tuple[tuple[Frame, ...], Frame | None]:
        out: list[Frame] = []
        helper: Frame | None = None
        for match in _FRAME.finditer(text):
            path = match["file"]
            if is_framework(path):
                continue
            file = relative_file(path)
            self.files.setdefault(file, path)
            frame = Frame(file, int(match["line"]), match["function"])
            if frame.function in ("forward", self._wrapped) or not out:
                out.append(frame)
                helper = None
            else:
                helper = frame
            self._code[text] = match["code"] or ""
        return tuple(out), helper

    def variable(self, node: fx.Node | None) -> str:
        """`<scope>.<variable>` that the source statement of this node assigns, or the node's own name without its counter."""
        if node is None:
            return ""
        name = self.assigned(node) or _COUNTER.sub("", node.name)
        scopes = self.scopes(node)
        prefix = next((s.path for s in reversed(scopes) if not s.class_name.startswith("torch.")), "")
        return f"{prefix}.{name}" if prefix else name

    def assigned(self, node: fx.Node) -> str:
        """The variable that the source statement of this node assigns, "" if it assigns none."""
        self.frames(node)
        match = _TARGET.match(self._code.get(node.meta.get("stack_trace") or "", ""))
        return match[1] if match else ""

    def source_files(self) -> dict[str, str]:
        """Text of every file that a frame names."""
        out = {}
        for file, path in sorted(self.files.items()):
            try:
                out[file] = Path(path).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):  # a notebook cell or a frozen module: names fall back to ops
                continue
        return out

    def class_sources(self) -> dict[str, tuple[str, int]]:
        """(file, first line) of `forward` of every module class that occurs in a scope, framework classes left out."""
        out = {}
        for name in sorted(self.class_names):
            cls = self._classes.get(name)
            if cls is None or name.startswith("torch."):
                continue
            place = definition(cls.forward)
            if place is not None:
                file, line = place
                self.files.setdefault(relative_file(file), file)
                out[name] = (relative_file(file), line)
        return out


def qualified(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


@lru_cache(maxsize=256)
def line_of(cls: type, text: str) -> int:
    """The first line of the class's forward that begins with `text`."""
    lines, first = inspect.getsourcelines(cls.forward)  # type: ignore[attr-defined]
    return next(number for number, code in enumerate(lines, first) if code.strip().startswith(text))


def definition(function: object) -> tuple[str, int] | None:
    """Absolute file and line of the `def` of a function (decorators skipped), None where there is no source."""
    try:
        function = inspect.unwrap(function)  # type: ignore[arg-type]
        file = inspect.getsourcefile(function)  # type: ignore[arg-type]
        lines, first = inspect.getsourcelines(function)  # type: ignore[arg-type]
    except (TypeError, OSError):
        return None
    if file is None:
        return None
    offset = next((i for i, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def "))), 0)
    return file, first + offset
