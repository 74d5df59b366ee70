"""Models that were written before anyone looked at their programs: speech, sequence labelling, a solver, an optimizer's step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]


class RelativeAttention(nn.Module):
    """Attention with relative positions, shifted as in Transformer-XL."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.position = nn.Linear(dim, dim, bias=False)
        self.content_bias = nn.Parameter(torch.randn(heads, dim // heads))
        self.position_bias = nn.Parameter(torch.randn(heads, dim // heads))
        self.out = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        batch, frames, width = x.shape
        q = self.query(x).view(batch, frames, self.heads, -1)
        k = self.key(x).view(batch, frames, self.heads, -1).permute(0, 2, 3, 1)
        v = self.value(x).view(batch, frames, self.heads, -1).transpose(1, 2)
        p = self.position(positions).view(1, -1, self.heads, width // self.heads).permute(0, 2, 3, 1)
        content = (q + self.content_bias).transpose(1, 2) @ k
        distance = F.pad((q + self.position_bias).transpose(1, 2) @ p, (1, 0)).view(batch, self.heads, -1, frames)
        distance = distance[:, :, 1:].reshape(batch, self.heads, frames, -1)[..., :frames]
        scores = (content + distance) / math.sqrt(width // self.heads)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, frames, width))


class ConvModule(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.pointwise_in = nn.Conv1d(dim, 2 * dim, 1)
        self.depthwise = nn.Conv1d(dim, dim, 7, padding=3, groups=dim)
        self.batch_norm = nn.BatchNorm1d(dim)
        self.pointwise_out = nn.Conv1d(dim, dim, 1)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        x = self.norm(hidden).transpose(1, 2)
        x = F.glu(self.pointwise_in(x), dim=1)
        x = F.silu(self.batch_norm(self.depthwise(x)))
        return self.pointwise_out(x).transpose(1, 2)


class FeedForward(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.up(self.norm(x))))


class ConformerBlock(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.first, self.second = FeedForward(dim), FeedForward(dim)
        self.norm, self.attention = nn.LayerNorm(dim), RelativeAttention(dim, heads)
        self.conv, self.final = ConvModule(dim), nn.LayerNorm(dim)

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        x = x + 0.5 * self.first(x)
        x = x + self.attention(self.norm(x), positions)
        x = x + self.conv(x)
        x = x + 0.5 * self.second(x)
        return self.final(x)


class Conformer(nn.Module):
    def __init__(self, dim: int = 64, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.subsample = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.ReLU())
        self.project = nn.Linear(16 * 10, dim)
        self.blocks = nn.ModuleList(ConformerBlock(dim, heads) for _ in range(layers))
        self.frequencies = [10000.0 ** (-index / dim) for index in range(0, dim, 2)]
        self.head = nn.Linear(dim, 29)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        x = self.subsample(features.unsqueeze(1))
        batch, channels, frames, bands = x.shape
        x = self.project(x.transpose(1, 2).reshape(batch, frames, channels * bands))
        steps = torch.arange(frames - 1, -frames, -1, dtype=torch.float32)
        angles = steps[:, None] * torch.tensor(self.frequencies)
        positions = torch.stack((angles.sin(), angles.cos()), -1).flatten(1)[None]
        for block in self.blocks:
            x = block(x, positions)
        return self.head(x).log_softmax(-1)


class WaveNetLayer(nn.Module):
    def __init__(self, channels: int, skip: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.filter, self.gate = (nn.Conv1d(channels, channels, 2, dilation=dilation) for _ in range(2))
        self.residual, self.skip = nn.Conv1d(channels, channels, 1), nn.Conv1d(channels, skip, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        padded = F.pad(x, (self.dilation, 0))
        z = torch.tanh(self.filter(padded)) * torch.sigmoid(self.gate(padded))
        return x + self.residual(z), self.skip(z)


class WaveNet(nn.Module):
    def __init__(self, channels: int = 32, skip: int = 64, classes: int = 256) -> None:
        super().__init__()
        self.embed = nn.Embedding(classes, channels)
        self.layers = nn.ModuleList(WaveNetLayer(channels, skip, 2**index) for index in range(5))
        self.out1, self.out2 = nn.Conv1d(skip, skip, 1), nn.Conv1d(skip, classes, 1)

    def forward(self, samples: torch.Tensor) -> torch.Tensor:
        x = self.embed(samples).transpose(1, 2)
        skips = 0
        for layer in self.layers:
            x, skip = layer(x)
            skips = skips + skip
        return self.out2(F.relu(self.out1(F.relu(skips))))


class ConditionalRandomField(nn.Module):
    """A linear chain over a recurrent encoder: the forward algorithm, and the best path's score and places."""

    def __init__(self, dim: int = 32, tags: int = 6) -> None:
        super().__init__()
        self.lstm, self.emit = nn.LSTM(dim, 32, bidirectional=True, batch_first=True), nn.Linear(64, tags)
        self.transitions = nn.Parameter(torch.randn(tags, tags))
        self.start, self.end = nn.Parameter(torch.randn(tags)), nn.Parameter(torch.randn(tags))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        emissions = self.emit(self.lstm(x)[0])
        alpha = best = self.start + emissions[:, 0]
        places = []
        for step in range(1, emissions.shape[1]):
            alpha = torch.logsumexp(alpha[:, :, None] + self.transitions, 1) + emissions[:, step]
            best, place = (best[:, :, None] + self.transitions).max(1)
            best = best + emissions[:, step]
            places.append(place)
        return torch.logsumexp(alpha + self.end, -1), (best + self.end).max(-1).values, torch.stack(places, 1)


class RungeKutta(nn.Module):
    """A neural differential equation, solved in steps of the fourth order."""

    def __init__(self, dim: int = 32) -> None:
        super().__init__()
        self.slope = nn.Sequential(nn.Linear(dim, 64), nn.Softplus(), nn.Linear(64, dim), nn.Tanh())

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        for _ in range(8):
            k1 = self.slope(y)
            k2 = self.slope(y + 0.05 * k1)
            k3 = self.slope(y + 0.05 * k2)
            k4 = self.slope(y + 0.1 * k3)
            y = y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y


class AdamStep(nn.Module):
    """What an optimizer does with gradients that it is given."""

    def forward(
        self, params: dict[str, torch.Tensor], grads: dict[str, torch.Tensor], m: dict[str, torch.Tensor], v: dict[str, torch.Tensor], step: torch.Tensor
    ) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        new_params, new_m, new_v = {}, {}, {}
        c1, c2 = 1 - 0.9**step, 1 - 0.999**step
        for name in params:
            new_m[name] = 0.9 * m[name] + 0.1 * grads[name]
            new_v[name] = 0.999 * v[name] + 0.001 * grads[name] ** 2
            new_params[name] = params[name] - 1e-3 * (new_m[name] / c1) / ((new_v[name] / c2).sqrt() + 1e-8)
        return new_params, new_m, new_v


def _adam() -> Built:
    torch.manual_seed(0)
    shapes = {"fc1.weight": (64, 32), "fc1.bias": (64,), "fc2.weight": (10, 64), "fc2.bias": (10,)}
    params, grads, m, v = ({name: torch.randn(dims) for name, dims in shapes.items()} for _ in range(4))
    return AdamStep().eval(), (params, grads, m, {name: value.square() for name, value in v.items()}, torch.tensor(3.0)), {}


def _of(model: Callable[[], nn.Module], x: Callable[[], torch.Tensor]) -> Callable[[], Built]:
    def build() -> Built:
        torch.manual_seed(0)
        return model().eval(), (x(),), {}

    return build


MODELS: dict[str, Callable[[], Built]] = {
    "conformer": _of(Conformer, lambda: torch.randn(2, 64, 40)),
    "wavenet": _of(WaveNet, lambda: torch.randint(0, 256, (2, 64))),
    "crf": _of(ConditionalRandomField, lambda: torch.randn(2, 10, 32)),
    "runge_kutta": _of(RungeKutta, lambda: torch.randn(8, 32)),
    "adam_given_gradients": _adam,
}
