"""Greedy text of exported language models beside the framework's own: tokens that agree, positions where the numbers cannot decide.

    python tools/bench/generation.py [--cpp] [--bfloat16] [FAMILY ...]

Tiny configurations with random weights, a static cache of 64 positions, 32 tokens for a prompt of 5: one entry point takes the prompt (T5: encodes it), one makes
a token. A token that differs where the two best logits lie closer than the program's own numeric error counts as equal; the program then goes on from the
framework's token.
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
os.environ.setdefault("OMP_NUM_THREADS", "1")

PROMPT, NEW, LENGTH = [5, 17, 42, 8, 23], 32, 64
SIZES = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256}
FAMILIES: dict[str, dict[str, Any]] = {
    "Llama": SIZES,
    "GPT2": {"n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 256, "n_positions": 128},
    "Qwen2": SIZES,
    "Mistral": SIZES,
    "Phi": SIZES | {"num_key_value_heads": 4},
    "T5": {"d_model": 128, "d_kv": 32, "d_ff": 256, "num_layers": 2, "num_heads": 4, "vocab_size": 256, "tie_word_embeddings": False},
}
ENCODED = ("T5",)
"""Families with an encoder: the prompt is its text, and the answer begins with a token of its own."""


def model_of(family: str, dtype: str = "float32") -> Any:
    import torch
    import transformers

    torch.manual_seed(0)
    spread = {"initializer_factor": 1.0} if family in ENCODED else {"initializer_range": 0.1}  # logits that lie apart
    config = getattr(transformers, f"{family}Config")(**FAMILIES[family], **spread)
    name = {"GPT2": "GPT2LMHeadModel", "T5": "T5ForConditionalGeneration"}.get(family, f"{family}ForCausalLM")
    return getattr(transformers, name)(config).eval().to(getattr(torch, dtype))


def wanted_of(family: str, model: Any) -> list[int]:
    """The tokens of transformers' own greedy search behind the prompt."""
    import torch

    with torch.no_grad():
        start = {"decoder_start_token_id": 0} if family in ENCODED else {}
        text = model.generate(torch.tensor([PROMPT]), max_new_tokens=NEW, do_sample=False, eos_token_id=None, pad_token_id=0, **start)[0].tolist()
    found: list[int] = text[-NEW:]
    return found


def export(family: str, model: Any, path: Path, cpp: bool) -> None:
    from alchemist import codegen_cpp, codegen_py, text_generation

    prompt = len(PROMPT) if family in ENCODED else 32
    entry_points = text_generation(model, prompt_tokens=prompt, total_tokens=LENGTH)
    (codegen_cpp if cpp else codegen_py)(model, entry_points=entry_points, export_path=path, overwrite=True)


def generated(path: Path, prompt: list[int], count: int) -> dict[str, Any]:
    report = path / "generated.json"
    words = ",".join(map(str, prompt))
    subprocess.run([str(path / "run"), "--generate", str(count), "--prompt-ids", words, "--json", str(report)], check=True, capture_output=True)
    found: dict[str, Any] = json.loads(report.read_text())
    return found


def compared(family: str, path: Path, wanted: list[int]) -> tuple[int, list[int], list[int], float, float]:
    """How many tokens were compared, places of tokens that the numbers decide and that differ, of those that they do not decide, milliseconds of the prompt and of a step.

    Behind a tie that went the other way the program goes on with the framework's token; an encoder's answer cannot be given, so it ends the comparison.
    """
    wrong: list[int] = []
    undecided: list[int] = []
    compared = len(wanted)
    start, prompt_ms, step_ms = 0, 0.0, 0.0
    while start < len(wanted):
        result = generated(path, PROMPT + wanted[:start], len(wanted) - start)
        tokens, ties = result["generated"][0], {place for place, _ in result["ties"]}
        if not start:
            prompt_ms, step_ms = result["prompt_device_ns"] / 1e6, (result["device_ns"] - result["prompt_device_ns"]) / 1e6 / max(result["steps"], 1)
        place = next((place for place, (one, two) in enumerate(zip(tokens, wanted[start:], strict=True)) if one != two), None)
        if place is None:
            break
        (undecided if place in ties else wrong).append(start + place)
        start += place + 1
        if family in ENCODED:
            compared = place + 1
            break
    return compared, wrong, undecided, prompt_ms, step_ms


def main() -> int:
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    dtype = "bfloat16" if "--bfloat16" in sys.argv else "float32"
    print("| family | tokens equal | too close to call | different | prompt ms | step ms |\n|---|---:|---|---|---:|---:|")
    failed = False
    for family in names or FAMILIES:
        model = model_of(family, dtype)
        wanted = wanted_of(family, model)
        with tempfile.TemporaryDirectory() as folder:
            export(family, model, Path(folder) / "program", "--cpp" in sys.argv)
            count, wrong, undecided, prompt_ms, step_ms = compared(family, Path(folder) / "program", wanted)
        failed |= bool(wrong)
        print(
            f"| {family} | {count - len(wrong) - len(undecided)} of {count} | {undecided or ''} | {wrong or ''} | {prompt_ms:.2f} | {step_ms:.2f} |", flush=True
        )
    return failed


if __name__ == "__main__":
    sys.exit(main())
