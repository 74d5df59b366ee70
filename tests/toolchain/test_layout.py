"""`alchemist layout`: what a type says of a tensor's place in memory, of today and of 2024; VHLO as one more spelling that is read."""

from __future__ import annotations

import pytest

from alchemist import cli
from alchemist.driver.layout import describe
from alchemist.errors import AlchemistError, ParseError
from alchemist.frontends.mlir import load
from alchemist.frontends.mlir.vhlo import is_vhlo
from tests.tables import table

L1 = "#tt.memory_space<l1>"
TODAY = "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x1>, memref<1x4x!ttcore.tile<32x32, {}>, #ttnn.buffer_type<l1>>, <height_sharded>>"
SHOWN = {
    "blocks of rows and columns": (
        f"tensor<2x3x64x128xf32, #tt.layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3), undef, <2x4>, memref<192x32xf32, {L1}>>>",
        {"tensor": "2x3x64x128 f32", "physical": "384x128 elements", "shard": "192x32 elements", "stored": "384x128 elements, of which 0 are padding"},
    ),
    "a grid that does not divide": (
        f"tensor<53x63xf32, #tt.layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<18x32xf32, {L1}>>>",
        {"shard": "18x32 elements", "stored": "54x64 elements, of which 117 are padding", "size": "2304 bytes a core, 13824 bytes in all"},
    ),
    "tiles": (
        f"tensor<53x63xf32, #tt.layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<1x1x!tt.tile<32 x 32, bfp_bf8>, {L1}>>>",
        {"shard": "32x32 elements, 1x1 tiles of 32x32", "stored": "96x64 elements, of which 2805 are padding", "size": "1088 bytes a core, 6528 bytes in all"},
    ),
    "today's": (
        f"tensor<256x128xbf16, {TODAY.format('bf16')}>",
        {"grid": "8x1 cores", "shard": "32x128 elements, 1x4 tiles of 32x32", "memory": "l1 height_sharded, bf16, tiles", "size": "8192 bytes a core, 65536 bytes in all"},
    ),
    "none": ("tensor<4x4xf32>", {"layout": "none: the compiler chooses one"}),
}  # fmt: skip
REFUSED = {
    "a map of another rank": (f"tensor<8x3x4xf32, #tt.layout<(d0, d1) -> (d0, d1), undef, <1x1>, memref<8x3xf32, {L1}>>>", "2 dimensions, the tensor 3"),
    "another shard": (
        f"tensor<8x300xf32, #tt.layout<(d0, d1) -> (d0, d1), undef, <1x2>, memref<8x300xf32, {L1}>>>",
        "8x150 elements, the layout's memref says 8x300",
    ),
    "no tensor": ("!ttcore.tile<32x32, bf16>", "no tensor type"),
    "no type": ("tensor<4x4xf32> tensor", "after the type"),
}
VHLO = """
vhlo.func_v1 @main(%arg0: !vhlo.tensor_v1<4x8x!vhlo.f32_v1>) -> (!vhlo.tensor_v1<4x8x!vhlo.f32_v1>) {
  %0 = "vhlo.add_v1"(%arg0, %arg0) : (!vhlo.tensor_v1<4x8x!vhlo.f32_v1>, !vhlo.tensor_v1<4x8x!vhlo.f32_v1>) -> !vhlo.tensor_v1<4x8x!vhlo.f32_v1>
  "vhlo.return_v1"(%0) : (!vhlo.tensor_v1<4x8x!vhlo.f32_v1>) -> ()
} {arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>, sym_visibility = #vhlo.string_v1<"">}
"""


@table("case", SHOWN)
def test_shown(case: str) -> None:
    text, expected = SHOWN[case]
    rows = dict(line.split(maxsplit=1) for line in describe(text))
    assert {name: rows[name] for name in expected} == expected


@table("case", REFUSED)
def test_refused(case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(AlchemistError, match=message):
        describe(text)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["layout", SHOWN["today's"][0]]) == 0
    assert "8192 bytes a core" in capsys.readouterr().out
    assert cli.main(["layout", "tensor<"]) == 1
    assert "TYPE:1:8" in capsys.readouterr().err


def test_vhlo_is_read_through_jaxlib() -> None:
    pytest.importorskip("jaxlib")
    assert is_vhlo(VHLO)
    captured = load(VHLO)
    assert [op.name for op in captured.module.walk() if op.name.startswith("ttir.")] == ["ttir.add"]
    with pytest.raises(ParseError, match=r"x\.mlir"):
        load(VHLO.replace("add_v1", "sum_v1"), "x.mlir")
