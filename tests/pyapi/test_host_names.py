"""Names around the one chip that programs and their test helpers ask: device numbers, hosts, configuration files, hooks, groups of cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import ttnn
from ttnn_shim.errors import InvalidArgument, NotOffered


def test_one_host_with_one_card(device: Any, capsys: Any) -> None:
    assert ttnn.cluster.get_cluster_type() in (ttnn.cluster.ClusterType.N150, ttnn.cluster.ClusterType.P150)
    assert (ttnn.get_num_pcie_devices(), ttnn.get_pcie_device_ids(), ttnn.GetPCIeDeviceID(0)) == (1, [0], 0)
    assert not ttnn.using_distributed_env() and ttnn.distributed_context_is_initialized()
    ttnn.distributed_context_barrier()
    assert f"{ttnn.distributed_context_get_rank()} {ttnn.distributed_context_get_size()}" == "Rank(0) Size(1)"
    assert int(ttnn.distributed_context_get_size()) == 1
    ttnn.enable_asynchronous_slow_dispatch(device)
    assert ttnn.device.is_asynchronous_slow_dispatch_enabled(device)
    ttnn.disable_asynchronous_slow_dispatch(device)
    assert not ttnn.device.is_asynchronous_slow_dispatch_enabled(device)
    ttnn.visualize_mesh_device(device)
    assert "Dev. ID: " in capsys.readouterr().out
    assert not ttnn.tracer.is_tracing_enabled()
    ttnn.tracer.disable_tracing()
    with pytest.raises(ValueError, match="fast runtime mode"):
        ttnn.tracer.enable_tracing()


def test_trace_of_ops_as_a_graph(device: Any) -> None:
    x = ttnn.ones((32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    with ttnn.manage_config("enable_fast_runtime_mode", False):
        with ttnn.tracer.trace():
            with pytest.raises(ValueError, match="already enabled"):
                ttnn.tracer.enable_tracing()
            y = ttnn.matmul(ttnn.relu(x), x)
    nodes = ttnn.tracer.get_graph(y)
    assert [node.name.rsplit("_", 1)[0] for node in nodes] == ["ttnn_input", "ttnn.relu", "ttnn.matmul"]
    assert [(source.name, place) for source, place in nodes[-1].inputs] == [(nodes[1].name, 0), (nodes[0].name, 0)]
    assert nodes[-1].outputs == ["Shape([32, 32]), BFLOAT16, TILE, DRAM, INTERLEAVED"]
    assert not ttnn.tracer.is_tracing_enabled()


@pytest.mark.parametrize(
    ("start", "count", "row_wise", "expected"),
    [
        ((0, 0), 6, True, "{[0-0 - 3-0], [0-1 - 1-1]}"),
        ((1, 0), 6, False, "{[1-0 - 1-3], [2-0 - 2-1]}"),
        ((0, 0), 16, True, "{[0-0 - 3-3]}"),
        ((1, 0), 16, False, None),
        ((5, 5), 1, True, None),
    ],
)
def test_cores_of_some_grids(start: tuple[int, int], count: int, row_wise: bool, expected: str | None) -> None:
    """The sets of the real package."""
    grids = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 3))])
    if expected is None:
        with pytest.raises(InvalidArgument):
            ttnn.num_cores_to_corerangeset_in_subcoregrids(ttnn.CoreCoord(*start), count, grids, row_wise)
    else:
        assert str(ttnn.num_cores_to_corerangeset_in_subcoregrids(ttnn.CoreCoord(*start), count, grids, row_wise)) == expected


def test_hooks_around_ops(device: Any) -> None:
    """Called where fast runtime mode is off, as in the real package."""
    x = ttnn.from_torch(torch.ones(32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    seen: list[tuple[Any, ...]] = []
    with ttnn.register_pre_operation_hook(lambda *call: seen.append(call)), ttnn.register_post_operation_hook(lambda *call: seen.append(call)):
        ttnn.relu(x)
        assert seen == []
        with ttnn.manage_config("enable_fast_runtime_mode", False):
            result = ttnn.relu(x)
    assert [len(call) for call in seen] == [3, 4] and seen[0][0] is ttnn.relu and seen[1][3] is result
    with ttnn.manage_config("enable_fast_runtime_mode", False):
        ttnn.relu(x)
    assert len(seen) == 2


def test_configuration_from_the_environment(tmp_path: Path) -> None:
    """TTNN_CONFIG_PATH is written when it is not there and read when it is; TTNN_CONFIG_OVERRIDES comes last."""
    path = tmp_path / "deep" / "config.json"
    program = "import ttnn_shim; ttnn_shim.activate(explicit=True); import ttnn; print(ttnn.CONFIG.enable_fast_runtime_mode, ttnn.CONFIG.enable_logging)"

    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", program], env=os.environ | variables, capture_output=True, text=True, check=False)

    assert run(TTNN_CONFIG_PATH=str(path)).stdout == "True False\n"
    stored = json.loads(path.read_text())
    path.write_text(json.dumps(stored | {"enable_logging": True, "unheard_of": 1}))
    read = run(TTNN_CONFIG_PATH=str(path), TTNN_CONFIG_OVERRIDES='{"enable_fast_runtime_mode": false}')
    assert read.stdout == "False True\n" and "unknown configuration key unheard_of" in read.stderr
    assert "Unknown configuration key: nothing" in run(TTNN_CONFIG_OVERRIDES='{"nothing": 1}').stderr


def test_sub_devices(device: Any) -> None:
    """Groups of cores are checked; programs run one after the other whatever they are."""

    def group(x0: int, x1: int) -> Any:
        return ttnn.SubDevice([ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(x0, 0), ttnn.CoreCoord(x1, 3))])])

    manager = device.create_sub_device_manager([group(0, 3), group(4, 7)], 3200)
    device.load_sub_device_manager(manager)
    device.set_sub_device_stall_group([ttnn.SubDeviceId(0)])
    device.reset_sub_device_stall_group()
    with pytest.raises(InvalidArgument, match="loaded"):
        device.remove_sub_device_manager(manager)
    device.clear_loaded_sub_device_manager()
    device.remove_sub_device_manager(manager)
    with pytest.raises(InvalidArgument, match="not known"):
        device.load_sub_device_manager(manager)
    with pytest.raises(InvalidArgument, match="is in two of them"):
        device.create_sub_device_manager([group(0, 3), group(3, 4)], 3200)
    with pytest.raises(InvalidArgument, match="is not on the grid"):
        device.create_sub_device_manager([group(0, 30)], 3200)


def test_names_of_the_compiled_module() -> None:
    parts = ttnn._ttnn
    assert parts.multi_device.MeshDevice is ttnn.MeshDevice and parts.tensor.Tensor is ttnn.Tensor and parts.operations.ccl.Topology is ttnn.Topology
    assert parts.tensor.dump_tensor_flatbuffer is ttnn.dump_tensor
    assert parts.multi_device.SystemMeshDescriptor().shape().mesh_size() == 1
    assert parts.operations.experimental.nlp_concat_heads is ttnn.experimental.nlp_concat_heads
    with pytest.raises(NotOffered, match="one chip"):
        parts.operations.experimental.ccl_experimental.GlobalSemaphoreArg()
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = parts.tensor.no_such_name


def test_correlation_of_tensors(device: Any) -> None:
    x = torch.arange(2048.0).reshape(1, 1, 32, 64) % 17 - 8
    on_device = ttnn.from_torch(x * 2 + 1, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)
    assert ttnn.pearson_correlation_coefficient(x, on_device) == pytest.approx(1.0)
    assert ttnn.pearson_correlation_coefficient(torch.ones(4), torch.zeros(4)) == 0.0
    with pytest.raises(InvalidArgument, match="tensors of one size"):
        ttnn.pearson_correlation_coefficient(torch.ones(4), torch.ones(5))
