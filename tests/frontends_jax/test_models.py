"""Whole models: numbers, names, scopes, recognised ops, refusals."""

from __future__ import annotations

import operator
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import linen, nnx
from jax import lax

from alchemist import codegen_cpp, codegen_py, load_codegen_py
from alchemist.errors import FrontendError, InputError, UnsupportedOpError
from alchemist.frontends.jax import capture
from alchemist.ir.location import sources_of
from models import jax_flax, jax_functions, plain_jax
from tests.frontends_jax import models
from tests.frontends_jax.checking import check, fused_counts, op_counts

KEY = jax.random.key(0)


def split(model: nnx.Module) -> tuple[Any, Any]:
    graphdef, state = nnx.split(model)
    return graphdef, state


def test_cnn() -> None:
    graphdef, state = split(models.DigitsCNN(nnx.Rngs(0)))
    image = jax.random.uniform(KEY, (4, 8, 8, 1))
    result = check(models.forward, (graphdef, state, image))
    assert result.model_name == "DigitsCNN"
    kinds = {argument.name: argument.kind for argument in result.arguments}
    assert kinds["conv1.kernel"] == kinds["norm.mean"] == "parameter"
    assert kinds["x"] == "input"
    assert len(kinds) == 13
    counts = op_counts(result)
    assert counts["conv2d"] == 2
    assert counts["batch_norm_inference"] == 1
    assert counts["max_pool2d"] == 1
    assert counts["avg_pool2d"] == 1
    assert counts["matmul"] == 2
    assert counts["relu"] == 3
    assert counts["rsqrt"] == 0
    assert counts["multiply"] == 0
    assert [output.name for output in result.outputs] == ["output"]


def test_transformer() -> None:
    graphdef, state = split(plain_jax.GPT(nnx.Rngs(0), 50, 128, 4))
    ids = jnp.arange(16).reshape(2, 8) % 50
    result = check(models.forward, (graphdef, state, ids), tolerance=1e-3)
    counts = fused_counts(result)
    assert counts["scaled_dot_product_attention"] == 2
    assert counts["gelu"] == 2
    assert counts["embedding"] == 1
    assert counts["where"] == counts["exp"] == counts["tanh"] == 0
    names = [argument.name for argument in result.arguments]
    assert "blocks.0.attention.query.kernel" in names
    assert "positions" in names
    assert [output.name for output in result.outputs] == ["logits"]


@pytest.mark.parametrize(
    ("model", "shape", "expected"),
    [
        (partial(plain_jax.ResNet, width=8), (1, 32, 32, 3), {"conv2d": 7, "batch_norm_inference": 4, "mean": 1, "max_pool2d": 1}),
        pytest.param(models.VisionTransformer, (2, 16, 16, 3), {"conv2d": 1, "gelu": 1}, marks=pytest.mark.slow),
        (partial(plain_jax.LSTMClassifier, inputs=4, width=8), (2, 5, 4), {"sigmoid": 15, "tanh": 10}),
        pytest.param(models.AutoEncoder, (2, 8, 8, 1), {"conv2d": 1, "conv_transpose2d": 1, "sigmoid": 2}, marks=pytest.mark.slow),
    ],
)
def test_architectures(model: Any, shape: tuple[int, ...], expected: dict[str, int]) -> None:
    graphdef, state = split(model(nnx.Rngs(0)))
    result = check(models.forward, (graphdef, state, jax.random.normal(KEY, shape)), tolerance=1e-3)
    counts = op_counts(result)
    assert {name: counts[name] for name in expected} == expected


@pytest.mark.parametrize("masked", [False, True])
def test_attention_functions(masked: bool) -> None:
    x = jax.random.normal(KEY, (2, 8, 4, 32))
    if masked:
        result = check(models.masked_attention, (x, jnp.arange(8)[None] < jnp.array([[5], [8]])))
    else:
        result = check(lambda q, k: jax.nn.dot_product_attention(q, k, k), (x, x[:, ::-1]))
    counts = fused_counts(result)
    assert counts["scaled_dot_product_attention"] == 1
    assert counts["matmul"] == counts["softmax"] == counts["exp"] == 0


