"""Reference networks with torchvision's module names, for models that take their weights from there."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

MAKERS = ("resnet50", "resnet18", "resnet34", "vgg11", "vgg16", "vgg19", "vgg19_bn", "mobilenet_v2")


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions around a shortcut."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int, downsample: nn.Module | None) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, width * 4, 1, bias=False), nn.BatchNorm2d(width * 4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(y)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int, downsample: nn.Module | None) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, block: Any, depths: tuple[int, ...]) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        inputs = 64
        for stage, depth in enumerate(depths):
            blocks, width = [], 64 << stage
            for index in range(depth):
                stride = 2 if stage and not index else 1
                outputs = width * block.expansion
                shortcut = (
                    nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)) if stride > 1 or inputs != outputs else None
                )
                blocks.append(block(inputs, width, stride, shortcut))
                inputs = outputs
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(inputs, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class VGG(nn.Module):
    def __init__(self, widths: tuple[int | str, ...], norm: bool = False) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = 3
        for width in widths:
            if isinstance(width, str):
                layers.append(nn.MaxPool2d(2, 2))
            else:
                layers += [nn.Conv2d(inputs, width, 3, padding=1), *([nn.BatchNorm2d(width)] if norm else []), nn.ReLU(inplace=True)]
                inputs = width
        self.features, self.avgpool = nn.Sequential(*layers), nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 49, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 1000)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


def resnet50(*_: Any, **__: Any) -> ResNet:
    return ResNet(Bottleneck, (3, 4, 6, 3))


def resnet18(*_: Any, **__: Any) -> ResNet:
    return ResNet(BasicBlock, (2, 2, 2, 2))


def vgg11(*_: Any, **__: Any) -> VGG:
    return VGG((64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"))


def vgg16(*_: Any, **__: Any) -> VGG:
    return VGG((64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"))


_VGG19 = (64, 64, "M", 128, 128, "M", *[256] * 4, "M", *[512] * 4, "M", *[512] * 4, "M")


def resnet34(*_: Any, **__: Any) -> ResNet:
    return ResNet(BasicBlock, (3, 4, 6, 3))


def vgg19(*_: Any, **__: Any) -> VGG:
    return VGG(_VGG19)


def vgg19_bn(*_: Any, **__: Any) -> VGG:
    return VGG(_VGG19, norm=True)


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int, ratio: int) -> None:
        super().__init__()
        hidden = inputs * ratio
        first = [_conv_bn(inputs, hidden, 1, 1, 1)] if ratio != 1 else []
        self.conv = nn.Sequential(*first, _conv_bn(hidden, hidden, 3, stride, hidden), nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.use_res_connect = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


def _conv_bn(inputs: int, outputs: int, kernel: int, stride: int, groups: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs), nn.ReLU6(inplace=True))


class MobileNetV2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [_conv_bn(3, 32, 3, 2, 1)]
        inputs = 32
        for ratio, outputs, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
            for index in range(count):
                layers.append(InvertedResidual(inputs, outputs, stride if index == 0 else 1, ratio))
                inputs = outputs
        self.features = nn.Sequential(*layers, _conv_bn(inputs, 1280, 1, 1, 1))
        self.classifier = nn.Sequential(nn.Dropout(), nn.Linear(1280, 1000))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(x).mean((2, 3)))


def mobilenet_v2(*_: Any, **__: Any) -> MobileNetV2:
    return MobileNetV2()
