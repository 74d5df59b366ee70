"""TTIR: what lies between 1-D convolutions has its channels last, as the kernel has them; a convolution of one tap is a linear layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import element_type, operand, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import connected, functions, replace
from alchemist.ir.location import sources_of
from alchemist.ops.constants import FixedValues
from alchemist.ops.eltwise_binary import BINARY, TTIR_NAMES
from alchemist.ops.eltwise_unary import UNARY
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import permuted, reshaped

_ORDER = (0, 2, 1)
"""[N, C, L] to [N, L, C] and back."""
_ACTIVATIONS = ("gelu", "silu", "sigmoid", "leaky_relu", "clamp_scalar", "typecast", "pow", "where")
ELEMENTWISE = frozenset(f"ttir.{name}" for name in (*(name for name, _ in UNARY), *(TTIR_NAMES.get(name, name) for name, *_ in BINARY), *_ACTIVATIONS))


def _swapped(dim: int) -> int:
    return _ORDER[dim % 3]


def _rows(op: Operation, name: str) -> None:
    """Swaps the last two of an attribute's elements, one (or, of padding, a pair) per dimension."""
    given = list(access.attr(op, name))
    width = len(given) // 3
    parts = [given[dim * width : (dim + 1) * width] for dim in _ORDER]
    access.set_attr(op, name, [one for part in parts for one in part])


def _turn_slice(op: Operation) -> None:
    for name in ("begins", "ends", "step"):
        _rows(op, name)


def _turn_conv(op: Operation) -> None:
    access.set_attr(op, "channel_dim", 2)
    access.set_attr(op, "length_dim", 1)


def _turn_reduction(op: Operation) -> None:
    access.set_attr(op, "dim_arg", [_swapped(dim) for dim in access.attr(op, "dim_arg")])


_TURNS: dict[str, Callable[[Operation], None]] = {
    "ttir.slice_static": _turn_slice,
    "ttir.pad": lambda op: _rows(op, "padding"),
    "ttir.concat": lambda op: access.set_attr(op, "dim", _swapped(access.attr(op, "dim"))),
    "ttir.softmax": lambda op: access.set_attr(op, "dimension", _swapped(access.attr(op, "dimension"))),
    "ttir.conv1d": _turn_conv,
    **dict.fromkeys(named("ttir", "reduction"), _turn_reduction),
    **dict.fromkeys(ELEMENTWISE, lambda op: None),
}
"""Ops that work on the other order of dimensions as well -> what changes of them, types apart."""


@register("conv1d-channels-last", fusing=True)
class Conv1dChannelsLast(Pass):
    """Convolutions on [N, C, L] and the ops around them work on [N, L, C] where that takes fewer permutes; `fold` joins those that are left."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            ops = list(func.body.block.ops)
            if any(_is_conv(op) for op in ops):
                for region in _regions(func, ops):
                    _turn(region)
            for op in ops:
                if op.parent is not None and _is_pointwise(op):
                    _as_linear(op)


def _is_conv(op: Operation) -> bool:
    return op.name == "ttir.conv1d" and (access.attr(op, "channel_dim"), access.attr(op, "length_dim")) == (1, 2)


def _is_permute(op: object) -> bool:
    return isinstance(op, Operation) and op.name == "ttir.permute" and tuple(access.attr(op, "permutation")) == _ORDER


def _data(op: Operation) -> list[SSAValue]:
    """The operands that change places with the result: not a convolution's weights."""
    return [op.operands[0]] if op.name == "ttir.conv1d" else [value for value in op.operands if shape(value)]


def _may_turn(op: Operation, fixed: FixedValues) -> bool:
    if op.name not in _TURNS or len(op.results) != 1 or (op.name == "ttir.conv1d" and not _is_conv(op)):
        return False
    if has_trait(op, "reduction") and not access.attr(op, "dim_arg"):
        return False
    kept = not has_trait(op, "reduction") or access.attr(op, "keep_dim")
    ranks = {len(shape(value)) for value in _data(op)}
    return ranks == {3} and op.results[0] not in fixed and (not kept or len(shape(op.results[0])) == 3)


def _is_inside(op: Operation) -> bool:
    """Whether the op's result has the turned form too: one without a dimension for what was summed up is the same either way."""
    return len(shape(op.results[0])) == 3


