"""The functions of a graph capture as JSON, their arguments taken apart (`ttnn.graph_tracer_utils` of the real package)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_WORD = re.compile(r"[A-Za-z_][\w:.<>*]*")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+)")


class _Reader:
    """Reads texts like `MemoryConfig(memory_layout=TensorMemoryLayout::INTERLEAVED,shard_spec=std::nullopt)` and `dims=[0,2,1]`."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def argument(self) -> Any:
        """A named object keeps its name; one behind a key does without, as the key says what it is."""
        start = self.at
        name = self._name()
        if name and self._peek() in _CLOSING:
            found: Any = {name: self._inside()}
        elif name and self._peek() == "=":
            self.at += 1
            found = {name: self._value()}
        else:
            self.at = start
            found = self._inside() if self._peek() in _CLOSING else self.text.strip()
            self.at = len(self.text) if isinstance(found, str) else self.at
        if self.text[self.at :].strip():
            raise ValueError(f"nothing expected at {self.at}")
        return found

    def _peek(self) -> str:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def _name(self) -> str:
        self._peek()
        found = _WORD.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def _inside(self) -> Any:
        """What stands between brackets: a dictionary where all items have keys, else a list; a list alone in parentheses is itself."""
        opening = self._peek()
        closing = _CLOSING[opening]
        self.at += 1
        items: list[tuple[str | None, Any]] = []
        while self._peek() != closing:
            if not self._peek():
                raise ValueError(f"{closing} is missing")
            items.append(self._item())
            if self._peek() == ",":
                self.at += 1
            elif self._peek() != closing:
                raise ValueError(f", or {closing} expected at {self.at}")
        self.at += 1
        if items and all(key is not None for key, _ in items):
            return {key: value for key, value in items}
        values = [value if key is None else {key: value} for key, value in items]
        return values[0] if opening != "[" and len(values) == 1 and isinstance(values[0], list) else values

    def _item(self) -> tuple[str | None, Any]:
        start = self.at
        key = self._name() if self._peek() != '"' else self._quoted()
        if key and self._peek() in ("=", ":"):
            self.at += 1
            return key, self._value()
        self.at = start
        return None, self._value()

    def _quoted(self) -> str:
        self._peek()
        end = self.text.index('"', self.at + 1)
        found = self.text[self.at + 1 : end]
        self.at = end + 1
        return found

    def _value(self) -> Any:
        if self._peek() == '"':
            return self._quoted()
        number = _NUMBER.match(self.text, self.at)
        if number is not None and not re.match(r"[\w:-]", self.text[number.end() : number.end() + 1]):
            self.at = number.end()
            return float(number[0]) if re.search(r"[.eE]", number[0]) else int(number[0])
        start = self.at
        if self._name():
            if self._peek() in ("(", "{"):
                return self._inside()
        elif self._peek() in _CLOSING:
            return self._inside()
        while self._peek() and self._peek() not in ",)]}":
            self.at += 1
        return self.text[start : self.at].strip()


class GraphTracerUtils:
    """Functions of a class, as in the real package."""

    @staticmethod
    def replace_control_chars(value: str) -> str:
        """Control characters as their escapes in JSON."""
        return re.sub(r"[\x00-\x1f]", lambda found: f"\\u{ord(found[0]):04x}", value)

    @staticmethod
    def serialize_arguments_to_json(operation_name: str, arguments: Iterable[str]) -> dict[str, Any] | None:
        """{"operation", "arguments": [{"arg0": ...}, ...]}; what cannot be taken apart is an "UnparsedElement" with the text."""
        if not operation_name:
            return None
        found: list[dict[str, Any]] = []
        for index, text in enumerate(arguments):
            try:
                found.append({f"arg{index}": _Reader(GraphTracerUtils.replace_control_chars(text)).argument()})
            except ValueError as error:
                found.append({"UnparsedElement": {"error": str(error), "element_info": text}})
        return {"operation": operation_name, "arguments": found}

    @staticmethod
    def serialize_graph(captured_graph: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """{"content": the functions of a capture that have arguments}."""
        nodes = [node for node in captured_graph if node["arguments"]]
        return {"content": [GraphTracerUtils.serialize_arguments_to_json((node["params"] or {}).get("name", ""), node["arguments"]) for node in nodes]}
