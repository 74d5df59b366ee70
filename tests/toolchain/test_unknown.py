"""Attributes that an op does not have: a misspelt name is an error, any other unknown name gives a warning."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from alchemist.codegen import mlir_sources
from alchemist.errors import VerifyError
from alchemist.frontends.mlir.read import read_module

_SUM = """func.func @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {{
  %0 = "ttir.cumsum"(%a) <{{{given}}}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}}
"""
_POOL = """func.func @f(%a: tensor<1x32x32x64xbf16>) -> tensor<1x16x16x64xbf16> {{
  %0 = "ttir.max_pool2d"(%a) <{{kernel = 2 : i32, stride = 2 : i32, dilation = 1 : i32, padding = 0 : i32, ceil_mode = false, channel_last = {value}}}>
    : (tensor<1x32x32x64xbf16>) -> tensor<1x16x16x64xbf16>
  return %0 : tensor<1x16x16x64xbf16>
}}
"""


def test_an_optional_attribute_spelled_wrongly_is_an_error() -> None:
    """Its default would be taken in its place."""
    layer_norm = """func.func @f(%a: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %0 = "ttir.layer_norm"(%a) <{normalized_shape = array<i64: 32>, epsilonn = 1.0e-3 : f32, operandSegmentSizes = array<i32: 1, 0, 0>}>
    : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
"""
    for text in (layer_norm, layer_norm.replace("<{", "{").replace("}>", "}")):
        with pytest.raises(VerifyError, match="no attribute epsilonn") as error:
            read_module(text, "x.mlir")
        assert "did you mean epsilon?" in error.value.hint


def test_another_name_is_told_and_ignored() -> None:
    with pytest.warns(UserWarning, match=r"ttir\.cumsum has no attribute reversed, which is ignored, at x\.mlir:2:8"):
        read_module(_SUM.format(given="dim = 1 : i64, reversed = true"), "x.mlir")


def test_what_means_nothing_must_have_the_value_that_the_op_follows() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_module(_POOL.format(value="1 : si32"), "x.mlir")
        read_module(_POOL.format(value="true"), "x.mlir")
    with pytest.raises(VerifyError, match="unsupported value of channel_last"):
        read_module(_POOL.format(value="0 : si32"), "x.mlir")


def test_the_form_of_gelu_is_followed(tmp_path: Path) -> None:
    """tt-xla writes the attribute of its composite behind the op."""
    text = """func.func @f(%a: tensor<32x32xbf16>) -> tensor<32x32xbf16> {
  %0 = "ttir.gelu"(%a) {approximate = "tanh"} : (tensor<32x32xbf16>) -> tensor<32x32xbf16>
  return %0 : tensor<32x32xbf16>
}
"""
    path = tmp_path / "x.mlir"
    path.write_text(text, encoding="utf-8")
    assert "variant=ttnn.GeluVariant.Tanh" in mlir_sources(path)["main.py"]
    path.write_text(text.replace("tanh", "none"), encoding="utf-8")
    assert "variant" not in mlir_sources(path)["main.py"]
    with pytest.raises(VerifyError, match="unsupported value of approximate"):
        read_module(text.replace("tanh", "sigmoid"), "x.mlir")
