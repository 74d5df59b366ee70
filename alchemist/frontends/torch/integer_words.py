"""Integers beyond 32 bits, which TT-NN does not have: pairs of 32-bit words.

An op that takes or gives such values is traced as a function of the words, and the small graph is lowered in its place, as ops on complex numbers are
on real and imaginary parts. Words are int32 and wrap. Formulas: H. S. Warren, Hacker's Delight, chapters 2 and 8.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from torch.utils import _pytree as pytree

from alchemist.frontends.torch.complex_numbers import PARTWISE as _MOVES_AND_SUMS
from alchemist.frontends.torch.complex_numbers import on_each_part
from alchemist.frontends.torch.errors import Unsupported

_F = TypeVar("_F", bound=Callable[..., Any])
Word = Any  # a tensor, or a Python number

_SIGN = -(1 << 31)
"""The sign bit of a word: x ^ _SIGN orders as x without sign does."""
_HALF = 0xFFFF
_LONGEST_SUM = 1 << 15
"""So many 16-bit numbers have a sum of 31 bits."""
_LARGEST_PRODUCT = 1 << 22
"""Limit of the products of a matrix product, each of about 25 programs."""
_LONGEST_PRODUCT = 64
_QUOTIENT_BITS = 21
"""A float32 quotient rounded to an integer has so many right bits."""


class Words(NamedTuple):
    """An int64 value as its two words: `Tensor`s while walking the graph, torch tensors (or Python numbers) inside a trace."""

    low: Any
    high: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.low.shape)

    @property
    def dtype(self) -> torch.dtype:
        return torch.int64


FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""ATen name without namespace and overload -> the op on `Words`, narrow tensors and numbers."""

_MOVES = (_MOVES_AND_SUMS - set("neg sum mean cumsum".split())) | set(
    "where masked_fill slice_scatter select_scatter scatter index_put index_fill index_copy embedding copy".split()
)
CASTS = ("to", "_to_copy", "type_as")
_VALUES = ("self", "tensors", "src", "source", "value", "values", "other", "weight")
"""How ATen names the operands of `_MOVES` that hold values, not places."""


