"""Shape and attribute rules of single ops: what tt-mlir's own verifiers refuse is refused here, in our words."""

from alchemist.ir.rules import attention, chips, device, normalisation, shapes, windows
from alchemist.ir.rules.table import check, inferred_shapes

__all__ = ["attention", "check", "chips", "device", "inferred_shapes", "normalisation", "shapes", "windows"]
