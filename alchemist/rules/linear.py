"""TTIR: matrix products, as one `linear` or `matmul` of the fewest views."""

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
from alchemist.rewrite.match import Exact, Maybe, Once, Op, V, behind

ACTIVATION = "alchemist.activation"
PRODUCTS = "matmul|linear"

x, w, b = V("x"), V("w"), V("b")


def _is_of_rows(at: Mapping[str, Any]) -> bool:
    """Whether reshapes flatten the rows in front of the product and only they change behind it."""
    rows, out = shape(at["product"].operands[0]), shape(at["after"].results[0])
    plain = not access.attr(at["product"], "transpose_a") and len(shape(at["w"])) == len(rows) == 2
    return plain and len(out) > 2 and out[-1] == shape(at["product"].results[0])[-1]


def _on_its_rank(b: Builder, at: Mapping[str, Any]) -> SSAValue:
    rows, out = at["product"].operands[0], shape(at["after"].results[0])
    return b.like(at["product"], {0: Value(b, at["x"]).reshape(*out[:-1], shape(rows)[-1]).ssa})


def _is_cast_anyway(at: Mapping[str, Any]) -> bool:
    """Whether the reshape reads a vector, or a value that is cast to this type elsewhere too."""
    kind = element_type(at["cast"].results[0])
    casts = (use.operation for use in at["x"].uses if use.operation.name == "ttir.typecast")
    return len(shape(at["x"])) == 1 or any(element_type(one.results[0]) == kind for one in casts)


def _cast_first(b: Builder, at: Mapping[str, Any]) -> SSAValue:
    cast = b.op("ttir.typecast", [at["x"]], of=element_type(at["cast"].results[0]))
    return Value(b, cast).reshape(*shape(at["cast"].results[0])).ssa


KEEP_RANK = Rules(
    "ttir",
    # typecast(reshape(x)) -> reshape(typecast(x)): a weight stays a vector, and a norm of groups reads the value that it scales
    Rule("casts of their own rank", Op("typecast", Exact("reshape", x), name="cast"), _cast_first, guard=_is_cast_anyway),
    Rule(
        "rows of their own rank",  # reshape(linear(reshape(x, [B*S, K]), w), [B, S, N]) -> linear(reshape(x, [B, S, K]), w)
        Exact("reshape", Once(Exact(PRODUCTS, Exact("reshape", x), w, Maybe(b), name="product")), name="after"),
        _on_its_rank,
        guard=_is_of_rows,
    ),
)


def _is_one_matrix(at: Mapping[str, Any]) -> bool:
    """Whether only leading dims of size 1 are broadcast, for a product that has no other batches than its first operand."""
    left, wide, matrix = shape(at["x"]), shape(at["product"].operands[1]), shape(at["w"])
    same = len(left) == len(wide) > 2 and shape(at["product"].results[0])[:-2] == left[:-2] and not access.attr(at["product"], "transpose_a")
    return same and matrix[-2:] == wide[-2:] and math.prod(matrix[:-2]) == 1


def _by_one_matrix(b: Builder, at: Mapping[str, Any]) -> SSAValue:
    return b.like(at["product"], {1: Value(b, at["w"]).reshape(*shape(at["w"])[-2:]).ssa})


SHARED_WEIGHTS = Rules(
    "ttir",
    Rule(
        "one matrix for all batches",  # matmul(x, broadcast(w)) -> matmul(x, w)
        Exact(PRODUCTS, x, Exact("broadcast", Exact("reshape", w) | w), Maybe(b), name="product"),
        _by_one_matrix,
        guard=_is_one_matrix,
    ),
)


def _swaps_matrices(at: Mapping[str, Any]) -> bool:
    order, (left, right) = list(access.attr(at["turn"], "permutation")), at["product"].operands
    return len(shape(left)) == len(shape(right)) == len(order) and order.index(len(order) - 1) < order.index(len(order) - 2)


def _transposed(b: Builder, at: Mapping[str, Any]) -> SSAValue:
    flags = {f"transpose_{one}": not access.attr(at["product"], f"transpose_{other}") for one, other in ("ab", "ba")}
    order = access.attr(at["turn"], "permutation")
    swapped = {len(order) - 1: len(order) - 2, len(order) - 2: len(order) - 1}
    return Value(b, at["w"]).matmul(at["x"], **flags).permute(*(swapped.get(dim, dim) for dim in order)).ssa


TRANSPOSED_PRODUCTS = Rules(
    "ttir",
    Rule(
        "transposed product",  # permute(x @ y) -> y^T @ x^T, where the permute swaps rows and columns
        Exact("permute", Once(Exact("matmul", x, w, name="product")), name="turn"),
        _transposed,
        guard=_swaps_matrices,
    ),
)


def _is_bias(at: Mapping[str, Any]) -> bool:
    out = shape(at["product"].results[0])
    plain = len(out) > 1 and shape(at["sum"].results[0]) == out and ACTIVATION not in at["product"].attributes
    return plain and shape(at["b"])[-1:] == out[-1:] and math.prod(shape(at["b"])[:-1]) == 1


def _with_bias(b: Builder, at: Mapping[str, Any]) -> SSAValue:
    flags = {key: access.attr(at["product"], key) for key in ("transpose_a", "transpose_b")}
    bias, _, _ = behind(at["b"], None, lambda value: len(shape(value)) == 1)
    return b.value("ttir.linear", [at["x"], at["w"], bias if len(shape(bias)) == 1 else at["b"]], flags, [at["sum"].results[0].type])


LINEAR = Rules(
    "ttir",
    Rule(
        "bias of a product",  # matmul(x, w) + b -> linear(x, w, b)
        Op("add", Once(Exact(PRODUCTS, x, w, name="product")), b, name="sum"),
        _with_bias,
        guard=_is_bias,
    ),
)
