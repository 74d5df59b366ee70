"""Circular buffers of decode attention and of products on a ring, in bytes per core as the real wheel (0.81.1) allocates them on an n150's 8 x 8 cores."""

from __future__ import annotations

from typing import Any

import pytest
from ttnn_shim.queries import Memory, Record, Spec

import ttnn_shim
from tests.tables import table

COMPUTE = Record("WormholeComputeKernelConfig", (("math_fidelity", "HiFi2"), ("math_approx_mode", False), ("fp32_dest_acc_en", False), ("packer_l1_acc", True)))


def attention_program(cores: int | None, chunk: int) -> dict[str, Any]:
    if not chunk:
        return {}
    fields: tuple[tuple[str, Any], ...] = (("compute_with_storage_grid_size", (8, 8)), ("q_chunk_size", 0), ("k_chunk_size", chunk), ("exp_approx_mode", False))
    return {"program_config": Record("SDPAProgramConfig", fields + ((("max_cores_per_head_batch", cores),) if cores else ()))}


# (users, heads, heads of keys, positions, columns), cores per head of keys (None: as the config has it), chunk (0: no config), page (0: no pages), bytes
DECODE = [
    ((1, 32, 1, 2048, 128), None, 128, 0, 356352),
    ((1, 32, 1, 2048, 128), 4, 128, 0, 208896),
    ((1, 32, 8, 2048, 128), 2, 256, 0, 270336),
    ((8, 32, 8, 1024, 128), None, 128, 0, 172032),
    ((8, 8, 1, 1024, 64), 3, 64, 0, 61440),
    ((1, 32, 1, 2048, 128), None, 0, 0, 1204224),
    ((1, 32, 2, 2048, 128), None, 0, 0, 811008),
    ((8, 32, 8, 1024, 128), None, 64, 32, 129216),
    ((8, 8, 1, 1024, 128), None, 64, 64, 130176),
    ((8, 8, 1, 1024, 128), 2, 64, 64, 93312),
    ((4, 32, 8, 2048, 64), None, 128, 32, 117056),
]


