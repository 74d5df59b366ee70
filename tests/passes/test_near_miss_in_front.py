"""What nearly fits stays, and does not keep a pass from what fits behind it."""

from __future__ import annotations

from pass_cases import CHANGES, UNCHANGED
from pass_graphs import names
from test_near_misses import NEAR
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import run_pipeline
from alchemist.ir.access import entry_function
from alchemist.ir.builder import Builder
from alchemist.passes import PASSES
from tests.tables import table


def in_one(*modules: ModuleOp) -> ModuleOp:
    """One function with the ops of several, one behind the other, and the inputs and results of all."""
    described, functions = [], [entry_function(module) for module in modules]
    for number, func in enumerate(functions):
        kinds = ["parameter" if "parameter" in str(facts) else "input" for facts in func.arg_attrs or []]
        described += [(f"m{number}_a{place}", arg.type, kind, None) for place, (arg, kind) in enumerate(zip(func.args, kinds, strict=True))]
    builder = Builder.module("forward", described)
    given, results = list(builder.args), []
    for func in functions:
        mapping = dict(zip(func.args, given, strict=False))
        given = given[len(func.args) :]
        *ops, last = func.body.block.ops
        for op in ops:
            builder.block.add_op(op.clone(mapping))
        results += [mapping[value] for value in last.operands]
    builder.ret(results)
    return builder.module_op


FITTING = {name: (case, before) for case, (name, before, _) in reversed(CHANGES.items())}
CASES = {case: (name, module) for case, (name, module) in (UNCHANGED | NEAR).items() if name in FITTING and not PASSES[name].own_options()}


def lone(module: ModuleOp, name: str) -> list[str]:
    made = module.clone()
    run_pipeline(made, name)
    return names(made)


@table("case", CASES)
def test_a_near_miss_does_not_end_the_pass(case: str) -> None:
    name, near = CASES[case]
    before = FITTING[name][1]
    assert lone(in_one(near, before), name) == [*names(near), *lone(before, name)]
