// RUN: alchemist opt %s --canonicalize-dots | filecheck %s

// A dot over the last dimension of both operands is a matmul whose second operand is transposed.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %0 = "ttir.matmul"(%arg0, %arg1){{.*}}transpose_b = true{{.*}}-> tensor<2x4x32xf32>
// CHECK-NEXT: return %0
func.func @forward(%arg0: tensor<2x4x64xf32> {ttcore.argument_type = #ttcore.argument_type<input>}, %arg1: tensor<32x64xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x4x32xf32> {
  %0 = "ttir.dot_general"(%arg0, %arg1) <{batch_dims_lhs = array<i64>, batch_dims_rhs = array<i64>, contract_dims_lhs = array<i64: 2>, contract_dims_rhs = array<i64: 1>}> : (tensor<2x4x64xf32>, tensor<32x64xf32>) -> tensor<2x4x32xf32>
  return %0 : tensor<2x4x32xf32>
}
