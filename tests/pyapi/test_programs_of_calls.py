"""Device programs that calls run, and where tensors lie after them, as the real package's graph captures show (asked: ttnn 0.81.1 on a mock device)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import ttnn

from tests.tables import table

CORES = {"HEIGHT": (1, 8), "WIDTH": (1, 8), "BLOCK": (2, 4)}


def memory(kind: str, shape: tuple[int, ...] = (1, 1, 256, 256), cores: tuple[int, int] | None = None) -> Any:
    if kind in ("DRAM", "L1"):
        return getattr(ttnn, f"{kind}_MEMORY_CONFIG")
    y, x = cores or CORES[kind]
    return ttnn.create_sharded_memory_config(shape, ttnn.CoreGrid(y=y, x=x), getattr(ttnn.ShardStrategy, kind))


def tensor(device: Any, kind: str, layout: str = "TILE", shape: tuple[int, ...] = (1, 1, 256, 256), cores: tuple[int, int] | None = None) -> Any:
    values = torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(shape) % 251
    return ttnn.from_torch(values, ttnn.bfloat16, layout=getattr(ttnn.Layout, layout), device=device, memory_config=memory(kind, shape, cores))


def programs(call: Any) -> tuple[list[str], Any]:
    """(device operations of the call, its result)."""
    ttnn.graph.begin_graph_capture(ttnn.graph.RunMode.NORMAL)
    try:
        result = call()
    finally:
        nodes = ttnn.graph.end_graph_capture()
    names = [name for name in ttnn.graph.extract_calltrace(nodes) if "DeviceOperation" in name]
    return [name.removesuffix("DeviceOperation") for name in names], result


@pytest.mark.parametrize("kind", ["DRAM", "L1", "HEIGHT", "WIDTH"])
@pytest.mark.parametrize("above", [False, True])
def test_moves_only_where_there_is_room(device: Any, kind: str, above: bool) -> None:
    """`move` into the place that the tensor has already is no program."""
    hole = tensor(device, kind) if above else None
    moving = tensor(device, kind)
    expected, place = ttnn.to_torch(moving), moving.buffer_address()
    if hole is not None:
        ttnn.deallocate(hole)
    ran, moved = programs(lambda: ttnn.move(moving))
    assert ran == (["Move"] if above else []) and (moved.buffer_address() == place) is not above
    assert torch.equal(ttnn.to_torch(moved), expected) and not moving.is_allocated()


@table(
    ("layout", "source", "cores", "target", "dtype", "ran"),
    [
        ("TILE", "L1", None, "L1", "bfloat8_b", []),  # the memory is the same: the dtype is not looked at
        ("ROW_MAJOR", "DRAM", None, "DRAM", "float32", []),
        ("TILE", "HEIGHT", None, "HEIGHT", "bfloat8_b", []),
        ("TILE", "HEIGHT", (1, 4), "HEIGHT", None, ["Reshard"]),
        ("TILE", "HEIGHT", (1, 4), "HEIGHT", "bfloat16", ["Copy"]),
        ("TILE", "HEIGHT", (1, 4), "WIDTH", "bfloat8_b", ["Copy"]),
        ("ROW_MAJOR", "HEIGHT", (1, 4), "HEIGHT", None, ["Reshard"]),
        ("ROW_MAJOR", "HEIGHT", None, "WIDTH", None, ["ShardedToInterleaved", "InterleavedToSharded"]),
        ("ROW_MAJOR", "WIDTH", None, "HEIGHT", "bfloat16", ["ShardedToInterleaved", "InterleavedToSharded"]),
        ("ROW_MAJOR", "DRAM", None, "L1", "float32", "Only tile layout supports dtype conversion"),
        ("ROW_MAJOR", "HEIGHT", None, "DRAM", "float32", "Only tile layout supports dtype conversion"),
    ],
)
def test_to_memory_config(device: Any, layout: str, source: str, cores: tuple[int, int] | None, target: str, dtype: str | None, ran: list[str] | str) -> None:
    given = tensor(device, source, layout, cores=cores)
    call = lambda: ttnn.to_memory_config(given, memory(target), getattr(ttnn, dtype) if dtype else None)  # noqa: E731
    if isinstance(ran, str):
        with pytest.raises(RuntimeError, match=ran):
            call()
        return
    found, result = programs(call)
    assert found == ran and result.memory_config() == memory(target)
    assert result.dtype == (getattr(ttnn, dtype) if dtype and "Copy" in ran else ttnn.bfloat16)
    if result.dtype == ttnn.bfloat16:
        assert torch.equal(ttnn.to_torch(result), ttnn.to_torch(given))


@pytest.mark.parametrize(
    ("layout", "kind", "order", "ran"),
    [
        ("ROW_MAJOR", "HEIGHT", (0, 2, 1, 3), ["Transpose"]),
        ("ROW_MAJOR", "HEIGHT", (0, 1, 3, 2), ["Transpose"]),
        ("ROW_MAJOR", "HEIGHT", (0, 2, 3, 1), ["Transpose"] * 2),
        ("ROW_MAJOR", "HEIGHT", (0, 3, 2, 1), ["Transpose"] * 3),
        ("ROW_MAJOR", "BLOCK", (0, 2, 3, 1), ["Transpose", "ShardedToInterleaved", "Permute"]),
        ("ROW_MAJOR", "DRAM", (0, 2, 3, 1), ["Permute"]),
        ("TILE", "HEIGHT", (0, 3, 2, 1), ["Transpose"] * 3),
        ("TILE", "DRAM", (0, 1, 3, 2), ["Transpose"]),
    ],
)
def test_turned_shards(device: Any, layout: str, kind: str, order: tuple[int, ...], ran: list[str]) -> None:
    given = tensor(device, kind, layout, (1, 8, 64, 128))
    found, result = programs(lambda: ttnn.permute(given, order))
    assert found == ran
    assert torch.equal(ttnn.to_torch(result), ttnn.to_torch(given).permute(order))
    if order == (0, 3, 2, 1):
        assert programs(lambda: ttnn.transpose(given, 1, 3))[0] == ran


def test_host_tensors_remember_their_memory(device: Any) -> None:
    """from_torch without a device keeps the memory for `Tensor.to`; ttnn.to_device and tensors filled on the host go to DRAM."""
    for kind in ("L1", "HEIGHT"):
        wanted = memory(kind)
        host = ttnn.from_torch(torch.ones(1, 1, 256, 256), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, memory_config=wanted)
        back = host.to(device).cpu()
        assert all(value.memory_config() == wanted for value in (host, host.to(device), back, back.to(device)))
        assert ttnn.to_device(host, device).memory_config() == host.to(device, ttnn.DRAM_MEMORY_CONFIG).memory_config() == ttnn.DRAM_MEMORY_CONFIG
        there = host.to(device)
        assert there.to(device, ttnn.DRAM_MEMORY_CONFIG).buffer_address() == there.buffer_address()
    assert ttnn.zeros([32, 32], memory_config=ttnn.L1_MEMORY_CONFIG).memory_config() == ttnn.DRAM_MEMORY_CONFIG
    assert ttnn.arange(0, 32, 1, memory_config=ttnn.L1_MEMORY_CONFIG).memory_config() == ttnn.L1_MEMORY_CONFIG
    one_core = ttnn.create_sharded_memory_config((32, 256), ttnn.CoreGrid(y=1, x=1), ttnn.ShardStrategy.HEIGHT, use_height_and_width_as_shard_shape=True)
    with pytest.raises(RuntimeError, match="Number of shards along height 8 must not exceed number of cores 1"):
        ttnn.from_torch(torch.ones(1, 1, 256, 256), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, memory_config=one_core)


@pytest.mark.parametrize(("given", "shape"), [(3, [1, 1, 27, 32]), (16, [1, 1, 144, 32])])
def test_weights_of_fewer_channels(device: Any, given: int, shape: list[int]) -> None:
    """Channels that the weights lack are multiplied by 0, in a call and in one with weights prepared before; a product takes no such weights."""
    torch.manual_seed(0)
    image, kernel = torch.randn(1, 16, 16, 16), torch.randn(32, given, 3, 3)
    rows = ttnn.from_torch(image.permute(0, 2, 3, 1).reshape(1, 1, 256, 16), ttnn.bfloat16, device=device)
    weights = ttnn.from_torch(kernel, ttnn.float32)
    config = ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, shard_layout=ttnn.TensorMemoryLayout.HEIGHT_SHARDED)
    facts: dict[str, Any] = {"in_channels": 16, "out_channels": 32, "batch_size": 1, "input_height": 16, "input_width": 16, "stride": (1, 1), "dilation": (1, 1),
                             "groups": 1, "device": device, "conv_config": config}  # fmt: skip
    window: dict[str, Any] = {"kernel_size": (3, 3), "padding": (1, 1)}
    ready = ttnn.prepare_conv_weights(
        weight_tensor=weights, weights_format="OIHW", input_memory_config=ttnn.DRAM_MEMORY_CONFIG, input_layout=ttnn.ROW_MAJOR_LAYOUT, has_bias=False,
        input_dtype=ttnn.bfloat16, **facts, **window,
    )  # fmt: skip
    assert list(ready.shape) == shape
    expected = torch.nn.functional.conv2d(image, torch.nn.functional.pad(kernel, (0, 0, 0, 0, 0, 16 - given)), padding=1)
    for weight in (weights, ready):
        result = ttnn.to_torch(ttnn.conv2d(input_tensor=rows, weight_tensor=weight, **facts, **window))
        result = result.reshape(1, 16, 16, 32).permute(0, 3, 1, 2)
        assert torch.corrcoef(torch.stack([result.float().flatten(), expected.flatten()]))[0, 1] > 0.999
    if given < 16:
        pixel = ttnn.from_torch(kernel[:, :, :1, :1], ttnn.float32)
        with pytest.raises(RuntimeError, match="width of the first tensor must be equal to the height"):
            ttnn.conv2d(input_tensor=rows, weight_tensor=pixel, kernel_size=(1, 1), padding=(0, 0), **facts)


@pytest.mark.parametrize(
    ("channels", "out", "groups", "pixels", "columns", "moves", "weight", "bias"),
    [
        (640, 640, 640, 32, 5, True, [6048, 672], 672),
        (640, 640, 640, 32, 5, False, [5760, 672], 672),
        (256, 320, 1, 32, 4, True, [2304, 320], 320),
        (320, 320, 1, 16, 5, True, [2880, 320], 320),
        (64, 96, 1, 32, 2, False, [576, 96], 96),
    ],
)
def test_weights_for_shards_fill_the_cores_of_the_program(
    device: Any, channels: int, out: int, groups: int, pixels: int, columns: int, moves: bool, weight: list[int], bias: int
) -> None:
    """20 tiles of channels go to 7 columns of cores of 3 tiles each."""
    config = ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, shard_layout=ttnn.TensorMemoryLayout.BLOCK_SHARDED, reshard_if_not_optimal=moves)
    call: dict[str, Any] = {
        "input_memory_config": memory("BLOCK", (1, 1, pixels * pixels, channels), (8, columns)), "input_layout": ttnn.TILE_LAYOUT, "in_channels": channels,
        "out_channels": out, "batch_size": 1, "input_height": pixels, "input_width": pixels, "kernel_size": (3, 3), "stride": (1, 1), "padding": (1, 1),
        "dilation": (1, 1), "groups": groups, "device": device, "conv_config": config, "slice_config": ttnn.Conv2dL1FullSliceConfig,
        "input_dtype": ttnn.bfloat16,
    }  # fmt: skip
    raw = ttnn.from_torch(torch.randn(out, channels // groups, 3, 3), ttnn.bfloat16)
    ready = ttnn.prepare_conv_weights(weight_tensor=raw, weights_format="OIHW", has_bias=True, **call)
    assert list(ready.padded_shape)[2:] == weight
    row = ttnn.prepare_conv_bias(bias_tensor=ttnn.from_torch(torch.randn(1, 1, 1, out), ttnn.bfloat16), **call)
    assert list(row.padded_shape) == [1, 1, 32, bias]


def test_segformer_heads_are_three_tensors(device: Any) -> None:
    given = tensor(device, "L1", shape=(1, 1, 64, 64))
    heads = ttnn.experimental.nlp_create_qkv_heads_segformer(given, memory_config=ttnn.L1_MEMORY_CONFIG)
    assert len({head.buffer_address() for head in heads}) == 3
    assert all(torch.equal(ttnn.to_torch(head), ttnn.to_torch(heads[0])) for head in heads)


def test_zeros_between_pixels_come_from_nowhere(device: Any) -> None:
    """The halo of a transposed convolution copies each pixel once and fills the rest: a few times a plain one's time, not of another order."""

    def halo_ns(transposed: bool) -> float:
        rows = ttnn.from_torch(torch.ones(1, 1, 128 * 128, 64), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
        weights = ttnn.from_torch(torch.ones(64, 32, 2, 2) if transposed else torch.ones(32, 64, 3, 3), ttnn.bfloat16)
        options: dict[str, Any] = {"in_channels": 64, "out_channels": 32, "batch_size": 1, "input_height": 128, "input_width": 128, "device": device}
        config = ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, shard_layout=ttnn.TensorMemoryLayout.HEIGHT_SHARDED)
        rows = ttnn.to_memory_config(rows, ttnn.L1_MEMORY_CONFIG)
        ttnn.graph.begin_graph_capture(ttnn.graph.RunMode.NORMAL)
        if transposed:
            ttnn.conv_transpose2d(input_tensor=rows, weight_tensor=weights, kernel_size=(2, 2), stride=(2, 2), padding=(0, 0), conv_config=config, **options)
        else:
            ttnn.conv2d(input_tensor=rows, weight_tensor=weights, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), conv_config=config, **options)
        ended = [node for node in ttnn.graph.end_graph_capture() if node["node_type"] == "function_end"]
        return float(sum(node["duration_ns"] for node in ended if node["params"]["name"] == "HaloDeviceOperation"))

    plain, spread = halo_ns(False), halo_ns(True)
    assert plain < spread < 12 * plain, (plain, spread)