def test_attention_of_a_training_step_keeps_its_probabilities() -> None:
    """The backward pass reads them, so one op for all would compute them twice."""
    x = jax.random.normal(KEY, (2, 8, 2, 32))
    result = check(jax.grad(lambda x: jnp.sum(jax.nn.dot_product_attention(x, x[:, ::-1], x) ** 2)), (x,))
    counts = fused_counts(result)
    assert "scaled_dot_product_attention" not in counts
    assert counts["softmax"] == 1


def test_sources() -> None:
    """Scopes say which module an op belongs to, frames which line of the model; both also without weights."""
    graphdef, state = split(plain_jax.GPT(nnx.Rngs(0), 50, 32, 4))
    result = capture(models.forward, (graphdef, state, jnp.zeros((1, 8), jnp.int32)), {})
    (gelu,) = [op for op in result.module.walk() if op.name == "ttir.gelu"][1:]
    info = sources_of(gelu)[0]
    assert [scope.path for scope in info.scopes] == ["", "blocks.1", "blocks.1.mlp"]
    assert info.scopes[-1].class_name == f"{plain_jax.__name__}.MLPBlock"
    frame = info.frames[-1]
    lines = result.source_files[frame.file].splitlines()
    assert "nnx.gelu(self.fc1(x))" in lines[frame.line - 1]
    assert all("flax" not in f.file and "alchemist/" not in f.file for f in info.frames)
    file, line = result.class_sources[info.scopes[-1].class_name]
    assert "def __call__" in result.source_files[file].splitlines()[line - 1]
    assert "stablehlo.dot_general" in result.stages["shlo"]()


def test_module_itself() -> None:
    model = models.DigitsCNN(nnx.Rngs(0))
    result = check(model, (jnp.ones((1, 8, 8, 1)),))
    assert result.model_name == "DigitsCNN"
    assert [a.name for a in result.arguments if a.kind == "input"] == ["image"]
    assert models.DigitsCNN.__call__.__name__ == "__call__"
    assert not hasattr(models.DigitsCNN.__call__, "__wrapped__")


def test_linen() -> None:
    model = models.LinenMLP()
    x = jax.random.normal(KEY, (2, 8))
    variables = model.init(KEY, x)
    result = check(model.apply, (variables, x))
    assert result.model_name == "LinenMLP"
    names = {argument.name: argument.kind for argument in result.arguments}
    assert names["Dense_0.kernel"] == names["norm.scale"] == "parameter"
    assert names["x" if "x" in names else "args_0"] == "input"
    (relu,) = [op for op in result.module.walk() if op.name == "ttir.relu" and len(sources_of(op)[0].scopes) == 1]
    assert sources_of(relu)[0].scopes[0].class_name.endswith("LinenMLP")


def test_plain_function() -> None:
    params = [(jax.random.normal(KEY, (8, 16)), jnp.ones(16)), (jax.random.normal(KEY, (16, 3)), jnp.zeros(3))]
    result = check(models.mlp, (params, jnp.ones((2, 8))))
    assert [(a.name, a.kind) for a in result.arguments] == [
        ("params.0.0", "parameter"),
        ("params.0.1", "parameter"),
        ("params.1.0", "parameter"),
        ("params.1.1", "parameter"),
        ("x", "input"),
    ]


class Keyed:
    """A container of somebody's own whose keys are plain texts."""

    def __init__(self, w: Any) -> None:
        self.w = w


jax.tree_util.register_pytree_with_keys(Keyed, lambda keyed: ((("w", keyed.w),), None), lambda _, leaves: Keyed(*leaves))
W, X, ROW = jnp.ones((4, 4)) / 4, jax.random.normal(KEY, (3, 4)), jnp.arange(4.0)


