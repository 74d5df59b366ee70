"""Control flow and calls: loops with a bound known now are unrolled, branches on data computed both and selected."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from alchemist.frontends.stablehlo.convert import Converter, Round, Stack, rule, type_of
from alchemist.frontends.stablehlo.rules_shape import concat, cut_val
from alchemist.frontends.stablehlo.stacked_weights import Loop
from alchemist.frontends.stablehlo.values import Unsupported, Val


def choose(c: Converter, mask: Val, yes: Val, no: Val) -> Val:
    """`yes` where the scalar `mask` holds, else `no`."""
    if (yes.ssa is not None and yes.ssa is no.ssa) or yes is no:
        return yes
    if yes.const is not None and no.const is not None and np.array_equal(yes.const, no.const):
        return yes
    spread = c.e.reshape(mask, (1,) * len(yes.shape))
    spread = Val(yes.shape, "i1", spread.ssa, spread.const)
    if yes.of == "i1":
        off = c.e.op("logical_not", spread)
        parts = [c.e.op("logical_and", spread, yes), c.e.op("logical_and", off, no)]
        return c.e.op("logical_or", *parts)
    return c.e.op("where", spread, yes, no)


@rule("stablehlo.while")
def while_loop(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    """Unrolled. A condition that depends on data beside a counter with a known end freezes the values once it fails."""
    varying, is_static = _varying(c, op, vals)
    running = list(vals)  # as if the loop went on: counters stay known
    stacks = _stacks(c, op, vals) if is_static else {}
    for index, stack in stacks.items():
        running[index] = stack.base
    if c.may_add_arguments and is_static:
        for index in varying - set(stacks):
            val = running[index]
            if val.const is not None and val.of in ("f32", "bf16") and math.prod(val.shape) > 1:
                running[index] = c.add_argument(np.ascontiguousarray(np.broadcast_to(val.const, val.shape)), val.shape, val.of)
    final = list(running)
    active: Val | None = None
    depth = c.depth
    c.stacks += stacks.values()
    loop = Loop([], [c.e.b.block.last_op])
    if not c.rounds:
        c.loops.append(loop)
    while True:
        (condition,) = c.region(op, 0, running)
        known = condition.scalar()
        if known is not None and not known:
            break
        if known is None:
            if not _is_bounded(c, op, running):
                raise Unsupported(
                    "control flow depends on data",
                    hint="give the loop a fixed number of steps (lax.fori_loop, lax.scan, or a counter in the condition)",
                )
            both = [active, condition]
            active = condition if active is None else c.e.op("logical_and", *(v for v in both if v is not None))
        c.rounds.append(Round(depth, f"@{c.converted + 1_000_000}"))
        made = c.region(op, 1, running)
        loop.suffixes.append(c.rounds.pop().suffix)
        loop.ends.append(c.e.b.block.last_op)
        if active is None:
            running, final = made, made
        else:
            final = [choose(c, active, new, old) for new, old in zip(made, final, strict=True)]
            running = [new if new.const is not None else kept for new, kept in zip(made, final, strict=True)]
        c.check_budget()
    for stack in stacks.values():
        c.stacks.remove(stack)
    return [_joined(c, stacks[i]) if i in stacks else val for i, val in enumerate(final)]


def _varying(c: Converter, op: Operation, vals: Sequence[Val]) -> tuple[set[int], bool]:
    """(values of the loop that are computed at run time, sooner or later; whether the condition is known at every step)."""
    found = {i for i, val in enumerate(vals) if val.const is None}
    while True:
        moved = _depends(c, op.regions[1].blocks[0], found)
        if moved <= found:
            return found, not _depends(c, op.regions[0].blocks[0], found)
        found |= moved


def _depends(c: Converter, block: Block, varying: set[int]) -> set[int]:
    """Which operands of the block's end depend on these of its arguments, or on outer values that are computed."""
    moving: set[SSAValue] = {arg for i, arg in enumerate(block.args) if i in varying}

    def moves(value: SSAValue) -> bool:
        outer = c.known(value)
        return value in moving or (outer is not None and outer.const is None)

    read: list[SSAValue] = []
    for one in block.ops:
        read = [value for inner in one.walk() for value in inner.operands]
        if any(moves(value) for value in read):
            moving.update(one.results)
    return {i for i, value in enumerate(read) if moves(value)}


