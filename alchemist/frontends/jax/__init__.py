"""JAX front end. Imports jax (and flax where the model does), never torch."""

from alchemist.frontends.jax.capture import capture

__all__ = ["capture"]
