"""TTNN: orders the statements of a function."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access, edit
from alchemist.ir.access import shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import named
from alchemist.ir.edit import connected, defining, functions, ops_named, rewrite, single_use
from alchemist.ir.location import SourceInfo, is_gradient, set_source, sources_of
from alchemist.ir.scopes import Chain, Group, assign_chains, chain_of_source, common_prefix, group
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import IN_PLACE, INLINE, SHAPING
from alchemist.passes.registry import Pass, register

# --- Orders the ops of a function so that those of one module call are contiguous, and iterations of an unrolled loop are equal. The emitted
# program has its statements in this order; lifetimes follow from it (`deallocate.py`).

MIN_PARTS = 3
"""Least number of parts of a concat that count as iterations."""
MIN_ROUNDS = 4
"""Least number of parts for which all forms move, not only the last one: three may be query, key and value."""
_FIRST = ("ttnn.get_device", "ttcore.load_cached")
"""Ops that emit no statement."""


@register("order-by-module")
class OrderByModule(Pass):
    """Joins runs of ops of one module call that other ops were moved between, where nothing depends on the order."""

    recover_structure: bool = True

    def run(self, module: ModuleOp) -> None:
        if self.recover_structure:
            reorder(module, _by_module)


@register("order-joined")
class OrderJoined(Pass):
    """Ops that give the parts of a concat another form stand right behind the ops that make the parts: iterations of an unrolled loop are alike."""

    recover_structure: bool = True

    def run(self, module: ModuleOp) -> None:
        if self.recover_structure:
            reorder(module, _forms_at_makers)


class Body:
    """The ops of a function that run, in order: all but handles, literals, prepared weights and the return."""

    def __init__(self, func: FuncOp) -> None:
        every = list(func.body.block.ops)
        self.ops = [op for op in every if not isinstance(op, ReturnOp) and op.name not in _FIRST and INLINE not in op.attributes]
        self._position = {op: index for index, op in enumerate(every)}
        self.place = {op: index for index, op in enumerate(self.ops)}
        kinds = [facts.get("ttcore.argument_type", "input") for facts in access.argument_attrs(func)]
        self._weights: set[SSAValue] = {argument for argument, kind in zip(func.args, kinds, strict=False) if kind != "input"}

    def inputs(self, op: Operation) -> list[SSAValue]:
        """Operands other than weights and tensors prepared from them."""
        values = [value for value in op.operands if value not in self._weights]
        return [
            value
            for value in values
            if not isinstance(value.owner, Operation) or (value.owner.name != "ttnn.get_device" and INLINE not in value.owner.attributes)
        ]

    def readers(self, value: SSAValue) -> list[Operation]:
        return sorted({use.operation for use in value.uses}, key=self._position.__getitem__)

    def keeps_meaning(self, order: Sequence[Operation]) -> bool:
        """Whether the order keeps every dependence: definitions before uses, and in-place writes among the readers of their tensor."""
        if len(order) != len(self.ops):
            return False
        places = {op: index for index, op in enumerate(order)}
        for index, op in enumerate(order):
            if any(isinstance(value.owner, Operation) and places.get(value.owner, -1) >= index for value in op.operands):
                return False
            for value in written(op):
                for user in self.readers(value):
                    if user is not op and user in places and (self._position[user] < self._position[op]) != (places[user] < index):
                        return False
        return True


def written(op: Operation) -> Sequence[SSAValue]:
    """The operands that an op may change."""
    if isinstance(op, CallOp):
        return op.operands
    return op.operands[:1] if not op.results or op.name in IN_PLACE else ()


def reorder(module: ModuleOp, arrange: Callable[[Body], list[Operation]]) -> None:
    for func in functions(module, const_eval=False):
        body = Body(func)
        order = arrange(body)
        if order != body.ops and body.keeps_meaning(order):
            end = func.body.block.last_op
            assert end is not None
            for op in order:
                op.detach()  # type: ignore[no-untyped-call]
            func.body.block.insert_ops_before(order, end)


# ------------------------------------------------------------------------------------------------------------- by module


def _by_module(body: Body) -> list[Operation]:
    chains = assign_chains(
        body.ops,
        sources_of,
        lambda op: (user for result in op.results for user in body.readers(result)),
        lambda op: any(isinstance(use.operation, ReturnOp) for result in op.results for use in result.uses),
    )
    root = group(body.ops, chains)
    pending = [root]
    while pending:
        parent = pending.pop()
        split: dict[str, list[Group[Operation]]] = {}
        for item in parent.items:
            if isinstance(item, Group):
                split.setdefault(item.scope.path, []).append(item)
        for runs in split.values():
            if len({tuple(op.name for op in run.ops()) for run in runs}) > 1:  # equal runs are calls of their own, not pieces of one
                while len(runs) > 1 and _join(parent, runs[0], runs[1]):
                    del runs[1]
        pending.extend(item for item in parent.items if isinstance(item, Group))
    return list(root.ops())


def _join(parent: Group[Operation], first: Group[Operation], second: Group[Operation]) -> bool:
    """Moves `second` up to `first`; ops between them that depend on `first` move after both, the others before. False if impossible."""
    start, end = parent.items.index(first), parent.items.index(second)
    needs_first: set[SSAValue] = {value for op in first.ops() for value in op.results}
    before: list[Operation | Group[Operation]] = []
    behind: list[Operation | Group[Operation]] = []
    moved_values: set[SSAValue] = set()
    for item in parent.items[start + 1 : end]:
        if any(value in needs_first for op in _ops(item) for value in op.operands):
            moved_values.update(value for op in _ops(item) for value in op.results)
            needs_first |= moved_values
            behind.append(item)
        else:
            before.append(item)
    if any(value in moved_values for op in second.ops() for value in op.operands):
        return False
    if _clash([first], before) or _clash(behind, [second]):
        return False
    first.items.extend(second.items)
    parent.items[start : end + 1] = [*before, first, *behind]
    return True


def _clash(items: Sequence[Operation | Group[Operation]], moved_items: Sequence[Operation | Group[Operation]]) -> bool:
    """Whether one of the two groups writes a tensor in place that the other touches."""
    item_ops, moved_ops = ([op for item in group for op in _ops(item)] for group in (items, moved_items))
    touched = [{value for op in ops for value in op.operands} for ops in (item_ops, moved_ops)]
    changed = [{value for op in ops for value in written(op)} for ops in (item_ops, moved_ops)]
    return bool(changed[0] & touched[1] or changed[1] & touched[0])


def _ops(item: Operation | Group[Operation]) -> Iterator[Operation]:
    return item.ops() if isinstance(item, Group) else iter((item,))


# --------------------------------------------------------------------------------------------------------- parts of joins


def _forms_at_makers(body: Body) -> list[Operation]:
    """Where the first part is the value before the loop, moves each form before the op that computes the next part from it."""
    behind: dict[Operation, list[Operation]] = {}
    before: dict[Operation, list[Operation]] = {}
    moved_ops: set[Operation] = set()
    for op in body.ops:
        if op.name != "ttnn.concat" or len(op.operands) < MIN_PARTS:
            continue
        chains = [_forms(body, value, op)[-1 if len(op.operands) < MIN_ROUNDS else 0 :] for value in op.operands]
        steps = {tuple(form.name for form in chain) for chain in chains[1:]}
        if len(steps) != 1 or not all(chains) or any(not moved_ops.isdisjoint(chain) for chain in chains):
            continue
        sources = [body.inputs(chain[0])[0] for chain in chains]
        makers = [value.owner if isinstance(value.owner, Operation) and value.owner in body.place else None for value in sources]
        names = [maker.name if maker is not None else "" for maker in makers]
        readers = _next_makers(body, [chain[0] for chain in chains], sources) if names[0] != names[1] else []
        if not readers and not all(names):
            continue
        for index, chain in enumerate(chains):
            moved_ops.update(chain)
            maker = makers[index]
            if readers:
                before.setdefault(readers[index], []).extend(chain)
            elif maker is not None:
                behind.setdefault(maker, []).extend(chain)
    return [emitted for op in body.ops if op not in moved_ops for emitted in (*before.get(op, []), op, *behind.get(op, []))]


def _forms(body: Body, value: SSAValue, reader: Operation) -> list[Operation]:
    """The chain of ops that converts a value to the form in which the reader takes it."""
    forms: list[Operation] = []
    while isinstance(value.owner, Operation) and _is_form(body, value.owner, reader):
        reader = value.owner
        forms.insert(0, reader)
        value = body.inputs(reader)[0]
    return forms


def _next_makers(body: Body, forms: Sequence[Operation], sources: Sequence[SSAValue]) -> list[Operation]:
    """The ops that compute the next part from each source: the first user of the first source that all others have too. Empty if there is none."""
    rows = [[user for user in body.readers(value) if user is not form] for form, value in zip(forms, sources, strict=True)]
    for first in rows[0]:
        next_makers = [next((user for user in row if user.name == first.name), None) for row in rows]
        makers = [maker for maker in next_makers if maker is not None]
        if len(makers) == len(rows):
            return makers
    return []


def _is_form(body: Body, op: Operation, joined: Operation) -> bool:
    return op.name in SHAPING and len(body.inputs(op)) == 1 and all(use.operation is joined for use in op.results[0].uses)


# --- Groups an optimizer's ops by parameter: its moments, their corrections, the new value. ---

MIN_UPDATES = 3
"""Parameters that the same ops update."""
MIN_ALONE = 4
"""Least number of ops of an update in a function without a backward pass."""


@register("order-updates")
class OrderUpdates(Pass):
    """The ops behind the backward pass run parameter by parameter, not moment by moment."""

    recover_structure: bool = True

    def run(self, module: ModuleOp) -> None:
        if self.recover_structure:
            reorder(module, _by_parameter)


def _by_parameter(body: Body) -> list[Operation]:
    behind = _updates(body)
    shared = _shared(body, behind)
    updates = behind - shared
    links = [(op, value.owner) for op in updates for value in op.operands if isinstance(value.owner, Operation) and value.owner in updates]
    groups = connected([op for op in body.ops if op in updates], links)
    shapes = Counter(tuple(op.name for op in ops) for ops in groups)
    if not shapes or max(shapes.values()) < MIN_UPDATES or not (_has_gradients(body) or _is_all_updates(groups)):
        return body.ops

    def turn(ops: list[Operation]) -> tuple[int, int]:
        """Parameters follow each other as the backward pass makes their gradients."""
        read = (value.owner for op in ops for value in op.operands)
        positions = [body.place[owner] for owner in read if isinstance(owner, Operation) and owner in body.place and owner not in updates]
        return max(positions, default=-1), body.place[ops[0]]

    ordered = [op for ops in sorted(groups, key=turn) for op in ops]
    return [*(op for op in body.ops if op not in behind), *(op for op in body.ops if op in shared), *ordered]


def _has_gradients(body: Body) -> bool:
    return any(map(is_gradient, body.ops))


def _updates(body: Body) -> set[Operation]:
    """The ops after the last gradient; all ops if the function gets its gradients as arguments."""
    places = [body.place[op] for op in body.ops if is_gradient(op)]
    return set(body.ops[places[-1] + 1 :]) if places else set(body.ops)


def _is_number(value: SSAValue) -> bool:
    return math.prod(shape(value)) == 1


def _shared(body: Body, updates: set[Operation]) -> set[Operation]:
    """The ops on numbers that all parameters share: a learning rate, the norm of all gradients."""
    shared: set[Operation] = set()
    pending = [op for op in body.ops if op in updates and op.results and all(map(_is_number, op.results))]
    while pending:
        op = pending.pop()
        if op not in shared:
            shared.add(op)
            pending += [value.owner for value in op.operands if isinstance(value.owner, Operation) and value.owner in updates]
    return shared


def _is_all_updates(groups: Iterable[Sequence[Operation]]) -> bool:
    """Whether all groups are elementwise, each on tensors of one shape, and long enough to be updates."""
    for ops in groups:
        values = [value for op in ops for value in (*op.operands, *op.results) if math.prod(_dims(value)) != 1]
        if len(ops) < MIN_ALONE or len({_dims(value) for value in values}) != 1:
            return False
    return True


def _dims(value: SSAValue) -> tuple[int, ...]:
    return shape(value) if isinstance(value.type, TensorType) else ()


# --- TTIR: in the sum of gradients of a module's input, the gradient that bypasses the module becomes the last term. ---

_ADD = "ttir.add"


@register("residuals-last", fusing=True)
class ResidualsLast(Pass):
    """((t + a) + b) of a module that makes a and b becomes t + (a + b), and the last sum stands where the module is called.

    So the backward pass of a norm is the same code with or without a residual connection around the norm.
    """

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _reorder, _ADD)


def _is_sum(op: Operation) -> bool:
    sources = sources_of(op)
    same = op.name == _ADD and shape(op.operands[0]) == shape(op.results[0])
    return same and bool(sources) and len(chain_of_source(sources[-1])) > 1


def _module(op: Operation) -> Chain:
    return chain_of_source(sources_of(op)[-1])


def _is_continued(op: Operation) -> bool:
    """Whether another sum of the same module reads this sum."""
    user = next(iter(op.results[0].uses)).operation if single_use(op.results[0]) else None
    return user is not None and user.operands[0] is op.results[0] and _is_sum(user) and _module(user) == _module(op)


def _reorder(op: Operation) -> None:
    if not _is_sum(op) or _is_continued(op):
        return
    module, ops = _module(op), [op]
    while (inner := defining(ops[-1].operands[0], _ADD)) is not None and single_use(inner.results[0]) and _is_sum(inner) and _module(inner) == module:
        ops.append(inner)
    bypass, terms = ops[-1].operands[0], [op.operands[1] for op in reversed(ops)]
    gradient = next((info for op in ops for info in sources_of(op)[-1:] if info.is_gradient), None)
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
    """Whether the op belongs to the module: then the sum is not of its input's gradients."""
    sources = sources_of(op)
    return bool(sources) and chain_of_source(sources[-1])[: len(module)] == module


