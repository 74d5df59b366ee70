"""TTNN: written-out functions that the library has in one device program."""

from __future__ import annotations

from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import Num, Op, V

STABLE_THRESHOLD = 20.0
"""From here on softplus is its argument in every format: log(1 + exp(-20)) is 2e-9. torch's and the library's default."""

x, alpha, threshold = V("x"), Num("alpha"), Num("threshold")
scaled = x * Num("beta")
low = Op("expm1", Op("minimum", x, 0.0) | Op("where", Op("gt", x, 0.0), 0.0, x))  # the second is how JAX keeps large arguments from expm1
soft = Op("log1p", Op("exp", Op("minimum", scaled, threshold)))

PIECEWISE = Rules(
    "ttnn",
    Rule(
        "elu",
        Op("where", Op("gt", x, 0.0), x, low * alpha) | Op("relu", x) + low * alpha,
        Op("elu", x, alpha=alpha),
        guard=lambda at: at["alpha"] > 0,
        dead=True,
        samples=None,
    ),
    Rule(
        "softplus",
        Op("where", Op("gt", scaled, threshold), x, soft * Num("inverse")),
        Op("softplus", x, beta=Num("beta"), threshold=threshold),
        guard=lambda at: abs(at["beta"] * at["inverse"] - 1) < 1e-6,
        dead=True,
        samples=None,
    ),
    Rule(
        "stable softplus",
        Op("relu", x) + Op("log1p", Op("exp", -Op("abs", x))),
        Op("softplus", x, beta=1.0, threshold=STABLE_THRESHOLD),
        dead=True,
        samples=None,
    ),
)