def _regions(func: FuncOp, ops: list[Operation]) -> Iterator[list[Operation]]:
    """Ops that hang together by tensors that can be turned and hold a convolution, where turning them saves permutes."""
    fixed = FixedValues(func)
    turnable = [op for op in ops if _may_turn(op, fixed)]
    there = set(turnable)
    links = [(op, maker) for op in turnable for value in _data(op) if isinstance(maker := value.owner, Operation) and maker in there and _is_inside(maker)]
    for region in connected(turnable, links):
        region = _worthwhile(region, fixed)
        if region:
            yield region


def _worthwhile(region: list[Operation], fixed: FixedValues) -> list[Operation]:
    """The region if that saves permutes, else each convolution of it with what alone reads it, if that does."""
    for part in ([region], [_behind(op) for op in region if _is_conv(op)]):
        found = [one for one in part if any(_is_conv(op) for op in one) and _gain(one, fixed) > 0]
        if found:
            return [op for one in found for op in one]
    return []


def _behind(op: Operation) -> list[Operation]:
    """The op and the elementwise ops that alone read its result, one after another."""
    found = [op]
    while len(uses := list(found[-1].results[0].uses)) == 1 and uses[0].operation.name in ELEMENTWISE and len(uses[0].operation.operands) == 1:
        found.append(uses[0].operation)
    return found


def _gain(region: list[Operation], fixed: FixedValues) -> int:
    """Permutes that turning the region saves. A convolution makes one in front of it and one behind it out of those of the old order."""
    inside = {id(op) for op in region}
    before = {id(value): value for op in region for value in _data(op) if not (isinstance(value.owner, Operation) and id(value.owner) in inside)}
    gain = len({op.operands[0] for op in region if _is_conv(op)}) + sum(_is_conv(op) for op in region)
    for value in before.values():
        if value not in fixed:
            gain += 1 if _is_permute(value.owner) else -1
    for op in region:
        users = [use.operation for use in op.results[0].uses if id(use.operation) not in inside] if _is_inside(op) else []
        turned = {id(user) for user in users if _is_permute(user)}
        gain += len(turned) - (len(turned) < len(users))
    return gain


def _turn(region: list[Operation]) -> None:
    inside = {id(op) for op in region}
    turned: dict[SSAValue, SSAValue] = {}
    for op in region:
        data = {id(value) for value in _data(op)}
        for index, value in enumerate(op.operands):
            if id(value) in data and not (isinstance(value.owner, Operation) and id(value.owner) in inside) and len(shape(value)) == 3:
                if value not in turned:  # at its first reader
                    before = Builder.in_place_of(op)
                    turned[value] = permuted(before, value, _ORDER)
                op.operands[index] = turned[value]
    for op in region:
        _TURNS[op.name](op)
        result = op.results[0]
        if not _is_inside(op):
            continue
        dims = shape(result)
        Rewriter.replace_value_with_new_type(result, tensor(tuple(dims[dim] for dim in _ORDER), element_type(result)))
        result = op.results[0]
        outside = [use.operation for use in result.uses if id(use.operation) not in inside]
        if outside:
            after = Builder.after(op)
            after.source = sources_of(op) or None
            back = permuted(after, result, _ORDER)
            readers = {id(user) for user in outside}
            result.replace_uses_with_if(back, lambda use, readers=readers: id(use.operation) in readers)  # type: ignore[misc]


def _is_pointwise(op: Operation) -> bool:
    """A convolution of one tap with its channels last, of all channels together."""
    if op.name != "ttir.conv1d" or (access.attr(op, "channel_dim"), access.attr(op, "length_dim")) != (2, 1):
        return False
    weight = operand(op, "weight")
    plain = access.attr(op, "stride") == 1 and access.attr(op, "padding") == 0 and access.attr(op, "groups") == 1
    return plain and weight is not None and shape(weight)[2] == 1


def _as_linear(op: Operation) -> None:
    b = Builder.in_place_of(op)
    weight, bias, result = operand(op, "weight"), operand(op, "bias"), op.results[0]
    assert weight is not None
    turned = permuted(b, reshaped(b, weight, shape(weight)[:2]), (1, 0))
    added = reshaped(b, bias, (shape(weight)[0],)) if bias is not None else None
    name, operands = ("ttir.linear", [op.operands[0], turned, added]) if added is not None else ("ttir.matmul", [op.operands[0], turned])
    made = b.op(name, operands, {"transpose_a": False, "transpose_b": False}, [result.type])
    replace(op, [made])
