"""Configurations that published tables may have and those of the calibration do not: what they become, or why they are left out, is recorded by `predictions.py`."""

from __future__ import annotations

from typing import Any

TENSOR = {"dtype": "bfloat16", "layout": "tile", "mem": "dram_interleaved", "shape": [1, 1, 64, 96]}
MOVED = {"op": "to_memory_config", "shape": [1, 1, 256, 512], "dtype": "bfloat16", "src": "dram interleaved"}
ATTENTION = {"op": "sdpa decode", "batch": 2, "heads": 8, "kv_heads": 2, "d": 64, "kv": "bfp8"}
PREFILL = {"op": "sdpa", "batch": 1, "heads": 4, "d": 64, "seq": 128, "dtype": "bf16", "q_chunk": 32, "k_chunk": 64}
LATENT = {"op": "flash mla decode", "kv_lora_rank": 128, "rope": 64, "batch": 2, "q_heads": 16, "q_mem": "l1 height sharded", "cache_dtype": "bf16"}
PRODUCT = {"op": "matmul", "M": 256, "K": 512, "N": 1024, "in0": "bfloat16 dram", "in1": "bfloat8_b dram", "fidelity": "HiFi2"}


def _eltwise(op: str, count: int = 1, **more: Any) -> dict[str, Any]:
    return {"op": f"ttnn.{op}", "inputs": [TENSOR] * count, **more}


