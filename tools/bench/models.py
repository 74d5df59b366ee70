"""Whole models: code generation, the emitted program, a 1B Llama, long graphs. Ratios against peers of the same run.

Every model has two fresh processes. The first one times what any exporter has to do: a cold `torch.export` (JAX: trace and lower)
and one eager forward call. The second one times a cold `codegen_py`, and the emitted program in turns with the framework, both warm and
with equal threads: torch eager in bfloat16; JAX models against `jax.jit`, a compiler, for want of an eager peer of its kind.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tools.bench.measure import Figure, in_new_process, interleaved

CODEGEN_SHARE, DISK_SHARE, PROGRAM_SHARE, WORST_PROGRAM = 3.0, 0.7, 1.2, 3.0
Built = tuple[Any, tuple[Any, ...], dict[str, Any]]

TEXT = {"hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 8000}
DECODER = {
    "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 64,
    "intermediate_size": 2816, "vocab_size": 8000,
}  # fmt: skip
VISION = {"hidden_size": 384, "num_hidden_layers": 8, "num_attention_heads": 6, "intermediate_size": 1536, "image_size": 224, "patch_size": 16}
_IDS, _IMAGE = "input_ids", "pixel_values"

HUB: dict[str, tuple[str, str, dict[str, Any], str]] = {  # name -> class, configuration, its arguments, kind of input
    "bert": ("BertModel", "BertConfig", TEXT, _IDS),
    "distilbert": ("DistilBertModel", "DistilBertConfig", {"n_layers": 4, "vocab_size": 8000}, _IDS),
    "roberta": ("RobertaModel", "RobertaConfig", TEXT, _IDS),
    "albert": ("AlbertModel", "AlbertConfig", {**TEXT, "embedding_size": 128}, _IDS),
    "electra": ("ElectraModel", "ElectraConfig", {**TEXT, "embedding_size": 256}, _IDS),
    "gpt2": ("GPT2Model", "GPT2Config", {"n_layer": 4, "vocab_size": 8000}, _IDS),
    "opt": ("OPTModel", "OPTConfig", {"hidden_size": 768, "num_hidden_layers": 4, "ffn_dim": 3072, "vocab_size": 8000}, _IDS),
    "llama": ("LlamaModel", "LlamaConfig", DECODER, _IDS),
    "qwen2": ("Qwen2Model", "Qwen2Config", {key: value for key, value in DECODER.items() if key != "head_dim"}, _IDS),
    "mistral": ("MistralModel", "MistralConfig", DECODER, _IDS),
    "phi": ("PhiModel", "PhiConfig", {**TEXT, "hidden_size": 1024, "num_attention_heads": 16}, _IDS),
    "t5_encoder": ("T5EncoderModel", "T5Config", {"num_layers": 4, "vocab_size": 8000}, _IDS),
    "vit": ("ViTModel", "ViTConfig", VISION, _IMAGE),
    "deit": ("DeiTModel", "DeiTConfig", VISION, _IMAGE),
    "dinov2": ("Dinov2Model", "Dinov2Config", {**VISION, "patch_size": 14}, _IMAGE),
    "clip_vision": ("CLIPVisionModel", "CLIPVisionConfig", VISION, _IMAGE),
    "swin": ("SwinModel", "SwinConfig", {"depths": [2, 2, 2, 2]}, _IMAGE),
    "convnext": ("ConvNextModel", "ConvNextConfig", {"depths": [2, 2, 2, 2]}, _IMAGE),
    "resnet": ("ResNetModel", "ResNetConfig", {"depths": [2, 2, 2, 2]}, _IMAGE),
    "mobilenet_v2": ("MobileNetV2Model", "MobileNetV2Config", {}, _IMAGE),
    "segformer": ("SegformerModel", "SegformerConfig", {}, _IMAGE),
}
JAX = ("jax_mlp", "jax_gpt")
NAMES = (*HUB, *JAX)


def build(name: str) -> Built:
    """The model in bfloat16 and its arguments."""
    return _jax_model(name) if name in JAX else _hub_model(*HUB[name])


def _hub_model(model_class: str, config_class: str, config: dict[str, Any], kind: str) -> Built:
    import torch
    import transformers

    torch.manual_seed(0)
    model = getattr(transformers, model_class)(getattr(transformers, config_class)(**config)).eval().to(torch.bfloat16)
    if kind == _IMAGE:
        return model, (), {_IMAGE: torch.randn(2, 3, 224, 224, dtype=torch.bfloat16)}
    ids = torch.randint(3, 7999, (2, 128))
    decodes = model_class.startswith(("GPT2", "OPT", "Llama", "Qwen2", "Mistral", "Phi"))
    return model, (), {_IDS: ids} | ({"use_cache": False} if decodes else {})


def _jax_model(name: str) -> Built:
    import jax
    import jax.numpy as jnp

    keys = iter(jax.random.split(jax.random.key(0), 64))
    wide, heads, layers = 768, 12, 4

    def weight(*shape: int) -> Any:
        return (jax.random.normal(next(keys), shape) / shape[0] ** 0.5).astype(jnp.bfloat16)

    blocks = [{"qkv": weight(wide, 3 * wide), "out": weight(wide, wide), "up": weight(wide, 4 * wide), "down": weight(4 * wide, wide)} for _ in range(layers)]

    def mlp(weights: Any, x: Any) -> Any:
        for block in weights:
            x = x + jax.nn.gelu(x @ block["up"]) @ block["down"]
        return x

    def norm(x: Any) -> Any:
        wide_x = x.astype(jnp.float32)
        centred = wide_x - wide_x.mean(-1, keepdims=True)
        return (centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype)

    def gpt(weights: Any, x: Any) -> Any:
        batch, length, _ = x.shape
        for block in weights:
            qkv = (norm(x) @ block["qkv"]).reshape(batch, length, 3, heads, wide // heads)
            attended = jax.nn.dot_product_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], is_causal=True)
            x = x + attended.reshape(batch, length, wide) @ block["out"]
            x = x + jax.nn.gelu(norm(x) @ block["up"]) @ block["down"]
        return x

    x = jax.random.normal(next(keys), (2, 128, wide)).astype(jnp.bfloat16)
    return (mlp if name == "jax_mlp" else gpt), (blocks, x), {}


# --- what the child processes do --------------------------------------------------------------------------------------------


def time_exporting(name: str) -> dict[str, float]:
    """Seconds of a cold export by the framework alone, and of one forward call without compiling."""
    model, args, kwargs = build(name)
    if name in JAX:
        import jax

        lowered_s = _seconds(lambda: jax.jit(model).lower(*args))
        return {"export_s": lowered_s, "eager_s": _seconds(lambda: jax.block_until_ready(model(*args)))}
    import torch

    with torch.inference_mode():
        eager_s = _seconds(lambda: model(*args, **kwargs))
    return {"export_s": _seconds(lambda: torch.export.export(model, args, kwargs, strict=False)), "eager_s": eager_s}


def time_program(name: str) -> dict[str, float]:
    """Seconds of a cold `codegen_py`, bytes of tensors, seconds of the program and of the framework's forward call."""
    from alchemist import codegen_py
    from alchemist.loaded import LoadedProgram

    model, args, kwargs = build(name)
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        row = {"codegen_s": _seconds(lambda: codegen_py(model, *args, export_path=out, **kwargs))}
        row["tensor_bytes"] = sum(file.stat().st_size for file in out.rglob("*.tensorbin"))
        with LoadedProgram(out) as program:
            values = [program.utils.load(key, program.device) for key in program.inputs]

            def ours() -> None:
                for output in program.run(values):
                    program.utils.to_numpy(output)

            row["program_s"], row["framework_s"] = interleaved(ours, _framework(name, model, args, kwargs), rounds=7)
    return row


