"""Control flow and calls: loops with a bound known now are unrolled, branches on data computed both and selected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.frontends.stablehlo.convert import Converter, rule
from alchemist.frontends.stablehlo.rules_eltwise import elementwise, fold
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
        off = elementwise(c, "logical_not", [spread], yes.shape, "i1")
        parts = [elementwise(c, "logical_and", [spread, yes], yes.shape, "i1"), elementwise(c, "logical_and", [off, no], yes.shape, "i1")]
        return elementwise(c, "logical_or", parts, yes.shape, "i1")
    return elementwise(c, "where", [spread, yes, no], yes.shape, yes.of)


@rule("stablehlo.while")
def while_loop(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    """Unrolled. A condition that depends on data beside a counter with a known end freezes the values once it fails."""
    running = list(vals)  # as if the loop went on: counters stay known
    final = list(vals)
    active: Val | None = None
    while True:
        (condition,) = c.region(op, 0, running)
        known = condition.scalar()
        if known is not None and not known:
            return final
        if known is None:
            if not _is_bounded(c, op, running):
                raise Unsupported(
                    "control flow depends on data", hint="give the loop a fixed number of steps (lax.fori_loop, lax.scan, or a counter in the condition)"
                )
            both = [active, condition]
            active = condition if active is None else elementwise(c, "logical_and", [v for v in both if v is not None], (), "i1")
        made = c.region(op, 1, running)
        if active is None:
            running, final = made, made
        else:
            final = [choose(c, active, new, old) for new, old in zip(made, final, strict=True)]
            running = [new if new.const is not None else kept for new, kept in zip(made, final, strict=True)]
        c.check_budget()


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
        same = fold(np.equal, [index, c.e.scalar(k, (), index.of)], (), "i1") or elementwise(c, "eq", [index, c.e.scalar(k, (), index.of)], (), "i1")
        results = [choose(c, same, one, two) for one, two in zip(c.region(op, k, []), results, strict=True)]
    return results


@rule("stablehlo.optimization_barrier", "sdy.sharding_constraint")
def barrier(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    return vals


@rule("stablehlo.composite")
def composite(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    return c.call(c.callee(op, "decomposition"), vals, c.e.source)


@rule("stablehlo.rng_bit_generator", "stablehlo.rng")
def random(c: Converter, op: Operation, vals: list[Val]) -> Val:
    raise Unsupported("random numbers", hint="draw them outside and pass them as input; use deterministic=True for dropout")