SAMPLES: dict[str, dict[str, Any]] = {
    "cumsum": _eltwise("cumsum", kwargs={"dim": -1}),
    "cumsum over rows": _eltwise("cumsum", kwargs={"dim": 2}),
    "cumsum over samples": _eltwise("cumsum", kwargs={"dim": 0}),
    "cumsum of a matrix": {"op": "ttnn.cumsum", "inputs": [{**TENSOR, "shape": [64, 96]}], "kwargs": {"dim": -1}},
    "mac": _eltwise("mac", 3),
    "where of one tensor": _eltwise("where"),
    "fmod": _eltwise("fmod"),
    "a note among arguments": _eltwise("gelu", kwargs={"note": "said", "fast_and_approximate_mode": True, "dim": None}),
    "assigned": _eltwise("assign", out={"mem": "l1"}),
    "in row major": {"op": "ttnn.exp", "inputs": [{**TENSOR, "layout": "row_major"}]},
    "a chain": {"op": "permute", "shape": [1, 2, 64, 32], "dims": [0, 2, 1, 3], "dtype": "bf16", "layout": "tile -> row"},
    "through row major": {"op": "permute", "shape": [1, 2, 64, 32], "dims": [0, 2, 1, 3], "dtype": "bf16", "layout": "tile -> untilize -> row-major permute -> tilize"},
    "reshaped": {"op": "reshape", "shape": [1, 2, 64, 32], "to": [1, 1, 128, 32], "dtype": "bf16", "out_mem": "l1"},
    "a slice": {"op": "slice", "shape": [1, 1, 64, 64], "begins": [0, 0, 0, 0], "ends": [1, 1, 32, 64], "dtype": "bf16"},
    "a slice in shards": {"op": "slice", "shape": [1, 1, 64, 64], "begins": [0, 0, 0, 0], "ends": [1, 1, 32, 64], "dtype": "bf16", "out_mem": "l1 height sharded"},
    "joined": {"op": "concat", "inputs": [[1, 1, 32, 64], [1, 1, 32, 32]], "dtype": "bf16"},
    "joined rows": {"op": "concat", "inputs": [[1, 1, 32, 64], [1, 1, 64, 64]], "dtype": "bf16", "dim": 2, "mem": "l1"},
    "joined without shapes": {"op": "concat", "inputs": "two", "dtype": "bf16"},
    "padded": {"op": "pad", "shape": [1, 1, 30, 30], "dtype": "bf16", "layout": "row major", "padding": [[0, 0], [0, 0], [0, 2], [0, 2]], "value": 1},
    "padded somehow": {"op": "pad", "shape": [1, 1, 30, 30], "dtype": "bf16", "padding": "some"},
    "padded to nothing": {"op": "pad", "shape": [1, 1, 30, 30], "dtype": "bf16"},
    **{f"moved to {dst}": {**MOVED, "dst": dst} for dst in (
        "l1", "elsewhere", "l1 height sharded 8 cores", "l1 width sharded 16 cores", "l1 height sharded [32, 512]", "l1 width sharded [256, 64]",
        "l1 block sharded 8x4", "l1 block sharded 32 cores", "l1 sharded 8 cores", "l1 height sharded", "l1 height sharded 65 cores", "l1 block sharded 8x8 [32, 64]")},
    "moved to first cores": {**MOVED, "dst": {"mem": "l1 height sharded", "cores": 4, "shard": [64, 512], "first_core": 6}},
    "moved to a grid": {**MOVED, "dst": {"mem": "l1 height sharded", "cores": 8, "grid": "4x2"}},
    "moved in rows": {**MOVED, "layout": "row_major", "dst": "l1 height sharded 7 cores"},
    "normed": {"op": "layer_norm", "shape": [1, 1, 64, 256], "dtype": "bf16", "weight": "tile", "fidelity": "HiFi4", "fp32_dest_acc": True},
    "normed by rows of weights": {"op": "rms_norm", "shape": [1, 1, 64, 256], "dtype": "bf16", "weight": "row major", "fidelity": "HiFi2"},
    "normed in shards": {"op": "rms_norm", "shape": [1, 1, 32, 512], "dtype": "bf16", "mem": "l1 width sharded", "cores": 8, "shard": [32, 64], "grid": "8x1",
                         "block_w": 2, "subblock_w": 2, "block_h": 1},
    "softmax": {"op": "softmax", "shape": [1, 1, 64, 256], "dtype": "bf16"},
    "attention softmax": {"op": "attention_softmax", "shape": [2, 4, 64, 64], "dtype": "bf16"},
    "best of rows": {"op": "argmax", "shape": [1, 1, 32, 256], "dtype": "bf16", "layout": "row_major", "dim": -1},
    "best eight": {"op": "topk", "shape": [1, 1, 32, 256], "dtype": "bf16", "k": 8},
    "prefill": PREFILL,
    "prefill, causal": {**PREFILL, "op": "causal sdpa", "kv_heads": 2},
    "prefill, not causal": {**PREFILL, "op": "sdpa, not causal", "grid": "4x4", "exp_approx": True},
    "prefill with a mask": {**PREFILL, "op": "sdpa with mask", "is_causal": False, "chunks": "64/32"},
    "ring attention": {**PREFILL, "op": "ring sdpa"},
    "decode at the end": {**ATTENTION, "max_seq": 256, "position": "end of cache"},
    "decode at a number": {**ATTENTION, "position": 100, "k_chunk": 64},
    "decode at a word": {**ATTENTION, "position": "127 of 256"},
    "decode somewhere": {**ATTENTION, "position": "127 (inferred)"},
    "decode nowhere": ATTENTION,
    "decode, paged": {**ATTENTION, "op": "paged sdpa decode", "position": 100, "block_size": 32, "grid": "4x4"},
    "latent": {**LATENT, "position": "63", "block_size": 32},
    "latent at several": {**LATENT, "positions": "31, 63 (both)", "max_seq": 128},
    "latent, pages in words": {**LATENT, "position": 40, "k": "bf16, 64-row pages", "k_chunk": 32, "max_cores_per_head_batch": 4},
    "latent nowhere": {**LATENT, "position": "end"},
    "latent, queries anywhere": {**LATENT, "position": 40, "q_mem": "dram"},
    "heads": {"op": "nlp_create_qkv_heads", "shape": [1, 1, 64, 768], "dtype": "bf16", "q_heads": 4, "kv_heads": 4},
    "heads of rows": {"op": "create_qkv_heads", "rows": 64, "width": 768, "dtype": "bf16", "heads": 4, "kv": 4, "mem": "l1"},
    "heads of a token": {"op": "nlp_create_qkv_heads_decode", "shape": [1, 1, 32, 768], "q_heads": 8, "kv_heads": 2, "mem": "l1 width sharded 8 cores"},
    "heads joined": {"op": "nlp_concat_heads", "shape": [1, 4, 64, 64], "dtype": "bf16"},
    "heads joined, a token": {"op": "nlp_concat_heads_decode", "shape": [1, 8, 32, 64], "heads": 8},
    "rotated": {"op": "rotary_embedding_llama", "shape": [1, 4, 64, 64], "dtype": "bf16"},
    "rotated, halves": {"op": "rotary_embedding_hf", "shape": [1, 4, 64, 64], "dtype": "bf16"},
    "rotated, a token": {"op": "rotary_embedding_llama decode", "shape": [1, 8, 8, 64], "dtype": "bf16", "mem": {"mem": "l1 height sharded", "cores": 8, "shard": [32, 64]}},
    "cached": {"op": "paged_update_cache", "users": 8, "d": 64, "block_size": 32, "heads": 2, "cache": "bfp8", "input": "bf16", "max_seq": 128},
    "cached, keys and values": {"op": "paged_fused_update_cache", "users": 8, "d": 64, "block": 32, "kv_heads": 1, "cache": "bfp8", "dtype": "bf16"},
    "tilized": {"op": "tilize", "rows": 64, "width": 128, "dtype": "bf16"},
    "untilized": {"op": "untilize", "shape": [1, 1, 64, 128], "dtype": "bf16"},
    "untilized rows": {"op": "untilize", "rows": 64, "width": 128, "dtype": "bf16", "mem": "l1"},
    "embedded": {"op": "embedding", "rows": 64, "vocab": 512, "dim": 128, "dtype": "bf16"},
    "embedded, tilized": {"op": "embedding", "rows": 64, "vocab": 512, "dim": 128, "dtype": "bf16", "layout": "tilized", "out_mem": "l1"},
    "embedded, tilized anywhere": {"op": "embedding", "rows": 64, "vocab": 512, "dim": 128, "dtype": "bf16", "layout": "tilized"},
    "gelu of some form": {"op": "gelu", "shape": [1, 1, 64, 64], "dtype": "bf16"},
    "gelu, approximate": {"op": "gelu (tanh)", "shape": [1, 1, 64, 64], "dtype": "bf16"},
    "gelu, exact": {"op": "gelu (erf)", "shape": [1, 1, 64, 64], "dtype": "bf16"},
    "gated": {"op": "mul (silu on a)", "shape": [1, 1, 64, 64], "dtype": "bf16"},
    "a difference": {"op": "sub", "shape": [1, 1, 256, 64], "dtype": "bf16", "mem": "l1 height sharded 8 cores"},
    "cast": {"op": "typecast", "shape": [1, 1, 64, 64], "dtype": "bf16", "to": "float32"},
    "cast to nothing": {"op": "typecast", "shape": [1, 1, 64, 64], "dtype": "bf16"},
    **{f"a product, {name}": {**PRODUCT, **more} for name, more in dict[str, dict[str, Any]]({
        "plain": {}, "on a grid": {"core_grid": "8x4"}, "on some cores": {"core_grid": "32 cores"}, "in one row": {"program": "1d mcast in0_block_w 2", "cores": 32},
        "in two": {"program": "2d mcast in0_block_w 4 subblock 1x2", "grid": "8x8"}, "with no block": {"program": "2d mcast", "grid": "8x8"},
        "of shapes": {"M": None, "in0": {"shape": [1, 1, 64, 128], "dtype": "bf16"}, "in1": {"shape": [1, 1, 128, 256], "dtype": "bf16"}},
    }).items()},
    "shapes that do not fit": {"op": "matmul", "in0": {"shape": [1, 1, 64, 128], "dtype": "bf16"}, "in1": {"shape": [1, 1, 64, 256], "dtype": "bf16"}},
    "shapes that fit": {"op": "matmul", "in0": {"shape": [1, 1, 64, 128], "dtype": "bf16"}, "in1": {"shape": [128, 256], "dtype": "bf16"}},
    "a batch": {"op": "matmul", "in0": {"shape": [2, 1, 64, 128], "dtype": "bf16"}, "in1": {"shape": [1, 1, 128, 256], "dtype": "bf16"}},
}  # fmt: skip
DATES = {"cumsum": "2026-08-30", "cumsum over rows": "2026-08-01", "cumsum over samples": "2026-08-01", "cumsum of a matrix": "2026-08-01", "mac": "2026-08-31",
         "heads": "2026-09-30", "heads joined": "2026-09-01"}  # fmt: skip
