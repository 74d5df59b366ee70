"""TTIR -> TTNN: `context.py` holds the state of a function's lowering, the other files a rule per op family."""

from alchemist.passes.lower import attention, chips, convolution, eltwise, group_norm, look_up, movement, norm, pooling, reduce
from alchemist.passes.lower.context import RULES, Lowering, rule
from alchemist.passes.lower.driver import lower_module

__all__ = [
    "RULES",
    "Lowering",
    "",
    "attention",
    "chips",
    "convolution",
    "eltwise",
    "group_norm",
    "look_up",
    "lower_module",
    "movement",
    "norm",
    "pooling",
    "reduce",
    "rule",
]
