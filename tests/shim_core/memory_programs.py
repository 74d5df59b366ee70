"""Small programs whose memory is compared with the real package: where each tensor lies, what each bank holds, what is out of memory.

    python memory_programs.py ANSWERS.json [L1_SMALL_BYTES]

runs them on whatever `ttnn` the interpreter has (the simulator's or the real wheel's) and writes one answer per step. The real wheel's
answers are kept in tests/data/memory; `record_memory.py` asks again. A program is a list of steps, Python text over `ttnn`, `device`, the names
that steps before have bound, and the helpers below. A refused step binds nothing; the program goes on.
"""

from __future__ import annotations

import json
import sys
from typing import Any

KINDS = ("DRAM", "L1", "L1_SMALL")

HELPERS = """
def new(shape, memory=ttnn.DRAM_MEMORY_CONFIG, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT):
    return ttnn.empty(shape, dtype=dtype, layout=layout, device=device, memory_config=memory)

def host(shape, dtype=ttnn.bfloat16, layout=ttnn.ROW_MAJOR_LAYOUT):
    return ttnn.zeros(shape, dtype=dtype, layout=layout)

def shards(kind, grid, shape, buffer=ttnn.BufferType.L1):
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(grid[0] - 1, grid[1] - 1))])
    spec = ttnn.ShardSpec(cores, shape, ttnn.ShardOrientation.ROW_MAJOR)
    return ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, kind + "_SHARDED"), buffer, spec)

L1, DRAM = ttnn.L1_MEMORY_CONFIG, ttnn.DRAM_MEMORY_CONFIG
"""

CONV = "in_channels={i}, out_channels={o}, batch_size={n}, input_height={h}, input_width={h}, kernel_size=[{k}, {k}], stride=[{s}, {s}], padding=[{p}, {p}], dilation=[1, 1]"  # fmt: skip


def conv(name: str, source: str, **sizes: int) -> list[str]:
    """Weights and bias made ready, and the convolution on them."""
    geometry = CONV.format(**sizes)
    ready = f"input_memory_config=DRAM, input_layout=ttnn.TILE_LAYOUT, {geometry}, groups=1, device=device, input_dtype=ttnn.bfloat16"
    return [
        f"{name}_w = ttnn.prepare_conv_weights(weight_tensor=host([{sizes['o']}, {sizes['i']}, {sizes['k']}, {sizes['k']}]), weights_format='OIHW', has_bias=True, {ready})",
        f"{name}_b = ttnn.prepare_conv_bias(bias_tensor=host([1, 1, 1, {sizes['o']}]), conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16), {ready})",
        f"{name} = ttnn.conv2d(input_tensor={source}, weight_tensor={name}_w, bias_tensor={name}_b, device=device, {geometry}, memory_config=DRAM)",
    ]


def pool(name: str, source: str, side: int, channels: int, memory: str) -> str:
    return (
        f"{name} = ttnn.max_pool2d({source}, batch_size=1, input_h={side}, input_w={side}, channels={channels}, kernel_size=[3, 3], stride=[2, 2], "
        f"padding=[1, 1], dilation=[1, 1]{memory})"
    )


