"""tt-mlir's commands by their names: pass names of its documentation, one-dash options, one source on stdout, refusals."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from alchemist import cli
from alchemist.driver.passes import DONE_ELSEWHERE
from alchemist.toolchain.descriptors import descriptor

_MATMUL = """
#any_device = #tt.operand_constraint<dram|l1|tile|any_device_tile>
func.func @forward(%arg0: tensor<64x128xbf16>, %arg1: tensor<128x96xbf16>) -> tensor<64x96xbf16> {
  %0 = tensor.empty() : tensor<64x96xbf16>
  %1 = "ttir.matmul"(%arg0, %arg1, %0) <{operand_constraints = [#any_device, #any_device, #any_device]}>
    : (tensor<64x128xbf16>, tensor<128x96xbf16>, tensor<64x96xbf16>) -> tensor<64x96xbf16>
  return %1 : tensor<64x96xbf16>
}
"""


@pytest.fixture
def matmul(tmp_path: Path) -> str:
    path = tmp_path / "matmul.mlir"
    path.write_text(_MATMUL, encoding="utf-8")
    return str(path)


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(words)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_matmul_of_adding_an_op(matmul: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "opt", "--ttir-load-system-desc", "--ttir-implicit-device", "--ttir-layout", "--convert-ttir-to-ttnn", matmul)
    assert code == 0
    assert "memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>" in out
    assert '"ttnn.matmul"' in out and "arch = <wormhole_b0>" in out


def test_a_loaded_descriptor_chooses_the_card(matmul: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p150.ttsys"
    path.write_bytes(descriptor("p150"))
    _, loaded, _ = _run(capsys, "opt", f"--ttir-load-system-desc=path={path}", matmul)
    assert "arch = <blackhole>" in loaded
    assert _run(capsys, "opt", "--ttir-load-system-desc=path=/nonexistent.ttsys", matmul)[0] == 1


def test_the_drivers_in_a_pipe_print_one_source(matmul: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["ttmlir-opt", "--ttir-to-emitc-pipeline", matmul])
    assert cli.ttmlir_opt() == 0
    lowered = capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lowered.encode())))
    monkeypatch.setattr("sys.argv", ["ttmlir-translate", "-mlir-to-cpp", "-allow-unregistered-dialect"])
    assert cli.ttmlir_translate() == 0
    source = capsys.readouterr().out
    assert source.count('#include "') == source.count('#include "ttnn/') and "File:" not in source
    assert "ttnn::matmul(" in source


@pytest.mark.parametrize("name", DONE_ELSEWHERE)
def test_a_pass_whose_work_is_done_elsewhere_changes_nothing(name: str, matmul: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(capsys, "opt", f"--{name}", matmul)[:2] == _run(capsys, "opt", matmul)[:2]


@pytest.mark.parametrize("name", ["ttir-to-ttmetal-backend-pipeline", "ttnn-to-ttmetal-pipeline", "convert-ttkernel-to-emitc"])
def test_what_lowers_to_ttmetal_is_refused(name: str, matmul: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _run(capsys, "opt", f"--{name}", matmul)
    assert (code, out) == (1, "")
    assert "TTMetal" in err and "ttir-to-ttnn-backend-pipeline" in err


def test_the_dialects(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "opt", "--show-dialects")
    assert code == 0
    assert {"ttcore", "ttir", "ttnn", "stablehlo", "func"} <= set(out.removeprefix("Available Dialects: ").strip().split(", "))


def test_ttnn_goes_back_to_ttir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Layouts and tags stay; what the library alone has goes; an op over prepared weights has no TTIR op."""
    layout = "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<{}>>, <interleaved>>"
    tensor, moved = (f"tensor<32x32xbf16, {layout.format(buffer)}>" for buffer in ("dram", "l1"))
    path = tmp_path / "cosh.mlir"
    path.write_text(f"""
func.func @f(%x: {tensor}, %y: {tensor}) -> {moved} {{
  %d = "ttnn.get_device"() <{{mesh_shape = #ttnn<mesh_shape 1x1>}}> : () -> !ttnn.device
  %0 = "ttnn.divide"(%x, %y) <{{dtype = #ttcore.supportedDataTypes<bf16>}}> {{ttnn.hoist_generic_via_d2m}} : ({tensor}, {tensor}) -> {tensor}
  %1 = "ttnn.full"(%d) <{{fill_value = 5.000000e-01 : f32, shape = #ttnn.shape<32x32>}}> : (!ttnn.device) -> {tensor}
  %2 = "ttnn.multiply"(%0, %1) : ({tensor}, {tensor}) -> {tensor}
  "ttnn.deallocate"(%1) <{{force = false}}> : ({tensor}) -> ()
  %3 = "ttnn.to_memory_config"(%2) : ({tensor}) -> {moved}
  return %3 : {moved}
}}""")
    code, out, _ = _run(capsys, "opt", "--convert-ttnn-to-ttir", str(path))
    assert code == 0
    assert '"ttir.div"(%arg0, %arg1) {ttnn.hoist_generic_via_d2m}' in out
    assert [name in out for name in ("ttnn.get_device", "ttnn.deallocate", "ttir.full", "ttir.multiply", "ttir.to_layout")] == [False, False, True, True, True]
    again = tmp_path / "again.mlir"
    again.write_text(out)
    assert _run(capsys, "opt", "--ttir-to-ttnn-backend-pipeline", str(again))[0] == 0
    path.write_text(path.read_text().replace("ttnn.multiply", "ttnn.add_in_place"))
    code, _, err = _run(capsys, "opt", "--convert-ttnn-to-ttir", str(path))
    assert code == 1
    assert "no TTIR op of its own" in err or "ttnn.add_in_place" in err
