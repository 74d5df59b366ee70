"""Whole models: predicted throughput beside published figures. Writes docs/lab/throughput.md.

    python tools/bench/throughput.py [--models NAME ...]

The published programs place activations in L1 shards, use bfloat8_b weights and are traced; ours are emitted at optimization levels 0 and 2.
The table says how far that is apart, not how good the clock is: docs/lab/accuracy.md says that.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


@dataclass(frozen=True)
class Published:
    """A published end-to-end rate on one chip. samples_per_s from tests/data/hardware/models.csv's sources."""

    name: str
    batch: int
    card: str
    samples_per_s: float
    setup: str
    build: Callable[[], tuple[Any, tuple[Any, ...], dict[str, Any]]]


def resnet50() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    return ResNetForImageClassification(ResNetConfig()).eval().to(torch.bfloat16), (torch.zeros(16, 3, 224, 224, dtype=torch.bfloat16),), {}


def bert_large() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
    ids = torch.ones(8, 384, dtype=torch.int64)
    return BertModel(config).eval().to(torch.bfloat16), (), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def vit() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    import torch
    from transformers import ViTConfig, ViTForImageClassification

    return ViTForImageClassification(ViTConfig()).eval().to(torch.bfloat16), (torch.zeros(8, 3, 224, 224, dtype=torch.bfloat16),), {}


MODELS = (
    Published("ResNet-50 224x224", 16, "n150", 4700.0, "bfloat8_b, sharded in L1, traced", resnet50),
    Published("BERT-Large, sequence 384", 8, "n150", 270.0, "bfloat8_b, sharded in L1, traced", bert_large),
    Published("ViT-B/16 224x224", 8, "n150", 1370.0, "bfloat8_b, sharded in L1, traced", vit),
)


SETTINGS = (
    (0, "none", "bfloat16, level 0"),
    (2, "none", "bfloat16, level 2"),
    (2, "bfp_bf8", "bfloat8_b matmul weights, level 2"),
)
"""Optimization level, weight dtype, and how the table says it."""


def predict(model: Published, level: int, weight_dtype: str) -> tuple[float, int]:
    """Device time of one forward call in ns, and the number of device programs."""
    from alchemist import codegen_py

    module, args, kwargs = model.build()
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        options = {"optimization_level": level, "experimental_weight_dtype": weight_dtype, "arch": model.card, "dump_irs": False}
        codegen_py(module, *args, export_path=out, export_tensors=False, export_golden="none", compiler_options=options, **kwargs)
        result = Path(directory) / "result.json"
        subprocess.run([str(out / "run"), "--estimate", "--json", str(result)], check=True, capture_output=True)
        row = json.loads(result.read_text())
        return float(row["device_ns"]), int(row["ops"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", default=[], help="parts of names; default all")
    chosen = parser.parse_args().models
    lines = [
        "# Predicted throughput beside published figures",
        "",
        "Written by `python tools/bench/throughput.py`. Published rates: tt-metal's README (2025-06-11), one Wormhole n150. Their programs keep",
        "activations sharded in L1, compute in bfloat8_b and replay a trace; ours are what `codegen_py` emits at optimization levels 0 (interleaved",
        "DRAM) and 2: bfloat16 activations, weights as stated, host transfers not counted. Agreement is not expected: our programs",
        "compute in bfloat16; how good the clock itself is, op by op, is in `accuracy.md`.",
        "",
        "| model | batch | published [samples/s] | ours [samples/s] | ours / published | device time | programs | ours | their set-up |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for model in MODELS:
        if chosen and not any(part.lower() in model.name.lower() for part in chosen):
            continue
        for level, dtype, text in SETTINGS:
            device_ns, programs = predict(model, level, dtype)
            rate = model.batch * 1e9 / device_ns
            row = (
                f"| {model.name} | {model.batch} | {model.samples_per_s:g} | {rate:.0f} | {rate / model.samples_per_s:.2f} |"
                f" {device_ns / 1e6:.2f} ms | {programs} | {text} | {model.setup} |"
            )
            print(row, flush=True)
            lines.append(row)
    (ROOT / "docs" / "lab" / "throughput.md").write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
