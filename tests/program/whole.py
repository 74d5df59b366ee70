"""Whole programs of small models in both languages. Some are goldens, to be read: `golden/`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import torch
from torch import nn

import emit_cpp
import emit_py
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from alchemist.program import build_program
from alchemist.program.build import build_from_graph
from tests.program import test_const_eval_functions as const_eval
from tests.program import test_gradients as gradients
from tests.program import test_layers as layers
from tests.program import test_lifetimes as lifetimes
from tests.program import test_meaning as meaning
from tests.program import test_module_functions as module_functions
from tests.program import test_parts as parts
from tests.program import test_results as results
from tests.program import test_scans as scans
from tests.program import test_shared_values as shared
from tests.program import test_state as state
from tests.program import test_structure as structure
from tests.program import test_unrolled as unrolled
from tests.program import test_updates as updates
from tests.program import test_variants as variants
from tests.program.models import transformer

FOLDER = Path(__file__).parent / "golden"
_PLACE = re.compile(r"[\w/.-]*\.py:\d+")  # in comments: where a statement comes from
_MADE_BY = re.compile(r"(Made by +).*")  # names what this process has imported, with versions


def _torch(model: nn.Module, *inputs: torch.Tensor) -> Any:
    return capture(model.eval(), inputs, {}, "torch")


def _training() -> Any:
    params = [{"w": updates.jnp.full((32, 32), 0.1 * number), "b": updates.jnp.ones(32)} for number in range(3)]
    return capture(updates.train_step, (params, updates.OPTIMIZER.init(params), updates.jnp.ones((8, 32))), {}, "jax")


def _gradients() -> Any:
    jnp = gradients.jnp
    params = {"w1": jnp.ones((16, 32)), "b1": jnp.ones(32), "w2": jnp.ones((32, 1))}
    return capture(gradients.train_step, (params, jnp.ones((8, 16)), jnp.ones((8, 1))), {}, "jax")


def _scan(function: Callable[..., Any]) -> Any:
    return capture(function, scans.arguments(5), {}, "jax")


def _jax(function: Callable[..., Any], *arguments: Any) -> Any:
    given = arguments[0] if len(arguments) == 1 else arguments
    return capture(function, given, {}, "jax")


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512))


X = torch.ones(2, 32, 64)
MODELS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "transformer": (lambda: transformer(4), {}),
    "transformer in one file": (lambda: transformer(2), {"split_consteval": False}),
    "transformer without functions": (lambda: transformer(2), {"recover_structure": False}),
    "lstm": (lambda: _torch(layers.Net("LSTM", 2, both=True), torch.ones(2, layers.STEPS, layers.SIZE)), {}),
    "gru": (lambda: _torch(layers.Net("GRU", 2, both=False, last=True), torch.ones(2, layers.STEPS, layers.SIZE)), {}),
    "states of a list": (lambda: _torch(lifetimes.Scan("one of them too"), torch.ones(2, 6, 32)), {}),
    "states reversed": (lambda: _torch(lifetimes.Scan("reversed"), torch.ones(2, 6, 32)), {}),
    "two carries": (lambda: _scan(scans.old_and_new), {}),
    "collected values alone": (lambda: _scan(scans.collected_alone), {}),
    "backwards": (lambda: _scan(scans.backwards), {}),
    "a counter": (lambda: _scan(scans.with_the_counter), {}),
    "training": (_training, {}),
    "gradients": (_gradients, {}),
    "convolutions": (lambda: _torch(const_eval._Pyramid(11), torch.ones(1, 3, 32, 32)), {}),
    "norms": (lambda: _torch(module_functions._Net((1e-5,) * 5 + (1e-3,), 3, nn.LayerNorm), X), {}),
    "a translator": (lambda: _torch(shared.Translator(), *shared.INPUTS), {}),
    "a pooler": (lambda: _torch(shared.Pooled(), shared.INPUTS[0]), {}),
    "caches": (lambda: _torch(state.Decoder(2, 4).to(torch.bfloat16), torch.ones(4, 1, 64, dtype=torch.bfloat16), torch.tensor([5])), {}),
    "variants": (lambda: _torch(structure._Model(), torch.ones(2, 32)), {}),
    "statements": (lambda: _torch(structure.Layers(), X), {}),
    "given gradients": (lambda: _jax(updates.given_gradients, *[updates._params() for _ in range(4)], jnp.float32(3)), {}),
    "clipped gradients": (lambda: _jax(updates.clipped, updates._params(), updates._params(), jnp.ones((8, 32))), {}),
    "short rounds": (lambda: _torch(unrolled.Retrieval(), torch.ones(8, 32)), {}),
    "twins": (lambda: _torch(unrolled.Twins(), torch.ones(2, 8, 32)), {}),
    "kept in another form": (lambda: _torch(unrolled.Viterbi(), torch.ones(2, 6, 32)), {}),
    "torch's attention": (lambda: _torch(results.Pair(nn.MultiheadAttention(32, 2, batch_first=True), 3), torch.ones(2, 32, 32)), {}),
    "two results": (lambda: _torch(results.Stacked(), torch.ones(2, 32, 32)), {}),
    "equal parts": (lambda: _torch(parts.Parts(parts.EQUAL), torch.ones(8, 64)), {}),
    "a wider last part": (lambda: _torch(parts.Parts(parts.LAST_IS_WIDER), torch.ones(8, 64)), {}),
    "a wider first part": (lambda: _torch(parts.Parts(parts.FIRST_IS_WIDER), torch.ones(8, 64)), {}),
    "parts that are not joined": (lambda: _torch(parts.Parts(parts.EQUAL, joined=False), torch.ones(8, 64)), {}),
    "linear layers": (lambda: _torch(module_functions._InTurn(module_functions._linear(nn.ReLU)), X), {"recover_loops": False}),
    "convolutions in turn": (
        lambda: _torch(module_functions._InTurn(module_functions._convolutions(nn.ReLU)), torch.ones(1, 16, 32, 32)),
        {"recover_loops": False},
    ),
    "a function called like a variable": (lambda: _torch(module_functions._Named(), X), {}),
    "a shared module": (lambda: _torch(scans.Repeated(4, names=True), torch.ones(4, scans.SIZE)), {}),
    "layers of parts": (
        lambda: _torch(structure._Stack(structure._OnlyCalls(*structure._THREE), structure._OnlyCalls(structure._Part)), torch.ones(2, 32)),
        {},
    ),
    "heads of two kinds": (lambda: _torch(variants.Two((1, 2)), torch.ones(1, 64, 64), torch.ones(1, 32, 64)), {}),
    "stages": (lambda: _torch(*variants.segformer()), {}),
    "batch norms": (lambda: _torch(const_eval._Net(), torch.ones(1, 3, 16, 16)), {}),
    "heads and a norm": (lambda: _torch(shared.Around(), torch.ones(1, 32, 64)), {}),
    "caches of one user": (lambda: _torch(state.Decoder(2, 1).to(torch.bfloat16), torch.ones(1, 1, 64, dtype=torch.bfloat16), torch.tensor([5])), {}),
    "configs": (lambda: _torch(_mlp(), torch.ones(1, 256, 512)), {"optimization_level": 1, "precision": "bfp8_lofi"}),
    "shards": (lambda: _torch(_mlp(), torch.ones(1, 256, 512)), {"optimization_level": 2}),
}
IN_CPP = (
    *("transformer", "lstm", "states reversed", "two carries", "training", "convolutions", "caches"),
    *("given gradients", "a wider last part", "heads of two kinds", "shards"),
)
RANDOM = {44: "cpp", 112: "python", 102: "cpp", 238: "python", 249: "python", 82: "cpp"}
"""Seeds of random graphs that need much of what makes functions, loops and names, and the language."""
CASES = [*((name, "python") for name in MODELS), *((name, "cpp") for name in IN_CPP), *((f"random {seed}", language) for seed, language in RANDOM.items())]
GOLDEN = (
    *(("transformer", language) for language in ("python", "cpp")),
    *(("caches", language) for language in ("python", "cpp")),
    *((name, "python") for name in ("lstm", "two carries", "training", "convolutions", "configs", "shards")),
    *(("heads of two kinds", language) for language in ("python", "cpp")),
)
"""One of each kind of text: functions per module, const-eval, recurrences as loops, JAX's scans, optimisers, caches, variants, configs, shards."""
_OF_EVERY_PROGRAM = re.compile(r"\.clang-format|CMakeLists\.txt|gdb_printers\.py|(check|files|mesh|report|show|utils)\.[ch]pp")


def program(name: str, language: str) -> str:
    """All files of a program, without those that every program has."""
    torch.manual_seed(0)
    jax.clear_caches()  # what was traced before keeps the line that traced it first
    if name.startswith("random "):
        graph = meaning.Generator(int(name.removeprefix("random "))).graph()
        built = build_from_graph(graph, meaning.result(graph), CompilerOptions(), language)
    else:
        make, given = MODELS[name]
        made, options = make(), CompilerOptions.parse(given)
        built = build_program(lower_to_ttnn(made.module, options).module, made, options, language)
    files = emit_py.emit(built) if language == "python" else emit_cpp.emit(built)
    text = "".join(f"--- {file}\n{text}" for file, text in sorted(files.items()) if not _OF_EVERY_PROGRAM.fullmatch(file))
    return "".join(f"{line.rstrip()}\n" for line in _MADE_BY.sub(r"\1PACKAGES", _PLACE.sub("FILE", text)).splitlines())
