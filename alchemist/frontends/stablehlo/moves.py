"""Chains of permutes and reshapes that only add or drop dimensions of size 1, written with the fewest ops."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from alchemist.frontends.stablehlo.matching import Replace, op_of
from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder


@dataclass(frozen=True, slots=True)
class Path:
    """A value reached backwards through `length` moves.

    dims: for each dimension of the value the dimension of `root` that it is; -1 for dimensions of size 1 added on the way.
    """

    root: SSAValue
    dims: tuple[int, ...]
    length: int


def trace(value: SSAValue) -> Path:
    """Behind permutes and reshapes that only add or drop dimensions of size 1."""
    dims = list(range(len(shape(value))))
    root, length = value, 0
    while (op := op_of(root, "ttir.permute", "ttir.reshape")) is not None:
        source = op.operands[0]
        if op.name == "ttir.permute":
            order = access.attr(op, "permutation")
            dims = [order[d] if d >= 0 else -1 for d in dims]
        else:
            given, made = shape(source), shape(root)
            real_source = [i for i, n in enumerate(given) if n != 1]
            real_made = [i for i, n in enumerate(made) if n != 1]
            if [given[i] for i in real_source] != [made[i] for i in real_made]:
                break
            where = dict(zip(real_made, real_source, strict=True))
            dims = [where.get(d, -1) if d >= 0 else -1 for d in dims]
        root, length = source, length + 1
    return Path(root, tuple(dims), length)


def shorten(value: SSAValue, r: Replace) -> SSAValue | None:
    """The value made with fewer moves, None when that is not possible."""
    path = trace(value)
    if path.length < 2:
        return None
    target, given = shape(value), shape(path.root)
    wanted = [d for d, n in zip(path.dims, target, strict=True) if n != 1]
    if wanted == sorted(wanted):
        return r.reshape(path.root, target)
    spare = iter([i for i, n in enumerate(given) if n == 1])
    if len(given) == len(target):
        return r.permute(path.root, [d if n != 1 else next(spare) for d, n in zip(path.dims, target, strict=True)])
    if path.length < 3:
        return None
    # unit dimensions of the root keep their place where the order around them allows it
    order = [*(i for i, n in enumerate(given) if n == 1), *wanted]
    return r.reshape(r.permute(path.root, order), target)


def shorten_moves(block: Block) -> None:
    """Applies `shorten` to every permute and reshape; ops that fall out of use are left."""
    for op in list(block.ops):
        if op.name in ("ttir.permute", "ttir.reshape"):
            builder = Builder.in_place_of(op)
            made = shorten(op.results[0], Replace(builder))
            if made is not None:
                op.results[0].replace_all_uses_with(made)