def _is_within(value: SSAValue, module: Chain) -> bool | None:
    """Whether an op of the module computes the value; None if unknown."""
    sources = sources_of(value.owner) if isinstance(value.owner, Operation) else ()
    return chain_of_source(sources[-1])[: len(module)] == module if sources else None


def _where_called(info: SourceInfo, module: Chain) -> SourceInfo:
    """The statement that calls the module."""
    index = info.scopes.index(module[-1])
    frames = info.frames[:index] if len(info.frames) == len(info.scopes) else info.frames[:-1]
    return replace(info, scopes=info.scopes[:index], frames=frames)


@register("constants-last", fusing=True)
class ConstantsLast(Pass):
    """(x + a) + b with parameters or constants a and b, as of positions and token types, becomes x + (a + b), whose last sum const-eval computes once."""

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            fixed = FixedValues(func)
            for op in [op for op in func.body.block.ops if op.name == _ADD]:
                inner = defining(op.operands[0], _ADD)
                kinds = {value.type for value in (*op.operands[:1], *op.results)}
                if inner is None or not single_use(inner.results[0]) or len(kinds) > 1 or is_gradient(op) or op.operands[1] not in fixed:
                    continue
                x, first = inner.operands
                if x in fixed or first not in fixed or x.type not in kinds or access.element_type(first) != access.element_type(op.operands[1]):
                    continue
                b = Builder.before(op)
                b.source = sources_of(op)
                dims = np.broadcast_shapes(shape(first), shape(op.operands[1]))
                op.operands[1] = b.op(_ADD, [first, op.operands[1]], {}, [tensor(dims, access.element_type(first))])
                op.operands[0] = x
                edit.add_sources(op, inner)
            edit.erase_dead(func)


