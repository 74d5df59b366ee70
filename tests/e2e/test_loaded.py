"""`load_codegen_py` in the model's place: arguments are compared, state is written back, weights may be other ones."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch

from alchemist import codegen_py, load_codegen_py
from alchemist.errors import FrontendError, InputError, OptionError, ParseError, UserError
from alchemist.loaded import LoadedProgram, read_manifest
from tests.device import simulated_device
from tests.running import run

X = torch.ones(4, 32)
CLOSE = {"rtol": 5e-3, "atol": 5e-3}


def loaded(tmp_path: Path, model: Any, exported: tuple[Any, ...], *calls: tuple[Any, ...]) -> list[Any]:
    codegen_py(model, *exported, export_path=tmp_path / "out")
    return [load_codegen_py(model, *args, load_path=tmp_path / "out") for args in calls]


# ----------------------------------------------------------------------------------------------------------- manifest


def test_a_damaged_manifest_is_refused(tmp_path: Path) -> None:
    tensor = {"shape": [4, 32], "kind": "input", "dtype": "BFLOAT16", "layout": "TILE"}
    entry = {"function": "forward", "weights": True, "inputs": ["x"], "outputs": ["y"]}
    whole = {"language": "python", "entry": entry, "device": {"l1_small_size": 0}, "tensors": {"x": tensor}, "outputs": {"y": {}}, "options": {}}
    damaged: list[dict[str, Any]] = [{"entry": None}, {"device": {}}, {"device": {"l1_small_size": -1}}, {"options": []}, {"outputs": []}, {"call": [{}]}]
    damaged += [{"entry": entry | part} for part in ({"function": None}, {"weights": "yes"}, {"inputs": [1]}, {"outputs": None}, {"written": []})]
    damaged += [{"tensors": {"x": tensor | part}} for part in ({"shape": 4}, {"dtype": None})]
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(whole))
    assert read_manifest(tmp_path) == whole
    for part in damaged:
        file.write_text(json.dumps(whole | part))
        with pytest.raises(UserError, match=r"manifest\.json is damaged"):
            read_manifest(tmp_path)


# ---------------------------------------------------------------------------------------------------------- arguments


def test_one_tensor_given_twice_stays_two_inputs(tmp_path: Path) -> None:
    both = torch.ones(4, 32)
    (result,) = loaded(tmp_path, lambda a, b: a + 2 * b, (both, both), (X, X * 3))
    torch.testing.assert_close(result, X * 7)


def test_a_weight_given_as_an_argument_is_an_input(tmp_path: Path) -> None:
    model = torch.nn.Linear(32, 32).eval()

    def double(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return model(x) + x @ weight

    other = torch.randn(32, 32)
    with torch.no_grad():
        (result,) = loaded(tmp_path, double, (X, model.weight), (X, other))
        torch.testing.assert_close(result, double(X, other), rtol=2e-2, atol=2e-2)


def scaled(x: Any, by: Any = 2.0, mode: Any = "plain", shift: Any = None) -> Any:
    return x * by + (0 if shift is None else shift)


REFUSED: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], str]] = {
    "number": ((X, 2.0), (X, 3.0), "argument by differs from the argument at export.*float 2.0.*float 3.0"),
    "kind of number": ((X, 2), (X, True), "argument by.*int 2.*bool True"),
    "string": ((X, 2.0, "plain"), (X, 2.0, "other"), "argument mode.*'plain'.*'other'"),
    "None": ((X, 2.0, "plain", None), (X, 2.0, "plain", 1.0), "argument shift.*None.*1.0"),
    "shape": ((X,), (torch.ones(5, 32),), r"argument x.*float32 \[4, 32\].*float32 \[5, 32\]"),
    "dtype": ((X,), (X.to(torch.bfloat16),), r"argument x.*float32 \[4, 32\].*bfloat16 \[4, 32\]"),
    "one more": ((X,), (X, 2.0), "the arguments differ from those of the export.*with by"),
    "one less": ((X, 2.0), (X,), "the arguments differ from those of the export.*without by"),
}


@pytest.mark.parametrize("framework", ["torch", "jax"])
@pytest.mark.parametrize("case", REFUSED)
def test_arguments_that_are_not_those_of_the_export(case: str, framework: str, tmp_path: Path) -> None:
    exported, given, message = REFUSED[case]
    if framework == "jax":

        def array(value: Any) -> Any:
            return jnp.asarray(value.float().numpy(), str(value.dtype)[6:]) if isinstance(value, torch.Tensor) else value

        exported, given = tuple(map(array, exported)), tuple(map(array, given))
        if case == "None":  # no leaf of a JAX tree
            message = "the arguments differ from those of the export.*with shift"
    codegen_py(scaled, *exported, export_path=tmp_path / "out", export_golden="none")
    with pytest.raises(InputError, match=f"(?s){message}"):
        load_codegen_py(scaled, *given, load_path=tmp_path / "out")


def test_the_argument_of_another_function() -> None:
    with pytest.raises(OptionError, match="expected load_path"):
        load_codegen_py(torch.nn.Linear(2, 2), torch.ones(2), export_path="out")


def test_an_argument_that_holds_itself(tmp_path: Path) -> None:
    holder: list[Any] = []
    holder.append(holder)
    codegen_py(torch.nn.ReLU(), X, export_path=tmp_path / "out")
    with pytest.raises(ParseError, match="nested too deeply"):
        load_codegen_py(torch.nn.ReLU(), holder, load_path=tmp_path / "out")


def test_scalars_keep_their_rank(tmp_path: Path) -> None:
    def model(x: torch.Tensor, by: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return (x * by).sum(), by + 1

    ((total, by),) = loaded(tmp_path, model, (X, torch.tensor(2.0)), (X, torch.tensor(3.0)))
    assert (total.shape, by.shape) == ((), ())
    torch.testing.assert_close((total, by), (torch.tensor(384.0), torch.tensor(4.0)))


# -------------------------------------------------------------------------------------------------------------- state


class Running(torch.nn.Module):
    """Writes a sum, a counter that const-eval could take for a constant, and a buffer that it never reads."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(32, 32)
        self.register_buffer("total", torch.zeros(4, 32))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("last", torch.zeros(4, 32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total += x
        self.calls += 1
        self.last.copy_(x)
        return self.linear(self.total) * self.calls


def running() -> tuple[Running, Running]:
    models = Running().eval(), Running().eval()
    models[1].load_state_dict(models[0].state_dict())
    return models


def test_written_buffers_over_several_calls(tmp_path: Path) -> None:
    model, expected = running()
    codegen_py(model, X, export_path=tmp_path / "out")
    assert run(tmp_path / "out", "--check", "--loops", "3").returncode == 0
    with torch.no_grad():
        for step in range(3):
            result = load_codegen_py(model, X * (step + 1), load_path=tmp_path / "out")
            reference = expected(X * (step + 1))
            # Of the norm: single values of a product of float32 are off by more, as on the chip (docs/numerics.md).
            assert torch.linalg.norm(result - reference) <= 5e-3 * torch.linalg.norm(reference)
    assert int(model.calls) == 3
    torch.testing.assert_close(model.total, expected.total, **CLOSE)
    torch.testing.assert_close(model.last, expected.last)


def test_a_written_tensor_that_nothing_holds_is_refused(tmp_path: Path) -> None:
    hidden = torch.zeros(4, 32)

    def model(x: torch.Tensor) -> torch.Tensor:
        return hidden.add_(x) * 2

    codegen_py(model, X, export_path=tmp_path / "out")
    with pytest.raises(InputError, match="updates a tensor that is not part of the model"):
        load_codegen_py(model, X, load_path=tmp_path / "out")


@pytest.mark.parametrize("consteval", [True, False])
def test_weights_of_now(consteval: bool, tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).eval()
    codegen_py(model, X, export_path=tmp_path / "out", compiler_options={"enable_const_eval": consteval})
    with torch.no_grad():
        model[0].weight.mul_(-2)
        model[2].bias.fill_(3)
    torch.testing.assert_close(load_codegen_py(model, X, load_path=tmp_path / "out"), model(X).detach(), rtol=2e-2, atol=2e-2)
    with pytest.raises(InputError, match=r"4 tensors differ(?s:.*)tensor 0.bias: float32 \[64\] +tensor 0.bias: bfloat16"):
        load_codegen_py(model.to(torch.bfloat16), X, load_path=tmp_path / "out")


def mlp(*layers: torch.nn.Module, names: str = "012") -> torch.nn.Module:
    return torch.nn.Sequential(OrderedDict(zip(names, layers, strict=True))).eval()


def linen_mlp(width: int, act: Any) -> Any:
    from flax import linen

    class Mlp(linen.Module):
        width: int
        act: Any = linen.relu

        @linen.compact
        def __call__(self, x: Any) -> Any:
            return self.act(linen.Dense(self.width)(x))

    return Mlp(width, act)


def nnx_mlp(act: Any) -> Any:
    from flax import nnx

    class Mlp(nnx.Module):
        def __init__(self) -> None:
            self.linear, self.act = nnx.Linear(32, 4, rngs=nnx.Rngs(0)), act

        def __call__(self, x: Any) -> Any:
            return self.act(self.linear(x))

    return Mlp()


UP, DOWN, RELU = torch.nn.Linear(32, 16), torch.nn.Linear(16, 4), torch.nn.ReLU()
OTHER_MODELS: dict[str, tuple[Any, str]] = {
    "class": (mlp(UP, torch.nn.Sigmoid(), DOWN), r"1 module differ.*module 1: ReLU\(\) +module 1: Sigmoid\(\)"),
    "settings": (
        mlp(UP, RELU, torch.nn.Linear(16, 4, bias=False)),
        r"module 2: Linear.*bias=True\) +module 2: .*bias=False\)\n.*tensor 2.bias: float32 \[4\] +-",
    ),
    "width": (mlp(UP, RELU, torch.nn.Linear(16, 3)), r"tensor 2.weight: float32 \[4, 16\] +tensor 2.weight: float32 \[3, 16\]"),
    "renamed": (
        mlp(UP, RELU, DOWN, names="ab2"),
        r"module 0: Linear.* module a: Linear.*module 1: ReLU\(\) +module b: ReLU\(\).*tensor 0.weight: float32 .* tensor a.weight",
    ),
    "one module": (torch.nn.Linear(32, 4), r"module \(the model\): Sequential\(\) +module \(the model\): Linear"),
}


@pytest.mark.parametrize("case", OTHER_MODELS)
def test_another_model_is_refused(case: str, tmp_path: Path) -> None:
    other, message = OTHER_MODELS[case]
    codegen_py(mlp(UP, RELU, DOWN), X, export_path=tmp_path / "out", export_golden="none")
    with pytest.raises(InputError, match=f"(?s)the model differs from the exported model.*{message}"):
        load_codegen_py(other, X, load_path=tmp_path / "out")


def test_another_result_is_refused(tmp_path: Path) -> None:
    """The same modules, called in another way."""

    class Twice(torch.nn.Linear):
        parts = 1

        def forward(self, x: torch.Tensor) -> Any:
            return super().forward(x) if self.parts == 1 else tuple(super(Twice, self).forward(x) for _ in range(self.parts))

    model = Twice(32, 4).eval()
    codegen_py(model, X, export_path=tmp_path / "out", export_golden="none")
    model.parts = 2
    with pytest.raises(InputError, match=r"(?s)1 output differ.*- +output 1: float32 \[4, 4\]"):
        load_codegen_py(model, X, load_path=tmp_path / "out")


def test_another_flax_model_is_refused(tmp_path: Path) -> None:
    import jax

    x = jnp.ones((4, 32))
    codegen_py(nnx_mlp(jax.nn.relu), x, export_path=tmp_path / "nnx", export_golden="none")
    with pytest.raises(InputError, match=r"(?s)module \(the model\): Mlp\(act=relu\) +module \(the model\): Mlp\(act=sigmoid\)"):
        load_codegen_py(nnx_mlp(jax.nn.sigmoid), x, load_path=tmp_path / "nnx")
    model, other = linen_mlp(4, jax.nn.relu), linen_mlp(4, jax.nn.sigmoid)
    variables = model.init(jax.random.key(0), x)
    codegen_py(model.apply, variables, x, export_path=tmp_path / "linen", export_golden="none")
    with pytest.raises(InputError, match=r"act=relu, width=4\) +module .*act=sigmoid"):
        load_codegen_py(other.apply, variables, x, load_path=tmp_path / "linen")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "caches_in", "close"), [(torch.float32, "none", 2e-2), (torch.bfloat16, "bfp_bf8", 6e-2)], ids=["float32", "caches in bfloat8_b"]
)
def test_static_cache_decode(dtype: torch.dtype, caches_in: str, close: float, tmp_path: Path) -> None:
    """Prefill by the model, then one token at a time through the program, which writes the caller's cache."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(hidden_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, intermediate_size=64, vocab_size=64)
    model = transformers.LlamaForCausalLM(config).eval().to(dtype)
    ids = torch.randint(0, 64, (1, 6))
    caches = [transformers.StaticCache(config=config, max_cache_len=32) for _ in range(3)]

    def step(position: int, cache: Any) -> dict[str, Any]:
        return {"input_ids": ids[:, position : position + 1], "position_ids": torch.tensor([[position]]), "past_key_values": cache}

    with torch.no_grad():
        for cache in caches:
            model(ids[:, :3], past_key_values=cache, use_cache=True)
        codegen_py(model, export_path=tmp_path / "out", compiler_options={"experimental_kv_cache_dtype": caches_in}, **step(3, caches[0]))
        for position in range(3, 6):
            expected = model(**step(position, caches[1]))
            found = load_codegen_py(model, load_path=tmp_path / "out", **step(position, caches[2]))
            torch.testing.assert_close(found.logits, expected.logits, rtol=close, atol=close)
            for written, wanted in zip(caches[2].layers, caches[1].layers, strict=True):
                torch.testing.assert_close(written.keys, wanted.keys, rtol=close, atol=close)


# ---------------------------------------------------------------------------------------------------------------- JAX


def test_a_training_loop_learns(tmp_path: Path) -> None:
    import jax

    def step(params: Any, x: Any, y: Any) -> tuple[Any, Any]:
        def loss(params: Any) -> Any:
            return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

        value, gradients = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda one, gradient: one - 0.1 * gradient, params, gradients), value

    keys = jax.random.split(jax.random.key(0))
    x = jax.random.normal(keys[0], (32, 32))
    params = {"w": jnp.zeros((32, 4)), "b": jnp.zeros(4)}
    y = x @ jax.random.normal(keys[1], (32, 4))
    codegen_py(step, params, x, y, export_path=tmp_path / "out")
    expected, losses = params, []
    for _ in range(3):
        params, value = load_codegen_py(step, params, x, y, load_path=tmp_path / "out")
        expected, wanted = step(expected, x, y)
        np.testing.assert_allclose(value, wanted, rtol=2e-2)
        losses.append(float(value))
    assert losses[2] < 0.8 * losses[0]


@pytest.mark.parametrize("called", ["module", "step", "state"])
def test_flax_state_is_written(called: str, tmp_path: Path) -> None:
    """The module itself, a training step that takes it, and the functional form with a state."""
    from flax import nnx
    from jax import numpy as jnp

    class Counting(nnx.Module):
        def __init__(self) -> None:
            self.linear = nnx.Linear(32, 4, rngs=nnx.Rngs(0))
            self.count = nnx.Variable(jnp.zeros((1,)))

        def __call__(self, x: Any) -> Any:
            self.count[...] = self.count[...] + 1
            return self.linear(x) * self.count[...]

    def step(model: Counting, x: Any) -> Any:
        def loss(model: Counting) -> Any:
            return (model(x) ** 2).mean()

        value, gradients = nnx.value_and_grad(loss)(model)
        state = nnx.state(model, nnx.Param)
        nnx.update(model, nnx.State({"linear": {name: state["linear"][name][...] - 0.1 * gradients["linear"][name][...] for name in ("kernel", "bias")}}))
        return value

    def functional(graphdef: Any, state: Any, x: Any) -> Any:
        return nnx.merge(graphdef, state)(x)

    x = jnp.ones((4, 32))
    model, expected = Counting(), Counting()

    def call(call_it: Callable[..., Any], model: Counting) -> Any:
        if called == "module":
            return call_it(model, x)
        return call_it(step, model, x) if called == "step" else call_it(functional, *state_of[id(model)], x)

    state_of = {id(one): nnx.split(one) for one in (model, expected)}
    call(lambda *args: codegen_py(*args, export_path=tmp_path / "out"), model)
    assert float((state_of[id(model)][1]["count"] if called == "state" else model.count)[...][0]) == 0
    for _ in range(3):
        result = call(lambda *args: load_codegen_py(*args, load_path=tmp_path / "out"), model)
        np.testing.assert_allclose(result, call(lambda function, *args: function(*args), expected), rtol=2e-2, atol=2e-2)
    counted = state_of[id(model)][1]["count"] if called == "state" else model.count
    assert float(counted[...][0]) == 3


def test_random_keys_as_arguments_and_results(tmp_path: Path) -> None:
    import jax

    def model(key: Any, x: Any) -> tuple[Any, Any]:
        following, now = jax.random.split(key)
        return following, x + jax.random.uniform(now, x.shape)

    x = jax.numpy.ones((4, 32))
    codegen_py(model, jax.random.key(1), x, export_path=tmp_path / "out")
    following, result = load_codegen_py(model, jax.random.key(2), x, load_path=tmp_path / "out")
    wanted = model(jax.random.key(2), x)
    assert following.dtype == wanted[0].dtype
    assert (jax.random.key_data(following) == jax.random.key_data(wanted[0])).all()
    np.testing.assert_allclose(result, wanted[1], rtol=1e-5)


# -------------------------------------------------------------------------------------------------------------- bytes


def bytes_model(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    masked = ((x & 0xF).float() - 8) * 0.5, x & y, x | 3, x ^ y, ~x, x << 1, (x >> 4).float()
    return *masked, x + y, x + 200, x * y, x - y, -x, x // (y | 1), torch.minimum(x, y), x.amax(1), torch.cat([x, y])


def test_uint8_is_computed_as_in_torch(tmp_path: Path) -> None:
    torch.manual_seed(0)
    x, y = torch.randint(0, 256, (2, 4, 32)).to(torch.uint8)
    (results,) = loaded(tmp_path, bytes_model, (x, y), (x, y))
    for position, (result, expected) in enumerate(zip(results, bytes_model(x, y), strict=True)):
        assert torch.equal(result, expected), position


# ------------------------------------------------------------------------------------------------------------- scatter


def extremes(x: torch.Tensor, index: torch.Tensor, source: torch.Tensor, whole: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Index and source smaller than the target and than each other, negative dims, integers."""
    return (
        x.scatter_reduce(1, index, source, "amax"),
        x.scatter_reduce(-2, index, source, "amin", include_self=False),
        whole.scatter_reduce(1, index, (source * 9).to(torch.int32), "amin"),
        whole.scatter_reduce(1, index, (source * 9).to(torch.int32), "amax"),
    )


