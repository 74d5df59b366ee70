"""Shape and attribute rules of single ops: reject what tt-mlir's own verifiers reject, with our messages."""

from alchemist.ir.rules import attention, chips, device, normalisation, shapes, windows
from alchemist.ir.rules.table import check, inferred_shapes

__all__ = ["attention", "check", "chips", "device", "inferred_shapes", "normalisation", "shapes", "windows"]
