"""Calls of ops whose record has no sample, and forms that samples cannot express. Row: ([(shape, dtype, layout, memory)], call)."""

from __future__ import annotations

from typing import Any

import uncommon_rows

_CONV = "in_channels={i}, out_channels={o}, batch_size={n}, input_height={h}, input_width={h}, kernel_size=({k}, {k}), stride=({s}, {s}), padding=({p}, {p}), dilation=(1, 1), groups={g}"
_RM = "row_major"
_HOST = "host"
_D = "ttnn.DRAM_MEMORY_CONFIG"


def _conv(**sizes: int) -> str:
    return _CONV.format(**sizes)


def _prepare(kind: str, tail: str, **sizes: int) -> str:
    weights = "" if kind.endswith("bias") else "weights_format='OIHW', has_bias=True, "
    return f"ttnn.{kind}({'bias' if kind.endswith('bias') else 'weight'}_tensor=a[0], input_memory_config={_D}, input_layout=ttnn.ROW_MAJOR_LAYOUT, {weights}{_conv(**sizes)}, device=device, input_dtype=ttnn.bfloat16{tail})"


_A = {"i": 32, "o": 64, "n": 1, "h": 16, "k": 3, "s": 1, "p": 1, "g": 1}
_B = {"i": 16, "o": 16, "n": 2, "h": 14, "k": 1, "s": 2, "p": 0, "g": 1}
_C = {"i": 32, "o": 32, "n": 1, "h": 10, "k": 3, "s": 1, "p": 0, "g": 32}
_POOL = "batch_size={n}, input_h={h}, input_w={h}, channels={c}, kernel_size=[{k}, {k}], stride=[{s}, {s}], padding=[{p}, {p}]"
_IDS: list[Any] = [(1, 32), "uint32", _RM]

