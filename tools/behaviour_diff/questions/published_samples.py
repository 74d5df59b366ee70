"""Configurations that published tables may have and those of the calibration do not: what they become, or why they are left out."""

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
# fmt: off
RING = {"op": "matmul", "program": "gather_in0", "M": 32, "K": 3072, "N": 1536, "in0": "bfloat16", "in1": "bfloat8_b", "fid": "HiFi2"}
BANKS = {"op": "matmul", "program": "DRAMSharded", "M": 32, "K": 2048, "N": 1024, "dtypes": "bfloat16 with bfloat8_b weights", "fidelity": "HiFi2"}
CONV = {"op": "conv2d", "batch": 1, "h": 16, "w": 16, "in_ch": 32, "out_ch": 64, "kernel": [3, 3], "stride": [1, 1], "pad": [1, 1], "dtype": "bf16", "weights_dtype": "bfp8", "fidelity": "HiFi4"}
TRANSPOSED = {"op": "conv_transpose2d", "batch": 1, "in_ch": 32, "out_ch": 64, "kernel": [2, 2], "stride": [2, 2], "dtype": "bf16", "matmul_view": "1024x128x64"}
NORM = {"op": "rms_norm", "shape": [1, 1, 32, 512], "dtype": "bf16", "mem": "l1 width sharded", "cores": 8, "shard": [32, 64], "grid": "8x1", "block_w": 2, "weight": "tile", "fidelity": "HiFi2"}
FLAT = {"op": "rms_norm", "shape": [1, 1, 64, 256], "dtype": "bf16"}
FUSED_TURN = {"op": "rotary_embedding_llama fused", "batch": 8, "n_heads": 8, "n_kv": 1, "d": 64, "dtype": "bf16"}
TURNED = {"op": "permute", "shape": [1, 32, 64, 64], "dtype": "bf16"}
# Of each, one thing said otherwise at a time.
SAID_OTHERWISE: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "a product": (PRODUCT, [
        {"M": 32, "program": "in0_block_w 2", "grid": "8x4"}, {"M": 32, "program": "1d mcast in0_block_w 2", "grid": "8x4"}, {"program": "1d mcast in0_block_w 4", "grid": "8x4"},
        {"M": 32, "program": "2d mcast in0_block_w 2", "grid": "8x1"}, {"program": "2d mcast in0_block_w 2", "grid": "4x8", "cores": 32}, {"program": "2d mcast in0_block_w 2", "grid": "8x4", "cores": 32},
        {"program": "2d mcast in0_block_w 2 subblock 2x4", "grid": "8x8"}, {"program": "2d mcast in0_block_w 2", "grid": "8x8", "subblock": "1x1"}, {"program": "2d mcast in0_block_w 2 out_subblock 1x2", "cores": 64},
        {"program": "2d mcast 64 cores in0_block_w 2"}, {"program": "2d mcast in0_block_w 2"}, {"in0_block_w": 4, "grid": "8x8"}, {"in0_block_w": "4 (inferred)", "cores": 64}, {"in0_block_w": 4, "cores": 13},
        {"grid": "8x8"}, {"grid": "8x8 inferred"}, {"grid": "8x8", "program": "auto"}, {"program": "core_grid 8x4", "cores": 32}, {"program": "core_grid", "cores": 65}, {"core_grid": "not stated"}, {"core_grid": "none"},
        {"mem": "l1"}, {"mem": "l1 operand or output"}, {"in0": "bfloat16 l1"}, {"in0_mem": "l1", "in0": "bfloat16"}, {"in0": "bfloat16", "in0_mem": "not stated"}, {"in0": {"dtype": "bf16", "mem": "l1"}}, {"in1": {"dtype": "bfp4", "mem": "dram"}},
        {"in1": None, "in1_dtype": "bfloat4_b"}, {"in0": None, "in0_dtype": "float32"}, {"in0": None, "in1": None, "dtype": "bf16"}, {"in0": None, "in1": None, "dtypes": "bfloat16 activations, bfp4 weights"}, {"in0": None, "in1": None, "note": "bfp8 weights"},
        {"in0": None, "in1": None}, {"out": "bfloat8_b"}, {"out": "bfloat16 l1"}, {"out": "bfloat16 dram"}, {"out": {"dtype": "float32", "mem": "l1"}}, {"out": "l1"}, {"out_dtype": "float32"}, {"out_mem": "l1"}, {"out_mem": "l1", "in0": "bfloat16 l1"},
        {"out_mem": "as input"}, {"out_mem": "auto"}, {"out_mem": "l1 width sharded"}, {"out_mem": "l1 height sharded"}, {"out_mem": "l1 block sharded"}, {"out_mem": "l1 block sharded 8x8"}, {"out_mem": {"mem": "l1 height sharded", "cores": 8}, "in0": "bfloat16 dram interleaved"},
        {"batch": 2}, {"batch": 2, "seq": 128}, {"batch": 2, "seq": 127}, {"batch": 3, "seq": 128}, {"batch": [2, 1]}, {"batch": [1, 2]}, {"batch": 1}, {"transpose_a": True}, {"bias": True}, {"bias": "likely"}, {"bias": "unlikely"}, {"bias": False},
        {"activation": "gelu"}, {"activation": "silu (fused)"}, {"activation": "none"}, {"op": "linear"}, {"op": "linear", "bias": True, "activation": "relu"}, {"op": "minimal_matmul"}, {"op": "minimal_matmul", "out_mem": "l1", "in0": "bfloat16 l1"},
        {"fidelity": "LoFi"}, {"fidelity": "HiFi4", "fp32_dest_acc": True}, {"fidelity": "HiFi2", "packer_l1_acc": True}, {"fidelity": "HiFi2", "math_approx": True}, {"fidelity": "some"}, {"fidelity": None, "note": "HiFi3"},
        {"M": "256 (inferred)"}, {"M": "256x2"}, {"M": None, "rows": 256}, {"M": True}, {"K": None}, {"M": 3_000_000}, {"K": 500},
    ]),
    "a product in a ring": (RING, [
        {"in1": "bfloat8_b dram"}, {"in1_mem": "dram"}, {"in1": "bfloat4_b"}, {"in0": "bfloat16 or bfloat8_b"}, {"in0": None}, {"in0": "bfloat8_b"}, {"M": 64}, {"K": 768}, {"K": 2304}, {"K": 6144}, {"N": 768}, {"N": 3840}, {"N": 8064},
        {"fid": None}, {"fid": "LoFi"}, {"fidelity": "HiFi4"}, {"packer_l1_acc": False}, {"fp32_dest_acc": True}, {"out": "bfloat8_b"}, {"out": "bfloat16"}, {"program": None, "op": "ring matmul"}, {"program": "ring"}, {"K": 1000, "in1": "bfloat8_b dram"},
    ]),
    "a product with its weights over the banks": (BANKS, [
        {"M": 64}, {"K": 1024}, {"K": 96}, {"N": 96}, {"N": 1000}, {"N": 2048}, {"dtypes": "bfloat16 with bfloat4_b weights"}, {"fidelity": None}, {"out": "bfloat8_b"}, {"out": "float32"}, {"op": "linear"}, {"bias": True}, {"K": 8192, "N": 8192},
    ]),
    "a convolution": (CONV, [
        {"batch": 2}, {"stride": [2, 2]}, {"kernel": [1, 1], "pad": [0, 0]}, {"pad": None, "matmul_view": "256x288x64"}, {"kernel": "3x3"}, {"groups": 2}, {"groups": 32}, {"bias": True}, {"bias": "yes"}, {"layout": "row_major"}, {"layout": "row_major", "input": "bf16 tile"},
        {"input": "bfp8 tile"}, {"dtype": None, "input": "bf16"}, {"weights_dtype": None}, {"weights_dtype": "float32"}, {"shard_layout": "HEIGHT_SHARDED"}, {"shard_layout": "block"}, {"shard_layout": "width sharded"}, {"shard_layout": "none"},
        {"act_block_h_override": 32}, {"act_double_buffer": True}, {"weights_double_buffer": True}, {"activation_reuse": True}, {"fidelity": "LoFi"}, {"fidelity": None}, {"fp32_dest_acc": True}, {"h": 17}, {"in_ch": 48}, {"out_ch": 40}, {"measured": "all"}, {"in_ch": 2048, "out_ch": 2048, "kernel": [7, 7]},
    ]),
    "a convolution without padding": ({key: value for key, value in CONV.items() if key != "pad"}, [
        {"matmul_view": "256x288x64"}, {"matmul_view": "196x288x64"}, {"matmul_view": "64x288x64", "stride": [2, 2]}, {"kernel": [5, 3], "matmul_view": "256x480x64"},
    ]),
    "a transposed convolution": (TRANSPOSED, [{"matmul_view": "1000x128x64"}, {"matmul_view": "1024x64x64"}, {"stride": [1, 1]}, {"batch": 2}, {"bias": True}, {"matmul_view": "961x128x64"}, {"matmul_view": None}, {"out_ch": 32}]),
    "a norm in shards": (NORM, [
        {"weight": "row major"}, {"weight": None}, {"op": "layer_norm"}, {"grid": None}, {"block_w": "not stated"}, {"program_config": {"block_w": 2, "subblock_w": 2, "block_h": 1, "inplace": True}}, {"subblock_w": 2}, {"block_h": 2}, {"inplace": True},
        {"fidelity": None}, {"mem": "l1 block sharded", "grid": "8x1"}, {"shard": None}, {"cores": None}, {"mem": "l1 width sharded 8 cores"},
    ]),
    "a norm": (FLAT, [{"weight": "row major"}, {"weight": "tile"}, {"mem": "l1"}, {"op": "layernorm"}, {"fidelity": "HiFi4", "fp32_dest_acc": True}, {"shape": None}, {"shape": "1x1x64x256"}, {"shape": "[1, 1, 64, 256] -> [1]"}, {"dtype": "float32"}, {"dtype": "words"}, {"mem": "l1 somewhere"}, {"mem": "somewhere"}, {"mem": "default"}]),
    "heads and tokens turned at once": (FUSED_TURN, [{"batch": 4}, {"n_heads": 32}, {"n_kv": 8}, {"d": 128}, {"batch": None, "users": 16}, {"n_heads": None, "heads": 4}, {"n_kv": None, "kv_heads": 2}, {"dtype": "bfp8"}]),
    "dimensions that follow from shapes": (TURNED, [
        {"out_shape": [1, 64, 32, 64]}, {"out_shape": [32, 1, 64, 64]}, {"shape": "[1, 32, 64, 96] -> [1, 32, 96, 64]"}, {"out_shape": [1, 64, 64, 32]}, {"out_shape": [2, 2]}, {"shape": [1, 8, 32, 64], "out_shape": [1, 1, 32, 512]},
        {"shape": [1, 8, 32, 64], "out_shape": [1, 1, 32, 64]}, {"shape": [1, 8, 32, 64], "out_shape": [1, 8, 64, 32]}, {"shape": [1, 3, 32, 64], "out_shape": [1, 30, 3, 64]}, {"shape": [1, 3, 32, 64], "out_shape": [1, 30, 32, 64]}, {"out_shape": [1, 64, 32, 64], "out_mem": "l1"},
        {"dims": [0, 2, 1, 3], "layout": "row_major"}, {"dims": [0, 2, 1, 3], "in_mem": "l1"}, {"dims": [0, 2, 1, 3], "in_mem": "l1", "mem": "dram", "out_mem": "dram"}, {"dims": "0x2x1x3"}, {"dims": "[0, 2, 1, 3]"}, {"dims": [0, True, 1, 3]},
    ]),
    "prefill": (PREFILL, [
        {"op": "joint sdpa"}, {"q": [1, 4, 128, 64], "kv": [1, 2, 256, 64]}, {"q": "[1, 4, 128, 64]"}, {"dtype": None}, {"k": "bfp8", "v": "bfp4"}, {"k": "bfp8"}, {"mem": "l1"}, {"in_mem": "l1"}, {"mask": True}, {"is_causal": True}, {"op": "sdpa causal, not causal"},
        {"chunks": "32/32"}, {"q_chunk": None}, {"k_chunk": 32}, {"grid": "8x4"}, {"fidelity": "HiFi2"}, {"exp_approx": True}, {"nkv": 2}, {"n_kv": 1}, {"heads": None, "nh": 8}, {"heads": None, "n_heads": 8}, {"heads": None, "q_heads": 8}, {"batch": None, "b": 2}, {"batch": None, "users": 2}, {"d": None, "head_dim": 32},
    ]),
    "decode": ({**ATTENTION, "position": 100}, [
        {"kv": None, "cache": "bf16"}, {"kv": None, "cache": "256 of bf16"}, {"kv": None, "cache_dtype": "bfp4"}, {"max_seq": 512}, {"position": None, "cur_pos": 40}, {"position": "end of cache"}, {"position": "end of cache", "max_seq": 64}, {"position": 31}, {"position": 32}, {"grid": "4x4"}, {"grid": "20x20"},
        {"k_chunk": "default"}, {"k_chunk": 32}, {"op": "sdpa decode, not paged", "block_size": 32}, {"op": "paged sdpa decode"}, {"op": "paged sdpa decode", "block_size": 64, "max_seq": 256}, {"fidelity": "HiFi4"}, {"heads": 32, "kv_heads": 8},
    ]),
    "latent": ({**LATENT, "position": "63", "block_size": 32}, [
        {"q_heads": 32}, {"q_heads": 40}, {"q": [1, 2, 16, 192]}, {"q": "l1 height sharded", "q_mem": None}, {"q_mem": {"mem": "l1", "cores": 2}}, {"positions": "63"}, {"position": "64"}, {"position": "63 (of 200)"}, {"positions": "10 10"}, {"positions": "10 20"}, {"positions": "10 20", "max_seq": 64},
        {"grid": "4x4"}, {"k_chunk": 64}, {"k_chunk": "some"}, {"max_cores_per_head_batch": 2}, {"block_size": 64}, {"cache_dtype": None, "k": "bfp8"}, {"fidelity": "HiFi2"}, {"op": "latent sdpa decode"}, {"op": "flash_multi_latent_attention_decode"}, {"rope": 32}, {"kv_lora_rank": 256},
    ]),
    "heads": ({"op": "nlp_create_qkv_heads", "shape": [1, 1, 64, 768], "dtype": "bf16", "q_heads": 4, "kv_heads": 4}, [{"mem": "l1"}, {"mem": "l1 sharded"}, {"q_heads": None, "heads": 8, "kv_heads": 2}, {"shape": None}, {"dtype": "float32"}, {"shape": [2, 1, 64, 768]}]),
    "heads joined": ({"op": "nlp_concat_heads", "shape": [1, 4, 64, 64], "dtype": "bf16"}, [{"mem": "l1"}, {"in_mem": "l1"}, {"in_mem": "l1", "mem": "dram"}, {"out_mem": "l1"}, {"out_mem": "dram", "mem": "l1"}, {"shape": [2, 4, 64, 64]}]),
    "turned": ({"op": "rotary_embedding_llama", "shape": [1, 4, 64, 64], "dtype": "bf16"}, [{"mem": "l1"}, {"dtype": "float32"}, {"op": "rotary_embedding_hf", "mem": "l1"}, {"shape": [1, 8, 8, 64], "op": "rotary_embedding_llama decode"}, {"shape": [1, 4, 128, 128]}]),
    "cached": ({"op": "paged_update_cache", "users": 8, "d": 64, "block_size": 32, "heads": 2, "cache": "bfp8", "input": "bf16", "max_seq": 128}, [{"max_seq": 100}, {"users": None, "batch": 4}, {"d": None, "head_dim": 128}, {"heads": None, "kv_heads": 1}, {"input": None, "dtype": "bf16"}, {"cache": "bf16"}, {"max_seq": "many"}, {"block_size": 64}]),
    "rows into tiles": ({"op": "tilize", "rows": 64, "width": 128, "dtype": "bf16"}, [{"shape": [1, 2, 64, 128]}, {"mem": "l1"}, {"dtype": "float32"}, {"op": "untilize", "shape": [1, 2, 64, 128]}, {"op": "untilize_with_unpadding"}, {"width": None}]),
    "rows of a table": ({"op": "embedding", "rows": 64, "vocab": 512, "dim": 128, "dtype": "bf16"}, [{"out_mem": "l1"}, {"mem": "l1"}, {"layout": "tilized", "out_mem": "dram"}, {"layout": "tilized", "out_mem": "l1 block sharded 4x2"}, {"layout": "tilized", "out_mem": "as input"}, {"dim": 96}]),
    "one tensor": ({"op": "silu", "shape": [1, 1, 64, 64], "dtype": "bf16"}, [{"op": "ttnn.gelu accurate"}, {"op": "gelu approx"}, {"op": "relu (x)"}, {"op": "exp approx"}, {"mem": "l1"}, {"in_mem": "l1", "mem": "dram"}, {"layout": "row"}, {"layout": "tile -> row"}, {"op": "siluet"}]),
    "two tensors": ({"op": "add", "shape": [1, 1, 256, 64], "dtype": "bf16"}, [{"op": "multiply"}, {"op": "subtract"}, {"op": "mul (silu on a)", "mem": "l1"}, {"mem": "l1 height sharded 8 cores"}, {"mem": "l1"}, {"op": "add silu on a"}, {"op": "addition"}]),
    "cast": ({"op": "typecast", "shape": [1, 1, 64, 64], "dtype": "bf16", "to": "float32"}, [{"to": None, "out_dtype": "bfp8"}, {"to": "uint16"}, {"to": "uint32"}, {"to": "int32"}, {"to": "bfp4"}, {"to": {"dtype": "bfp8"}}, {"dtype": "fp32", "to": "bf16"}]),
    "best of rows": ({"op": "argmax", "shape": [1, 1, 32, 256], "dtype": "bf16", "layout": "row_major"}, [{"dim": 3}, {"dim": 2}, {"op": "topk", "k": 32, "layout": "tile"}, {"op": "topk", "k": 32, "layout": "tile", "dim": 3}, {"op": "topk", "layout": "tile"}, {"op": "softmax", "layout": "tile", "dim": 2}, {"op": "softmax", "layout": "tile"}, {"op": "attention_softmax", "layout": "tile", "shape": [2, 4, 64, 128]}]),
    "moved": ({**MOVED, "dst": "l1"}, [
        {"shape": [64]}, {"shape": [30, 500]}, {"src": "l1 height sharded 8 cores", "dst": "dram"}, {"src": "l1 block sharded 8x4"}, {"dst": {"mem": "l1 block sharded", "grid": "8x4"}}, {"dst": {"mem": "l1 block sharded", "cores": 16, "grid": "8x4"}}, {"dst": {"mem": "l1 height sharded", "cores": 8, "first_core": 60}},
        {"dst": {"mem": "l1 width_sharded", "cores": 8}}, {"dst": "l1 width sharded [250, 64]"}, {"dst": "l1 height sharded [30, 512]"}, {"dst": "l1 block sharded [64, 64]"}, {"dst": "l1 height sharded 64 cores"}, {"dst": "l1 height sharded 9x1"}, {"dst": "l1 height sharded 4x2 cores"}, {"dtype": "float32"}, {"dtype": "bfp8"},
        {"shape": [1, 2, 100, 500], "dst": "l1 height sharded 7 cores"}, {"shape": [1, 2, 100, 500], "dst": "l1 width sharded 16 cores"}, {"shape": [1, 2, 100, 512], "layout": "row_major", "dst": "l1 height sharded 8 cores"}, {"dst": None}, {"src": None}, {"op": "interleaved_to_sharded", "dst": "l1 height sharded 8 cores"}, {"op": "reshard", "src": "l1 height sharded 8 cores", "dst": "l1 width sharded 8 cores"},
    ]),
    "a slice": ({"op": "slice", "shape": [1, 1, 64, 64], "begins": [0, 0, 0, 0], "ends": [1, 1, 32, 64], "dtype": "bf16"}, [{"out_mem": "l1 height sharded 1 cores"}, {"out_mem": "l1"}, {"out_mem": "l1 width sharded"}, {"begins": "[0, 0, 32, 0]", "ends": "[1, 1, 64, 64]"}, {"ends": None}, {"layout": "row_major"}, {"mem": "l1"}]),
    "joined": ({"op": "concat", "inputs": [[1, 1, 32, 64], [1, 1, 32, 32]], "dtype": "bf16"}, [{"in_mem": "l1"}, {"mem": "l1"}, {"in_mem": "l1", "mem": "dram"}, {"out_mem": "l1"}, {"dim": 3}, {"dim": 2}]),
    "padded": ({"op": "pad", "shape": [1, 1, 30, 30], "dtype": "bf16", "layout": "row major", "padding": [[0, 0], [0, 0], [0, 2], [0, 2]]}, [{"value": 2}, {"padding": [[0, 0], [0, 0], [0, 34], [0, 2]], "layout": "tile"}, {"mem": "l1"}]),
}
# fmt: on


def _otherwise() -> dict[str, dict[str, Any]]:
    made = {}
    for name, (base, changes) in SAID_OTHERWISE.items():
        for change in ({}, *changes):
            made[f"{name}: {', '.join(f'{key} {value}' for key, value in change.items())}"] = {
                key: value for key, value in {**base, **change}.items() if value is not None
            }
    return made


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
    for name, config in (*SAMPLES.items(), *_otherwise().items()):
        for date in dict.fromkeys(("", DATES.get(name, ""), "2026-10-01" if name in DATES else "")):
            made.append((f"{name} {date}".strip(), "n150", "wormhole_b0", date, "device kernel", config))
    made += [(f"a product on {chip}", chip, arch, "", "wall per call", SAMPLES["a product, plain"]) for chip, arch in CHIPS]
    made += [(f"a product on {grid} of a p150", "p150", "blackhole", "", "", {**PRODUCT, "core_grid": grid}) for grid in ("13x10", "14x10", "15x10", "11x11")]
    return [
        {"id": name, "chip": chip, "arch": arch, "op": str(config["op"]), "date": date, "measured": measured, "count": 1, "config": config}
        for name, chip, arch, date, measured, config in made
    ]
