"""The six models of the mutation table: () -> (model, args, kwargs)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.e2e.models import Built, jax_transformer_block


def lively(model: Any) -> Any:
    """Biases and scales that are not 0 and 1, as in a trained model: without them it does not matter."""
    import torch

    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter += 0.1 * torch.randn_like(parameter)
    return model.eval()


def bert_bf16() -> Built:
    """Two layers; a quarter of the tokens is masked."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(num_hidden_layers=2, hidden_size=128, num_attention_heads=4, intermediate_size=256, vocab_size=500, initializer_range=0.06)
    ids, mask = torch.randint(0, 500, (1, 64)), torch.ones(1, 64, dtype=torch.int64)
    mask[:, 48:] = 0
    return lively(BertModel(config)).to(torch.bfloat16), (), {"input_ids": ids, "attention_mask": mask}


def gpt2_f32() -> Built:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(n_layer=2, n_embd=128, n_head=4, vocab_size=500, n_positions=64, use_cache=False, initializer_range=0.06)
    return lively(GPT2LMHeadModel(config)), (torch.randint(0, 500, (1, 32)),), {}


def resnet_bf16() -> Built:
    import torch

    class Block(torch.nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.conv1 = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norm1 = torch.nn.BatchNorm2d(channels)
            self.conv2 = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norm2 = torch.nn.BatchNorm2d(channels)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x + self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x))))))

    class SmallResNet(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = torch.nn.Conv2d(3, 32, 3, padding=1)
            self.blocks = torch.nn.ModuleList(Block(32) for _ in range(2))
            self.classifier = torch.nn.Linear(32, 10)

        def forward(self, pixel_values: torch.Tensor) -> torch.Tensor:
            x = torch.nn.functional.max_pool2d(torch.relu(self.stem(pixel_values)), 2)
            for block in self.blocks:
                x = block(x)
            return self.classifier(x.mean(dim=(2, 3)))

    torch.manual_seed(0)
    return lively(SmallResNet()).to(torch.bfloat16), (torch.randn(2, 3, 16, 16).to(torch.bfloat16),), {}


def gru_f32() -> Built:
    import torch

    class Tagger(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = torch.nn.GRU(32, 64, batch_first=True)
            self.head = torch.nn.Linear(64, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(self.head(self.gru(x)[0]), dim=-1)

    torch.manual_seed(0)
    return lively(Tagger()), (torch.randn(2, 6, 32),), {}


def mlp_loss_f32() -> Built:
    """A scalar: the mean squared error of a small network."""
    import torch

    class Loss(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up = torch.nn.Linear(40, 64)
            self.norm = torch.nn.LayerNorm(64)
            self.down = torch.nn.Linear(64, 10)

        def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            hidden = torch.nn.functional.gelu(self.norm(self.up(x)))
            difference = torch.sigmoid(self.down(hidden)) - target
            return (difference * difference).mean() * 0.02

    torch.manual_seed(0)
    return lively(Loss()), (torch.randn(32, 40), torch.rand(32, 10)), {}


MODELS: dict[str, tuple[str, Callable[[], Built]]] = {
    "bert": ("bfloat16", bert_bf16),
    "gpt2": ("float32", gpt2_f32),
    "resnet": ("bfloat16", resnet_bf16),
    "gru": ("float32", gru_f32),
    "mlp_loss": ("float32", mlp_loss_f32),
    "jax_block": ("float32", jax_transformer_block),
}
"""Name -> (dtype, builder)."""


def build(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    return MODELS[name][1]()
