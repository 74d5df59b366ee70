"""TTIR: products of single steps with one weight become one product of all steps: what a recurrent cell does to its inputs."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, defining, erase_dead, functions, replace
from alchemist.ir.location import sources_of
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import reshaped, sliced

LEAST_SHARE = 0.5
"""Of the steps: those that no product reads are multiplied for nothing."""


@register("products-of-steps", fusing=True, from_level=1)
class ProductsOfSteps(Pass):
    """linear(x[t], w) of an x [T, B, K] for most t become parts of one linear(x, w): the weight is read once, and a step's product is a slice."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            _join(func)
            erase_dead(func)


def _join(func: FuncOp) -> None:
    groups: dict[Any, dict[int, list[Operation]]] = {}
    for op in func.body.block.ops:
        if not has_trait(op, "product") or access.attr(op, "transpose_a") or len(shape(op.operands[1])) != 2:
            continue
        step = _step(op.operands[0])
        if step is not None:
            attributes = str(access.attrs(op))
            groups.setdefault((op.name, step[0], tuple(op.operands[1:]), attributes, op.results[0].type), {}).setdefault(step[1], []).append(op)
    for (_, whole, _, _, _), steps in groups.items():
        if 1 < len(steps) >= LEAST_SHARE * shape(whole)[0]:
            _replace(whole, steps)


def _step(value: SSAValue) -> tuple[SSAValue, int] | None:
    """The value of all steps, and which of them this is: its first dim is taken away or 1."""
    view = defining(value, "ttir.reshape")
    cut = defining(value if view is None else view.operands[0], "ttir.slice_static")
    if cut is None or any(step != 1 for step in access.attr(cut, "step")):
        return None
    whole, begins, dims = cut.operands[0], access.attr(cut, "begins"), shape(cut.results[0])
    if len(dims) < 3 or dims[0] != 1 or dims[1:] != shape(whole)[1:] or shape(value) not in (dims, dims[1:]):
        return None
    return whole, int(begins[0])


def _replace(whole: SSAValue, steps: dict[int, list[Operation]]) -> None:
    """In front of the first product: what it multiplies with is there by then, and is the same for all. steps: products in program order."""
    first = next(iter(steps.values()))[0]
    b = Builder.before(first)
    b.source = sources_of(first)
    width = shape(first.results[0])[-1]
    dims = (*shape(whole)[:-1], width)
    made = b.make(first.name, [whole, *first.operands[1:]], access.attrs(first), [tensor(dims, element_type(first.results[0]))])
    for step, ops in steps.items():
        for op in ops:
            add_sources(made, op)
            at = Builder.before(op)
            at.source = sources_of(op)
            cut = sliced(at, made.results[0], [step, *(0 for _ in dims[1:])], [step + 1, *dims[1:]])
            replace(op, [reshaped(at, cut, shape(op.results[0]))])
