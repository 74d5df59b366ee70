"""Lowers scaled dot-product attention and head ops. The device's fused kernels take bfloat16 and head sizes of whole tiles."""

from __future__ import annotations

import math

from xdsl.ir import Operation, OpResult, SSAValue

from alchemist.ir import access
from alchemist.ir.access import operand, shape, struct
from alchemist.ir.edit import add_sources
from alchemist.ir.layout import TILE_EDGE, TTNNLayout
from alchemist.ops.spec import NOTE
from alchemist.optimizer.machine import machine
from alchemist.optimizer.movement import is_faster_with
from alchemist.passes.lower.configs import compute_config
from alchemist.passes.lower.context import ROW_MAJOR, TILE, Lowering, first_cores, layout, rule, user_per_core
from alchemist.passes.lower.eltwise import broadcast_to

LONGEST_CHUNKS = (256, 128, 64)
"""Candidate chunk sizes of queries and keys: these fit in L1 for most head sizes; half of it for wide heads."""
PROGRAM_CONFIG = "alchemist.program_config"
MOST_CORES_OF_A_HEAD = 64
"""That decode attention takes for the keys of a user's head: their parts are joined in six rounds (tt-metal, sdpa_decode_program_factory.cpp)."""
MOST_CORES_OF_A_CARD = 140
"""Of Blackhole: the library shares all cores of a card among the heads, and refuses where one gets more than it takes."""
BF16_ONLY = "bfloat16: scaled_dot_product_attention takes no float32"


@rule("scaled_dot_product_attention")
def sdpa(c: Lowering, op: Operation) -> None:
    query, key, value = op.operands[:3]
    result = op.results[0]
    dtype, dims = c.dtype(result), shape(query)
    mask = operand(op, "attention_mask")
    if dims[-1] % TILE_EDGE or shape(value)[-1] != dims[-1] or (access.attr(op, "is_causal") and mask is not None):
        _composed(c, op)
        return
    note = "" if dtype == "bf16" else BF16_ONLY
    operands: list[SSAValue | None] = [c.get(query, TILE, "bf16", note=note)]
    operands += [c.get(x, TILE, "bf16") for x in (key, value)]
    operands.append(None if mask is None else _mask(c, mask, dims, shape(key)))
    sink = operand(op, "attention_sink")
    operands.append(None if sink is None else c.get(sink, TILE, "bf16"))
    attributes = {
        "is_causal": bool(access.attr(op, "is_causal")),
        "scale": _scale(op, dims[-1]),
        "sliding_window_size": access.attr(op, "sliding_window_size"),
        "alchemist.compute_config": compute_config(c.options),
    }
    attention = c.emit("scaled_dot_product_attention", operands, attributes, note=str(access.attr(op, NOTE, "")))
    if not c.options.optimization_level and isinstance(attention, OpResult):
        _chunked(c, attention.op)
    c.set(result, c.convert(attention, TILE, dtype))


