"""TTIR: inlines calls, expands composites, removes identities, folds constants and merges common subexpressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import LoweringError
from alchemist.ir import access
from alchemist.ir.access import elements, shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import defining, erase, erase_dead, functions, is_const_eval, replace
from alchemist.ir.inline import callee_of, inline
from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.location import set_source, sources_of
from alchemist.ops.axes import dims_of
from alchemist.ops.constants import constant_of, uniform
from alchemist.ops.eltwise_binary import NEUTRAL
from alchemist.ops.evaluate import can_evaluate, evaluate
from alchemist.ops.expand import expand
from alchemist.passes.registry import Pass, register

# --- Private functions called from `@forward` are inlined, as lowering works on one function. ---


def _called(module: ModuleOp) -> dict[str, FuncOp]:
    return {func.sym_name.data: func for func in functions(module) if not is_const_eval(func)}


@register("inline-calls")
class InlineCalls(Pass):
    """A call of a private function, or a composite, becomes the function's ops; functions that nothing calls any more are erased."""

    def run(self, module: ModuleOp) -> None:
        table = _called(module)
        inlined: set[str] = set()
        for func in list(functions(module)):
            pending: list[tuple[Operation, str, tuple[str, ...]]] = [(op, name, ()) for op in func.body.block.ops if (name := callee_of(op)) is not None]
            while pending:
                call, name, stack = pending.pop(0)
                callee = table.get(name)
                if callee is None or callee is func:
                    raise LoweringError("a call of no function that could be inlined", op=name)
                if name in stack:
                    raise LoweringError("a recursive call cannot be inlined", op=name)
                inlined.add(name)
                pending += [(op, inner, (*stack, name)) for op in inline(call, callee) if (inner := callee_of(op)) is not None]
        for name in inlined:
            visibility = table[name].sym_visibility
            if visibility is not None and visibility.data == "private":
                erase(table[name])


# --- Ops of training, quantisation and routing in terms of simpler ones (`alchemist/ops/expand.py`). ---


@register("expand-ops")
class ExpandOps(Pass):
    """Gradients, optimizer steps, batch statistics, quantised types, flattened images become simpler TTIR ops."""

    def run(self, module: ModuleOp) -> None:
        expand(module)


# --- Identities, constant folding and common subexpressions on TTIR: one forward walk per function. ---

Array = np.ndarray[Any, Any]

FOLD_LIMIT = 1 << 22
"""Limit of elements of a value that constant folding computes."""


def _is_sliced_elsewhere(op: Operation, inner: Operation) -> bool:
    """Whether a different module slices the slice again: its iterations would not be equal if each sliced the original value."""
    paths = [[info.scopes[-1].path for info in sources_of(move) if info.scopes] for move in (op, inner)]
    return len(list(inner.results[0].uses)) > 1 and paths[0] != paths[1]


def _is_head(inner: Operation) -> bool:
    """Whether the slice takes whole tiles of columns that several ops slice again: a head of attention and its rotary embedding."""
    result = inner.results[0]
    only_columns = len(shape(result)) == 4 and shape(inner.operands[0])[:-1] == shape(result)[:-1]
    whole_tiles = access.attr(inner, "begins")[-1] % TILE_EDGE == 0 and shape(result)[-1] % TILE_EDGE == 0
    return only_columns and whole_tiles and len(list(result.uses)) > 1


# --- identities: op -> an equal value, or None -------------------------------------------------------------------------

Consts = dict[SSAValue, Array]
Identity = Callable[[Operation, Consts], SSAValue | None]


def _through_same_shape(op: Operation, _consts: Consts) -> SSAValue | None:
    return op.operands[0] if op.operands[0].type == op.results[0].type else None


def _permute(op: Operation, _consts: Consts) -> SSAValue | None:
    order = tuple(access.attr(op, "permutation"))
    return op.operands[0] if order == tuple(range(len(order))) else None


def _all_ones(name: str) -> Identity:
    return lambda op, _consts: op.operands[0] if all(n == 1 for n in access.attr(op, name)) else None


