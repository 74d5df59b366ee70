"""Attention: fuses written-out attention into one op, folds ops on its operands into it, and rewrites its masks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import attr, element_type, operand, set_attr, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import named
from alchemist.ir.edit import add_sources, defining, erase, erase_dead, functions, made_by, ops_named, replace, single_use
from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ir.value import Value, full
from alchemist.ops.constants import behind_unit_views, constant_of, number, scaled
from alchemist.ops.spec import NOTE, inline_scalar
from alchemist.ops.transformer import NO_KEYS_SINK
from alchemist.passes.caches import MOST_USERS, counts, position_of
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import permuted, reshaped

# --- TTIR: attention written as products and softmax becomes one op. ---

LOWEST_SCORE = -1e4
"""Scores at or below this are masked."""
_LOWEST = -1e30
"""Value of masked scores: finite in bfloat16, and far enough from its limit for sums."""


@dataclass(slots=True)
class _Scores:
    """The input of softmax: query times key, times a scale, plus a mask (`bias`), or with `fill` where `chosen` is true (inverted: false)."""

    product: Operation
    scale: float = 1.0
    bias: SSAValue | None = None
    chosen: SSAValue | None = None
    fill: float = 0.0
    inverted: bool = False
    ops: list[Operation] = field(default_factory=list)


@register("fuse-attention", fusing=True)
class FuseAttention(Pass):
    """matmul(softmax(scale * query key^T + mask), value) becomes scaled_dot_product_attention."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            position = {op: index for index, op in enumerate(func.body.block.ops)}
            fused = False
            for op in list(func.body.block.ops):
                if op.name == "ttir.matmul" and len(shape(op.results[0])) == 4:
                    fused = _fuse(op, position) or fused
            if fused:
                erase_dead(func)


def _plain(value: SSAValue, ops: list[Operation]) -> SSAValue:
    """Looks through casts that have no other use."""
    while (cast := defining(value, "ttir.typecast")) is not None and single_use(value):
        ops.append(cast)
        value = cast.operands[0]
    return value


def _fuse(op: Operation, position: dict[Operation, int]) -> bool:
    ops: list[Operation] = []
    probabilities, value = op.operands
    if access.attr(op, "transpose_a"):
        turn = _permute_of(probabilities)
        if turn is None or not single_use(probabilities) or access.attr(turn, "permutation") != (0, 1, 3, 2):
            return False
        ops.append(turn)
        probabilities = turn.operands[0]
    value_perm = _permute_of(value) if access.attr(op, "transpose_b") else None
    if access.attr(op, "transpose_b") and value_perm is None:
        return False
    softmax = defining(_plain(probabilities, ops), "ttir.softmax")
    if softmax is None or not single_use(softmax.results[0]) or access.attr(softmax, "dimension") not in (3, -1):
        return False
    scores = _scores(softmax.operands[0])
    if scores is None or access.attr(scores.product, "transpose_a"):
        return False
    query, key = scores.product.operands
    factor = scaled(key)
    if factor is not None and single_use(key) and shape(factor[0]) == shape(key):  # exporters of ONNX scale both sides by a root
        key = factor[0]
        scores.scale *= factor[1]
        scores.ops += factor[2]
    if len(shape(query)) != 4 or len(shape(key)) != 4:
        return False
    key_perm = None if access.attr(scores.product, "transpose_b") else defining(key, "ttir.permute")
    if key_perm is None and not access.attr(scores.product, "transpose_b"):
        return False
    factor = scaled(query)
    if factor is not None and single_use(query) and shape(factor[0]) == shape(query):
        query = factor[0]
        scores.scale *= factor[1]
        scores.ops += factor[2]
    b, h, rows, size = shape(query)
    columns = shape(key)[2 if key_perm is None else 3]
    fits = shape(key) == ((b, h, columns, size) if key_perm is None else (b, h, size, columns)) and _value_dims(value, value_perm) == (b, h, columns, size)
    if not fits or columns < 2 or (rows < 2 and not _is_written(key if key_perm is None else key_perm.operands[0])):
        return False
    mask = scores.bias if scores.bias is not None else scores.chosen
    if mask is not None and not _fits(shape(mask), (b, h, rows, columns)):
        return False
    maker = Builder.before(op)
    if key_perm is not None:
        key = _with_last_dims_swapped(maker, key_perm)
        scores.ops.append(key_perm)
    if value_perm is not None:
        value = _with_last_dims_swapped(maker, value_perm)
        scores.ops.append(value_perm)
    of = element_type(op.results[0])
    if is_causal := _is_causal(scores, rows, columns):
        mask = None
    elif mask is not None:
        dims = (1,) * (4 - len(shape(mask))) + shape(mask)
        mask = Value(maker, mask).reshape(*dims).broadcast(*dims[:3], columns).ssa
    if mask is not None and scores.chosen is not None:
        low, zero = (full(maker, (1, 1, 1, 1), fill, of).ssa for fill in (max(scores.fill, _LOWEST), 0.0))
        mask = maker.value("ttir.where", [mask, zero, low] if scores.inverted else [mask, low, zero], {})
    attributes = {"is_causal": is_causal, "scale": scores.scale}
    attention = maker.make("ttir.scaled_dot_product_attention", [query, key, value, mask], attributes)
    position[attention] = position[op]
    add_sources(attention, *sorted(dict.fromkeys([*scores.ops, scores.product, softmax, *ops]), key=position.__getitem__), op)
    replace(op, [_without_keys(maker, attention.results[0], scores)])
    return True


