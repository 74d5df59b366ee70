"""Deep convolutional networks at full size, whose long sums are hard on precision: Inception-v3, VGG-16, DenseNet-121, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ConvNorm(nn.Module):
    def __init__(self, inputs: int, outputs: int, kernel: int | tuple[int, int], stride: int = 1, padding: int | tuple[int, int] = 0) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
        self.norm = nn.BatchNorm2d(outputs, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.norm(self.conv(x)))


class Branches(nn.Module):
    """Branches side by side; the last one may start with a pool."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


def _pooled(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.AvgPool2d(3, 1, 1), ConvNorm(inputs, outputs, 1))


def _mixed_a(inputs: int, pooled: int) -> Branches:
    return Branches(
        ConvNorm(inputs, 64, 1),
        nn.Sequential(ConvNorm(inputs, 48, 1), ConvNorm(48, 64, 5, padding=2)),
        nn.Sequential(ConvNorm(inputs, 64, 1), ConvNorm(64, 96, 3, padding=1), ConvNorm(96, 96, 3, padding=1)),
        _pooled(inputs, pooled),
    )


def _mixed_c(width: int) -> Branches:
    across, down = ((1, 7), (0, 3)), ((7, 1), (3, 0))

    def chain(*steps: tuple[int, int, tuple[tuple[int, int], tuple[int, int]]]) -> list[ConvNorm]:
        return [ConvNorm(inputs, outputs, kernel, padding=padding) for inputs, outputs, (kernel, padding) in steps]

    return Branches(
        ConvNorm(768, 192, 1),
        nn.Sequential(ConvNorm(768, width, 1), *chain((width, width, across), (width, 192, down))),
        nn.Sequential(ConvNorm(768, width, 1), *chain((width, width, down), (width, width, across), (width, width, down), (width, 192, across))),
        _pooled(768, 192),
    )


def _mixed_e(inputs: int) -> Branches:
    def fork(width: int) -> Branches:
        return Branches(ConvNorm(width, 384, (1, 3), padding=(0, 1)), ConvNorm(width, 384, (3, 1), padding=(1, 0)))

    return Branches(
        ConvNorm(inputs, 320, 1),
        nn.Sequential(ConvNorm(inputs, 384, 1), fork(384)),
        nn.Sequential(ConvNorm(inputs, 448, 1), ConvNorm(448, 384, 3, padding=1), fork(384)),
        _pooled(inputs, 192),
    )


class InceptionV3(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            ConvNorm(3, 32, 3, 2), ConvNorm(32, 32, 3), ConvNorm(32, 64, 3, padding=1), nn.MaxPool2d(3, 2),
            ConvNorm(64, 80, 1), ConvNorm(80, 192, 3), nn.MaxPool2d(3, 2),
        )  # fmt: skip
        self.mixed_5 = nn.Sequential(_mixed_a(192, 32), _mixed_a(256, 64), _mixed_a(288, 64))
        double = nn.Sequential(ConvNorm(288, 64, 1), ConvNorm(64, 96, 3, padding=1), ConvNorm(96, 96, 3, 2))
        self.mixed_6a = Branches(ConvNorm(288, 384, 3, 2), double, nn.MaxPool2d(3, 2))
        self.mixed_6 = nn.Sequential(*(_mixed_c(width) for width in (128, 160, 160, 192)))
        wide = nn.Sequential(
            ConvNorm(768, 192, 1), ConvNorm(192, 192, (1, 7), padding=(0, 3)), ConvNorm(192, 192, (7, 1), padding=(3, 0)), ConvNorm(192, 192, 3, 2)
        )
        self.mixed_7a = Branches(nn.Sequential(ConvNorm(768, 192, 1), ConvNorm(192, 320, 3, 2)), wide, nn.MaxPool2d(3, 2))
        self.mixed_7 = nn.Sequential(_mixed_e(1280), _mixed_e(2048))
        self.fc = nn.Linear(2048, 1000)
        for module in self.modules():  # the usual initialisation of this network: activations do not shrink, so sums are long and large
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(module.weight, std=0.1)

    def forward(self, image: Tensor) -> Tensor:
        x = self.mixed_7(self.mixed_7a(self.mixed_6(self.mixed_6a(self.mixed_5(self.stem(image))))))
        return self.fc(x.mean((2, 3)))


class Vgg16(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = 3
        for outputs in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()] if outputs else [nn.MaxPool2d(2)]
            inputs = outputs or inputs
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Linear(25088, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000))

    def forward(self, image: Tensor) -> Tensor:
        return self.classifier(self.features(image).flatten(1))


class DenseLayer(nn.Module):
    def __init__(self, inputs: int, growth: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.conv2(F.relu(self.norm2(self.conv1(F.relu(self.norm1(x))))))], 1)


class DenseNet121(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        width, growth = 64, 32
        layers: list[nn.Module] = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        for block, count in enumerate((6, 12, 24, 16)):
            if block:
                layers += [nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width // 2, 1, bias=False), nn.AvgPool2d(2)]
                width //= 2
            for _ in range(count):
                layers.append(DenseLayer(width, growth))
                width += growth
        self.features = nn.Sequential(*layers, nn.BatchNorm2d(width), nn.ReLU())
        self.classifier = nn.Linear(width, 1000)

    def forward(self, image: Tensor) -> Tensor:
        return self.classifier(self.features(image).mean((2, 3)))


def _of(make: Callable[[], nn.Module], size: int) -> Callable[[], Any]:
    def build() -> tuple[nn.Module, tuple[Tensor, ...], dict[str, Any]]:
        torch.manual_seed(0)
        return make().eval(), (torch.randn(1, 3, size, size),), {}

    return build


MODELS = {"inception_v3": _of(InceptionV3, 299), "vgg16": _of(Vgg16, 224), "densenet121": _of(DenseNet121, 224)}