def _no_padding(op: Operation, _consts: Consts) -> SSAValue | None:
    return op.operands[0] if not any(access.attr(op, "padding")) else None


def _single(op: Operation, _consts: Consts) -> SSAValue | None:
    return op.operands[0] if len(op.operands) == 1 else None


def _differs_in_ones(value: SSAValue, op: Operation) -> bool:
    """Whether the value has the type of the op's result up to dims of size 1: adding zeros of [1] to a number turns it into a row."""
    out = op.results[0]
    return access.element_type(value) == access.element_type(out) and [n for n in shape(value) if n != 1] == [n for n in shape(out) if n != 1]


def _neutral(right: float, left: float | None = None) -> Identity:
    """Neutral elements: x op right = x, left op x = x. The returned value may have other dims of size 1."""

    def identity(op: Operation, consts: Consts) -> SSAValue | None:
        lhs, rhs = op.operands
        if _differs_in_ones(lhs, op) and uniform(consts.get(rhs)) == right:
            return lhs
        if left is not None and _differs_in_ones(rhs, op) and uniform(consts.get(lhs)) == left:
            return rhs
        return None

    return identity


def _logical(neutral: bool) -> Identity:
    """and (neutral True) / or (neutral False): a neutral operand is removed, the other constant decides the result."""

    def identity(op: Operation, consts: Consts) -> SSAValue | None:
        out = op.results[0].type
        for this, other in (op.operands, reversed(op.operands)):
            value = uniform(consts.get(other))
            if value is None or access.element_type(this) != "i1":
                continue
            if bool(value) is neutral and this.type == out:
                return this
            if bool(value) is not neutral and other.type == out:
                return other
        return None

    return identity


def _where(op: Operation, consts: Consts) -> SSAValue | None:
    value = uniform(consts.get(op.operands[0]))
    chosen = None if value is None else op.operands[1 if value else 2]
    return chosen if chosen is not None and chosen.type == op.results[0].type else None


def _involution(op: Operation, _consts: Consts) -> SSAValue | None:
    """The op applied twice is its operand. Only booleans are their own double negation."""
    inner = defining(op.operands[0], op.name)
    fits = inner is not None and inner.operands[0].type == op.results[0].type
    return inner.operands[0] if inner is not None and fits and (op.name != "ttir.logical_not" or access.element_type(op.results[0]) == "i1") else None


def _dropout(op: Operation, _consts: Consts) -> SSAValue | None:
    return op.operands[0]


IDENTITIES: dict[str, Identity] = {
    "ttir.reshape": _through_same_shape,
    "ttir.typecast": _through_same_shape,
    "ttir.broadcast": _through_same_shape,
    "ttir.slice_static": lambda op, c: _through_same_shape(op, c) if all(s == 1 for s in access.attr(op, "step")) else None,
    "ttir.permute": _permute,
    "ttir.repeat": _all_ones("repeat_dimensions"),
    "ttir.pad": _no_padding,
    "ttir.concat": _single,
    "ttir.dropout": _dropout,
    **{f"ttir.{name}": _neutral(number, number if either else None) for name, (number, either) in NEUTRAL.items()},
    "ttir.logical_and": _logical(True),
    "ttir.logical_or": _logical(False),
    "ttir.where": _where,
    **dict.fromkeys(("ttir.neg", "ttir.logical_not", "ttir.bitwise_not"), _involution),
}

# --- canonical forms: op -> a new op before it, or None ----------------------------------------------------------------

_LOSSLESS = {
    ("bf16", "f32"),
    ("f16", "f32"),
    ("i32", "i64"),
    ("si32", "i64"),
    ("i8", "i32"),
    ("i8", "i64"),
    ("i16", "i32"),
    ("i16", "i64"),
    ("ui8", "i32"),
    ("ui8", "i64"),
    ("ui8", "f32"),
}


def _is_lossless(source: str, target: str) -> bool:
    return source == "i1" or (source, target) in _LOSSLESS


