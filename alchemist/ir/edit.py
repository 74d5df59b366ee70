"""Helpers of transformations: walk, replace and erase ops, and keep their source locations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir.dialects import has_trait
from alchemist.ir.location import set_source, sources_of

T = TypeVar("T", bound=Hashable)


def functions(module: ModuleOp, *, const_eval: bool = True) -> Iterator[FuncOp]:
    """Functions with a body. const_eval: those of const-eval too."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.body.blocks and (const_eval or not is_const_eval(op)):
            yield op


_functions_of: WeakKeyDictionary[ModuleOp, WeakValueDictionary[str, FuncOp]] = WeakKeyDictionary()


def function_named(name: str, user: Operation) -> FuncOp | None:
    """The function that a symbol of the op `user` names, in the innermost module around it that has one."""
    scope = user.parent_op()
    while scope is not None:
        if isinstance(scope, ModuleOp):
            known = _functions_of.get(scope)
            func = known.get(name) if known is not None else None
            if func is None or func.parent_op() is not scope or func.sym_name.data != name:  # the module has other functions now
                _functions_of[scope] = WeakValueDictionary({func.sym_name.data: func for func in scope.ops if isinstance(func, FuncOp)})
                func = _functions_of[scope].get(name)
            if func is not None:
                return func
        scope = scope.parent_op()
    return None


def is_const_eval(func: FuncOp) -> bool:
    return "const_eval" in func.attributes or func.sym_name.data.startswith("const_eval_")


def all_ops(module: ModuleOp, *, const_eval: bool = True) -> Iterator[Operation]:
    """Ops of all functions (const_eval: those of const-eval too); they may be replaced meanwhile."""
    for func in functions(module, const_eval=const_eval):
        yield from list(func.body.block.ops)


def ops_named(module: ModuleOp, *names: str, const_eval: bool = True) -> Iterator[Operation]:
    """Ops with one of `names`, function by function; they may be replaced meanwhile. const_eval: those of const-eval functions too."""
    for func in functions(module, const_eval=const_eval):
        yield from [op for op in func.body.block.ops if op.name in names]


def rewrite(module: ModuleOp, change: Callable[[Operation], None], *names: str) -> None:
    """Calls `change` on each op with one of `names` that is still in the module; then erases dead ops."""
    for func in functions(module):
        for op in [op for op in func.body.block.ops if op.name in names]:
            if op.parent is not None:
                change(op)
        erase_dead(func)


def connected(items: Sequence[T], links: Iterable[tuple[T, T]]) -> list[list[T]]:
    """The items in groups that hang together by links between them; groups and their items in the order of the items."""
    parents = {item: item for item in items}

    def root(item: T) -> T:
        while (parent := parents[item]) is not item:
            parents[item] = parents[parent]
            item = parent
        return item

    for first, second in links:
        parents[root(first)] = root(second)
    groups: dict[T, list[T]] = {}
    for item in items:
        groups.setdefault(root(item), []).append(item)
    return list(groups.values())


def single_use(value: SSAValue) -> bool:
    """Whether exactly one operand of one op is `value`."""
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is None


def defining(value: SSAValue | None, *names: str) -> Operation | None:
    """The op that computes `value` if it has one of `names`."""
    op = getattr(value, "op", None)
    return op if op is not None and op.name in names else None


def made_by(value: SSAValue | None, trait: str) -> Operation | None:
    """The op that computes `value` if it has the trait."""
    op = getattr(value, "op", None)
    return op if op is not None and has_trait(op, trait) else None


def replace(op: Operation, values: list[SSAValue]) -> None:
    """Uses of `op`'s results become `values`; the op is erased."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    erase(op)


def erase(*ops: Operation) -> None:
    """Takes ops without other uses than by each other out of their blocks and drops them, the last one first."""
    for op in reversed(ops):
        op.detach()  # type: ignore[no-untyped-call]
        op.erase()


def add_sources(op: Operation, *others: Operation, before: bool = True) -> None:
    """Adds the sources of `others` to those of `op`, before them by default."""
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
