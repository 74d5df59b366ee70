"""Attention, heads, rotary embeddings, caches, sampling, routers."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import BFloat16Type, TensorType
from xdsl.ir import Operation

from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.rules.table import (
    Inferred,
    Shape,
    any_rule,
    attribute,
    element,
    infers,
    integer,
    is_float,
    is_integer,
    need,
    rank_is,
    rule,
    same,
    same_elements,
    shape_of,
    text_of,
    value_of,
)


@any_rule("paged_fill_cache")
def _paged_fill_cache(op: Operation) -> None:
    shape, batches = shape_of(op, "input"), value_of(op, "batch_idx_tensor")
    batch = shape[0] if shape else 1
    if batches is None:
        need(batch == 1, f"without batch_idx_tensor the input's batch size must be statically 1, got {batch if batch >= 0 else 'dynamic'}")
        return
    count = shape_of(op, "batch_idx_tensor") or ()
    rank_is(count, 1, "batch_idx_tensor")
    need(count[0] == batch or -1 in (count[0], batch) or batch < 0, f"batch_idx_tensor must have {batch} elements, got {count[0]}")
    need(is_integer(batches), "batch_idx_tensor must hold integers")


@infers("scaled_dot_product_attention")
def _attention(op: Operation, inputs: list[Shape]) -> Inferred:
    query, key, value = inputs[:3]
    for shape, name in zip((query, key, value), ("query", "key", "value"), strict=True):
        rank_is(shape, 4, name)
    need(key[:3] == value[:3], f"key and value must have the same batch, heads and positions, got {list(key)} and {list(value)}")
    need(key[0] == query[0], f"the key's batch is {key[0]}, the query's {query[0]}")
    need(query[3] == key[3], f"the query's head size is {query[3]}, the key's {key[3]}")
    need(key[1] > 0 and query[1] % key[1] == 0, f"{query[1]} query heads are not divisible by {key[1]} key heads")
    causal = attribute(op, "is_causal") is True
    mask = shape_of(op, "attention_mask")
    if mask is not None:
        need(not causal, "causal attention takes no mask")
        rank_is(mask, 4, "attention_mask")
        full = (query[0], query[1], query[2], key[2])
        fits = all(have in (1, expected) for have, expected in zip(mask[:3], full, strict=False)) and mask[3] == full[3]
        need(fits, f"a mask of shape {list(mask)} does not broadcast to the scores {list(full)}")
    sink = shape_of(op, "attention_sink")
    need(sink is None or sink == (1, query[1], 1, 1), f"attention_sink must have shape {[1, query[1], 1, 1]}, got {list(sink or ())}")
    if "alchemist.output_concat_heads" in op.attributes:
        return (query[0], 1, query[2], query[1] * value[3])
    return (*query[:3], value[3])


@infers("chunked_scaled_dot_product_attention")
def _chunked(op: Operation, inputs: list[Shape]) -> Inferred:
    query, key, value, pages, start = inputs[:5]
    for shape, rank, name in ((query, 4, "query"), (key, 4, "key"), (value, 4, "value"), (pages, 2, "page_table"), (start, 1, "chunk_start_idx")):
        rank_is(shape, rank, name)
    need(start[0] == 1, f"chunk_start_idx must have shape [1], got {list(start)}")
    need(all(map(is_float, op.operands[:3])), "query, key and value must hold floats")
    need(all(map(is_integer, op.operands[3:5])), "page_table and chunk_start_idx must hold integers")
    need(key == value, f"key and value must have the same shape, got {list(key)} and {list(value)}")
    need(query[3] == key[3], f"the query's head size is {query[3]}, the key's {key[3]}")
    need(key[1] > 0 and query[1] % key[1] == 0, f"{query[1]} query heads are not divisible by {key[1]} key heads")
    need(key[2] % TILE_EDGE == 0, f"the block size {key[2]} is not divisible by {TILE_EDGE}")
    need(pages[0] == query[0], f"the page table has {pages[0]} users, the query {query[0]}")
    return query


@rule("paged_flash_multi_latent_attention_decode")
def _paged_mla(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    query, key, pages = (shape_of(op, name) or () for name in ("query", "key", "page_table"))
    rank_is(query, 4, "query")
    rank_is(key, 4, "key")
    rank_is(pages, 2, "page_table")
    need(is_float(op.operands[0]), "query must hold floats")
    need(key[1] == 1, f"the key must have a single head, got {key[1]}")
    value = shape_of(op, "value")
    if value is not None:
        rank_is(value, 4, "value")
        need(value[1] == 1, f"the value must have a single head, got {value[1]}")
    need((integer(op, "head_dim_v") or 0) > 0, "head_dim_v must be greater than 0")


@infers("flash_mla_prefill")
def _mla_prefill(op: Operation, inputs: list[Shape]) -> Inferred:
    query, key, value = (value_of(op, name) for name in ("query", "key", "value"))
    assert query is not None
    assert key is not None
    q, k, v = inputs[0], inputs[1], shape_of(op, "value")
    rank_is(q, 4, "query")
    rank_is(k, 4, "key")
    same_elements(query, key, "query and key")
    need(k[0] == q[0] and k[2:] == q[2:], f"batch, length and head size of the key must be the query's, got {list(k)} and {list(q)}")
    need(k[1] > 0 and q[1] % k[1] == 0, f"{q[1]} query heads are not divisible by {k[1]} key heads")
    width = integer(op, "head_dim_v") or 0
    if value is not None and v is not None:
        same_elements(query, value, "query and value")
        same(v, (k[0], k[1], k[2], width), "value")
    else:
        need(width <= q[3], f"head_dim_v {width} exceeds the key's head size {q[3]}")
    need(width > 0, "head_dim_v must be greater than 0")
    return (*q[:3], width)


@rule("flash_mla_prefill")
def _of_the_query(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    same_elements(op.operands[0], op.results[0], "query and result")


@infers("ttnn.indexer_score_dsa")
def _indexer(op: Operation, inputs: list[Shape]) -> Inferred:
    for shape, name in zip(inputs, ("query", "key", "weights"), strict=False):
        rank_is(shape, 4, name)
    query, key, weights = inputs
    need(query[0] == 1, f"the query's batch size must be 1, got {query[0]}")
    need(key[0] == query[0], f"the key's batch size is {key[0]}, the query's {query[0]}")
    need(key[1] == 1, f"the key must have a single head, got {key[1]}")
    need(key[3] == query[3], f"the key's head size is {key[3]}, the query's {query[3]}")
    same(weights, (*query[:3], 1), "weights'")
    same_elements(op.operands[0], op.operands[1], "query and key")
    return (query[0], 1, query[2], key[2])


@infers("ttnn.nlp_concat_heads")
def _concat_heads(op: Operation, inputs: list[Shape]) -> Inferred:
    rank_is(inputs[0], 4, "input")
    batch, heads, length, size = inputs[0]
    return (batch, 1, length, heads * size)


@rule("ttnn.nlp_concat_heads_decode")
def _concat_heads_decode(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    rank_is(inputs[0], 4, "input")
    rank_is(outputs[0], 4, "result")
    (length, _, heads, size), result, count = inputs[0], outputs[0], integer(op, "num_heads") or 0
    need(result[1] == 1, f"dimension 1 of the result must be 1, got {result[1]}")
    need(count <= heads, f"num_heads {count} exceeds the input's {heads} heads")
    need(length == result[0], f"the sequence has length {length} in the input, {result[0]} in the result")
    need(result[3] == count * size, f"expected a result of {count} * {size} = {count * size} columns, got {result[3]}")


@rule("ttnn.rotary_embedding", "ttnn.rotary_embedding_hf")
def _rotary(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(element(op.operands[1]) == element(op.operands[2]), f"cos and sin must have the same element type, got {text_of(op.operands[1])}")
    same(inputs[2], inputs[1], "sin")
    for shape in (*inputs[:3], *outputs):
        rank_is(shape, 4, "every tensor")


@infers("ttnn.rotary_embedding_llama")
def _rotary_llama(op: Operation, inputs: list[Shape]) -> Inferred:
    for value in op.operands:
        need(isinstance(element(value), BFloat16Type), f"all inputs must hold bf16, got {text_of(value)}")
    same(inputs[2], inputs[1], "sin")
    need(inputs[0][-1] <= 256, f"the head size must be at most 256, got {inputs[0][-1]}")
    same(inputs[3], (1, 1, TILE_EDGE, TILE_EDGE), "transformation matrix")
    return inputs[0]


@rule("sampling")
def _sampling(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    values, indices, *others = inputs
    need(len(values) in (2, 4), f"input_values must have 2 or 4 dimensions, got rank {len(values)}")
    same(indices, values, "input_indices")
    need(len(values) == 2 or values[:2] == (1, 1), f"the leading dimensions of input_values must be 1, got {list(values)}")
    batch = values[-2]
    need(1 <= batch <= TILE_EDGE, f"the batch size must be in [1, {TILE_EDGE}], got {batch}")
    for shape, name in zip(others, ("k", "p", "temp"), strict=False):
        same(shape, (batch,), name)
    need(len(outputs[0]) == (1 if len(values) == 2 else 4) and math.prod(outputs[0]) == outputs[0][-1] == batch, f"one result a user, got {list(outputs[0])}")


@rule("topk_router_gpt")
def _router(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    for shape, name in zip((*inputs, *outputs), ("input", "weight", "bias", "expert_indices", "expert_weights"), strict=False):
        rank_is(shape, 2, name)
    (users, hidden), weight, bias = inputs
    count, experts = integer(op, "k") or 0, integer(op, "num_experts")
    need(weight[0] == hidden, f"the weight has {weight[0]} rows, the input {hidden} columns")
    same(bias, (users, weight[1]), "bias")
    need(experts == weight[1], f"num_experts {experts} is not the weight's {weight[1]} columns")
    need(count > 0, f"k must be positive, got {count}")
    for shape, name in zip(outputs, ("expert_indices", "expert_weights"), strict=False):
        same(shape, (users, count), name)


@any_rule("tt_lang_op")
def _tt_lang(op: Operation) -> None:
    from alchemist.ir.rules.table import attribute

    roles = [role.strip() for role in str(attribute(op, "arg_roles") or "").split(",")]
    need(len(op.operands) > 0, "a kernel has at least one operand")
    need(len(roles) == len(op.operands), f"arg_roles names {len(roles)} operands of {len(op.operands)}")
    need(set(roles) <= {"in", "out"}, f'arg_roles holds "in" and "out", got {", ".join(roles)}')
    need("in" not in roles[roles.index("out") :] if "out" in roles else True, "arg_roles names all inputs before the first output")
    need("out" in roles, "a kernel has at least one output")
    need(roles.count("out") == len(op.results), f"arg_roles names {roles.count('out')} outputs, the op has {len(op.results)} results")
    for name in ("kernel_id", "version_tag"):
        need(bool(attribute(op, name)), f"{name} must not be empty")


@any_rule("ttcore.set_key_value")
def _set_key(op: Operation) -> None:
    need(len(op.operands) > 1, "at least one value is needed")


@any_rule("ttcore.get_key_value")
def _get_key(op: Operation) -> None:
    need(all(isinstance(result.type, TensorType) for result in op.results) and len(op.results) > 0, "at least one result is needed")
