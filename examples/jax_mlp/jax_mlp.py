"""A flax nnx MLP as Python.    python examples/jax_mlp/jax_mlp.py [DIR]"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
from flax import nnx

from alchemist import codegen_py


class MLP(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.linear1 = nnx.Linear(784, 128, rngs=rngs)
        self.linear2 = nnx.Linear(128, 10, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.linear2(nnx.relu(self.linear1(x)))


def forward(graphdef: nnx.GraphDef, state: nnx.State, x: jax.Array) -> jax.Array:
    return nnx.merge(graphdef, state)(x)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=Path("jax_mlp_program"))
    path = parser.parse_args().path
    graphdef, state = nnx.split(MLP(nnx.Rngs(0)))
    image = jax.random.normal(jax.random.key(0), (32, 784), jnp.float32)
    codegen_py(forward, graphdef, state, image, export_path=path, overwrite=True)
    print(f"try: {path}/run --check")
