"""How far results are from exact, in the fast numerics mode and in the bit model, by op, dtype, math fidelity and width of Dst.

    python -m tools.bench.numerics [--docs docs/lab/numerics.md]     (or: python tools/bench/run.py --only numerics)

An error is |result - exact| / |exact| (L2), exact being float64 on the values that the inputs hold on the device. `--docs` writes the
tables between the marks of that file.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tools.bench.measure import Figure

FIDELITIES = ("LoFi", "HiFi2", "HiFi3", "HiFi4")
MOST_RATIO = 2.0
BEGIN, END = "<!-- errors: begin -->", "<!-- errors: end -->"


@dataclass(frozen=True)
class Row:
    """Errors of one op with one dtype under one compute config; `fidelity` "" and `fp32_dest` None: the op's own default."""

    op: str
    dtype: str
    fidelity: str
    fp32_dest: bool | None
    fast: float
    bit_model: float

    @property
    def ratio(self) -> float:
        """Of the larger error to the smaller; 1 where both are exact."""
        low, high = sorted((self.fast, self.bit_model))
        return 1.0 if high == 0 else float("inf") if low == 0 else high / low

    @property
    def config(self) -> str:
        return "default" if self.fp32_dest is None else f"{self.fidelity}, {32 if self.fp32_dest else 16}-bit Dst"


@dataclass(frozen=True)
class Case:
    """`make(ttnn, device, dtype)` gives a call (of a compute config or None) and the exact result."""

    op: str
    dtypes: tuple[str, ...]
    make: Callable[[Any, Any, str], tuple[Callable[[Any], Any], np.ndarray[Any, Any]]]
    config_argument: str = "compute_kernel_config"


FLOATS = ("float32", "bfloat16", "bfloat8_b")


class Operands:
    """Reproducible operands on the device, and the values that they hold there."""

    def __init__(self, ttnn: Any, device: Any, dtype: str) -> None:
        self.ttnn, self.device, self.dtype = ttnn, device, dtype
        self.random = np.random.default_rng(0)

    def __call__(self, *shape: int, positive: bool = False, layout: str = "TILE_LAYOUT") -> tuple[Any, np.ndarray[Any, Any]]:
        import torch

        values = self.random.standard_normal(shape).astype(np.float32)
        tensor = self.ttnn.from_torch(
            torch.from_numpy(np.abs(values) if positive else values), dtype=getattr(self.ttnn, self.dtype),
            layout=getattr(self.ttnn, layout), device=self.device,
        )  # fmt: skip
        return tensor, self.ttnn.to_torch(tensor).double().numpy()


def _matmul(depth: int, positive: bool = False, out: str | None = None) -> Any:
    def make(ttnn: Any, device: Any, dtype: str) -> Any:
        operands = Operands(ttnn, device, dtype)
        (a, x), (b, w) = operands(64, depth, positive=positive), operands(depth, 64, positive=positive)
        options = {} if out is None else {"dtype": getattr(ttnn, out)}
        return lambda **config: ttnn.matmul(a, b, **options, **config), x @ w

    return make


def _linear(ttnn: Any, device: Any, dtype: str) -> Any:
    operands = Operands(ttnn, device, dtype)
    (a, x), (b, w), (c, bias) = operands(64, 512), operands(512, 64), operands(1, 64)
    return lambda **config: ttnn.linear(a, b, bias=c, **config), x @ w + bias


def _convolution(ttnn: Any, device: Any, dtype: str) -> Any:
    import torch

    operands = Operands(ttnn, device, dtype)
    size, channels, filters = 8, 64, 32
    x, image = operands(1, 1, size * size, channels)
    values = operands.random.standard_normal((filters, channels, 3, 3)).astype(np.float32) / 24
    on_host = ttnn.float32 if dtype == "float32" else ttnn.bfloat16
    weight = ttnn.from_torch(torch.from_numpy(values), dtype=on_host)
    shape = dict(
        device=device, in_channels=channels, out_channels=filters, batch_size=1, input_height=size, input_width=size, kernel_size=(3, 3),
        stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1, conv_config=ttnn.Conv2dConfig(weights_dtype=getattr(ttnn, dtype)),
    )  # fmt: skip
    _, (prepared, _) = ttnn.conv2d(input_tensor=x, weight_tensor=weight, return_weights_and_bias=True, **shape)
    kernel = ttnn.to_torch(prepared).double().numpy().reshape(9 * channels, filters)
    padded = np.pad(image.reshape(size, size, channels), ((1, 1), (1, 1), (0, 0)))
    rows = np.stack([padded[i : i + 3, j : j + 3].reshape(-1) for i in range(size) for j in range(size)])
    return lambda **config: ttnn.conv2d(input_tensor=x, weight_tensor=prepared, **shape, **config), rows @ kernel


def _reduction(name: str, dim: int, positive: bool = False) -> Any:
    def make(ttnn: Any, device: Any, dtype: str) -> Any:
        x, values = Operands(ttnn, device, dtype)(1, 1, 192, 192, positive=positive)
        return lambda **config: getattr(ttnn, name)(x, dim=dim, **config), getattr(values, name)(axis=dim)

    return make


