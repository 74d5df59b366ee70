"""Weights that lie stacked, one slab for every round of a scan over layers, become one argument per layer.

`scan(layer, x, params)` reads slab k of every leaf of `params` in round k. As arguments of their own, called `layers.0.w`, `layers.1.w`, the slabs
are what the same model has without a scan: the program's loop over layers finds them in a scope, and nothing is sliced on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import Scope, SourceInfo, set_source, sources_of
from alchemist.ir.scopes import common_prefix

LAYERS = "layers"
"""Name of the slabs' list if the stacked weights have no common name."""


@dataclass(frozen=True, slots=True)
class Slab:
    """An argument that was added: place `index` of the argument `stacked`, without its first dimension."""

    name: str
    stacked: str
    index: int


@dataclass(slots=True)
class Loop:
    """An unrolled loop. suffixes: of the scopes of each round. ends: the last op before each round, and after the last one."""

    suffixes: list[str]
    ends: list[Operation | None]


@dataclass(slots=True)
class _Stack:
    """An argument and, for every round, the slices that take its slab. places: the slab of each round."""

    argument: BlockArgument
    name: str
    reads: list[list[Operation]]
    places: list[int]


def split_stacked(builder: Builder, names: Sequence[str], kinds: Sequence[str], loops: Sequence[Loop]) -> list[Slab]:
    """Replaces parameters whose slabs are each read in one round of one loop; the slabs become arguments after the others.

    names, kinds: of the block's arguments. The arguments that were replaced stay without users.
    """
    positions = {id(op): position for position, op in enumerate(builder.block.ops)}
    stacks_of: dict[int, list[_Stack]] = {}
    for name, kind, argument in zip(names, kinds, builder.block.args, strict=False):
        if kind != "parameter":
            continue
        for number, loop in enumerate(loops):
            stack = _stack(argument, name, loop, positions)
            if stack is not None:
                stacks_of.setdefault(number, []).append(stack)
                break
    used_names = set(names)
    slabs: list[Slab] = []
    for number, stacks in stacks_of.items():
        if all(len(shape(stack.argument)) < 3 for stack in stacks):
            continue  # rows of a table that a scan over time reads, no layers
        prefix = _prefix([stack.name for stack in stacks])
        if any(name.startswith(f"{prefix}.{digit}") for name in used_names for digit in range(10)):
            continue  # a list of that name holds other weights
        _mark_rounds(builder, stacks, loops[number], prefix, positions)
        for stack in stacks:
            slabs += _split(builder, stack, prefix)
        used_names.update(slab.name for slab in slabs)
    return slabs


def _stack(argument: BlockArgument, name: str, loop: Loop, positions: dict[int, int]) -> _Stack | None:
    """The argument, if every use takes one slab whole, each slab is taken and each round takes one."""
    dims = shape(argument)
    rounds = len(loop.suffixes)
    if len(dims) < 2 or dims[0] != rounds or rounds < 2:
        return None
    reads: list[list[Operation]] = [[] for _ in range(rounds)]
    places: list[int] = [-1] * rounds
    ends = [positions[id(end)] if end is not None else -1 for end in loop.ends]
    for use in argument.uses:
        op = use.operation
        place = _slab(op, dims)
        turn = next((k for k in range(rounds) if ends[k] < positions.get(id(op), -1) <= ends[k + 1]), None)
        if place is None or turn is None or places[turn] not in (-1, place):
            return None
        places[turn] = place
        reads[turn].append(op)
    return _Stack(argument, name, reads, places) if sorted(places) == list(range(rounds)) else None


def _slab(op: Operation, dims: tuple[int, ...]) -> int | None:
    """The place along the first dimension that a slice takes alone and whole."""
    if op.name != "ttir.slice_static":
        return None
    begins, ends, step = (tuple(access.attr(op, name)) for name in ("begins", "ends", "step"))
    whole = begins[1:] == (0,) * (len(dims) - 1) and ends[1:] == dims[1:] and set(step) == {1}
    return int(begins[0]) if whole and ends[0] == begins[0] + 1 else None


def _prefix(names: Sequence[str]) -> str:
    """`blocks` for blocks.norm.scale and blocks.mlp.kernel; a leaf's own name is no list's."""
    return ".".join(common_prefix([name.split(".")[:-1] for name in names])) or LAYERS


def _split(builder: Builder, stack: _Stack, prefix: str) -> list[Slab]:
    dims, of = shape(stack.argument), access.element_type(stack.argument)
    rest = stack.name.removeprefix(f"{prefix}.")
    slabs: list[Slab] = []
    for place, ops in sorted(zip(stack.places, stack.reads, strict=True)):
        slab = builder.block.insert_arg(tensor(dims[1:], of), len(builder.block.args))
        slab.location = stack.argument.location
        slabs.append(Slab(f"{prefix}.{place}.{rest}", stack.name, place))
        for op in ops:
            _read(op, slab)
    return slabs


def _read(op: Operation, slab: SSAValue) -> None:
    """What a slice of one slab made is the slab with a first dimension of 1; where that is dropped again, it is the slab."""
    result = op.results[0]
    block = op.parent
    assert block is not None
    for use in list(result.uses):
        user = use.operation
        if user.name == "ttir.reshape" and shape(user.results[0]) == shape(slab):
            user.results[0].replace_all_uses_with(slab)
            block.erase_op(user)
    if result.first_use:
        inner = Builder(block, before=op)
        inner.source = sources_of(op)
        reshaped = inner.op("ttir.reshape", [slab], {"shape": shape(result)}, [result.type])
        result.replace_all_uses_with(reshaped)
    block.erase_op(op)


def _mark_rounds(builder: Builder, stacks: Sequence[_Stack], loop: Loop, prefix: str, positions: dict[int, int]) -> None:
    """Scopes inside a round get their weights from the round's slabs."""
    places = stacks[0].places
    if any(stack.places != places for stack in stacks):
        return  # one goes forwards and one backwards: no scope contains both
    ends = [positions[id(end)] if end is not None else -1 for end in loop.ends]
    turn = 0
    for position, op in enumerate(list(builder.block.ops)):
        while turn < len(loop.suffixes) and position > ends[turn + 1]:
            turn += 1
        if turn < len(loop.suffixes) and position > ends[turn]:
            set_source(op, *(_inside(info, loop.suffixes[turn], prefix, places[turn]) for info in sources_of(op)))


def _inside(info: SourceInfo, suffix: str, prefix: str, place: int) -> SourceInfo:
    scopes: list[Scope] = []
    for scope in info.scopes:
        head, mark, rest = scope.path.partition("@")
        if suffix in f"@{rest}" and mark:
            below = head.removeprefix(prefix).removeprefix(".") if f"{head}.".startswith(f"{prefix}.") else head
            scope = Scope(".".join(part for part in (prefix, str(place), below) if part) + mark + rest, scope.class_name)
        scopes.append(scope)
    return replace(info, scopes=tuple(scopes))


__all__ = ["Loop", "Slab", "split_stacked"]