def _is_causal(scores: _Scores, rows: int, columns: int) -> bool:
    """Whether the mask is a constant that lets each query see the keys up to its own position."""
    mask = scores.bias if scores.chosen is None else scores.chosen
    constant = None if mask is None else constant_of(mask)
    if constant is None or constant.size != rows * columns or rows != columns:
        return False
    visible = constant == scores.inverted if scores.chosen is not None else constant == 0
    is_mask = scores.chosen is not None or bool((visible | (constant <= LOWEST_SCORE)).all())
    return is_mask and bool((visible.reshape(rows, columns) == np.tri(rows, dtype=bool)).all())


def _without_keys(b: Builder, value: SSAValue, scores: _Scores) -> SSAValue:
    """Adds NaN to rows whose scores are all -inf, as softmax returns; the fused op has a finite lowest score and returns a mean there."""
    if scores.chosen is None or scores.fill != -math.inf:
        return value
    chosen = scores.chosen
    constant = constant_of(chosen)
    if constant is not None and bool((constant == scores.inverted).any(-1).all()):
        return value
    dims = (1,) * (4 - len(shape(chosen))) + shape(chosen)
    visible = Value(b, chosen).reshape(*dims)
    keyed = (visible if scores.inverted else visible.op("logical_not")).reduce("reduce_or", [3])
    zero, nan = (full(b, (1, 1, 1, 1), fill, element_type(value)) for fill in (0.0, math.nan))
    return (Value(b, value) + keyed.op("where", zero, nan)).ssa


def _permute_of(value: SSAValue) -> Operation | None:
    """The permute of four dims that computes a value."""
    op = defining(value, "ttir.permute")
    return op if op is not None and len(shape(value)) == 4 else None


def _value_dims(value: SSAValue, permute: Operation | None) -> tuple[int, ...]:
    dims = shape(value)
    return dims if permute is None else (*dims[:-2], dims[-1], dims[-2])


def _is_written(key: SSAValue) -> bool:
    """Whether the keys are a cache that a new row is written to: attention of one query is only fused in decoding."""
    op = defining(key, "ttir.scatter", "ttir.where")
    return op is not None and any(isinstance(value, BlockArgument) and shape(value) == shape(key) for value in op.operands)


def _with_last_dims_swapped(b: Builder, permute: Operation) -> SSAValue:
    """The result of the permute with its last two dims swapped."""
    source, (*first, third, last) = permute.operands[0], access.attr(permute, "permutation")
    b.source = sources_of(permute) or None
    swapped = permuted(b, source, (*first, last, third))
    b.source = None
    return swapped


def _fits(dims: tuple[int, ...], target: tuple[int, ...]) -> bool:
    padded = (1,) * (4 - len(dims)) + dims
    return len(padded) == 4 and all(n in (1, extent) for n, extent in zip(padded, target, strict=True))


