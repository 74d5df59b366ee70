"""`ttcore.cpu_module`: functions of the same name in two modules, TTIR that becomes const-eval, and LLVM that the interpreter runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import alchemist
from alchemist.errors import LoweringError
from alchemist.frontends.mlir import load
from alchemist.frontends.mlir.read import read_module
from alchemist.ir.text import print_module
from alchemist.toolchain.host_code import HostCode

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


_HELPED = """
      llvm.func @malloc(i64) -> !llvm.ptr
      llvm.func @on_cpu(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64, %arg4: i64, %arg5: i64, %arg6: i64) -> !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)> {
        %0 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        %1 = llvm.mlir.zero : !llvm.ptr
        %2 = llvm.mlir.constant(0 : index) : i64
        %3 = llvm.mlir.constant(1 : index) : i64
        %4 = llvm.mlir.constant(4 : index) : i64
        %5 = llvm.mlir.constant(8 : index) : i64
        %6 = llvm.mlir.constant(1.000000e+00 : f32) : f32
        %7 = llvm.getelementptr %1[32] : (!llvm.ptr) -> !llvm.ptr, f32
        %8 = llvm.ptrtoint %7 : !llvm.ptr to i64
        %9 = llvm.call @malloc(%8) : (i64) -> !llvm.ptr
        llvm.br ^bb1(%2 : i64)
      ^bb1(%10: i64 loc("a")):  // 2 preds: ^bb0, ^bb5
        %11 = llvm.icmp "slt" %10, %5 : i64
        llvm.cond_br %11, ^bb2, ^bb6
      ^bb2:  // pred: ^bb1
        llvm.br ^bb3(%2 : i64)
      ^bb3(%12: i64):  // 2 preds: ^bb2, ^bb4
        %13 = llvm.icmp "slt" %12, %4 : i64
        llvm.cond_br %13, ^bb4, ^bb5
      ^bb4:  // pred: ^bb3
        %14 = llvm.mul %12, %5 overflow<nsw, nuw> : i64
        %15 = llvm.add %14, %10 overflow<nsw, nuw> : i64
        %16 = llvm.getelementptr inbounds|nuw %arg1[%15] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %17 = llvm.load %16 : !llvm.ptr -> f32
        %18 = llvm.fadd %17, %6 : f32
        %19 = llvm.mul %10, %4 overflow<nsw, nuw> : i64
        %20 = llvm.add %19, %12 overflow<nsw, nuw> : i64
        %21 = llvm.getelementptr inbounds|nuw %9[%20] : (!llvm.ptr, i64) -> !llvm.ptr, f32 loc("b")
        llvm.store %18, %21 : f32, !llvm.ptr loc("b")
        %22 = llvm.add %12, %3 : i64
        llvm.br ^bb3(%22 : i64)
      ^bb5:  // pred: ^bb3
        %23 = llvm.add %10, %3 : i64
        llvm.br ^bb1(%23 : i64)
      ^bb6:  // pred: ^bb1
        %24 = llvm.insertvalue %9, %0[0] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        %25 = llvm.insertvalue %9, %24[1] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        %26 = llvm.insertvalue %5, %25[3, 0] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        %27 = llvm.insertvalue %4, %26[3, 1] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        %28 = llvm.insertvalue %4, %27[4, 0] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        %29 = llvm.insertvalue %3, %28[4, 1] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        llvm.return %29 : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
      }
      llvm.func @on_cpu_helper(%arg0: !llvm.ptr) -> !llvm.ptr {
        %0 = llvm.load %arg0 : !llvm.ptr -> !llvm.struct<(ptr, ptr, i64, ptr)>
        %1 = llvm.extractvalue %0[0] : !llvm.struct<(ptr, ptr, i64, ptr)>
        %2 = llvm.extractvalue %0[1] : !llvm.struct<(ptr, ptr, i64, ptr)>
        %3 = llvm.extractvalue %0[2] : !llvm.struct<(ptr, ptr, i64, ptr)>
        %4 = llvm.extractvalue %0[3] : !llvm.struct<(ptr, ptr, i64, ptr)>
        %5 = llvm.load %4 : !llvm.ptr -> !llvm.array<4 x i64>
        %6 = llvm.extractvalue %5[0] : !llvm.array<4 x i64>
        %7 = llvm.extractvalue %5[1] : !llvm.array<4 x i64>
        %8 = llvm.extractvalue %5[2] : !llvm.array<4 x i64>
        %9 = llvm.extractvalue %5[3] : !llvm.array<4 x i64>
        %10 = llvm.call @on_cpu(%1, %2, %3, %6, %7, %8, %9) : (!llvm.ptr, !llvm.ptr, i64, i64, i64, i64, i64) -> !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        %11 = llvm.mlir.constant(32 : i64) : i64
        %12 = llvm.call @malloc(%11) : (i64) -> !llvm.ptr
        %13 = llvm.call @malloc(%11) : (i64) -> !llvm.ptr
        %14 = llvm.extractvalue %10[3] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        llvm.store %14, %13 : !llvm.array<2 x i64>, !llvm.ptr
        %15 = llvm.extractvalue %10[4] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        %16 = llvm.getelementptr %13[2] : (!llvm.ptr) -> !llvm.ptr, i64
        llvm.store %15, %16 : !llvm.array<2 x i64>, !llvm.ptr
        %17 = llvm.extractvalue %10[1] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        %18 = llvm.mlir.undef : !llvm.struct<(ptr, ptr, i64, ptr)>
        %19 = llvm.insertvalue %17, %18[1] : !llvm.struct<(ptr, ptr, i64, ptr)>
        %20 = llvm.insertvalue %13, %19[3] : !llvm.struct<(ptr, ptr, i64, ptr)>
        llvm.store %20, %12 : !llvm.struct<(ptr, ptr, i64, ptr)>, !llvm.ptr
        llvm.return %12 : !llvm.ptr
      }"""
"""A transpose and an addition as tt-mlir's CPU pipeline writes them: nested loops over memrefs, and a helper that unpacks its tensors."""


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