def test_scatter_keeps_extremes_without_an_op_that_the_package_refuses(tmp_path: Path) -> None:
    torch.manual_seed(0)
    x, index, source = torch.randn(4, 5, 8), torch.randint(0, 5, (3, 7, 8)), torch.randn(3, 9, 8)
    args = x, index, source, torch.randint(-9, 9, (4, 5, 8), dtype=torch.int32)
    (results,) = loaded(tmp_path, extremes, args, args)
    for result, expected in zip(results, extremes(*args), strict=True):
        torch.testing.assert_close(result, expected)
    assert "amax" not in (tmp_path / "out" / "main.py").read_text()


def test_scatter_refuses_what_the_package_refuses() -> None:
    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    import ttnn

    with simulated_device() as device:
        x, index = ttnn.zeros([4, 32], device=device), ttnn.zeros([4, 32], dtype=ttnn.int32, device=device)
        with pytest.raises(Exception, match="amax"):
            ttnn.scatter(x, 1, index, x, reduce="amax")


# ------------------------------------------------------------------------------------------------------------ process


def test_the_device_is_closed_after_a_failed_load(tmp_path: Path) -> None:
    from ttnn_shim import session

    codegen_py(torch.nn.Linear(32, 32).eval(), X, export_path=tmp_path / "out")
    (tmp_path / "out" / "tensors" / "weight.tensorbin").unlink()
    before = session.has_device()
    with pytest.raises(UserError, match="weight"):
        LoadedProgram(tmp_path / "out")
    assert session.has_device() == before
    program = LoadedProgram(tmp_path / "out", {"weight": lambda: np.ones((32, 32), np.float32)})
    assert session.has_device()
    program.close()
    program.close()
    assert session.has_device() == before


