"""TTNN on numpy, as the pass tests call it."""

from alchemist.ops.evaluate_ttnn import run

__all__ = ["run"]
