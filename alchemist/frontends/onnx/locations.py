"""Source locations of nodes, from the exporter's metadata and node names.

torch's exporter stores module paths, classes and a stack trace (`pkg.torch.onnx.*`); the older one, and others, put the
path of the module into the node's name ("/encoder/layer.0/attention/MatMul").
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import onnx

from alchemist.frontends.base import STATES
from alchemist.ir.location import Frame, Scope, SourceInfo

MOST_CHARACTERS = 20_000
MOST_DEPTH = 64
MOST_FILES, MOST_LINES = 200, 100_000
"""Of source text that a model's stack traces may quote."""
_FRAME = re.compile(
    r'^\s*File "(?P<file>[^"\n]{1,500})", line (?P<line>\d{1,7}), in (?P<function>[^\s]{1,200})(\n(?!\s*File ")\s+(?P<text>[^\n]{1,500}))?', re.M
)
_NUMBERED = re.compile(r"(val_)?\d+$")
_OUTPUT = re.compile(r"_output_\d+$")
_LIBRARY = ("torch/", "onnxscript/", "jax/", "flax/")


class Sources:
    """Sources of the nodes of one model. root: class name of the whole model."""

    def __init__(self, nodes: Iterable[onnx.NodeProto], root: str) -> None:
        self._root = root
        self._quoted: dict[str, dict[int, str]] = {}  # lines of the model's files that stack traces quote
        paths = [self._segments(node.name) for node in nodes]
        self._members = Counter(tuple(path) for path in paths)
        self._parents = {tuple(path[:depth]) for path in paths for depth in range(len(path))}

    def info(self, node: onnx.NodeProto, named: str) -> SourceInfo:
        facts = {entry.key: entry.value for entry in node.metadata_props if len(entry.value) <= MOST_CHARACTERS}
        scopes = _scopes(facts) or self._from_name(node.name)
        return SourceInfo(scopes, self._frames(facts.get("pkg.torch.onnx.stack_trace", "")), f"onnx.{node.op_type}", value_name(named))

    @property
    def files(self) -> dict[str, str]:
        """file (as in `Frame.file`) -> its text as far as stack traces quote it, other lines empty."""
        return {file: "\n".join(lines.get(line, "") for line in range(1, max(lines) + 1)) for file, lines in self._quoted.items()}

    def _frames(self, trace: str) -> tuple[Frame, ...]:
        """The model's own lines of a stack trace, outermost first."""
        frames = []
        for match in _FRAME.finditer(trace):
            file = match["file"].replace("\\", "/")
            for marker in ("/site-packages/", "/dist-packages/"):
                file = file.rpartition(marker)[2]
            file = file.rpartition("/")[2] if file.startswith("/") or ":" in file else file
            if file.startswith((*_LIBRARY, "<")):
                continue
            line = int(match["line"])
            frames.append(Frame(file, line, match["function"]))
            is_new = 0 < line <= MOST_LINES and line not in self._quoted.get(file, {}) and (file in self._quoted or len(self._quoted) < MOST_FILES)
            if is_new and (text := _statement(match["text"] or "")):
                self._quoted.setdefault(file, {})[line] = text
        return tuple(frames)

    @staticmethod
    def _segments(name: str) -> list[str]:
        """The module path in a node's name, the op's own part left out."""
        return name.split("/")[1:-1][:MOST_DEPTH] if name.startswith("/") else []

    def _from_name(self, name: str) -> tuple[Scope, ...]:
        segments = self._segments(name)
        scopes = [Scope("", self._root)]
        for depth, segment in enumerate(segments, 1):
            before = scopes[-1].path
            last = segments[depth - 2] if depth > 1 else ""
            if last and segment.startswith(f"{last}."):  # a list of modules: /layer1/layer1.0
                path = before[: len(before) - len(last)] + segment
            else:
                path = f"{before}.{segment}" if before else segment
            key = tuple(segments[:depth])
            words = re.findall(r"[A-Za-z0-9]+", re.sub(r"(\.\d+)+$", "", segment))
            title = "".join(word[:1].upper() + word[1:] for word in words) or "Module"
            layer = key not in self._parents and self._members[key] <= 2  # a Linear, a Conv: no function of its own
            scopes.append(Scope(path, f"torch.nn.{title}" if layer else title))
        return tuple(scopes)


def _scopes(facts: dict[str, str]) -> tuple[Scope, ...]:
    """The exporter's lists of paths and classes, without the last entry, which is the op."""
    paths, classes = (_texts(facts.get(f"pkg.torch.onnx.{key}", "")) for key in ("name_scopes", "class_hierarchy"))
    if len(paths) != len(classes):
        return ()
    return tuple(Scope(path, name) for path, name in list(zip(paths, classes, strict=True))[:-1][:MOST_DEPTH])


def _statement(text: str) -> str:
    """The line, closed where the statement goes on in the next one; "" where it is no statement by itself."""
    for whole in (text.strip(), f"{text.strip()}...)"):
        try:
            ast.parse(whole)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return whole
    return ""


def _texts(text: str) -> list[str]:
    try:
        texts = ast.literal_eval(text) if text.startswith("[") else []
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return texts if isinstance(texts, list) and all(isinstance(part, str) for part in texts) else []


_GENERATED = re.compile(r"(onnx::\w+_|val_|_?)\d+$")
_ROLES = {"Add": "bias", "MatMul": "weight", "Gemm": "weight", "Conv": "weight", "Gather": "table", "Mul": "scale"}
_RECURRENT = ("input", "weight_ih", "weight_hh", "bias", "lengths", *(f"initial_{state}" for state in STATES), "peephole")
"""Inputs of LSTM, GRU and RNN in their order, as torch calls them."""


def weight_names(nodes: Sequence[onnx.NodeProto], names: Iterable[str], sources: Sources) -> dict[str, str]:
    """Names of weights: their own, or for an exporter's counters the module and the role of the first node that reads them."""
    names = list(names)
    used = {name for name in names if not _GENERATED.match(name)}
    new_names = {name: name for name in used}
    readers: dict[str, onnx.NodeProto] = {}
    for node in nodes:
        for name in node.input:
            readers.setdefault(name, node)
    for name in names:
        if name in new_names:
            continue
        reader = readers.get(name)
        scopes = sources.info(reader, "").scopes if reader is not None else ()
        path = scopes[-1].path if scopes else ""
        role = _ROLES.get(reader.op_type, reader.op_type.lower()) if reader is not None else ""
        if reader is not None and reader.op_type in ("LSTM", "GRU", "RNN"):
            role = _RECURRENT[list(reader.input).index(name)]
        proposed = f"{path}.{role}" if path else role or name
        chosen, count = proposed, 1
        while chosen in used:
            count += 1
            chosen = f"{proposed}_{count}"
        used.add(chosen)
        new_names[name] = chosen
    return new_names


def value_name(name: str) -> str:
    """The meaningful part of a value's name: "" for an exporter's counter, the op of "/conv1/Conv_output_0"."""
    last = _OUTPUT.sub("", name.rpartition("/")[2])
    return "" if _NUMBERED.match(last) or not last.isprintable() else last[:200]