# --- A conversion that several modules share belongs to the module of its operand, not to its first reader. ---


def scope_path(op: Operation) -> tuple[str, ...]:
    """Module paths around an op, outermost first: ("", "encoder", "encoder.layer.0", ...)."""
    infos = sources_of(op)
    return tuple(scope.path for scope in infos[0].scopes) if infos else ()


@register("place-conversions")
class PlaceConversions(Pass):
    """Moves shared typecasts and layout changes behind the op that made their operand."""

    def run(self, module: ModuleOp) -> None:
        for op in ops_named(module, *named("ttnn", "conversion"), "ttnn.repeat", const_eval=False):
            users = list(dict.fromkeys(use.operation for use in op.results[0].uses if sources_of(use.operation)))
            if len(users) < 2 or not sources_of(op):
                continue
            paths = [scope_path(user) for user in users]
            shared = common_prefix(paths)
            depth = min(len(path) for path in paths)
            maker = op.operands[0].owner
            if len(shared) < depth - 1 and isinstance(maker, Operation) and sources_of(maker):
                op.detach()  # type: ignore[no-untyped-call]
                assert maker.parent is not None
                maker.parent.insert_op_after(op, maker)
                set_source(op, *sources_of(maker))
            elif len(shared) < len(scope_path(op)):
                set_source(op, *(_cut(info, len(shared)) for info in sources_of(op)))


def _cut(info: SourceInfo, depth: int) -> SourceInfo:
    return SourceInfo(info.scopes[:depth], info.frames, info.op, info.name, info.helper)
