"""Blocks that differ in many configs, and in moves: one function that is given a named tuple, which is a constant for each of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import emit_cpp
import emit_py
from alchemist.ops.spec import TTNN_OPS, EnumRef
from alchemist.program import model
from alchemist.program.activations import name_activations
from alchemist.program.alignment import NOTHING
from alchemist.program.bundles import with_type_names
from alchemist.program.constants import name_constants
from alchemist.program.merge import merge_functions
from alchemist.program.still_moves import STAYS, with_equal_moves
from alchemist.program.variants import Places
from emit_cpp.printer import struct_lines
from emit_py.printer import named_tuple
from tests.emit.test_forms import made_of
from tests.tables import table

L1 = model.MemoryConfig("l1")
X, WEIGHTS = model.Parameter("x", memory=L1), model.Parameter("weights", "weights")
NOWHERE = Places({}, frozenset())


def shards(rows: int) -> model.MemoryConfig:
    return model.MemoryConfig("l1", "block_sharded", ((rows, 32), (((0, 0), (7, 3)),), "row_major"))


def called(op: str, result: str, given: str, weight: str = "", **more: model.Value) -> model.Call:
    spec = TTNN_OPS[f"ttnn.{op}"]
    values = {spec.args[0].name: model.TensorRef(given), **({spec.args[1].name: model.WeightRef((weight,))} if weight else {}), **more}
    arguments = tuple((arg, values[arg.name]) for arg in spec.args if arg.name in values)
    return model.Call(spec, arguments, (result,) if result else (), "", not result)


def config(blocks: int) -> model.Record:
    grid = model.Record("ttnn.CoreCoord", (("x", model.Literal(8)), ("y", model.Literal(4))))
    names = ("in0_block_w", "out_subblock_h", "out_subblock_w", "per_core_M", "per_core_N")
    fields = (("compute_with_storage_grid_size", grid), *((name, model.Literal(blocks)) for name in names), ("transpose_mcast", model.Literal(False)))
    return model.Record("ttnn.MatmulMultiCoreReuseMultiCastProgramConfig", (*fields, ("fused_activation", model.Unary("GELU", (0.0,)))), f"config {blocks}")


def moved(result: str, given: str, memory: model.MemoryConfig) -> model.Call:
    return called("to_memory_config", result, given, memory_config=memory)


def block(name: str, rows: int, *, move: bool = False, renamed: bool = False, tuned: bool = True) -> model.Function:
    """Two products and a norm; with a move between the products, or of what the function is given."""
    fidelity = model.Record("ttnn.WormholeComputeKernelConfig", (("math_fidelity", EnumRef("ttnn.MathFidelity", "HiFi2")),))
    norm = {"compute_kernel_config": fidelity} if tuned else {}
    first = [moved("x_sharded", "x", shards(rows))] if renamed else []
    body = (
        *first,
        called("linear", "y", "x_sharded" if renamed else "x", "layers.0.fc.weight", memory_config=shards(rows), program_config=config(rows)),
        *([model.Free(("x_sharded",))] if renamed else []),
        *([moved("y", "y", shards(2 * rows))] if move else []),
        called("linear", "z", "y", "layers.1.fc.weight", memory_config=shards(rows), program_config=config(2 * rows)),
        model.Free(("y",)),
        *[called("relu", "z", "z", memory_config=L1)] * 20,  # so that one function is shorter
        called("layer_norm", "", "z", memory_config=shards(3 * rows), **norm),
    )
    return model.Function(name, (X, WEIGHTS), body, 1, "A block.", "Block")


def residual_block(name: str, rows: int, *, shortcut: bool) -> model.Function:
    """A block that adds its input, or a product of it, which is moved to where the sum reads it."""
    plain = block(name, rows)
    product = called("linear", "residual", "x", "shortcut.weight", memory_config=shards(4 * rows), program_config=config(4 * rows))
    quote = (model.Blank(), model.Comment("9: return y + residual"))
    part = (model.Blank(), model.Comment("8: residual = self.shortcut(x)"), product, *quote, moved("residual", "residual", shards(5 * rows)))
    total = called("add", "", "z", memory_config=L1, **{TTNN_OPS["ttnn.add"].args[1].name: model.TensorRef("residual" if shortcut else "x")})
    norm = replace(plain.body[-1], results=("z",), returned=False)
    return replace(plain, body=(*plain.body[:-1], norm, *(part if shortcut else quote), total))


def program_of(*blocks: model.Function, places: Places = NOWHERE) -> model.Program:
    calls = [
        model.CallFunction(one.name, (model.TensorRef("x"), model.ScopeArgument("weights", (f"stages.{place}",))), ("x",)) for place, one in enumerate(blocks)
    ]
    entry = model.Function("net", (X, WEIGHTS), (*calls, model.Return((model.TensorRef("x"),))), 1)
    merged = merge_functions([*blocks, entry], set(), None, places)
    functions, _, constants, _ = name_constants(with_type_names(merged.functions, merged.renamed), [], set())
    final, constants = name_activations(functions, constants, set(), lists=True)
    return made_of(*final, constants=constants, has_weights=True)


FORMS = {
    "as they are": ([block("block", 32), block("block_2", 64), block("block_3", 96)], False),
    "a move in one": ([block("block", 32), block("block_2", 64, move=True), block("block_3", 96)], True),
    "a move of what is given": ([block("block", 32), block("block_2", 64, renamed=True), block("block_3", 96)], True),
    "a norm's config in one": ([block("block", 32), block("block_2", 64, tuned=False), block("block_3", 96)], False),
}


@pytest.mark.parametrize("name", FORMS)
def test_blocks_are_one_function(name: str) -> None:
    blocks, moves = FORMS[name]
    program = program_of(*blocks)
    text = emit_py.emit(program)["main.py"]
    assert [function.name for function in program.functions] == ["block", "net"]
    assert "class BlockConfigs(NamedTuple):" in text
    assert [line.partition(" = ")[0] for line in text.splitlines() if " = BlockConfigs(" in line] == ["STAGE_0", "STAGE_1", "STAGE_2"]
    assert "program_config=configs.layer_1_matmul" in text
    assert "# config 64\n    layer_0_matmul=utils.matmul_2d(" in text
    assert (STAYS in text) == moves
    assert text.count("ttnn.to_memory_config(") == moves
    assert text.count("ttnn.UnaryWithParam(ttnn.UnaryOpType.GELU, 0.0)") == 1
    if name == "a norm's config in one":
        assert "result_compute: ttnn.WormholeComputeKernelConfig | None" in text
        assert text.count("    result_compute=None,") == 1
    cpp = emit_cpp.emit(program)["model.cpp"]
    assert "struct BlockConfigs {" in cpp
    assert "const BlockConfigs STAGE_1{" in cpp


def test_what_an_optional_part_reads_has_a_default() -> None:
    rows = {"block": 32, "block_2": 64, "block_3": 96, "block_4": 128}
    blocks = [residual_block(name, number, shortcut=name in ("block", "block_3")) for name, number in rows.items()]
    scopes = {one.name: frozenset({f"stages.{place}."}) for place, one in enumerate(blocks)}
    program = program_of(*blocks, places=Places(scopes, frozenset({"stages.0.shortcut.weight", "stages.2.shortcut.weight"})))
    text = emit_py.emit(program)["main.py"]
    optional = ["shortcut_memory: ttnn.MemoryConfig | None = None", "shortcut_matmul: ttnn.operations.matmul.MatmulProgramConfig | None = None"]
    assert [line for line in optional if f"\n    {line}\n" in text] == optional
    tuples = [line.partition(" = ")[0] for line in text.splitlines() if line.endswith(" = BlockConfigs(")]
    assert tuples == ["STAGE_0_WITH_SHORTCUT", "STAGE_1", "STAGE_2_WITH_SHORTCUT", "STAGE_3"]
    assert text.count("    shortcut_memory=") == text.count("    shortcut_matmul=") == 2
    _, _, behind = text.partition('    if "shortcut.weight" in weights:\n')
    quote = behind.index("    # 9: return y + residual")
    assert (
        behind.index("residual = ttnn.to_memory_config(residual, ") < quote < behind.index("ttnn.add(")
    )  # the comment quotes the sum, so it comes before the sum
    cpp = emit_cpp.emit(program)["model.cpp"]
    assert "    ttnn::MemoryConfig shortcut_memory{};\n" in cpp


@table(
    ("first", "second", "alike"),
    [
        (block("a", 32, move=True), block("b", 64), True),
        (block("a", 32, renamed=True), block("b", 64), True),
        (block("a", 32, renamed=True), replace(block("b", 64), parameters=(replace(X, memory=None), WEIGHTS)), False),  # calls differ in where it lies
        (block("a", 32, move=True), replace(block("b", 64), module="Other"), False),
    ],
)
def test_a_move_to_where_a_tensor_lies(first: model.Function, second: model.Function, alike: bool) -> None:
    made = with_equal_moves([first, second])
    assert made[0] == first
    assert (made[1] != second) == alike
    if alike:
        assert len(made[0].body) == len(made[1].body)
        (extra,) = [one for one in made[1].body if isinstance(one, model.Call) and one.note == STAYS]
        assert extra.arguments[1][1] in (L1, shards(64))


def test_a_field_of_configs_that_some_stages_leave_out() -> None:
    """Attention with a reduced sequence and without: the configs of the reduction are a field of those of the attention."""
    field = model.Parameter("reduction_configs", model.bundle_kind("ReductionConfigs"), default=NOTHING)
    assert "    reduction_configs: ReductionConfigs | None = None" in named_tuple("AttentionConfigs", (field,))
    assert "    ReductionConfigs reduction_configs{};" in struct_lines("AttentionConfigs", (field,))
