"""Llama: prefill and decode over one static key-value cache.    python examples/llama_static_cache/llama.py [DIR]

Both programs run in the place of the model: the cache's buffers are written by each call, so a whole text is generated.
"""

import argparse
import os
import sys
from pathlib import Path

import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

from alchemist import codegen_py, load_codegen_py

LENGTH, NEW_TOKENS = 32, 3


def build() -> torch.nn.Module:
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=32, vocab_size=200,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    cache = {"batch_size": 1, "max_cache_len": LENGTH}
    model.generation_config = GenerationConfig(use_cache=True, cache_implementation="static", max_length=LENGTH, cache_config=cache)
    return TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=LENGTH, device=torch.device("cpu"))


def step(tokens: list[int], first: int) -> dict[str, torch.Tensor]:
    return {"input_ids": torch.tensor([tokens]), "cache_position": torch.arange(first, first + len(tokens))}


def generate(call, prompt: list[int]) -> list[int]:
    """Greedy: call(name, inputs) -> logits."""
    tokens = [int(call("prefill", step(prompt, 0))[0, -1].argmax())]
    for position in range(len(prompt), len(prompt) + NEW_TOKENS - 1):
        tokens.append(int(call("decode", step(tokens[-1:], position))[0, -1].argmax()))
    return tokens


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=Path("llama_program"))
    path = parser.parse_args().path
    prompt = [5, 17, 42, 8, 23, 99, 7, 64]
    model = build()
    codegen_py(model, export_path=path / "prefill", overwrite=True, **step(prompt, 0))
    codegen_py(model, export_path=path / "decode", overwrite=True, **step(prompt[:1], len(prompt)))

    model = build()
    with torch.no_grad():
        expected = generate(lambda _, inputs: model(**inputs), prompt)
    model = build()
    generated = generate(lambda name, inputs: load_codegen_py(model, load_path=path / name, **inputs), prompt)
    print(f"torch      {expected}\nalchemist  {generated}")
    sys.exit(generated != expected)