def test_a_program_left_open_does_not_close_a_later_device(tmp_path: Path) -> None:
    """The card of an earlier program was closed by somebody else: what that program asked for counts no more."""
    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    import ttnn

    from ttnn_shim import session

    if session.has_device():
        pytest.skip("another test's device is open in this process")
    codegen_py(torch.nn.Linear(32, 32).eval(), X, export_path=tmp_path / "out")
    forgotten = LoadedProgram(tmp_path / "out")
    ttnn.close_device(forgotten.device)
    device = ttnn.open_device(device_id=0)
    try:
        LoadedProgram(tmp_path / "out").close()
        assert session.has_device()
        forgotten.close()
        assert session.has_device()
    finally:
        ttnn.close_device(device)
    assert not session.has_device()


def test_two_threads_at_once(tmp_path: Path) -> None:
    """torch.export patches torch.nn.Module for the whole process."""
    failures: list[Exception] = []

    def work(name: str) -> None:
        try:
            model = torch.nn.Sequential(*(layer for _ in range(4) for layer in (torch.nn.Linear(32, 32), torch.nn.ReLU()))).eval()
            for number in range(3):
                codegen_py(model, X, export_path=tmp_path / f"{name}{number}")
            torch.testing.assert_close(load_codegen_py(model, X, load_path=tmp_path / f"{name}0"), model(X).detach(), **CLOSE)
        except Exception as error:  # noqa: BLE001 (reported by the main thread)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    work("c")
    assert not failures, failures