def _attention(keys: int, causal: bool) -> Any:
    def make(ttnn: Any, device: Any, dtype: str) -> Any:
        operands = Operands(ttnn, device, dtype)
        (q, x), (k, y), (v, z) = (operands(1, 2, keys, 64) for _ in range(3))
        scores = x @ y.swapaxes(-1, -2) / 8
        if causal:
            scores = np.where(np.tril(np.ones((keys, keys))) > 0, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        exact = weights @ z / weights.sum(-1, keepdims=True)
        attend = ttnn.transformer.scaled_dot_product_attention
        return lambda **config: attend(q, k, v, is_causal=causal, **config), exact

    return make


CASES = (
    Case("matmul, K = 64", FLOATS, _matmul(64)),
    Case("matmul, K = 512", (*FLOATS, "bfloat4_b"), _matmul(512)),
    Case("matmul, K = 2048", ("float32", "bfloat16"), _matmul(2048)),
    Case("matmul of positive values, K = 512", FLOATS, _matmul(512, positive=True)),
    Case("matmul to float32, K = 512", ("bfloat16", "bfloat8_b"), _matmul(512, out="float32")),
    Case("linear with bias, K = 512", FLOATS, _linear),
    Case("conv2d 3 x 3, 64 channels", FLOATS, _convolution, "compute_config"),
    Case("sum of rows of 192", FLOATS, _reduction("sum", -1)),
    Case("sum of columns of 192, positive", FLOATS, _reduction("sum", -2, positive=True)),
    Case("mean of rows of 192, positive", FLOATS, _reduction("mean", -1, positive=True)),
    Case("attention, 64 keys", ("bfloat16", "bfloat8_b"), _attention(64, causal=False)),
    Case("attention, 256 keys, causal", ("bfloat16", "bfloat8_b"), _attention(256, causal=True)),
)


def rows(cases: tuple[Case, ...] = CASES) -> Iterator[Row]:
    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    import ttnn

    from ttnn_shim import settings

    device = ttnn.open_device(device_id=0, l1_small_size=32768)
    for case in cases:
        for dtype in case.dtypes:
            call, exact = case.make(ttnn, device, dtype)
            for fidelity, fp32_dest in [("", None), *((fidelity, wide) for wide in (True, False) for fidelity in FIDELITIES)]:
                config = {}
                if fp32_dest is not None:
                    config[case.config_argument] = ttnn.WormholeComputeKernelConfig(
                        math_fidelity=getattr(ttnn.MathFidelity, fidelity), fp32_dest_acc_en=fp32_dest, packer_l1_acc=False, math_approx_mode=False
                    )
                errors = []
                for mode in ("fast", "tensix"):
                    with settings.numerics(mode):
                        got = ttnn.to_torch(call(**config)).double().numpy().reshape(exact.shape)
                    errors.append(float(np.linalg.norm(got - exact) / np.linalg.norm(exact)))
                yield Row(case.op, dtype, fidelity, fp32_dest, *errors)
    ttnn.close_device(device)


def bench_numerics() -> list[Figure]:
    """The worst configuration of each op and dtype: how far the two modes' errors are apart."""
    worst: dict[tuple[str, str], Row] = {}
    for row in rows():
        key = (row.op, row.dtype)
        if key not in worst or row.ratio > worst[key].ratio:
            worst[key] = row
    return [Figure(f"{op}, {dtype} ({row.config})", row.fast, row.bit_model, "", row.ratio, MOST_RATIO) for (op, dtype), row in worst.items()]


def tables(measured: list[Row]) -> str:
    """Markdown: for each op a table, fast / bit model per configuration."""
    lines = []
    for op in dict.fromkeys(row.op for row in measured):
        lines += [f"**{op}**", "", "| dtype | default | " + " | ".join(f"{wide} {f}" for wide in (32, 16) for f in FIDELITIES) + " |"]
        lines.append("|---" * (2 + 2 * len(FIDELITIES)) + "|")
        for dtype in dict.fromkeys(row.dtype for row in measured if row.op == op):
            cells = [f"{row.fast:.1e} / {row.bit_model:.1e}" for row in measured if (row.op, row.dtype) == (op, dtype)]
            lines.append(f"| {dtype} | " + " | ".join(cells) + " |")
        lines.append("")
    ratios = [row.ratio for row in measured]
    within = sum(ratio <= MOST_RATIO for ratio in ratios)
    lines.append(f"{within} of {len(ratios)} pairs within {MOST_RATIO:g}x, the median {statistics.median(ratios):.2f}x, the worst {max(ratios):.2f}x.")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, metavar="FILE", help="write the tables into this file")
    options = parser.parse_args()
    measured = list(rows())
    text = tables(measured)
    if options.docs is None:
        print(text)
    else:
        before, rest = options.docs.read_text().split(BEGIN)
        options.docs.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
    for row in measured:
        if row.ratio > MOST_RATIO:
            print(f"more than {MOST_RATIO:g}x apart: {row.op}, {row.dtype}, {row.config}: {row.fast:.2e} and {row.bit_model:.2e}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
