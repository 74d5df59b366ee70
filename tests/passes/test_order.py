"""What stands together in the program: runs of a module, forms of joined values; and what must keep its place."""

from __future__ import annotations

import random

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp

import emit_py
from alchemist.ir.access import entry_function
from alchemist.ir.text import parse, print_module
from alchemist.options import CompilerOptions
from alchemist.passes import configure, lower_to_ttnn
from alchemist.passes.stages import ORDER_STAGES, passes_of
from alchemist.program import build_program
from tests.program.evaluate import run
from tests.program.models import transformer
from tests.tables import table

HEAD = """
#dram = #ttnn.buffer_type<dram>
#l = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
!t = tensor<32x32xbf16, #l>
func.func @forward(%x: !t, %y: !t) -> !t {
"""
ATTRIBUTES = {"concat": "<{dim = 0 : si32}>", "transpose": "<{dim0 = 0 : si32, dim1 = 1 : si32}>"}


def module_of(*lines: str) -> ModuleOp:
    """A line is `path: name = op input ...`, without name for an op that writes to its first input. The last value is returned."""
    body, name = [], "x"
    for line in lines:
        path, _, rest = line.partition(": ")
        made, _, call = rest.rpartition(" = ")
        op, *inputs = call.split()
        scope = f"|C[{path}]" if path else ""
        types = f"({', '.join(['!t'] * len(inputs))}) -> {'!t' if made else '()'}"
        head = f"%{made} = " if made else ""
        body.append(f'{head}"ttnn.{op}"({", ".join(f"%{one}" for one in inputs)}) {ATTRIBUTES.get(op, "")} : {types} loc("v|Net[]{scope}|op")')
        name = made or name
    return parse(HEAD + "\n".join(body) + f"\nreturn %{name} : !t\n}}", verify=False)


def run_pass(module: ModuleOp, name: str, **options: bool) -> None:
    for step in configure([name], CompilerOptions(**options)):
        step.run(module)


def order(module: ModuleOp) -> str:
    ops = [op for op in entry_function(module).body.block.ops if not isinstance(op, ReturnOp)]
    return " ".join(op.name.removeprefix("ttnn.") for op in ops)


A_SPLIT_BY_B = ("a: p = exp x", "b: q = relu y", "b: r = sqrt q", "a: s = log p", ": t = add r s")
CASES = {
    "a run that another module interrupts": ("order-by-module", A_SPLIT_BY_B, "relu sqrt exp log add"),
    "what needs the first piece goes behind": ("order-by-module", ("a: p = exp x", "b: q = relu p", "a: s = log p", ": t = add q s"), "exp log relu add"),
    "the second piece needs what lies between": ("order-by-module", ("a: p = exp x", "b: q = relu p", "a: s = log q"), ""),
    "equal runs are calls of their own": ("order-by-module", ("a: p = exp x", "b: q = relu y", "a: s = exp p", ": t = add q s"), ""),
    "a write in place lies between": ("order-by-module", ("a: p = exp x", "b: fill_cache y x", "a: s = log p"), "fill_cache exp log"),
    "a write in place of what the first piece reads": ("order-by-module", ("a: p = add x y", "b: fill_cache y x", "a: s = log p"), ""),
    "a write in place of what the second piece reads": (
        "order-by-module",
        ("a: p = exp x", "b: q = relu p", "b: fill_cache y q", "a: s = add p y", ": t = add q s"),
        "",
    ),
    "a write in place is moved": (
        "order-by-module",
        ("a: p = exp x", "b: q = relu y", "a: fill_cache y p", "a: s = log p", ": t = add q s"),
        "relu exp fill_cache log add",
    ),
    "forms of joined values": (
        "order-joined",
        ("p = exp x", "q = sqrt p", "r = log q", "f = transpose p", "g = transpose q", "h = transpose r", "j = concat f g h"),
        "exp transpose sqrt transpose log transpose concat",
    ),
    "the first value is older than the loop": (
        "order-joined",
        ("p = exp x", "q = sqrt p", "r = sqrt q", "s = sqrt r", "f = transpose p", "g = transpose q", "h = transpose r", "j = concat f g h", "k = add s j"),
        "exp transpose sqrt transpose sqrt transpose sqrt concat add",
    ),
    "two parts are no loop": ("order-joined", ("p = exp x", "q = sqrt p", "f = transpose p", "g = transpose q", "j = concat f g"), ""),
    "a form that something else reads": (
        "order-joined",
        ("p = exp x", "q = sqrt p", "r = log q", "f = transpose p", "g = transpose q", "h = transpose r", "j = concat f g h", "k = add j h"),
        "",
    ),
}


@table("case", CASES)
def test_order(case: str) -> None:
    name, lines, wanted = CASES[case]
    module = module_of(*(line if ": " in line else f": {line}" for line in lines))
    before = print_module(module)
    run_pass(module, name)
    assert order(module) == wanted if wanted else print_module(module) == before
    again = print_module(module)
    run_pass(module, name)
    assert print_module(module) == again
    flat = parse(before, verify=False)
    run_pass(flat, name, recover_structure=False)
    assert print_module(flat) == before


def shuffled(module: ModuleOp, chance: random.Random) -> None:
    """Swaps independent neighbours, as passes that hoist or sink ops do."""
    block = entry_function(module).body.block
    for _ in range(60):
        ops = [op for op in block.ops if not isinstance(op, ReturnOp)]
        place = chance.randrange(len(ops) - 1)
        first, second = ops[place : place + 2]
        if not any(value.owner is first for value in second.operands):
            second.detach()  # type: ignore[no-untyped-call]
            block.insert_op_before(second, first)


@pytest.mark.parametrize("seed", range(6))
def test_shuffled_models_mean_the_same_and_have_their_functions(seed: int) -> None:
    options = CompilerOptions(enable_dealloc=False)
    made = transformer(3)
    wanted = build_program(lower_to_ttnn(made.module, options).module, made, options)
    module = lower_to_ttnn(made.module, CompilerOptions(enable_dealloc=False, recover_structure=False)).module
    shuffled(module, random.Random(seed))
    for step in configure(passes_of(ORDER_STAGES), CompilerOptions()):
        step.run(module)
    program = build_program(module, made, options)
    assert run(emit_py.emit(program)) == run(emit_py.emit(wanted))
    assert [one.name for one in program.functions] == [one.name for one in wanted.functions]