def _scores(value: SSAValue) -> _Scores | None:
    """Matches casts, mask and scale above the softmax's input, as long as each has a single use."""
    scores = _Scores(None)  # type: ignore[arg-type]
    while single_use(value):
        value = _plain(value, scores.ops)
        if not single_use(value):
            return None
        product = defining(value, "ttir.matmul")
        if product is not None:
            scores.product = product
            return scores
        masked = scores.bias is not None or scores.chosen is not None
        where, total, product_by_constant = defining(value, "ttir.where"), defining(value, "ttir.add"), scaled(value)
        if where is not None and not masked and scores.scale == 1.0:
            fills = [number(where.operands[1]), number(where.operands[2])]
            side = next((index for index, fill in enumerate(fills) if fill is not None and fill <= LOWEST_SCORE), None)
            if side is None:
                return None
            scores.chosen, scores.fill, scores.inverted = where.operands[0], fills[side] or 0.0, side == 1
            scores.ops.append(where)
            value = where.operands[2 - side]
        elif product_by_constant is not None:
            scores.scale *= product_by_constant[1]
            scores.ops += product_by_constant[2]
            value = product_by_constant[0]
        elif total is not None and not masked and scores.scale == 1.0:
            scored = next((pair for pair in (total.operands, total.operands[::-1]) if _is_score(pair[0])), None)
            if scored is None:
                return None
            value, scores.bias = scored
            scores.ops.append(total)
        else:
            return None
    return None


def _is_score(value: SSAValue) -> bool:
    """Whether the value is a matrix product, or such a product times constants."""
    while (product := scaled(value)) is not None:
        value = product[0]
    return defining(value, "ttir.matmul") is not None


# --- A constant factor on the query or the key of an attention is part of the attention's scale. ---


@register("fold-attention-scale", fusing=True)
class FoldAttentionScale(Pass):
    """attention(c * query, key) becomes attention(query, key) with c in its scale; the same for the key."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                if op.name == "ttir.scaled_dot_product_attention" and not _has_own_sink(op):
                    for place in (0, 1):
                        _fold_scale(op, place)
            erase_dead(func)


def _has_own_sink(op: Operation) -> bool:
    """Whether the model has an attention sink, which the scale applies to. A sink that only zeroes rows without keys does not count."""
    sink = operand(op, "attention_sink")
    constant = None if sink is None else constant_of(sink)
    return sink is not None and (constant is None or not bool((constant == NO_KEYS_SINK).all()))


def _fold_scale(attention: Operation, place: int) -> None:
    while (scaled_operand := _factor(attention.operands[place])) is not None:
        product, source, factor = scaled_operand
        scale = access.attr(attention, "scale")
        scale = 1.0 / math.sqrt(shape(attention.operands[0])[-1]) if scale is None else scale
        set_attr(attention, "scale", scale * factor)
        owner = source.owner
        add_sources(owner if isinstance(owner, Operation) else attention, product, before=False)
        product.results[0].replace_all_uses_with(source)


def _factor(value: SSAValue) -> tuple[Operation, SSAValue, float] | None:
    """Matches (c * x, x, c) through data movement ops, as long as each has a single use."""
    while single_use(value):
        scaled_value = scaled(value)
        if scaled_value is not None:
            product = scaled_value[2][0]
            fits = scaled_value[0].type == value.type and scaled_value[1] > 0
            return (product, scaled_value[0], scaled_value[1]) if fits else None
        move = made_by(value, "move")
        if move is None:
            return None
        value = move.operands[0]
    return None


# --- The scale of a masked attention moves into the query's weights: for a scale other than 1 the library divides the mask, in every attention again.

SPLIT = "ttir.split_query_key_value_and_split_heads"
_FOLDED_NOTE = "scale=1.0: the query's weights are multiplied by {} already; with another scale, TT-NN divides the mask by it in each call"


@register("scale-queries", fusing=True, from_level=1)
class ScaleQueries(Pass):
    """A masked attention's scale goes into the query's weights where that loses no bit."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttir.scaled_dot_product_attention"):
            scale = access.attr(op, "scale")
            scale = 1.0 / math.sqrt(shape(op.operands[0])[-1]) if scale is None else float(scale)
            if operand(op, "attention_mask") is None or scale == 1.0 or not _is_power_of_two(scale) or _has_own_sink(op):
                continue
            places = _places_of_weights(op.operands[0])
            if places is not None:
                for reader, index in places:
                    _scale(reader, index, scale)
                set_attr(op, "scale", 1.0)
                set_attr(op, NOTE, _FOLDED_NOTE.format(scale))


