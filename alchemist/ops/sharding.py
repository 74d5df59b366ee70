"""How TTIR ops may be cut over chips: which dimensions of operands and results go together.

A row of the op table names one of the functions below as its `sharding`; an op without one runs on whole tensors. A rule has factors: a dimension
that is cut is cut in all places that have its factor. Functions get the shapes of operands and results and the attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Dims = tuple[int, ...]
Kind = Literal["", "sum", "whole"]


@dataclass(eq=False, slots=True)
class Factor:
    """kind: "" may be cut; "sum": may be cut, and results are then summands; "whole": stays on each chip."""

    size: int
    kind: Kind = ""


Axes = list[list[Factor]]
"""Factors of each dimension, the outermost first; of a dimension of size 1 there may be none."""


@dataclass(slots=True)
class Rule:
    """operands, results: factors of the dimensions of each."""

    operands: list[Axes] = field(default_factory=list)
    results: list[Axes] = field(default_factory=list)


Sharding = Callable[[Sequence[Dims], Mapping[str, Any], Sequence[Dims]], Rule]


def _new(dims: Dims, whole: Sequence[int] = (), kind: Kind = "whole") -> Axes:
    """A factor for each dimension; those of the dims `whole` have another kind."""
    rank = len(dims)
    return [[Factor(size, kind if dim in {one % rank for one in whole} else "")] for dim, size in enumerate(dims)]


def _over(dims: Dims, factors: Axes) -> Axes:
    """An operand of `dims` that is broadcast to the dimensions of `factors`, from the last one."""
    behind = factors[len(factors) - len(dims) :]
    return [have if size == _size(have) else [Factor(size)] for size, have in zip(dims, behind, strict=True)]


def _size(factors: Sequence[Factor]) -> int:
    size = 1
    for factor in factors:
        size *= factor.size
    return size


def whole(inputs: Sequence[Dims], _attributes: Mapping[str, Any], results: Sequence[Dims]) -> Rule:
    """On whole tensors."""
    return Rule([_new(dims, range(len(dims))) for dims in inputs], [_new(dims, range(len(dims))) for dims in results])


def pointwise(inputs: Sequence[Dims], _attributes: Mapping[str, Any], results: Sequence[Dims]) -> Rule:
    """Element by element, operands broadcast."""
    made = _new(results[0])
    return Rule([_over(dims, made) for dims in inputs], [made])


def contracts(inputs: Sequence[Dims], attributes: Mapping[str, Any], results: Sequence[Dims]) -> Rule:
    """Products of matrices: rows and columns go through, what both have is summed."""
    left, right = inputs[:2]
    if len(inputs) > 2 or min(len(left), len(right)) < 2:  # a bias would be added on each chip
        return whole(inputs, attributes, results)
    made, depth = _new(results[0]), [Factor(right[-1] if attributes.get("transpose_b") else right[-2], "sum")]
    sides = []
    for dims, ends, turned in ((left, [made[-2], depth], "transpose_a"), (right, [depth, made[-1]], "transpose_b")):
        sides.append(_over(dims[:-2], made[:-2]) + (ends[::-1] if attributes.get(turned) else ends))
    return Rule(sides, [made])


def contracts_dims(inputs: Sequence[Dims], attributes: Mapping[str, Any], results: Sequence[Dims]) -> Rule:
    """`dot_general`: dims of batches, then free dims of both; the contracted ones are summed."""
    made = _new(results[0])
    batch, depth = list(attributes["batch_dims_lhs"]), list(attributes["contract_dims_lhs"])
    summed = [[Factor(inputs[0][dim], "sum")] for dim in depth]
    free, sides = iter(made[len(batch) :]), []
    for dims, side in zip(inputs, ("lhs", "rhs"), strict=True):
        places = [*attributes[f"batch_dims_{side}"], *attributes[f"contract_dims_{side}"]]
        known = dict(zip(places, [*made[: len(batch)], *summed], strict=True))
        sides.append([known[dim] if dim in known else next(free) for dim in range(len(dims))])
    return Rule(sides, [made])


def permutes(inputs: Sequence[Dims], attributes: Mapping[str, Any], _results: Sequence[Dims]) -> Rule:
    given = _new(inputs[0])
    order = list(attributes.get("permutation", range(len(given))))
    if "dim0" in attributes:
        one, other = attributes["dim0"], attributes["dim1"]
        order[one], order[other] = order[other], order[one]
    return Rule([given], [[given[dim] for dim in order]])


def regroups(inputs: Sequence[Dims], _attributes: Mapping[str, Any], results: Sequence[Dims]) -> Rule:
    """The same elements in other dimensions: those that are joined or split share factors, the outermost first."""
    have, want = inputs[0], results[0]
    left: Axes = [[] for _ in have]
    right: Axes = [[] for _ in want]
    one = other = 0
    rests = [have[0] if have else 1, want[0] if want else 1]
    while one < len(have) and other < len(want):
        if rests[0] == 1 and have[one] == 1:
            one, rests[0] = _next(have, one)
        elif rests[1] == 1 and want[other] == 1:
            other, rests[1] = _next(want, other)
        else:
            common = min(rests)
            if max(rests) % common if common else True:  # boundaries cross: 6 x 4 as 4 x 6
                left[one].append(Factor(rests[0], "whole"))
                right[other].append(Factor(rests[1], "whole"))
                return Rule([_whole_from(have, left, one)], [_whole_from(want, right, other)])
            factor = Factor(common)
            left[one].append(factor)
            right[other].append(factor)
            rests = [rests[0] // common, rests[1] // common]
            if rests[0] == 1:
                one, rests[0] = _next(have, one)
            if rests[1] == 1:
                other, rests[1] = _next(want, other)
    return Rule([left], [right])


def _next(dims: Dims, place: int) -> tuple[int, int]:
    return place + 1, dims[place + 1] if place + 1 < len(dims) else 1


def _whole_from(dims: Dims, factors: Axes, place: int) -> Axes:
    return [*factors[: place + 1], *([Factor(size, "whole")] for size in dims[place + 1 :])]


def same_size(inputs: Sequence[Dims], attributes: Mapping[str, Any], results: Sequence[Dims]) -> Rule:
    """Dimensions that keep their size are cut, others are whole: slices, paddings, repetitions, joined tensors."""
    made = _new(results[0])
    padding = attributes.get("padding", (0,) * (2 * len(made)))
    for dim, size in enumerate(results[0]):
        if any(dims[dim] != size for dims in inputs) or padding[2 * dim]:
            made[dim] = [Factor(size, "whole")]
    return Rule([[have if size == _size(have) else [Factor(size, "whole")] for size, have in zip(dims, made, strict=True)] for dims in inputs], [made])


def stretches(inputs: Sequence[Dims], _attributes: Mapping[str, Any], results: Sequence[Dims]) -> Rule:
    """Dimensions of size 1 become larger."""
    made = _new(results[0])
    return Rule([_over(inputs[0], made)], [made])


def reduces(inputs: Sequence[Dims], attributes: Mapping[str, Any], _results: Sequence[Dims]) -> Rule:
    """Over `dim_arg`, which stays whole."""
    return _reduced(inputs[0], attributes, "whole")


def sums(inputs: Sequence[Dims], attributes: Mapping[str, Any], _results: Sequence[Dims]) -> Rule:
    """The same, each chip over its part."""
    return _reduced(inputs[0], attributes, "sum")


def _reduced(dims: Dims, attributes: Mapping[str, Any], kind: Kind) -> Rule:
    given = attributes.get("dim_arg", attributes.get("dim"))
    over = tuple(range(len(dims))) if given is None else (given,) if isinstance(given, int) else tuple(given)
    made = _new(dims, over, kind)
    over = tuple(dim % len(dims) for dim in over)
    kept = [[] if dim in over else factors for dim, factors in enumerate(made) if attributes.get("keep_dim") or dim not in over]
    return Rule([made], [kept])


def along(name: str) -> Sharding:
    """The dimension that the attribute names stays whole; each other dimension of all operands and results is cut the same way."""

    def sharding(inputs: Sequence[Dims], attributes: Mapping[str, Any], results: Sequence[Dims]) -> Rule:
        dim = attributes[name] % len(inputs[0])
        if any(len(dims) != len(inputs[0]) for dims in (*inputs, *results)):
            return whole(inputs, attributes, results)
        common = [[Factor(size, "whole" if place == dim else "")] for place, size in enumerate(results[0])]
        alike = [
            [have if size == _size(have) and place != dim else [Factor(size, "whole")] for place, (size, have) in enumerate(zip(dims, common, strict=True))]
            for dims in (*inputs, *results)
        ]
        for place, factors in enumerate(common):  # one that differs anywhere is whole everywhere
            if any(each[place] is not factors for each in alike):
                for each, dims in zip(alike, (*inputs, *results), strict=True):
                    each[place] = [Factor(dims[place], "whole")]
        return Rule(alike[: len(inputs)], alike[len(inputs) :])

    return sharding


def by_rows(inputs: Sequence[Dims], attributes: Mapping[str, Any], _results: Sequence[Dims]) -> Rule:
    """Each row of the last dims (those of `normalized_shape`, or one) by itself, with all of the other operands."""
    count = len(attributes.get("normalized_shape") or (1,))
    made = _new(inputs[0], range(-count, 0))
    return Rule([made, *(_new(dims, range(len(dims))) for dims in inputs[1:])], [made])


def by_channel(inputs: Sequence[Dims], attributes: Mapping[str, Any], _results: Sequence[Dims]) -> Rule:
    """Element by element, with one number of each other operand for a channel (`dimension`)."""
    made = _new(inputs[0])
    channel = made[attributes["dimension"]]
    return Rule([made, *([channel] for _ in inputs[1:])], [made])


def looks_up(inputs: Sequence[Dims], attributes: Mapping[str, Any], results: Sequence[Dims]) -> Rule:
    """A row of a table for each index; where rows are cut, each chip gives zeros for those of others."""
    indices, table = inputs
    if len(table) != 2 or len(results[0]) != len(indices) + 1:
        return whole(inputs, attributes, results)
    made = _new(indices)
    columns = [Factor(table[1])]
    return Rule([made, [[Factor(table[0], "sum")], columns]], [[*made, columns]])


def attends(inputs: Sequence[Dims], attributes: Mapping[str, Any], results: Sequence[Dims]) -> Rule:
    """Users and heads by themselves; several query heads may share one of keys and values."""
    query, key, value, *others = inputs
    if any(len(dims) != 4 for dims in inputs) or query[1] % key[1] or attributes.get("sliding_window_size"):
        return whole(inputs, attributes, results)
    users, pairs, group = Factor(query[0]), Factor(key[1]), Factor(query[1] // key[1])
    heads = [factor for factor in (pairs, group) if factor.size > 1]
    own = [pairs] if pairs.size > 1 else []
    rows, columns = [Factor(query[2], "whole")], [Factor(key[2], "whole")]
    depth, width = [Factor(query[3], "whole")], [Factor(value[3], "whole")]
    masks = [
        [[users] if mask[0] == query[0] else [], heads if mask[1] == query[1] else [], rows if mask[2] == query[2] else [], columns] for mask in others[:1]
    ]
    rest = [_new(dims, range(len(dims))) for dims in others[1:]]
    return Rule([[[users], heads, rows, depth], [[users], own, columns, depth], [[users], own, columns, width], *masks, *rest],
                [[[users], heads, rows, width]])  # fmt: skip


def images(inputs: Sequence[Dims], attributes: Mapping[str, Any], results: Sequence[Dims]) -> Rule:
    """Images [N, H, W, C] by themselves (or in the order that the attributes say), with all of the other operands."""
    batch = attributes.get("batch_dim", 0)
    if attributes.get("flattened_compat_info") is not None or inputs[0][batch] != results[0][batch]:
        return whole(inputs, attributes, results)
    count = [Factor(inputs[0][batch])]

    def one(dims: Dims) -> Axes:
        return [count if dim == batch else [Factor(size, "whole")] for dim, size in enumerate(dims)]

    return Rule([one(inputs[0]), *(_new(dims, range(len(dims))) for dims in inputs[1:])], [one(dims) for dims in results])