def test_llvm_is_computed_at_export() -> None:
    """The call's result is a constant of the program, computed from the weights that the export has."""
    weight = np.random.default_rng(1).standard_normal((4, 8), np.float32)
    captured = load(_module(_HELPED), values={"arg0": weight})
    assert [argument.name for argument in captured.arguments] == ["arg0", "host.on_cpu_0"]
    np.testing.assert_allclose(captured.arguments[1].value(), weight.T + 1, rtol=1e-6)
    assert captured.golden is not None
    np.testing.assert_allclose(captured.golden()[0], weight.T + 1, rtol=1e-6)


def test_a_loaded_program_computes_it_from_the_given_weights(tmp_path: Path) -> None:
    file = tmp_path / "x.mlir"
    file.write_text(_module(_HELPED))
    weight = np.random.default_rng(2).standard_normal((4, 8), np.float32)
    with alchemist.load(file, weights={"arg0": weight}) as program:
        (out,) = program.submit([])
        np.testing.assert_allclose(np.asarray(program.ttnn.to_torch(out)), weight.T + 1, rtol=1e-2)


_DAMAGED = {
    "a read behind the end": ("%15 = llvm.add %14, %10", "%15 = llvm.add %14, %8", "fails"),
    "a loop without end": ("llvm.br ^bb3(%22 : i64)", "llvm.br ^bb3(%12 : i64)", "limit of 1000 steps"),
    "an op": ("llvm.fadd %17", "llvm.frobnicate %17", "llvm.frobnicate"),
    "a function": ("llvm.call @malloc(%8)", "llvm.call @system(%8)", "@system"),
    "memory": ("%7 = llvm.getelementptr %1[32]", "%7 = llvm.getelementptr %1[999999999999]", "limit of memory"),
    "a block": ("llvm.cond_br %11, ^bb2, ^bb6", "llvm.cond_br %11, ^bb2, ^bb9", "unknown"),
    "a type": ("-> f32", "-> f8", "unknown"),
    "bits": ("%10, %3 : i64", "%10, %3 : i65", "llvm.add"),
    "a comparison": ('icmp "slt"', 'icmp "near"', "llvm.icmp"),
    "another shape": ("insertvalue %5, %25[3, 0]", "insertvalue %4, %25[3, 0]", "a wrong shape"),
}


@pytest.mark.parametrize("case", _DAMAGED)
def test_damaged_llvm_is_refused(case: str) -> None:
    old, new, message = _DAMAGED[case]
    assert old in _HELPED
    code = HostCode(_HELPED.replace(old, new), most_steps=1000)
    with pytest.raises(LoweringError, match=message):
        code.call("on_cpu", [np.ones((4, 8), np.float32)], [((8, 4), "<f4")])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [("ctpop(%n) : (i64) -> i64", 63), ("ctpop(%b) : (i8) -> i8", 7), ("smax(%n, %o) : (i64, i64) -> i64", 1), ("smin(%n, %o) : (i64, i64) -> i64", -2)],
)
def test_intrinsics_of_whole_numbers(expression: str, expected: int) -> None:
    bits = expression.rpartition(" ")[2]
    code = HostCode(f"""llvm.func @f_helper(%arg0: !llvm.ptr) -> !llvm.ptr {{
        %n = llvm.mlir.constant(-2 : i64) : i64
        %b = llvm.mlir.constant(-2 : i8) : i8
        %o = llvm.mlir.constant(1 : i64) : i64
        %x = llvm.intr.{expression}
        %y = llvm.sitofp %x : {bits} to f32
        %p = llvm.load %arg0 : !llvm.ptr -> !llvm.ptr
        llvm.store %y, %p : f32, !llvm.ptr
        llvm.return %arg0 : !llvm.ptr
      }}""")
    (found,) = code.call("f", [np.zeros((1,), np.float32)], [((1,), "<f4")])
    assert found.tolist() == [expected]


def test_an_op_without_a_call_of_its_own_is_named() -> None:
    reverse = '%5 = "ttir.reverse"(%4) <{dimensions = array<i64: 0>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>\n        return %5'
    with pytest.raises(LoweringError, match="without an equivalent TTNN op") as error:
        load(_module(_CPU.replace("return %4", reverse)))
    assert error.value.op == "ttir.reverse"