def _is_power_of_two(number: float) -> bool:
    """Whether multiplying a float by the number keeps every bit of its mantissa."""
    return math.frexp(number)[0] == 0.5


def _places_of_weights(query: SSAValue) -> list[tuple[Operation, int]] | None:
    """Where the weights of the query's projection are read, as (op, operand index); None if the query is not a projection with a single use."""
    value = query
    while (move := made_by(value, "rearrangement")) is not None and single_use(value):
        value = move.operands[0]
    split = defining(value, SPLIT)
    if split is not None and value is split.results[0] and single_use(value) and len(split.operands) == 1:
        product, width = made_by(split.operands[0], "product"), shape(value)[1] * shape(value)[3]
        joined = [defining(concat, "ttir.concat") for concat in product.operands[1:]] if product is not None else []
        places = [(concat, 0) for concat in joined if concat is not None and shape(concat.operands[0])[int(access.attr(concat, "dim"))] == width]
        if product is None or len(places) != len(joined) or not single_use(split.operands[0]):
            return None
    else:
        product = made_by(value, "product")
        if product is None or not single_use(value):
            return None
        places = [(product, index) for index in range(1, len(product.operands))]
    values = [op.operands[index] for op, index in places]
    return places if all(isinstance(concat, BlockArgument) and element_type(concat) in ("bf16", "f32") for concat in values) else None


def _scale(op: Operation, index: int, scale: float) -> None:
    op.operands[index] = (Value(Builder.in_place_of(op), op.operands[index]) * scale).ssa


# --- TTIR: attention of one new token per user over its cache. ---

_AFTER = {"ttir.le": (0, False), "ttir.ge": (1, False), "ttir.gt": (0, True), "ttir.lt": (1, True)}
"""Comparison -> the operand that counts the positions, and whether the comparison is true for hidden ones."""


@register("decode-attention", fusing=True)
class DecodeAttention(Pass):
    """attention(query [B, H, 1, D], caches) that sees the positions up to the written one becomes scaled_dot_product_attention_decode, [1, B, H, D]."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            written = {op.operands[0]: op.operands[2] for op in func.body.block.ops if op.name == "ttir.paged_update_cache"}
            for op in list(func.body.block.ops) if written else ():
                if op.name == "ttir.scaled_dot_product_attention":
                    _decode(op, written)
            if written:
                erase_dead(func)


def _decode(op: Operation, written: dict[SSAValue, SSAValue]) -> None:
    query, key, value = op.operands[:3]
    mask = operand(op, "attention_mask")
    if mask is None or attr(op, "is_causal") or attr(op, "sliding_window_size") or key not in written or value not in written or _has_own_sink(op):
        return  # every user has the written key, so a sink for rows without keys has no effect
    users, heads, rows, size = shape(query)
    if rows != 1 or users > MOST_USERS or heads > TILE_EDGE or shape(key) != shape(value) or shape(key)[0] != users:
        return
    position = position_of(written[key])
    if position_of(written[value]) is not position or last_visible(mask, shape(key)[2]) is not position:
        return
    b = Builder.in_place_of(op)
    operands = [reshaped(b, query, (1, users, heads, size)), key, value, None, written[key], None]
    attributes = {"is_causal": True, "scale": attr(op, "scale")}
    dims = (1, users, heads, size)
    attention = b.make("ttir.scaled_dot_product_attention_decode", operands, attributes, [tensor(dims, element_type(op.results[0]))])
    replace(op, [reshaped(b, attention.results[0], (users, heads, 1, size))])


def last_visible(mask: SSAValue, length: int) -> SSAValue | None:
    """The position up to which an additive mask of `length` columns is 0; later positions are hidden. None for any other mask."""
    value = behind_unit_views(mask)
    while (cast := defining(value, "ttir.typecast")) is not None:
        value = behind_unit_views(cast.operands[0])
    chosen = defining(value, "ttir.where")
    if chosen is None:
        return None
    compared = defining(behind_unit_views(chosen.operands[0]), *_AFTER)
    fills = [number(value) for value in chosen.operands[1:]]
    if compared is None or None in fills:
        return None
    place, hides = _AFTER[compared.name]
    low, zero = fills if hides else reversed(fills)
    if zero != 0.0 or low is None or low > LOWEST_SCORE:
        return None
    along, position = compared.operands[place], compared.operands[1 - place]
    return position_of(position) if counts(along, length, -1) and shape(along)[-1:] == (length,) else None


# --- Attention that writes its heads concatenated, without a separate op that joins them. ---

JOINED = "alchemist.output_concat_heads"
_ATTENTION = "ttnn.scaled_dot_product_attention"


@register("join-attention-heads", fusing=True, from_level=1)
class JoinAttentionHeads(Pass):
    """scaled_dot_product_attention and concatenate_heads become one program, its result [B, 1, S, H*D]."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, "ttnn.concatenate_heads"):
            attention = defining(op.operands[0], _ATTENTION)
            if attention is not None and single_use(attention.results[0]):
                _join(attention, op)


