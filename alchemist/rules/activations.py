"""TTIR: activation functions that a model writes out."""

from __future__ import annotations

import math

from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import Num, Op, V

x = V("x")
_ROOT, _CURVE = 1 / math.sqrt(2), math.sqrt(2 / math.pi)

JAX_FUNCTIONS = Rules(
    "ttir",
    Rule("sigmoid", 1.0 / (Op("exp", -x) + 1.0), Op("sigmoid", x)),
    Rule(
        "gelu by tanh",
        0.5 * x * (Op("tanh", (x + x * x * x * 0.044715) * _CURVE | x * (x * x * 0.044715 + 1.0) * _CURVE) + 1.0),
        Op("gelu", x, **{"alchemist.variant": "Tanh"}),
    ),
    Rule("leaky_relu", Op("where", Op("ge|gt", x, 0.0), x, x * Num("slope")), Op("leaky_relu", x, parameter=Num("slope")), samples={"slope": 0.1}),
)
"""Functions that JAX writes out in its StableHLO and other frameworks' graphs have as one op: the front end applies these, so that its TTIR has them too."""
ACTIVATIONS = Rules(
    "ttir",
    Rule("silu", x * Op("sigmoid", x) | x / (Op("exp", -x) + 1.0), Op("silu", x)),
    Rule("gelu", 0.5 * x * (Op("erf", x * Num(_ROOT)) + 1.0) | 0.5 * x * Op("erfc", x * Num(-_ROOT)), Op("gelu", x)),
    *JAX_FUNCTIONS.rules,
)
