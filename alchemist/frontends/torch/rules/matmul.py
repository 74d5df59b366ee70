"""Matrix products. Vectors become one-row or one-column matrices; batch dimensions broadcast as in torch.matmul."""

from __future__ import annotations

import torch

from alchemist.frontends import composites
from alchemist.frontends.torch.emitter import Emitter, Scalar, Tensor
from alchemist.frontends.torch.registry import recipe, rule
from alchemist.frontends.torch.rules.reduce import vector_norm


@rule("aten.linear.default")
def linear(c: Emitter, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.rank == 1:
        return c.reshape(product(c, x, c.reshape(weight, [weight.shape[0], 1])), c.out_shape)
    rows = c.reshape(x, [1, *x.shape]) if x.rank == 1 else x
    out = c.emit("linear", [rows, weight, bias], {"transpose_a": False, "transpose_b": True})
    return c.reshape(out, c.out_shape)


def product(c: Emitter, a: Tensor, b: Tensor) -> Tensor:
    """Matrix product of operands of rank >= 2."""
    return composites.matmul(c, a, b)


@rule("aten.matmul.default", "aten.mm.default", "aten.bmm.default", "aten.mv.default", "aten.dot.default", "aten.vdot.default")
def matmul(c: Emitter, a: Tensor, b: Tensor) -> Tensor:
    return composites.matmul(c, a, b)


def _plus(c: Emitter, addend: Tensor, value: Tensor, beta: Scalar, alpha: Scalar, *, blas: bool = True) -> Tensor:
    """beta * addend + alpha * value. An operand with a factor of 0 is not read: no NaN comes from it (of the product in BLAS alone)."""
    if alpha == 0 and blas:
        value = c.full(value.shape, 0, value.dtype)
    elif alpha != 1:
        value = c.binary("multiply", value, alpha)
    if beta == 0:
        return value
    if beta != 1:
        addend = c.binary("multiply", addend, beta)
    return c.emit("add", [addend, value])


@rule("aten.addmm.default")
def addmm(c: Emitter, bias: Tensor, a: Tensor, b: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    if alpha == 1 and beta == 1 and bias.rank == 1:
        return c.emit("linear", [a, b, bias], {"transpose_a": False, "transpose_b": False})
    return _plus(c, bias, product(c, a, b), beta, alpha)


@rule("aten.baddbmm.default")
def baddbmm(c: Emitter, addend: Tensor, a: Tensor, b: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    return _plus(c, addend, matmul_value(c, a, b), beta, alpha, blas=False)


@rule("aten.addmv.default")
def addmv(c: Emitter, addend: Tensor, a: Tensor, b: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    return _plus(c, addend, matmul_value(c, a, b), beta, alpha)


@recipe("aten.addbmm.default")
def addbmm(addend: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> torch.Tensor:
    if not addend.dtype.is_floating_point:
        beta, alpha = int(beta), int(alpha)
    product = torch.bmm(a, b).sum(0, dtype=a.dtype) * alpha if alpha else torch.zeros(a.shape[1], b.shape[2], dtype=addend.dtype)
    return product if beta == 0 else addend * beta + product


@recipe("aten._int_mm.default")
def int_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A product of int8 matrices in int32."""
    return torch.mm(a.to(torch.int32), b.to(torch.int32))


def matmul_value(c: Emitter, a: Tensor, b: Tensor) -> Tensor:
    return composites.matmul(c, a, b)


@recipe("aten.bilinear.default")
def bilinear(a: torch.Tensor, b: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    rows = torch.matmul(a.unsqueeze(-2).unsqueeze(-3), weight)  # [..., out, 1, in_b]
    out = (rows * b.unsqueeze(-2).unsqueeze(-2)).sum(-1, dtype=a.dtype).squeeze(-1)
    return out if bias is None else out + bias


@recipe("aten._cdist_forward.default", "aten.cdist.default")
def cdist(a: torch.Tensor, b: torch.Tensor, p: float = 2.0, compute_mode: int | None = None) -> torch.Tensor:
    return vector_norm(a.unsqueeze(-2) - b.unsqueeze(-3), p, [-1])


@recipe("aten._pdist_forward.default")
def pdist(x: torch.Tensor, p: float = 2.0) -> torch.Tensor:
    """Distances of all pairs of rows, line by line."""
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1)
    return vector_norm(x[first] - x[second], p, [-1])


@recipe("aten._grouped_mm.default", "transformers.grouped_mm_fallback.default")
def grouped_mm(
    x: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor, bias: torch.Tensor | None = None, out_dtype: torch.dtype | None = None
) -> torch.Tensor:
    """Rows of `x` sorted by expert, `offs` their running counts: every expert on all rows, the others' rows set to zero."""
    if x.dim() != 2 or weight.dim() != 3 or bias is not None:
        raise NotImplementedError("grouped_mm other than [rows, in] x [experts, in, out]")
    place = torch.arange(x.shape[0])
    until = (place.unsqueeze(0) < offs.unsqueeze(1)).to(x.dtype)
    before = torch.cat([torch.zeros(1, x.shape[0], dtype=x.dtype), until[:-1]])
    member = (until - before).unsqueeze(-1)
    out = torch.bmm(member * x.unsqueeze(0), weight).sum(0)
    return out if out_dtype is None else out.to(out_dtype)
