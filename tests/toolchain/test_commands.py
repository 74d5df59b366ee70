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
