"""TTNN: ELU and softplus written out, in the forms of torch, JAX and ONNX, become the library's ops: one device program instead of four or five."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ops.spec import inline_scalar
from alchemist.passes.registry import Pass, add_sources, defining, erase_dead, functions, register, replace, single_use

STABLE_THRESHOLD = 20.0
"""From here on softplus is its argument in every format: log(1 + exp(-20)) is 2e-9. torch's and the library's default."""

Parts = list[Operation]


@register("fuse-piecewise", fusing=True)
class FusePiecewise(Pass):
    """where(x > 0, x, a * expm1(min(x, 0))) becomes ttnn.elu; where(x > t, x, log1p(exp(min(x, t)))) and relu(x) + log1p(exp(-|x|)) become ttnn.softplus."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in list(func.body.block.ops):
                if op.parent is None or len(op.operands) < 2:
                    continue
                if op.name == "ttnn.where":
                    _try(op, _elu_by_choice, _softplus_by_choice)
                elif op.name == "ttnn.add":
                    _try(op, _elu_by_sum, _softplus_by_sum)
            erase_dead(func)


Found = tuple[str, SSAValue, dict[str, float], Parts]
"""Op, its input, its attributes, the ops that it stands for."""


def _try(op: Operation, *forms: Callable[[Operation, Parts], Found | None]) -> None:
    for form in forms:
        found = form(op, [])
        if found is not None:
            name, x, attributes, parts = found
            if x.type != op.results[0].type:
                continue
            made = Builder.before(op).make(f"ttnn.{name}", [x], attributes, [op.results[0].type])
            add_sources(made, *parts, op)
            replace(op, list(made.results))
            return


def _number(value: SSAValue) -> float | None:
    found = inline_scalar(value)
    return float(found) if found is not None else None


def _inner(value: SSAValue, name: str, parts: Parts) -> Operation | None:
    """The op of that name that makes a value which nothing else reads."""
    op = defining(value, f"ttnn.{name}") if single_use(value) else None
    if op is not None:
        parts.append(op)
    return op


def _with_number(value: SSAValue, name: str, parts: Parts) -> tuple[SSAValue, float] | None:
    """(x, number) of an op of x and a number; value itself need not be read once."""
    op = defining(value, f"ttnn.{name}")
    number = _number(op.operands[1]) if op is not None and len(op.operands) == 2 else None
    if op is None or number is None or shape(op.operands[0]) != shape(value):
        return None
    parts.append(op)
    return op.operands[0], number


def _scaled(value: SSAValue, parts: Parts) -> tuple[SSAValue, float]:
    """(x, factor) of a value that is x times a factor, alone."""
    for name, inverse in (("multiply", False), ("divide", True)):
        found = _with_number(value, name, parts) if single_use(value) else None
        if found is not None and found[1] > 0:
            return found[0], 1 / found[1] if inverse else found[1]
    return value, 1.0


def _low_exponential(value: SSAValue, x: SSAValue, parts: Parts) -> float | None:
    """alpha of a value that is alpha * expm1(min(x, 0))."""
    low, alpha = _scaled(value, parts)
    exponential = _inner(low, "expm1", parts)
    if exponential is None:
        return None
    least = exponential.operands[0]
    if _with_number(least, "minimum", parts) == (x, 0.0):
        return alpha
    chosen = defining(least, "ttnn.where")  # where(x > 0, 0, x)
    if chosen is None or _number(chosen.operands[1]) != 0.0 or chosen.operands[2] is not x:
        return None
    parts.append(chosen)
    return alpha if _with_number(chosen.operands[0], "gt", parts) == (x, 0.0) else None


def _elu_by_choice(op: Operation, parts: Parts) -> Found | None:
    condition, x, low = op.operands
    alpha = _low_exponential(low, x, parts) if _with_number(condition, "gt", parts) == (x, 0.0) else None
    return ("elu", x, {"alpha": alpha}, parts) if alpha is not None else None


def _elu_by_sum(op: Operation, parts: Parts) -> Found | None:
    for one, other in (tuple(op.operands), tuple(op.operands)[::-1]):
        high = defining(one, "ttnn.relu")
        alpha = _low_exponential(other, high.operands[0], parts) if high is not None else None
        if high is not None and alpha is not None:
            return "elu", high.operands[0], {"alpha": alpha}, [high, *parts]
    return None


def _softplus_by_choice(op: Operation, parts: Parts) -> Found | None:
    condition, x, soft = op.operands
    unscaled, factor = _scaled(soft, parts)
    logarithm = _inner(unscaled, "log1p", parts)
    exponential = _inner(logarithm.operands[0], "exp", parts) if logarithm is not None else None
    above = _with_number(condition, "gt", parts)
    if exponential is None or above is None or _with_number(exponential.operands[0], "minimum", parts) != above:
        return None
    scaled, threshold = above
    beta = 1.0
    if scaled is not x:
        times = _with_number(scaled, "multiply", parts)
        if times is None or times[0] is not x:
            return None
        beta = times[1]
    return ("softplus", x, {"beta": beta, "threshold": threshold}, parts) if abs(beta * factor - 1) < 1e-6 else None


def _softplus_by_sum(op: Operation, parts: Parts) -> Found | None:
    for one, other in (tuple(op.operands), tuple(op.operands)[::-1]):
        high = defining(one, "ttnn.relu")
        logarithm = _inner(other, "log1p", parts) if high is not None else None
        exponential = _inner(logarithm.operands[0], "exp", parts) if logarithm is not None else None
        negated = _inner(exponential.operands[0], "neg", parts) if exponential is not None else None
        size = _inner(negated.operands[0], "abs", parts) if negated is not None else None
        if high is not None and size is not None and size.operands[0] is high.operands[0]:
            return "softplus", high.operands[0], {"beta": 1.0, "threshold": STABLE_THRESHOLD}, [high, *parts]
    return None
