"""What small values of the API print, hold and answer: every attribute and every method without arguments of a sample of each class."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

import ttnn

from tools.behaviour_diff.questions import value_calls

_CORES = "ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 1))})"
_TWO = "ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 1)), ttnn.CoreRange(ttnn.CoreCoord(2, 2), ttnn.CoreCoord(3, 2))])"
_SHARD = f"ttnn.ShardSpec({_CORES}, [32, 64], ttnn.ShardOrientation.ROW_MAJOR)"
_ND = f"ttnn.NdShardSpec(ttnn.Shape([1, 32, 64]), {_CORES}, ttnn.ShardOrientation.COL_MAJOR)"
SAMPLES = [
    "ttnn.Shape([])", "ttnn.Shape([5])", "ttnn.Shape([2, 3, 40, 100])", "ttnn.Shape([2, 3, 40, 101])", "ttnn.CoreCoord(0, 0)", "ttnn.CoreCoord(3, 1)", "ttnn.CoreCoord(1, 3)",
    "ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 1))", "ttnn.CoreRange(ttnn.CoreCoord(2, 1), ttnn.CoreCoord(2, 1))", "ttnn.CoreRangeSet([])", _CORES, _TWO,
    "ttnn.CoreGrid(x=8, y=4)", "ttnn.CoreGrid(x=4, y=8)", _SHARD, _SHARD.replace("ROW", "COL"), f"ttnn.ShardSpec({_TWO}, [64, 32], ttnn.ShardOrientation.ROW_MAJOR)", _ND,
    _ND.replace("COL", "ROW"), "ttnn.DRAM_MEMORY_CONFIG", "ttnn.L1_MEMORY_CONFIG", "ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG", "ttnn.MemoryConfig()",
    f"ttnn.MemoryConfig(ttnn.TensorMemoryLayout.BLOCK_SHARDED, ttnn.BufferType.L1, {_SHARD})", f"ttnn.MemoryConfig(buffer_type=ttnn.BufferType.L1, nd_shard_spec={_ND})",
    "ttnn.Tile([32, 32])", "ttnn.Tile([16, 32])", "ttnn.Tile([32, 16])", "ttnn.Tile([4, 32])", "ttnn.Tile([32, 32], True)",
    "ttnn.TensorSpec([2, 3, 40, 100], ttnn.bfloat16, ttnn.TILE_LAYOUT)", "ttnn.TensorSpec([100, 24], ttnn.float32, ttnn.ROW_MAJOR_LAYOUT)",
    "ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)", "ttnn.UnaryWithParam(ttnn.UnaryOpType.LEAKY_RELU, 0.1)", "ttnn.Conv2dConfig()",
    "ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat8_b, act_block_h_override=64, activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU))",
    "ttnn.WormholeComputeKernelConfig()", "ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True, packer_l1_acc=True)",
    "ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(compute_with_storage_grid_size=ttnn.CoreCoord(8, 4), in0_block_w=2, out_subblock_h=1, out_subblock_w=4, per_core_M=1, "
    "per_core_N=4, fuse_batch=True, mcast_in0=True)",
    "ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(compute_with_storage_grid_size=(8, 4), in0_block_w=2, out_subblock_h=1, out_subblock_w=4, per_core_M=1, per_core_N=4, "
    "transpose_mcast=False, fused_activation=None)",
    "ttnn.MatmulMultiCoreReuseProgramConfig(compute_with_storage_grid_size=(8, 4), in0_block_w=2, out_subblock_h=1, out_subblock_w=4, per_core_M=1, per_core_N=4)",
    "ttnn.MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w=2, per_core_M=1, per_core_N=4, fused_activation=None)",
    "ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size=64, k_chunk_size=128, exp_approx_mode=False)", "ttnn.LayerNormDefaultProgramConfig()",
    "ttnn.LayerNormShardedMultiCoreProgramConfig(compute_with_storage_grid_size=[8, 4], subblock_w=2, block_h=1, block_w=4, inplace=False)",
    "ttnn.SoftmaxShardedMultiCoreProgramConfig(compute_with_storage_grid_size=(8, 4), subblock_w=2, block_h=1, block_w=4)", "ttnn.SoftmaxDefaultProgramConfig()",
    "ttnn.MeshShape(1, 1)", "ttnn.MeshShape(2, 4)", "ttnn.MeshCoordinate(0, 1)", "ttnn.MeshCoordinateRange(ttnn.MeshCoordinate(0, 0), ttnn.MeshCoordinate(1, 3))",
    "ttnn.PlacementReplicate()", "ttnn.PlacementShard(1)", "ttnn.PlacementShard(0)", "ttnn.MeshMapperConfig([ttnn.PlacementReplicate(), ttnn.PlacementShard(1)], ttnn.MeshShape(1, 1))",
    "ttnn.bfloat16", "ttnn.TILE_LAYOUT", "ttnn.BufferType.L1", "ttnn.TensorMemoryLayout.WIDTH_SHARDED", "ttnn.MathFidelity.HiFi2", "ttnn.ShardOrientation.COL_MAJOR",
    f"ttnn.SubDevice([{_CORES}])", "ttnn.QueueId(1)", "ttnn.Tensor([1.0, 2.0, 3.0, 4.5], [2, 2], ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)", "ttnn.add", "ttnn.transformer.scaled_dot_product_attention",
]  # fmt: skip
_CHANGES = {"deallocate", "dump", "cpu", "to_device"}  # methods that answer nothing


def _said(value: object) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value)).replace("\n", "\\n")[:400]


def _rows(value: Any) -> Iterator[str]:
    yield f"str {_said(str(value))}"
    if isinstance(value, Enum) or callable(value):
        return
    for name in sorted(name for name in dir(type(value)) if not name.startswith("_") and name not in _CHANGES):
        try:
            answer = getattr(value, name)
            if callable(answer):
                required = [one for one in inspect.signature(answer).parameters.values() if one.default is one.empty and one.kind.name[:3] != "VAR"]
                if required or isinstance(answer, type) or inspect.isfunction(answer):
                    continue
                name, answer = f"{name}()", answer()
        except Exception as error:  # noqa: BLE001 - a refusal is an answer
            answer = error
        yield f"{name} {_said(answer)}"


def text() -> str:
    lines, made = [], {}
    for sample in SAMPLES:
        try:
            value = eval(sample)
        except Exception as error:  # noqa: BLE001 - as above
            lines += [f"=== {sample}", f"refused {_said(error)}"]
            continue
        made[sample] = value
        lines += [f"=== {sample}", f"repr {_said(value)}", *_rows(value)]
    lines.append("=== equal, with equal hashes where there are any")
    for number, (first, a) in enumerate(made.items()):
        if isinstance(a, ttnn.Tensor):  # compared element by element
            continue
        for second, b in list(made.items())[number + 1 :]:
            if type(a) is type(b) and (a == b or not a != b):
                lines.append(f"{first} == {second}")
        again = eval(first)
        lines.append(f"{first}: {bool(a == again)} {bool(a != again)} {type(a).__hash__ is not None and hash(a) == hash(again)} {bool(a == 1)}")
    return "\n".join([*lines, *value_calls.lines(_rows)]) + "\n"
