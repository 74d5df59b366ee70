"""Attention, decoders and recurrent layers as frameworks spell them: device time, programs and lines of what is emitted, at optimization level 0.

    python tools/bench/patterns.py [--disable PASS,PASS] [NAME ...]

--disable: passes to leave out, so that what they are worth can be seen. Each program passes its `./run --check` or is marked as failed; the largest
ones (`PRICED`) are only run when they are named, and priced without values: the whole cache counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

Built = tuple[Any, tuple[Any, ...]]


def multihead_attention() -> Built:
    import torch
    from torch import nn

    class SelfAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(512, 8, batch_first=True)

        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            return self.attention(hidden, hidden, hidden, need_weights=False)[0]

    return SelfAttention().eval(), (torch.randn(8, 256, 512),)


def transformer_encoder() -> Built:
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval(), (torch.randn(8, 128, 256),)


def whisper_encoder() -> Built:
    import torch
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
    return WhisperEncoder(config).eval(), (torch.randn(1, 80, 3000),)


def llama() -> Built:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4, vocab_size=1024)
    config.use_cache = False
    return LlamaForCausalLM(config).eval().to(torch.bfloat16), (torch.randint(0, 1024, (1, 128)),)


def _llama_decode(batch: int) -> Built:
    """One token over a static cache of 1,024 positions; every layer's keys and values are state."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    config = LlamaConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4, vocab_size=1024)
    model = LlamaForCausalLM(config).eval().to(torch.bfloat16)
    model.generation_config.use_cache = True
    model.generation_config.cache_implementation = "static"
    wrapped = TorchExportableModuleWithStaticCache(model, batch_size=batch, max_cache_len=1024, device=torch.device("cpu"))
    for layer in wrapped.static_cache.layers:
        layer.keys.normal_()
        layer.values.normal_()
    return wrapped, (torch.randint(0, 1024, (batch, 1)), None, torch.tensor([511]))


def llama_1b_decode() -> Built:
    """Llama-3.2-1B's sizes with random weights: one token of 32 users over a static cache of 1,024 positions."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    config = LlamaConfig(
        hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, head_dim=64,
        vocab_size=128256, tie_word_embeddings=True, max_position_embeddings=131072, dtype="bfloat16",
    )  # fmt: skip
    torch.set_default_dtype(torch.bfloat16)  # made in bfloat16: float32 would be 5 GB
    try:
        model = LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(torch.float32)
    model.generation_config.use_cache = True
    model.generation_config.cache_implementation = "static"
    wrapped = TorchExportableModuleWithStaticCache(model, batch_size=32, max_cache_len=1024, device=torch.device("cpu"))
    return wrapped, (torch.randint(0, 128256, (32, 1)), None, torch.tensor([511]))


def _recurrent(kind: str, size: int, state: bool, **options: Any) -> Built:
    import torch
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = getattr(nn, kind)(size, size, batch_first=True, **options)

        def forward(self, inputs: torch.Tensor) -> Any:
            outputs, last = self.layer(inputs)
            return (outputs, last) if state else outputs

    return Recurrent().eval(), (torch.randn(4, 24, size),)


CASES: dict[str, Callable[[], Built]] = {
    "nn.MultiheadAttention(512, 8), b8 256": multihead_attention,
    "nn.TransformerEncoder(256, 8, 4 layers), b8 128": transformer_encoder,
    "Whisper encoder (tiny)": whisper_encoder,
    "Llama, 4 layers of 512, bf16, 128 tokens": llama,
    "Llama decode, 4 layers of 512, bf16, cache 1024": lambda: _llama_decode(1),
    "Llama decode, 4 layers of 512, bf16, cache 1024, b32": lambda: _llama_decode(32),
    "LSTM(1024), b4 T24": lambda: _recurrent("LSTM", 1024, False),
    "GRU(256) with its last state, b4 T24": lambda: _recurrent("GRU", 256, True),
    "bidirectional GRU(256), b4 T24": lambda: _recurrent("GRU", 256, False, bidirectional=True),
}


PRICED: dict[str, tuple[Callable[[], Built], dict[str, Any]]] = {
    "Llama-3.2-1B decode, bfp8 weights, cache 1024, b32": (llama_1b_decode, {"experimental_weight_dtype": "bfp_bf8"}),
}


def measured(build: Callable[[], Built], given: dict[str, Any], folder: Path, *, priced: bool = False) -> str:
    """The row of a case behind its name. given: compiler options."""
    import torch

    from alchemist import codegen_py

    torch.manual_seed(0)
    model, inputs = build()
    program, report = folder / "program", folder / "report.json"
    codegen_py(model, *inputs, export_path=program, overwrite=True, compiler_options=given or None)
    done = subprocess.run([str(program / "run"), "--estimate" if priced else "--check", "--json", str(report)], capture_output=True, text=True, check=False)
    result = json.loads(report.read_text())
    lines = len((program / "main.py").read_text().splitlines())
    verdict = "FAILED" if done.returncode else "priced" if priced else "ok"
    return f"{result['device_ns'] / 1e6:.2f} | {result['ops']} | {lines} | {verdict} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the cases' names")
    parser.add_argument("--disable", type=lambda text: text.split(","), default=[], metavar="PASS,PASS")
    options = parser.parse_args()
    print("| case | device ms | programs | lines | check |\n|---|---:|---:|---:|---|")
    failed = False
    disabled: dict[str, Any] = {"disable": tuple(options.disable)} if options.disable else {}
    cases = {name: (build, disabled, False) for name, build in CASES.items()}
    if options.names:
        cases |= {name: (build, {**given, **disabled}, True) for name, (build, given) in PRICED.items()}
    for name, (build, given, priced) in cases.items():
        if options.names and not any(part in name for part in options.names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            row = measured(build, given, Path(folder), priced=priced)
        failed |= "FAILED" in row
        print(f"| {name} | {row}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
