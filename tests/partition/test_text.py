"""Text with shardings or collectives of its own: the program of each chip, against the whole function, all chips step by step, and as it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alchemist.codegen import codegen_mlir, mlir_sources
from alchemist.errors import UserError
from alchemist.frontends.base import FrontendResult
from alchemist.ir import access
from alchemist.ir.edit import all_ops
from alchemist.mesh import lockstep
from alchemist.model_files import FileCall, mlir_loader
from tests import running

_CUT = (
    '"ttir.mesh_shard"({}) <{{shard_dims = array<i64: {}>, shard_direction = #ttcore.shard_direction<{}>, shard_shape = array<i64: 1>, '
    "shard_type = #ttcore.shard_type<{}>}}> : ({}) -> {}"
)
_F32 = "tensor<{}xf32>".format


def _cut(value: str, dims: str, whole: str, part: str, kind: str = "devices") -> str:
    return _CUT.format(value, dims, "full_to_shard", kind, _F32(whole), _F32(part))


def _join(value: str, dims: str, part: str, whole: str, kind: str = "devices") -> str:
    return _CUT.format(value, dims, "shard_to_full", kind, _F32(part), _F32(whole))


_SUM = f"""func.func @product(%x: {_F32("32x128")}, %w: {_F32("128x64")}) -> {_F32("32x64")} {{
  %0 = {_cut("%x", "-1, 1", "32x128", "32x64")}
  %1 = {_cut("%w", "-1, 0", "128x64", "64x64")}
  %2 = "ttir.matmul"(%0, %1) : ({_F32("32x64")}, {_F32("64x64")}) -> {_F32("32x64")}
  %3 = "ttir.all_reduce"(%2) <{{cluster_axis = 1 : ui32, reduce_type = #ttcore.reduce_type<sum>}}> : ({_F32("32x64")}) -> {_F32("32x64")}
  %4 = {_join("%3", "-1", "32x64", "32x64", "replicate")}
  return %4 : {_F32("32x64")}
}}
"""
_SCATTER = f"""func.func @scattered(%x: {_F32("64x128")}, %b: {_F32("32x64")}) -> {_F32("64x128")} {{
  %0 = {_cut("%x", "0, 1", "64x128", "32x64")}
  %1 = "ttir.add"(%0, %b) : ({_F32("32x64")}, {_F32("32x64")}) -> {_F32("32x64")}
  %2 = "ttir.reduce_scatter"(%1) <{{cluster_axis = 1 : ui32, reduce_type = #ttcore.reduce_type<sum>, scatter_dim = 1 : si32}}>
    : ({_F32("32x64")}) -> {_F32("32x32")}
  %3 = "ttir.all_gather"(%2) <{{cluster_axis = 1 : ui32, all_gather_dim = 1 : si32}}> : ({_F32("32x32")}) -> {_F32("32x64")}
  %4 = {_join("%3", "0, 1", "32x64", "64x128")}
  return %4 : {_F32("64x128")}
}}
"""


_STATED = f'module attributes {{ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x2>]>}} {{\n{_SUM}}}\n'
_THERE = _SUM.replace("#ttcore.shard_type<devices>", "#ttcore.shard_type<identity>")


@pytest.mark.parametrize(
    ("text", "mesh", "calls"),
    [
        (_SUM, "1,2", ["all_reduce"]),
        (_STATED, "1,1", ["all_reduce"]),
        (_THERE, "1,2", ["all_reduce"]),
        (_SCATTER, "2,2", ["reduce_scatter", "all_gather"]),
    ],
    ids=["cut by the host", "the module's mesh", "on the chips already", "scattered"],
)
def test_a_program_of_each_chip_passes_its_check(text: str, mesh: str, calls: list[str], tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(text, encoding="utf-8")
    made = codegen_mlir(path, export_path=tmp_path / "out", compiler_options={"mesh_shape": mesh})
    source = (tmp_path / "out" / "main.py").read_text()
    assert all(f"ttnn.{call}(" in source for call in calls)
    assert "check: passed" in running.run_checked(Path(made.path))


_SHARDY = """module {{
  sdy.mesh @mesh = <["data"=2, "model"=4]>
  func.func @main(%x: tensor<8x64xf32>{x}, %w: tensor<64x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"model"}}, {{}}]>}}) -> tensor<8x32xf32> {{
    {body}
    return %1 : tensor<8x32xf32>
  }}
}}"""
_DOT = "stablehlo.dot_general {}, contracting_dims = [1] x [0] : (tensor<{}xf32>, tensor<{}xf32>) -> tensor<{}xf32>".format
_ADDED = """({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.{} %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
      }}) : (tensor<4x32xf32>) -> tensor<4x32xf32>""".format
_OWN = f"""%1 = sdy.manual_computation(%x, %w) in_shardings=[<@mesh, [{{"data"}}, {{"model"}}]>, <@mesh, [{{"model"}}, {{}}]>]
        out_shardings=[<@mesh, [{{"data"}}, {{}}]>] manual_axes={{"data", "model"}} (%p: tensor<4x16xf32>, %q: tensor<16x32xf32>) {{
      %d = {_DOT("%p, %q", "4x16", "16x32", "4x32")}
      %r = "stablehlo.all_reduce"(%d) <{{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}}> {_ADDED("add")}
      sdy.return %r : tensor<4x32xf32>
    }} : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>"""
_GSPMD = """func.func @main(%x: tensor<8x64xf32> {mhlo.sharding = "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"}) -> tensor<8x64xf32> {
  %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[1,2,4]<=[8] last_tile_dim_replicate}"} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8x64xf32>) -> tensor<8x32xf32>
  %2 = "stablehlo.collective_permute"(%1) <{source_target_pairs = dense<[[0, 4], [1, 5], [2, 6], [3, 7], [4, 0], [5, 1], [6, 2], [7, 3]]> : tensor<8x2xi64>}>
    : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[1,2,4]<=[8] last_tile_dim_replicate}"} : (tensor<8x32xf32>) -> tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}"""
