"""Builds `ttnn` calls from the configurations of published timings, one builder per op, without guessing missing values."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ttnn_shim.published_matmul import matmul_call
from ttnn_shim.published_words import (
    ACROSS_CHIPS,
    TILE,
    Call,
    Config,
    Machine,
    Unreadable,
    dtype_name,
    grid_text,
    integers,
    known,
    number,
    plain,
)

# Arguments without a default: their values do not change the time.
SCALARS: Mapping[str, dict[str, Any]] = {
    "clamp": {"min": -1.0, "max": 1.0},
    "clip": {"min": -1.0, "max": 1.0},
    "leaky_relu": {"negative_slope": 0.01},
    "celu": {"alpha": 1.0},
    "elu": {"alpha": 1.0},
    "prelu": {"weight": 0.25},
    "fill": {"fill_value": 1.0},
    "heaviside": {"value": 0.5},
    "threshold": {"threshold": 0.5, "value": 1.0},
    "polygamma": {"k": 2},
    "logit": {"eps": 1e-6},
    "hardshrink": {"lambd": 0.5},
    "softshrink": {"lambd": 0.5},
    "relu_max": {"upper_limit": 6.0},
    "relu_min": {"lower_limit": 0.0},
    "rpow": {"exponent": 2.0},
    "rdiv": {"value": 2.0},
    "addcdiv": {"value": 1.0},
    "addcmul": {"value": 1.0},
    "softplus": {"beta": 1.0, "threshold": 20.0},
    "round": {"decimals": 0},
}
POSITIONAL: Mapping[str, tuple[Any, ...]] = {"pow": (2.0,), "fmod": (2.0,), "remainder": (2.0,), "bitwise_left_shift": (1,), "bitwise_right_shift": (1,)}


def eltwise_call(machine: Machine, config: Config) -> Call:
    """Listed tensors and keyword arguments: the eltwise dashboards."""
    name = str(config["op"]).removeprefix("ttnn.")
    function: Any = machine.ttnn
    for part in name.split("."):
        function = getattr(function, part, None)
    if function is None or not re.fullmatch(r"[a-z][a-z0-9_.]*", name):
        raise Unreadable(f"op: ttnn has no {name[:60]!r}")
    tensors = []
    for spec in config["inputs"]:
        tensors.append(machine.tensor(integers(spec.get("shape"), "shape"), dtype_name(spec), spec.get("mem"), spec.get("layout", "tile")))
    kwargs = {k: v for k, v in (config.get("kwargs") or {}).items() if k != "note" and v is not None} | dict(SCALARS.get(name, {}))
    if name == "assign" and len(tensors) == 1:
        kwargs["memory_config"] = machine.out_memory((config.get("out") or {}).get("mem"), tensors[0].shape)
    extra = POSITIONAL.get(name, ()) if len(tensors) == 1 else ()
    if name == "where" and len(tensors) == 1:
        raise Unreadable("config: where needs three tensors")
    return lambda: function(*tensors, *extra, **kwargs)


def permuted_scan(machine: Machine, config: Config) -> Call:
    """cumsum along one of the last two dimensions before the kernel that scans within tiles: dimension 0 takes the scan and every element of the
    other dimensions its own row (permute, scan, permute back)."""
    ttnn = machine.ttnn
    x = machine.tensor(integers(config["inputs"][0].get("shape"), "shape"), dtype_name(config["inputs"][0]), config["inputs"][0].get("mem"))
    rank = len(x.shape)
    dim = int((config.get("kwargs") or {}).get("dim", -1)) % rank
    if rank != 4 or dim == 0:
        return eltwise_call(machine, config)
    order = list(range(rank))
    order[0], order[dim] = dim, 0
    return lambda: ttnn.permute(ttnn.cumsum(ttnn.permute(x, order), 0), order)


def product_and_sum(machine: Machine, config: Config) -> Call:
    """mac before it became one ternary program."""
    ttnn = machine.ttnn
    a, b, c = (machine.tensor(integers(spec.get("shape"), "shape"), dtype_name(spec), spec.get("mem")) for spec in config["inputs"])
    return lambda: ttnn.add(ttnn.multiply(a, b), c)


# Ops that ran other programs before a date (year-month of the change, found by published times and sources), and how.
EARLIER: Mapping[str, tuple[str, Callable[[Machine, Config], Call]]] = {
    "ttnn.cumsum": ("2026-09", permuted_scan),
    "ttnn.mac": ("2026-09", product_and_sum),
}


def earlier_call(op: str, date: str) -> Callable[[Machine, Config], Call] | None:
    """The builder for an op's implementation at `date` (year-month-day), if it differs from today's."""
    changed, build = EARLIER.get(op, ("", None))
    return build if build is not None and date and date[:7] < changed else None


def shape_of(config: Config) -> list[int]:
    """The input's shape."""
    if "shape" not in config:
        raise Unreadable("config: the shape is not stated")
    return integers(config["shape"], "shape")


