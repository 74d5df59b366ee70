"""Matrix products and einsum."""

from __future__ import annotations

import math
from collections.abc import Sequence

from alchemist.frontends import composites
from alchemist.frontends.onnx.emitter import Emitter, Tensor
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.registry import Node, rule
from alchemist.frontends.onnx.rules.eltwise import pointwise


@rule("MatMul")
def matmul(c: Emitter, node: Node, a: Tensor, b: Tensor) -> Tensor:
    return composites.matmul(c, a, b)


@rule("Gemm")
def gemm(c: Emitter, node: Node, a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """alpha a' b' + beta bias."""
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    flags = {"transpose_a": bool(node.get("transA", 0)), "transpose_b": bool(node.get("transB", 0))}
    columns = b.shape[0 if flags["transpose_b"] else 1]
    if alpha == 1 and (bias is None or (beta == 1 and bias.shape == (columns,))):
        return c.emit("linear", [a, b, bias], flags)
    out = c.emit("matmul", [a, b], flags)
    out = out if alpha == 1 else c.binary("multiply", out, alpha)
    if bias is None or beta == 0:
        return out
    return pointwise(c, "add", out, bias if beta == 1 else c.binary("multiply", bias, beta))


@rule("Einsum")
def einsum(c: Emitter, node: Node, *operands: Tensor) -> Tensor:
    """Pairs of operands from the left, each as one batched product."""
    left, _, right = node.get("equation", "").replace(" ", "").partition("->")
    terms = left.split(",")
    terms = [_without_dots(term, x.rank) for term, x in zip(terms, operands, strict=True)]
    letters = sorted({letter for term in terms for letter in term})
    dots = "".join(letter for letter in reversed(letters) if letter.isdigit())
    if "->" not in node.get("equation", ""):
        right = "..." + "".join(letter for letter in letters if letter.isalpha() and left.count(letter) == 1)
    result = right.replace("...", dots)
    if any(len(set(term)) != len(term) or len(term) != x.rank for term, x in zip(terms, operands, strict=True)):
        raise Unsupported("einsum with a diagonal (a repeated index in one operand)")
    sizes: dict[str, int] = {}
    for term, x in zip(terms, operands, strict=True):
        for letter, size in zip(term, x.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise Unsupported("einsum whose dimensions broadcast")
    x, term = operands[0], terms[0]
    for position in range(1, len(operands)):
        later = set(result).union(*terms[position + 1 :])
        x, term = _product(c, x, term, operands[position], terms[position], later, sizes)
    x, term = _summed(c, x, term, set(result))
    return c.permute(x, [term.index(letter) for letter in result])


def _without_dots(term: str, rank: int) -> str:
    """ "..." as digits, counted from the right."""
    missing = rank - len(term.replace("...", ""))
    return term.replace("...", "".join(str(i) for i in reversed(range(missing))))


def _summed(c: Emitter, x: Tensor, term: str, kept_letters: set[str]) -> tuple[Tensor, str]:
    summed_dims = [dim for dim, letter in enumerate(term) if letter not in kept_letters]
    return (c.reduce("sum", x, summed_dims, False), "".join(letter for letter in term if letter in kept_letters)) if summed_dims else (x, term)


def _product(c: Emitter, a: Tensor, a_term: str, b: Tensor, b_term: str, later: set[str], sizes: dict[str, int]) -> tuple[Tensor, str]:
    a, a_term = _summed(c, a, a_term, later | set(b_term))
    b, b_term = _summed(c, b, b_term, later | set(a_term))
    batch = [letter for letter in a_term if letter in b_term and letter in later]
    inner = [letter for letter in a_term if letter in b_term and letter not in later]
    rows = [letter for letter in a_term if letter not in b_term]
    columns = [letter for letter in b_term if letter not in a_term]

    def arranged(x: Tensor, term: str, *groups: Sequence[str]) -> Tensor:
        order = [term.index(letter) for group in groups for letter in group]
        dims = [*(sizes[letter] for letter in groups[0]), *(math.prod(sizes[letter] for letter in group) for group in groups[1:])]
        return c.reshape(c.permute(x, order), dims)

    product = composites.matmul(c, arranged(a, a_term, batch, rows, inner), arranged(b, b_term, batch, inner, columns))
    term = "".join([*batch, *rows, *columns])
    return c.reshape(product, [sizes[letter] for letter in term]), term