@pytest.mark.parametrize(
    ("function", "args", "names"),
    [
        (lambda params, state, x: x @ params["w"] + state["w"], ({"w": W}, {"w": ROW}, X), ["w", "state.w", "x"]),
        (lambda params, x: x @ params.w, (Keyed(W), X), ["w", "x"]),
        (lambda batch, x: batch["w"] + x, ({"w": X}, X), ["batch.w", "x"]),
        (lambda net, x: x @ net["w"], ({"w": W}, X), ["w", "x"]),
        (lambda net: net["x"] @ net["w"], ({"w": W, "x": X},), ["net.w", "net.x"]),
        (lambda variables, x: x @ variables["params"]["a"]["w"], ({"params": {"a": {"w": W}}}, X), ["a.w", "x"]),
        (lambda variables, x: x @ variables["params"], ({"params": W}, X), ["params", "x"]),
        (lambda weights, x: x @ weights[0] + weights[1], ([W, ROW], X), ["weights.0", "weights.1", "x"]),
        (operator.itemgetter(0), (X,), ["arg0"]),
        (lambda *xs: xs[0] + xs[1], (X, X), ["xs_0", "xs_1"]),
        (lambda x, *, y: x + y, (X,), ["x", "y"]),
    ],
)
def test_names_of_arguments(function: Any, args: tuple[Any, ...], names: list[str]) -> None:
    result = check(function, args, {"y": X} if names == ["x", "y"] else None)
    assert [argument.name for argument in result.arguments] == names
    parameters = [argument.name for argument in result.arguments if argument.kind == "parameter"]
    is_state = len(names) > 1 and not names[0].startswith(("batch.", "net.", "x"))
    assert parameters == (names[:-1] if is_state else [])


def test_variables_that_a_call_adds_are_named() -> None:
    def run(state: Any, x: jax.Array) -> jax.Array:
        state.extra = x
        state.held = state.held + 1
        return x * state.held

    class State:
        def __init__(self, **values: Any) -> None:
            self.__dict__.update(values)

    def keyed(state: State) -> tuple[Any, Any]:
        names = tuple(sorted(state.__dict__))
        return tuple((jax.tree_util.GetAttrKey(name), getattr(state, name)) for name in names), names

    jax.tree_util.register_pytree_with_keys(State, keyed, lambda names, leaves: State(**dict(zip(names, leaves, strict=True))))
    with pytest.warns(UserWarning, match=r"adds variables to its arguments.*\.extra; call the model once before the export"):
        result = capture(run, (State(held=ROW), X[0]), {})
    assert [(output.name, output.mutates) for output in result.outputs] == [("output", ""), ("held", "held")]


def test_static_and_nested_arguments() -> None:
    def function(batch: dict[str, Any], scale: float, *, flag: bool) -> tuple[jax.Array, jax.Array]:
        x = batch["image"] * scale
        return (x if flag else -x), batch["ids"] + 1

    batch = {"image": jnp.ones((2, 3)), "ids": jnp.arange(3)}
    result = check(function, (batch, 2.0), {"flag": True})
    assert [a.name for a in result.arguments] == ["batch.ids", "batch.image"]
    assert [o.name for o in result.outputs] == ["output_0", "output_1"]


