"""`python -m tools.soak.run`: one process does the same thing thousands of times; its memory has to stay flat.

Memory is the resident set after a garbage collection and after the C library gave back its free pages. The warm-up is the first fifth.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

LIMIT = 0.02


@dataclass(frozen=True, slots=True)
class Soak:
    """Memory in bytes after the warm-up and at later points."""

    name: str
    count: int
    points: tuple[int, ...]

    @property
    def growth(self) -> float:
        """Largest later memory against that after the warm-up."""
        return max(self.points[1:]) / self.points[0] - 1

    def __str__(self) -> str:
        course = " ".join(f"{point / 1e6:.1f}" for point in self.points)
        return f"{self.name:24} {self.count:6} times  {self.growth:+7.2%}  MB: {course}"


def resident_bytes() -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def soak(name: str, count: int, work: Callable[[int], object]) -> Soak:
    points = []
    for number in range(count):
        if number >= count // 5 and (number - count // 5) % max(1, count // 10) == 0:
            points.append(resident_bytes())
        work(number)
    return Soak(name, count, (*points, resident_bytes()))


def model() -> tuple[object, object]:
    import torch

    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.LayerNorm(128), torch.nn.Linear(128, 64), torch.nn.Softmax(-1))
    return layers.eval(), torch.randn(8, 64)


def runs(count: int, folder: Path) -> Soak:
    from alchemist import codegen_py
    from alchemist.loaded import LoadedProgram

    layers, x = model()
    codegen_py(layers, x, export_path=folder / "program")
    values = np.zeros((8, 64), np.float32)
    with LoadedProgram(folder / "program") as program:
        return soak("runs", count, lambda number: program(values + number))


def codegens(count: int, folder: Path) -> Soak:
    from alchemist import codegen_cpp, codegen_py

    layers, x = model()
    return soak("codegens", count, lambda number: (codegen_py, codegen_cpp)[number % 2](layers, x, export_path=folder / f"export{number % 2}"))


def devices(count: int, folder: Path) -> Soak:
    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    import ttnn

    def work(number: int) -> None:
        device = ttnn.open_device(device_id=0, l1_small_size=16384 * (number % 2))
        ttnn.ones([32, 32], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
        ttnn.close_device(device)

    return soak("open and close", count, work)


def weights(count: int, folder: Path) -> Soak:
    """8 MB each, used as a weight and freed."""
    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    import ttnn

    with ExitStack() as stack:
        device = ttnn.open_device(device_id=0)
        stack.callback(ttnn.close_device, device)
        x = ttnn.ones([32, 2048], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)

        def work(number: int) -> None:
            weight = ttnn.full([2048, 2048], number % 7, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
            for _ in range(3):
                ttnn.linear(x, weight)

        return soak("weights of 8 MB", count, work)


KINDS: dict[str, tuple[Callable[[int, Path], Soak], int]] = {
    "runs": (runs, 3000),
    "codegens": (codegens, 300),
    "devices": (devices, 10_000),
    "weights": (weights, 300),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="of " + ", ".join(KINDS) + " (default: all)")
    parser.add_argument("--divide", type=int, default=1, metavar="N", help="an N-th of the repetitions")
    options = parser.parse_args()
    failed = False
    for kind in options.kinds or KINDS:
        if kind not in KINDS:
            parser.error(f"unknown kind {kind!r}; known: {', '.join(KINDS)}")
        function, count = KINDS[kind]
        with tempfile.TemporaryDirectory() as folder:
            found = function(max(10, count // options.divide), Path(folder))
        print(found, flush=True)
        failed |= found.growth > LIMIT
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
