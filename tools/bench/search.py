"""What optimization level 2 costs the compiler: processor seconds over level 0, and memory of a long graph."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

from tools.bench.measure import Figure, in_new_process
from tools.bench.models import long_chain

MODELS = ("BERT-base b8 s384", "ResNet-50 b16", "Llama-8B decode b32, 512 positions, bfp8 weights")
ALLOWED_S, LONG_GRAPH_S, LONG_GRAPH_GB = 20.0, 60.0, 2.0


def time_levels(name: str) -> dict[str, float]:
    """Seconds of lowering a captured model at level 0 and at level 2, by level. The first lowering of a process is not counted."""
    from alchemist.options import CompilerOptions
    from alchemist.passes import lower_to_ttnn
    from alchemist.pipeline import capture
    from models.whole import MODELS as WHOLE

    whole = WHOLE[name]()
    captured = capture(whole.model.eval(), whole.args, dict(whole.kwargs), "torch")
    seconds = {}
    for run, level in (("warm", 0), ("0", 0), ("2", 2)):
        begin_s = time.process_time()
        lower_to_ttnn(captured.module, CompilerOptions.parse({**whole.options, "optimization_level": level}))
        seconds[run] = time.process_time() - begin_s
    return seconds


def time_long_graph(count: int, level: int) -> dict[str, float]:
    """Seconds from text to sources, and the peak of the process in bytes."""
    from alchemist.codegen import mlir_sources

    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "graph.mlir"
        file.write_text(long_chain(count))
        begin_s = time.process_time()
        mlir_sources(file, compiler_options={"optimization_level": level})
        seconds = time.process_time() - begin_s
    return {"seconds": seconds, "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0}


def bench_search() -> list[Figure]:
    """Each in a process of its own, with nothing in the memo of prices."""
    figures = []
    for name in MODELS:
        row = in_new_process(__name__, f"time_levels({name!r})")
        over_s = row["2"] - row["0"]
        figures.append(Figure(f"{name.split(',')[0]}: level 2 over level 0", over_s, ALLOWED_S, "s", over_s / ALLOWED_S, 1.0))
    row = in_new_process(__name__, "time_long_graph(10000, 2)")
    figures.append(Figure("10,000 ops at level 2, text to sources", row["seconds"], LONG_GRAPH_S, "s", row["seconds"] / LONG_GRAPH_S, 1.0))
    peak_gb = row["peak_bytes"] / 1e9
    figures.append(Figure("10,000 ops at level 2, peak of the process", peak_gb, LONG_GRAPH_GB, "GB", peak_gb / LONG_GRAPH_GB, 1.0))
    return figures