ROWS: dict[str, list[tuple[list[Any], str]]] = {
    "empty": [([], f"ttnn.empty({shape}, dtype=ttnn.{dtype}, layout=ttnn.{layout}_LAYOUT, device=device)") for shape in ([32, 32], [31, 33], [7], [2, 3, 4, 5], [0, 32], [2, 3, 4, 5, 6]) for dtype in ("bfloat16", "float32", "uint8", "bfloat8_b") for layout in ("TILE", "ROW_MAJOR")],
    "rand": [([], f"ttnn.rand({shape}, device=device, dtype=ttnn.{dtype}, layout=ttnn.{layout}_LAYOUT)") for shape in ([32, 32], [31, 33], [2, 3, 4]) for dtype in ("bfloat16", "float32", "int32", "bfloat8_b") for layout in ("TILE", "ROW_MAJOR")],
    "full": [([], f"ttnn.full({shape}, {value}, dtype=ttnn.{dtype}, layout=ttnn.{layout}_LAYOUT, device=device)") for shape in ([32, 32], [5], [0, 4]) for value in ("1", "2.5", "float('inf')") for dtype in ("bfloat16", "float32", "int32", "uint32", "bfloat8_b") for layout in ("TILE", "ROW_MAJOR")],
    "zeros": [([], f"ttnn.{f}([2, 33], dtype=ttnn.{d}, device=device{rest})") for f in ("zeros", "ones") for d in ("bfloat16", "float32", "int32", "uint16") for rest in ("", ", memory_config=ttnn.L1_MEMORY_CONFIG", ", layout=ttnn.TILE_LAYOUT")],
    "arange": [([], f"ttnn.arange({args}, dtype=ttnn.{d}, device=device)") for args in ("0, 10", "0, 10, 3", "5, 0, -1", "0, 0", "0, 10, 0") for d in ("bfloat16", "float32", "int32", "uint32")],
    "conv1d": [([[(1, 64, 32), "bfloat16", _RM], [(32, 32, 3), "bfloat16", _RM, _HOST]], "ttnn.conv1d(input_tensor=a[0], weight_tensor=a[1], device=device, in_channels=32, out_channels=32, batch_size=1, input_length=64, kernel_size=3, stride=1, padding=1)")],
    "conv2d": [([[(1, 1, s["n"] * s["h"] * s["h"], s["i"]), "bfloat16", _RM], [(s["o"], s["i"] // s["g"], s["k"], s["k"]), "bfloat16", _RM, _HOST], [(1, 1, 1, s["o"]), "bfloat16", _RM, _HOST]], f"ttnn.conv2d(input_tensor=a[0], weight_tensor=a[1], bias_tensor=a[2], device=device, {_conv(**s)}{tail})") for s in (_A, _B, _C) for tail in ("", ", dtype=ttnn.float32", ", conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat8_b)", ", return_output_dim=True", ", return_weights_and_bias=True", ", memory_config=ttnn.L1_MEMORY_CONFIG")],
    "conv_transpose2d": [([[(1, 1, 64, 32), "bfloat16", _RM], [(32, 16, 2, 2), "bfloat16", _RM, _HOST]], "ttnn.conv_transpose2d(input_tensor=a[0], weight_tensor=a[1], device=device, in_channels=32, out_channels=16, batch_size=1, input_height=8, input_width=8, kernel_size=(2, 2), stride=(2, 2), padding=(0, 0), output_padding=(0, 0), dilation=(1, 1), groups=1)")],
    "prepare_conv2d_weights": [([[(s["o"], s["i"] // s["g"], s["k"], s["k"]), d, _RM, _HOST]], _prepare("prepare_conv2d_weights", tail, **s)) for s in (_A, _B, _C) for d in ("bfloat16", "float32") for tail in ("", ", conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16)")],
    "prepare_conv2d_bias": [([[(1, 1, 1, s["o"]), "bfloat16", _RM, _HOST]], _prepare("prepare_conv2d_bias", tail, **s)) for s in (_A, _B, _C) for tail in ("", ", conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16)")],
    "slice_dynamic": [([[(64, 64)], [(2,), "uint32", _RM], [(2,), "uint32", _RM]], "ttnn.slice(a[0], a[1], a[2], slice_dim=0, num_devices=2)")],
    "slice": [([[(2, 64, 96), "bfloat16", layout]], f"ttnn.slice(a[0], {a}, {b}, {c})") for layout in ("tile", _RM) for a, b, c in (([0, 0, 0], [1, 32, 32], [1, 1, 1]), ([0, 5, 0], [2, 37, 96], [1, 1, 1]), ([0, 0, 0], [2, 64, 96], [1, 2, 1]), ([0, 0, 0], [2, 64, 97], [1, 1, 1]), ([0, 0, -32], [2, 64, 96], [1, 1, 1]), ([0, 0], [1, 32], [1, 1]), ([1, 0, 0], [1, 32, 32], [1, 1, 1]))],
    "getitem": [([[(2, 64, 96), "bfloat16", layout]], f"a[0][{text}]") for layout in ("tile", _RM) for text in ("0", ":, 3", "..., :32", "1:2, :, 32:64", "-1", "5")],
    "update_cache": [([[(1, 4, 64, 64)], [(1, 4, 1, 64)]], "ttnn.update_cache(a[0], a[1], 3)")],
    "fill_cache": [([[(2, 4, 64, 64)], [(1, 4, 32, 64)]], f"ttnn.fill_cache(a[0], a[1], {i})") for i in (0, 1, 2)],
    "paged_fill_cache": [([[(16, 4, 32, 64)], [(1, 4, 64, 64)], [(2, 8), "int32", _RM]], "ttnn.experimental.paged_fill_cache(a[0], a[1], a[2], batch_idx=0)")],
    "to_memory_config": [([[shape, d, layout]], f"ttnn.to_memory_config(a[0], {m})") for shape in ((64, 64), (31, 33), (1, 2, 32, 32)) for d in ("bfloat16", "float32") for layout in ("tile", _RM) for m in (_D, "ttnn.L1_MEMORY_CONFIG", "ttnn.create_sharded_memory_config((32, 64), core_grid=ttnn.CoreGrid(y=2, x=1), strategy=ttnn.ShardStrategy.HEIGHT, use_height_and_width_as_shard_shape=True)", "ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG")],
    "to_device": [([[shape, d, layout, _HOST]], f"ttnn.to_device(a[0], device{m})") for shape in ((64, 64), (31, 33), (7,)) for d in ("bfloat16", "float32", "uint8") for layout in ("tile", _RM) for m in ("", ", memory_config=ttnn.L1_MEMORY_CONFIG")],
    "from_device": [([[shape, d, layout]], "ttnn.from_device(a[0])") for shape in ((64, 64), (31, 33), (7,)) for d in ("bfloat16", "float32", "bfloat8_b") for layout in ("tile", _RM)],
    "to_layout": [([[shape, d, layout, m]], f"ttnn.to_layout(a[0], ttnn.{target}_LAYOUT{tail})") for shape in ((64, 64), (31, 33), (7,), (2, 3, 4, 5, 6)) for d in ("bfloat16", "float32", "uint32", "bfloat8_b") for layout, target in (("tile", "ROW_MAJOR"), (_RM, "TILE")) for m in (_D, "ttnn.L1_MEMORY_CONFIG", _HOST) for tail in ("", ", dtype=ttnn.float32")],
    "tilize": [([[shape, d, _RM]], f"ttnn.{f}(a[0])") for shape in ((64, 64), (31, 33), (7,), (2, 3, 4, 32)) for d in ("bfloat16", "float32", "uint16") for f in ("tilize", "tilize_with_zero_padding")],
    "untilize": [([[shape, d, "tile"]], "ttnn.untilize(a[0])") for shape in ((64, 64), (31, 33), (7,)) for d in ("bfloat16", "float32", "bfloat8_b", "uint32")],
    "typecast": [([[(32, 64), d, layout]], f"ttnn.typecast(a[0], ttnn.{e})") for d in ("bfloat16", "float32", "int32", "uint32", "uint16", "uint8", "bfloat8_b", "bfloat4_b") for e in ("bfloat16", "float32", "int32", "uint32", "uint16", "uint8", "bfloat8_b") for layout in ("tile", _RM)],
    "deallocate": [([[(32, 32)]], "ttnn.deallocate(a[0])"), ([[(32, 32), "bfloat16", "tile", _HOST]], "ttnn.deallocate(a[0])")],
    "assign": [([[(32, 64), "bfloat16", layout]], f"ttnn.assign(a[0], memory_config={m}{t})") for layout in ("tile", _RM) for m in (_D, "ttnn.L1_MEMORY_CONFIG") for t in ("", ", dtype=ttnn.float32")],
    "clone": [([[(31, 33), "bfloat16", layout]], f"ttnn.clone(a[0]{t})") for layout in ("tile", _RM) for t in ("", ", dtype=ttnn.float32", ", memory_config=ttnn.L1_MEMORY_CONFIG")],
    "copy": [([[(32, 32)], [(32, 32), d]], "ttnn.copy(a[0], a[1])") for d in ("bfloat16", "float32")] + [([[(32, 32)], [(64, 32)]], "ttnn.copy(a[0], a[1])")],
    "move": [([[(32, 64)]], "ttnn.move(a[0])"), ([[(32, 64)]], "ttnn.move(a[0], memory_config=ttnn.L1_MEMORY_CONFIG)")],
    "quantize": [([[(32, 64), d]], "ttnn.quantize(a[0], 0.5, 3)") for d in ("bfloat16", "float32", "int32")],
    "dequantize": [([[(32, 64), d]], "ttnn.dequantize(a[0], 0.5, 3)") for d in ("int32", "bfloat16")],
    "requantize": [([[(32, 64), d]], "ttnn.requantize(a[0], 0.5, 3, 0.25, 1)") for d in ("int32", "float32")],
    "group_norm": [([[(1, 1, 64, 64), "bfloat16", layout]], f"ttnn.group_norm(a[0], num_groups={g}, epsilon=1e-5, core_grid=ttnn.CoreGrid(y=1, x=1), inplace=False)") for g in (2, 4, 3) for layout in ("tile", _RM)],
    "max_pool2d": [([[(1, 1, n * h * h, c), d, _RM]], f"ttnn.max_pool2d(a[0], {_POOL.format(n=n, h=h, c=c, k=k, s=s, p=p)}, dilation=[1, 1]{t})") for n, h, c, k, s, p in ((1, 8, 32, 2, 2, 0), (2, 14, 64, 3, 2, 1), (1, 9, 16, 3, 1, 2), (1, 8, 32, 9, 1, 0)) for d in ("bfloat16", "float32", "bfloat8_b") for t in ("", ", ceil_mode=True", ", return_indices=True", ", output_layout=ttnn.TILE_LAYOUT")],
    "scaled_dot_product_attention_decode": [([[(1, 2, 8, 64)], [(2, 2, 64, 64)], [(2, 2, 64, 64)]], "ttnn.transformer.scaled_dot_product_attention_decode(a[0], a[1], a[2], cur_pos=[3, 5])"), ([[(1, 2, 8, 64)], [(2, 2, 64, 64)], [(2, 2, 64, 64)], [(2,), "int32", _RM]], "ttnn.transformer.scaled_dot_product_attention_decode(a[0], a[1], a[2], cur_pos_tensor=a[3])")],
    "nlp_create_qkv_heads": [([[(1, 1, 32, 384)]], "ttnn.experimental.nlp_create_qkv_heads(a[0], num_heads=4, num_kv_heads=4, transpose_k_heads=False)")],
    "rotary_embedding_llama": [([[(1, 4, 64, 64)], [(1, 1, 64, 64)], [(1, 1, 64, 64)], [(1, 1, 32, 32)]], "ttnn.experimental.rotary_embedding_llama(a[0], a[1], a[2], a[3], is_decode_mode=False)")],
    "reshape": [([[(2, 64, 96), d, layout]], f"ttnn.reshape(a[0], {s})") for d in ("bfloat16", "float32", "bfloat8_b") for layout in ("tile", _RM) for s in ([128, 96], [2, 96, 64], [12288], [-1, 96], [2, 3, 2048], [1, 1, 2, 64, 96], [5, -1], [-1, -1])],
    "permute": [([[s, d, layout]], f"ttnn.permute(a[0], {p})") for d in ("bfloat16", "float32") for layout in ("tile", _RM) for s, p in (((2, 33, 40), [0, 2, 1]), ((2, 33, 40), [2, 0, 1]), ((2, 3, 4, 32), [3, 1, 0, 2]), ((2, 3, 4, 5, 32), [0, 4, 1, 2, 3]), ((4, 4), [0, 0]), ((4, 4), [-1, -2]))],
    "concat": [([[s, "bfloat16", layout], [t, "bfloat16", layout]], f"ttnn.concat([a[0], a[1]], {d})") for layout in ("tile", _RM) for s, t, d in (((2, 32), (3, 32), 0), ((2, 32), (2, 5), -1), ((32, 32), (32, 32), 2), ((1, 2, 3, 4), (1, 2, 3, 4), 1), ((2, 32), (1, 2, 32), 0))],
    "pad": [([[(1, 1, 31, 33), d, layout]], f"ttnn.pad(a[0], {p}, 1.0)") for d in ("bfloat16", "float32") for layout in ("tile", _RM) for p in ([(0, 1), (0, 0), (0, 1), (0, 31)], [(0, 1), (0, 1)], [(1, 0), (0, 0)], [(0, 0)] * 4)],
    "matmul": [([[s, d], [t, d]], f"ttnn.{f}(a[0], a[1]{k})") for f in ("matmul", "linear") for d in ("bfloat16", "float32", "bfloat8_b") for s, t in (((64, 32), (32, 96)), ((2, 64, 32), (32, 96)), ((2, 64, 32), (2, 32, 96)), ((2, 3, 64, 32), (1, 3, 32, 96)), ((32,), (32, 64)), ((64, 32), (32,)), ((31, 7), (7, 5)), ((3, 64, 32), (2, 32, 96))) for k in ("", ", transpose_b=True", ", dtype=ttnn.float32", ", activation='relu'", ", core_grid=ttnn.CoreGrid(y=2, x=2)", ", memory_config=ttnn.L1_MEMORY_CONFIG")],
    "embedding": [([[(2, 32), i, _RM], [(64, 96), d, layout]], f"ttnn.embedding(a[0], a[1]{t})") for i in ("uint32", "bfloat16", "int32") for d in ("bfloat16", "float32") for layout in (_RM, "tile") for t in ("", ", layout=ttnn.TILE_LAYOUT", ", dtype=ttnn.float32")],
    "sum": [([[(2, 3, 33, 40), d, layout]], f"ttnn.{f}(a[0]{t})") for f in ("sum", "mean", "max", "min", "std", "var") for d in ("bfloat16", "float32", "int32") for layout in ("tile", _RM) for t in ("", ", dim=-1", ", dim=1", ", dim=[2, 3], keepdim=True", ", dim=[0, 1]", ", dim=4", ", dim=[1, 1]", ", dim=-1, scalar=2.0")],
    "softmax": [([[s, d, layout]], f"ttnn.softmax(a[0], dim={i})") for s in ((33, 40), (2, 3, 33, 40), (7,), (2, 3, 4, 5, 6)) for d in ("bfloat16", "float32", "int32") for layout in ("tile", _RM) for i in (-1, 0, 1, -5)],
    "argmax": [([[(2, 3, 33, 40), d, layout]], f"ttnn.argmax(a[0]{t})") for d in ("bfloat16", "float32", "int32") for layout in ("tile", _RM) for t in ("", ", dim=-1", ", dim=3, keepdim=True", ", dim=1", ", dim=5")],
    "add_scalar": [([[(31, 33), d, layout]], f"ttnn.{f}(a[0], {v}{t})") for f in ("add", "multiply", "sub", "div", "pow", "eq", "maximum") for d in ("bfloat16", "float32", "int32", "bfloat8_b") for layout in ("tile", _RM) for v in ("2", "1.5") for t in ("", ", memory_config=ttnn.L1_MEMORY_CONFIG")] + [([[(31, 33), d]], f"ttnn.add(a[0], 1.0, dtype=ttnn.{e})") for d in ("bfloat16", "float32", "int32") for e in ("bfloat16", "float32", "int32", "bfloat8_b")],
}
ROWS |= uncommon_rows.ROWS
