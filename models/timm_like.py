"""Small image classifiers with the building blocks of the PyTorch image-model literature, written from the papers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.plain_torch import Built, _of, image


def conv_bn(inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1, act: bool = True) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, nn.ReLU(inplace=True)) if act else nn.Sequential(*layers)


class Head(nn.Module):
    def __init__(self, body: nn.Module, width: int) -> None:
        super().__init__()
        self.body = body
        self.fc = nn.Linear(width, 10)

    def forward(self, image: Tensor) -> Tensor:
        return self.fc(self.body(image).mean((2, 3)))


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps).permute(0, 3, 1, 2)


class ScaledStdConv2d(nn.Conv2d):
    """NFNet: weights standardised at every call."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.gain = nn.Parameter(torch.ones(self.out_channels, 1, 1, 1))
        self.scale = self.weight[0].numel() ** -0.5

    def forward(self, x: Tensor) -> Tensor:
        rows = self.weight.reshape(1, self.out_channels, -1)
        weight = F.batch_norm(rows, None, None, weight=(self.gain * self.scale).view(-1), training=True, momentum=0.0, eps=1e-6)
        return F.conv2d(x, weight.reshape_as(self.weight), self.bias, self.stride, self.padding, self.dilation, self.groups)


class NFBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = ScaledStdConv2d(width, width // 2, 1)
        self.conv2 = ScaledStdConv2d(width // 2, width // 2, 3, padding=1, groups=4)
        self.conv3 = ScaledStdConv2d(width // 2, width, 1)
        self.skipinit_gain = nn.Parameter(torch.tensor(0.5))

    def forward(self, x: Tensor) -> Tensor:
        out = F.silu(x) * 1.7881 * 0.9
        out = F.silu(self.conv1(out)) * 1.7881
        out = F.silu(self.conv2(out)) * 1.7881
        return self.conv3(out) * self.skipinit_gain * 0.2 + x


class Res2Block(nn.Module):
    def __init__(self, width: int, scale: int = 4) -> None:
        super().__init__()
        self.conv1 = conv_bn(width, width, 1)
        self.convs = nn.ModuleList(conv_bn(width // scale, width // scale) for _ in range(scale - 1))
        self.conv3 = conv_bn(width, width, 1, act=False)
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        parts = torch.split(self.conv1(x), x.shape[1] // self.scale, 1)
        outs = [parts[0]]
        for i, conv in enumerate(self.convs):
            outs.append(conv(parts[i + 1] if i == 0 else parts[i + 1] + outs[-1]))
        return F.relu(self.conv3(torch.cat(outs, 1)) + x)


class SelectiveKernel(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.paths = nn.ModuleList([conv_bn(width, width, 3), conv_bn(width, width, 5)])
        self.fc_reduce = conv_bn(width, 16, 1)
        self.fc_select = nn.Conv2d(16, 2 * width, 1)

    def forward(self, x: Tensor) -> Tensor:
        paths = torch.stack([path(x) for path in self.paths], dim=1)
        attention = self.fc_select(self.fc_reduce(paths.sum(1).mean((2, 3), keepdim=True)))
        b, c, h, w = attention.shape
        attention = torch.softmax(attention.view(b, 2, c // 2, h, w), dim=1)
        return torch.sum(paths * attention, dim=1)


class SplitAttention(nn.Module):
    """ResNeSt's radix-2 split attention."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = conv_bn(width, 2 * width, 3, groups=2)
        self.fc1 = nn.Conv2d(width, 16, 1)
        self.fc2 = nn.Conv2d(16, 2 * width, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        b, rc, h, w = x.shape
        x = x.reshape(b, 2, rc // 2, h, w)
        gap = F.adaptive_avg_pool2d(x.sum(dim=1), 1)
        attention = self.fc2(F.relu(self.fc1(gap))).view(b, 1, 2, -1).transpose(1, 2)
        attention = F.softmax(attention, dim=1).reshape(b, 2, rc // 2, 1, 1)
        return (x * attention).sum(dim=1).contiguous()


class EfficientChannelAttention(nn.Module):
    def __init__(self, kernel: int = 3) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 1, kernel, padding=kernel // 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x.mean((2, 3)).view(x.shape[0], 1, -1)).view(x.shape[0], -1, 1, 1).sigmoid()
        return x * y.expand_as(x)


class BlurPool2d(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels
        row = torch.tensor([0.25, 0.5, 0.25])
        self.register_buffer("filt", (row[:, None] * row)[None, None].repeat(channels, 1, 1, 1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(F.pad(x, [1, 1, 1, 1], mode="reflect"), self.filt, stride=2, groups=self.channels)


class OneShotAggregation(nn.Module):
    """VoVNet: layers in a chain, all of them joined at the end, with effective squeeze-excitation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(conv_bn(width, width) for _ in range(3))
        self.conv_concat = conv_bn(4 * width, width, 1)
        self.ese = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        outs = [x]
        for layer in self.layers:
            outs.append(layer(outs[-1]))
        y = self.conv_concat(torch.cat(outs, 1))
        return y * F.hardsigmoid(self.ese(y.mean((2, 3), keepdim=True))) + x


class RepVggBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.identity = nn.BatchNorm2d(width)
        self.conv_kxk = conv_bn(width, width, 3, act=False)
        self.conv_1x1 = conv_bn(width, width, 1, act=False)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.conv_1x1(x) + self.conv_kxk(x) + self.identity(x))


class HighResolution(nn.Module):
    """HRNet: two resolutions exchanged by strided convolutions and nearest upsampling."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.down = conv_bn(width, 2 * width, 3, 2)
        self.high, self.low = conv_bn(width, width), conv_bn(2 * width, 2 * width)
        self.to_high = conv_bn(2 * width, width, 1, act=False)
        self.to_low = conv_bn(width, 2 * width, 3, 2, act=False)

    def forward(self, x: Tensor) -> Tensor:
        low = self.low(self.down(x))
        high = self.high(x)
        fused = F.relu(high + F.interpolate(self.to_high(low), scale_factor=2, mode="nearest"))
        low = F.relu(low + self.to_low(high))
        return torch.cat([fused, F.interpolate(low, size=fused.shape[2:], mode="bilinear", align_corners=False)], 1)


class ConvMixer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.depthwise = nn.Sequential(nn.Conv2d(width, width, 5, groups=width, padding="same"), nn.GELU(), nn.BatchNorm2d(width))
        self.pointwise = nn.Sequential(nn.Conv2d(width, width, 1), nn.GELU(), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.pointwise(self.depthwise(x) + x)


class CrossCovariance(nn.Module):
    """XCiT: attention between channels with a temperature."""

    def __init__(self, width: int, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))
        self.gamma = nn.Parameter(torch.full((width,), 0.5))
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        b, c, h, w = x.shape
        tokens = x.flatten(2).transpose(1, 2)
        qkv = self.qkv(self.norm(tokens)).reshape(b, h * w, 3, self.heads, c // self.heads).permute(2, 0, 3, 4, 1)
        q, k, v = qkv.unbind(0)
        q, k = F.normalize(q, p=2.0, dim=-1), F.normalize(k, p=2.0, dim=-1)
        attn = (q @ k.transpose(-2, -1)) * self.temperature
        out = (attn.softmax(dim=-1) @ v).permute(0, 3, 1, 2).reshape(b, h * w, c)
        tokens = tokens + self.gamma * self.proj(out)
        return tokens.transpose(1, 2).reshape(b, c, h, w)


class ClassAttention(nn.Module):
    """CaiT: talking heads between patches, then a class token that attends to all."""

    def __init__(self, width: int, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.proj_l, self.proj_w = nn.Linear(heads, heads), nn.Linear(heads, heads)
        self.cls_token = nn.Parameter(torch.randn(1, 1, width) * 0.1)
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        b, c = x.shape[:2]
        tokens = x.flatten(2).transpose(1, 2)
        n = tokens.shape[1]
        qkv = self.qkv(tokens).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0] * self.scale, qkv[1], qkv[2]
        attn = self.proj_l((q @ k.transpose(-2, -1)).permute(0, 2, 3, 1)).permute(0, 3, 1, 2).softmax(dim=-1)
        attn = self.proj_w(attn.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        tokens = tokens + self.proj((attn @ v).transpose(1, 2).reshape(b, n, c))
        both = torch.cat((self.cls_token.expand(b, -1, -1), tokens), dim=1)
        q = self.q(both[:, 0]).unsqueeze(1).reshape(b, 1, self.heads, -1).permute(0, 2, 1, 3)
        k = self.k(both).reshape(b, n + 1, self.heads, -1).permute(0, 2, 1, 3)
        v = self.v(both).reshape(b, n + 1, self.heads, -1).permute(0, 2, 1, 3)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, c, 1, 1)


class GridAttention(nn.Module):
    """MaxViT: attention in blocks and across a grid, with a relative position bias."""

    def __init__(self, width: int, window: int = 4, grid: bool = False) -> None:
        super().__init__()
        self.window, self.grid, self.heads = window, grid, 2
        self.norm = nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias_table = nn.Parameter(torch.randn((2 * window - 1) ** 2, self.heads) * 0.02)
        coords = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        relative = (coords[:, :, None] - coords[:, None, :]) + window - 1
        self.register_buffer("index", relative[0] * (2 * window - 1) + relative[1], persistent=False)

    def forward(self, image: Tensor) -> Tensor:
        b, c, h, w = image.shape
        x, s = image.permute(0, 2, 3, 1), self.window
        if self.grid:
            x = x.view(b, s, h // s, s, w // s, c).permute(0, 2, 4, 1, 3, 5)
        else:
            x = x.view(b, h // s, s, w // s, s, c).permute(0, 1, 3, 2, 4, 5)
        x = x.contiguous().view(-1, s * s, c)
        q, k, v = self.qkv(self.norm(x)).view(x.shape[0], s * s, self.heads, -1).transpose(1, 2).chunk(3, dim=3)
        bias = self.bias_table[self.index.view(-1)].view(s * s, s * s, -1).permute(2, 0, 1).contiguous().unsqueeze(0)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + self.proj(out.transpose(1, 2).reshape(x.shape[0], s * s, c))
        if self.grid:
            x = x.view(b, h // s, w // s, s, s, c).permute(0, 3, 1, 4, 2, 5)
        else:
            x = x.view(b, h // s, w // s, s, s, c).permute(0, 1, 3, 2, 4, 5)
        return x.contiguous().view(b, h, w, c).permute(0, 3, 1, 2)


class HaloAttention(nn.Module):
    """HaloNet: blocks of queries attend to a larger window gathered by unfold."""

    def __init__(self, width: int, block: int = 4, halo: int = 1) -> None:
        super().__init__()
        self.block, self.halo, self.heads = block, halo, 2
        self.q, self.kv = nn.Conv2d(width, width, 1, bias=False), nn.Conv2d(width, 2 * width, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        b, c, h, w = x.shape
        n, size = h // self.block, self.block + 2 * self.halo
        d = c // self.heads
        q = self.q(x).reshape(b * self.heads, d, n, self.block, n, self.block).permute(0, 2, 4, 3, 5, 1)
        q = q.reshape(b * self.heads, n * n, self.block**2, d)
        kv = F.pad(self.kv(x), [self.halo] * 4).unfold(2, size, self.block).unfold(3, size, self.block)
        kv = kv.reshape(b * self.heads, 2 * d, n * n, size * size).permute(0, 2, 3, 1)
        k, v = torch.split(kv, [d, d], dim=-1)
        out = ((q @ k.transpose(-1, -2)) * d**-0.5).softmax(-1) @ v
        out = out.reshape(b * self.heads, n, n, self.block, self.block, d).permute(0, 5, 1, 3, 2, 4)
        return out.reshape(b, c, h, w)


class ConditionalConv(nn.Module):
    """CondConv: a mixture of kernels per sample, run as one grouped convolution."""

    def __init__(self, width: int, experts: int = 3) -> None:
        super().__init__()
        self.routing = nn.Linear(width, experts)
        self.weight = nn.Parameter(torch.randn(experts, width * width * 9) * 0.05)

    def forward(self, x: Tensor) -> Tensor:
        b, c, h, w = x.shape
        weight = torch.matmul(torch.sigmoid(self.routing(x.mean((2, 3)))), self.weight).view(b * c, c, 3, 3)
        return F.conv2d(x.reshape(1, b * c, h, w), weight, padding=1, groups=b).view(b, c, h, w)


class FocalModulation(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.f = nn.Linear(width, 2 * width + 3)
        self.focal = nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, k, padding=k // 2, groups=width, bias=False), nn.GELU()) for k in (3, 5))
        self.h = nn.Conv2d(width, width, 1)
        self.norm = LayerNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        c = x.shape[1]
        q, context, gates = torch.split(self.f(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2), [c, c, 3], 1)
        total = torch.zeros_like(context)
        for level, layer in enumerate(self.focal):
            context = layer(context)
            total = total + context * gates[:, level : level + 1]
        total = total + F.gelu(context.mean((2, 3), keepdim=True)) * gates[:, 2:]
        return self.norm(x + q * self.h(total))


class ConvNeXtV2Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.dwconv = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.grn_weight, self.grn_bias = nn.Parameter(torch.rand(4 * width)), nn.Parameter(torch.rand(4 * width))

    def forward(self, x: Tensor) -> Tensor:
        y = F.gelu(self.fc1(self.norm(self.dwconv(x).permute(0, 2, 3, 1))))
        norm = y.norm(p=2, dim=(1, 2), keepdim=True)
        norm = norm / (norm.mean(dim=-1, keepdim=True) + 1e-6)
        y = y + torch.addcmul(self.grn_bias.view(1, 1, 1, -1), self.grn_weight.view(1, 1, 1, -1), y * norm)
        return x + self.fc2(y).permute(0, 3, 1, 2)


class Sequencer(nn.Module):
    """Sequencer2D: bidirectional LSTMs along rows and columns."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.rows = nn.LSTM(width, width // 4, batch_first=True, bidirectional=True)
        self.columns = nn.LSTM(width, width // 4, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(x, 4).permute(0, 2, 3, 1)
        b, h, w, c = x.shape
        vertical, _ = self.columns(x.permute(0, 2, 1, 3).reshape(-1, h, c))
        vertical = vertical.reshape(b, w, h, -1).permute(0, 2, 1, 3)
        horizontal, _ = self.rows(x.reshape(-1, w, c))
        return self.fc(torch.cat([vertical, horizontal.reshape(b, h, w, -1)], dim=-1)).permute(0, 3, 1, 2)


class RotaryAttention(nn.Module):
    """EVA-like: two-dimensional rotary position embedding, q and k norms, SwiGLU."""

    def __init__(self, width: int, side: int, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        d = width // heads
        self.qkv, self.proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.q_norm, self.k_norm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.w1, self.w2, self.w3 = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        angle = torch.outer(torch.arange(side * side).float(), 100.0 ** -(torch.arange(d // 2) / (d // 2))).repeat_interleave(2, -1)
        self.register_buffer("sin", angle.sin(), persistent=False)
        self.register_buffer("cos", angle.cos(), persistent=False)

    def rotate(self, x: Tensor) -> Tensor:
        turned = torch.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)
        return x * self.cos + turned * self.sin

    def forward(self, x: Tensor) -> Tensor:
        b, c, h, w = x.shape
        tokens = x.flatten(2).transpose(1, 2)
        q, k, v = self.qkv(tokens).reshape(b, h * w, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        q, k = self.rotate(self.q_norm(q)), self.rotate(self.k_norm(k))
        tokens = tokens + self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, h * w, c))
        tokens = tokens + self.w3(F.silu(self.w1(tokens)) * self.w2(tokens))
        return tokens.transpose(1, 2).reshape(b, c, h, w)


class CrossStage(nn.Module):
    """CSPNet: half of the channels around the blocks, and DarkNet's leaky activations."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.expand = nn.Conv2d(width, 2 * width, 1)
        self.block = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.LeakyReLU(0.1))
        self.transition = nn.Conv2d(2 * width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        passed, used = self.expand(x).chunk(2, dim=1)
        return self.transition(torch.cat([passed, used + self.block(used)], dim=1))


class MixedConv(nn.Module):
    """MixNet's kernels of several sizes and hard-swish, then TensorFlow's "same" padding with a stride."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList(nn.Conv2d(width // 4, width // 4, k, padding=k // 2, groups=width // 4) for k in (3, 5, 7, 9))
        self.down = nn.Conv2d(width, width, 3, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = F.hardswish(torch.cat([part(one) for part, one in zip(self.parts, torch.split(x, x.shape[1] // 4, 1), strict=True)], 1))
        return self.down(F.pad(x, [0, 1, 0, 1]))


class SpaceToDepth(nn.Module):
    """TResNet's stem."""

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        x = x.view(n, c, h // 4, 4, w // 4, 4).permute(0, 3, 5, 1, 2, 4).contiguous()
        return x.view(n, c * 16, h // 4, w // 4)


class Outlook(nn.Module):
    """VOLO: attention weights predicted per place, applied to unfolded neighbours and folded back."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.v, self.attn, self.proj = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * 81), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x.permute(0, 2, 3, 1)
        b, h, w, c = x.shape
        v = F.unfold(self.v(x).permute(0, 3, 1, 2), 3, padding=1, stride=2)
        n = h // 2 * (w // 2)
        v = v.reshape(b, 2, c // 2, 9, n).permute(0, 1, 4, 3, 2)
        attn = F.avg_pool2d(x.permute(0, 3, 1, 2), 2, 2, ceil_mode=True).permute(0, 2, 3, 1)
        attn = self.attn(attn).reshape(b, n, 2, 9, 9).permute(0, 2, 1, 3, 4)
        out = ((attn * (c // 2) ** -0.5).softmax(-1) @ v).permute(0, 1, 4, 3, 2).reshape(b, c * 9, n)
        return self.proj(F.fold(out, (h, w), 3, padding=1, stride=2).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ResizedPositions(nn.Module):
    """A ViT whose position table is resampled for another image size (bicubic, antialiased)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.pos_embed = nn.Parameter(torch.randn(1, 16, width))

    def forward(self, x: Tensor) -> Tensor:
        c, h, w = x.shape[1:]
        grid = self.pos_embed.reshape(1, 4, 4, c).permute(0, 3, 1, 2)
        grid = F.interpolate(grid.float(), size=(h, w), mode="bicubic", antialias=True).to(x.dtype)
        return x + grid


def _net(block: Callable[[int], nn.Module], width: int = 32, outputs: int = 0) -> Callable[[], nn.Module]:
    return lambda: Head(nn.Sequential(conv_bn(3, width, 3, 2), block(width)), outputs or width)


def _photo() -> Tensor:
    return image(32, 2)


BLOCKS: dict[str, Callable[[], nn.Module]] = {
    "nfnet": _net(NFBlock),
    "res2net": _net(Res2Block),
    "sknet": _net(SelectiveKernel),
    "resnest": _net(SplitAttention),
    "ecanet": _net(lambda _: EfficientChannelAttention()),
    "blur_pool": _net(BlurPool2d),
    "vovnet": _net(OneShotAggregation),
    "repvgg": _net(RepVggBlock),
    "hrnet": _net(HighResolution, outputs=96),
    "convmixer": _net(ConvMixer),
    "xcit": _net(CrossCovariance, 64),
    "cait": _net(ClassAttention, 64),
    "maxvit": lambda: Head(nn.Sequential(conv_bn(3, 64, 3, 2), GridAttention(64), GridAttention(64, grid=True)), 64),
    "halonet": _net(HaloAttention, 64),
    "condconv": _net(ConditionalConv),
    "focal_modulation": _net(FocalModulation),
    "convnext_v2_block": _net(ConvNeXtV2Block),
    "sequencer": _net(Sequencer, 64),
    "eva": _net(lambda width: RotaryAttention(width, 16), 64),
    "cspnet": _net(CrossStage),
    "mixnet": _net(MixedConv),
    "tresnet_stem": lambda: Head(nn.Sequential(SpaceToDepth(), conv_bn(48, 32)), 32),
    "volo": _net(Outlook, 64),
    "resized_positions": _net(ResizedPositions),
}
MODELS: dict[str, Callable[[], Built]] = {name: _of(make, _photo) for name, make in BLOCKS.items()} | {
    f"{name}_bf16": _of(BLOCKS[name], _photo, bf16=True) for name in ("nfnet", "maxvit", "eva", "hrnet")
}
