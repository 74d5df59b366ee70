"""TTIR: what a backward pass adds up for the input of a module has the gradient that bypasses the module as its last term."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import edit
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.edit import defining, rewrite, single_use
from alchemist.ir.location import SourceInfo, sources_of
from alchemist.ir.scopes import Chain, chain_of_source
from alchemist.passes.registry import Pass, register

_ADD = "ttir.add"


@register("residuals-last", fusing=True)
class ResidualsLast(Pass):
    """((t + a) + b) of a module that makes a and b becomes t + (a + b), and the last sum stands where the module is called.

    The backward pass of a norm is the same code then, whether a residual connection goes around it or not.
    """

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _reorder, _ADD)


def _is_sum(op: Operation) -> bool:
    sources = sources_of(op)
    same = op.name == _ADD and shape(op.operands[0]) == shape(op.results[0])
    return same and bool(sources) and len(chain_of_source(sources[-1])) > 1


def _module(op: Operation) -> Chain:
    return chain_of_source(sources_of(op)[-1])


def _goes_on(op: Operation) -> bool:
    """Whether the sum is only the beginning of one in the same module."""
    user = next(iter(op.results[0].uses)).operation if single_use(op.results[0]) else None
    return user is not None and user.operands[0] is op.results[0] and _is_sum(user) and _module(user) == _module(op)


def _reorder(op: Operation) -> None:
    if not _is_sum(op) or _goes_on(op):
        return
    module, ops = _module(op), [op]
    while (inner := defining(ops[-1].operands[0], _ADD)) is not None and single_use(inner.results[0]) and _is_sum(inner) and _module(inner) == module:
        ops.append(inner)
    bypass, terms = ops[-1].operands[0], [one.operands[1] for one in reversed(ops)]
    gradient = next((info for one in ops for info in sources_of(one)[-1:] if info.is_gradient), None)
    if shape(terms[0]) != shape(bypass) or any(_is_of(use.operation, module) for use in op.results[0].uses):
        return
    if gradient is None or _is_within(bypass, module) is not False or not all(_is_within(term, module) for term in terms):
        return
    total = terms[0]
    for term, old in zip(terms[1:], reversed(ops[:-1]), strict=True):
        b = Builder.before(old)
        b.source = sources_of(old)
        total = b.op(_ADD, [total, term], {}, [op.results[0].type])
    b = Builder.before(op)
    b.source = _where_called(gradient, module)
    edit.replace(op, [b.op(_ADD, [bypass, total], {}, [op.results[0].type])])


def _is_of(op: Operation, module: Chain) -> bool:
    """Whether the op is one of the module: then the sum is none for what goes into it."""
    sources = sources_of(op)
    return bool(sources) and chain_of_source(sources[-1])[: len(module)] == module


def _is_within(value: SSAValue, module: Chain) -> bool | None:
    """Whether an op of the module makes the value; None where that is unknown."""
    sources = sources_of(value.owner) if isinstance(value.owner, Operation) else ()
    return chain_of_source(sources[-1])[: len(module)] == module if sources else None


def _where_called(info: SourceInfo, module: Chain) -> SourceInfo:
    """The statement that calls the module."""
    index = info.scopes.index(module[-1])
    frames = info.frames[:index] if len(info.frames) == len(info.scopes) else info.frames[:-1]
    return replace(info, scopes=info.scopes[:index], frames=frames)
