"""Host time and memory of a Llama decoder layer on eight chips, against the same layer and weights on one chip.

    python tools/bench/mesh.py                     # prefill and decode; 2x4, 1x8 (tensor parallel) and 8x1 (data parallel) of a T3000
    python tools/bench/mesh.py --mesh 2x4 --phase prefill

Data is cut over the rows of the mesh, weights and the residual stream over its columns, as hand-written programs do. Each row is a process of
its own, so that its peak of memory is its own; the one chip of the comparison runs first and last, and the better of the two counts. Exit
code 1 where the prefill of 2x4 takes more than 1.3 times its host time or memory. Host time is processor time, so that other work on the machine counts little. A sum of squares of the result shows that both compute the same.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

HIDDEN, HEADS, KEY_HEADS, HEAD, INTERMEDIATE, BATCH, CONTEXT = 2048, 16, 8, 128, 5632, 32, 128
PHASES = {"prefill": 64, "decode": 1}
"""Tokens of a sequence that a call computes."""
BAR = 1.3
TENSOR = 1  # axis of the mesh that cuts the weights


def build(mesh: Any, rows: int, columns: int, tokens: int) -> Any:
    """The layer as a function of nothing that returns its result, with weights and input on the mesh."""
    import ttnn

    draw = np.random.default_rng(0)

    def place(values: np.ndarray, over_rows: int | None, over_columns: int | None, layout: Any = ttnn.TILE_LAYOUT) -> Any:
        if rows * columns == 1:
            return ttnn.Tensor(values, ttnn.bfloat16, layout=layout, device=mesh)
        dims = [None if dim is None else ttnn.PlacementShard(dim) for dim in (over_rows, over_columns)]
        config = ttnn.MeshMapperConfig([ttnn.PlacementReplicate() if dim is None else dim for dim in dims])
        return ttnn.Tensor(values, ttnn.bfloat16, layout=layout, device=mesh, mesh_mapper=ttnn.create_mesh_mapper(mesh, config))

    def weight(inputs: int, outputs: int, cut: int) -> Any:
        return place(draw.standard_normal((inputs, outputs), np.float32) / np.float32(inputs**0.5), None, cut)

    query, key, value = (weight(HIDDEN, heads * HEAD, 1) for heads in (HEADS, KEY_HEADS, KEY_HEADS))
    out = weight(HEADS * HEAD, HIDDEN, 0)
    gate, up, down = weight(HIDDEN, INTERMEDIATE, 1), weight(HIDDEN, INTERMEDIATE, 1), weight(INTERMEDIATE, HIDDEN, 0)
    scales = [place(np.ones((1, 1, HIDDEN // 32, 32), np.float32), None, 2, ttnn.ROW_MAJOR_LAYOUT) for _ in range(2)]
    x = place(draw.standard_normal((BATCH, 1, tokens, HIDDEN), np.float32), 0, 3)
    cache = [place(draw.standard_normal((BATCH, KEY_HEADS, CONTEXT, HEAD), np.float32), 0, 1) for _ in range(2)] if tokens == 1 else []
    heads, key_heads = HEADS // columns, KEY_HEADS // columns

    def norm(hidden: Any, scale: Any) -> Any:
        if columns == 1:
            return ttnn.rms_norm(hidden, weight=scale, epsilon=1e-5)
        stats = ttnn.all_gather(ttnn.rms_norm_pre_all_gather(hidden), 3, cluster_axis=TENSOR)
        return ttnn.all_gather(ttnn.rms_norm_post_all_gather(hidden, stats, weight=scale, epsilon=1e-5), 3, cluster_axis=TENSOR)

    def whole(partial: Any) -> Any:
        return partial if columns == 1 else ttnn.reduce_scatter(partial, 3, cluster_axis=TENSOR)

    def split(tensor: Any, count: int) -> Any:
        batch = tensor.shape[0]
        return ttnn.permute(ttnn.reshape(tensor, [batch, tokens, count, HEAD]), [0, 2, 1, 3])

    def attention(hidden: Any) -> Any:
        q, k, v = split(ttnn.matmul(hidden, query), heads), split(ttnn.matmul(hidden, key), key_heads), split(ttnn.matmul(hidden, value), key_heads)
        if cache:
            k, v = (ttnn.concat([old, new], 2) for old, new in zip(cache, (k, v), strict=True))
        mixed = ttnn.transformer.scaled_dot_product_attention(q, k, v, is_causal=not cache, scale=HEAD**-0.5)
        batch = mixed.shape[0]
        return whole(ttnn.matmul(ttnn.reshape(ttnn.permute(mixed, [0, 2, 1, 3]), [batch, 1, tokens, heads * HEAD]), out))

    def layer() -> Any:
        hidden = ttnn.add(x, attention(norm(x, scales[0])))
        read = norm(hidden, scales[1])
        mlp = ttnn.multiply(ttnn.matmul(read, gate, activation="silu"), ttnn.matmul(read, up))
        return ttnn.add(hidden, whole(ttnn.matmul(mlp, down)))

    return layer


def measure(rows: int, columns: int, tokens: int, calls: int) -> dict[str, float]:
    """Of this process: processor seconds of the best call, its device time, peak memory in bytes, and a sum of squares of the result."""
    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    import ttnn

    from ttnn_shim import session

    session.settings.card = "t3000" if rows * columns > 1 else "n300"
    if rows * columns > 1:
        ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(rows, columns))
    layer = build(mesh, rows, columns, tokens)
    times = []
    for _ in range(calls):
        mesh.clock_reset()
        start_s = time.process_time()
        result = layer()
        times.append(time.process_time() - start_s)
    composer = {} if rows * columns == 1 else {"mesh_composer": ttnn.create_mesh_composer(mesh, ttnn.MeshComposerConfig([0, 3]))}
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    values = np.asarray(ttnn.to_torch(result, **composer).float() if composer else ttnn.to_dtype(ttnn.from_device(result), ttnn.float32).to_numpy())
    return {"host_s": min(times), "device_ms": mesh.clock_read()["device_ns"] / 1e6, "peak_bytes": peak_bytes, "squares": float(np.square(values).sum())}


def in_a_process(rows: int, columns: int, phase: str, calls: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", f"{rows}x{columns}", "--phase", phase, "--calls", str(calls)]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mesh", action="append", help="rows x columns of a T3000; 2x4 and 1x8 without it")
    parser.add_argument("--phase", choices=list(PHASES), action="append")
    parser.add_argument("--calls", type=int, default=2)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        rows, columns = map(int, options.one.split("x"))
        print(json.dumps(measure(rows, columns, PHASES[options.phase[0]], options.calls)))
        return 0
    failed = False
    print("phase    mesh  host s  of one chip  peak GB  of one chip  device ms  of one chip")
    for phase in options.phase or PHASES:
        first = in_a_process(1, 1, phase, options.calls)
        meshes = {mesh: in_a_process(*map(int, mesh.split("x")), phase, options.calls) for mesh in options.mesh or ["2x4", "1x8", "8x1"]}
        again = in_a_process(1, 1, phase, options.calls)
        one = {name: min(first[name], again[name]) for name in first}
        for mesh, own in {"1x1": one, **meshes}.items():
            ratios = {name: own[name] / one[name] for name in own}
            print(
                f"{phase:8} {mesh}   {own['host_s']:6.3f}  {ratios['host_s']:11.2f}  {own['peak_bytes'] / 1e9:7.2f}  {ratios['peak_bytes']:11.2f}"
                f"  {own['device_ms']:9.3f}  {ratios['device_ms']:11.2f}"
            )
            assert abs(ratios["squares"] - 1) < 0.01, f"{mesh}: the mesh computes something else"
            failed |= phase == "prefill" and mesh == "2x4" and max(ratios["host_s"], ratios["peak_bytes"]) > BAR
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