CHIPS = (
    ("n150", "wormhole_b0"), ("Galaxy", "wormhole_b0"), ("T3000", "wormhole_b0"), ("n300", "wormhole_b0"), ("n300 one chip", "wormhole_b0"), ("p150b", "blackhole"),
    ("p100a", "blackhole"), ("BH Galaxy", "blackhole"), ("BH restricted to 20 cores", "blackhole"), ("BH restricted to 64 cores", "blackhole"),
    ("BH restricted to 33 cores", "blackhole"), ("a chip", "grayskull"),
)  # fmt: skip


def requests() -> list[dict[str, Any]]:
    """Every sample, those that ran otherwise before a date at both, the first product on every chip and over wall time."""
    made = []
    for name, config in SAMPLES.items():
        for date in dict.fromkeys(("", DATES.get(name, ""), "2026-10-01" if name in DATES else "")):
            made.append((f"{name} {date}".strip(), "n150", "wormhole_b0", date, "device kernel", config))
    made += [(f"a product on {chip}", chip, arch, "", "wall per call", SAMPLES["a product, plain"]) for chip, arch in CHIPS]
    made += [(f"a product on {grid} of a p150", "p150", "blackhole", "", "", {**PRODUCT, "core_grid": grid}) for grid in ("13x10", "14x10", "15x10", "11x11")]
    return [
        {"id": name, "chip": chip, "arch": arch, "op": str(config["op"]), "date": date, "measured": measured, "count": 1, "config": config}
        for name, chip, arch, date, measured, config in made
    ]
