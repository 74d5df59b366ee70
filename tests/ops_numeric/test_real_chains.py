"""Ops that run as chains of the real package's programs (slices, cut columns, reductions of images): values against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
import ttnn
from ttnn_shim.queries import Spec, query

from tests.ops_numeric.test_small_ops import RM, TILE, close, got, put, values

HEIGHT, WIDTH = ttnn.Conv2dDRAMSliceHeight, ttnn.Conv2dDRAMSliceWidth


def programs(device: Any, call: Any) -> tuple[Any, list[str]]:
    """A call's result and the names of its device programs."""
    device.events_enable(True)
    device.clock_reset()
    result = call()
    return result, [event["op"] for event in device.events()]


def flat(image: torch.Tensor) -> torch.Tensor:
    """[N, C, H, W] as [1, 1, N * H * W, C]."""
    return image.permute(0, 2, 3, 1).reshape(1, 1, -1, image.shape[1])


@pytest.mark.parametrize(("kind", "slices"), [(HEIGHT, 1), (HEIGHT, 3), (WIDTH, 2)])
def test_sliced_convolution(device: Any, kind: Any, slices: int) -> None:
    x, w = values(1, 16, 12, 64), values(32, 16, 3, 3, seed=1)
    config = ttnn.Conv2dSliceConfig(slice_type=kind, num_slices=slices)
    arguments = dict(
        device=device, in_channels=16, out_channels=32, batch_size=1, input_height=12, input_width=64, kernel_size=[3, 3],
        stride=[1, 1], padding=[1, 1], slice_config=config,
    )  # fmt: skip
    weight = ttnn.from_torch(w, dtype=ttnn.bfloat16)
    result, names = programs(device, lambda: ttnn.conv2d(input_tensor=put(device, flat(x), RM), weight_tensor=weight, **arguments))
    close(result, flat(F.conv2d(x, w, padding=1)))
    assert names.count("conv2d") == slices
    assert names.count("slice_write") == (slices if slices > 1 else 0)


@pytest.mark.parametrize("mirror", [True, False])
@pytest.mark.parametrize("slices", [0, 4])
def test_transposed_convolution(device: Any, mirror: bool, slices: int) -> None:
    x, w = values(1, 32, 9, 7), values(32, 32, 3, 3, seed=1)
    given = ttnn.from_torch(w if mirror else w.flip(2, 3), dtype=ttnn.bfloat16)
    more = {"dram_slice_config": ttnn.Conv2dSliceConfig(slice_type=HEIGHT, num_slices=slices)} if slices else {}
    result = ttnn.conv_transpose2d(
        input_tensor=put(device, flat(x), RM), weight_tensor=given, device=device, in_channels=32, out_channels=32, batch_size=1,
        input_height=9, input_width=7, kernel_size=[3, 3], stride=[2, 2], padding=[1, 1], mirror_kernel=mirror, **more,
    )  # fmt: skip
    close(result, flat(F.conv_transpose2d(x, w, stride=2, padding=1)))


@pytest.mark.parametrize("layout", [RM, TILE])
@pytest.mark.parametrize("slices", [1, 3])
def test_sliced_pools(device: Any, layout: Any, slices: int) -> None:
    x = values(2, 32, 12, 32)
    config = ttnn.Conv2dSliceConfig(slice_type=HEIGHT, num_slices=slices)
    window = [2, 12, 32, 32, [3, 3], [2, 2], [1, 1]]
    more = {"dram_slice_config": config, "output_layout": layout}
    pooled, names = programs(device, lambda: ttnn.max_pool2d(put(device, flat(x), layout), *window, [1, 1], **more))
    close(pooled, flat(F.max_pool2d(x, 3, 2, 1)))
    assert names.count("pool2d") == slices
    close(ttnn.avg_pool2d(put(device, flat(x), layout), *window, **more), flat(F.avg_pool2d(x, 3, 2, 1)))


