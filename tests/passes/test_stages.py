"""Every stage keeps its promise on modules of many kinds, and later stages of the same dialect keep those that last."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from pass_cases import CHANGES
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import main
from alchemist.errors import InternalError
from alchemist.ir.location import clone_with_places
from alchemist.ir.text import parse, print_module
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.passes.stages import LOWERING, ORDER_STAGES, STAGES, TTIR_STAGES, TTNN_STAGES, Stage
from alchemist.pipeline import capture
from tests.e2e import models
from tests.tables import table

EXPORTS = ("torch_attention", "torch_cnn", "jax_mlp", "jax_transformer_block")
GRAPH = """
func.func @forward(%a: tensor<32x64xbf16>, %b: tensor<64x32xbf16>) -> tensor<32x32xbf16> {
  %0 = "ttir.matmul"(%a, %b) : (tensor<32x64xbf16>, tensor<64x32xbf16>) -> tensor<32x32xbf16>
  %1 = "ttir.exp"(%0) : (tensor<32x32xbf16>) -> tensor<32x32xbf16>
  return %1 : tensor<32x32xbf16>
}
"""


def behind_stages(module: ModuleOp, options: CompilerOptions) -> Iterator[tuple[Stage, ModuleOp]]:
    module = clone_with_places(module)
    for stage in STAGES:
        stage.run(module, options)
        yield stage, module


def check_settled(stage: Stage, module: ModuleOp, options: CompilerOptions) -> None:
    """A normal form: the passes of the stage find nothing more."""
    again = module.clone()
    stage.run(again, options)
    assert print_module(again) == print_module(module), stage.name


@table("case", CHANGES)
def test_the_stage_of_a_pass_finds_nothing_more_behind_it(case: str) -> None:
    name, module, _ = CHANGES[case]
    for stage in STAGES:
        if name in stage.passes:
            made = module.clone()
            stage.run(made, CompilerOptions())
            check_settled(stage, made, CompilerOptions())


NIGHTLY = (("torch_attention", 0), ("torch_attention", 2), ("jax_transformer_block", 0))  # by day attention is in jax_transformer_block at level 2


@pytest.mark.parametrize(("name", "level"), [pytest.param(*case, marks=pytest.mark.slow if case in NIGHTLY else ()) for case in product(EXPORTS, (0, 2))])
def test_promises_hold_for_models(name: str, level: int) -> None:
    options = CompilerOptions(optimization_level=level)
    lasting: list[Stage] = []
    for stage, made in behind_stages(capture(*getattr(models, name)(), name.partition("_")[0]).module, options):
        if stage is LOWERING:
            lasting.clear()  # promises of TTIR
        for each in [*lasting, stage]:
            each.check(made, options)
        lasting += [stage] if stage.kept else []
        if stage.broken is None:
            check_settled(stage, made, options)


def test_the_stages_are_the_way_to_ttnn() -> None:
    module = parse(GRAPH)
    assert [stage.name for stage in STAGES] == [stage.name for stage in (*TTIR_STAGES, LOWERING, *TTNN_STAGES)]
    assert set(ORDER_STAGES) <= set(TTNN_STAGES)
    assert len({stage.name for stage in STAGES}) == len(STAGES) <= 30
    *_, (_, made) = behind_stages(module, CompilerOptions())
    assert print_module(made) == print_module(lower_to_ttnn(module).module)


BROKEN = {
    "inline": 'func.func private @g(%x: tensor<32x32xbf16>) -> tensor<32x32xbf16>\nfunc.func @forward(%x: tensor<32x32xbf16>) -> tensor<32x32xbf16> '
    "{ %0 = call @g(%x) : (tensor<32x32xbf16>) -> tensor<32x32xbf16>\n return %0 : tensor<32x32xbf16> }",
    "lower": GRAPH,
    "dce": GRAPH.replace("return %1", "return %0"),
}  # fmt: skip


@table("name", BROKEN)
def test_a_broken_promise_names_the_stage_and_the_op(name: str) -> None:
    stage = next(stage for stage in STAGES if stage.name == name)
    with pytest.raises(InternalError, match=f"stage {name}: a module breaks its promise"):
        stage.check(parse(BROKEN[name]), CompilerOptions())


def test_a_tensor_that_is_not_freed_breaks_the_last_promise() -> None:
    options = CompilerOptions(enable_dealloc=False)
    *_, (last, made) = behind_stages(parse(GRAPH), options)
    with pytest.raises(InternalError, match="freed behind its last use"):
        last.check(made, CompilerOptions())


def test_opt_shows_the_stages_and_stops_behind_one(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "f.mlir"
    file.write_text(GRAPH)
    assert main(["--print-stages"]) == 0
    shown = capsys.readouterr().out
    assert all(stage.name in shown and stage.promise in shown for stage in STAGES)
    assert main([str(file), "--stop-after=fuse-activations"]) == 0
    assert "ttir.matmul" in capsys.readouterr().out
    assert main([str(file), "--stop-after=lower optimization-level=1"]) == 0
    assert "ttnn.matmul" in capsys.readouterr().out
    assert main([str(file), "--stop-after=fuse-activation"]) == 1
    assert "fuse-activations" in capsys.readouterr().err