def first_tensor(machine: Machine, config: Config, *memories: str) -> Any:
    """The tensor of `shape`, `dtype`, `layout` in the first of the named memories that is stated."""
    mem = next((config[key] for key in (*memories, "in_mem", "mem") if config.get(key) is not None), None)
    layout = str(config.get("layout") or "tile")
    if "->" in layout:
        raise Unreadable("config: a chain of several calls")
    return machine.tensor(shape_of(config), dtype_name(config), mem, layout)


def out_kwargs(machine: Machine, config: Config, shape: Sequence[int]) -> dict[str, Any]:
    """memory_config where the output's memory is stated."""
    memory = machine.out_memory(config.get("out_mem"), shape)
    return {} if memory is None else {"memory_config": memory}


def turned(source: Sequence[int], target: Sequence[int]) -> tuple[list[int], list[int]]:
    """(logical source, order of the dimensions) of a permute whose shapes were recorded with padding: a second last dimension of 32 may be 1, and one that
    is a leading dimension of the result has its size there."""
    found = set()
    sources = [tuple(source)]
    if len(source) > 1 and source[-2] % TILE == 0:
        sizes_there = {size for size in (1, *target[:-2]) if source[-2] - TILE < size < source[-2]}
        sources += [(*source[:-2], size, source[-1]) for size in sorted(sizes_there)]
    for sizes in sources:
        for order in itertools.permutations(range(len(sizes))):
            out = [sizes[d] for d in order]
            padded = [*out[:-2], *(-(-size // TILE) * TILE for size in out[-2:])]
            if list(target) in (out, padded) and list(order) != sorted(order):
                found.add((sizes, tuple(out), order))
    distinct = {(sizes, out) for sizes, out, _ in found}
    if len(distinct) != 1:
        raise Unreadable("config: the order of the dimensions does not follow from the shapes")
    # Dimensions of one size: the order that moves fewest.
    sizes, _, order = min(found, key=lambda f: (sum(d != i for i, d in enumerate(f[2])), f))
    return list(sizes), list(order)


def permute_call(machine: Machine, config: Config) -> Call:
    """permute; without `dims` they follow from the two shapes."""
    if "dims" in config:
        source, dims = shape_of(config), integers(config["dims"], "dims")
    else:
        target = config.get("out_shape") or str(config.get("shape")).partition("->")[2].strip()
        source, dims = turned(shape_of(config), integers(target, "out_shape"))
    if re.fullmatch(r"tile -> untilize -> row-major permute -> tilize", str(config.get("layout"))):
        tiled = first_tensor(machine, {**config, "shape": source, "layout": "tile"})
        ttnn = machine.ttnn
        return lambda: ttnn.to_layout(ttnn.permute(ttnn.to_layout(tiled, ttnn.ROW_MAJOR_LAYOUT), dims), ttnn.TILE_LAYOUT)
    x = first_tensor(machine, {**config, "shape": source})
    kwargs = out_kwargs(machine, config, [source[d] for d in dims])
    return lambda: machine.ttnn.permute(x, dims, **kwargs)


def reshape_call(machine: Machine, config: Config) -> Call:
    x, to = first_tensor(machine, config), integers(config.get("to"), "to")
    kwargs = out_kwargs(machine, config, to)
    return lambda: machine.ttnn.reshape(x, to, **kwargs)


def slice_call(machine: Machine, config: Config) -> Call:
    x = first_tensor(machine, config)
    begins, ends = integers(config.get("begins"), "begins"), integers(config.get("ends"), "ends")
    text = plain(config.get("out_mem"))
    if "sharded" in text and not re.search(r"\d", text):
        raise Unreadable("config: the shards of the output are not stated")
    kwargs = out_kwargs(machine, config, [e - b for b, e in zip(begins, ends, strict=True)])
    return lambda: machine.ttnn.slice(x, begins, ends, **kwargs)


def concat_call(machine: Machine, config: Config) -> Call:
    inputs = config.get("inputs")
    if not isinstance(inputs, list) or not all(isinstance(shape, list) for shape in inputs):
        raise Unreadable("config: the inputs' shapes are not stated")
    tensors = [machine.tensor(integers(shape, "inputs"), dtype_name(config), config.get("in_mem") or config.get("mem")) for shape in inputs]
    dim = int(config.get("dim", -1))
    kwargs = out_kwargs(machine, config, integers(inputs[0], "inputs"))
    return lambda: machine.ttnn.concat(tensors, dim, **kwargs)


def pad_call(machine: Machine, config: Config) -> Call:
    x = first_tensor(machine, config)
    padding = config.get("padding")
    if not isinstance(padding, list):
        raise Unreadable("config: padding is not stated")
    return lambda: machine.ttnn.pad(x, [tuple(p) for p in padding], float(config.get("value") or 0))


def move_call(machine: Machine, config: Config) -> Call:
    """interleaved <-> sharded, reshard, to_memory_config: from `src` to `dst`."""
    if "src" not in config or "dst" not in config or "shape" not in config:
        raise Unreadable("config: shape, src and dst are not all stated")
    shape = shape_of(config)
    x = machine.tensor(shape, dtype_name(config), config["src"], str(config.get("layout") or "tile"))
    target = dict(config["dst"]) if isinstance(config["dst"], Mapping) else config["dst"]
    memory = machine.memory(target, shape)
    return lambda: machine.ttnn.to_memory_config(x, memory)


def norm_call(machine: Machine, config: Config) -> Call:
    """layer_norm and rms_norm."""
    shape = shape_of(config)
    mem = config.get("mem")
    if isinstance(mem, str) and "sharded" in mem and config.get("shard"):
        mem = {"mem": mem, "cores": config.get("cores"), "grid": plain(config.get("grid")), "shard": config["shard"]}
    x = machine.tensor(shape, dtype_name(config), mem)
    ttnn = machine.ttnn
    kwargs: dict[str, Any] = {"compute_kernel_config": machine.compute(config)}
    if config.get("weight"):
        row_major = "row" in str(config["weight"])
        kwargs["weight"] = machine.tensor([1, 1, shape[-1] // TILE, TILE] if row_major else [1, shape[-1]], "bfloat16", None, "row" if row_major else "tile")
    program = config.get("program_config")
    sizes = program if isinstance(program, Mapping) else config
    if isinstance(mem, Mapping) and known(sizes.get("block_w")):
        shards = x.memory_config().shard_spec
        found = grid_text(mem.get("grid"))
        kwargs["program_config"] = ttnn.LayerNormShardedMultiCoreProgramConfig(
            compute_with_storage_grid_size=ttnn.CoreCoord(*found) if found else shards.grid.bounding_box().grid_size(),
            subblock_w=int(sizes.get("subblock_w") or 1),
            block_h=int(sizes.get("block_h") or 1),
            block_w=int(sizes["block_w"]),
            inplace=bool(sizes.get("inplace", False)),
        )
        kwargs["memory_config"] = x.memory_config()
    if "rms" in str(config.get("op")):
        return lambda: ttnn.rms_norm(x, **kwargs)
    return lambda: ttnn.layer_norm(x, **kwargs)


def softmax_call(machine: Machine, config: Config) -> Call:
    x = first_tensor(machine, config)
    if "attention" in str(config.get("op")):
        shape = shape_of(config)
        mask = machine.tensor([shape[0], 1, shape[-2], shape[-1]], "bfloat16")
        return lambda: machine.ttnn.transformer.attention_softmax(x, head_size=64, attention_mask=mask)
    return lambda: machine.ttnn.softmax(x, int(config.get("dim", -1)))


def argmax_call(machine: Machine, config: Config) -> Call:
    x = first_tensor(machine, config)
    return lambda: machine.ttnn.argmax(x, dim=int(config.get("dim", -1)))


def topk_call(machine: Machine, config: Config) -> Call:
    x, k = first_tensor(machine, config), number(config, "k")
    return lambda: machine.ttnn.topk(x, k, int(config.get("dim", -1)))


def attention_sizes(config: Config) -> tuple[int, int, int, int]:
    """(batch, query heads, key heads, head size)."""
    heads = number(config, "q_heads", "heads", "nh", "n_heads")
    kv = number(config, "kv_heads", "nkv", "n_kv") if any(k in config for k in ("kv_heads", "nkv", "n_kv")) else heads
    return number(config, "batch", "b", "users"), heads, kv, number(config, "d", "head_dim")


def sdpa_call(machine: Machine, config: Config) -> Call:
    """Prefill attention."""
    ttnn = machine.ttnn
    text = str(config.get("op")).lower()
    if "ring" in text or "joint" in text:
        raise Unreadable(f"op: ring attention is {ACROSS_CHIPS}")
    if isinstance(config.get("q"), list):
        q_shape, kv_shape = integers(config["q"], "q"), integers(config.get("kv"), "kv")
    else:
        batch, heads, kv_heads, d = attention_sizes(config)
        seq = number(config, "seq")
        q_shape, kv_shape = [batch, heads, seq, d], [batch, kv_heads, seq, d]
    dtype = dtype_name(config, "bfloat16" if "dtype" not in config else "")
    mem = config.get("mem") or config.get("in_mem")
    kinds = [dtype, *(dtype_name(config[key]) if isinstance(config.get(key), str) else dtype for key in ("k", "v"))]
    q, k, v = (machine.tensor(shape, kind, mem) for shape, kind in zip((q_shape, kv_shape, kv_shape), kinds, strict=True))
    causal = bool(config["is_causal"]) if "is_causal" in config else "causal" in text and "not causal" not in text
    kwargs: dict[str, Any] = {"is_causal": causal, "compute_kernel_config": machine.compute(config)}
    if "mask" in config or "mask" in text:
        kwargs["attn_mask"] = machine.tensor([q_shape[0], 1, q_shape[2], kv_shape[2]], "bfloat16")
    chunks = re.search(r"(\d+)/(\d+)", str(config.get("chunks") or ""))
    q_chunk, k_chunk = (int(chunks[1]), int(chunks[2])) if chunks else (number(config, "q_chunk"), number(config, "k_chunk"))
    x, y = grid_text(config.get("grid")) or machine.grid
    kwargs["program_config"] = ttnn.SDPAProgramConfig(
        compute_with_storage_grid_size=ttnn.CoreCoord(x, y), q_chunk_size=q_chunk, k_chunk_size=k_chunk, exp_approx_mode=bool(config.get("exp_approx", False))
    )
    return lambda: ttnn.transformer.scaled_dot_product_attention(q, k, v, **kwargs)


def sdpa_decode_call(machine: Machine, config: Config) -> Call:
    """Decode attention over a cache, paged or not."""
    ttnn = machine.ttnn
    text = str(config.get("op")).lower()
    if "latent" in text or "mla" in text:
        return latent_decode_call(machine, config)
    batch, heads, kv_heads, d = attention_sizes(config)
    cache_type = dtype_name(config.get("kv"), config.get("cache"), config.get("cache_dtype"))
    position = config.get("position", config.get("cur_pos"))
    stated = re.search(r"\d+", str(position or ""))
    length = number(config, "max_seq", "cache") if "max_seq" in config or re.match(r"\d+", str(config.get("cache") or "")) else 0
    if isinstance(position, int):
        last = position
    elif "end of cache" in str(position) and length:
        last = length - 1
    elif stated and "inferred" not in str(position):
        last = int(stated[0])
    else:
        raise Unreadable("config: the position is not stated")
    length = length or -(-(last + 1) // TILE) * TILE
    q = machine.tensor([1, batch, heads, d], "bfloat16")
    x, y = grid_text(config.get("grid")) or machine.grid
    chunk = config.get("k_chunk")
    kwargs: dict[str, Any] = {
        "compute_kernel_config": machine.compute(config),
        "program_config": ttnn.SDPAProgramConfig(
            compute_with_storage_grid_size=ttnn.CoreCoord(min(x, machine.grid[0]), min(y, machine.grid[1])),
            q_chunk_size=0,
            k_chunk_size=chunk if isinstance(chunk, int) else 0,
        ),
    }
    if "paged" in text and "not paged" not in text:
        block = number(config, "block_size")
        pages = -(-(last + 1) // block)  # a tensor of positions has no values here: the table holds the pages that are read
        cache = machine.tensor([batch * pages, kv_heads, block, d], cache_type)
        table = machine.tensor([batch, pages], "int32", None, "row_major")
        current = machine.tensor([batch], "int32", None, "row_major")
        return lambda: ttnn.transformer.paged_scaled_dot_product_attention_decode(q, cache, cache, table, cur_pos_tensor=current, **kwargs)
    cache = machine.tensor([batch, kv_heads, length, d], cache_type)
    return lambda: ttnn.transformer.scaled_dot_product_attention_decode(q, cache, cache, cur_pos=[last] * batch, **kwargs)


def latent_decode_call(machine: Machine, config: Config) -> Call:
    """Multi-latent decode attention over a paged cache whose keys, in part, are the values: queries in shards of one row of tiles."""
    ttnn = machine.ttnn
    value_width = number(config, "kv_lora_rank", "kv_lora")
    width = number(config, "head_dim") if "head_dim" in config else value_width + number(config, "rope")
    shape = integers(config["q"], "q") if isinstance(config.get("q"), list) else [1, number(config, "batch"), number(config, "q_heads"), width]
    _, users, heads, _ = shape
    if "sharded" not in plain(config.get("q_mem") or config.get("q")) and not isinstance(config.get("q_mem"), Mapping):
        raise Unreadable("config: the memory of the queries is not stated")
    stated = [int(each) for each in re.findall(r"\d+", str(config.get("positions", config.get("position"))).partition("(")[0])]
    if not stated:
        raise Unreadable("config: the position is not stated")
    rows = users * -(-heads // TILE)
    q = machine.tensor(shape, "bfloat16", {"mem": "l1 height sharded", "cores": rows, "shard": [TILE, width]})
    x, y = grid_text(config.get("grid")) or machine.grid
    program = ttnn.SDPAProgramConfig(
        compute_with_storage_grid_size=ttnn.CoreCoord(x, y),
        q_chunk_size=0,
        k_chunk_size=config["k_chunk"] if isinstance(config.get("k_chunk"), int) else 128,  # the published callers' size
        max_cores_per_head_batch=config["max_cores_per_head_batch"] if "max_cores_per_head_batch" in config else 16,
    )
    kwargs = {"compute_kernel_config": machine.compute(config), "program_config": program}
    cache_type = dtype_name(config.get("cache_dtype"), config.get("k"))
    if len(set(stated)) > 1:  # positions that differ are known to the clock from a list alone: a cache without pages, one lookup less
        cache = machine.tensor([users, 1, number(config, "max_seq"), width], cache_type)
        return lambda: ttnn.transformer.flash_multi_latent_attention_decode(q, cache, head_dim_v=value_width, cur_pos=stated, **kwargs)
    block = number(config, "block_size") if "block_size" in config else int((re.search(r"(\d+)-row pages", str(config.get("k"))) or [0, TILE])[1])
    pages = -(-(max(stated) + 1) // block)  # a tensor of positions has no values here: the table holds the pages that are read
    cache = machine.tensor([users * pages, 1, block, width], cache_type)
    table = machine.tensor([users, pages], "int32", None, "row_major")
    current = machine.tensor([users], "int32", None, "row_major")
    return lambda: ttnn.transformer.paged_flash_multi_latent_attention_decode(
        q, cache, head_dim_v=value_width, page_table_tensor=table, cur_pos_tensor=current, **kwargs
    )


def create_heads_call(machine: Machine, config: Config) -> Call:
    ttnn = machine.ttnn
    q_heads, kv_heads = number(config, "q_heads", "heads"), number(config, "kv_heads", "kv")
    if "decode" in str(config.get("op")):
        shape = shape_of(config)
        mem = config.get("mem")
        x = machine.tensor(shape, "bfloat16", mem)
        return lambda: ttnn.experimental.nlp_create_qkv_heads_decode(x, num_heads=q_heads, num_kv_heads=kv_heads)
    shape = shape_of(config) if "shape" in config else [1, 1, number(config, "rows"), number(config, "width")]
    x = machine.tensor(shape, dtype_name(config), config.get("mem"))
    memory = machine.out_memory(config.get("mem"), shape)
    kwargs = {} if memory is None else {"memory_config": memory}
    return lambda: ttnn.experimental.nlp_create_qkv_heads(x, num_heads=q_heads, num_kv_heads=kv_heads, transpose_k_heads=False, **kwargs)


def concat_heads_call(machine: Machine, config: Config) -> Call:
    ttnn = machine.ttnn
    if "decode" in str(config.get("op")):
        if "shape" in config:
            shape, heads = shape_of(config), number(config, "heads")
        else:  # a core computes one head of all users
            heads = number(config, "heads", "cores")
            shape = [1, number(config, "batch", "users"), heads, number(config, "out") // heads]
        mem = {"mem": "l1 height sharded", "cores": shape[1], "shard": [-(-shape[2] // TILE) * TILE, shape[3]]}
        x = machine.tensor(shape, "bfloat16", mem)
        return lambda: ttnn.experimental.nlp_concat_heads_decode(x, num_heads=heads)
    shape = shape_of(config)
    x = machine.tensor(shape, dtype_name(config), config.get("in_mem") or config.get("mem"))
    kwargs = out_kwargs(machine, {"out_mem": config.get("out_mem") or config.get("mem")}, shape)
    return lambda: ttnn.experimental.nlp_concat_heads(x, **kwargs)


def rotary_call(machine: Machine, config: Config) -> Call:
    """rotary_embedding_llama and rotary_embedding_hf; the decode form on shards."""
    ttnn = machine.ttnn
    text = str(config.get("op")).lower()
    dtype = dtype_name(config)
    if "fused" in text:
        # The operation needs one core per user of each of both, next to each other.
        users, heads, kv_heads, d = (
            number(config, "batch", "users"),
            number(config, "n_heads", "heads"),
            number(config, "n_kv", "kv_heads"),
            number(config, "d"),
        )

        def sharded(shape: list[int], cores: int, first: int, width: int) -> Any:
            return machine.tensor(shape, dtype, {"mem": "l1 height sharded", "cores": cores, "shard": [TILE, width], "first_core": first})

        q, k = sharded([1, users, heads, d], users, 0, d), sharded([1, users, kv_heads, d], users, users, d)
        angles = [sharded([1, 2 * users, 1, d], 2 * users, 0, d) for _ in range(2)]
        swap = sharded([1, 1, 2 * users * TILE, TILE], 2 * users, 0, TILE)
        return lambda: ttnn.experimental.rotary_embedding_llama_fused_qk(q, k, *angles, swap)
    shape = shape_of(config)
    d = shape[-1]
    x = machine.tensor(shape, dtype, config.get("mem"))
    if "decode" in text:
        batch = shape[1]
        angles = [machine.tensor([1, batch, 1, d], dtype, {"mem": "l1 height sharded", "cores": batch, "shard": [TILE, d]}) for _ in range(2)]
        swap = machine.tensor([1, 1, TILE * batch, TILE], dtype, {"mem": "l1 height sharded", "cores": batch, "shard": [TILE, TILE]})
        return lambda: ttnn.experimental.rotary_embedding_llama(x, *angles, swap, is_decode_mode=True)
    angles = [machine.tensor([1, 1, shape[-2], d], dtype) for _ in range(2)]
    if "hf" in text:
        return lambda: ttnn.experimental.rotary_embedding_hf(x, *angles)
    swap = machine.tensor([1, 1, TILE, TILE], dtype)
    return lambda: ttnn.experimental.rotary_embedding_llama(x, *angles, swap)


def update_cache_call(machine: Machine, config: Config) -> Call:
    """One token per user written into a paged cache; the fused form writes keys and values."""
    ttnn = machine.ttnn
    users, d, block = number(config, "users", "batch"), number(config, "d", "head_dim"), number(config, "block_size", "block")
    heads = number(config, "heads", "kv_heads")
    pages = -(-number(config, "max_seq") // block) if "max_seq" in config else 1  # the other content of the cache does not matter
    caches = [machine.tensor([users * pages, heads, block, d], dtype_name(config.get("cache"))) for _ in range(2)]
    table = machine.tensor([users, pages], "int32", None, "row_major")
    current = machine.tensor([users], "int32", None, "row_major")
    kind = dtype_name(config.get("input"), config.get("dtype"))
    mem = {"mem": "l1 height sharded", "cores": users, "shard": [TILE, d]}
    if "fused" in str(config.get("op")):
        first = machine.tensor([1, users, heads, d], kind, mem)
        second = machine.tensor([1, users, heads, d], kind, {**mem, "first_core": users})
        return lambda: ttnn.experimental.paged_fused_update_cache(caches[0], first, caches[1], second, update_idxs_tensor=current, page_table=table)
    x = machine.tensor([1, users, heads, d], kind, mem)
    return lambda: ttnn.experimental.paged_update_cache(caches[0], x, update_idxs_tensor=current, page_table=table)


def tilize_call(machine: Machine, config: Config) -> Call:
    shape = shape_of(config) if "shape" in config else [1, 1, number(config, "rows"), number(config, "width")]
    x = machine.tensor(shape, dtype_name(config), config.get("mem"), "row_major")
    return lambda: machine.ttnn.tilize(x)


def untilize_call(machine: Machine, config: Config) -> Call:
    shape = shape_of(config) if "shape" in config else [1, 1, number(config, "rows"), number(config, "width")]
    x = machine.tensor(shape, dtype_name(config), config.get("mem"))
    return lambda: machine.ttnn.untilize(x)


def embedding_call(machine: Machine, config: Config) -> Call:
    rows, vocab, dim = number(config, "rows"), number(config, "vocab"), number(config, "dim")
    tokens = machine.tensor([1, rows], "uint32", None, "row_major")
    table = machine.tensor([vocab, dim], dtype_name(config), config.get("mem"), "row_major")
    tilized = "tilized" in str(config.get("layout"))
    kwargs = out_kwargs(machine, config, [1, rows, dim])
    if tilized and not kwargs:  # interleaved results of up to 32 tokens are one core's work, sharded ones that of all cores of the shards
        raise Unreadable("config: the memory of the result is not stated, which decides on the cores")
    layout = machine.ttnn.TILE_LAYOUT if tilized else machine.ttnn.ROW_MAJOR_LAYOUT
    return lambda: machine.ttnn.embedding(tokens, table, layout=layout, **kwargs)


def activation_call(machine: Machine, config: Config) -> Call:
    """gelu, silu, relu ... on a stated shape."""
    x = first_tensor(machine, config)
    text = str(config.get("op")).lower()
    name = re.split(r"[\s(]", text)[0].removeprefix("ttnn.")
    if name == "gelu" and not re.search(r"approx|tanh|exact|erf|accurate", text):
        raise Unreadable("op: which form of gelu, exact or approximate, is not stated; one takes three times the other")
    kwargs = {"fast_and_approximate_mode": True} if name == "gelu" and re.search(r"approx|tanh", text) else {}
    return lambda: getattr(machine.ttnn, name)(x, **kwargs)


def binary_call(machine: Machine, config: Config) -> Call:
    """add, multiply, subtract of two tensors of one shape."""
    text = str(config.get("op")).lower()
    x, y = first_tensor(machine, config), first_tensor(machine, config)
    name = {"mul": "multiply", "sub": "subtract"}.get(re.split(r"[\s(]", text)[0], re.split(r"[\s(]", text)[0])
    kwargs: dict[str, Any] = {}
    if "silu on a" in text:
        kwargs["input_tensor_a_activations"] = [machine.ttnn.UnaryOpType.SILU]
    if "sharded" in str(config.get("mem")):
        kwargs["memory_config"] = x.memory_config()
    return lambda: getattr(machine.ttnn, name)(x, y, **kwargs)


def typecast_call(machine: Machine, config: Config) -> Call:
    x = first_tensor(machine, config)
    target = dtype_name(config.get("to"), config.get("out_dtype"))
    return lambda: machine.ttnn.typecast(x, getattr(machine.ttnn, target))


def transposed_size(config: Config, kernel: Sequence[int], stride: Sequence[int]) -> dict[str, Any]:
    """Size of a transposed convolution's square input: windows as far apart as they are large give `matmul_view` one row for every output position."""
    rows, depth, _ = [*integers(config.get("matmul_view") or "", "matmul_view"), 0, 0, 0][:3]
    side = math.isqrt(rows)
    fits = side * side == rows and list(kernel) == list(stride) and side % stride[0] == 0 and depth == number(config, "in_ch") * math.prod(kernel)
    if not fits or number(config, "batch") != 1:
        raise Unreadable("config: the size of the transposed convolution's input is not stated")
    return {"h": side // stride[0], "w": side // stride[1], "pad": [0, 0]}


def conv_call(machine: Machine, config: Config) -> Call:
    """conv2d on [1, 1, batch * h * w, channels]."""
    ttnn = machine.ttnn
    kernel, stride = integers(config.get("kernel"), "kernel"), integers(config.get("stride"), "stride")
    transposed = "transpose" in str(config.get("op"))
    if transposed:
        config = {**config, **transposed_size(config, kernel, stride)}
    batch, h, w, cin, cout = (number(config, key) for key in ("batch", "h", "w", "in_ch", "out_ch"))
    if "pad" in config:
        padding = integers(config["pad"], "pad")
    elif "matmul_view" in config and int(str(config["matmul_view"]).split("x")[0]) == batch * h * w and stride == [1, 1]:
        padding = [kernel[0] // 2, kernel[1] // 2]
    else:
        raise Unreadable("config: the padding is not stated")
    dtype = dtype_name(config, config.get("input"))
    x = machine.tensor([1, 1, batch * h * w, cin], dtype, "dram", "tile" if "tile" in str(config.get("input")) or "layout" not in config else "row_major")
    weight_type = dtype_name(config.get("weights_dtype"), config)
    weight = machine.on_host([cin, cout, *kernel] if transposed else [cout, cin // int(config.get("groups") or 1), *kernel])
    layouts = {"height": "HEIGHT_SHARDED", "block": "BLOCK_SHARDED", "width": "WIDTH_SHARDED"}
    kind = next((name for word, name in layouts.items() if word in str(config.get("shard_layout")).lower()), None)
    options = ttnn.Conv2dConfig(
        weights_dtype=getattr(ttnn, weight_type),
        shard_layout=getattr(ttnn.TensorMemoryLayout, kind) if kind else None,
        act_block_h_override=int(config.get("act_block_h_override") or 0),
        enable_act_double_buffer=bool(config.get("act_double_buffer", False)),
        enable_weights_double_buffer=bool(config.get("weights_double_buffer", False)),
        enable_activation_reuse=bool(config.get("activation_reuse", False)),
    )
    kwargs: dict[str, Any] = {"compute_config": machine.compute(config)}
    if config.get("bias") is True:
        kwargs["bias_tensor"] = machine.on_host([1, 1, 1, cout])
    function = ttnn.conv_transpose2d if transposed else ttnn.conv2d
    return lambda: function(
        input_tensor=x,
        weight_tensor=weight,
        device=machine.device,
        in_channels=cin,
        out_channels=cout,
        batch_size=batch,
        input_height=h,
        input_width=w,
        kernel_size=tuple(kernel),
        stride=tuple(stride),
        padding=tuple(padding),
        groups=int(config.get("groups") or 1),
        conv_config=options,
        **kwargs,
    )


Builder = Callable[[Machine, Config], Call]
# Searched in this order in the op's name, lower case without "ttnn.".
BUILDERS: tuple[tuple[str, Builder], ...] = (
    (r"attention_decode|sdpa[_ ]decode|mla decode|flash_multi", sdpa_decode_call),
    (r"sdpa|scaled_dot_product_attention", sdpa_call),
    (r"create_(qkv_)?heads", create_heads_call),
    (r"concat_?heads", concat_heads_call),
    (r"^rotary", rotary_call),
    (r"paged.*update_cache", update_cache_call),
    (r"matmul|linear", matmul_call),
    (r"all_gather|reduce_scatter|all_reduce|post_all|pre_all", lambda machine, config: _refuse(f"op: {ACROSS_CHIPS}")),
    (r"layer_norm|rms_norm|layernorm|rmsnorm", norm_call),
    (r"conv", conv_call),
    (r"^permute", permute_call),
    (r"^reshape", reshape_call),
    (r"^slice", slice_call),
    (r"^concat", concat_call),
    (r"^pad\b", pad_call),
    (r"interleaved_to_sharded|sharded_to_interleaved|to_memory_config|reshard", move_call),
    (r"softmax", softmax_call),
    (r"^argmax", argmax_call),
    (r"^topk", topk_call),
    (r"^untilize", untilize_call),
    (r"^tilize", tilize_call),
    (r"^embedding", embedding_call),
    (r"^typecast", typecast_call),
    (r"^(gelu|silu|relu|sigmoid|tanh|exp|sqrt|rsqrt)\b", activation_call),
    (r"^(add|multiply|mul|subtract|sub)\b", binary_call),
)


def _refuse(reason: str) -> Call:
    raise Unreadable(reason)
