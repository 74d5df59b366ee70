"""TTIR text with collectives of its own: the program of each chip, against all chips step by step and as it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from alchemist.codegen import codegen_mlir, mlir_sources
from alchemist.errors import UserError
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


def test_what_is_not_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    cases = {
        "all_reduce of max": (_SUM.replace("reduce_type<sum>", "reduce_type<max>"), "1,2"),
        "the parts are not those of the mesh": (_SUM, "1,4"),
        "no wormhole_b0 system has a mesh of 3x3": (_SUM, "3,3"),
        "a collective of several chips is not written": (
            _SUM.replace("ttir.all_reduce", "ttir.collective_permute").replace(
                "cluster_axis = 1 : ui32, reduce_type = #ttcore.reduce_type<sum>", "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>"
            ),
            "1,2",
        ),
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
