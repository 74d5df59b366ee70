"""A training step: layers are loops, forwards and backwards, which hand each other activations and gradients in collections."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from xdsl.dialects.builtin import ModuleOp

import emit_cpp
import emit_py
from alchemist.frontends.jax import capture
from alchemist.frontends.torch import capture as capture_torch
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.program import build_program
from models import training_torch
from tests.program.evaluate import run
from tests.program.models import emitted, program_of
from tests.program.training import DEPTH, captured_training_step


@cache
def lowered() -> ModuleOp:
    return lower_to_ttnn(captured_training_step().module, CompilerOptions()).module


@cache
def transformer(language: str = "python") -> dict[str, str]:
    program = build_program(lowered(), captured_training_step(), CompilerOptions(), language)
    return emit_py.emit(program) if language == "python" else emit_cpp.emit(program)


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return transformer()


@pytest.mark.slow
def test_values_are_those_of_the_program_without_functions(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emit_py, "_MAX_BLACK_LINES", 0)
    plain = program_of(captured_training_step(), CompilerOptions(recover_structure=False))
    outputs = [output.name for output in plain.outputs]
    assert run(files, outputs=outputs) == run(emit_py.emit(plain), outputs=outputs)


def test_the_optimizer_is_a_loop_over_gradients(files: dict[str, str]) -> None:
    text = files["main.py"]
    assert text.count("for name in gradients.names():") == text.count(" = update(") == 1
    assert 'outputs[f"1.0.mu.{name}"] = mu' in text
    assert "for (const std::string& name : gradients.names())" in transformer("cpp")["model.cpp"]


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_layers_are_loops(files: dict[str, str], language: str) -> None:
    text = files["main.py"] if language == "python" else transformer("cpp")["model.cpp"]
    loops = {"python": r"for i in reversed\(range\(NUM_\w+\)\):", "cpp": r"for \(int i = NUM_\w+ - 1; i >= 0; --i\)"}
    assert len(re.findall(loops[language], text)) == 1
    assert 'saved.scope(f"blocks.{i}")' in text or 'saved.scope("blocks." + std::to_string(i))' in text


def test_functions_of_the_backward_pass(files: dict[str, str]) -> None:
    """One for each class: what goes around a module is added where the module is called."""
    text = files["main.py"]
    for name in ("transformer_block", "feed_forward", "layer_norm", "gpt"):
        assert text.count(f"def {name}(") == text.count(f"def {name}_backward(") == 1
    block = text[text.index("def transformer_block_backward(") :].partition("\n\n\n")[0]
    assert block.count("layer_norm_backward(") == block.count("ttnn.add(") == 2
    assert f"{{0,1.0.mu,1.0.nu}}.blocks.{{0..{DEPTH - 1}}}.ln_1.b [32] float32" in " ".join(text.split())


def test_gradients_of_what_one_statement_unpacks(files: dict[str, str]) -> None:
    """`q, k, v = split(x)`: they are joined in the order of the targets, whatever is computed first."""
    (joined,) = re.findall(r"ttnn\.concat\(\s*\[(.*?)\]", files["main.py"].partition("def causal_self_attention_backward")[2].partition("\ndef ")[0])
    assert joined == "d_q, d_k, d_v"


def test_steps_of_the_backward_pass_are_called_after_what_they_are_gradients_of(files: dict[str, str]) -> None:
    """Of a product: the other factor's. What depends on no gradient is a factor of a derivative."""
    bodies = {name: files["main.py"].partition(f"def {name}_backward")[2].partition("\ndef ")[0] for name in ("causal_self_attention", "feed_forward")}
    products = re.findall(r"(\w+) = ttnn\.matmul\(", bodies["causal_self_attention"])
    assert sorted(products) == ["d_k", "d_probabilities", "d_q", "d_v"]
    assert re.search(r"d_fc = ttnn\.multiply\(d_proj, proj_derivative", bodies["feed_forward"])


def test_what_is_saved_is_taken_once(files: dict[str, str]) -> None:
    """By the name that the variable has; what a second module of the class saves is called alike."""
    text = files["main.py"]
    saved = set(re.findall(r"saved\[\"([\w.]+)\"\] = ", text))
    assert {"q", "k", "v", "probabilities", "normalized", "tanh", "qkv.x"} <= saved
    taken = re.findall(r"saved\.pop\(\"([\w.]+)\"\)", text)
    assert {name.rpartition(".")[2] for name in taken} == {name.rpartition(".")[2] for name in saved}
    assert set(re.findall(r"gradients\[\"([\w.]+)\"\] = ", text)) >= {"w", "b", "g"}


def square(params: Any, x: jax.Array) -> jax.Array:
    """The derivative of the last layer reads its activation twice."""
    for layer in params:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return jnp.sum(x * x * x)


def descend(params: Any, x: jax.Array) -> Any:
    gradients = jax.grad(square)(params, x)
    return jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient * gradient + 0.01 * weight, params, gradients)


def test_without_modules_nothing_is_saved() -> None:
    """The forward and the backward pass are one function."""
    params = [{"w": jnp.full((32, 32), 0.1 * number), "b": jnp.ones(32)} for number in range(5)]
    result = capture(descend, (params, jnp.ones((8, 32))), {})
    files = emitted(result)
    assert "saved" not in files["main.py"]
    assert run(files) == run(emitted(result, recover_structure=False))


def test_norms_of_a_library_have_one_function_forwards_and_one_backwards() -> None:
    model, args, _ = training_torch.transformer(2)
    program = build_program(lower_to_ttnn((result := capture_torch(model, args, {})).module, CompilerOptions()).module, result)
    norms = [function.name for function in program.functions if "norm" in function.name]
    assert norms == ["layer_norm", "layer_norm_backward"]
    text = emit_py.emit(program)["main.py"]
    assert text.count(" = layer_norm_backward(") == 3  # two in a layer, and the last one
