"""Op-level ratios: matmul and conv2d against raw oneDNN, softmax, layer_norm and SDPA against torch, the rest against a threaded copy.

A ratio is peer time / our time (1: as fast as the peer). For the copies, the peer moves the same number of bytes, read plus written;
where our result shares its operand's values until it is written, a write of all of it (relu in place) is timed on both sides. A
matmul's calls share one activation, whose bits the shim cuts to the math fidelity once, as for a model's query, key and value; cutting it
anew costs some 10 % at 128 x 768 x 3072.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tools.bench.measure import Figure, interleaved

THREADS = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
ROWS, COLUMNS = 8192, 4096  # 64 MiB of bfloat16


def _setup() -> tuple[Any, Any, Any]:
    """torch, ttnn, device; equal threads on both sides."""
    import torch

    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    import ttnn

    torch.set_num_threads(THREADS)
    return torch, ttnn, ttnn.open_device(device_id=0, l1_small_size=32768)


def _figure(name: str, ours: Callable[[], Any], peer: Callable[[], Any], target: float) -> Figure:
    ours_s, peer_s = interleaved(ours, peer, rounds=11)
    return Figure(name, ours_s * 1e3, peer_s * 1e3, "ms", peer_s / ours_s, target, at_least=True)


def bench_gemm() -> list[Figure]:
    torch, ttnn, device = _setup()

    def on_device(*shape: int, layout: Any = ttnn.TILE_LAYOUT) -> Any:
        return ttnn.from_torch(torch.randn(shape).to(torch.bfloat16), layout=layout, device=device)

    ttnn.matmul(on_device(32, 32), on_device(32, 32))  # loads the library
    from tools.bench.onednn import RawOneDnn

    raw = RawOneDnn()
    figures = []
    for m, k, n in ((1024, 1024, 1024), (128, 768, 3072), (2048, 4096, 1024), (32, 4096, 4096)):
        a, b = on_device(m, k), on_device(k, n)
        figures.append(_figure(f"matmul {m} x {k} x {n} / oneDNN", lambda a=a, b=b: ttnn.matmul(a, b), raw.matmul(m, k, n), 0.85))
    for channels, size, out_channels, kernel, stride in ((64, 56, 64, 3, 1), (256, 14, 256, 3, 1), (256, 56, 512, 1, 2), (3, 224, 64, 7, 2)):
        x = on_device(1, 1, 8 * size * size, channels, layout=ttnn.ROW_MAJOR_LAYOUT)
        weight = ttnn.from_torch(torch.randn(out_channels, channels, kernel, kernel).to(torch.bfloat16))
        shape = dict(
            in_channels=channels, out_channels=out_channels, batch_size=8, input_height=size, input_width=size, kernel_size=[kernel, kernel],
            stride=[stride, stride], padding=[kernel // 2, kernel // 2], device=device,
        )  # fmt: skip
        _, (prepared, _) = ttnn.conv2d(input_tensor=x, weight_tensor=weight, return_weights_and_bias=True, **shape)
        figures.append(
            _figure(
                f"conv2d {channels} -> {out_channels}, {kernel}x{kernel}/{stride}, 8 x {size} x {size} / oneDNN",
                lambda x=x, prepared=prepared, shape=shape: ttnn.conv2d(input_tensor=x, weight_tensor=prepared, **shape),
                raw.convolution(8, channels, size, out_channels, kernel, stride, kernel // 2),
                0.85,
            )
        )
    ttnn.close_device(device)
    return figures


def bench_copies() -> list[Figure]:
    torch, ttnn, device = _setup()
    tile, rows = ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT
    host = torch.randn(1, 1, ROWS, COLUMNS).to(torch.bfloat16)
    target = torch.empty_like(host)
    x = ttnn.from_torch(host, layout=tile, device=device)
    y = ttnn.from_torch(host, layout=tile, device=device)
    line = ttnn.from_torch(host[:, :, :1], layout=tile, device=device)
    x_rows = ttnn.from_torch(host, layout=rows, device=device)
    deep = ttnn.reshape(x_rows, [1, ROWS // 64, 64, COLUMNS])
    narrow = ttnn.from_torch(host.reshape(1, -1, 16, 64), layout=rows, device=device)
    images = ttnn.from_torch(host.reshape(8, 64, 256, 256), layout=rows, device=device)
    host_tensor = ttnn.from_torch(host, layout=rows)
    ids = ttnn.from_torch(torch.randint(0, ROWS, (1, ROWS), dtype=torch.int32).to(torch.uint32), layout=rows, device=device)
    table = ttnn.from_torch(host[0, 0], layout=rows, device=device)

    def copy() -> None:  # 64 MiB read, 64 MiB written
        target.copy_(host)

    def written(make: Callable[[], Any]) -> Callable[[], None]:
        """Results that share their operand's values until one of the two is written: the write is timed with them."""

        def run() -> None:
            result = make()
            ttnn.relu(result, output_tensor=result)

        return run

    def copy_and_write() -> None:
        target.copy_(host)
        target.relu_()

    def copies(bytes_moved: int) -> Callable[[], None]:
        """A copy that reads and writes `bytes_moved` bytes in all."""
        count = max(1, bytes_moved // 4)
        source, into = host.view(-1)[:count], target.view(-1)[:count]
        return lambda: into.copy_(source)

    size = host.numel() * 2
    cases: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
        ("tilize 64 MB, write", written(lambda: ttnn.to_layout(x_rows, tile)), copy_and_write),
        ("untilize 64 MB, write", written(lambda: ttnn.to_layout(x, rows)), copy_and_write),
        ("add", lambda: ttnn.add(x, y), lambda: (copy(), target.view(-1)[: size // 4].copy_(host.view(-1)[: size // 4]))),
        ("add, broadcast row", lambda: ttnn.add(x, line), copy),
        ("multiply by a scalar", lambda: ttnn.multiply(x, 2.0), copy),
        ("relu", lambda: ttnn.relu(x), copy),
        ("typecast to float32", lambda: ttnn.typecast(x, ttnn.float32), lambda: (copy(), target.view(-1)[: size // 4].copy_(host.view(-1)[: size // 4]))),
        ("clone, write", written(lambda: ttnn.clone(x)), copy_and_write),
        ("transpose, last two", lambda: ttnn.transpose(x, -2, -1), copy),
        ("permute 0 2 1 3, rows of 64", lambda: ttnn.permute(narrow, [0, 2, 1, 3]), copy),
        ("permute 0 2 1 3, rows of 4096", lambda: ttnn.permute(deep, [0, 2, 1, 3]), copy),
        ("permute NCHW to NHWC", lambda: ttnn.permute(images, [0, 2, 3, 1]), copy),
        ("slice half", lambda: ttnn.slice(x, [0, 0, 0, 0], [1, 1, ROWS, COLUMNS // 2]), copies(size)),
        ("concat", lambda: ttnn.concat([x, y], -1), lambda: (copy(), copy())),
        ("repeat", lambda: ttnn.repeat(line, [1, 1, ROWS, 1]), copies(size)),
        ("pad", lambda: ttnn.pad(x_rows, [(0, 0), (0, 0), (0, 32), (0, 32)], 0.0), copy),
        ("embedding", lambda: ttnn.embedding(ids, table), copy),
        ("sum of rows", lambda: ttnn.sum(x, -1), copies(size)),
        ("sum of columns", lambda: ttnn.sum(x, -2), copies(size)),
        ("max of rows", lambda: ttnn.max(x, -1), copies(size)),
        ("host to device, write", written(lambda: ttnn.to_device(host_tensor, device)), copy_and_write),
        ("to_torch", lambda: ttnn.to_torch(x), copy),
        ("from_torch", lambda: ttnn.from_torch(host, layout=tile, device=device), copy),
    ]
    figures = [_figure(f"{name} / copy of its bytes", ours, peer, 0.5) for name, ours, peer in cases]
    ttnn.close_device(device)
    return figures


def bench_rows() -> list[Figure]:
    torch, ttnn, device = _setup()
    functional = torch.nn.functional
    figures = []
    with torch.inference_mode():
        for shape in ((1, 12, 384, 384), (8, 16, 512, 512), (64, 1000)):
            host = torch.randn(shape).to(torch.bfloat16)
            x = ttnn.from_torch(host, layout=ttnn.TILE_LAYOUT, device=device)
            label = " x ".join(map(str, shape))
            figures.append(_figure(f"softmax {label} / torch", lambda x=x: ttnn.softmax(x, -1), lambda host=host: functional.softmax(host, -1), 1.0))
        for shape in ((8, 128, 768), (2048, 4096)):
            host = torch.randn(shape).to(torch.bfloat16)
            weight, bias = torch.randn(shape[-1]).to(torch.bfloat16), torch.randn(shape[-1]).to(torch.bfloat16)
            x, w, b = (ttnn.from_torch(value, layout=ttnn.TILE_LAYOUT, device=device) for value in (host, weight, bias))
            figures.append(
                _figure(
                    f"layer_norm {' x '.join(map(str, shape))} / torch",
                    lambda x=x, w=w, b=b: ttnn.layer_norm(x, weight=w, bias=b),
                    lambda host=host, weight=weight, bias=bias: functional.layer_norm(host, host.shape[-1:], weight, bias),
                    1.0,
                )
            )
        for batch, heads, length, depth, causal in ((1, 12, 128, 64, False), (8, 12, 32, 32, False), (1, 16, 1024, 64, True), (1, 32, 2048, 128, True)):
            host = torch.randn(batch, heads, length, depth).to(torch.bfloat16)
            x = ttnn.from_torch(host, layout=ttnn.TILE_LAYOUT, device=device)
            figures.append(
                _figure(
                    f"sdpa {batch} x {heads} x {length} x {depth}{' causal' if causal else ''} / torch",
                    lambda x=x, causal=causal: ttnn.transformer.scaled_dot_product_attention(x, x, x, is_causal=causal),
                    lambda host=host, causal=causal: functional.scaled_dot_product_attention(host, host, host, is_causal=causal),
                    1.0,
                )
            )
    ttnn.close_device(device)
    return figures
