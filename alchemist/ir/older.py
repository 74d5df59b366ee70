"""The parser's interface to older spellings of the dialects. `alchemist/toolchain/spellings.py` implements it; this base knows none."""

from __future__ import annotations

from xdsl.ir import Attribute


class OlderText:
    """Answers of a parser that reads today's text only."""

    def name(self, name: str) -> str:
        """Today's name of an op, `#attribute` or `!type`; `name` itself if it has not changed."""
        return name

    def body(self, name: str, body: str) -> str | None:
        """Today's text of the part in `<...>` of an attribute or type that could not be read as it is; None if it is simply wrong."""
        return None

    def element(self, word: str) -> str | None:
        """Today's spelling of an element type that could not be read."""
        return None

    def encoding(self, shape: tuple[int, ...], of: Attribute, encoding: Attribute) -> Attribute:
        """Today's encoding of a tensor type.

        Raises:
            ValueError: an old encoding that does not fit the tensor; the message is for the reader.
        """
        return encoding

    def is_retired(self, op: str) -> bool:
        """Whether earlier versions of a dialect had this op; it is then parsed without a table."""
        return False