def test_all_unsupported_at_once() -> None:
    def function(x: jax.Array) -> jax.Array:
        noise = jax.random.normal(jax.random.key(0), x.shape) * lax.nextafter(x, x + 1)
        return lax.while_loop(lambda v: v.sum() < 10, lambda v: v * 2, x) + jnp.linalg.cholesky(noise @ noise.T)

    with pytest.raises(UnsupportedOpError) as error:
        capture(function, (jnp.ones((3, 3)),), {})
    reasons = {op: reason for op, _, _, reason in error.value.ops}
    assert len(reasons) == 3
    assert reasons["chlo.next_after"] == "no conversion to TTIR"
    assert reasons["stablehlo.while"] == "control flow depends on data"
    assert any("cholesky" in op or "custom_call" in op for op in reasons)
    assert all(where.startswith("tests/frontends_jax/test_models.py:") for _, _, where, _ in error.value.ops)


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda x: x if x.sum() > 0 else -x, FrontendError, "control flow depends on data"),
        (lambda x: x @ jnp.ones((7, 7)), FrontendError, "fails during tracing"),
        (lambda x, y: x + y, InputError, "do not fit"),
        (3, FrontendError, "int is not callable"),
    ],
)
def test_refused(function: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as found:
        capture(function, (jnp.ones((3, 3)),), {})
    if error is FrontendError and callable(function):
        assert "test_models.py:" in str(found.value)
    with pytest.raises(InputError, match="arguments need values"):
        capture(lambda x: x, (jax.ShapeDtypeStruct((2,), jax.random.key(0).dtype),), {})


def test_does_not_import_torch() -> None:
    code = "import sys, alchemist.frontends.jax; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def exported(function: Any, args: tuple[Any, ...], directory: Path) -> str:
    codegen_py(function, *args, export_path=directory / "out", export_golden="none")
    return (directory / "out" / "main.py").read_text()


def test_functions_of_the_model(tmp_path: Path) -> None:
    """A plain function's helpers are functions of the program, narrowed to their part of the weights; repeated layers a loop."""
    main = exported(jax_functions.gpt, (jax_functions.gpt_params(), jnp.zeros((1, 32), jnp.int32), 4), tmp_path)
    for name in ("causal_self_attention", "feed_forward", "transformer_block", "gpt"):
        assert main.count(f"def {name}(") == 1
    assert "heads: ttnn.Tensor" not in main  # a number of the model's, not its mask
    assert "for i in range(NUM_BLOCKS):" in main
    assert 'weights.scope(f"blocks.{i}")' in main
    assert main.count("ttnn.layer_norm(") == 3  # written out in the model
    assert len(main.splitlines()) < 180


def test_scan_is_a_loop(tmp_path: Path) -> None:
    """32 steps are one body, called in a loop; what a step gives is collected in a list."""
    model, args, _ = jax_functions.kalman_filter()
    main = exported(model, args, tmp_path)
    assert main.count("def update(") == 1
    assert "NUM_STEPS = 32" in main
    assert "for i in range(NUM_STEPS):" in main
    assert "[i, 0], [i + 1, 32]" in main
    assert main.count(".append(") == 2
    assert len(main.splitlines()) < 110


def dense(params: dict[str, Any], x: Any) -> Any:
    return x + jnp.tanh(x @ params["w"] + params["b"])


STACKED = {"w": jnp.ones((4, 16, 16)) / 16, "b": jnp.zeros((4, 16))}


@pytest.mark.parametrize(
    ("model", "params", "scope"),
    [
        ("whole", STACKED, 'weights.scope(f"layers.{i}")'),
        ("part", {"blocks": STACKED}, 'weights.scope(f"blocks.{i}")'),
        ("backwards", STACKED, 'weights.scope(f"layers.{i}")'),
    ],
)
def test_layers_of_a_scan_have_weights_of_their_own(model: str, params: Any, scope: str, tmp_path: Path) -> None:
    """Stacked weights are stored layer by layer: no slices on the device, and a loop over scopes like that of a model without a scan."""

    def run(params: Any, x: Any) -> Any:
        stacked = params.get("blocks", params)
        return lax.scan(lambda carry, one: (dense(one, carry), None), x, stacked, reverse=model == "backwards")[0]

    main = exported(run, (params, jnp.ones((4, 16))), tmp_path)
    assert scope in main
    assert main.count("def dense(x: ttnn.Tensor, weights: Weights)") == 1
    assert 'weights["w"]' in main
    assert "ttnn.slice" not in main
    assert not (tmp_path / "out" / "consteval.py").exists()


@pytest.mark.parametrize(
    "params", [{"table": jnp.ones((5, 16))}, {"w": jnp.ones((5, 16, 16)), "used again": jnp.ones((5, 16, 16))}], ids=["rows", "also whole"]
)
def test_stacks_that_are_no_layers(params: Any) -> None:
    """Rows of a table that a scan over time reads, and weights that something reads whole, stay as they are."""

    def run(params: Any, x: Any) -> Any:
        def step(carry: Any, one: Any) -> tuple[Any, None]:
            return carry + sum(leaf if leaf.ndim == 1 else carry @ leaf for leaf in one.values()), None

        last = lax.scan(step, x, params)[0]
        return last, jnp.sum(params["used again"]) if "used again" in params else last

    names = {argument.name for argument in capture(run, (params, jnp.ones((4, 16))), {}).arguments}
    assert names >= ({"table"} if "table" in params else {"used again"})


def test_a_list_that_is_there_keeps_its_name() -> None:
    """Slabs would be called as other weights are: the stack stays whole."""

    def run(params: Any, x: Any) -> Any:
        x = x @ params["layers"]["0"]
        return lax.scan(lambda carry, w: (jnp.tanh(carry @ w), None), x, params["layers"]["w"])[0]

    params = {"layers": {"0": jnp.ones((16, 16)), "w": STACKED["w"]}}
    names = [argument.name for argument in check(run, (params, jnp.ones((4, 16)))).arguments]
    assert names == ["layers.0", "layers.w", "x"]
    params["layers"]["w"] = STACKED["w"][:1]
    assert "layers.w" in [argument.name for argument in check(run, (params, jnp.ones((4, 16)))).arguments], "one round is no loop"


@pytest.mark.slow
def test_numbered_layers_are_a_loop(tmp_path: Path) -> None:
    main = exported(*_two_of(jax_flax.MODELS["linen_llama"]()), tmp_path)
    assert 'weights.scope(f"layers_{i}")' in main
    assert main.count("def llama_layer(") == main.count("def apply_rotary(") == 1
    assert "cos: ttnn.Tensor, sin: ttnn.Tensor" in main
    assert "input_ids: ttnn.Tensor" in main


class Compact(linen.Module):
    """Two norms and two layers in each of three rounds, numbered by flax."""

    @linen.compact
    def __call__(self, x: Any) -> Any:
        for index in range(3):
            x = x + linen.Dense(32)(linen.LayerNorm()(x))
            x = x + linen.Dense(32, name=f"mix_{index}")(jnp.tanh(linen.Dense(32)(linen.LayerNorm()(x))))
        return linen.Dense(8)(x)


def test_numbers_that_count_in_steps_of_their_own_are_a_loop(tmp_path: Path) -> None:
    x = jax.random.normal(KEY, (4, 32))
    model = Compact()
    values = model.init(KEY, x)
    main = exported(model.apply, (values, x), tmp_path)
    assert "for i in range(" in main
    for name in ("LayerNorm_{2 * i}", "LayerNorm_{2 * i + 1}", "Dense_{2 * i}", "Dense_{2 * i + 1}", "mix_{i}"):
        assert name in main
    loaded = load_codegen_py(model.apply, values, x, load_path=tmp_path / "out")
    assert jnp.linalg.norm(jnp.asarray(loaded) - model.apply(values, x)) < 5e-3 * jnp.linalg.norm(model.apply(values, x))
    cpp = (codegen_cpp(model.apply, values, x, export_path=tmp_path / "cpp", export_golden="none").path / "model.cpp").read_text()
    assert '"LayerNorm_" + std::to_string(2 * i + 1)' in cpp


def _two_of(built: tuple[Any, tuple[Any, ...], dict[str, Any]]) -> tuple[Any, tuple[Any, ...]]:
    return built[0], built[1]
