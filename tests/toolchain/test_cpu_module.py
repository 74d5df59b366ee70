"""`ttcore.cpu_module`: functions of the same name in two modules, TTIR that becomes const-eval, and LLVM that is kept and refused."""

from __future__ import annotations

import numpy as np
import pytest

from alchemist.errors import LoweringError
from alchemist.frontends.mlir import load
from alchemist.frontends.mlir.read import read_module
from alchemist.ir.text import print_module

_HOST = "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<{}xf32, #ttnn.buffer_type<system_memory>>>"
_ROWS, _COLUMNS = f"tensor<4x8xf32, {_HOST.format('4x8')}>", f"tensor<8x4xf32, {_HOST.format('8x4')}>"
_CPU = """
      func.func @on_cpu(%arg0: tensor<4x8xf32>) -> tensor<8x4xf32> {
        %0 = "ttir.permute"(%arg0) <{permutation = array<i64: 1, 0>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
        %1 = "ttir.typecast"(%0) <{conservative_folding = false}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
        %2 = "ttir.broadcast"(%1) <{broadcast_dimensions = array<i64: 1, 1>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
        %3 = "ttir.div"(%2, %2) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
        %4 = "ttir.add"(%2, %3) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
        return %4 : tensor<8x4xf32>
      }"""
_LLVM = """
      llvm.func @malloc(i64) -> !llvm.ptr
      llvm.func @on_cpu(%arg0: !llvm.ptr) -> !llvm.ptr {
        %0 = llvm.mlir.constant(4 : index) : i64
        llvm.br ^bb1(%0 : i64)
      ^bb1(%1: i64):
        llvm.return %arg0 : !llvm.ptr
      }"""


def _module(cpu: str) -> str:
    return f"""
module {{
  ttcore.device_module {{
    builtin.module {{
      func.func private @on_cpu({_ROWS}) -> {_COLUMNS}
      func.func private @const_eval_0(%arg0: {_ROWS}) -> {_COLUMNS} attributes {{tt.function_type = "const_eval"}} {{
        %0 = call @on_cpu(%arg0) : ({_ROWS}) -> {_COLUMNS}
        return %0 : {_COLUMNS}
      }}
      func.func @main(%arg0: {_ROWS} {{ttcore.argument_type = #ttcore.argument_type<parameter>}}) -> {_COLUMNS} {{
        %0 = ttcore.load_cached(@const_eval_0, [%arg0]) : ({_ROWS}) -> {_COLUMNS}
        return %0 : {_COLUMNS}
      }}
    }}
  }}
  ttcore.cpu_module {{
    builtin.module {{{cpu}
    }}
  }}
}}"""


def test_a_cpu_function_is_const_eval_like_any_other() -> None:
    captured = load(_module(_CPU))
    names = [op.name for op in captured.module.walk()]
    assert "ttnn.permute" in names and "ttnn.divide" in names and "func.call" not in names
    assert captured.golden is not None
    weight = captured.arguments[0].value()
    np.testing.assert_allclose(captured.golden()[0], weight.T + 1, rtol=1e-6)


def test_both_modules_keep_their_functions_of_one_name() -> None:
    printed = print_module(read_module(_module(_CPU)))
    assert print_module(read_module(printed)) == printed
    assert printed.count("@on_cpu") == 3


def test_llvm_is_kept_and_refused_by_name() -> None:
    printed = print_module(read_module(_module(_LLVM)))
    assert "llvm.br ^bb1" in printed
    assert print_module(read_module(printed)) == printed
    with pytest.raises(LoweringError, match="@on_cpu is compiled for the host") as error:
        load(_module(_LLVM))
    assert "ttnn.mlir" in error.value.hint


def test_an_op_without_a_call_of_its_own_is_named() -> None:
    reverse = '%5 = "ttir.reverse"(%4) <{dimensions = array<i64: 0>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>\n        return %5'
    with pytest.raises(LoweringError, match="no TTNN op of its own") as error:
        load(_module(_CPU.replace("return %4", reverse)))
    assert error.value.op == "ttir.reverse"