def _canonical(op: Operation) -> Operation | None:
    """squeeze, unsqueeze -> reshape; transpose -> permute; chains of reshapes, permutes and casts -> one op."""
    b = Builder.in_place_of(op)
    if not op.results:
        return None
    out = op.results[0].type
    if op.name in ("ttir.squeeze", "ttir.unsqueeze"):
        return b.make("ttir.reshape", [op.operands[0]], {"shape": shape(op.results[0])})
    if op.name == "ttir.transpose":
        return b.make("ttir.permute", [op.operands[0]], {"permutation": access.order_of(op)})
    if op.name == "ttir.reshape" and (inner := defining(op.operands[0], "ttir.reshape")):
        return b.make("ttir.reshape", [inner.operands[0]], {"shape": shape(op.results[0])})
    if op.name == "ttir.permute":
        order = list(access.attr(op, "permutation"))
        if inner := defining(op.operands[0], "ttir.permute"):
            first = access.attr(inner, "permutation")
            return b.make("ttir.permute", [inner.operands[0]], {"permutation": [first[i] for i in order]})
        source = shape(op.operands[0])
        moved_dims = [i for i in order if source[i] != 1]
        if moved_dims == sorted(moved_dims):  # only dims of size 1 move
            return b.make("ttir.reshape", [op.operands[0]], {"shape": shape(op.results[0])})
    if op.name == "ttir.slice_static" and (inner := defining(op.operands[0], "ttir.slice_static")) and not (_is_sliced_elsewhere(op, inner) or _is_head(inner)):
        outer_cut, inner_cut = ([access.attr(move, name) for name in ("begins", "ends", "step")] for move in (op, inner))
        rows = list(zip(*outer_cut, *inner_cut, strict=True))
        if all(step > 0 and begin >= 0 and end >= 0 for row in rows for begin, end, step in (row[:3], row[3:])):
            begins = [first + begin * by for begin, _, _, first, _, by in rows]
            sizes = shape(op.results[0])
            steps = [step * by for _, _, step, _, _, by in rows]
            ends = [begin + (size - 1) * step + 1 for begin, size, step in zip(begins, sizes, steps, strict=True)]
            return b.make("ttir.slice_static", [inner.operands[0]], {"begins": begins, "ends": ends, "step": steps})
    if op.name == "ttir.typecast" and (inner := defining(op.operands[0], "ttir.typecast")):
        if _is_lossless(access.element_type(inner.operands[0]), access.element_type(inner.results[0])):
            return b.make("ttir.typecast", [inner.operands[0]], {}, [out])
    if op.name == "ttir.bitwise_and" and (shifted := defining(op.operands[0], "ttir.right_shift")):
        return _without_sign(op, shifted)
    if op.name in ("ttir.index", "ttir.index_select") and not access.attr(op, "stride", 0):
        begin, step = access.attr(op, "begin"), access.attr(op, "step", 1)
        end = access.attr(op, "end") if op.name == "ttir.index" else begin + access.attr(op, "length")
        source = shape(op.operands[0])
        dim = access.attr(op, "dim") % len(source)
        begins, ends, steps = [0] * len(source), list(source), [1] * len(source)
        begins[dim], ends[dim], steps[dim] = begin, end, step
        return b.make("ttir.slice_static", [op.operands[0]], {"begins": begins, "ends": ends, "step": steps}, [out])
    return None


def _without_sign(op: Operation, shifted: Operation) -> Operation | None:
    """(x >> n) & mask, whose mask drops the bits that the sign is shifted into: a logical shift, which is one program of the device and not five."""
    count, mask = (uniform(constant_of(value)) for value in (shifted.operands[1], op.operands[1]))
    element = access.element_type(op.results[0])
    if count is None or mask is None or element not in ("i32", "si32", "i64") or not 0 <= int(mask) < 1 << max(32 - int(count), 0):
        return None
    b = Builder.in_place_of(op)
    if int(mask) == (1 << (32 - int(count))) - 1 and element != "i64" and shifted.results[0].type == op.results[0].type:
        return b.make("ttir.logical_right_shift", list(shifted.operands), {}, [op.results[0].type])
    logical = b.value("ttir.logical_right_shift", list(shifted.operands), {}, [shifted.results[0].type])
    return b.make("ttir.bitwise_and", [logical, op.operands[1]], {}, [op.results[0].type])