def function_of(op: Any, name: str, gives_integers: bool = True) -> Callable[..., Any] | None:
    """The op on `Words`, None if there is none.

    name: the ATen name without namespace and overload ("mul"). gives_integers: whether its results are int64, so that numbers like 0.0 among the
    operands are integers; else operands of a float are floats too.
    """
    if name in FUNCTIONS:
        floats = not gives_integers and name not in CASTS
        return lambda *args, **kwargs: _promoted(op, args, kwargs) if floats and _has_float(args) else FUNCTIONS[name](*args, **kwargs)
    if name not in _MOVES:
        return None
    places = [place for place, argument in enumerate(op._schema.arguments) if argument.name in _VALUES]

    def wide(value: Any) -> Any:
        return [wide(part) for part in value] if isinstance(value, (list, tuple)) and not isinstance(value, Words) else as_words(value)

    def move(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("reduce") or (name == "index_put" and (kwargs.get("accumulate") or args[3:4] == (True,))):
            raise Unsupported("sums into places")
        if not gives_integers and _has_float([args[place] for place in places if place < len(args)]):
            return _promoted(op, args, kwargs)
        operands = tuple(wide(value) if place in places else value for place, value in enumerate(args))
        if name == "copy":
            return Words(*(word.expand(operands[0].shape) for word in operands[1]))
        return on_each_part(op, operands, kwargs, Words)

    return move


def _has_float(args: Any) -> bool:
    return any(isinstance(leaf, float) or (isinstance(leaf, torch.Tensor) and leaf.dtype.is_floating_point) for leaf in pytree.tree_leaves(args))


def _promoted(op: Any, args: Any, kwargs: Any) -> Any:
    """The op in floating point, as torch computes integers with floats."""
    change: Any = lambda leaf: to_float(leaf) if isinstance(leaf, Words) else leaf  # noqa: E731
    args, kwargs = pytree.tree_map(change, (args, kwargs), is_leaf=lambda leaf: isinstance(leaf, Words))
    return op(*args, **kwargs)


def split(values: torch.Tensor) -> Words:
    """The words of an int64 tensor."""
    low = values & 0xFFFFFFFF
    return Words(torch.where(low > 0x7FFFFFFF, low - (1 << 32), low).to(torch.int32), (values >> 32).to(torch.int32))


def as_words(value: Any) -> Words:
    """A number, or a tensor of integers of at most 32 bits, as words."""
    if isinstance(value, Words):
        return value
    if isinstance(value, torch.Tensor):
        if value.dtype.is_floating_point:
            return _from_float(torch.trunc(value.to(torch.float32)))
        low = value.to(torch.int32)
        return Words(low, torch.zeros_like(low) if value.dtype in (torch.bool, torch.uint8) else low.lt(0).to(torch.int32).neg())
    if int(value) != value:
        raise Unsupported(f"{value} among integers beyond 32 bits")
    return Words(_signed(int(value)), _signed(int(value) >> 32))


def _function(*names: str) -> Callable[[_F], _F]:
    def add(function: _F) -> _F:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return add


# --- one word -----------------------------------------------------------------------------------------------------------------


def _signed(number: int) -> int:
    return ((number + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def _on_words(op: Callable[[Any, Any], Any], neutral: int, absorbing: int | None = None) -> Callable[[Word, Word], Word]:
    """A commutative op on two words. neutral: the number that leaves the other word as it is. absorbing: the number that is the result itself."""

    def call(a: Word, b: Word) -> Word:
        a, b = (b, a) if isinstance(a, int) else (a, b)
        if isinstance(a, int):
            return _signed(op(a, b))
        if isinstance(b, int) and b in (neutral, absorbing):
            return a if b == neutral else b
        return op(a, b)

    return call


_plus, _times = _on_words(operator.add, 0), _on_words(operator.mul, 1, 0)
_and, _or, _xor = _on_words(operator.and_, -1, 0), _on_words(operator.or_, 0, -1), _on_words(operator.xor, 0)


def _shifted(a: Word, count: int) -> Word:
    """Without sign, by `count` bits to the right from 0 to 31, to the left below 0."""
    if isinstance(a, int):
        return _signed((a & 0xFFFFFFFF) >> count if count >= 0 else a << -count)
    if count <= 0:
        return a if count == 0 else a << -count
    return (a >> count) & ((1 << (32 - count)) - 1)


def _below(a: Word, b: Word) -> Any:
    """a < b without sign."""
    return _xor(a, _SIGN) < _xor(b, _SIGN)


def _number(condition: Any) -> Word:
    return condition.to(torch.int32) if isinstance(condition, torch.Tensor) else int(condition)


def _filled(words: Words, like: torch.Tensor) -> Words:
    """The words as tensors."""
    return Words(*(torch.full_like(like, word) if isinstance(word, int) else word for word in words))


def _tensors(words: Words) -> Words:
    like = next((word for word in words if isinstance(word, torch.Tensor)), None)
    if like is None:
        raise Unsupported("a number beyond 32 bits as an operand of its own")
    return _filled(words, like)


# --- arithmetic ---------------------------------------------------------------------------------------------------------------


@_function("add")
def _add(a: Any, b: Any, *, alpha: int = 1) -> Words:
    a, b = as_words(a), as_words(b) if alpha == 1 else _mul(b, alpha)
    low = _plus(a.low, b.low)
    if isinstance(b.low, int) and b.low == 0:
        return _tensors(Words(low, _plus(a.high, b.high)))
    carry = _number(_below(low, b.low))
    return _tensors(Words(low, _plus(_plus(a.high, b.high), carry)))


@_function("neg")
def _neg(a: Any) -> Words:
    a = as_words(a)
    return _add(Words(~a.low, ~a.high), 1)


@_function("sub")
def _sub(a: Any, b: Any, *, alpha: int = 1) -> Words:
    if isinstance(b, int):
        return _add(a, -b * alpha)
    return _add(a, _neg(b if alpha == 1 else _mul(b, alpha)))


FUNCTIONS["rsub"] = lambda a, b, *, alpha=1: _sub(b, a, alpha=alpha)


@_function("mul", "multiply")
def _mul(a: Any, b: Any) -> Words:
    """Products of 16-bit halves; the upper words take part modulo 2^32."""
    if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
        return _left(a, b.bit_length() - 1)
    same = a is b
    a, b = as_words(a), as_words(b)
    (a0, a1), (b0, b1) = ((_and(x.low, _HALF), _shifted(x.low, 16)) for x in (a, b))
    p01 = _times(a0, b1)
    p10 = p01 if same else _times(a1, b0)
    middle = _plus(_plus(_shifted(_times(a0, b0), 16), _and(p01, _HALF)), _and(p10, _HALF))
    upper = _plus(_plus(_times(a1, b1), _shifted(p01, 16)), _plus(_shifted(p10, 16), _shifted(middle, 16)))
    crossed = _times(_times(a.high, b.low), 2) if same else _plus(_times(a.high, b.low), _times(a.low, b.high))
    return _tensors(Words(_times(a.low, b.low), _plus(upper, crossed)))


FUNCTIONS["square"] = lambda a: _mul(a, a)


@_function("pow")
def _pow(a: Any, exponent: Any) -> Any:
    if not isinstance(exponent, int) or not 1 <= exponent <= _LONGEST_PRODUCT:
        raise Unsupported("a power beyond 32 bits whose exponent is no small number")
    result, base = None, a
    while exponent:
        if exponent & 1:
            result = as_words(base) if result is None else _mul(result, base)
        exponent >>= 1
        base = _mul(base, base) if exponent else base
    return result


@_function("bitwise_left_shift", "__lshift__")
def _left(a: Any, count: Any) -> Words:
    a = as_words(a)
    if isinstance(count, int):
        if not 0 <= count < 64:
            raise Unsupported(f"a shift by {count} bits")
        if count >= 32:
            return _tensors(Words(0, _shifted(a.low, 32 - count)))
        return _tensors(Words(_shifted(a.low, -count), _or(_shifted(a.high, -count), _shifted(a.low, 32 - count) if count else 0)))
    count = count.low if isinstance(count, Words) else count.to(torch.int32)
    here, spill = count & 31, torch.where((count & 31) == 0, 0, (a.low >> (-count & 31)) & ((1 << (count & 31)) - 1))
    low, high = a.low << here, (a.high << here) | spill
    return Words(torch.where(count < 32, low, 0), torch.where(count < 32, high, low))


@_function("bitwise_right_shift", "__rshift__")
def _right(a: Any, count: Any) -> Words:
    """The sign stays."""
    a = as_words(a)
    if isinstance(count, int):
        if not 0 <= count < 64:
            raise Unsupported(f"a shift by {count} bits")
        if count >= 32:
            return Words(a.high if count == 32 else a.high >> (count - 32), a.high >> 31)
        return a if not count else Words(_or(_shifted(a.low, count), _shifted(a.high, count - 32)), a.high >> count)
    count = count.low if isinstance(count, Words) else count.to(torch.int32)
    here, rest = count & 31, -count & 31
    kept = torch.where(here == 0, -1, (1 << rest) - 1)
    low = ((a.low >> here) & kept) | torch.where(here == 0, 0, a.high << rest)
    return Words(torch.where(count < 32, low, a.high >> here), torch.where(count < 32, a.high >> here, a.high >> 31))


def _bitwise(word: Callable[[Word, Word], Word], *names: str) -> None:
    _function(*names)(lambda a, b: _tensors(Words(*(word(x, y) for x, y in zip(as_words(a), as_words(b), strict=True)))))


_bitwise(_and, "bitwise_and", "__and__")
_bitwise(_or, "bitwise_or", "__or__")
_bitwise(_xor, "bitwise_xor", "__xor__")
FUNCTIONS["bitwise_not"] = lambda a: Words(~as_words(a).low, ~as_words(a).high)


# --- quotients ----------------------------------------------------------------------------------------------------------------


def to_float(a: Any) -> Any:
    """The nearest float32, or one beside it."""
    if not isinstance(a, Words):
        return float(a) if isinstance(a, int) else a.to(torch.float32)
    high = a.high + _number(a.low < 0)  # the low word with its sign is small where the value is
    return high.to(torch.float32) * float(1 << 32) + a.low.to(torch.float32)


def _from_float(x: torch.Tensor) -> Words:
    """Of whole numbers. All steps are exact in float32: the rest is at most half of the high word's unit, so that a small number stays as it is."""
    scaled = x * 2.0**-32
    high = torch.floor(scaled)
    high = high + ((scaled - high) >= 0.5).to(torch.float32)
    low = (x - high * float(1 << 32)).to(torch.int32)
    return Words(low, high.to(torch.int32) - _number(low < 0))


def _floored(a: Any, b: Any) -> tuple[Words, Words]:
    """Quotient rounded down, and remainder of the divisor's sign. Each round divides in float32 what the one before left."""
    if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
        return _right(a, b.bit_length() - 1), FUNCTIONS["bitwise_and"](a, b - 1)
    divisor = to_float(b)
    bits = 64 - (abs(b).bit_length() - 1 if isinstance(b, int) else 0)
    quotient, rest = None, as_words(a)
    for _ in range(-(-bits // _QUOTIENT_BITS)):
        part = _from_float(torch.floor(to_float(rest) / divisor + 0.5))
        quotient = part if quotient is None else _add(quotient, part)
        rest = _sub(rest, _mul(part, b))
    assert quotient is not None  # 64 bits need a round
    sign = _number(b < 0) if isinstance(b, int) else _number(as_words(b).high < 0)
    beside = _number(rest.high < 0) ^ sign if not (isinstance(sign, int) and sign == 0) else _number(rest.high < 0)
    beside = beside * _number((rest.low | rest.high) != 0) if not isinstance(b, int) or b < 0 else beside
    step = as_words(b)
    return _sub(quotient, as_words(beside)), _add(rest, Words(_times(step.low, beside), _times(step.high, beside)))


@_function("floor_divide")
def _floor_divide(a: Any, b: Any) -> Words:
    return _floored(a, b)[0]


@_function("remainder")
def _remainder(a: Any, b: Any) -> Words:
    return _floored(a, b)[1]


@_function("div", "divide", "true_divide")
def _div(a: Any, b: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        return to_float(a) / to_float(b)
    quotient, rest = _floored(a, b)
    if rounding_mode == "floor":
        return quotient
    up = _number((rest.low | rest.high) != 0) * _number(quotient.high < 0)
    return _add(quotient, as_words(up))


@_function("fmod")
def _fmod(a: Any, b: Any) -> Words:
    return _sub(a, _mul(_div(a, b, rounding_mode="trunc"), b))


# --- comparisons --------------------------------------------------------------------------------------------------------------


@_function("lt")
def _lt(a: Any, b: Any) -> Any:
    a, b = as_words(a), as_words(b)
    return (a.high < b.high) | ((a.high == b.high) & _below(a.low, b.low))


@_function("eq")
def _eq(a: Any, b: Any) -> Any:
    a, b = as_words(a), as_words(b)
    return (a.low == b.low) & (a.high == b.high)


FUNCTIONS["gt"] = lambda a, b: _lt(b, a)
FUNCTIONS["ne"] = lambda a, b: torch.logical_not(_eq(a, b))
FUNCTIONS["le"] = lambda a, b: torch.logical_not(_lt(b, a))
FUNCTIONS["ge"] = lambda a, b: torch.logical_not(_lt(a, b))


def _chosen(condition: Any, a: Any, b: Any) -> Words:
    return Words(*(torch.where(condition, x, y) for x, y in zip(as_words(a), as_words(b), strict=True)))


FUNCTIONS["maximum"] = lambda a, b: _chosen(_lt(a, b), b, a)
FUNCTIONS["minimum"] = lambda a, b: _chosen(_lt(b, a), b, a)
FUNCTIONS["abs"] = lambda a: _chosen(as_words(a).high < 0, _neg(a), a)
FUNCTIONS["sign"] = FUNCTIONS["sgn"] = lambda a: Words(_number(_lt(0, a)) - _number(as_words(a).high < 0), as_words(a).high >> 31)


@_function("clamp", "clip")
def _clamp(a: Any, low: Any = None, high: Any = None) -> Any:
    a = a if low is None else FUNCTIONS["maximum"](a, low)
    return as_words(a) if high is None else FUNCTIONS["minimum"](a, high)


FUNCTIONS["clamp_min"] = lambda a, low: _clamp(a, low)
FUNCTIONS["clamp_max"] = lambda a, high: _clamp(a, None, high)


# --- sums, products, extremes, order ------------------------------------------------------------------------------------------


def _dims(a: Words, dim: Any) -> list[int]:
    dims = range(a.low.dim()) if dim is None or (not isinstance(dim, int) and len(dim) == 0) else [dim] if isinstance(dim, int) else dim
    return [d % max(1, a.low.dim()) for d in dims]


def _carried(add: Callable[[torch.Tensor], torch.Tensor], a: Words, count: int) -> Words:
    """add: sums `count` int32 numbers for each result."""
    if count > _LONGEST_SUM:
        raise Unsupported(f"a sum of {count} integers beyond 32 bits (at most {_LONGEST_SUM})")
    first, second = add(a.low & _HALF), add(torch.as_tensor(_shifted(a.low, 16)))
    second = second + _shifted(first, 16)
    return Words((second << 16) | (first & _HALF), add(a.high) + _shifted(second, 16))


@_function("sum")
def _sum(a: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    a = as_words(a)
    dims = _dims(a, dim)
    total = _carried(lambda part: part.sum(dims, keepdim, dtype=torch.int32), a, math.prod(a.low.shape[d] for d in dims))
    return to_float(total).to(dtype) if dtype is not None and dtype.is_floating_point else total


@_function("cumsum")
def _cumsum(a: Any, dim: int, *, dtype: Any = None) -> Any:
    a = as_words(a)
    total = _carried(lambda part: part.cumsum(dim, dtype=torch.int32), a, a.low.shape[dim])
    return to_float(total).to(dtype) if dtype is not None and dtype.is_floating_point else total


@_function("scatter_add")
def _scatter_add(a: Any, dim: int, index: torch.Tensor, src: Any) -> Words:
    a, src = as_words(a), as_words(src)
    added = _carried(lambda part: torch.zeros_like(a.low).scatter_add(dim, index, part), src, src.low.shape[dim])
    return _add(a, added)


@_function("constant_pad_nd")
def _pad(a: Any, pad: Sequence[int], value: Any = 0) -> Words:
    return Words(*(torch.constant_pad_nd(word, list(pad), number) for word, number in zip(as_words(a), as_words(value), strict=True)))


@_function("mean")
def _mean(a: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype) -> Any:
    a = as_words(a)
    return (to_float(_sum(a, dim, keepdim)) / math.prod(a.low.shape[d] for d in _dims(a, dim))).to(dtype)


def _slices(a: Words, dim: int) -> list[Words]:
    if a.low.shape[dim] > _LONGEST_PRODUCT:
        raise Unsupported(f"a product of {a.low.shape[dim]} integers beyond 32 bits (at most {_LONGEST_PRODUCT})")
    return [Words(*parts) for parts in zip(a.low.unbind(dim), a.high.unbind(dim), strict=True)]


@_function("prod")
def _prod(a: Any, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Words:
    a = as_words(a)
    a, dim = (Words(a.low.reshape(-1), a.high.reshape(-1)), 0) if dim is None else (a, dim)
    parts = _slices(a, dim)
    while len(parts) > 1:
        parts = [_mul(*parts[place : place + 2]) if place + 1 < len(parts) else parts[place] for place in range(0, len(parts), 2)]
    return Words(parts[0].low.unsqueeze(dim), parts[0].high.unsqueeze(dim)) if keepdim else parts[0]


@_function("cumprod")
def _cumprod(a: Any, dim: int, *, dtype: Any = None) -> Words:
    rows = _slices(as_words(a), dim)
    for place in range(1, len(rows)):
        rows[place] = _mul(rows[place - 1], rows[place])
    return Words(*(torch.stack(parts, dim) for parts in zip(*rows, strict=True)))


@_function("matmul", "mm", "bmm", "dot", "mv")
def _matmul(a: Any, b: Any) -> Words:
    a, b = as_words(a), as_words(b)
    row, column = a.low.dim() == 1, b.low.dim() == 1
    left = Words(*((word.unsqueeze(0) if row else word).unsqueeze(-1) for word in a))
    right = Words(*((word.unsqueeze(-1) if column else word).unsqueeze(-3) for word in b))
    if math.prod(torch.broadcast_shapes(left.low.shape, right.low.shape)) > _LARGEST_PRODUCT:
        raise Unsupported("a large matrix product beyond 32 bits")
    words = _sum(_mul(left, right), -2)
    words = Words(*(word.squeeze(-1) for word in words)) if column else words
    return Words(*(word.squeeze(-1 if column else -2) for word in words)) if row else words


def _order(a: Words, dim: int, descending: bool) -> torch.Tensor:
    """Places of the sorted values: by the low word, then by the high one. Equal values keep their order."""
    first = torch.sort(a.low ^ _SIGN, dim=dim, descending=descending, stable=True).indices
    second = torch.sort(a.high.gather(dim, first), dim=dim, descending=descending, stable=True).indices
    return first.gather(dim, second)


def _sort(a: Any, dim: int = -1, descending: bool = False, *, stable: Any = None) -> tuple[Words, torch.Tensor]:
    a = as_words(a)
    order = _order(a, dim, descending)
    return Words(a.low.gather(dim, order), a.high.gather(dim, order)), order


@_function("sort")
def _sort_op(a: Any, *args: Any, stable: Any = None, dim: int = -1, descending: bool = False) -> Any:
    return _sort(a, *args) if args else _sort(a, dim, descending)


@_function("argsort")
def _argsort(a: Any, *args: Any, **kwargs: Any) -> Any:
    return _sort_op(a, *args, **kwargs)[1]


@_function("topk")
def _topk(a: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    values, order = _sort(a, dim, largest)
    return Words(values.low.narrow(dim, 0, k), values.high.narrow(dim, 0, k)), order.narrow(dim, 0, k)


def _extreme(a: Any, dims: Sequence[int], largest: bool) -> tuple[Words, Any]:
    """The extreme along the dims, which are kept, and where it is."""
    a = as_words(a)
    take = torch.amax if largest else torch.amin
    high = take(a.high, dims, True)
    low = take(torch.where(a.high == high, a.low ^ _SIGN, _SIGN if largest else ~_SIGN), dims, True) ^ _SIGN
    return Words(low, high), (a.high == high) & (a.low == low)


def _without(a: Words, dims: Sequence[int]) -> Words:
    return Words(*(word.squeeze(list(dims)) for word in a))


def _named_extreme(largest: bool) -> tuple[Callable[..., Any], ...]:
    def of_dims(a: Any, dim: Any = None, keepdim: bool = False) -> Words:
        dims = _dims(as_words(a), dim)
        found, _ = _extreme(a, dims, largest)
        return found if keepdim else _without(found, dims)

    def with_place(a: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, (Words, torch.Tensor)):
            return FUNCTIONS["maximum" if largest else "minimum"](a, dim)
        return of_dims(a) if dim is None else (of_dims(a, dim, keepdim), place(a, dim, keepdim))

    def place(a: Any, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
        a = as_words(a)
        a, dim = (Words(a.low.reshape(-1), a.high.reshape(-1)), 0) if dim is None else (a, dim)
        return torch.argmax(_extreme(a, [dim], largest)[1].to(torch.int32), dim, keepdim)

    return of_dims, with_place, place


FUNCTIONS["amax"], FUNCTIONS["max"], FUNCTIONS["argmax"] = _named_extreme(largest=True)
FUNCTIONS["amin"], FUNCTIONS["min"], FUNCTIONS["argmin"] = _named_extreme(largest=False)


@_function("searchsorted")
def _searchsorted(bounds: Any, values: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Any = None) -> torch.Tensor:
    """Counts the bounds below each value."""
    bounds, values = as_words(bounds), as_words(values)
    if sorter is not None or bounds.low.dim() != 1 or bounds.low.numel() * values.low.numel() > _LARGEST_PRODUCT:
        raise Unsupported("bounds in rows, in any order, or many")
    column = Words(*(word.unsqueeze(-1) for word in values))
    below = torch.logical_not(_lt(column, bounds)) if right or side == "right" else _lt(bounds, column)
    return below.to(torch.int32).sum(-1, dtype=torch.int32).to(torch.int32 if out_int32 else torch.int64)


FUNCTIONS["bucketize"] = lambda values, bounds, **named: _searchsorted(bounds, values, **named)


# --- other types --------------------------------------------------------------------------------------------------------------


@_function("to", "_to_copy", "type_as")
def _to(a: Any, *args: Any, **kwargs: Any) -> Any:
    target = kwargs.get("dtype", next((arg for arg in args if isinstance(arg, torch.dtype)), None))
    if args and isinstance(args[0], torch.Tensor):
        target = args[0].dtype
    if target is None or target == torch.int64:
        return as_words(a)
    if target.is_floating_point:
        return to_float(a).to(target)
    words = as_words(a)
    return (words.low | words.high) != 0 if target == torch.bool else words.low.to(target)


FUNCTIONS["logical_not"] = lambda a: (as_words(a).low | as_words(a).high) == 0
