"""Caches that a program writes in place: lists indexed by layer, neither returned nor unrolled."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from alchemist.options import CompilerOptions
from alchemist.pipeline import capture, compile_captured
from alchemist.progress import Progress

HEADS, SIZE, LENGTH = 2, 32, 64


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(64, 64, bias=False) for _ in range(4))

    def forward(
        self, hidden: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, at: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        users = hidden.shape[0]
        query, key, value = (part(hidden).view(users, 1, HEADS, SIZE).transpose(1, 2) for part in (self.q_proj, self.k_proj, self.v_proj))
        keys.index_copy_(2, at, key * cos + sin)
        values.index_copy_(2, at, value)
        out = nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
        joined: torch.Tensor = self.o_proj(out.transpose(1, 2).reshape(users, 1, 64))
        return joined


class Decoder(nn.Module):
    def __init__(self, layers: int, users: int, reads_caches: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Attention() for _ in range(layers))
        self.reads_caches = reads_caches
        self.register_buffer("frequencies", torch.linspace(0.1, 1, SIZE).to(torch.bfloat16))
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64))
        for index in range(layers):
            for name in ("keys", "values"):
                self.register_buffer(f"{name}_{index}", torch.randn(users, HEADS, LENGTH, SIZE))

    def forward(self, hidden: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        self.calls.copy_(at)
        angle = at[:, None].float() * self.frequencies.float()
        cos, sin = angle.cos().to(hidden.dtype), angle.sin().to(hidden.dtype)
        seen = torch.arange(LENGTH)[None, None, None] <= at
        mask = torch.where(seen, 0.0, -1e9).to(hidden.dtype)
        for index, layer in enumerate(self.layers):
            keys, values = getattr(self, f"keys_{index}"), getattr(self, f"values_{index}")
            before = keys.sum() if self.reads_caches else 0
            hidden = hidden + layer(hidden, cos, sin, keys, values, at, mask) + before
        return hidden


def sources(layers: int = 3, users: int = 4, language: str = "python", **options: bool) -> dict[str, str]:
    torch.manual_seed(0)
    model = Decoder(layers, users, **options).eval().to(torch.bfloat16)
    captured = capture(model, (torch.randn(users, 1, 64, dtype=torch.bfloat16), torch.tensor([5])), {}, "torch", golden_ops=False)
    assert "calls" not in [output.mutates for output in captured.outputs]  # a counter that every call sets anew
    compiled = compile_captured(captured, language, CompilerOptions(), Progress(verbose=False))  # type: ignore[arg-type]
    assert compiled.entry["outputs"] == ["output", *(f"keys_{index}" for index in range(layers) if options)]
    return compiled.sources


def test_layers_share_a_loop_over_lists() -> None:
    text = sources()["main.py"]
    assert "for i in range(NUM_LAYERS):" in text
    assert "key_caches[i]" in text
    assert "value_caches[i]" in text
    assert 'key_caches = [weights[f"keys_{i}"] for i in range(3)]' in text
    assert "**utils.caches(weights)" in text
    assert re.search(r"State +keys_\{0\.\.2\} ", text)
    head = next(line for line in re.findall(r"def attention\((.*?)\)", text, re.S))
    assert {"key_cache", "value_cache", "positions"} <= set(re.findall(r"(\w+):", head))
    assert len(text.splitlines()) == len(sources(layers=5)["main.py"].splitlines())


def test_cpp_has_the_lists_too() -> None:
    text = sources(language="cpp")["model.cpp"]
    assert "std::vector<Tensor> key_caches" in text
    assert "key_caches[i]" in text
    assert 'weights["keys_0"]' in text  # forward() gives the caches as well


def test_one_user_has_a_program_config_by_its_role() -> None:
    assert "ATTENTION = ttnn.SDPAProgramConfig(" in sources(users=1)["main.py"]
    assert "SDPAProgramConfig" not in sources(users=4)["main.py"]


def test_one_layer_has_no_list() -> None:
    assert "caches" not in sources(layers=1)["main.py"].replace("utils.caches", "")


@pytest.mark.parametrize("users", [1, 4])
def test_a_cache_that_is_read_before_stays_an_output(users: int) -> None:
    """Guard: the sum of the old cache needs the old cache."""
    text = sources(users=users, reads_caches=True)["main.py"]
    assert '**{f"keys_{i}": tensor for i, tensor in enumerate(keys)}, keys_2=keys_2' in " ".join(text.split())
    assert 'weights[f"values_{i}"]' in text