# --- the walk -----------------------------------------------------------------------------------------------------------


def _materialise(op: Operation, value: SSAValue, array: Array) -> SSAValue:
    """Creates a constant op before `op`, with the source locations of the ops that computed the values, not of reshapes."""
    b, made_by = Builder.before(op), op
    while has_trait(made_by, "rearrangement") and isinstance(owner := made_by.operands[0].owner, Operation):
        made_by = owner
    b.source = sources_of(made_by) or None
    element = access.element_type(value)
    single = uniform(array)
    number = None if single is None else float(single) if element.startswith(("f", "bf")) else int(single)
    if isinstance(number, float) or (number is not None and -(1 << 31) <= number < 1 << 31):  # the attribute has 32 bits
        return b.value("ttir.full", [], {"shape": shape(value), "fill_value": number}, [value.type])
    return b.value("ttir.constant", [], {"value": elements(np.ascontiguousarray(array), element)})


def _as_shaped(op: Operation, value: SSAValue) -> Operation | None:
    """The value reshaped to the op's result; None if it has that shape."""
    out = op.results[0].type
    if value.type == out:
        return None
    b = Builder.in_place_of(op)
    return b.make("ttir.reshape", [value], {"shape": shape(op.results[0])})


def _key(op: Operation) -> tuple[Any, ...] | None:
    if not has_trait(op, "pure") or has_trait(op, "non_cacheable") or op.regions:
        return None
    names = (*sorted(op.properties.items()), *sorted(op.attributes.items()))
    if op.name == "ttir.argmax":  # with and without its dim: the program takes longer than any reshape of its result
        return (op.name, op.operands[0], dims_of(access.attrs(op), len(shape(op.operands[0]))), access.element_type(op.results[0]))
    return (op.name, tuple(op.operands), names, tuple(result.type for result in op.results))


def _fold_function(func: FuncOp) -> None:
    consts: Consts = {}
    seen: dict[Any, Operation] = {}
    for op in list(func.body.block.ops):
        if not op.name.startswith("ttir."):
            continue
        while True:
            identity = IDENTITIES.get(op.name)
            same = identity(op, consts) if identity is not None else None
            new = _canonical(op) if same is None else _as_shaped(op, same)
            if new is None:
                break
            replace(op, list(new.results))
            op = new
        if same is not None:
            replace(op, [same])
            continue
        key = _key(op)
        if key is not None:
            first = seen.setdefault(key, op)
            if first is not op:
                _share(first, op)
                view = _as_shaped(op, first.results[0]) if len(op.results) == 1 else None
                replace(op, list((view or first).results))
                continue
        if _foldable(op, consts):
            consts.update(zip(op.results, evaluate(op, consts), strict=True))
    _write_constants(consts)
    erase_dead(func)


def _foldable(op: Operation, consts: Consts) -> bool:
    if not has_trait(op, "pure") or has_trait(op, "non_cacheable") or not can_evaluate(op):
        return False
    if any(value not in consts for value in op.operands):
        return False
    return all(int(np.prod(shape(result), dtype=np.int64)) <= FOLD_LIMIT for result in op.results)


def _write_constants(consts: Consts) -> None:
    """Creates constant ops for the folded values that other ops read."""
    for value, array in consts.items():
        op = value.owner
        if not isinstance(op, Operation) or has_trait(op, "literal"):
            continue
        if any(set(use.operation.results) - consts.keys() or not use.operation.results for use in value.uses):
            value.replace_all_uses_with(_materialise(op, value, array))


def _share(first: Operation, same: Operation) -> None:
    """A merged value that several modules computed gets the source locations of all of them."""
    our_sources, their_sources = sources_of(first), sources_of(same)
    if our_sources and their_sources and first.operands and our_sources[-1].scopes[-1:] != their_sources[-1].scopes[-1:]:
        set_source(first, *dict.fromkeys((*our_sources, *their_sources)))


@register("fold")
class Fold(Pass):
    """Removes identities, folds constants in numpy, merges equal ops, canonicalizes views."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            _fold_function(func)
