"""The pass registry: `PASSES[name]` runs alone (`alchemist opt INPUT.mlir --<name>`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir.dialects import has_trait
from alchemist.ir.location import set_source, sources_of
from alchemist.options import CompilerOptions


@dataclass(frozen=True, slots=True)
class Pass:
    """A module transformation, in place. name: as on the command line. doc: one line. fusing: may be switched off."""

    name: str
    doc: str
    run: Callable[[ModuleOp, CompilerOptions], None]
    fusing: bool = False

    def apply(self, module: ModuleOp, options: CompilerOptions) -> None:
        """Runs the pass unless the options leave it out."""
        if not self.fusing or (options.enable_fusing and self.name not in options.disable):
            self.run(module, options)


PASSES: dict[str, Pass] = {}


def register(name: str, *, fusing: bool = False) -> Callable[[Callable[[ModuleOp, CompilerOptions], None]], Pass]:
    """Decorator; the first line of the docstring is the pass's description."""

    def add(function: Callable[[ModuleOp, CompilerOptions], None]) -> Pass:
        doc = (function.__doc__ or "").strip().splitlines()[0]
        PASSES[name] = Pass(name, doc, function, fusing)
        return PASSES[name]

    return add


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """Functions with a body."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.body.blocks:
            yield op


def is_const_eval(func: FuncOp) -> bool:
    return "const_eval" in func.attributes or func.sym_name.data.startswith("const_eval_")


def single_use(value: SSAValue) -> bool:
    """Whether exactly one operand of one op is `value`."""
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is None


def defining(value: SSAValue | None, *names: str) -> Operation | None:
    """The op that makes `value` if it has one of `names`."""
    op = getattr(value, "op", None)
    return op if op is not None and op.name in names else None


def replace(op: Operation, values: list[SSAValue]) -> None:
    """Uses of `op`'s results become `values`; the op is erased."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    erase(op)


def erase(op: Operation) -> None:
    """Takes an op without uses out of its block and drops it."""
    op.detach()  # type: ignore[no-untyped-call]
    op.erase()


def add_sources(op: Operation, *others: Operation, before: bool = True) -> None:
    """Adds the sources of `others` to those of `op`, in front of them by default."""
    own = sources_of(op)
    more = tuple(info for other in others for info in sources_of(other))
    merged = tuple(dict.fromkeys(more + own if before else own + more))
    if merged:
        set_source(op, *merged)


def erase_dead(func: FuncOp) -> int:
    """Erases pure ops without uses, one backward walk; returns how many."""
    count = 0
    for op in reversed(list(func.body.block.ops)):
        if has_trait(op, "pure") and not any(True for result in op.results for _ in result.uses):
            erase(op)
            count += 1
    return count
