"""Greedy text of exported decode steps beside the framework's own: tokens that agree, positions where the numbers cannot decide.

    python tests/bench/generation.py [FAMILY ...]

Tiny configurations with random weights, float32, a static cache of 64 positions, 32 tokens for a prompt of 5. A token that differs where the two best logits
lie closer than the program's own numeric error counts as equal; the program then goes on from the framework's token.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

PROMPT, NEW, LENGTH = [5, 17, 42, 8, 23], 32, 64
SIZES = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256}
FAMILIES: dict[str, dict[str, Any]] = {
    "Llama": SIZES,
    "GPT2": {"n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 256, "n_positions": 128},
    "Qwen2": SIZES,
    "Mistral": SIZES,
    "Phi": SIZES | {"num_key_value_heads": 4},
}


def model_of(family: str) -> Any:
    import torch
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**FAMILIES[family], initializer_range=0.1)  # logits that lie apart
    name = "GPT2LMHeadModel" if family == "GPT2" else f"{family}ForCausalLM"
    model = getattr(transformers, name)(config).eval()
    cache = {"batch_size": 1, "max_cache_len": LENGTH}
    model.generation_config = transformers.GenerationConfig(use_cache=True, cache_implementation="static", cache_config=cache, pad_token_id=0)
    return model


def export(model: Any, text: list[int], path: Path) -> None:
    """A step of decoding behind the text, so that the export knows the error of a step over filled caches."""
    import torch
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    from alchemist import codegen_py

    wrapped = TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=LENGTH, device=torch.device("cpu"))
    with torch.no_grad():
        for position, token in enumerate(text[:-1]):
            wrapped(torch.tensor([[token]]), None, torch.tensor([position]))
    codegen_py(wrapped, torch.tensor([text[-1:]]), None, torch.tensor([len(text) - 1]), export_path=path, overwrite=True)


def generated(path: Path, prompt: list[int], count: int) -> dict[str, Any]:
    report = path / "generated.json"
    words = ",".join(map(str, prompt))
    subprocess.run([str(path / "run"), "--generate", str(count), "--prompt-ids", words, "--json", str(report)], check=True, capture_output=True)
    found: dict[str, Any] = json.loads(report.read_text())
    return found


def compared(path: Path, wanted: list[int]) -> tuple[list[int], list[int], float]:
    """Places of tokens that the numbers decide and that differ, of those that they do not decide, milliseconds of a token."""
    wrong: list[int] = []
    undecided: list[int] = []
    start, time_ms = 0, 0.0
    while start < len(wanted):
        result = generated(path, PROMPT + wanted[:start], len(wanted) - start)
        tokens, ties = result["generated"][0], {place for place, _ in result["ties"]}
        time_ms = time_ms or result["device_ns"] / 1e6 / (len(PROMPT) + len(wanted) - 1)
        place = next((place for place, (one, two) in enumerate(zip(tokens, wanted[start:], strict=True)) if one != two), None)
        if place is None:
            break
        (undecided if place in ties else wrong).append(start + place)
        start += place + 1
    return wrong, undecided, time_ms


def main() -> int:
    import torch

    print("| family | tokens equal | too close to call | different | device ms a token |\n|---|---:|---|---|---:|")
    failed = False
    for family in sys.argv[1:] or FAMILIES:
        model = model_of(family)
        with torch.no_grad():
            text = model.generate(torch.tensor([PROMPT]), max_new_tokens=NEW, do_sample=False, eos_token_id=None)[0].tolist()
        with tempfile.TemporaryDirectory() as folder:
            export(model, text[: len(PROMPT) + 8], Path(folder) / "program")
            wrong, undecided, time_ms = compared(Path(folder) / "program", text[len(PROMPT) :])
        failed |= bool(wrong)
        print(f"| {family} | {NEW - len(wrong) - len(undecided)} | {undecided or ''} | {wrong or ''} | {time_ms:.2f} |", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
