"""A plan for models that bring none, from what their linear layers are to each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.frontends.base import Argument
from alchemist.ir import access
from alchemist.ir.op_class import named
from alchemist.mesh.fused import out_dim
from alchemist.ops import POINTWISE, TTIR_OPS
from alchemist.ops.axes import by_rows

_VIEWS = named("ttir", "view", "move", "selects") | {"ttir.concat"}
_NORMS = frozenset(name for name, spec in TTIR_OPS.items() if spec.axes is by_rows)
_LINEAR = named("ttir", "product")


def own_plan(func: FuncOp, arguments: Sequence[Argument], chips: int) -> dict[str, int]:
    """Name of a weight -> the dimension that is cut.

    What feeds an attention by heads, what reads it by inputs; of two linear layers with functions of elements between them the first by outputs,
    the second by inputs; tables that inputs index, and a last layer as long as one, by rows. What does not divide stays whole.
    """
    found: dict[str, int] = {}
    ops = list(func.body.block.ops)

    def cut(op: Operation, dim: int) -> bool:
        name = _weight(op, arguments)
        if name is None or access.shape(op.operands[1])[dim] % chips or found.get(name, dim) != dim:
            return False
        found[name] = dim
        return True

    def may_be_second(op: Operation) -> bool:
        name = _weight(op, arguments)
        return name is not None and found.get(name, 1 - out_dim(op)) == 1 - out_dim(op)

    for op in ops:
        if op.name == "ttir.scaled_dot_product_attention" and all(access.shape(value)[1] % chips == 0 for value in op.operands[:2]):
            before = [maker for value in op.operands[:3] for maker in _makers(value)]
            behind = list(_readers(op.results[0], _VIEWS))
            if before and behind:
                for maker in before:
                    cut(maker, out_dim(maker))
                for reader in behind:
                    cut(reader, 1 - out_dim(reader))
    for op in ops:
        if op.name in _LINEAR and _weight(op, arguments) not in (None, *found):
            behind = list(_readers(op.results[0], _VIEWS | POINTWISE))
            if behind and all(map(may_be_second, behind)) and cut(op, out_dim(op)):
                for reader in behind:
                    cut(reader, 1 - out_dim(reader))
    lengths = set()
    for op in ops:
        table = op.operands[1] if op.name == "ttir.embedding" else None
        if isinstance(table, BlockArgument) and arguments[table.index].kind == "parameter" and _is_input(op.operands[0], arguments):
            rows = access.shape(table)[0]
            if rows % chips == 0:
                found[arguments[table.index].name] = 0
                lengths.add(rows)
    for op in ops:
        name = _weight(op, arguments) if op.name in _LINEAR else None
        if name is not None and name not in found and access.shape(op.operands[1])[out_dim(op)] in lengths:
            found[name] = out_dim(op)
    return found


def fewer_heads(func: FuncOp, arguments: Sequence[Argument], chips: int) -> set[str]:
    """Weights whose outputs are fewer heads than chips divide: a chip would have a part of a head."""
    found = set()
    for op in func.body.block.ops:
        name = _weight(op, arguments) if op.name in _LINEAR else None
        for user in (use.operation for use in (op.results[0].uses if name else ())):
            if user.name == "ttir.reshape":
                dims, width = access.shape(user.results[0]), access.shape(op.results[0])[-1]
                if dims[-1] != width and dims[-1] * dims[-2] == width and dims[-2] % chips and name:
                    found.add(name)
    return found


def patterns(found: dict[str, int]) -> dict[str, int]:
    """The same with `*` for the numbers of layers, where all of a kind are cut alike."""
    made: dict[str, int] = {}
    for name, dim in found.items():
        pattern = re.sub(r"(?<=\.)\d+(?=\.)", "*", name)
        if made.setdefault(pattern, dim) != dim:
            return found
    return made


def _weight(op: Operation, arguments: Sequence[Argument]) -> str | None:
    value = op.operands[1]
    known = isinstance(value, BlockArgument) and len(access.shape(value)) == 2 and arguments[value.index].kind == "parameter"
    return arguments[value.index].name if isinstance(value, BlockArgument) and known else None


def _makers(value: SSAValue) -> Iterator[Operation]:
    """The linear layers that a value comes from, through views, norms and functions of elements."""
    work, seen = [value], set()
    while work:
        op = work.pop().owner
        if not isinstance(op, Operation) or op in seen:
            continue
        seen.add(op)
        if op.name in _LINEAR:
            yield op
        elif op.name in _VIEWS | POINTWISE | _NORMS:
            work += op.operands


def _readers(value: SSAValue, through: frozenset[str]) -> Iterator[Operation]:
    """The linear layers that read a value; none where anything else does."""
    work, seen, found = [value], set(), []
    while work:
        for use in work.pop().uses:
            op = use.operation
            if op.name in _LINEAR and use.index == 0:
                found.append(op)
            elif op.name in through:
                if op not in seen:
                    seen.add(op)
                    work += op.results
            else:
                return
    yield from dict.fromkeys(found)


def _is_input(value: SSAValue, arguments: Sequence[Argument]) -> bool:
    while isinstance(value.owner, Operation) and value.owner.name in _VIEWS | {"ttir.typecast"}:
        value = value.owner.operands[0]
    return isinstance(value, BlockArgument) and arguments[value.index].kind == "input"