def _framework(name: str, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any]:
    if name in JAX:
        import jax

        compiled = jax.jit(model)
        return lambda: jax.block_until_ready(compiled(*args))
    import torch

    def forward() -> None:
        with torch.inference_mode():
            model(*args, **kwargs)

    torch.set_num_threads(os.cpu_count() or 1)
    return forward


def time_llama_1b() -> dict[str, float]:
    """`codegen_py` of a Llama with the sizes of Llama-3.2-1B: seconds, bytes of weights, peak memory beyond the interpreter's own."""
    import resource

    import torch
    import transformers

    from alchemist import codegen_py

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sizes = {
        "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
        "intermediate_size": 8192, "vocab_size": 128256, "tie_word_embeddings": True,
    }  # fmt: skip
    torch.set_default_dtype(torch.bfloat16)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes)).eval()
    torch.set_default_dtype(torch.float32)
    weights_bytes = sum(one.numel() * one.element_size() for one in model.parameters())
    ids = torch.randint(0, 1000, (1, 64))
    with tempfile.TemporaryDirectory() as directory:
        made: list[Any] = []
        options = {"input_ids": ids, "use_cache": False, "export_path": Path(directory) / "out"}
        codegen_s = _seconds(lambda: made.append(codegen_py(model, **options)))
        writing_s = made[0].stage_seconds["write tensors"]
        disk_s = _disk_seconds(weights_bytes, Path(directory))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"codegen_s": codegen_s, "writing_s": writing_s, "disk_s": disk_s, "weights_bytes": weights_bytes, "used_bytes": peak - before}


def time_long_graph(count: int) -> dict[str, float]:
    """Seconds to compile a graph of `count` ops from text to sources."""
    from alchemist.codegen import mlir_sources

    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "graph.mlir"
        file.write_text(long_chain(count))
        return {"seconds": _seconds(lambda: mlir_sources(file))}


