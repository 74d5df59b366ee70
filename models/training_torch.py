"""Training steps of PyTorch: a loss, its gradients by torch.func, and gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class TrainingStep(nn.Module):
    """One step of gradient descent: new parameters by name, and the loss."""

    def __init__(self, model: nn.Module, loss: Loss, rate: float = 0.1) -> None:
        super().__init__()
        self.model, self.loss, self.rate = model, loss, rate

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        params = dict(self.model.named_parameters())

        def loss_of(params: dict[str, torch.Tensor]) -> torch.Tensor:
            return self.loss(torch.func.functional_call(self.model, params, (x,)), target)

        gradients, loss = torch.func.grad_and_value(loss_of)(params)
        return {name: value - self.rate * gradients[name] for name, value in params.items()}, loss


class Block(nn.Module):
    """A pre-norm layer of a GPT."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.ln_1(x)).split(width, dim=-1)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in (q, k, v))
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(heads.transpose(1, 2).reshape(batch, length, width))
        return x + self.out(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, depth: int, width: int = 32, vocabulary: int = 64) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(64, width)
        self.blocks = nn.ModuleList(Block(width, 2) for _ in range(depth))
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


def square(y: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.mse_loss(y, target)


def of_tokens(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


def transformer(depth: int = 2) -> Built:
    return TrainingStep(Gpt(depth), of_tokens), (torch.randint(0, 64, (2, 32)), torch.randint(0, 64, (2, 32))), {}


def mlp() -> Built:
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    return TrainingStep(model, square), (torch.randn(32, 16), torch.randn(32, 8)), {}


def convolutional_net() -> Built:
    down = [nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU()]
    model = nn.Sequential(*down, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    return TrainingStep(model, F.cross_entropy), (torch.randn(2, 3, 16, 16), torch.tensor([3, 7])), {}


MODELS: dict[str, Callable[[], Built]] = {
    "torch_mlp_training_step": mlp,
    "torch_cnn_training_step": convolutional_net,
    "torch_transformer_training_step": transformer,
}
