"""Small functions that a rule's pattern matches, one per spelling, and what a rule makes of them: a rule that changes their values is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from alchemist.errors import InternalError
from alchemist.ir.access import shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ops.evaluate import run
from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import Either, Maybe, Num, Op, Pattern, Product, Reduce, V

SHAPE = (2, 4, 64)
ARGUMENTS = {"x": SHAPE, "w": SHAPE[-1:], "b": SHAPE[-1:]}
TTIR_NAMES = {"divide": "div"}


class _Writer:
    """Writes a pattern as TTIR. choices: which option of an `Either` is taken, the first where it is not said."""

    def __init__(self, numbers: Mapping[str, float], choices: Mapping[Either, int]) -> None:
        self.b = Builder.module("forward", [(name, tensor(dims, "f32"), "input", None) for name, dims in ARGUMENTS.items()])
        self.values: dict[str, SSAValue] = dict(zip(ARGUMENTS, self.b.args, strict=True))
        self.numbers, self.choices = numbers, choices

    def op(self, name: str, operands: list[Any], attributes: Mapping[str, Any] | None = None, dims: tuple[int, ...] | None = None) -> SSAValue:
        wide = np.broadcast_shapes(*(shape(one) for one in operands if one is not None)) if dims is None else dims
        of = "i1" if name in ("gt", "ge", "lt", "le", "eq", "ne") else "f32"
        return self.b.value(f"ttir.{TTIR_NAMES.get(name, name)}", operands, attributes or {}, [tensor(wide, of)])

    def write(self, pattern: Pattern) -> Any:
        match pattern:
            case V():
                return self.values[pattern.name]
            case Num():
                value = self.numbers[pattern.value] if isinstance(pattern.value, str) else pattern.value
                return self.op("full", [], {"shape": (1, 1, 1), "fill_value": float(value)}, (1, 1, 1))
            case Maybe():
                return None
            case Either():
                return self.write(pattern.parts[self.choices.get(pattern, 0)])
            case Product():
                first, *rest = [self.write(one) for one in pattern.parts]
                for one in rest:
                    first = self.op("multiply", [first, one])
                return first
            case Reduce():
                of = self.write(pattern.operands[0])
                return self.op(pattern.first, [of], {"dim_arg": [len(SHAPE) - 1], "keep_dim": True}, (*shape(of)[:-1], 1))
            case Op():
                attributes = {key: one for key, one in pattern.attributes.items() if not isinstance(one, Num)}
                if pattern.first in ("rms_norm", "layer_norm"):
                    attributes |= {"normalized_shape": SHAPE[-1:], "epsilon": 1e-5}
                return self.op(pattern.first, [self.write(one) for one in pattern.operands], attributes)
            case _:
                return self.write(pattern.parts[0])


def _options(pattern: Pattern) -> Iterator[Either]:
    if isinstance(pattern, Either):
        yield pattern
    for part in pattern.parts:
        yield from _options(part)


def spellings(rule: Rule) -> Iterator[ModuleOp]:
    """Functions that the rule's pattern ends: with the first option of each choice, then with each other one."""
    if rule.samples is None:
        return
    options = list(dict.fromkeys(_options(rule.before)))
    for choices in ({}, *({option: index} for option in options for index in range(1, len(option.parts)))):
        writer = _Writer(rule.samples, choices)
        writer.b.ret([writer.write(rule.before)])
        yield writer.b.module_op


def check(rule: Rule) -> int:
    """Applies the rule to its samples; returns how many there are. Raises: InternalError where it does not match, does not end or changes values."""
    random = np.random.default_rng(3)
    samples = list(spellings(rule))
    for before in samples:
        inputs = [random.uniform(-2, 2, dims).astype(np.float32) for dims in ARGUMENTS.values()]
        after = before.clone()
        Rules("ttir", rule).apply(after)
        names = [op.name for op in after.walk() if op.name.startswith("ttir.")]
        if len(names) >= sum(op.name.startswith("ttir.") for op in before.walk()):
            raise InternalError(f"rule {rule.name!r} does not match a spelling of its own pattern", got=" ".join(names), expected=rule.place)
        after.verify()
        want, have = (run(module, inputs)[0] for module in (before, after))
        if not np.allclose(want, have, rtol=2e-2, atol=2e-2):
            raise InternalError(f"rule {rule.name!r} changes values", got=f"{float(np.abs(want - have).max()):.3g} apart", expected=rule.place)
    return len(samples)