def cache(users: int, heads: int, positions: int, columns: int, page: int) -> tuple[Spec, dict[str, Any]]:
    """The keys, and where they are and what the call is told of their positions."""
    if not page:
        return Spec((users, heads, positions, columns), "bfloat8_b"), {"cur_pos": [positions - 1] * users}
    table = Spec((users, positions // page), "int32", "row_major")
    told = {"page_table_tensor": table, "cur_pos_tensor": Spec((users,), "int32", "row_major")}
    return Spec((users * positions // page, heads, page, columns), "bfloat8_b"), told


@pytest.mark.parametrize(("sizes", "cores", "chunk", "page", "expected"), DECODE)
def test_buffers_of_decode_attention(sizes: tuple[int, ...], cores: int | None, chunk: int, page: int, expected: int) -> None:
    users, heads, of_keys, positions, columns = sizes
    keys, told = cache(users, of_keys, positions, columns, page)
    op = "ttnn.transformer.paged_scaled_dot_product_attention_decode" if page else "ttnn.transformer.scaled_dot_product_attention_decode"
    answer = ttnn_shim.query(
        op, [Spec((1, users, heads, columns)), keys, keys], scale=0.1, compute_kernel_config=COMPUTE, **told, **attention_program(cores, chunk)
    )
    assert answer.accepted, answer.error
    assert answer.cb_bytes == expected


# users, heads, positions, columns of keys and of values; cores, chunk, page, bytes (None: more than there is)
LATENT = [
    ((4, 128, 1024, 576, 512), 1, 32, 0, 1136896),
    ((4, 128, 1024, 576, 512), None, 32, 0, None),
    ((1, 128, 1024, 576, 512), None, 128, 0, None),
    ((4, 16, 1024, 576, 512), None, 128, 0, 731136),
    ((8, 32, 2048, 576, 512), 4, 128, 0, 689152),
    ((2, 16, 4096, 576, 512), 16, 256, 0, 1035264),
    ((32, 16, 1024, 576, 512), 2, 128, 0, 473088),
    ((4, 16, 1024, 576, 512), None, 64, 0, 579072),
    ((4, 8, 2048, 320, 256), 3, 128, 0, 270336),
    ((8, 64, 2048, 576, 512), 8, 32, 0, 1124608),
    ((1, 32, 1024, 320, 256), None, 128, 0, 631808),
    ((1, 16, 1024, 320, 256), 5, 256, 0, 455680),
    ((4, 16, 1024, 576, 512), 4, 128, 32, 510144),
    ((8, 32, 1024, 576, 512), 16, 64, 64, 680576),
    ((4, 16, 1024, 576, 512), 3, 128, 64, 491648),
]


@table(("sizes", "cores", "chunk", "page", "expected"), LATENT)
def test_buffers_of_latent_decode_attention(sizes: tuple[int, ...], cores: int | None, chunk: int, page: int, expected: int | None) -> None:
    users, heads, positions, columns, values = sizes
    keys, told = cache(users, 1, positions, columns, page)
    op = f"ttnn.transformer.{'paged_' if page else ''}flash_multi_latent_attention_decode"
    config = attention_program(cores, chunk)
    answer = ttnn_shim.query(op, [Spec((1, users, heads, columns)), keys], head_dim_v=values, scale=0.1, compute_kernel_config=COMPUTE, **told, **config)
    assert answer.accepted == (expected is not None), answer.error
    if expected is None:
        assert "beyond max L1 size of 1499136 B" in answer.error
    else:
        assert answer.cb_bytes == expected


# cores, M, K, N, data types of A and B, of the result; bytes that are in no tensor: the wheel's buffers without the shards of A, B and the result
RING = [
    (24, 32, 2048, 1280, "bfloat16", "bfloat8_b", "bfloat16", 141344),
    (24, 32, 2048, 3584, "bfloat8_b", "bfloat4_b", "bfloat8_b", 85344),
    (24, 32, 3584, 2048, "bfloat8_b", "bfloat8_b", "bfloat8_b", 131296),
    (24, 32, 1280, 2048, "bfloat8_b", "bfloat8_b", "bfloat8_b", 56224),
    (16, 32, 2048, 2048, "bfloat8_b", "bfloat8_b", "bfloat8_b", 73504),
    (8, 32, 1024, 2048, "bfloat16", "bfloat8_b", "bfloat8_b", 73760),
    (16, 64, 2048, 2048, "bfloat8_b", "bfloat8_b", "bfloat8_b", 146976),
    (32, 32, 2048, 4096, "bfloat8_b", "bfloat8_b", "bfloat8_b", 93088),
]


@pytest.mark.parametrize(("cores", "m", "k", "n", "type_a", "type_b", "type_out", "expected"), RING)
def test_buffers_of_a_ring(cores: int, m: int, k: int, n: int, type_a: str, type_b: str, type_out: str, expected: int) -> None:
    corners = (0, 0, 7, cores // 8 - 1)
    depth, width = (-(-size // 32 // cores) for size in (k, n))

    def columns(rows: int, tiles: int) -> Memory:
        return Memory("L1", "WIDTH_SHARDED", ((rows, tiles * 32), corners, "ROW_MAJOR"))

    program = Record(
        "MatmulMultiCoreReuseMultiCast1DProgramConfig",
        (
            ("compute_with_storage_grid_size", (8, 8)),
            ("in0_block_w", max(step for step in range(1, max(2, k // 32 // cores + 1)) if k // 32 % step == 0)),
            ("out_subblock_h", 1),
            ("out_subblock_w", max(step for step in range(1, 9) if width % step == 0)),
            ("per_core_M", m // 32),
            ("per_core_N", width),
            ("fuse_batch", True),
            ("mcast_in0", False),
            ("gather_in0", True),
        ),
    )
    b = Memory() if cores == 32 else columns(k, width)  # 32 cores: B interleaved in DRAM
    inputs = [Spec((1, 1, m, k), type_a, "tile", columns(m, depth)), Spec((1, 1, k, n), type_b, "tile", b)]
    answer = ttnn_shim.query("ttnn.matmul", inputs, dtype=type_out, program_config=program, memory_config=columns(m, width), compute_kernel_config=COMPUTE)
    assert answer.accepted, answer.error
    assert answer.cb_bytes == expected
