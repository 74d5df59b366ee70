"""JAX functions that say themselves how they lie on a mesh, against JAX on one device. No machine here has more than one."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alchemist import codegen_py
from alchemist.errors import OptionError, UserError
from alchemist.frontends.base import ONE_CHIP, FrontendResult
from alchemist.ir import access
from alchemist.ir.edit import all_ops
from alchemist.mesh import lockstep
from alchemist.mesh.plan import mesh_of_model, on_mesh
from alchemist.options import CompilerOptions
from tests import running

jax = pytest.importorskip("jax")
from jax import lax  # noqa: E402
from jax.sharding import AbstractMesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from alchemist.frontends.jax import capture  # noqa: E402

MESH = AbstractMesh((2, 4), ("batch", "model"))
X, UP, DOWN = (np.random.default_rng(seed).standard_normal(shape, np.float32) / 8 for seed, shape in enumerate([(8, 64), (64, 128), (128, 64)]))
RING = [(place, (place + 1) % 4) for place in range(4)]


def on(*spec: Any) -> NamedSharding:
    return NamedSharding(MESH, P(*spec))


def _spread(function: Callable[..., Any], *args: Any) -> tuple[FrontendResult, Counter[str]]:
    """The program of each chip, and its collectives; its values are those of JAX on one device."""
    captured = capture(function, args)
    made = on_mesh(captured, function, mesh_of_model(captured, ONE_CHIP, "auto", CompilerOptions()), "auto")
    assert captured.golden is not None
    for want, got in zip(captured.golden(), lockstep.run(made), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    return made, Counter(op.name[5:] for op in all_ops(made.module) if access.attr(op, "cluster_axis") is not None)


def _perceptron(x: Any, up: Any, down: Any) -> Any:
    hidden = lax.with_sharding_constraint(jax.nn.relu(x @ up), on("batch", "model"))
    return hidden @ down


def test_what_a_constraint_says_reaches_the_arguments() -> None:
    made, collectives = _spread(_perceptron, X, UP, DOWN)
    assert [argument.placement for argument in made.arguments] == [(0, None), (None, 1), (None, 0)]
    assert collectives == {"all_reduce": 1}
    assert made.mesh.extents == (2, 4)


def test_shardings_of_jit_are_placements() -> None:
    function = jax.jit(lambda x, up, down: jax.nn.relu(x @ up) @ down, in_shardings=(on("batch"), on(None, "model"), on()), out_shardings=on("batch"))
    made, collectives = _spread(function, X, UP, DOWN)
    assert [argument.placement for argument in made.arguments] == [(0, None), (None, 1), (None, None)]
    assert made.outputs[0].placement == (0, None)
    assert collectives == {"mesh_partition": 1, "all_reduce": 1}


def test_shapes_with_shardings_are_arguments() -> None:
    shapes = [
        jax.ShapeDtypeStruct(value.shape, value.dtype, sharding=on(*spec)) for value, spec in ((X, ("batch",)), (UP, (None, "model")), (DOWN, ("model",)))
    ]
    made, collectives = _spread(lambda x, up, down: (x @ up) @ down, *shapes)
    assert [argument.placement for argument in made.arguments] == [(0, None), (None, 1), (None, 0)]
    assert collectives == {"all_reduce": 1}


def test_a_dimension_over_both_axes() -> None:
    made, collectives = _spread(lambda x: lax.with_sharding_constraint(x * 2, on(("batch", "model"))), X)
    assert made.arguments[0].placement == made.outputs[0].placement == (0, None)
    assert collectives == {"mesh_partition": 1, "all_gather": 1}


def _mapped(body: Callable[..., Any], in_specs: Any, out_specs: Any) -> Callable[..., Any]:
    return jax.shard_map(body, mesh=MESH, in_specs=in_specs, out_specs=out_specs, check_vma=False)


@pytest.mark.parametrize(
    ("body", "out", "collectives"),
    [
        (lambda x: lax.psum(x, "model"), P("batch"), {"all_reduce": 1}),
        (lambda x: lax.psum(x, ("batch", "model")), P(), {"all_reduce": 2}),
        (lambda x: lax.pmean(x, "batch"), P(None, "model"), {"all_reduce": 1}),
        (lambda x: lax.pmax(x, "batch"), P(None, "model"), {"all_gather": 1}),
        (lambda x: lax.all_gather(x, "model", axis=1, tiled=True), P("batch"), {"all_gather": 1}),
        (lambda x: lax.all_gather(x, "batch"), P(None, None, "model"), {"all_gather": 1}),
        (lambda x: lax.psum_scatter(x, "model", scatter_dimension=0, tiled=True), P(("batch", "model")), {"reduce_scatter": 1, "all_gather": 1}),
        (lambda x: lax.ppermute(x, "model", RING), P("batch", "model"), {"all_gather": 1, "mesh_partition": 1}),
        (lambda x: lax.ppermute(x, "model", RING[:2]), P("batch", "model"), {"all_gather": 1, "mesh_partition": 1}),
        (lambda x: lax.all_to_all(x, "model", 1, 0, tiled=True), P(("batch", "model")), {"all_gather": 2, "mesh_partition": 1}),
        (lambda x: x * lax.axis_index("model") + lax.axis_index("batch"), P("batch", "model"), {"mesh_partition": 4}),
    ],
    ids=["sum", "sum over both", "mean", "maximum", "joined", "stacked", "scattered", "ring", "some of a ring", "dealt", "number"],
)
def test_what_each_chip_computes(body: Callable[..., Any], out: Any, collectives: dict[str, int]) -> None:
    assert _spread(_mapped(body, P("batch", "model"), out), X)[1] == collectives


def test_a_map_within_a_function_over_whole_tensors() -> None:
    inner = _mapped(lambda h, down: lax.psum(h @ down, "model"), (P("batch", "model"), P("model")), P("batch"))
    made, collectives = _spread(lambda x, up, down: jax.nn.softmax(inner(jax.nn.relu(x @ up), down), -1), X, UP, DOWN)
    assert collectives == {"all_reduce": 1}
    assert [argument.placement for argument in made.arguments] == [(0, None), (None, 1), (None, 0)]


def test_refusals() -> None:
    def over(*sizes: int) -> Callable[[Any], Any]:
        sharding = NamedSharding(AbstractMesh(sizes, tuple("abcd"[: len(sizes)])), P("a"))
        return lambda x: lax.with_sharding_constraint(x, sharding)

    for function, message in (
        (over(2, 2, 2), "a mesh of more than two axes"),
        (over(3), "no wormhole_b0 system has a mesh of 1x3"),
        (lambda x: over(2)(over(4)(x)), "several meshes"),
    ):
        with pytest.raises(UserError, match=message):
            _spread(function, X)
    with pytest.raises(UserError, match="cannot be cut over the mesh"):
        _spread(over(4), X[:6])
    with pytest.raises(UserError, match=r"jax\.pmap needs as many devices") as caught:
        capture(jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i"), (X,))
    assert "jax_num_cpu_devices" in str(caught.value)
    captured = capture(_perceptron, (X, UP, DOWN))
    for plan in ("data", "tune"):
        with pytest.raises(OptionError, match="the model contains its own shardings"):
            mesh_of_model(captured, ONE_CHIP, plan, CompilerOptions())
    with pytest.raises(OptionError, match="shardings over another mesh"):
        mesh_of_model(captured, mesh_of_model(captured, ONE_CHIP, "auto", CompilerOptions()).__class__(1, 2), "auto", CompilerOptions())


def test_a_program_of_named_shardings(tmp_path: Path) -> None:
    shardings = {"up": on(None, "model"), "down": on("model"), "x": on("batch")}
    made = codegen_py(lambda x, up, down: jax.nn.relu(x @ up) @ down, X, UP, DOWN, shardings=shardings, export_path=tmp_path / "made")
    source = (made.path / "main.py").read_text()
    assert "2 x 4 chips of system t3000" in source
    assert source.count("ttnn.all_reduce(") == 1
    assert "check: passed" in running.run_checked(made.path)


_DEVICES = """
import jax, numpy as np, sys
jax.config.update("jax_num_cpu_devices", 4)
from jax.sharding import NamedSharding, PartitionSpec as P
from alchemist.frontends.base import ONE_CHIP
from alchemist.frontends.jax import capture
from alchemist.mesh import lockstep
from alchemist.mesh.plan import mesh_of_model, on_mesh
from alchemist.options import CompilerOptions

mesh = jax.make_mesh((2, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
x = np.random.default_rng(0).standard_normal((4, 64), np.float32)
placed = jax.device_put(x, NamedSharding(mesh, P("a", "b")))
for function, value in ((jax.pmap(lambda x: x - jax.lax.pmean(x, "i"), axis_name="i"), x), (lambda x: jax.nn.softmax(x), placed)):
    captured = capture(function, (value,))
    made = on_mesh(captured, function, mesh_of_model(captured, ONE_CHIP, "auto", CompilerOptions()), "auto")
    (got,), (want,) = lockstep.run(made), captured.golden()
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(want, np.asarray(function(value)), rtol=1e-5, atol=1e-6)
    print(made.mesh.extents, made.arguments[0].placement)
"""


@pytest.mark.slow
def test_arrays_on_devices_and_pmap() -> None:
    done = subprocess.run([sys.executable, "-c", _DEVICES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["(1, 4) (None, 0)", "(2, 2) (0, 1)"]
