"""Attention blocks of image-model libraries beyond those of timm_like.py: positions, pooling, channels, linear and masked forms."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.plain_torch import Built, _of
from models.timm_like import _net, _photo


def tokens(x: Tensor) -> Tensor:
    return x.flatten(2).transpose(1, 2)


class RelativeAttention(nn.Module):
    """BoTNet: logits of relative heights and widths by the pad-and-reshape shift."""

    def __init__(self, width: int, heads: int = 4, size: int = 16) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Conv2d(width, 3 * width, 1, bias=False)
        self.height = nn.Parameter(torch.randn(2 * size - 1, width // heads) * 0.1)
        self.width = nn.Parameter(torch.randn(2 * size - 1, width // heads) * 0.1)

    @staticmethod
    def shifted(q: Tensor, table: Tensor, order: tuple[int, ...]) -> Tensor:
        n, rows, columns, _ = q.shape
        x = F.pad((q @ table.t()).reshape(-1, columns, 2 * columns - 1), [0, 1]).flatten(1)
        x = F.pad(x, [0, columns - 1]).reshape(-1, columns + 1, 2 * columns - 1)[:, :columns, columns - 1 :]
        return x.reshape(n, rows, 1, columns, columns).expand(-1, -1, rows, -1, -1).permute(order)

    def forward(self, x: Tensor) -> Tensor:
        n, channels, rows, columns = x.shape
        depth = channels // self.heads
        q, k, v = (part.reshape(n * self.heads, depth, rows * columns).mT for part in self.qkv(x).chunk(3, 1))
        grid = q.reshape(n * self.heads, rows, columns, depth)
        bias = self.shifted(grid, self.width, (0, 1, 3, 2, 4)) + self.shifted(grid.transpose(1, 2), self.height, (0, 3, 1, 4, 2))
        weights = (q @ k.mT * depth**-0.5 + bias.reshape(-1, rows * columns, rows * columns)).softmax(-1)
        return x + (weights @ v).mT.reshape(n, channels, rows, columns)


class Lambda(nn.Module):
    """LambdaNetworks: keys normalised over positions, local context by a convolution over three dimensions."""

    def __init__(self, width: int, heads: int = 4, keys: int = 8, window: int = 7) -> None:
        super().__init__()
        self.heads, self.keys, self.values = heads, keys, width // heads
        self.qkv = nn.Conv2d(width, heads * keys + keys + self.values, 1, bias=False)
        self.norm_q, self.norm_v = nn.BatchNorm2d(heads * keys), nn.BatchNorm2d(self.values)
        self.local = nn.Conv3d(1, keys, (window, window, 1), padding=(window // 2, window // 2, 0))

    def forward(self, x: Tensor) -> Tensor:
        n, channels, rows, columns = x.shape
        places = rows * columns
        q, k, v = self.qkv(x).split([self.heads * self.keys, self.keys, self.values], 1)
        q = self.norm_q(q).reshape(n, self.heads, self.keys, places).transpose(-1, -2)
        v = self.norm_v(v).reshape(n, self.values, places).transpose(-1, -2)
        content = (k.reshape(n, self.keys, places).softmax(-1) @ v).unsqueeze(1)
        position = self.local(v.reshape(n, 1, rows, columns, self.values)).reshape(n, 1, self.keys, places, self.values)
        out = q @ content + (q.unsqueeze(-2) @ position.transpose(2, 3)).squeeze(-2)
        return out.transpose(-1, -2).reshape(n, channels, rows, columns)


class PooledAttention(nn.Module):
    """MViTv2: keys and values pooled by strided convolutions, decomposed relative positions, the pooled query added."""

    def __init__(self, width: int, heads: int = 2) -> None:
        super().__init__()
        self.heads, depth = heads, width // heads
        self.qkv, self.proj, self.norm = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(depth)
        self.pool_q = nn.Conv2d(depth, depth, 3, 1, 1, groups=depth, bias=False)
        self.pool_k = nn.Conv2d(depth, depth, 3, 2, 1, groups=depth, bias=False)
        self.table = nn.Parameter(torch.randn(31, depth) * 0.1)

    def pooled(self, x: Tensor, pool: nn.Module, rows: int, columns: int) -> tuple[Tensor, int, int]:
        n, heads, _, depth = x.shape
        y = pool(x.reshape(n * heads, rows, columns, depth).permute(0, 3, 1, 2))
        return self.norm(y.reshape(n, heads, depth, -1).transpose(2, 3)), y.shape[2], y.shape[3]

    def forward(self, x: Tensor) -> Tensor:
        n, channels, rows, columns = x.shape
        q, k, v = self.qkv(tokens(x)).reshape(n, rows * columns, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        q, _, _ = self.pooled(q, self.pool_q, rows, columns)
        k, high, wide = self.pooled(k, self.pool_k, rows, columns)
        v, _, _ = self.pooled(v, self.pool_k, rows, columns)
        distance = torch.arange(rows)[:, None] - torch.arange(high)[None] * (rows // high) + (high - 1) * (rows // high)
        relative = torch.einsum("nhyxc,ykc->nhyxk", q.reshape(n, self.heads, rows, columns, -1), self.table[distance])
        weights = (q * q.shape[-1] ** -0.5 @ k.mT).view(n, self.heads, rows, columns, high, wide) + relative[..., None]
        out = weights.view(n, self.heads, rows * columns, -1).softmax(-1) @ v + q
        return self.proj(out.transpose(1, 2).reshape(n, -1, channels)).mT.reshape(n, channels, rows, columns)


class GatedPositions(nn.Module):
    """ConViT: content and position attention mixed by a gate per head."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.qk, self.v, self.proj = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, width), nn.Linear(width, width)
        self.position, self.gate = nn.Linear(3, heads), nn.Parameter(torch.ones(heads))

    def forward(self, x: Tensor) -> Tensor:
        n, channels, rows, _ = x.shape
        q, k = self.qk(tokens(x)).reshape(n, -1, 2, self.heads, channels // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        step = torch.arange(rows).view(1, -1) - torch.arange(rows).view(-1, 1)
        across, down = step.repeat(rows, rows), step.repeat_interleave(rows, 0).repeat_interleave(rows, 1)
        relative = torch.stack([across, down, across**2 + down**2], -1).to(x.dtype)
        place = self.position(relative).permute(2, 0, 1)[None].softmax(-1)
        gate = self.gate.view(1, -1, 1, 1).sigmoid()
        weights = (1 - gate) * (q @ k.mT * (channels // self.heads) ** -0.5).softmax(-1) + gate * place
        weights = weights / weights.sum(-1, keepdim=True)
        v = self.v(tokens(x)).reshape(n, -1, self.heads, channels // self.heads).transpose(1, 2)
        return x + self.proj((weights @ v).transpose(1, 2).flatten(2)).mT.reshape(x.shape)


class LinearAttention(nn.Module):
    """EfficientViT: relu features, sums before the product, the normaliser as a padded column, float32 inside."""

    def __init__(self, width: int, depth: int = 16) -> None:
        super().__init__()
        self.depth = depth
        self.qkv = nn.Conv2d(width, 3 * width, 1, bias=False)
        self.wider = nn.Sequential(
            nn.Conv2d(3 * width, 3 * width, 5, padding=2, groups=3 * width, bias=False),
            nn.Conv2d(3 * width, 3 * width, 1, groups=3 * width // depth, bias=False),
        )
        self.proj = nn.Sequential(nn.Conv2d(2 * width, width, 1, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        n, _, rows, columns = x.shape
        scales = torch.cat([self.qkv(x), self.wider(self.qkv(x))], 1)
        q, k, v = scales.reshape(n, -1, 3 * self.depth, rows * columns).transpose(-1, -2).float().chunk(3, -1)
        out = q.relu() @ (k.relu().transpose(-1, -2) @ F.pad(v, (0, 1), value=1.0))
        out = (out[..., :-1] / (out[..., -1:] + 1e-5)).to(x.dtype)
        return x + self.proj(out.transpose(-1, -2).reshape(n, -1, rows, columns))


class PatchSequence(nn.Module):
    """NaFlex: patches of any grid as a padded sequence, positions resampled, masked attention and pooling."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.embed = nn.Linear(192, width)
        self.positions = nn.Parameter(torch.randn(1, 16, 16, width) * 0.1)
        self.block = nn.TransformerEncoderLayer(width, 2, 2 * width, batch_first=True, norm_first=True)
        self.head = nn.Linear(width, 10)

    def forward(self, patches: Tensor, valid: Tensor) -> Tensor:
        grid = F.interpolate(self.positions.permute(0, 3, 1, 2), size=(6, 5), mode="bicubic", antialias=True)
        x = self.block(self.embed(patches) + tokens(grid), src_key_padding_mask=~valid)
        weights = valid.unsqueeze(-1).to(x.dtype)
        return self.head((x * weights).sum(1) / weights.sum(1))


def _valid() -> Tensor:
    return torch.arange(30)[None] < torch.tensor([[30], [20]])


MODELS: dict[str, Callable[[], Built]] = {
    "botnet": _of(_net(RelativeAttention, 64), _photo),
    "lambda_network": _of(_net(Lambda, 64), _photo),
    "mvit_v2": _of(_net(PooledAttention, 64), _photo),
    "convit": _of(_net(GatedPositions, 64), _photo),
    "efficient_vit_bf16": _of(_net(LinearAttention, 64), _photo, bf16=True),
    "naflex": _of(PatchSequence, lambda: torch.randn(2, 30, 192), _valid),
}
