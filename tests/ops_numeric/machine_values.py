"""Values of ops whose sums depend on the processor, from inputs that integer arithmetic makes equal everywhere.

    python -m tests.ops_numeric.machine_values FILE.npz [plain] [small] [permuted]

Run under `ONEDNN_MAX_CPU_ISA` and `OMP_NUM_THREADS`. FILE gets an array per op and kind; in `permuted` the terms of each sum have another order, which is what
another instruction set does; `small` are products and attentions whose rows must not be divided between threads. tests/data/machine_values.npz holds every 16th value (AMD EPYC, AVX2, one thread): written by `--sample`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from ml_dtypes import bfloat16

Floats = npt.NDArray[np.float32]
SAMPLE = 16
"""The stored file has each 16th value of an op."""


def values(seed: int, *shape: int) -> Floats:
    """About normal: a hash of the index, four uniform parts added, with all bits of a float32 so that sums depend on the order of their terms."""
    index = np.arange(np.prod(shape), dtype=np.uint64) + np.uint64(seed << 40)
    total = np.zeros(index.shape, np.int64)
    with np.errstate(over="ignore"):
        for _ in range(4):
            index = (index ^ (index >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            index = (index ^ (index >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            total += (index >> np.uint64(55)).astype(np.int64) - 256
    fraction = (index >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)
    return (total.astype(np.float32) / np.float32(256) * (np.float32(1) + fraction)).reshape(shape)


def reordered(depth: int, permuted: bool) -> npt.NDArray[np.int64]:
    """The order in which the terms of a sum are given."""
    order = np.arange(depth)
    return np.concatenate([order[1::2], order[::2][::-1]]) if permuted else order


def results(permuted: bool) -> dict[str, Floats]:
    """Each op's result as float32, by the op's name in docs/lab/numerics.md."""
    import ttnn

    device = ttnn.open_device(device_id=0, l1_small_size=32768)

    def on_device(array: Floats, dtype: Any) -> Any:
        return ttnn.from_torch(np.ascontiguousarray(array), dtype=dtype, layout=ttnn.TILE_LAYOUT, device=device)

    def product(dtype: Any, sizes: tuple[int, int, int] = (128, 512, 256), **arguments: Any) -> Callable[[], Any]:
        rows, depth, columns = sizes
        order = reordered(depth, permuted)
        return lambda: ttnn.linear(on_device(values(1, rows, depth)[:, order], dtype), on_device(values(2, depth, columns)[order], dtype), **arguments)

    def convolution(dtype: Any) -> Callable[[], Any]:
        order = reordered(64, permuted)
        image = on_device(values(3, 1, 1, 16 * 16, 64)[..., order], dtype)
        weights = np.ascontiguousarray(values(4, 64, 64, 3, 3)[:, order])
        weights = ttnn.from_torch(weights if dtype == ttnn.float32 else weights.astype(bfloat16), dtype=dtype)
        sizes = {"in_channels": 64, "out_channels": 64, "batch_size": 1, "input_height": 16, "input_width": 16, "kernel_size": (3, 3), "padding": (1, 1)}
        return lambda: ttnn.conv2d(input_tensor=image, weight_tensor=weights, device=device, **sizes)

    def attention() -> Any:
        order = reordered(64, permuted)
        query, key, value = (on_device(values(seed, 1, 2, 128, 64), ttnn.bfloat16) for seed in (5, 6, 7))
        if permuted:
            query, key = (on_device(values(seed, 1, 2, 128, 64)[..., order], ttnn.bfloat16) for seed in (5, 6))
        return ttnn.transformer.scaled_dot_product_attention(query, key, value, is_causal=False)

    rows = values(8, 128, 256)[:, reordered(256, permuted)]
    calls: dict[str, Callable[[], Any]] = {
        "matmul, float32": product(ttnn.float32),
        "matmul, bfloat16": product(ttnn.bfloat16),
        "matmul of one row, float32": product(ttnn.float32, (1, 1024, 256)),
        "linear with gelu, bfloat16": product(ttnn.bfloat16, activation="gelu"),
        "conv2d, float32": convolution(ttnn.float32),
        "conv2d, bfloat16": convolution(ttnn.bfloat16),
        "attention, bfloat16": attention,
        "sum of rows, float32": lambda: ttnn.sum(on_device(rows, ttnn.float32), dim=-1),
        "softmax, float32": lambda: ttnn.softmax(on_device(rows, ttnn.float32), dim=-1),
        "layer_norm, bfloat16": lambda: ttnn.layer_norm(on_device(rows, ttnn.bfloat16)),
        "exp, float32": lambda: ttnn.exp(on_device(rows, ttnn.float32)),
        "gelu, bfloat16": lambda: ttnn.gelu(on_device(rows, ttnn.bfloat16)),
    }
    made = {name: call().to_numpy().astype(np.float32) for name, call in calls.items()}
    ttnn.close_device(device)
    inverse = np.argsort(reordered(256, permuted))
    by_row = ("softmax, float32", "layer_norm, bfloat16", "exp, float32", "gelu, bfloat16")
    return made | {name: made[name][:, inverse] for name in by_row}


SMALL_PRODUCTS = (
    ((33, 128), (128, 64)), ((200, 768), (768, 48)), ((1, 3072), (3072, 64)),
    ((3, 33, 64), (3, 64, 96)), ((7, 1, 64), (7, 64, 197)), ((2, 5, 64, 40), (1, 1, 40, 65)),
)  # fmt: skip
SMALL_ATTENTIONS = ((4, 1, False), (4, 4, True), (6, 2, False))
"""Heads of the queries, heads of keys and values, causal."""

SMALL_CONVOLUTIONS = ((1, 320, 16, 16, 1, 7, 3), (5, 40, 8, 8, 1, 7, 3), (7, 7, 64, 16, 1, 7, 3), (14, 14, 16, 24, 3, 3, 2))
"""Height, width, channels in and out, kernel height and width, dilation."""


def small_results() -> dict[str, Floats]:
    """Products with few columns, stacks of products, attentions of 197 rows and convolutions with dilated kernels."""
    import ttnn

    device = ttnn.open_device(device_id=0, l1_small_size=32768)
    made = {}
    for dtype in (ttnn.float32, ttnn.bfloat16):

        def tensor(seed: int, *shape: int, dtype: Any = dtype) -> Any:
            return ttnn.from_torch(values(seed, *shape), dtype=dtype, layout=ttnn.TILE_LAYOUT, device=device)

        for first, second in SMALL_PRODUCTS:
            made[f"{first} x {second}, {dtype}"] = ttnn.matmul(tensor(1, *first), tensor(2, *second))
    for heads, key_heads, is_causal in SMALL_ATTENTIONS:
        query, key, value = (tensor(3 + n, 1, of, 197, 64) for n, of in enumerate((heads, key_heads, key_heads)))
        made[f"attention of {heads} and {key_heads} heads"] = ttnn.transformer.scaled_dot_product_attention(query, key, value, is_causal=is_causal)
    for height, width, before, behind, *kernel, dilation in SMALL_CONVOLUTIONS:
        spread = [dilation if extent > 1 else 1 for extent in kernel]
        image = ttnn.from_torch(values(6, 1, 1, height * width, before).astype(bfloat16), device=device)
        weights = ttnn.from_torch(values(7, behind, before, *kernel).astype(bfloat16))
        sizes = {"in_channels": before, "out_channels": behind, "batch_size": 1, "input_height": height, "input_width": width}
        padding = [step * (extent // 2) for step, extent in zip(spread, kernel, strict=True)]
        made[f"conv2d of {height} x {width} x {before}"] = ttnn.conv2d(
            input_tensor=image, weight_tensor=weights, device=device, kernel_size=kernel, padding=padding, dilation=spread, **sizes
        )
    found = {name: result.to_numpy().astype(np.float32) for name, result in made.items()}
    ttnn.close_device(device)
    return found


KINDS: dict[str, Callable[[], dict[str, Floats]]] = {"plain": lambda: results(False), "small": small_results, "permuted": lambda: results(True)}


def sampled(made: dict[str, Floats]) -> dict[str, Floats]:
    return {name: array.ravel()[::SAMPLE] for name, array in made.items()}


def main() -> None:
    import ttnn_shim

    parser = argparse.ArgumentParser(
        prog="python -m tests.ops_numeric.machine_values", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("kinds", nargs="*", choices=KINDS)
    parser.add_argument("--sample", action="store_true", help=f"each {SAMPLE}th value, for tests/data/machine_values.npz")
    options = parser.parse_args()
    ttnn_shim.activate(explicit=True)
    if options.sample:
        np.savez_compressed(options.file, **sampled(results(False)))
        return
    np.savez(options.file, **{f"{kind}: {name}": array for kind in options.kinds or ["plain"] for name, array in KINDS[kind]().items()})


if __name__ == "__main__":
    main()