# ------------------------------------------------------------------------------------------------------------- errors


class Record:
    def __init__(self, value: torch.Tensor) -> None:
        self.value = value


def branching(x: torch.Tensor) -> torch.Tensor:
    return x if x.sum() > 0 else -x


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (lambda x: torch.fft.fft(x), {}, "a complex output(?s:.*)view_as_real"),
        (lambda x: {"a": x, "b": torch.complex(x, x)}, {}, "a complex output(?s:.*)got b"),
        (lambda x: Record(x * 2), {}, "hides tensors from torch.export(?s:.*)got Record(?s:.*)register_dataclass"),
        (torch.nn.Linear(32, 32), {"dynamic_shapes": {"x": {0: "batch"}}}, "shapes are fixed at export"),
        (branching, {}, "branches on tensor values(?s:.*)test_loaded.py"),
    ],
    ids=["complex", "complex in a dict", "own class", "dynamic_shapes", "branch"],
)
def test_refused_in_our_words(model: Any, options: dict[str, Any], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises((FrontendError, InputError), match=message) as error:
        codegen_py(model, X, export_path=tmp_path / "out", **options)
    assert not re.search(r"github|functorch|_subclasses", str(error.value))
    assert "def forward" not in "".join(capfd.readouterr())


def test_an_exported_program_as_the_model(tmp_path: Path) -> None:
    model = torch.nn.Linear(32, 8).eval()
    exported = torch.export.export(model, (X,))
    codegen_py(exported, X, export_path=tmp_path / "out")
    torch.testing.assert_close(load_codegen_py(exported, X, load_path=tmp_path / "out"), model(X).detach(), rtol=2e-2, atol=2e-2)


def test_a_device_that_others_opened_since_stays_open(tmp_path: Path) -> None:
    """In a process of its own: here the other tests' device is open from the start."""
    codegen_py(torch.nn.Linear(32, 32).eval(), X, export_path=tmp_path / "out")
    script = """
import sys
from alchemist.loaded import LoadedProgram
from ttnn_shim import session
program = LoadedProgram(sys.argv[1])
import ttnn
mine = ttnn.open_device(device_id=0)
program.close()
ttnn.ones((32, 32), device=mine)  # raised "the device is closed"
ttnn.close_device(mine)
LoadedProgram(sys.argv[1]).close()
assert not session.has_device()
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "out")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _looks_up(x: Any, y: Any) -> Any:
    return {"sum": x + y}["difference"]


@pytest.mark.parametrize(
    ("array", "other", "message"),
    [
        (torch.ones, lambda x, y, z: x, "the arguments do not fit the model"),
        (torch.ones, _looks_up, "the model fails on these arguments: KeyError(?s:.*)test_loaded.py"),
        (jnp.ones, lambda x: x, "the arguments do not fit the function"),
        (jnp.ones, _looks_up, "fails during tracing: KeyError(?s:.*)test_loaded.py"),
    ],
    ids=["torch: arguments", "torch: its code", "jax: arguments", "jax: its code"],
)
def test_another_model_than_the_exported(array: Any, other: Any, message: str, tmp_path: Path) -> None:
    """What is called with the export's arguments but cannot take them is refused before the program runs."""
    x, y = array((2, 3)), array((2, 3))
    codegen_py(lambda x, y: x + y, x, y, export_path=tmp_path / "out")
    with pytest.raises((FrontendError, InputError), match=message):
        load_codegen_py(other, x, y, load_path=tmp_path / "out")


def test_values_that_do_not_fit_a_loaded_program(tmp_path: Path) -> None:
    codegen_py(torch.nn.Linear(8, 4), torch.ones(2, 8), export_path=tmp_path / "out", export_golden="none")
    x = np.ones((2, 8), np.float32)
    with LoadedProgram(tmp_path / "out") as program:
        (name,) = program.inputs
        (wanted,) = program(x)
        np.testing.assert_array_equal(program.call({name: lambda: x, "another": lambda: x})[0], wanted)
        for values in ((), (x, x)):
            with pytest.raises(InputError, match="wrong number of inputs") as error:
                program(*values)
            assert error.value.got == f"{len(values)} values"
        with pytest.raises(InputError, match="the arguments differ from those of the export") as error:
            program.call({"another": lambda: x})
        assert (error.value.expected, error.value.got) == (name, "another")
        with pytest.raises(InputError, match=f"input {name}") as error:
            program(x.T)
        assert (error.value.expected, error.value.got) == ("shape [2, 8]", "shape [8, 2]")
    weight = next(key for key, entry in program.manifest["tensors"].items() if entry["kind"] == "parameter" and len(entry["shape"]) == 2)
    with pytest.raises(InputError, match=f"weight {weight}"):
        LoadedProgram(tmp_path / "out", {weight: lambda: np.ones((3, 3), np.float32)})(x)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest | {"entries": {"prefill": {}, "step": {}}}))
    with pytest.raises(InputError, match="a program with several entry points cannot be loaded") as error:
        LoadedProgram(tmp_path / "out")
    assert error.value.got == "prefill, step"
