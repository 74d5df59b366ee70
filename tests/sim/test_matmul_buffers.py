"""Circular buffers of configured matmuls, in bytes per core as the real wheel (0.81.1) allocates them on a Wormhole chip."""

from __future__ import annotations

import ttnn
from ttnn_shim.queries import Memory, Record, Spec

import ttnn_shim
from tests.tables import table

DRAM, L1 = Memory(), Memory("L1")
COMPUTE = Record("WormholeComputeKernelConfig", (("math_fidelity", "HiFi2"), ("math_approx_mode", False), ("fp32_dest_acc_en", False), ("packer_l1_acc", True)))
GRID = ("compute_with_storage_grid_size", (8, 8))


def shards(layout: str, rows: int, columns: int) -> Memory:
    return Memory("L1", f"{layout}_SHARDED", ((rows, columns), (0, 0, 7, 7), "ROW_MAJOR"))


def config(kind: str, inner: int, subblock: tuple[int, int], per_core: tuple[int, int], block: tuple[int, int] | None = None) -> Record:
    """kind: "2d", "rows" (columns of B are sent to all cores), "columns", "batch"."""
    names = {"2d": "MatmulMultiCoreReuseMultiCastProgramConfig", "batch": "MatmulMultiCoreReuseProgramConfig"}
    fields = [GRID, ("in0_block_w", inner), ("out_subblock_h", subblock[0]), ("out_subblock_w", subblock[1])]
    fields += [("per_core_M", per_core[0]), ("per_core_N", per_core[1])]
    if block:
        fields += [("out_block_h", block[0]), ("out_block_w", block[1])]
    if kind != "batch":
        fields.append(("fuse_batch", True))
    fields += {"2d": [("transpose_mcast", False)], "batch": []}.get(kind, [("mcast_in0", kind == "columns")])
    return Record(names.get(kind, "MatmulMultiCoreReuseMultiCast1DProgramConfig"), tuple(fields))


BLOCKS, TALL = shards("BLOCK", 256, 64), shards("HEIGHT", 32, 256)
# name -> A, its memory, B, the result's memory, configuration, bias, bytes that the wheel allocates
CASES = {
    "2-D": ((2048, 512), DRAM, (512, 512), DRAM, config("2d", 4, (1, 2), (8, 2)), False, 196608),
    "2-D, shards": ((2048, 512), BLOCKS, (512, 512), BLOCKS, config("2d", 2, (1, 2), (8, 2)), False, 81920),
    "2-D, shards in steps": ((2048, 512), BLOCKS, (512, 512), BLOCKS, config("2d", 1, (1, 2), (8, 2)), True, 45056),
    "2-D, half blocks to shards": ((2048, 512), BLOCKS, (512, 512), BLOCKS, config("2d", 2, (1, 2), (8, 2), (4, 2)), False, 65536),
    "2-D, one step": ((2048, 64), DRAM, (64, 512), L1, config("2d", 2, (4, 2), (8, 2)), True, 77824),
    "rows, one step": ((2048, 64), L1, (64, 256), L1, config("rows", 2, (1, 4), (1, 8)), True, 69632),
    "rows, steps": ((2048, 256), L1, (256, 256), L1, config("rows", 2, (1, 4), (1, 8)), True, 106496),
    "rows, shards in a step": ((2048, 256), TALL, (256, 256), TALL, config("rows", 8, (1, 4), (1, 8)), True, 147456),
    "rows, shards in steps": ((2048, 256), TALL, (256, 256), TALL, config("rows", 2, (1, 4), (1, 8)), True, 98304),
    "rows, half blocks to shards": (
        (4096, 256),
        shards("HEIGHT", 64, 256),
        (256, 256),
        shards("HEIGHT", 64, 256),
        config("rows", 8, (1, 4), (2, 8), (1, 8)),
        False,
        147456,
    ),
    "columns": ((32, 2048), DRAM, (2048, 2048), DRAM, config("columns", 8, (1, 1), (1, 1)), False, 67584),
    "columns, shards": ((32, 2048), shards("WIDTH", 32, 32), (2048, 2048), shards("WIDTH", 32, 32), config("columns", 1, (1, 1), (1, 1)), True, 10240),
    "batch": ((64, 128, 64), DRAM, (64, 64, 128), DRAM, config("batch", 2, (1, 4), (4, 4)), False, 98304),
}


@table("name", CASES)
def test_buffers_are_the_real_librarys(name: str) -> None:
    a, memory, b, result, program, bias, expected = CASES[name]
    inputs = [Spec(a, "bfloat16", "tile", memory), Spec(b, "bfloat16", "tile", DRAM)]
    more = {"bias": Spec((1, b[-1]), "bfloat16", "tile", DRAM)} if bias else {}
    answer = ttnn_shim.query(
        "ttnn.linear" if bias else "ttnn.matmul",
        inputs,
        card="n150",
        memory_config=result,
        program_config=program,
        compute_kernel_config=COMPUTE,
        **more,
    )
    assert answer.accepted, answer.error
    assert answer.cb_bytes == expected