PROGRAMS: dict[str, list[str]] = {
    "holes are filled from the top of L1": [
        "a = new([64, 2048], L1)", "b = new([128, 2048], L1)", "c = new([32, 2048], L1)", "d = new([96, 2048], L1)", "ttnn.deallocate(b)",
        "e = new([32, 2048], L1)", "f = new([256, 2048], L1)", "ttnn.deallocate(d)", "g = new([96, 2048], L1)", "h = new([64, 2048], L1)",
    ],
    "holes are filled from the bottom of DRAM": [
        "a = new([64, 2048])", "b = new([128, 2048])", "c = new([32, 2048])", "ttnn.deallocate(a)", "ttnn.deallocate(b)", "d = new([32, 2048])",
        "e = new([512, 2048])", "f = new([33, 40], layout=ttnn.ROW_MAJOR_LAYOUT)", "g = new([7, 3], layout=ttnn.ROW_MAJOR_LAYOUT, dtype=ttnn.int32)",
    ],
    "sizes of dtypes and layouts": [
        *(f"t{i} = new([100, 70], memory, ttnn.{dtype}, ttnn.{layout})" if i else "memory = L1" for i, (dtype, layout) in enumerate(
            [("", ""), ("bfloat16", "TILE_LAYOUT"), ("float32", "TILE_LAYOUT"), ("bfloat8_b", "TILE_LAYOUT"), ("bfloat4_b", "TILE_LAYOUT"), ("uint8", "TILE_LAYOUT"),
             ("uint16", "ROW_MAJOR_LAYOUT"), ("int32", "ROW_MAJOR_LAYOUT"), ("bfloat16", "ROW_MAJOR_LAYOUT"), ("uint8", "ROW_MAJOR_LAYOUT")])),
        "v = new([2, 0, 32], L1)", "w = new([], L1)", "x = new([1, 1, 1, 5], L1)",
    ],
    "shards": [
        "a = new([1, 1, 256, 256], shards('HEIGHT', (2, 4), [32, 256]))", "b = new([1, 1, 256, 256], shards('WIDTH', (4, 2), [256, 32]))",
        "c = new([1, 1, 256, 256], shards('BLOCK', (4, 4), [64, 64]))", "d = new([1, 1, 250, 256], shards('HEIGHT', (8, 1), [32, 256]))",
        "e = ttnn.to_memory_config(c, DRAM)", "f = ttnn.to_memory_config(e, shards('HEIGHT', (8, 1), [32, 256]))", "g = ttnn.add(a, f)",
        "h = ttnn.sharded_to_interleaved(g, L1)", "i = ttnn.reallocate(h)", "ttnn.deallocate(a)", "j = ttnn.reallocate(b)",
        "k = new([1, 1, 64, 96], shards('HEIGHT', (2, 1), [32, 96]), layout=ttnn.ROW_MAJOR_LAYOUT)",
    ],
    "views and results in place": [
        "a = new([2, 64, 96])", "b = ttnn.reshape(a, [128, 96])", "c = ttnn.reshape(a, [2, 96, 64])", "d = ttnn.unsqueeze(b, 0)", "e = ttnn.relu(a)",
        "f = ttnn.add_(a, e)", "g = ttnn.add(a, e, output_tensor=e)", "h = ttnn.pad(ttnn.reshape(new([30, 96]), [30, 96]), [(0, 1), (0, 0)], 0.0)", "i = ttnn.to_layout(a, ttnn.ROW_MAJOR_LAYOUT)",
        "j = ttnn.transpose(a, -2, -1)", "k = ttnn.permute(a, [1, 0, 2])", "l = ttnn.concat([a, e], 0)", "m = ttnn.slice(a, [0, 0, 0], [1, 64, 96])",
    ],
    "a transformer's layer": [
        "x = new([1, 128, 256])", "wqkv = new([256, 768])", "bqkv = new([1, 768])", "wo = new([256, 256])", "w1 = new([256, 1024])", "w2 = new([1024, 256])",
        "gamma = new([256])", "mask = new([1, 1, 128, 128])", "qkv = ttnn.linear(x, wqkv, bias=bqkv)",
        "q, k, v = ttnn.transformer.split_query_key_value_and_split_heads(qkv, num_heads=4, transpose_key=False)", "ttnn.deallocate(qkv)",
        "s = ttnn.transformer.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=False, scale=1.0)",
        "t = ttnn.transformer.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=False)", "c = ttnn.transformer.concatenate_heads(s)",
        "o = ttnn.matmul(c, wo)", "r = ttnn.add(x, o)", "n = ttnn.layer_norm(r, weight=gamma, bias=gamma)", "h = ttnn.linear(n, w1, activation='gelu')",
        "y = ttnn.add(r, ttnn.linear(h, w2))", "p = ttnn.softmax(ttnn.matmul(y, ttnn.transpose(y, -2, -1)), dim=-1)",
        "m = ttnn.mean(y, dim=1)", "z = ttnn.sum(y, dim=[0, 1], keepdim=True)", "i = ttnn.cumsum(y, dim=1)", "g = ttnn.clamp(y, min=x, max=r)",
    ],
    "a convolutional network": [
        "x = new([1, 1, 3136, 64])", *conv("c1", "x", n=1, h=56, i=64, o=64, k=3, s=1, p=1), *conv("c2", "c1", n=1, h=56, i=64, o=128, k=3, s=2, p=1),
        *conv("c3", "x", n=1, h=56, i=64, o=128, k=1, s=2, p=0), "r = ttnn.relu(ttnn.add(c2, c3))", *conv("c4", "r", n=1, h=28, i=128, o=32, k=1, s=1, p=0),
        "i = new([1, 1, 4096, 3], layout=ttnn.ROW_MAJOR_LAYOUT)", *conv("c5", "i", n=1, h=64, i=3, o=16, k=7, s=2, p=3), *conv("c6", "i", n=1, h=64, i=3, o=64, k=8, s=8, p=0),
        "f = ttnn.to_layout(c1, ttnn.ROW_MAJOR_LAYOUT)", pool("p1", "f", 56, 64, ""), pool("p2", "f", 56, 64, ", memory_config=DRAM"),
    ],
    "L1 is full": [
        "a = new([1, 1, 32, 32 * 64 * 600], L1)", "b = new([1, 1, 32, 32 * 64 * 200], L1)", "c = new([1, 1, 32, 32 * 64 * 100], L1)", "ttnn.deallocate(a)",
        "d = new([1, 1, 32, 32 * 64 * 300], L1)", "e = new([1, 1, 32 * 8, 8192], shards('HEIGHT', (8, 1), [32, 8192]))",
        "f = new([1, 1, 32 * 8, 16384], shards('HEIGHT', (8, 1), [32, 16384]))", "g = new([1, 1, 8192, 32 * 8], shards('WIDTH', (8, 1), [8192, 32]))",
        "h = new([1, 1, 2048, 2048], shards('BLOCK', (2, 2), [1024, 1024]))", "i = new([1, 1, 64, 64], shards('HEIGHT', (20, 1), [32, 64]))",
        "j = new([1, 1, 4096, 64], shards('HEIGHT', (2, 1), [32, 64]))", "k = new([1, 1, 64, 64], shards('HEIGHT', (2, 1), [33, 64]))",
    ],
    "circular buffers meet tensors in L1": [
        "a = new([1, 1, 32, 32 * 64 * 600], L1)", "x = new([1, 1, 512, 512])", "y = ttnn.matmul(x, x)", "z = ttnn.softmax(x, dim=-1)", "n = ttnn.layer_norm(x)",
        "s = new([1, 1, 64, 32768])", "t = ttnn.softmax(s, dim=-1)", "u = ttnn.layer_norm(s)", "v = ttnn.add(x, x)", "w = ttnn.transpose(x, -2, -1)",
        "b = new([1, 1, 32, 32 * 64 * 90], L1)", "c = ttnn.add(x, x)", "d = ttnn.matmul(x, x)", "e = ttnn.relu(x)", "ttnn.deallocate(a)", "f = ttnn.matmul(x, x)",
        "g = ttnn.matmul(x, x, memory_config=L1)", "h = ttnn.to_memory_config(g, shards('BLOCK', (8, 8), [64, 64]))", "i = ttnn.matmul(h, h)",
    ],
    "DRAM is full": [
        "a = new([1, 1, 32768, 131072 * 1])", "b = new([1, 1, 32768, 65536])", "c = new([1, 1, 65536, 131072])", "d = new([1, 1, 32768, 32768], dtype=ttnn.float32)",
        "ttnn.deallocate(a)", "e = new([1, 1, 65536, 65536])", "f = new([1, 1, 1048576, 131072])", "g = new([1, 1, 32, 32])",
    ],
    "tables of windows need L1_SMALL": [
        "x = new([1, 1, 3136, 64])", *conv("c", "x", n=1, h=56, i=64, o=64, k=3, s=1, p=1), *conv("d", "x", n=1, h=56, i=64, o=64, k=1, s=1, p=0),
        "f = new([1, 1, 3136, 64], layout=ttnn.ROW_MAJOR_LAYOUT)", pool("p", "f", 56, 64, ""),
    ],
}  # fmt: skip