@pytest.mark.parametrize(
    ("batch", "channels", "edge", "window", "slices"), [(4, 64, 224, 2, 1), (7, 64, 224, 2, 2), (12, 64, 224, 2, 4), (8, 64, 224, 3, 2), (16, 256, 112, 2, 3)]
)
def test_an_image_that_does_not_fit_is_pooled_in_slices(batch: int, channels: int, edge: int, window: int, slices: int) -> None:
    """As many as the real package makes on an n150, by its own host code."""
    image = Spec((1, 1, batch * edge**2, channels), layout="row_major")
    given = [batch, edge, edge, channels, [window, window], [2, 2], [window // 3] * 2, [1, 1]]
    found = query("ttnn.max_pool2d", [image, *given], card="n150", l1_small_bytes=1 << 15, output_layout=TILE)
    assert found.accepted, found.error
    assert [program.family for program in found.programs].count("pool2d") == slices
    assert [out.shape for out in found.outputs if out] == [(1, 1, batch * (edge // 2) ** 2, channels)]


@pytest.mark.parametrize("layout", [RM, TILE])
@pytest.mark.parametrize("way", [HEIGHT, WIDTH])
def test_slices_of_a_pool_without_a_number_are_as_few_as_fit(way: Any, layout: Any) -> None:
    image = Spec((1, 1, 600 * 600, 128), layout="row_major")

    def pools(number: int) -> list[str]:
        config = ttnn.Conv2dSliceConfig(slice_type=way, num_slices=number)
        given = [1, 600, 600, 128, [2, 2], [2, 2], [0, 0], [1, 1]]
        found = query("ttnn.max_pool2d", [image, *given], card="n150", l1_small_bytes=1 << 14, output_layout=layout, dram_slice_config=config)
        return [program.family for program in found.programs] if found.accepted else []

    fitting = pools(0)
    slices = fitting.count("pool2d")
    assert slices > 1 and pools(slices) == fitting and not pools(1)


@pytest.mark.parametrize("layout", [RM, TILE])
@pytest.mark.parametrize("batch", [1, 3])
def test_mean_of_images(device: Any, batch: int, layout: Any) -> None:
    x = values(batch, 7, 5, 48)
    mean = x.mean((1, 2), keepdim=True)
    result = ttnn.global_avg_pool2d(put(device, x, layout))
    assert list(result.shape) == [batch, 1, 1, 48] and result.layout == TILE
    close(result, mean)
    pooled = ttnn.avg_pool2d(put(device, x.reshape(1, 1, -1, 48), RM), batch, 7, 5, 48, [7, 5], [1, 1], [0, 0], divisor_override=7)
    close(pooled, mean.reshape(1, 1, batch, 48) * 5)


@pytest.mark.parametrize("layout", [RM, TILE])
@pytest.mark.parametrize("rows", [511, 640, 1025])
def test_tall_columns_are_cut(device: Any, rows: int, layout: Any) -> None:
    x = values(1, 2, rows, 33)
    close(ttnn.sum(put(device, x, layout, ttnn.float32), dim=2, keepdim=True), x.sum(2, keepdim=True), 2)
    assert torch.equal(got(ttnn.max(put(device, x, layout), dim=2, keepdim=True)), x.amax(2, keepdim=True))
    assert torch.equal(got(ttnn.min(put(device, x, layout), dim=2, keepdim=True)), x.amin(2, keepdim=True))


def test_normalize_global(device: Any) -> None:
    x = values(2, 3, 32, 64)
    close(ttnn.normalize_global(put(device, x)), (x - x.mean()) / x.std(correction=0))


def test_masked_rows_of_a_row_major_softmax(device: Any) -> None:
    x, mask = values(2, 1, 32, 64), values(2, 1, 32, 64, seed=1)
    close(ttnn.scale_mask_softmax(put(device, x), 0.5, put(device, mask[:, :, :1].expand(2, 1, 32, 64).contiguous())),
          torch.softmax(x * 0.5 + mask[:, :, :1], -1))  # fmt: skip


@pytest.mark.parametrize("op", [ttnn.scale_mask_softmax, ttnn.scale_mask_softmax_in_place])
def test_first_row_of_a_mask_is_added_to_all_rows(op: Any, device: Any) -> None:
    """A mask one tile high on a higher input, as BERT's; only its first row counts unless it is causal."""
    x, mask = values(2, 3, 64, 96), values(2, 1, 32, 96, seed=1)
    close(op(put(device, x), 0.5, put(device, mask)), torch.softmax(x * 0.5 + mask[:, :, :1], -1))


def test_narrow_rows_are_sorted(device: Any) -> None:
    x = values(2, 3, 20)
    ordered, places = ttnn.sort(put(device, x), dim=-1, descending=True)
    assert torch.equal(got(ordered), x.sort(-1, descending=True).values)
    assert torch.equal(x.gather(-1, got(places).long()), got(ordered))


def test_upsample_of_tiles_and_shards(device: Any) -> None:
    x = values(1, 32, 32, 64)
    wanted = F.interpolate(x.permute(0, 3, 1, 2), scale_factor=2).permute(0, 2, 3, 1)
    for layout, dtype in ((TILE, ttnn.bfloat16), (RM, ttnn.float32)):
        result = ttnn.upsample(put(device, x, layout, dtype), 2)
        assert result.layout == RM
        assert torch.equal(got(result), wanted)
    close(ttnn.upsample(put(device, x, TILE, ttnn.bfloat8_b), 2), wanted, 8)
    smooth = ttnn.upsample(put(device, x, RM), 2, mode="bilinear")
    assert smooth.memory_config().memory_layout == ttnn.TensorMemoryLayout.HEIGHT_SHARDED
    close(smooth, F.interpolate(x.permute(0, 3, 1, 2), scale_factor=2, mode="bilinear").permute(0, 2, 3, 1))


def test_prod_of_several_dimensions(device: Any) -> None:
    x = 1 + values(2, 3, 4, 5) / 8
    close(ttnn.prod(put(device, x), dim=1), x.prod(1, keepdim=True), 4)


def test_convolution_of_whole_numbers(device: Any) -> None:
    x, w = values(1, 32, 8, 8).abs().mul(4).round(), values(32, 32, 3, 3, seed=1).abs().mul(2).round()
    weight = ttnn.from_torch(w.int(), dtype=ttnn.uint32)
    result = ttnn.conv2d(
        input_tensor=put(device, flat(x).int(), RM, ttnn.uint32), weight_tensor=weight, device=device, in_channels=32,
        out_channels=32, batch_size=1, input_height=8, input_width=8, kernel_size=[3, 3], stride=[1, 1], padding=[1, 1],
    )  # fmt: skip
    assert result.dtype == ttnn.uint32
    assert torch.equal(got(result), flat(F.conv2d(x, w, padding=1)))


@pytest.mark.parametrize("shape", [(1, 1, 32, 64), (1, 1, 64, 96), (2, 1, 33, 128)], ids=str)
@pytest.mark.parametrize("parts", [1, 2])
def test_norms_in_two_steps(device: Any, shape: tuple[int, ...], parts: int) -> None:
    """Statistics of each part of the rows, put side by side as gathered from as many chips, give the norm of the whole rows."""
    x, gain, bias = values(*shape), values(1, 1, 1, shape[-1], seed=1), values(1, 1, 1, shape[-1], seed=2)
    pieces = x.chunk(parts, -1)
    rms = torch.cat([got(ttnn.rms_norm_pre_all_gather(put(device, piece), dtype=ttnn.bfloat16)) for piece in pieces], -1)
    assert torch.allclose(rms[..., 0], pieces[0].square().sum(-1), rtol=2e-2)
    both = torch.cat([got(ttnn.layer_norm_pre_all_gather(put(device, piece), dtype=ttnn.bfloat16)) for piece in pieces], -1)
    assert torch.allclose(both[..., 32], pieces[0].sum(-1), rtol=2e-2, atol=0.1)
    for part in range(parts):
        cut = slice(part * shape[-1] // parts, (part + 1) * shape[-1] // parts)
        options = {"epsilon": 1e-5, "weight": put(device, gain[..., cut])}
        made = ttnn.rms_norm_post_all_gather(put(device, pieces[part]), put(device, rms), **options)
        close(made, (F.rms_norm(x, shape[-1:], eps=1e-5) * gain)[..., cut], 4)
        made = ttnn.layer_norm_post_all_gather(put(device, pieces[part]), put(device, both), bias=put(device, bias[..., cut]), **options)
        close(made, (F.layer_norm(x, shape[-1:], eps=1e-5) * gain + bias)[..., cut], 6)