def test_columns_from_banks() -> None:
    """Three blocks of B and the core's columns of the result, which are then dealt to the shards: the wheel's region of buffers ends at 1,074,528."""
    first_byte = 105_824  # of L1 behind what the firmware keeps
    banks = Memory("DRAM", "WIDTH_SHARDED", ((512, 3584), (0, 0, 11, 0), "ROW_MAJOR"))
    a, result = (Memory("L1", "WIDTH_SHARDED", ((32, width), (0, 0, 7, 0), "ROW_MAJOR")) for width in (64, 5344))
    fields = (("in0_block_w", 2), ("per_core_M", 1), ("per_core_N", 167), ("fused_activation", None))
    answer = ttnn_shim.query(
        "ttnn.matmul",
        [Spec((32, 512), "bfloat16", "tile", a), Spec((512, 42752), "bfloat8_b", "tile", banks)],
        card="n150",
        memory_config=result,
        program_config=Record("MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig", fields),
        compute_kernel_config=COMPUTE,
    )
    assert answer.accepted, answer.error
    assert answer.cb_bytes == 1_074_528 - first_byte


def test_a_config_without_blocks_is_the_program_of_single_tiles() -> None:
    """Two tiles of each operand and of the result, one output tile after the other: what the wheel allocates for the program, whoever chooses it."""
    answer = ttnn_shim.query(
        "ttnn.matmul",
        [Spec((512, 2048), "bfloat16", "tile", DRAM), Spec((2048, 1024), "bfloat16", "tile", DRAM)],
        card="n150",
        program_config=Record("MatmulMultiCoreProgramConfig", ()),
        compute_kernel_config=COMPUTE,
    )
    (program,) = answer.programs
    assert (program.factory, program.cores, program.cb_bytes) == ("MatmulMultiCoreProgramFactory", 64, 12288)


def test_matrices_of_a_loop_take_longer_than_one_product() -> None:
    """fuse_batch=False: the cores multiply a block of each matrix of A after the other, and fetch B anew for each."""

    def ns(fuse: bool) -> float:
        fields = [(name, value) for name, value in config("2d", 4, (1, 2), (8 if fuse else 1, 2)).fields if name != "fuse_batch"]
        program = Record("MatmulMultiCoreReuseMultiCastProgramConfig", (*fields, ("fuse_batch", fuse)))
        inputs = [Spec((8, 256, 512), "bfloat16", "tile", DRAM), Spec((512, 512), "bfloat16", "tile", DRAM)]
        answer = ttnn_shim.query("ttnn.matmul", inputs, card="n150", program_config=program, compute_kernel_config=COMPUTE)
        assert answer.accepted, answer.error
        return answer.ns

    assert ns(False) > ns(True)


# A, B, their dtypes, the result's: bytes that the wheel allocates for the program that it chooses on 8 x 8 cores. Blocks of the result that
# do not fit are first tried with less of K, then in parts; the library's estimate takes tiles of the result for as large as A's.
CHOSEN = {
    "half the columns": ((2048, 2048), (2048, 8192), "float32", "float32", None, 720896),
    "half the rows": ((4096, 1024), (1024, 8192), "float32", "float32", None, 720896),
    "one tile of K": ((3072, 1536), (1536, 6144), "float32", "float32", None, 786432),
    "parts of 16-bit values": ((4096, 4096), (4096, 8192), "bfloat16", "bfloat16", None, 786432),
    "more rows": ((8192, 2048), (2048, 8192), "bfloat16", "bfloat16", None, 786432),
    "blocks of floats": ((5120, 4096), (4096, 10240), "bfloat8_b", "bfloat8_b", None, 1341440),
    "a narrower result": ((2048, 2048), (2048, 2048), "float32", "float32", "bfloat8_b", 724992),
    "a wider result": ((2048, 2048), (2048, 4096), "bfloat8_b", "bfloat16", "float32", 1187840),
}


@table("name", CHOSEN)
def test_chosen_blocks_are_the_real_librarys(name: str) -> None:
    a, b, dtype_a, dtype_b, result, expected = CHOSEN[name]
    more = {"dtype": getattr(ttnn, result)} if result else {}
    answer = ttnn_shim.query("ttnn.matmul", [Spec(a, dtype_a, "tile", DRAM), Spec(b, dtype_b, "tile", DRAM)], card="n150", **more)
    (program,) = answer.programs
    assert (program.factory, program.cores, program.cb_bytes) == ("MatmulMultiCoreReuseMcast2DProgramFactory", 64, expected)
