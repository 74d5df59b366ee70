"""The accumulation model of docs/design/tensix.md in numpy, written from its text with float64 quantities instead of bit fields.

Every intermediate of the model has at most 53 significant bits, so float64 holds it exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
PHASES = {"LoFi": 1, "HiFi2": 2, "HiFi3": 3, "HiFi4": 4}
HIDDEN = 127


def bits_of(values: Array) -> NDArray[np.uint32]:
    return np.asarray(values, np.float32).view(np.uint32)


def source(values: Array, fp32_dest: bool) -> NDArray[np.float32]:
    """What a source register holds: TF32, or bfloat16 when Dst is 16 bits wide. Denormals are zero."""
    bits = bits_of(values) & np.uint32(0xFFFFE000 if fp32_dest else 0xFFFF0000)
    return np.where((bits >> 23 & 0xFF) == 0, np.uint32(0), bits).astype(np.uint32).view(np.float32)


def part(values: NDArray[np.float32], kept: int, cut: int) -> Array:
    """values, with `kept` mantissa bits from the top, minus values with `cut` of them (cut < 0: the hidden bit stays too)."""
    bits = values.view(np.uint32)
    mask = np.uint32(0xFFFFFFFF << (23 - kept) & 0xFFFFFFFF)
    whole = (bits & mask).view(np.float32).astype(np.float64)
    if cut < 0:
        return whole
    return whole - (bits & np.uint32(0xFFFFFFFF << (23 - cut) & 0xFFFFFFFF)).view(np.float32).astype(np.float64)


def exponent(values: NDArray[np.float32]) -> NDArray[np.int64]:
    """Biased; 0 for zero."""
    return (values.view(np.uint32) >> 23 & 0xFF).astype(np.int64)


def half_up(values: Array, unit: Array) -> Array:
    """Magnitudes to multiples of `unit`, halves up."""
    return np.sign(values) * np.floor(np.abs(values) / unit + 0.5) * unit


def encode(values: Array, fp32_dest: bool) -> Array:
    """To 24 (or 8) significant bits, halves away from zero; underflow +0, overflow infinity."""
    digits = 24 if fp32_dest else 8
    _, top = np.frexp(values)
    rounded = half_up(values, np.ldexp(1.0, top - digits))
    rounded = np.where(np.abs(rounded) < 2.0**-126, 0.0, rounded)
    return np.where(np.abs(rounded) >= 2.0**128, np.copysign(np.inf, values), rounded)


def step(dst: Array, in0: NDArray[np.float32], in1: NDArray[np.float32], phase: int, fp32_dest: bool) -> Array:
    """One pass over 16 of K. dst [m, n], in0 [m, 16], in1 [16, n]."""
    b = part(in0, 10, 6) if phase & 2 else part(in0, 6, -1)
    a = part(in1, 9, 4) if phase & 1 else part(in1, 4, -1)
    lowered = (5 if phase & 1 else 0) + (7 if phase & 2 else 0)
    products = b[:, :, None] * a[None, :, :]
    exponents = exponent(in0)[:, :, None] + exponent(in1)[None, :, :] - 2 * HIDDEN - lowered
    sums, tops = [], []
    for group in (slice(0, 8), slice(8, 16)):
        largest = exponents[:, group].max(axis=1)
        sums.append(half_up(products[:, group], np.ldexp(1.0, largest - 10)[:, None, :]).sum(axis=1))
        tops.append(largest)
    _, own = np.frexp(dst)
    tops.append(np.where(dst == 0, np.minimum(tops[0], tops[1]), own - 1))
    highest = np.maximum(np.maximum(tops[0], tops[1]), tops[2])
    terms = [half_up(one, np.ldexp(1.0, highest - 23)) for one in (*sums, dst)]
    if not fp32_dest:
        terms = [half_up(one, np.ldexp(1.0, highest - 10)) for one in terms]
    return encode(terms[0] + terms[1] + terms[2], fp32_dest)


def matmul(in0: Array, in1: Array, fidelity: str, fp32_dest: bool, block_tiles: int = 0) -> Array:
    """[m, k] x [k, n] as Dst holds it. block_tiles: tiles along K that are summed in Dst before they are added in L1; 0: all."""
    depth = -(-in0.shape[1] // 32) * 32
    x = np.zeros((in0.shape[0], depth), np.float32)
    w = np.zeros((depth, in1.shape[1]), np.float32)
    x[:, : in0.shape[1]] = source(in0, fp32_dest)
    w[: in1.shape[0]] = source(in1, fp32_dest)
    tiles = depth // 32
    block = block_tiles or tiles
    total = None
    for first in range(0, tiles, block):
        dst = np.zeros((x.shape[0], w.shape[1]))
        for tile in range(first, min(first + block, tiles)):
            for phase in range(PHASES[fidelity]):
                for half in (0, 16):
                    k = slice(tile * 32 + half, tile * 32 + half + 16)
                    dst = step(dst, x[:, k], w[k], phase, fp32_dest)
        total = dst if total is None else in_l1(total, dst, fp32_dest)
    assert total is not None
    return total


def in_l1(total: Array, dst: Array, fp32_dest: bool) -> Array:
    """A sum in float32, kept as float32 or, rounded to nearest even, as bfloat16."""
    single = total.astype(np.float32) + dst.astype(np.float32)
    if fp32_dest:
        return single.astype(np.float64)
    bits = single.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


def add(a: Array, b: Array, fp32_dest: bool) -> Array:
    """ELWADD: 11 significant bits of both, aligned to the larger exponent."""
    x, y = source(a, fp32_dest), source(b, fp32_dest)
    unit = np.ldexp(1.0, np.maximum(exponent(x), exponent(y)) - HIDDEN - 10)
    return encode(half_up(x.astype(np.float64), unit) + half_up(y.astype(np.float64), unit), fp32_dest)


def pack(values: Array, dtype: str) -> Array:
    """As the packer writes Dst. values [rows, width]."""
    if dtype == "float32":
        return values
    if dtype == "bfloat16":
        return encode(values, False)
    out = np.empty_like(values)
    for start in range(0, values.shape[1], 16):
        block = values[:, start : start + 16]
        _, top = np.frexp(block)
        shared = np.where(block == 0, -1000, top - 1).max(axis=1, keepdims=True)
        eight_bits = np.trunc(block / np.ldexp(1.0, top - 8)) * np.ldexp(1.0, top - 8)
        unit = np.ldexp(1.0, shared - 6)
        digits = np.minimum(np.floor(np.abs(eight_bits) / unit + 0.5), 127)
        digits = np.where(shared - (top - 1) >= 8, 0, digits)
        if dtype == "bfloat4_b":
            digits = np.floor(digits / 16) * 16
        out[:, start : start + 16] = np.sign(block) * digits * unit
    return out


def column_sums(values: Array, scaler: float, fidelity: str, fp32_dest: bool) -> Array:
    """[size, width] -> [width]: a product with the scaler, the values in SrcA."""
    return matmul(np.full((1, values.shape[0]), scaler), values, fidelity, fp32_dest)[0]


def nearest(values: Array, fp32_dest: bool) -> Array:
    """What the SFPU or an L1 accumulation writes: float32, or bfloat16 to nearest even."""
    single = np.asarray(values, np.float32)
    if fp32_dest:
        return single.astype(np.float64)
    bits = single.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


def multiply(a: Array, b: Array, fidelity: str, fp32_dest: bool) -> Array:
    """ELWMUL of rows `a` [m, n] (SrcA) with one factor each, `b` [m] (SrcB)."""
    return np.stack([matmul(b[row].reshape(1, 1), a[row : row + 1], fidelity, fp32_dest)[0] for row in range(len(a))])


def attention(q: Array, k: Array, v: Array, scale: float, fidelity: str, fp32_dest: bool, chunk: int = 32) -> Array:
    """One head, [queries, depth] and [keys, depth], as Dst holds it. Exponentials are those of float32."""

    def exponential(scores: Array, peak: Array) -> Array:
        difference = add(scores, -peak, fp32_dest).astype(np.float32)
        return nearest(np.exp((difference * np.float32(scale)).astype(np.float64)), fp32_dest)

    peak = np.full(len(q), -np.inf)
    sums, results = np.zeros((len(q), 32)), np.zeros((len(q), v.shape[1]))
    for first in range(0, len(k), chunk):
        scores = matmul(q, k[first : first + chunk].T, fidelity, fp32_dest)
        before, peak = peak, np.maximum(peak, scores.max(1))
        weights = exponential(scores, np.broadcast_to(peak[:, None], scores.shape))
        new_sums = np.zeros_like(sums)
        for tile in range(0, weights.shape[1], 32):
            new_sums = nearest(new_sums + weights[:, tile : tile + 32], fp32_dest)
        new_results = matmul(weights, v[first : first + chunk], fidelity, fp32_dest)
        if first:
            shrink = exponential(before, peak)
            new_sums = add(new_sums, multiply(sums, shrink, fidelity, fp32_dest), fp32_dest)
            new_results = nearest(new_results.astype(np.float32) + multiply(results, shrink, fidelity, fp32_dest).astype(np.float32), fp32_dest)
        sums, results = new_sums, new_results
    total = matmul(sums, np.ones((32, 1)), fidelity, fp32_dest)[:, 0].astype(np.float32)
    return multiply(results, nearest(np.float32(1) / total, fp32_dest), fidelity, fp32_dest)
