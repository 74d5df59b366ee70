"""What a second thread brings: the same calls in a process of one thread and in one of two."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from tools.bench.measure import Figure

TARGET = 1.5
ROUNDS = 15


def calls() -> dict[str, Callable[[], Any]]:
    """One call of each kind of kernel, on values that exceed a core's caches."""
    import torch

    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    import ttnn

    device = ttnn.open_device(device_id=0, l1_small_size=32768)
    tile, rows = ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT

    def on_device(*shape: int, layout: Any = tile) -> Any:
        return ttnn.from_torch(torch.randn(shape).to(torch.bfloat16), layout=layout, device=device)

    x, images, heads, square = on_device(4096, 4096), on_device(8, 64, 128, 128, layout=rows), on_device(1, 16, 1024, 64), on_device(1024, 1024)
    weight, bias = on_device(4096), on_device(4096)
    return {
        "matmul": lambda: ttnn.matmul(square, square),
        "gelu": lambda: ttnn.gelu(x),
        "add": lambda: ttnn.add(x, x),
        "transpose": lambda: ttnn.transpose(x, -2, -1),
        "permute NCHW to NHWC": lambda: ttnn.permute(images, [0, 2, 3, 1]),
        "sum of rows": lambda: ttnn.sum(x, -1),
        "sum of columns": lambda: ttnn.sum(x, -2),
        "max of rows": lambda: ttnn.max(x, -1),
        "softmax": lambda: ttnn.softmax(x, -1),
        "layer_norm": lambda: ttnn.layer_norm(x, weight=weight, bias=bias),
        "causal attention": lambda: ttnn.transformer.scaled_dot_product_attention(heads, heads, heads, is_causal=True),
    }


def measure() -> dict[str, float]:
    """Lower-quartile seconds of each call."""
    result = {}
    for name, call in calls().items():
        times = []
        for round_ in range(ROUNDS + 3):
            start_s = time.perf_counter()
            call()
            if round_ >= 3:
                times.append(time.perf_counter() - start_s)
        result[name] = statistics.quantiles(times, n=4)[0]
    return result


def bench_scaling() -> list[Figure]:
    """Ratio of one thread's time to two threads'."""

    def run(threads: int) -> dict[str, float]:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        done = subprocess.run([sys.executable, "-m", "tools.bench.scaling"], env=environment, capture_output=True, text=True, check=True)
        return dict(json.loads(done.stdout.splitlines()[-1]))

    one, two = run(1), run(2)
    return [Figure(f"{name}: one thread / two threads", two[name] * 1e3, one[name] * 1e3, "ms", one[name] / two[name], TARGET, at_least=True) for name in one]


if __name__ == "__main__":
    print(json.dumps(measure()))
