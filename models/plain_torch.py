"""PyTorch modules of our own, as people write them: one builder per architecture, random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = F.avg_pool2d(torch.tanh(self.conv1(image)), 2)
        x = F.avg_pool2d(torch.tanh(self.conv2(x)), 2)
        x = torch.tanh(self.fc1(torch.flatten(x, 1)))
        return F.log_softmax(self.fc3(torch.tanh(self.fc2(x))), dim=1)


class AlexNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 11, stride=4, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(inplace=True),
        )  # fmt: skip
        self.avgpool = nn.AdaptiveAvgPool2d((3, 3))
        self.classifier = nn.Sequential(nn.Dropout(), nn.Linear(288, 64), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(64, 10))

    def forward(self, image: Tensor) -> Tensor:
        x = self.avgpool(self.features(image))
        return self.classifier(torch.flatten(x, 1))


class Vgg(nn.Module):
    def __init__(self, plan: tuple[int | str, ...] = (16, "M", 32, "M", 32, 32, "M")) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for width in plan:
            if isinstance(width, str):
                layers.append(nn.MaxPool2d(2, 2))
            else:
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
                channels = width
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels * 16, 10)

    def forward(self, image: Tensor) -> Tensor:
        return self.classifier(self.features(image).flatten(1))


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int, groups: int) -> None:
        super().__init__()
        outputs = 2 * width
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, groups=groups, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += identity
        return self.relu(out)


class ResNeXt(nn.Module):
    def __init__(self, groups: int = 4) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(Bottleneck(16, 16, 1, groups), Bottleneck(32, 16, 1, groups))
        self.layer2 = nn.Sequential(Bottleneck(32, 32, 2, groups), Bottleneck(64, 32, 1, groups))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(64, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.maxpool(F.relu(self.bn1(self.conv1(image))))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(channels, channels // 4, 1)
        self.fc2 = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        scale = x.mean((2, 3), keepdim=True)
        scale = F.relu(self.fc1(scale))
        return x * torch.sigmoid(self.fc2(scale))


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int, activation: type[nn.Module]) -> None:
        super().__init__()
        hidden = inputs * 4
        self.expand = nn.Sequential(nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden), activation())
        self.depthwise = nn.Sequential(nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), activation())
        self.se = SqueezeExcite(hidden)
        self.project = nn.Sequential(nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y = self.project(self.se(self.depthwise(self.expand(x))))
        return x + y if self.residual else y


class MobileNetV3(nn.Module):
    def __init__(self, activation: type[nn.Module] = nn.Hardswish) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), activation())
        self.blocks = nn.Sequential(
            InvertedResidual(16, 16, 1, activation), InvertedResidual(16, 24, 2, activation),
            InvertedResidual(24, 24, 1, activation),
        )  # fmt: skip
        self.head = nn.Linear(24, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.blocks(self.stem(image))
        return self.head(x.mean((2, 3)))


class ShuffleUnit(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        half = channels // 2
        self.branch = nn.Sequential(
            nn.Conv2d(half, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU(),
            nn.Conv2d(half, half, 3, 1, 1, groups=half, bias=False), nn.BatchNorm2d(half),
            nn.Conv2d(half, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        x1, x2 = x.chunk(2, dim=1)
        out = torch.cat((x1, self.branch(x2)), dim=1)
        return F.channel_shuffle(out, 2)


class ShuffleNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, 2, 1)
        self.stage = nn.Sequential(ShuffleUnit(32), ShuffleUnit(32))
        self.fc = nn.Linear(32, 10)

    def forward(self, image: Tensor) -> Tensor:
        return self.fc(self.stage(self.stem(image)).mean([2, 3]))


class GhostModule(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        primary = outputs // 2
        self.primary_conv = nn.Sequential(nn.Conv2d(inputs, primary, 1, bias=False), nn.BatchNorm2d(primary), nn.ReLU())
        self.cheap_operation = nn.Sequential(nn.Conv2d(primary, primary, 3, 1, 1, groups=primary, bias=False), nn.BatchNorm2d(primary), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        x1 = self.primary_conv(x)
        return torch.cat([x1, self.cheap_operation(x1)], dim=1)


class DenseBlock(nn.Module):
    def __init__(self, inputs: int, growth: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(inputs + i * growth), nn.ReLU(), nn.Conv2d(inputs + i * growth, growth, 3, padding=1, bias=False))
            for i in range(layers)
        )

    def forward(self, x: Tensor) -> Tensor:
        features = [x]
        for layer in self.layers:
            features.append(layer(torch.cat(features, 1)))
        return torch.cat(features, 1)


class DenseNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 1, bias=False)
        self.block1 = DenseBlock(16, 8, 2)
        self.transition = nn.Sequential(nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 16, 1, bias=False), nn.AvgPool2d(2, 2))
        self.block2 = DenseBlock(16, 8, 2)
        self.classifier = nn.Linear(32, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.block2(self.transition(self.block1(self.stem(image))))
        return self.classifier(F.adaptive_avg_pool2d(F.relu(x), (1, 1)).flatten(1))


class InceptionBlock(nn.Module):
    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.branch1x1 = nn.Conv2d(inputs, 16, 1)
        self.branch5x5_1 = nn.Conv2d(inputs, 8, 1)
        self.branch5x5_2 = nn.Conv2d(8, 16, 5, padding=2)
        self.branch7_1 = nn.Conv2d(inputs, 8, (1, 7), padding=(0, 3))
        self.branch7_2 = nn.Conv2d(8, 16, (7, 1), padding=(3, 0))
        self.branch_pool = nn.Conv2d(inputs, 16, 1)

    def forward(self, x: Tensor) -> Tensor:
        branches = [
            self.branch1x1(x),
            self.branch5x5_2(F.relu(self.branch5x5_1(x))),
            self.branch7_2(F.relu(self.branch7_1(x))),
            self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)),
        ]
        return F.relu(torch.cat(branches, 1))


class Inception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2)
        self.mixed1 = InceptionBlock(16)
        self.mixed2 = InceptionBlock(64)
        self.fc = nn.Linear(64, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.mixed2(self.mixed1(self.stem(image)))
        return self.fc(x.mean((2, 3)))


class DoubleConv(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.conv2(F.relu(self.norm(self.conv1(x)))))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1 = DoubleConv(3, 16)
        self.down2 = DoubleConv(16, 32)
        self.bottom = DoubleConv(32, 32)
        self.up1 = nn.ConvTranspose2d(32, 32, 2, stride=2)
        self.conv1 = DoubleConv(64, 16)
        self.up2 = nn.Upsample(scale_factor=2, mode="nearest")
        self.conv2 = DoubleConv(32, 16)
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, image: Tensor) -> Tensor:
        x1 = self.down1(image)
        x2 = self.down2(F.max_pool2d(x1, 2))
        x = self.bottom(F.max_pool2d(x2, 2))
        x = self.conv1(torch.cat([self.up1(x), x2], dim=1))
        x = self.conv2(torch.cat([self.up2(x), x1], dim=1))
        return self.out(x)


class YoloHead(nn.Module):
    """A CSP-like backbone, SPPF, an up-sampled neck and two detection scales decoded to boxes."""

    def __init__(self, classes: int = 4) -> None:
        super().__init__()
        self.stem = self._conv(3, 16, 2)
        self.stage1 = self._conv(16, 32, 2)
        self.stage2 = self._conv(32, 32, 2)
        self.sppf = nn.Conv2d(96, 32, 1)
        self.neck = self._conv(64, 32, 1)
        self.detect = nn.ModuleList([nn.Conv2d(32, classes + 4, 1), nn.Conv2d(32, classes + 4, 1)])
        grids = [torch.stack(torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij"), -1) for n in (8, 4)]
        self.register_buffer("anchors", torch.cat([grid.reshape(-1, 2) for grid in grids]).float())

    @staticmethod
    def _conv(inputs: int, outputs: int, stride: int) -> nn.Sequential:
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.SiLU())

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        x = self.stage1(self.stem(image))
        deep = self.stage2(x)
        y1 = F.max_pool2d(deep, 5, 1, 2)
        deep = self.sppf(torch.cat([deep, y1, F.max_pool2d(y1, 5, 1, 2)], 1))
        x = self.neck(torch.cat([x, F.interpolate(deep, scale_factor=2.0)], 1))
        flat = [head(feature).flatten(2) for head, feature in zip(self.detect, (x, deep), strict=True)]
        boxes, scores = torch.cat(flat, 2).transpose(1, 2).split([4, 4], dim=-1)
        centers = (boxes[..., :2].sigmoid() * 2 - 0.5 + self.anchors) * 8
        sizes = (boxes[..., 2:].sigmoid() * 2) ** 2 * 16
        return torch.cat([centers - sizes / 2, centers + sizes / 2], -1), scores.sigmoid()


class SequenceTagger(nn.Module):
    def __init__(self, cell: type[nn.RNNBase], bidirectional: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        self.rnn = cell(32, 32, num_layers=1, batch_first=True, bidirectional=bidirectional)
        self.out = nn.Linear(64 if bidirectional else 32, 5)

    def forward(self, tokens: Tensor) -> Tensor:
        output, _ = self.rnn(self.embedding(tokens))
        return self.out(output)


class GraphConvolution(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        degree = adjacency.sum(-1, keepdim=True).clamp(min=1)
        return self.linear(adjacency @ x / degree)


class GCN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = GraphConvolution(32, 32)
        self.conv2 = GraphConvolution(32, 7)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        x = F.relu(self.conv1(x, adjacency))
        return F.log_softmax(self.conv2(x, adjacency), dim=-1)


class GATLayer(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.project = nn.Linear(inputs, outputs, bias=False)
        self.source = nn.Linear(outputs, 1, bias=False)
        self.target = nn.Linear(outputs, 1, bias=False)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        h = self.project(x)
        scores = F.leaky_relu(self.source(h) + self.target(h).transpose(-1, -2), 0.2)
        scores = scores.masked_fill(adjacency == 0, -1e9)
        return F.elu(torch.softmax(scores, dim=-1) @ h)


class GAT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer1 = GATLayer(32, 32)
        self.layer2 = GATLayer(32, 16)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        return self.layer2(self.layer1(x, adjacency), adjacency)


class MessagePassing(nn.Module):
    """Sums messages along an edge list with index_add."""

    def __init__(self) -> None:
        super().__init__()
        self.message = nn.Linear(32, 32)
        self.update = nn.Linear(64, 32)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        messages = F.relu(self.message(x[edges[0]]))
        received = torch.zeros_like(x).index_add(0, edges[1], messages)
        return self.update(torch.cat([x, received], -1))


class DLRM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.tables = nn.ModuleList(nn.Embedding(40, 16) for _ in range(4))
        self.top = nn.Sequential(nn.Linear(26, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        x = self.bottom(dense)
        features = torch.stack([x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)], dim=1)
        interactions = torch.bmm(features, features.transpose(1, 2))
        i, j = torch.tril_indices(5, 5, offset=-1)
        return torch.sigmoid(self.top(torch.cat([x, interactions[:, i, j]], dim=1)))


class PointNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(3, 32, 1)
        self.bn1 = nn.BatchNorm1d(32)
        self.conv2 = nn.Conv1d(32, 64, 1)
        self.fc = nn.Linear(64, 10)

    def forward(self, points: Tensor) -> Tensor:
        x = F.relu(self.bn1(self.conv1(points)))
        x = torch.max(self.conv2(x), 2)[0]
        return self.fc(x)


class Conv3dNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv3d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv3d(16, 32, 3, stride=2, padding=1)
        self.fc = nn.Linear(32, 5)

    def forward(self, video: Tensor) -> Tensor:
        x = F.relu(self.conv2(F.relu(self.conv1(video))))
        return self.fc(x.mean((2, 3, 4)))


class TemporalBlock(nn.Module):
    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.padding = 2 * dilation
        self.conv1 = nn.Conv1d(channels, channels, 3, padding=self.padding, dilation=dilation)
        self.conv2 = nn.Conv1d(channels, channels, 3, padding=self.padding, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.conv1(x)[:, :, : -self.padding])
        out = F.relu(self.conv2(out)[:, :, : -self.padding])
        return F.relu(out + x)


class TCN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv1d(4, 32, 1)
        self.blocks = nn.ModuleList(TemporalBlock(32, 2**i) for i in range(3))
        self.decoder = nn.Linear(32, 6)

    def forward(self, signal: Tensor) -> Tensor:
        x = self.stem(signal)
        for block in self.blocks:
            x = block(x)
        return self.decoder(x[:, :, -1])


class MixerBlock(nn.Module):
    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(tokens, 32), nn.GELU(), nn.Linear(32, tokens))
        self.norm2 = nn.LayerNorm(width)
        self.channels = nn.Sequential(nn.Linear(width, 128), nn.GELU(), nn.Linear(128, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class MlpMixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 8, stride=8)
        self.blocks = nn.Sequential(MixerBlock(16, 64), MixerBlock(16, 64))
        self.norm = nn.LayerNorm(64)
        self.head = nn.Linear(64, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(dim=1))


class RWKVBlock(nn.Module):
    """Time mixing by token shift and an exponential moving average, unrolled."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(width)
        self.mix = nn.Parameter(torch.rand(width))
        self.decay = nn.Parameter(torch.rand(width))
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.receptance = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = self.ln(x)
        shifted = F.pad(h, (0, 0, 1, -1))
        mixed = h * self.mix + shifted * (1 - self.mix)
        k, v, r = torch.exp(self.key(mixed)), self.value(mixed), torch.sigmoid(self.receptance(mixed))
        decay = torch.exp(-torch.exp(self.decay))
        num, den = torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0])
        outputs = []
        for step in range(x.shape[1]):
            num = num * decay + k[:, step] * v[:, step]
            den = den * decay + k[:, step]
            outputs.append(num / den)
        return x + self.output(r * torch.stack(outputs, dim=1))


class ConvVAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.LeakyReLU(0.1), nn.Conv2d(16, 32, 3, 2, 1), nn.LeakyReLU(0.1))
        self.mu = nn.Linear(512, 16)
        self.logvar = nn.Linear(512, 16)
        self.decode = nn.Linear(16, 512)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(32, 16, 3, 2, 1, output_padding=1), nn.ReLU(),
            nn.ConvTranspose2d(16, 1, 3, 2, 1, output_padding=1), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, image: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.encoder(image).flatten(1)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + noise * torch.exp(0.5 * logvar)
        return self.decoder(self.decode(z).view(-1, 32, 4, 4)), mu, logvar


class Generator(nn.Module):
    """DCGAN."""

    def __init__(self) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(16, 32, 4, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
            nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
            nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False), nn.Tanh(),
        )  # fmt: skip

    def forward(self, noise: Tensor) -> Tensor:
        return self.main(noise)


class WideAndDeep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(64, 16)
        self.wide = nn.Linear(8, 1)
        self.deep = nn.Sequential(nn.Linear(56, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Dropout(0.2), nn.Linear(32, 1))

    def forward(self, categories: Tensor, numbers: Tensor) -> Tensor:
        embedded = self.embeddings(categories).flatten(1)
        return torch.sigmoid(self.wide(numbers) + self.deep(torch.cat([embedded, numbers], dim=1))).squeeze(1)


class Seq2Seq(nn.Module):
    """nn.Transformer as it comes."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(60, 32)
        self.transformer = nn.Transformer(32, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(32, 60)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.out(self.transformer(self.embed(source), self.embed(target), tgt_mask=mask))


class DeepLabHead(nn.Module):
    """Atrous pyramid with bilinear up-sampling."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, 2, 1)
        self.atrous = nn.ModuleList(nn.Conv2d(32, 16, 3, padding=rate, dilation=rate) for rate in (1, 2, 4))
        self.pool = nn.Conv2d(32, 16, 1)
        self.project = nn.Conv2d(64, 5, 1)

    def forward(self, image: Tensor) -> Tensor:
        x = F.relu(self.stem(image))
        branches = [F.relu(conv(x)) for conv in self.atrous]
        pooled = F.relu(self.pool(F.adaptive_avg_pool2d(x, 1)))
        branches.append(pooled.expand(-1, -1, x.shape[2], x.shape[3]))
        x = self.project(torch.cat(branches, dim=1))
        return F.interpolate(x, size=image.shape[-2:], mode="bilinear", align_corners=False)


class KeyValueDecoder(nn.Module):
    """One decode step that writes its key and value into static buffers."""

    def __init__(self, width: int = 64, heads: int = 2, length: int = 32) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("key_cache", torch.zeros(1, heads, length, width // heads))
        self.register_buffer("value_cache", torch.zeros(1, heads, length, width // heads))

    def forward(self, hidden: Tensor, position: Tensor) -> Tensor:
        query, key, value = (part.view(1, 1, self.heads, -1).transpose(1, 2) for part in self.qkv(hidden).chunk(3, dim=-1))
        self.key_cache.index_copy_(2, position, key)
        self.value_cache.index_copy_(2, position, value)
        mask = torch.arange(self.key_cache.shape[2])[None, :] <= position[:, None]
        context = F.scaled_dot_product_attention(query, self.key_cache, self.value_cache, attn_mask=mask)
        return self.out(context.transpose(1, 2).reshape(1, 1, -1))


def image(size: int = 32, batch: int = 1, channels: int = 3) -> Tensor:
    return torch.randn(batch, channels, size, size)


def _adjacency() -> Tensor:
    return ((torch.rand(24, 24) > 0.7) | torch.eye(24, dtype=torch.bool)).float()


def _of(make: Callable[[], nn.Module], *inputs: Callable[[], Tensor], bf16: bool = False) -> Callable[[], Built]:
    def build() -> Built:
        torch.manual_seed(0)
        model = make().eval()
        _settle(model)
        args = tuple(one() for one in inputs)
        if bf16:
            model = model.to(torch.bfloat16)
            args = tuple(one.to(torch.bfloat16) if one.is_floating_point() else one for one in args)
        return model, args, {}

    return build


def _settle(model: nn.Module) -> None:
    """Running statistics of batch norms as training would leave them, so that folding them is no identity."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.uniform_(-0.2, 0.2)
            module.running_var.uniform_(0.5, 1.5)


def _ids(high: int, *shape: int) -> Callable[[], Tensor]:
    return lambda: torch.randint(0, high, shape)


MODELS: dict[str, Callable[[], Built]] = {
    "lenet": _of(LeNet, lambda: image(28, 2, 1)),
    "alexnet": _of(AlexNet, lambda: image(96)),
    "vgg_bn": _of(Vgg, lambda: image(32, 2)),
    "resnext_bf16": _of(ResNeXt, lambda: image(64), bf16=True),
    "mobilenet_v3": _of(MobileNetV3, lambda: image(32)),
    "efficientnet_bf16": _of(lambda: MobileNetV3(nn.SiLU), lambda: image(32), bf16=True),
    "shufflenet": _of(ShuffleNet, lambda: image(32)),
    "ghostnet": _of(lambda: nn.Sequential(GhostModule(3, 16), GhostModule(16, 32), nn.AvgPool2d(4), nn.Flatten(), nn.Linear(512, 4)), lambda: image(16)),
    "densenet": _of(DenseNet, lambda: image(32)),
    "inception": _of(Inception, lambda: image(33)),
    "unet": _of(UNet, lambda: image(32)),
    "unet_bf16": _of(UNet, lambda: image(32), bf16=True),
    "yolo": _of(YoloHead, lambda: image(32)),
    "deeplab": _of(DeepLabHead, lambda: image(32)),
    "lstm": _of(lambda: SequenceTagger(nn.LSTM, False), _ids(50, 2, 6)),
    "bilstm": _of(lambda: SequenceTagger(nn.LSTM, True), _ids(50, 2, 5)),
    "gru_bf16": _of(lambda: SequenceTagger(nn.GRU, False), _ids(50, 2, 6), bf16=True),
    "gcn": _of(GCN, lambda: torch.randn(24, 32), _adjacency),
    "gat": _of(GAT, lambda: torch.randn(24, 32), _adjacency),
    "message_passing": _of(MessagePassing, lambda: torch.randn(24, 32), _ids(24, 2, 40)),
    "dlrm": _of(DLRM, lambda: torch.randn(8, 13), _ids(40, 8, 4)),
    "wide_and_deep": _of(WideAndDeep, _ids(64, 4, 3), lambda: torch.randn(4, 8)),
    "pointnet": _of(PointNet, lambda: torch.randn(2, 3, 64)),
    "conv3d": _of(Conv3dNet, lambda: torch.randn(1, 3, 4, 16, 16)),
    "tcn": _of(TCN, lambda: torch.randn(2, 4, 32)),
    "mlp_mixer_bf16": _of(MlpMixer, lambda: image(32), bf16=True),
    "rwkv": _of(lambda: RWKVBlock(32), lambda: torch.randn(1, 6, 32)),
    "conv_vae": _of(ConvVAE, lambda: image(16, 2, 1), lambda: torch.randn(2, 16)),
    "dcgan": _of(Generator, lambda: torch.randn(1, 16, 1, 1)),
    "nn_transformer": _of(Seq2Seq, _ids(60, 2, 8), _ids(60, 2, 6)),
    "kv_cache_step": _of(KeyValueDecoder, lambda: torch.randn(1, 1, 64), lambda: torch.tensor([5])),
}
