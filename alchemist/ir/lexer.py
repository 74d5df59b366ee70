"""Cursor over MLIR text: whitespace, terminals, balanced bodies and error positions."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NoReturn

from alchemist.errors import ParseError

SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*)+")
BLANK = frozenset(" \t\r\n/")
"""First characters of white space and comments."""
BARE = re.compile(r"[A-Za-z_][\w$.]*")
SUFFIX = re.compile(r"[%^@#!](?:\d+|[A-Za-z_$.-][\w$.-]*)")
VALUE = re.compile(r"%(?:\d+|[A-Za-z_$.-][\w$.-]*)")
BLOCK = re.compile(r"\^[\w$.-]+")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
INTEGER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|\d+)")
NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*(?:[eE][-+]?\d+)?)?)")
_BODY_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|->|[<>()\[\]{}]|[^"<>()\[\]{}-]+|-')
_ESCAPE = re.compile(r"\\(n|t|\\|\"|[0-9A-Fa-f]{2})")
_CLOSING = {"<": ">", "(": ")", "[": "]", "{": "}"}


class Cursor:
    """A position in `text`; every method that consumes skips leading white space and comments first."""

    def __init__(self, text: str, filename: str) -> None:
        self.source = text
        self.filename = filename
        self.offset = 0
        self._starts: list[int] | None = None

    def position(self, offset: int) -> str:
        """`file:line:column`, both from 1."""
        if self._starts is None:
            self._starts = [0, *(match.end() for match in re.finditer("\n", self.source))]
        line = bisect_right(self._starts, offset)
        return f"{self.filename}:{line}:{offset - self._starts[line - 1] + 1}"

    def fail(self, message: str, offset: int | None = None, *, expected: str = "", hint: str = "") -> NoReturn:
        where = self.offset if offset is None else offset
        line = self.source[where : where + 60].split("\n")[0].strip()
        raise ParseError(message, location=self.position(where), expected=expected, got=line or "end of input", hint=hint)

    def skip(self) -> int:
        if self.source[self.offset : self.offset + 1] in BLANK and (match := SPACE.match(self.source, self.offset)):
            self.offset = match.end()
        return self.offset

    def match(self, pattern: re.Pattern[str]) -> str | None:
        result = pattern.match(self.source, self.skip())
        if result is None:
            return None
        self.offset = result.end()
        return result[0]

    def need(self, pattern: re.Pattern[str], description: str) -> str:
        match = self.match(pattern)
        if match is None:
            self.fail(f"expected {description}")
        return match

    def accept(self, literal: str) -> bool:
        """Accepts this punctuation if it comes next."""
        offset = self.offset
        if self.source[offset : offset + 1] in BLANK:
            offset = self.skip()
        if self.source.startswith(literal, offset):
            self.offset = offset + len(literal)
            return True
        return False

    def expect(self, literal: str) -> None:
        if not self.accept(literal):
            self.fail(f"expected `{literal}`", expected=literal)

    def keyword(self, word: str) -> bool:
        """A bare word that is not a prefix of a longer one."""
        match = BARE.match(self.source, self.skip())
        if match is None or match[0] != word:
            return False
        self.offset = match.end()
        return True

    def peek(self, literal: str) -> bool:
        return self.source.startswith(literal, self.skip())

    def string(self) -> str:
        raw = self.need(STRING, "a string")[1:-1]
        if "\\" not in raw:
            return raw
        return decode_string(raw)

    def integer(self) -> int:
        return int(self.need(INTEGER, "an integer"), 0)

    def body(self) -> str:
        """Raw text from the `<` at the cursor to its matching `>`, brackets and strings balanced."""
        start = self.skip()
        self.offset = self.balanced(start)
        return self.source[start : self.offset]

    def balanced(self, start: int) -> int:
        """The offset after the bracket that closes the one at `start`."""
        stack: list[str] = []
        offset = start
        while True:
            token = _BODY_TOKEN.match(self.source, offset)
            if token is None:
                self.fail("unbalanced brackets", start)
            offset = token.end()
            text = token[0]
            if text in _CLOSING:
                stack.append(_CLOSING[text])
            elif text in (">", ")", "]", "}"):
                if not stack or stack.pop() != text:
                    self.fail("unbalanced brackets", offset - 1)
                if not stack:
                    return offset


def decode_string(raw: str) -> str:
    """Contents of an MLIR string literal: hexadecimal escapes are UTF-8 bytes."""
    simple = {"n": b"\n", "t": b"\t", "\\": b"\\", '"': b'"'}
    out = bytearray()
    offset = 0
    for match in _ESCAPE.finditer(raw):
        out += raw[offset : match.start()].encode("utf-8", "surrogateescape")
        out += simple.get(match[1]) or bytes.fromhex(match[1])
        offset = match.end()
    out += raw[offset:].encode("utf-8", "surrogateescape")
    return out.decode("utf-8", "replace")
