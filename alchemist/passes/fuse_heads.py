"""Attention's head shuffling: one projection for query, key and value, split and joined by TTNN's own ops."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, operand, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, defining, erase_dead, functions, replace, single_use
from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.location import sources_of
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import View, concatenated, joined, view_of


@register("fuse-concat-heads", fusing=True)
class FuseConcatHeads(Pass):
    """[B, H, S, D] permuted and reshaped to rows of H*D columns becomes concatenate_heads, [B, S, H*D]; rows in another order are rearranged behind it."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                if has_trait(op, "view") and op.parent is not None and any(not has_trait(use.operation, "view") for use in op.results[0].uses):
                    _concatenate(op)
            erase_dead(func)


def _concatenate(op: Operation) -> None:
    view, chain = view_of(op.results[0], lambda inner: inner is op or single_use(inner.results[0]))
    dims = shape(view.root)
    if len(dims) != 4 or view.offset or not any(inner.name == "ttir.permute" for inner in chain) or not view.axes:
        return
    b, h, s, d = dims
    if d % TILE_EDGE or h == 1 or view.axes[-1] != joined([(h, s * d), (d, 1)]) or math.prod(view.shape) != math.prod(dims):
        return
    if s == 1 or any(stride % d or (stride // d % s and s % (stride // d * size)) for axis in view.axes[:-1] for size, stride in axis):
        return
    rows = tuple(tuple((size, stride * h if stride < s * d else stride) for size, stride in axis) for axis in view.axes[:-1])
    made = Builder.before(op).make("ttir.concatenate_heads", [view.root], {}, [tensor((b, s, h * d), element_type(view.root))])
    add_sources(made, *chain)
    after = Builder.in_place_of(op)
    placed = View(made.results[0], (*rows, joined([(h * d, 1)])))
    replace(op, [placed.emit(after)])


@dataclass(slots=True)
class Head:
    """One of query, key, value: the permuted value and the ops that made it of `source`."""

    result: SSAValue
    source: SSAValue
    ops: list[Operation]
    heads: int
    size: int


def _head(value: SSAValue) -> Head | None:
    """value = permute(reshape(x, [B, S, H, D]), [0, 2, 1, 3])"""
    turned = defining(value, "ttir.permute")
    if turned is None or tuple(access.attr(turned, "permutation")) != (0, 2, 1, 3) or not single_use(turned.operands[0]):
        return None
    split = defining(turned.operands[0], "ttir.reshape")
    if split is None or not single_use(split.operands[0]):
        return None
    b, s, h, d = shape(split.results[0])
    if d % TILE_EDGE or shape(split.operands[0]) != (b, s, h * d):
        return None
    return Head(value, split.operands[0], [split, turned], h, d)


def _attention_operands(op: Operation) -> list[Head] | None:
    if op.name == "ttir.scaled_dot_product_attention":
        heads = [_head(value) for value in op.operands[:3]]
        if all(head is not None for head in heads):
            found = [head for head in heads if head is not None]
            same = {head.size for head in found}
            return found if len(same) == 1 and found[1].heads == found[2].heads else None
    return None


def _slices_of_one(heads: list[Head]) -> tuple[SSAValue, list[Operation]] | None:
    """The value whose consecutive thirds query, key and value are."""
    slices = [defining(head.source, "ttir.slice_static") for head in heads]
    found = [cut for cut in slices if cut is not None]
    if len(found) != 3 or len({id(cut.operands[0]) for cut in found}) != 1:
        return None
    whole = found[0].operands[0]
    if len(shape(whole)) != 3:
        return None
    at = 0
    for head, cut in zip(heads, found, strict=True):
        begins, ends = list(access.attr(cut, "begins")), list(access.attr(cut, "ends"))
        if begins != [0, 0, at] or ends[2] != at + head.heads * head.size or any(s != 1 for s in access.attr(cut, "step")):
            return None
        if ends[:2] != list(shape(whole)[:2]):
            return None
        at = ends[2]
    return (whole, list(found)) if at == shape(whole)[2] else None


def _one_projection(heads: list[Head]) -> tuple[SSAValue, list[Operation]] | None:
    """Three linears of one input become a linear with joined weights; returns its result and the replaced linears."""
    dots = [defining(head.source, "ttir.linear", "ttir.matmul") for head in heads]
    found = [dot for dot in dots if dot is not None]
    if len(found) != 3 or len({id(dot.operands[0]) for dot in found}) != 1 or len(shape(found[0].operands[0])) != 3:
        return None
    flags = {(dot.name, access.attr(dot, "transpose_a"), access.attr(dot, "transpose_b"), len(dot.operands)) for dot in found}
    if len(flags) != 1 or next(iter(flags))[1] or any("alchemist.activation" in dot.attributes for dot in found):
        return None
    weights = [dot.operands[1] for dot in found]
    biases = [operand(dot, "bias") if dot.name == "ttir.linear" else None for dot in found]
    if any(not isinstance(value, BlockArgument) for value in [*weights, *(bias for bias in biases if bias is not None)]):
        return None
    transposed = next(iter(flags))[2]
    last = max(found, key=_position)
    b = Builder.before(last)
    b.source = [info for dot in sorted(found, key=_position) for info in sources_of(dot)] or None
    dim = 0 if transposed else 1
    joined = concatenated(b, weights, dim)
    operands = [found[0].operands[0], joined]
    if biases[0] is not None:
        operands.append(concatenated(b, [bias for bias in biases if bias is not None], 0))
    width = sum(shape(dot.results[0])[-1] for dot in found)
    dims = (*shape(found[0].results[0])[:-1], width)
    result = b.op(found[0].name, operands, {"transpose_b": transposed}, [tensor(dims, element_type(found[0].results[0]))])
    return result, []


_ORDER: dict[Operation, int] = {}


def _position(op: Operation) -> int:
    return _ORDER[op]


def _split(func: FuncOp, op: Operation, heads: list[Head]) -> None:
    sliced = _slices_of_one(heads)
    whole = sliced or _one_projection(heads)
    if whole is None:
        return
    value, extra = whole
    last = max((head.ops[1] for head in heads), key=_position)
    owner = value.owner
    first = min((head.ops[0] for head in heads), key=_position)
    anchor = first if sliced is not None and isinstance(owner, Operation) else last
    b = Builder.before(anchor)
    attributes = {"num_heads": heads[0].heads, "transpose_key": False}
    if heads[1].heads != heads[0].heads:
        attributes["num_kv_heads"] = heads[1].heads
    made = b.make("ttir.split_query_key_value_and_split_heads", [value], attributes, [head.result.type for head in heads])
    add_sources(made, *extra, *sorted((member for head in heads for member in head.ops), key=_position))
    for head, result in zip(heads, made.results, strict=True):
        head.result.replace_all_uses_with(result)
    del func, op


@register("fuse-split-heads", fusing=True)
class FuseSplitHeads(Pass):
    """Query, key and value of one projection are split into heads by one op; three projections are joined first."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            _ORDER.clear()
            _ORDER.update((op, index) for index, op in enumerate(func.body.block.ops))
            for op in list(func.body.block.ops):
                heads = _attention_operands(op)
                if heads is not None and len({id(head.result) for head in heads}) == 3:
                    _split(func, op, heads)
            _ORDER.clear()
            erase_dead(func)
