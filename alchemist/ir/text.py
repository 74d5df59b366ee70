"""Reading and writing MLIR text (see `parser.py` and `printer.py`)."""

from alchemist.ir.parser import parse
from alchemist.ir.printer import attribute_text, print_module

__all__ = ["attribute_text", "parse", "print_module"]
