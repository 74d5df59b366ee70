"""StableHLO -> TTIR, shared by the JAX and the text front end. Imports neither jax nor torch."""

from alchemist.frontends.stablehlo import (
    rules_calls,
    rules_composites,
    rules_control,
    rules_eltwise,
    rules_index,
    rules_linalg,
    rules_mesh,
    rules_norm,
    rules_reduce,
    rules_shape,
    rules_special,
)
from alchemist.frontends.stablehlo.convert import Converted, Input, convert
from alchemist.frontends.stablehlo.jax_locations import ENTRY, Sources, scope_mark

__all__ = [
    "ENTRY",
    "Converted",
    "Input",
    "Sources",
    "convert",
    "rules_calls",
    "rules_composites",
    "rules_control",
    "rules_eltwise",
    "rules_index",
    "rules_linalg",
    "rules_mesh",
    "rules_norm",
    "rules_reduce",
    "rules_shape",
    "rules_special",
    "scope_mark",
]