STATED = {
    "arguments": (
        _SHARDY.format(x=' {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}', body=f"%1 = {_DOT('%x, %w', '8x64', '64x32', '8x32')}"),
        [(0, 1), (None, 0)], {"all_reduce": 1}, lambda x, w: x @ w,
    ),
    "a constraint": (
        _SHARDY.format(x="", body=f'%0 = sdy.sharding_constraint %x <@mesh, [{{"data"}}, {{}}]> : tensor<8x64xf32>\n%1 = {_DOT("%0, %w", "8x64", "64x32", "8x32")}'),
        [(0, None), (None, 0)], {"mesh_partition": 1, "all_reduce": 1}, lambda x, w: x @ w,
    ),
    "own parts": (_SHARDY.format(x="", body=_OWN), [(0, 1), (None, 0)], {"all_reduce": 1}, lambda x, w: x @ w),
    "numbered devices": (_GSPMD, [(None, 0)], {"all_gather": 2, "mesh_partition": 2}, lambda x: np.roll(x, 32, 1)),
}  # fmt: skip


def _program(text: str, path: Path, mesh: str = "1,1", name: str = "main") -> FrontendResult:
    path.write_text(text, encoding="utf-8")
    return mlir_loader(FileCall.checked(path, compiler_options={"mesh_shape": mesh}), "")()[name]


@pytest.mark.parametrize("name", STATED)
def test_shardings_in_text(name: str, tmp_path: Path) -> None:
    text, placements, collectives, function = STATED[name]
    made = _program(text, tmp_path / "x.mlir")
    assert [argument.placement for argument in made.arguments] == placements
    assert Counter(op.name[5:] for op in all_ops(made.module) if access.attr(op, "cluster_axis") is not None) == collectives
    (got,) = lockstep.run(made)
    np.testing.assert_allclose(got, function(*(argument.value() for argument in made.arguments)), rtol=1e-4, atol=1e-4)


def test_shardings_that_are_refused(tmp_path: Path) -> None:
    own = _SHARDY.format(x="", body=_OWN)
    cases = {
        "no axis of 2x4": own.replace("[[0, 1, 2, 3], [4, 5, 6, 7]]", "[[0, 1, 2, 4], [3, 5, 6, 7]]"),
        "a collective that reduces by divide": own.replace("stablehlo.add %a", "stablehlo.divide %a"),
        "a mesh of more than two axes": own.replace('"data"=2', '"data"=2, "more"=2'),
        "no mesh of 8 chips in rows and columns has": _GSPMD.replace("[1,2,4]<=[8]", "[1,2,4]0,1,2,5,3,4,6,7"),
    }
    for words, text in cases.items():
        with pytest.raises(UserError, match=words):
            _program(text, tmp_path / "x.mlir")


def test_a_program_of_shardings_in_text_runs(tmp_path: Path) -> None:
    (tmp_path / "x.mlir").write_text(STATED["numbered devices"][0], encoding="utf-8")
    made = codegen_mlir(tmp_path / "x.mlir", export_path=tmp_path / "out")
    assert "check: passed" in running.run_checked(Path(made.path))


_ALL_REDUCE = '"ttir.all_reduce"(%2) <{cluster_axis = 1 : ui32, reduce_type = #ttcore.reduce_type<sum>}>'
_HALVES = lambda x, w: [x[:, 64 * chip : 64 * chip + 64] @ w[64 * chip : 64 * chip + 64] for chip in (0, 1)]  # noqa: E731
_SWAPPED = "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>"