CONVOLVED = {"in_channels": 64, "out_channels": 64, "batch_size": 1}
PLANE = CONVOLVED | {"input_height": 16, "input_width": 16}
# The call, its weights' shape, further arguments, whether it runs as a product, the fidelity that the real package gives it.
CONVOLUTIONS = {
    "in DRAM": ("conv2d", (64, 64, 3, 3), PLANE | {"kernel_size": (3, 3), "padding": (1, 1)}, "Conv2d", "HiFi4"),
    "block floats": ("conv2d", (64, 64, 3, 3), PLANE | {"kernel_size": (3, 3), "padding": (1, 1), "weights": "bfloat8_b"}, "Conv2d", "HiFi4"),
    "in L1": ("conv2d", (64, 64, 3, 3), PLANE | {"kernel_size": (3, 3), "padding": (1, 1), "kind": "L1"}, "Conv2d", "HiFi4"),
    "pointwise": ("conv2d", (64, 64, 1, 1), PLANE | {"kernel_size": (1, 1)}, "Matmul", "HiFi4"),
    "folded": ("conv2d", (64, 64, 2, 2), PLANE | {"kernel_size": (2, 2), "stride": (2, 2), "folding": True}, "Matmul", "HiFi4"),
    "transposed": ("conv_transpose2d", (64, 64, 2, 2), PLANE | {"kernel_size": (2, 2), "stride": (2, 2)}, "Conv2d", "HiFi4"),
    "one-dimensional": ("conv1d", (64, 64, 3), CONVOLVED | {"input_length": 256, "kernel_size": 3, "stride": 1, "padding": 1}, "Conv2d", "HiFi4"),
    "asked": ("conv2d", (64, 64, 3, 3), PLANE | {"kernel_size": (3, 3), "padding": (1, 1), "fidelity": "LoFi"}, "Conv2d", "LoFi"),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_fidelity_of_convolutions(name: str, device: Any) -> None:
    """A convolution that is told nothing multiplies at HiFi4, also where a product would take less."""
    op, shape, given, program, expected = CONVOLUTIONS[name]
    arguments = dict(given)
    weight = ttnn.from_torch(torch.ones(shape), ttnn.bfloat16)
    config = ttnn.Conv2dConfig(enable_kernel_stride_folding=arguments.pop("folding", False))
    if "weights" in arguments:
        config.weights_dtype = getattr(ttnn, arguments.pop("weights"))
    if "fidelity" in arguments:
        arguments["compute_config"] = ttnn.WormholeComputeKernelConfig(math_fidelity=getattr(ttnn.MathFidelity, arguments.pop("fidelity")))
    x = tensor(device, arguments.pop("kind", "DRAM"), shape=(1, 1, 256, 64))
    if op == "conv1d":
        x = ttnn.reshape(x, (1, 256, 64))
    device.events_enable(True)
    device.clock_reset()
    try:
        getattr(ttnn, op)(input_tensor=x, weight_tensor=weight, device=device, conv_config=config, **arguments)
        events = device.events()
    finally:
        device.events_enable(False)
    assert [event["fidelity"] for event in events if event["name"] == f"{program}DeviceOperation"] == [expected], [event["name"] for event in events]
