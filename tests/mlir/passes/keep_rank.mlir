// RUN: alchemist opt %s --keep-rank | filecheck %s

// A product of rows keeps the rank of its operand: the reshapes around it go.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %0 = "ttir.linear"(%arg0, %arg1, %arg2){{.*}}transpose_b = true{{.*}}-> tensor<2x4x32xf32>
// CHECK-NEXT: return %0
func.func @forward(%arg0: tensor<2x4x64xf32> {ttcore.argument_type = #ttcore.argument_type<input>}, %arg1: tensor<32x64xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %arg2: tensor<32xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x4x32xf32> {
  %0 = "ttir.reshape"(%arg0) <{shape = [8 : i32, 64 : i32]}> : (tensor<2x4x64xf32>) -> tensor<8x64xf32>
  %1 = "ttir.linear"(%0, %arg1, %arg2) <{transpose_b = true}> : (tensor<8x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<8x32xf32>
  %2 = "ttir.reshape"(%1) <{shape = [2 : i32, 4 : i32, 32 : i32]}> : (tensor<8x32xf32>) -> tensor<2x4x32xf32>
  return %2 : tensor<2x4x32xf32>
}