def run(ttnn: Any, device: Any, steps: list[str]) -> list[dict[str, Any]]:
    """One answer per step: the addresses of the tensors that it bound, or "refused"; the bytes that a bank of each kind then holds."""
    names: dict[str, Any] = {"ttnn": ttnn, "device": device}
    exec(HELPERS, names)
    answers: list[dict[str, Any]] = []
    for step in steps:
        answer: dict[str, Any] = {"step": step}
        before = {name: value for name, value in names.items() if isinstance(value, ttnn.Tensor)}
        try:
            exec(step, names)
        except Exception as error:  # noqa: BLE001  whatever is raised is the answer
            answer["refused"] = (
                "out of memory" if any(word in str(error) for word in ("Out of Memory", "clash with L1 buffers", "beyond max L1 size")) else "invalid"
            )
            answer["error"] = " ".join(str(error).split())[:300]
        bound = [value for name, value in names.items() if isinstance(value, ttnn.Tensor) and before.get(name) is not value]
        answer["addresses"] = [value.buffer_address() for value in bound if value.is_allocated() and "DEVICE" in str(value.storage_type())]
        views = [ttnn.get_memory_view(device, getattr(ttnn.BufferType, kind)) for kind in KINDS]
        answer["bytes"] = [view.total_bytes_allocated_per_bank for view in views]
        answers.append(answer)
        del before, bound
    names.clear()  # the helpers refer to it: no cycle may keep tensors
    return answers


def main() -> None:
    import ttnn

    device = ttnn.open_device(device_id=0, l1_small_size=int(sys.argv[2]))
    device.disable_and_clear_program_cache()
    answers = {name: run(ttnn, device, steps) for name, steps in PROGRAMS.items()}
    with open(sys.argv[1], "w") as file:
        json.dump(answers, file)
    import os

    os._exit(0)  # the mock device has no queues to drain


if __name__ == "__main__":
    main()
