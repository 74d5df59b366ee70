"""Reads and writes MLIR text (see `parser.py` and `printer.py`)."""

from alchemist.ir.parser import parse
from alchemist.ir.printer import attribute_text, operation_texts, print_module

__all__ = ["attribute_text", "operation_texts", "parse", "print_module"]
