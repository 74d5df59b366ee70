"""Operations that no published timing shows: a model of their kernels, and a band that says that nothing was measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ttnn_shim.error_bands import UNMEASURED_BAND, is_measured
from ttnn_shim.program_query import query_program
from ttnn_shim.simlib import Priced

from tests.tables import table

Case = tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]
"""Inputs, output, attributes."""


def tiles(*shape: int, dtype: str = "bfloat16") -> dict[str, Any]:
    return {"logical": list(shape), "padded": list(shape), "dtype": dtype, "layout": "tile", "buffer": "dram", "memory": "interleaved"}


def rows(*shape: int, dtype: str = "bfloat16") -> dict[str, Any]:
    return {**tiles(*shape, dtype=dtype), "layout": "row_major"}


def sharded(spec: dict[str, Any], memory: str, height: int, width: int, cores: int) -> dict[str, Any]:
    shard = {"shape": [height, width], "cores": cores, "grid": [8, cores // 8]}
    return {**spec, "buffer": "l1", "memory": memory, "shard": shard}


def gather(n: int) -> Case:
    return [tiles(1, 1, 4096 * n, 128), tiles(1, 1, 4096 * n, 64, dtype="uint32")], tiles(1, 1, 4096 * n, 64), {}


def gather_wide(n: int) -> Case:
    return [tiles(1, 1, 32, 32768 * n), tiles(1, 1, 32, 4096, dtype="uint32")], tiles(1, 1, 32, 4096), {}


def gather_rows(n: int) -> Case:
    return [rows(1, 4096, 512), rows(1, 4096 * n, dtype="uint32")], rows(1, 4096 * n, 512), {}


def scatter(n: int) -> Case:
    shape = (1, 1, 4096 * n)
    return [rows(*shape, 256), rows(*shape, 64, dtype="int32"), rows(*shape, 64)], rows(*shape, 256), {"dim": 3}


def isin(n: int) -> Case:
    return [rows(16384, dtype="int32"), rows(256 * n, dtype="int32")], rows(16384, dtype="uint32"), {}


def indexed_fill(n: int) -> Case:
    return [rows(8, dtype="uint32"), rows(64, 1, 128 * n, 64), rows(8, 1, 128 * n, 64)], rows(64, 1, 128 * n, 64), {}


def index_fill(n: int) -> Case:
    return [rows(4096 * n, 256), rows(16, dtype="uint32")], rows(4096 * n, 256), {"last_dim": True}


def index_fill_rows(n: int) -> Case:
    return [rows(4096 * n, 256), rows(16, dtype="uint32")], rows(4096 * n, 256), {"last_dim": False}


def nonzero(n: int) -> Case:
    return [rows(1, 1, 1, 8192 * n)], rows(1, 1, 1, 8192 * n, dtype="uint32"), {}


def embedding_backward(n: int) -> Case:
    return [rows(1, 2048 * n, dtype="uint32"), tiles(1, 1, 2048 * n, 4096)], tiles(1, 1, 512, 4096), {}


def fold(n: int) -> Case:
    return [rows(4 * n, 224, 224, 4)], rows(1, 1, 4 * n * 112 * 112, 16), {}


def fold_shards(n: int) -> Case:
    image = sharded(rows(1, 1, 65536 * n, 16), "height_sharded", 1024 * n, 16, 64)
    return [image], sharded(rows(1, 1, 16384 * n, 64), "height_sharded", 256 * n, 64, 64), {}


def convert_to_chw(n: int) -> Case:
    pixels = sharded(tiles(1, 1, 65536 * n, 16), "height_sharded", 1024 * n, 32, 64)
    return [pixels], sharded(rows(1, 1, 16, 65536 * n), "width_sharded", 16, 1024 * n, 64), {}


def roll(n: int) -> Case:
    shards = sharded(rows(1, 1, 65536 * n, 16), "height_sharded", 1024 * n, 16, 64)
    return [shards], shards, {"dim": 2}


def rotate_half(n: int) -> Case:
    return [tiles(1, 1, 8192 * n, 128)], tiles(1, 1, 8192 * n, 128), {}


def repeat_multiply(n: int) -> Case:
    return [tiles(1, 1, 64 * n, 32), tiles(1, 1, 64 * n, 5120)], tiles(1, 1, 64 * n, 163840), {}


def conv3d(n: int) -> Case:
    return [rows(n, 16, 64, 64, 64), tiles(1728, 64)], rows(n, 14, 62, 62, 64), {"window": [3, 3, 3], "patches": 32}


def topk_large_indices(n: int) -> Case:
    return [tiles(1, 1, 4096, 8192 * n)], rows(1, 1, 4096, 1024, dtype="uint32"), {"k": 1024}


def matmul_decode(n: int) -> Case:
    a = sharded(tiles(1, 1, 32, 2048 * n), "width_sharded", 32, 64 * n, 32)
    b = sharded(tiles(1, 1, 2048 * n, 2048), "width_sharded", 2048 * n, 32, 64)
    return [a, b], sharded(tiles(1, 1, 32, 2048), "width_sharded", 32, 32, 64), {"m": 32, "k": 2048 * n, "n": 2048}


CASES: dict[Callable[[int], Case], str] = {
    gather: "gather",
    gather_wide: "gather",
    gather_rows: "gather",
    scatter: "scatter",
    isin: "isin",
    indexed_fill: "indexed_fill",
    index_fill: "index_fill",
    index_fill_rows: "index_fill",
    nonzero: "nonzero",
    embedding_backward: "embedding_backward",
    fold: "fold",
    fold_shards: "fold",
    convert_to_chw: "convert_to_chw",
    roll: "roll",
    rotate_half: "rotate_half",
    repeat_multiply: "repeat_and_interleave_eltwise_mul",
    conv3d: "conv3d",
    topk_large_indices: "topk_large_indices",
    matmul_decode: "matmul_decode",
}


@table("case", CASES, ids=[case.__name__ for case in CASES])
@table("arch", ["n150", "p150"])
def test_a_model_of_the_kernels_grows_with_the_work(case: Callable[[int], Case], arch: str) -> None:
    """Twice the work takes longer, and not much more than twice as long; the band says that no row was measured."""

    def price(n: int) -> Priced:
        inputs, output, attributes = case(n)
        answer = query_program(CASES[case], inputs, [output], attributes, arch=arch)
        assert answer.price is not None, answer.error
        return answer.price

    once, twice = price(1), price(2)
    assert once.modelled
    assert once.ns_error == UNMEASURED_BAND or is_measured(CASES[case])
    assert 0 <= once.dram_utilisation <= 1
    assert 0 <= once.fpu_utilisation <= 1
    assert 1.4 * once.ns < twice.ns < 2.2 * once.ns


def test_element_by_element_ops_take_far_longer_than_their_bytes() -> None:
    """Why a roofline of bytes was no model of them: one RISC looks at every element."""
    for case in (gather, isin, nonzero, scatter):
        inputs, output, attributes = case(1)
        answer = query_program(CASES[case], inputs, [output], attributes, arch="p150")
        copied = query_program("copy", [inputs[0]], [inputs[0]], {}, arch="p150")
        assert answer.price is not None
        assert copied.price is not None
        assert answer.price.ns > 5 * copied.price.ns, case.__name__
