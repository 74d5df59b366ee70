"""`make bench`: speed as ratios against a peer measured in the same run, interleaved, with equal threads.

    python tools/bench/run.py [--only NAME ...] [--json FILE]

Nothing here fails on a slow machine; the ratios are printed beside their targets.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.bench.clock import bench_clock_share, bench_estimate
from tools.bench.measure import Figure, interleaved
from tools.bench.models import bench_llama_1b, bench_long_graphs, bench_models
from tools.bench.numerics import bench_numerics
from tools.bench.ops import bench_copies, bench_gemm, bench_rows
from tools.bench.scaling import bench_scaling
from tools.bench.search import bench_search


def bench_call_overhead() -> list[Figure]:
    """A 32x32 bfloat16 add through the Python door."""
    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    import ttnn

    device = ttnn.open_device(device_id=0)
    x = ttnn.ones([32, 32], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    for _ in range(200):
        ttnn.add(x, x)
    samples = []
    for _ in range(7):
        start_s = time.perf_counter()
        for _ in range(1000):
            ttnn.add(x, x)
        samples.append((time.perf_counter() - start_s) / 1000)
    ttnn.close_device(device)
    best_us = statistics.median(samples) * 1e6
    return [Figure("32x32 add, call", best_us, 20.0, "us", best_us / 20.0, 1.0)]


def bench_import() -> list[Figure]:
    """Fresh interpreters: `import ttnn` of the shim, the bare interpreter subtracted."""
    code = "import ttnn_shim; ttnn_shim.activate(explicit=True); import ttnn"

    def run(text: str) -> None:
        subprocess.run([sys.executable, "-c", text], check=True)

    ours_s, bare_s = interleaved(lambda: run(code), lambda: run("pass"), rounds=7)
    return [Figure("import of the shim", ours_s - bare_s, 0.3, "s", (ours_s - bare_s) / 0.3, 1.0)]


def bench_program(name: str) -> list[Figure]:
    """An emitted program on the shim against torch eager, both in bfloat16, both warm."""
    import torch

    from alchemist import codegen_py
    from alchemist.loaded import LoadedProgram
    from tests.e2e.models import LARGE

    torch.set_num_threads(os.cpu_count() or 1)
    model, args, kwargs = LARGE[name]() if name in LARGE else minilm()
    with tempfile.TemporaryDirectory() as directory:
        codegen_py(model, *args, export_path=Path(directory) / "out", **kwargs)
        with LoadedProgram(Path(directory) / "out") as program:
            values = [program.utils.load(key, program.device) for key in program.inputs]

            def ours() -> None:
                for output in program.run(values):
                    program.utils.to_numpy(output)

            def peer() -> None:
                with torch.inference_mode():
                    model(*args, **kwargs)

            ours_s, peer_s = interleaved(ours, peer)
    return [Figure(f"{name}: forward against torch eager bf16", ours_s, peer_s, "s", ours_s / peer_s, 1.5)]


def minilm() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """all-MiniLM-L6's architecture; the weights do not change the speed."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    ids = torch.randint(0, 30000, (8, 32))
    return BertModel(config).eval().to(torch.bfloat16), (), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def bench_codegen(name: str) -> list[Figure]:
    """`codegen_py` against torch.export alone plus the time to write the tensors; peak memory against the weights."""
    code = f"""
import json, os, resource, sys, tempfile, time
os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from pathlib import Path
from alchemist import codegen_py
from tests.e2e.models import LARGE
model, args, kwargs = LARGE[{name!r}]()
weights_bytes = sum(t.numel() * t.element_size() for t in [*model.parameters(), *model.buffers()])
with torch.no_grad():
    model(*args, **kwargs)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
start = time.perf_counter()
torch.export.export(model, args, kwargs, strict=False)
export_s = time.perf_counter() - start
with tempfile.TemporaryDirectory() as directory:
    start = time.perf_counter()
    result = codegen_py(model, *args, export_path=Path(directory) / "out", **kwargs)
    total_s = time.perf_counter() - start
    write_s = result.stage_seconds["write tensors"]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps(dict(export_s=export_s, total_s=total_s, write_s=write_s, weights=weights_bytes, before=before, peak=peak)))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).resolve().parents[2], capture_output=True, text=True, check=True)
    row = json.loads(done.stdout.splitlines()[-1])
    allowed_s = 3 * row["export_s"] + row["write_s"]
    allowed_bytes = 2 * row["weights"] + 500e6
    used_bytes = row["peak"] - row["before"] + row["weights"]
    return [
        Figure(f"{name}: codegen_py against 3x torch.export + writing", row["total_s"], allowed_s, "s", row["total_s"] / allowed_s, 1.0),
        Figure(f"{name}: codegen memory against 2x weights + 500 MB", used_bytes / 1e6, allowed_bytes / 1e6, "MB", used_bytes / allowed_bytes, 1.0),
    ]


BENCHES: dict[str, Callable[[], list[Figure]]] = {
    "call": bench_call_overhead,
    "import": bench_import,
    "gemm": bench_gemm,
    "copies": bench_copies,
    "rows": bench_rows,
    "scaling": bench_scaling,
    "numerics": bench_numerics,
    "estimate": bench_estimate,
    "clock-share": bench_clock_share,
    "minilm": lambda: bench_program("minilm"),
    "bert": lambda: bench_program("bert_base"),
    "resnet": lambda: bench_program("resnet50"),
    "codegen-bert": lambda: bench_codegen("bert_base"),
    "codegen-resnet": lambda: bench_codegen("resnet50"),
    "models": bench_models,
    "llama-1b": bench_llama_1b,
    "long-graphs": bench_long_graphs,
    "search": bench_search,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=sorted(BENCHES), default=list(BENCHES))
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    figures: list[Figure] = []
    print(f"{'':58} {'ours':>10} {'peer':>10}      {'ratio':>6}  target")
    for name in options.only:
        for figure in BENCHES[name]():
            figures.append(figure)
            sign = ">=" if figure.at_least else "<="
            print(
                f"{figure.name:58} {figure.ours:10.4g} {figure.peer:10.4g} {figure.unit:3}  {figure.ratio:6.2f}"
                f"  {sign} {figure.target:g}{'' if figure.met else '   MISSED'}",
                flush=True,
            )
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of this process: {peak_mb:.0f} MB")
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
