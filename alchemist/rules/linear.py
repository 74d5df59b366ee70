"""TTIR: rewrites matrix products to one `linear` or `matmul` with few views."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.builder import Builder
from alchemist.ir.value import Value
from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import Exact, Maybe, Once, Op, V, through_views

ACTIVATION = "alchemist.activation"
PRODUCTS = "matmul|linear"

x, w, b = V("x"), V("w"), V("b")


def _is_of_rows(bound: Mapping[str, Any]) -> bool:
    """Whether reshapes flatten the rows before the product and restore only the row dims after it."""
    rows, out = shape(bound["product"].operands[0]), shape(bound["after"].results[0])
    plain = not access.attr(bound["product"], "transpose_a") and len(shape(bound["w"])) == len(rows) == 2
    return plain and len(out) > 2 and out[-1] == shape(bound["product"].results[0])[-1]


def _on_its_rank(b: Builder, bound: Mapping[str, Any]) -> SSAValue:
    rows, out = bound["product"].operands[0], shape(bound["after"].results[0])
    return b.like(bound["product"], {0: Value(b, bound["x"]).reshape(*out[:-1], shape(rows)[-1]).ssa})


def _is_cast_anyway(bound: Mapping[str, Any]) -> bool:
    """Whether the reshape reads a vector, or a value that is cast to this type elsewhere too."""
    kind = element_type(bound["cast"].results[0])
    casts = (use.operation for use in bound["x"].uses if use.operation.name == "ttir.typecast")
    return len(shape(bound["x"])) == 1 or any(element_type(cast.results[0]) == kind for cast in casts)


def _cast_first(b: Builder, bound: Mapping[str, Any]) -> SSAValue:
    cast = b.op("ttir.typecast", [bound["x"]], of=element_type(bound["cast"].results[0]))
    return Value(b, cast).reshape(*shape(bound["cast"].results[0])).ssa


KEEP_RANK = Rules(
    "ttir",
    # typecast(reshape(x)) -> reshape(typecast(x)): a weight stays a vector, and a group norm reads the value that it scales
    Rule("casts of their own rank", Op("typecast", Exact("reshape", x), name="cast"), _cast_first, guard=_is_cast_anyway),
    Rule(
        "rows of their own rank",  # reshape(linear(reshape(x, [B*S, K]), w), [B, S, N]) -> linear(reshape(x, [B, S, K]), w)
        Exact("reshape", Once(Exact(PRODUCTS, Exact("reshape", x), w, Maybe(b), name="product")), name="after"),
        _on_its_rank,
        guard=_is_of_rows,
    ),
)


def _is_one_matrix(bound: Mapping[str, Any]) -> bool:
    """Whether only leading dims of size 1 are broadcast, and the product has the batch dims of its first operand."""
    left, wide, matrix = shape(bound["x"]), shape(bound["product"].operands[1]), shape(bound["w"])
    same = len(left) == len(wide) > 2 and shape(bound["product"].results[0])[:-2] == left[:-2] and not access.attr(bound["product"], "transpose_a")
    return same and matrix[-2:] == wide[-2:] and math.prod(matrix[:-2]) == 1


def _by_one_matrix(b: Builder, bound: Mapping[str, Any]) -> SSAValue:
    return b.like(bound["product"], {1: Value(b, bound["w"]).reshape(*shape(bound["w"])[-2:]).ssa})


SHARED_WEIGHTS = Rules(
    "ttir",
    Rule(
        "one matrix for all batches",  # matmul(x, broadcast(w)) -> matmul(x, w)
        Exact(PRODUCTS, x, Exact("broadcast", Exact("reshape", w) | w), Maybe(b), name="product"),
        _by_one_matrix,
        guard=_is_one_matrix,
    ),
)


def _swaps_matrices(bound: Mapping[str, Any]) -> bool:
    order, (left, right) = list(access.attr(bound["turn"], "permutation")), bound["product"].operands
    return len(shape(left)) == len(shape(right)) == len(order) and order.index(len(order) - 1) < order.index(len(order) - 2)


def _transposed(b: Builder, bound: Mapping[str, Any]) -> SSAValue:
    flags = {f"transpose_{side}": not access.attr(bound["product"], f"transpose_{opposite}") for side, opposite in ("ab", "ba")}
    order = access.attr(bound["turn"], "permutation")
    swapped = {len(order) - 1: len(order) - 2, len(order) - 2: len(order) - 1}
    return Value(b, bound["w"]).matmul(bound["x"], **flags).permute(*(swapped.get(dim, dim) for dim in order)).ssa


TRANSPOSED_PRODUCTS = Rules(
    "ttir",
    Rule(
        "transposed product",  # permute(x @ y) -> y^T @ x^T, where the permute swaps rows and columns
        Exact("permute", Once(Exact("matmul", x, w, name="product")), name="turn"),
        _transposed,
        guard=_swaps_matrices,
    ),
)


def _is_bias(bound: Mapping[str, Any]) -> bool:
    out = shape(bound["product"].results[0])
    plain = len(out) > 1 and shape(bound["sum"].results[0]) == out and ACTIVATION not in bound["product"].attributes
    return plain and shape(bound["b"])[-1:] == out[-1:] and math.prod(shape(bound["b"])[:-1]) == 1


def _with_bias(b: Builder, bound: Mapping[str, Any]) -> SSAValue:
    flags = {key: access.attr(bound["product"], key) for key in ("transpose_a", "transpose_b")}
    bias, _, _ = through_views(bound["b"], None, lambda value: len(shape(value)) == 1)
    return b.value("ttir.linear", [bound["x"], bound["w"], bias if len(shape(bias)) == 1 else bound["b"]], flags, [bound["sum"].results[0].type])


LINEAR = Rules(
    "ttir",
    Rule(
        "bias of a product",  # matmul(x, w) + b -> linear(x, w, b)
        Op("add", Once(Exact(PRODUCTS, x, w, name="product")), b, name="sum"),
        _with_bias,
        guard=_is_bias,
    ),
)
