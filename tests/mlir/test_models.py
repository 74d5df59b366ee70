"""Whole models as TTIR text of our own exporter: written to a file, made into Python and C++ again, run and compared; the real package's verdict."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alchemist.cli import main
from alchemist.ir.printer import print_module
from alchemist.pipeline import capture

Made = tuple[Any, tuple[Any, ...]]


def _resnet() -> Made:
    import torch
    from transformers import ResNetConfig, ResNetModel

    return ResNetModel(ResNetConfig()).eval(), (torch.randn(1, 3, 224, 224),)  # the default is ResNet-50


def _bert() -> Made:
    import torch
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(num_hidden_layers=4, vocab_size=2000)).eval()
    return model, (torch.randint(0, 2000, (1, 64)), torch.ones(1, 64, dtype=torch.int64))


def _llama() -> Made:
    import torch
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(num_hidden_layers=1, hidden_size=512, intermediate_size=1024, num_attention_heads=8, num_key_value_heads=2, vocab_size=1000)
    return LlamaModel(config).eval().to(torch.bfloat16), (torch.randint(0, 1000, (1, 64)),)


def _unet() -> Made:
    import torch
    from diffusers import UNet2DModel

    model = UNet2DModel(
        sample_size=32, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 64), norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    return model.eval(), (torch.randn(1, 3, 32, 32), torch.tensor(10))


MODELS: dict[str, Callable[[], Made]] = {"resnet50": _resnet, "bert": _bert, "llama_block": _llama, "unet": _unet}


def _text(name: str) -> str:
    import torch

    torch.manual_seed(0)
    model, arguments = MODELS[name]()
    return print_module(capture(model, arguments, {}, "torch").module)


def _run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_exported_text_becomes_programs(name: str, tmp_path: Path) -> None:
    for module in ("torch", "transformers", "diffusers") if name == "unet" else ("torch", "transformers"):
        pytest.importorskip(module)
    file = tmp_path / f"{name}.mlir"
    file.write_text(_text(name))
    for language in ("python", "cpp"):
        assert main([f"generate-{language}", str(file), "-o", str(tmp_path / language)]) == 0
        assert "check: passed" in _run(tmp_path / language / "run", "--check")
    from alchemist.verify.environment import is_ready

    if is_ready():
        assert main(["verify", str(tmp_path / "python")]) == 0
