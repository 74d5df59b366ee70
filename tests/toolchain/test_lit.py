"""tt-mlir's way of testing under `lit` and `filecheck` with our scripts, and the page that counts it."""

from __future__ import annotations

from pathlib import Path

from tools import lit_share

ABS = """func.func @f(%a: tensor<32x32xbf16>) -> tensor<32x32xbf16> {
  // CHECK: "ttnn.CALL"
  %0 = "ttir.abs"(%a) : (tensor<32x32xbf16>) -> tensor<32x32xbf16>
  return %0 : tensor<32x32xbf16>
}
"""
TESTS = {
    "Dialect/passes.mlir": f'// RUN: ttmlir-opt --ttir-to-ttnn-backend-pipeline="system-desc-path=%system_desc_path%" %s | FileCheck %s\n{ABS.replace("CALL", "abs")}',
    "Dialect/other_text.mlir": f"// RUN: ttmlir-opt --convert-ttir-to-ttnn %s | FileCheck %s\n{ABS.replace('CALL', 'neg')}",
    "Dialect/no_pass.mlir": f"// RUN: ttmlir-opt --ttir-explicate-nothing %s | FileCheck %s\n{ABS}",
    "Silicon/metal.mlir": f"// RUN: ttmlir-opt --ttir-to-ttmetal-pipeline %s\n{ABS}",
    "Silicon/no_feature.mlir": f"// REQUIRES: opmodel\n// RUN: ttmlir-opt %s\n{ABS}",
    "Silicon/binary.mlir": f"// RUN: ttmlir-opt --convert-ttir-to-ttnn %s | ttmlir-translate --ttnn-to-flatbuffer -o %t.ttnn\n// RUN: ttrt read %t.ttnn\n{ABS}",
}


def test_lit_runs_our_scripts_and_the_page_counts(tmp_path: Path) -> None:
    root, folder = tmp_path / "tests", tmp_path / "work"
    folder.mkdir()
    for name, text in TESTS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    tests = lit_share.chosen_tests(root, "", 0, 0)
    assert len(tests) == len(TESTS)
    page = lit_share.page(lit_share.run(root, tests, 2, folder))
    assert "| Dialect | 1 | 2 | 0 | 33% |" in page
    assert "| Silicon | 1 | 0 | 2 | 100% |" in page
    assert "| a pass without a form here | 1: Dialect/no_pass.mlir |" in page
    assert "| other text than its CHECK lines | 1: Dialect/other_text.mlir |" in page
