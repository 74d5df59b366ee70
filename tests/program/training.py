"""A training step that several tests look at, captured once in a process."""

from __future__ import annotations

from functools import cache

from alchemist.frontends.base import FrontendResult
from alchemist.frontends.jax import capture
from models.jax_functions import transformer_training_step

DEPTH = 3


@cache
def captured_training_step() -> FrontendResult:
    """Of a transformer in JAX: the new parameters, the optimizer's state and the loss. Nobody changes it."""
    model, args, _ = transformer_training_step(DEPTH, 33, returns_state=True)
    return capture(model, args, {})