@pytest.mark.parametrize(
    ("op", "joined", "function"),
    [
        (_ALL_REDUCE.replace("<sum>", "<max>"), "", lambda x, w: np.maximum(*_HALVES(x, w))),
        ('"ttir.collective_broadcast"(%2) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>', "", lambda x, w: _HALVES(x, w)[0]),
        (f'"ttir.collective_permute"(%2) <{{{_SWAPPED}}}>', "0", lambda x, w: np.concatenate(_HALVES(x, w)[::-1])),
        (f'"ttir.collective_permute"(%2) <{{{_SWAPPED.replace(", [1, 0]", "").replace("2x2", "1x2")}}}>', "0",
         lambda x, w: np.concatenate([np.zeros((32, 64)), _HALVES(x, w)[0]])),
    ],
    ids=["maximum", "from the first", "swapped", "to the second"],
)  # fmt: skip
def test_collectives_that_the_library_does_not_have(op: str, joined: str, function: Callable[..., Any], tmp_path: Path) -> None:
    text = _SUM.replace(_ALL_REDUCE, op)
    if joined:
        text = text.replace(_join("%3", "-1", "32x64", "32x64", "replicate"), _join("%3", "-1, 0", "32x64", "64x64"))
        text = text.replace(f"return %4 : {_F32('32x64')}", f"return %4 : {_F32('64x64')}").replace(
            f"-> {_F32('32x64')} {{\n  %0", f"-> {_F32('64x64')} {{\n  %0"
        )
    made = _program(text, tmp_path / "x.mlir", "1,2", "product")
    (got,) = lockstep.run(made)
    np.testing.assert_allclose(got, function(*(argument.value() for argument in made.arguments)), rtol=1e-4, atol=1e-4)


def _ttnn(mapper: str = "<replicate>, <shard, 1 : i64>", moved: str = "%c") -> str:
    whole, part = "tensor<32x128xbf16>", "tensor<32x32xbf16>"
    return f"""module attributes {{ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x4>]>}} {{
  func.func @forward(%x: {whole}) -> {whole} {{
    %d = "ttnn.get_device"() <{{mesh_shape = #ttnn<mesh_shape 1x4>}}> : () -> !ttnn.device
    %c = "ttnn.from_device"(%x) : ({whole}) -> {whole}
    %p = "ttnn.distribute_tensor"({moved}, %d) <{{mapper_config = #ttnn.mesh_mapper_config<placements = [{mapper}]>}}> : ({whole}, !ttnn.device) -> {part}
    %o = "ttnn.to_device"(%p, %d) : ({part}, !ttnn.device) -> {part}
    %s = "ttnn.all_reduce"(%o) <{{cluster_axis = 1 : ui32, reduce_type = #ttcore.reduce_type<sum>}}> : ({part}) -> {part}
    %q = "ttnn.multiply"(%o, %s) : ({part}, {part}) -> {part}
    %g = "ttnn.aggregate_tensor"(%q, %d) <{{composer_config = #ttnn.mesh_composer_config<dims = [0 : i64, 1 : i64]>}}> : ({part}, !ttnn.device) -> {whole}
    return %g : {whole}
  }}
}}"""


def test_ttnn_text_with_collectives_runs(tmp_path: Path) -> None:
    (tmp_path / "x.mlir").write_text(_ttnn(), encoding="utf-8")
    made = codegen_mlir(tmp_path / "x.mlir", export_path=tmp_path / "out")
    assert "ttnn.all_reduce(" in (made.path / "main.py").read_text()
    assert "check: passed" in running.run_checked(Path(made.path))
    (argument,) = _program(_ttnn(), tmp_path / "x.mlir", name="forward").arguments
    assert (argument.shape, argument.placement) == ((32, 128), (None, 1))


def test_ttnn_text_that_is_refused(tmp_path: Path) -> None:
    for words, text in {
        "the parts are not those of the mesh": _ttnn("<replicate>, <shard, 0 : i64>"),
        "a tensor is distributed that the program computes": _ttnn(moved="%a").replace(
            "%p =", '%a = "ttnn.abs"(%c) : (tensor<32x128xbf16>) -> tensor<32x128xbf16>\n    %p ='
        ),
    }.items():
        with pytest.raises(UserError, match=words):
            _program(text, tmp_path / "x.mlir", name="forward")


def test_what_is_not_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    cases = {
        "the parts are not those of the mesh": (_SUM, "1,4"),
        "no wormhole_b0 system has a mesh of 3x3": (_SUM, "3,3"),
        "cannot reduce by std": (_SUM.replace("reduce_type<sum>", "reduce_type<std>"), "1,2"),
        "no axis of 1x2": (_SUM.replace(_ALL_REDUCE, '"ttir.collective_broadcast"(%2) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}>'), "1,2"),
    }
    for words, (text, mesh) in cases.items():
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=words):
            mlir_sources(path, compiler_options={"mesh_shape": mesh})


def test_values_that_chips_do_not_share_are_no_replicas(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(
        _SUM.replace('"ttir.all_reduce"(%2) <{cluster_axis = 1 : ui32, reduce_type = #ttcore.reduce_type<sum>}>', '"ttir.relu"(%2)'), encoding="utf-8"
    )
    with pytest.raises(UserError, match="than the chips that should have the same"):
        codegen_mlir(path, export_path=tmp_path / "out", compiler_options={"mesh_shape": "1,2"})