def _chunked(c: Lowering, op: Operation) -> None:
    """Sets the longest chunk sizes that fit; the library's default is 32 positions for any length."""
    lengths = [shape(value)[2] for value in op.operands[:2]]
    if max(lengths) <= TILE_EDGE:
        return
    for longest in LONGEST_CHUNKS:
        queries, keys = (min(longest, TILE_EDGE << (-(-length // TILE_EDGE) - 1).bit_length()) for length in lengths)
        sizes = {"q_chunk_size": queries, "k_chunk_size": keys}
        config = {PROGRAM_CONFIG: struct("ttnn.sdpa_program_config", {"compute_with_storage_grid_size": machine(c.options.card).grid, **sizes})}
        if is_faster_with(op, config, c.options.card):
            access.set_attr(op, PROGRAM_CONFIG, config[PROGRAM_CONFIG])
            return


def _scale(op: Operation, size: int) -> float:
    """The factor of the scores; by default 1 / sqrt(head size)."""
    scale = access.attr(op, "scale")
    return 1.0 / math.sqrt(size) if scale is None else float(scale)


def _mask(c: Lowering, mask: SSAValue, query: tuple[int, ...], key: tuple[int, ...]) -> SSAValue:
    """[B or 1, H or 1, S, T] in bfloat16: the kernel does not broadcast rows or columns."""
    value = c.get(mask, TILE, "bf16")
    own = (1,) * (4 - len(shape(mask))) + shape(mask)
    full = (own[0], own[1], query[2], key[2])
    cached = c._converted.get((value, f"mask {full}"))
    if cached is None:
        cached = c._converted[(value, f"mask {full}")] = broadcast_to(c, value, full)
    return cached


def _composed(c: Lowering, op: Operation) -> None:
    """Attention as matmul, scale, mask, softmax, matmul, for head sizes that the fused kernel rejects."""
    query, key, value = op.operands[:3]
    result = op.results[0]
    dtype = c.dtype(result)
    q, k, v = (c.get(x, TILE, dtype) for x in (query, key, value))
    groups = shape(q)[1] // shape(k)[1]
    if groups > 1:
        k, v = (c.emit("repeat_interleave", [x], {"repeats": groups, "dim": 1}) for x in (k, v))
    scale = _scale(op, shape(q)[-1])
    dims = (*shape(q)[:3], shape(k)[2])
    configs = {"compute_config": compute_config(c.options)}
    scores = c.emit("matmul", [q, k], {"transpose_b": True, **configs})
    if scale != 1.0:
        scores = c.emit("multiply", [scores, c.scalar(scale, dtype)])
    mask = operand(op, "attention_mask")
    if mask is not None:
        scores = c.emit("add", [scores, c.get(mask, TILE, dtype)])
    if access.attr(op, "is_causal"):
        scores = c.emit("add", [scores, _causal(c, op, dims[2], dims[3], dtype)])
    sink = operand(op, "attention_sink")
    if sink is not None:  # one more score in each row, whose value is zero
        column = c.emit("multiply", [c.get(sink, TILE, dtype), c.scalar(scale, dtype)], None, shape(sink), dtype)
        wide = (*dims[:3], dims[3] + 1)
        scores = c.emit("concat", [[scores, broadcast_to(c, column, (*dims[:3], 1))]], {"dim": 3}, wide, dtype)
    weights = c.emit("softmax", [scores], {"dimension": -1, "numericStable": True, **configs})
    if sink is not None:
        weights = c.emit("slice_static", [weights], {"begins": [0] * 4, "ends": list(dims), "step": [1] * 4}, dims, dtype)
    c.set(result, c.emit("matmul", [weights, v], configs))


def _causal(c: Lowering, op: Operation, rows: int, columns: int, dtype: str) -> SSAValue:
    """[1, 1, rows, columns]: 0 for visible positions, -inf after them; a constant, so const-eval computes it once."""
    key = (c.device, f"causal {rows} {columns} {dtype}")
    cached = c._converted.get(key)
    if cached is None:
        columns_of = [
            c.convert(c.reshape(c.emit("arange", [c.device], {"start": start, "end": start + n, "step": 1}, (n,), "f32", ROW_MAJOR), dims))
            for start, n, dims in ((columns - rows, rows, (1, 1, rows, 1)), (0, columns, (1, 1, 1, columns)))
        ]
        allowed = c.emit("ge", columns_of)
        allowed = c.convert(allowed, TILE, dtype)
        operands = [allowed, c.scalar(0.0, dtype), c.scalar(-math.inf, dtype)]
        cached = c._converted[key] = c.emit("where", operands)
    else:  # shared by several attentions: its source is the module around all of them
        pending = [defining_op(cached)]
        while pending:
            maker = pending.pop()
            if maker is not None and maker.name != "ttnn.get_device":
                add_sources(maker, op, before=False)
                pending += [defining_op(value) for value in maker.operands]
    return cached


def defining_op(value: SSAValue) -> Operation | None:
    return value.op if isinstance(value, OpResult) else None


@rule("scaled_dot_product_attention_decode", "paged_scaled_dot_product_attention_decode")
def sdpa_decode(c: Lowering, op: Operation) -> None:
    result = op.results[0]
    dtype = c.dtype(result)
    note = "" if dtype == "bf16" else BF16_ONLY
    attributes = {
        "is_causal": bool(access.attr(op, "is_causal")),
        "scale": access.attr(op, "scale"),
        "alchemist.compute_config": compute_config(c.options),
    }
    names = ["query", "key", "value"]
    paged = op.name == "ttir.paged_scaled_dot_product_attention_decode"
    operands: list[SSAValue | None] = [c.get(operand(op, n), TILE, "bf16", note=note) for n in names]  # type: ignore[arg-type]
    if paged:
        table = operand(op, "page_table")
        operands.append(c.get(table, ROW_MAJOR, "si32"))  # type: ignore[arg-type]
    for name, page, kind in (("attention_mask", TILE, "bf16"), ("cur_pos_tensor", ROW_MAJOR, "si32"), ("attention_sink", TILE, "bf16")):
        scalar = operand(op, name)
        value = None if scalar is None else c.get(scalar, page, kind)
        if value is not None and name == "attention_mask":  # the kernel scales after it adds the mask: exp((scores + mask) * scale)
            value = c.emit("multiply", [value, c.scalar(1 / _scale(op, shape(op.operands[0])[-1]), kind)])
        operands.append(value)
    if shape(op.operands[0])[1] * shape(op.operands[1])[1] * MOST_CORES_OF_A_HEAD < MOST_CORES_OF_A_CARD:
        cores = {"compute_with_storage_grid_size": machine(c.options.card).grid, "max_cores_per_head_batch": MOST_CORES_OF_A_HEAD}
        attributes["program_config"] = struct("ttnn.sdpa_program_config", {**cores, "q_chunk_size": 0, "k_chunk_size": 0})
    attention = c.emit(op.name.removeprefix("ttir."), operands, attributes, shape(result), "bf16")
    if c.options.optimization_level and _heads_are_joined(result):
        attention = c.reshape(_join_heads(c, attention), shape(result))  # cancels with the reshape after it, which the sweep pass removes
    c.set(result, c.convert(attention, TILE, dtype))


def _heads_are_joined(value: SSAValue) -> bool:
    """Whether [1, B, H, D] is only read with each user's heads concatenated, on whole tiles of users."""
    _, users, heads, size = shape(value)
    reader = next(iter(value.uses)).operation if value.has_one_use() else None
    if reader is None or reader.name != "ttir.reshape" or users != TILE_EDGE or heads > TILE_EDGE or size % TILE_EDGE:
        return False
    return shape(reader.results[0])[-2:] == (users, heads * size)


def _join_heads(c: Lowering, value: SSAValue) -> SSAValue:
    """[1, B, H, D] -> [1, 1, B, H * D], from one user's heads per core to one head of all users per core."""
    (_, users, heads, size), dtype = shape(value), layout(value).dtype
    dims = (1, 1, users, heads * size)
    on_cores = c.b.op("ttnn.to_memory_config", [value], {}, [user_per_core(shape(value), dtype).type_for(shape(value))])
    kind = TTNNLayout.make(dims, dtype, TILE, "l1", "width_sharded", (1, heads), first_cores(heads)).type_for(dims)
    joined = c.b.op("ttnn.nlp_concat_heads_decode", [on_cores], {"num_heads": heads}, [kind])
    return c.emit("to_memory_config", [joined], {}, dims, dtype)


@rule("chunked_scaled_dot_product_attention")
def sdpa_chunked(c: Lowering, op: Operation) -> None:
    result = op.results[0]
    dtype = c.dtype(result)
    operands = [c.get(operand(op, n), TILE, "bf16") for n in ("query", "key", "value")]  # type: ignore[arg-type]
    operands += [c.get(operand(op, n), ROW_MAJOR, "si32") for n in ("page_table", "chunk_start_idx")]  # type: ignore[arg-type]
    attention = c.emit("chunked_scaled_dot_product_attention", operands, {"scale": access.attr(op, "scale")}, shape(result), "bf16")
    c.set(result, c.convert(attention, TILE, dtype))


@rule("concatenate_heads")
def concatenate_heads(c: Lowering, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    value = c.get(source)
    b, h, s, d = shape(source)
    dtype = c.dtype(result)
    if d % TILE_EDGE == 0:
        c.set(result, c.emit("concatenate_heads", [value], {}, (b, s, h * d), dtype))
        return
    c.set(result, c.reshape(c.permute(value, (0, 2, 1, 3)), (b, s, h * d)))


@rule("split_query_key_value_and_split_heads")
def split_heads(c: Lowering, op: Operation) -> None:
    source = op.operands[0]
    value = c.get(source)
    other = operand(op, "kv_input_tensor")
    attributes = {key: access.attr(op, key) for key in ("num_heads", "num_kv_heads", "transpose_key")}
    dtype = c.dtype(op.results[0])
    results = [(shape(result), dtype) for result in op.results]
    if shape(op.results[0])[-1] % TILE_EDGE:
        raise c.error("heads that are no whole tiles", expected=f"a head size that {TILE_EDGE} divides", got=str(shape(op.results[0])[-1]))
    users, rows, width = shape(source)
    if rows == 1:
        _one_token(c, op, c.reshape(value, (1, 1, users, width)))
        return
    operands = [value, None if other is None else c.get(other)]
    split = c.emit_many("split_query_key_value_and_split_heads", operands, attributes, results)
    for result, lowered in zip(op.results, split, strict=True):
        c.set(result, lowered)


_IN_SHARDS = "nlp_create_qkv_heads_decode makes heads in shards only, a user's on each core"


def _one_token(c: Lowering, op: Operation, rows: SSAValue) -> None:
    """Query, key and value of one token per user, [1, B, heads, D], with each user's heads on a separate core."""
    attributes = {"num_heads": access.attr(op, "num_heads"), "num_kv_heads": access.attr(op, "num_kv_heads") or access.attr(op, "num_heads")}
    users, dtype = shape(rows)[2], c.dtype(op.results[0])
    dims = [(1, users, shape(result)[1], shape(result)[3]) for result in op.results]
    types = [user_per_core(sizes, dtype).type_for(sizes) for sizes in dims]
    split = c.b.make("ttnn.nlp_create_qkv_heads_decode", [rows], attributes, types)
    for result, lowered in zip(op.results, split.results, strict=True):
        c.set(result, c.reshape(c.emit("to_memory_config", [lowered], {NOTE: _IN_SHARDS}, shape(lowered), dtype), shape(result)))