def long_chain(count: int) -> str:
    """A TTIR module of `count` ops, each reading the one before."""
    kinds = ("relu", "add", "matmul", "sigmoid", "multiply", "subtract", "tanh", "exp")
    x, w = "tensor<64x128xf32>", "tensor<128x128xf32>"
    lines, last = [], "%x"
    for number in range(count):
        kind = kinds[number % len(kinds)]
        second, type_ = ("%w", w) if kind == "matmul" else ("%x", x) if kind in ("add", "multiply", "subtract") else ("", "")
        operands, types = (f"{last}, {second}", f"{x}, {type_}") if second else (last, x)
        lines.append(f'    %{number} = "ttir.{kind}"({operands}) : ({types}) -> {x}')
        last = f"%{number}"
    body = "\n".join(lines)
    return f"module {{\n  func.func @forward(%x: {x}, %w: {w}) -> {x} {{\n{body}\n    return {last} : {x}\n  }}\n}}\n"


def _seconds(work: Callable[[], Any]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s


def _disk_seconds(count: int, directory: Path) -> float:
    """Seconds to write `count` bytes in one stream, as the tensors are: without waiting for the disk itself."""
    block = os.urandom(1 << 24)
    file = directory / "disk"
    with file.open("wb", buffering=0) as stream:
        seconds = _seconds(lambda: [stream.write(block[: min(len(block), count - done)]) for done in range(0, count, len(block))])
    file.unlink()
    return seconds


# --- figures ----------------------------------------------------------------------------------------------------------------


def bench_models(names: Sequence[str] = NAMES) -> list[Figure]:
    """A line for each model as it is done, then the geometric means."""
    start_s = time.perf_counter()
    with tempfile.TemporaryDirectory() as directory:
        disk_bytes_per_s = 2**28 / _disk_seconds(2**28, Path(directory))
    codegen: list[float] = []
    program: list[float] = []
    figures: list[Figure] = []
    for name in names:
        row = in_new_process(__name__, f"time_exporting({name!r})") | in_new_process(__name__, f"time_program({name!r})")
        allowed_s = CODEGEN_SHARE * row["export_s"] + row["eager_s"] + row["tensor_bytes"] / (DISK_SHARE * disk_bytes_per_s)
        codegen.append(row["codegen_s"] / allowed_s)
        program.append(row["program_s"] / row["framework_s"])
        figures.append(Figure(f"{name}: codegen", row["codegen_s"], allowed_s, "s", codegen[-1], 1.0))
        figures.append(Figure(f"{name}: program", row["program_s"] * 1e3, row["framework_s"] * 1e3, "ms", program[-1], WORST_PROGRAM))
        print(f"  {name:14} codegen {row['codegen_s']:6.2f} s of {allowed_s:6.2f} s allowed ({codegen[-1]:.2f}), export {row['export_s']:.2f} s"
              f"   program {row['program_s'] * 1e3:8.2f} ms, framework {row['framework_s'] * 1e3:8.2f} ms ({program[-1]:.2f})", flush=True)  # fmt: skip
    took_s = time.perf_counter() - start_s
    print(f"  {len(names)} models in {took_s:.0f} s; disk {disk_bytes_per_s / 1e6:.0f} MB/s")
    means = statistics.geometric_mean(codegen), statistics.geometric_mean(program)
    title = f"{len(names)} models, geometric mean"
    return [
        *figures,
        Figure(f"{title}: codegen / (3x export + eager + writing)", means[0], 1.0, "", means[0], 1.0),
        Figure(f"{title}: program / framework", means[1], PROGRAM_SHARE, "", means[1] / PROGRAM_SHARE, 1.0),
        Figure("slowest program of them / framework", max(program), WORST_PROGRAM, "", max(program) / WORST_PROGRAM, 1.0),
    ]


def bench_llama_1b() -> list[Figure]:
    row = in_new_process(__name__, "time_llama_1b()")
    allowed_bytes = row["weights_bytes"] + 2e9
    return [
        Figure("1B Llama: codegen_py", row["codegen_s"], 60.0, "s", row["codegen_s"] / 60.0, 1.0),
        Figure("1B Llama: memory against weights + 2 GB", row["used_bytes"] / 1e9, allowed_bytes / 1e9, "GB", row["used_bytes"] / allowed_bytes, 1.0),
        Figure("1B Llama: disk's time of writing / ours", row["writing_s"], row["disk_s"], "s", row["disk_s"] / row["writing_s"], DISK_SHARE, True),
    ]


def bench_long_graphs() -> list[Figure]:
    """10,000 ops, and how much more than twice the time of half as many they take."""
    seconds = {count: in_new_process(__name__, f"time_long_graph({count})")["seconds"] for count in (2500, 5000, 10000)}
    growth = seconds[10000] / seconds[2500]
    return [
        Figure("10,000 ops, text to sources", seconds[10000], 60.0, "s", seconds[10000] / 60.0, 1.0),
        Figure("10,000 ops against 4x 2,500 ops", seconds[10000], 4 * seconds[2500], "s", growth / 4, 1.3),
        Figure("5,000 ops against 2x 2,500 ops", seconds[5000], 2 * seconds[2500], "s", seconds[5000] / (2 * seconds[2500]), 1.3),
    ]