def _stacks(c: Converter, op: Operation, vals: Sequence[Val]) -> dict[int, Stack]:
    """The results that a scan collects: constant at first, written slab by slab, read by nothing else in the loop."""
    body = op.regions[1].blocks[0]
    end = body.last_op
    found: dict[int, Stack] = {}
    for index, (arg, val) in enumerate(zip(body.args, vals, strict=True)):
        if end is None:
            break
        writer = end.operands[index].owner
        if val.const is None or not isinstance(writer, Operation) or any(use.operation is not writer for use in arg.uses):
            continue
        if op.regions[0].blocks[0].args[index].first_use is not None:
            continue
        update, target = _update_of(c, writer)
        if update is None or target is not arg:
            continue
        sizes = type_of(update.operands[1])[0]
        axes = [i for i, (a, b) in enumerate(zip(val.shape, sizes, strict=True)) if a != b]
        if len(axes) == 1 and sizes[axes[0]] == 1:
            found[index] = Stack(Val(val.shape, val.of, const=val.const), {}, axes[0])
    return found


def _update_of(c: Converter, writer: Operation) -> tuple[Operation | None, SSAValue | None]:
    """(the dynamic_update_slice that `writer` is or calls, the outer value that it updates)."""
    if writer.name == "stablehlo.dynamic_update_slice":
        return writer, writer.operands[0]
    function = c.functions.get(c.callee(writer)) if writer.name == "func.call" else None
    end = function.body.blocks[0].last_op if function is not None else None
    inner = end.operands[0].owner if end is not None and len(end.operands) == 1 else None
    if function is None or not isinstance(inner, Operation) or inner.name != "stablehlo.dynamic_update_slice":
        return None, None
    target = inner.operands[0]
    args = list(function.body.blocks[0].args)
    return (inner, writer.operands[args.index(target)]) if isinstance(target, BlockArgument) and target in args else (None, None)


def _joined(c: Converter, stack: Stack) -> Val:
    """The slabs in order, with what the buffer held before between them."""
    base, axis, count = stack.base, stack.axis, stack.base.shape[stack.axis]
    parts: list[Val] = []
    at = 0
    for place in [*sorted(stack.pieces), count]:
        if place > at:
            parts.append(cut_val(c, base, axis, at, place))
        if place < count:
            parts.append(stack.pieces[place])
        at = place + 1
    return concat(c, parts, axis)


def _is_bounded(c: Converter, op: Operation, running: Sequence[Val]) -> bool:
    """Whether the condition also compares a counter that is known now with a number."""
    block = op.regions[0].blocks[0]
    defined: dict[SSAValue, Val] = dict(zip(block.args, running, strict=True))

    def is_known(value: SSAValue, depth: int = 8) -> bool:
        if isinstance(value, BlockArgument) or value in defined:
            val = defined.get(value)
            return val is None or val.const is not None
        maker = value.owner
        if not isinstance(maker, Operation) or depth == 0:
            return False
        return all(is_known(operand, depth - 1) for operand in maker.operands)

    def counts(value: SSAValue, depth: int = 8) -> bool:
        if value in defined:
            return defined[value].const is not None and not defined[value].shape
        maker = value.owner
        return isinstance(maker, Operation) and depth > 0 and any(counts(operand, depth - 1) for operand in maker.operands)

    compares = [one for one in block.ops if one.name == "stablehlo.compare"]
    return any(all(is_known(v) for v in one.operands) and any(counts(v) for v in one.operands) for one in compares)


@rule("stablehlo.if")
def branch(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    value = vals[0].scalar()
    if value is not None:
        return c.region(op, 0 if value else 1, [])
    yes, no = c.region(op, 0, []), c.region(op, 1, [])
    return [choose(c, vals[0], one, two) for one, two in zip(yes, no, strict=True)]


@rule("stablehlo.case")
def case(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    """Of a computed index every branch is computed; the last one stands for indices out of range."""
    index, last = vals[0], len(op.regions) - 1
    value = index.scalar()
    if value is not None:
        return c.region(op, int(value) if 0 <= value <= last else last, [])
    results = c.region(op, last, [])
    for k in reversed(range(last)):
        same = c.e.op("eq", index, k)
        results = [choose(c, same, one, two) for one, two in zip(c.region(op, k, []), results, strict=True)]
    return results


@rule("stablehlo.optimization_barrier")
def barrier(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    return vals


@rule("stablehlo.rng_bit_generator")
def random(c: Converter, op: Operation, vals: list[Val]) -> Val:
    raise Unsupported("random numbers", hint="draw them outside and pass them as input; use deterministic=True for dropout")