def _join(attention: Operation, concatenate: Operation) -> None:
    batch, rows, columns = shape(concatenate.results[0])
    dims = (batch, 1, rows, columns)
    layout = layout_of(concatenate.results[0].type)
    if layout is None:
        return
    set_attr(attention, JOINED, True)
    attention.results[0]._type = layout.with_(dims).type_for(dims)
    for use in [use for use in concatenate.results[0].uses if use.operation.name == "ttnn.reshape"]:
        add_sources(use.operation, concatenate)
        use.operation.operands[0] = attention.results[0]
    if not concatenate.results[0].uses:
        erase(concatenate)
        return
    view = Builder.before(concatenate).make("ttnn.reshape", [attention.results[0]], {"shape": [batch, rows, columns]})
    set_source(view, *sources_of(concatenate))
    replace(concatenate, list(view.results))


# --- Attention masks of two values as bfloat4_b (with an optimization level or `precision` bfp8, bfp8_lofi): every head reads its batch's mask again.

ATTENTION = "ttnn.scaled_dot_product_attention"
FEWEST_HEADS = 4
"""A mask is cast if at least this many heads read it."""
_NARROW_NOTE = "every head reads the mask from DRAM again: bfloat4_b is the smallest type, and holds zeros beside one large negative number"
LEAST_MASKED = -1e4
"""Values at or below this mask a position. The other value is 0, so that a block's shared exponent loses no precision."""


def narrow_masks(func: FuncOp) -> None:
    """Casts masks to bfloat4_b that only attention reads and that hold only 0 and very negative values."""
    readers: dict[SSAValue, list[Operation]] = {}
    for op in func.body.block.ops:
        if op.name == ATTENTION and access.operands(op, "attention_mask"):
            readers.setdefault(access.operands(op, "attention_mask")[0], []).append(op)
    for mask, attentions in readers.items():
        layout = layout_of(mask.type)
        heads = sum(access.shape(op.operands[0])[1] for op in attentions)
        only_attention_reads = all(use.operation in attentions for use in mask.uses)
        if layout is None or layout.dtype != "bf16" or layout.page != "tile" or heads < FEWEST_HEADS or not only_attention_reads or not _has_two_values(mask):
            continue
        wide = defining(mask, "ttnn.typecast")  # to bfloat16: one cast does both
        value = mask if wide is None else wide.operands[0]
        cast = Builder.before(wide or attentions[0]).make("ttnn.typecast", [value], {NOTE: _NARROW_NOTE}, of="bfp_bf4")
        if isinstance(mask.owner, Operation):
            set_source(cast, *sources_of(mask.owner))
        mask.replace_uses_with_if(cast.results[0], lambda use, cast=cast: use.operation is not cast)  # type: ignore[misc]
        if wide is not None:
            erase(wide)


def _has_two_values(value: SSAValue) -> bool:
    while (view := defining(value, *named("ttnn", "selects", "conversion"))) is not None:
        value = view.operands[0]
    chosen = defining(value, "ttnn.where")
    if chosen is not None:
        return all(_is_mask_value(inline_scalar(operand)) for operand in chosen.operands[1:])
    constant = defining(value, "ttnn.constant")
    return constant is not None and all(_is_mask_value(float(operand)) for operand in np.unique(np.asarray(access.attr(constant, "value"), dtype=np.float32)))


def _is_mask_value(value: float | None) -> bool:
    return value is not None and (value == 0 or -math.inf < value <= LEAST_MASKED)
