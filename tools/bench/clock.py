"""What the clock costs: an LLM's decode step without values, and its share of a warm run with values."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tools.bench.measure import Figure

LAYERS, CACHE_LENGTH = 32, 2048


def llama_8b_decode() -> tuple[Any, dict[str, Any]]:
    """A decode step shaped like Llama-3-8B over a static cache, on the meta device: shapes without values."""
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    meta = torch.device("meta")
    config = LlamaConfig(
        hidden_size=4096,
        num_hidden_layers=LAYERS,
        num_attention_heads=32,
        num_key_value_heads=8,
        intermediate_size=14336,
        vocab_size=128256,
        max_position_embeddings=8192,
    )
    with meta:
        model = LlamaForCausalLM(config).to(torch.bfloat16).eval()
    cache = {"batch_size": 1, "max_cache_len": CACHE_LENGTH}
    model.generation_config = GenerationConfig(use_cache=True, cache_implementation="static", cache_config=cache)
    wrapped = TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=CACHE_LENGTH, device=meta)
    step = {
        "input_ids": torch.zeros(1, 1, dtype=torch.int64, device=meta),
        "cache_position": torch.zeros(1, dtype=torch.int64, device=meta),
    }
    return wrapped, step


def estimate(program: Path, *options: str) -> tuple[float, dict[str, Any]]:
    """Wall seconds of `./run --estimate` as a process, and what it reports. Python keeps the bytecode of the program's files, as it does for users."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "result.json"
        start_s = time.perf_counter()
        subprocess.run([program / "run", "--estimate", "--json", report, *options], check=True, capture_output=True, env=environment)
        return time.perf_counter() - start_s, json.loads(report.read_text())


def bench_estimate() -> list[Figure]:
    """Cold: a fresh process, start of the interpreter and const-eval included. Warm: the second forward call of a process."""
    from alchemist import codegen_py

    model, step = llama_8b_decode()
    figures = []
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "out"
        weights = {"experimental_weight_dtype": "bfp_bf8"}  # in bfloat16 they exceed the memory of an n150
        codegen_py(model, export_path=program, export_tensors=False, export_golden="none", compiler_options=weights, **step)
        for card in ("n150", "p150"):
            cold_s = statistics.median(estimate(program, "--arch", card)[0] for _ in range(3))
            warm_s = statistics.median(estimate(program, "--arch", card, "--loops", "2")[1]["host_s"] for _ in range(3))
            figures.append(Figure(f"llama 8b decode, --estimate on {card}: cold", cold_s, 0.3, "s", cold_s / 0.3, 1.0))
            figures.append(Figure(f"llama 8b decode, --estimate on {card}: warm", warm_s, 0.03, "s", warm_s / 0.03, 1.0))
    return figures


def bench_clock_share() -> list[Figure]:
    """Host time of the clock (configuration key, price, advance) as a share of a warm forward call of ResNet-50, in both languages."""
    from alchemist import codegen_cpp, codegen_py
    from tests.e2e.models import LARGE

    model, args, kwargs = LARGE["resnet50"]()
    figures = []
    with tempfile.TemporaryDirectory() as directory:
        for language, generate, share in (("Python", codegen_py, python_clock_share), ("C++", codegen_cpp, cpp_clock_share)):
            program = Path(directory) / language
            generate(model, *args, export_path=program, export_golden="none", **kwargs)
            clock_s, whole_s = share(program)
            figures.append(Figure(f"resnet50: the clock in a warm run, {language}", clock_s, whole_s, "s", clock_s / whole_s, 0.03))
    return figures


def python_clock_share(program: Path, loops: int = 15) -> tuple[float, float]:
    """(host seconds of the clock, of the whole call): each the median of warm calls."""
    from alchemist.loaded import LoadedProgram

    with LoadedProgram(program) as loaded:
        values = [loaded.utils.load(key, loaded.device) for key in loaded.inputs]
        samples = []
        for _ in range(loops):
            loaded.device.clock_reset()
            start_s = time.perf_counter()
            loaded.run(values)
            samples.append((loaded.device.clock_host_ns() / 1e9, time.perf_counter() - start_s))
    return statistics.median(clock_s for clock_s, _ in samples[2:]), statistics.median(whole_s for _, whole_s in samples[2:])


def cpp_clock_share(program: Path, loops: int = 15) -> tuple[float, float]:
    """The same of an emitted C++ program, edited to print the clock's own time after every call."""
    source = program / "report.cpp"
    line = "    measured().card = clock.card;\n"
    text = source.read_text()
    assert text.count(line) == 1
    shown = '    std::cerr << "forward " << clock.host_ns / 1e9 << " " << *measured().host_s << "\\n";\n'
    source.write_text(text.replace(line, line + shown))
    printed = subprocess.run([program / "run", "--loops", str(loops)], check=True, capture_output=True, text=True).stderr
    samples = [tuple(map(float, row.split()[1:])) for row in printed.splitlines() if row.startswith("forward ")]
    assert len(samples) == loops
    return statistics.median(clock_s for clock_s, _ in samples[2:]), statistics.median(whole_s for _, whole_s in samples[2:])
