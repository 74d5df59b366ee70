"""Completes rows of a layer's breakdown: a value that a row omits is taken from the other rows of its layer if they agree."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ttnn_shim.cells import Row

# Names of operations in device profiles -> the words that `published_ops.BUILDERS` look for.
PROFILED: tuple[tuple[str, str], ...] = (
    (r"ScaledDotProductAttentionDecode", "paged sdpa_decode"),
    (r"RotaryEmbeddingLlamaFusedQK", "rotary_embedding_llama_fused_qk"),
    (r"PagedUpdateCache", "paged_update_cache"),
    (r"Binary.*Mult_Silu", "mul silu on a"),
    (r"Matmul_\d+ (QKV|DO|FF2)_MM", "matmul 1D gather_in0 (ring)"),  # decoders of galaxies: products with prefetched weights
    (r"AllGather|AllReduce|ReduceScatter|Matmul_RS", "all_gather, reduce_scatter or all_reduce"),  # also where another op is fused with it
)


def layer_of(row: Row) -> tuple[str, str, str]:
    """Rows of one layer share these."""
    return row.get("model", ""), row.get("variant", ""), row.get("chip", "")


def config_of(row: Row) -> dict[str, Any]:
    """The row's configuration; empty where it is no JSON object (`published.requests_of` reports it)."""
    try:
        found = json.loads(row.get("config") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def one(values: Sequence[Any]) -> Any:
    """The value that all state; None where they differ or there is none."""
    return values[0] if values and all(value == values[0] for value in values) else None


def facts_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Properties that all rows of one layer share: activation dtype, heads, head size, batch, length; encoder and mask by the model's name."""
    configs = [config_of(row) for row in rows]
    facts: dict[str, Any] = {}
    products = [c for c in configs if {"K", "N", "in0", "out"} <= c.keys()]
    if (dtype := one([c[side] for c in products for side in ("in0", "out")])) is not None:
        facts["dtype"] = dtype
    if "dtype" not in facts and (dtype := one([c["dtype"] for r, c in zip(rows, configs, strict=True) if "dtype" in c and "Rotary" in r["op"]])):
        facts["heads_dtype"] = dtype
    shapes = [c["shape"] for c in configs if isinstance(c.get("shape"), list) and len(c["shape"]) == 4 and c["shape"][0] == c.get("batch")]
    heads = one([shape for shape in shapes if shape[1] > 1 and all(shape[2] == c.get("seq") for c in configs)])
    if heads:
        facts |= {"heads_shape": heads, "heads": heads[1], "d": heads[3]}
        together = one([c["N"] for r, c in zip(rows, configs, strict=True) if "qkv" in r["op"].lower() and "N" in c])
        if together and (rest := together // heads[3] - heads[1]) > 0 and rest % 2 == 0 and together % heads[3] == 0:
            facts["kv_heads"] = rest // 2
            facts["qkv_width"] = together
    name = str(rows[0].get("model", "")).lower()
    facts["encoder"] = "encoder" in name
    facts["sliding"] = "sliding" in name
    return facts


def completed(row: Row, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The row's configuration, completed by its layer's properties."""
    config = config_of(row)
    op = str(config.get("op") or row.get("op") or "")
    profiled = f"{config.get('op_code', '')} {op}"
    op = next((words for pattern, words in PROFILED if re.search(pattern, profiled)), op)
    config["op"] = op
    if "dtype" in facts and not {"dtype", "in0", "dtypes"} & config.keys():
        config["dtype"] = facts["dtype"]
    lower = op.lower()
    if "heads_shape" in facts:
        shape = facts["heads_shape"]
        if re.search(r"sdpa|attention", lower):
            _fill(config, heads=facts["heads"], d=facts["d"])
            if "kv_heads" in facts:
                _fill(config, kv_heads=facts["kv_heads"])
            if facts["encoder"]:
                _fill(config, is_causal=False)
            if facts["sliding"]:
                _fill(config, mask="additive, of the sliding window")
        elif re.search(r"create_(qkv_)?heads", lower) and "kv_heads" in facts:
            _fill(config, q_heads=facts["heads"], kv_heads=facts["kv_heads"], shape=[shape[0], 1, shape[2], facts["qkv_width"]])
        elif re.search(r"concat_?heads|^rotary", lower):
            _fill(config, shape=shape)
            if "rotary" in lower and "sharded" in lower and isinstance(config.get("cores"), int):
                rows = math.prod(shape[:-1])
                _fill(config, mem={"mem": "l1 height sharded", "cores": config["cores"], "shard": [-(-rows // 32 // config["cores"]) * 32, shape[-1]]})
    if re.search(r"^(interleaved_to_sharded|sharded_to_interleaved)", lower) and {"from", "to"} <= config.keys():
        _fill(config, src=config["from"], dst=config["to"])
    if isinstance(config.get("chunks"), int):
        config["chunks"] = f"{config['chunks']}/{config['chunks']}"
    if "heads_dtype" in facts and "update_cache" in lower:
        _fill(config, dtype=facts["heads_dtype"])
    if "sdpa_decode" in lower:
        paged = re.search(r"paged block (\d+)", str(config.get("cache") or ""))
        if paged:
            _fill(config, block_size=int(paged[1]))
        else:
            config["op"] = "sdpa_decode"
    return config


def _fill(config: dict[str, Any], **missing: Any) -> None:
    for key, value in missing.items():
        config.setdefault(key, value)


def completed_configs(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The configurations of a table of layers, each completed from the other rows of its layer."""
    layers: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        layers.setdefault(layer_of(row), []).append(row)
    facts = {key: facts_of(mine) for key, mine in layers.items()}
    return [completed(row, facts[layer_of(row)]) for row in rows]
