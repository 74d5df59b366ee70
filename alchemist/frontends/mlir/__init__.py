"""Text front end: StableHLO, TTIR or TTNN MLIR. Imports neither jax nor torch (pretty StableHLO needs jaxlib)."""

from alchemist.frontends.mlir.load import Init, load, load_each
from alchemist.frontends.mlir.read import read_module

__all__ = ["Init", "load", "load_each", "read_module"]
