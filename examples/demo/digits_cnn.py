"""A small flax CNN trained on scikit-learn's handwritten digits (8x8 pixels)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class DigitsCNN(nnx.Module):
    """Two convolutions with pooling, two dense layers; 10 classes."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.conv1 = nnx.Conv(1, 32, kernel_size=(3, 3), rngs=rngs)
        self.conv2 = nnx.Conv(32, 64, kernel_size=(3, 3), rngs=rngs)
        self.dense1 = nnx.Linear(2 * 2 * 64, 128, rngs=rngs)
        self.dense2 = nnx.Linear(128, 10, rngs=rngs)

    def __call__(self, images: jax.Array) -> jax.Array:
        x = nnx.relu(self.conv1(images))
        x = nnx.max_pool(x, window_shape=(2, 2), strides=(2, 2))
        x = nnx.relu(self.conv2(x))
        x = nnx.max_pool(x, window_shape=(2, 2), strides=(2, 2))
        x = x.reshape(x.shape[0], -1)
        x = nnx.relu(self.dense1(x))
        return self.dense2(x)


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test images [n, 8, 8, 1] in 0..1 and their labels."""
    data = load_digits()
    images = (data.images / 16.0).astype(np.float32)[..., None]
    train_x, test_x, train_y, test_y = train_test_split(images, data.target, test_size=256, random_state=0)
    return train_x, train_y, test_x, test_y


def train(model: DigitsCNN, images: np.ndarray, labels: np.ndarray, *, epochs: int = 12, batch: int = 64) -> None:
    """Trains in place with Adam; a few seconds on a CPU."""
    optimizer = nnx.Optimizer(model, optax.adam(2e-3), wrt=nnx.Param)

    @nnx.jit
    def step(model: DigitsCNN, optimizer: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        def loss(model: DigitsCNN) -> jax.Array:
            return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

        value, gradients = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradients)
        return value

    order = np.random.default_rng(0)
    for _ in range(epochs):
        shuffled = order.permutation(len(images))
        for start in range(0, len(images) - batch + 1, batch):
            chosen = shuffled[start : start + batch]
            step(model, optimizer, jnp.asarray(images[chosen]), jnp.asarray(labels[chosen]))
