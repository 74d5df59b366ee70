"""Large convolutions: their sums are made some lines of an image at a time. Every line has the error of the others, whatever the window's geometry."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
import ttnn

pytestmark = pytest.mark.usefixtures("ieee_nan")


class Window(NamedTuple):
    image: tuple[int, int, int, int]  # N, C, H, W
    filters: int
    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)  # top, bottom, left, right
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    activation: str = ""


WINDOWS = {
    "stem": Window((1, 3, 224, 224), 64, (7, 7), (2, 2), (3, 3, 3, 3), activation="RELU"),
    "two images": Window((2, 16, 80, 72), 64, (3, 3), (1, 1), (1, 1, 1, 1)),
    "one side padded": Window((1, 8, 90, 90), 64, (3, 3), (2, 2), (0, 1, 0, 1)),
    "dilated": Window((1, 8, 96, 64), 64, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2)),
    "lines that no window sees": Window((1, 4, 200, 200), 64, (2, 2), (3, 3)),
    "more padding than window": Window((1, 4, 96, 64), 64, (2, 2), (1, 1), (3, 3, 1, 1)),
    "depthwise": Window((1, 64, 112, 64), 64, (3, 3), (1, 1), (1, 1, 1, 1), groups=64, activation="RELU6"),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_every_line_is_as_exact(name: str, device: Any) -> None:
    w = WINDOWS[name]
    random = torch.Generator().manual_seed(0)
    image = torch.randn(w.image, generator=random).bfloat16()
    kernel = (torch.randn(w.filters, w.image[1] // w.groups, *w.kernel, generator=random)).bfloat16()
    bias = torch.randn(w.filters, generator=random).bfloat16()
    image[0, :, -1] = 0  # a NaN beside zeros and values shows that it stays in its windows
    image[0, 0, 5, 7] = float("nan")
    batch, channels, height, width = w.image
    settings: dict[str, Any] = {"weights_dtype": ttnn.bfloat16}
    if w.activation:
        settings["activation"] = ttnn.UnaryWithParam(getattr(ttnn.UnaryOpType, w.activation))
    result, (out_h, out_w) = ttnn.conv2d(
        input_tensor=ttnn.from_torch(image.permute(0, 2, 3, 1).reshape(1, 1, -1, channels), device=device, layout=ttnn.ROW_MAJOR_LAYOUT),
        weight_tensor=ttnn.from_torch(kernel), bias_tensor=ttnn.from_torch(bias.reshape(1, 1, 1, -1)), device=device, in_channels=channels,
        out_channels=w.filters, batch_size=batch, input_height=height, input_width=width, kernel_size=w.kernel, stride=w.stride, padding=w.padding,
        dilation=w.dilation, groups=w.groups, conv_config=ttnn.Conv2dConfig(**settings), return_output_dim=True,
    )  # fmt: skip
    top, bottom, left, right = w.padding
    padded = F.pad(image.double(), (left, right, top, bottom))
    expected = F.conv2d(padded, kernel.double(), bias.double(), w.stride, 0, w.dilation, w.groups)
    expected = {"": lambda x: x, "RELU": F.relu, "RELU6": F.relu6}[w.activation](expected).permute(0, 2, 3, 1)
    got = ttnn.to_torch(result).double().reshape(batch, out_h, out_w, w.filters)
    assert got.shape == expected.shape
    assert torch.equal(got.isnan(), expected.isnan())
    got, expected = got.nan_to_num(0), expected.nan_to_num(0)
    errors = (got - expected).norm(dim=(2, 3)) / expected.norm(dim=(2, 3)).clamp(min=float(expected.norm()) / expected.shape[1] ** 0.5 / 4)
    assert errors.max() < 0.03
