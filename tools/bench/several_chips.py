"""Simulated speed-ups of models on several chips beside published ones: `python -m tools.bench.several_chips [llama|resnet] [--level N]`.

Models have no values (torch's meta device). Of a Llama-3.1-8B the time of 32 layers is that of two layers and 15 times the difference to four: layers are
alike. ResNet-50 is scaled as published: each chip gets a batch of its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import torch

from alchemist.frontends.base import ONE_CHIP
from alchemist.frontends.torch import capture
from alchemist.mesh.plan import mesh_of
from alchemist.options import CompilerOptions
from alchemist.spreading import Spread, spread

TOKENS, LAYERS, SYSTEMS = 32, 32, ((1, 1), (1, 2), (1, 8))
PUBLISHED = {"llama": {(1, 2): 1.56, (1, 8): 2.27}, "resnet": {(1, 2): 1.96}}
IMAGES = 16


def _row(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], extents: tuple[int, int], plan: str, options: CompilerOptions) -> Spread:
    mesh = mesh_of(extents, options)
    found = spread(capture(model, args, kwargs), model, mesh, plan if mesh != ONE_CHIP else "", plan, options)
    if found.failure:
        raise SystemExit(f"{extents}: {found.failure}")
    return found


def llama(extents: tuple[int, int], level: int) -> tuple[float, float]:
    """(device time, collectives in it) of 32 layers, in nanoseconds."""
    from transformers import LlamaConfig, LlamaForCausalLM

    options = CompilerOptions.parse({"optimization_level": level, "precision": "bfp8"})
    rows = []
    for layers in (2, 4):
        sizes = {"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}
        with torch.device("meta"):
            model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=layers, **sizes)).eval().bfloat16()
            ids = torch.zeros(1, TOKENS, dtype=torch.int64)
        rows.append(_row(model, (ids,), {"use_cache": False}, extents, "tensor", options).totals)
    few, more = rows

    def of_all(value: Callable[[Any], float]) -> float:
        return value(few) + (value(more) - value(few)) / 2 * (LAYERS - 2)

    return of_all(lambda totals: totals.device_ns), of_all(lambda totals: totals.ccl_ns)


def resnet(extents: tuple[int, int], level: int) -> tuple[float, float]:
    """(device time for an image, collectives), of a batch of `IMAGES` on each chip."""
    from transformers import ResNetConfig, ResNetForImageClassification

    options = CompilerOptions.parse({"optimization_level": level, "precision": "bfloat16"})
    chips = extents[0] * extents[1]
    with torch.device("meta"):
        model = ResNetForImageClassification(ResNetConfig()).eval().bfloat16()
        images = torch.zeros(IMAGES * chips, 3, 224, 224, dtype=torch.bfloat16)
    totals = _row(model, (images,), {}, extents, "data", options).totals
    return totals.device_ns / (IMAGES * chips), totals.ccl_ns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("model", choices=tuple(PUBLISHED), nargs="?", default="llama")
    parser.add_argument("--level", type=int, default=2)
    given = parser.parse_args()
    base = 0.0
    for extents in SYSTEMS if given.model == "llama" else SYSTEMS[:2]:
        ns, ccl_ns = (llama if given.model == "llama" else resnet)(extents, given.level)
        base = base or ns
        published = PUBLISHED[given.model].get(extents)
        beside = f", published {published:.2f}x ({base / ns / published - 1:+.0%})" if published else ""
        print(f"{given.model} {extents[0]}x{extents[1]}: {ns / 1e6:.3f} ms, collectives {ccl_ns / 1e6:.3f} ms, {base / ns:.2f}x{beside}", flush=True)


if __name__ == "__main__":
    main()
