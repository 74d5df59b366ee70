// RUN: alchemist opt %s --shared-factors | filecheck %s

// A factor with a batch of one: the batch of the other becomes rows of one product.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %0 = "ttir.permute"(%arg1){{.*}}permutation = array<i64: 0, 1, 3, 2>{{.*}}-> tensor<1x2x32x8xf32>
// CHECK-NEXT: %1 = "ttir.permute"(%arg0){{.*}}permutation = array<i64: 1, 0, 2, 3>{{.*}}-> tensor<2x2x8x32xf32>
// CHECK-NEXT: %2 = "ttir.reshape"(%1){{.*}}shape = [2 : i32, 16 : i32, 32 : i32]{{.*}}-> tensor<2x16x32xf32>
// CHECK-NEXT: %3 = "ttir.reshape"(%0){{.*}}shape = [2 : i32, 32 : i32, 8 : i32]{{.*}}-> tensor<2x32x8xf32>
// CHECK-NEXT: %4 = "ttir.matmul"(%2, %3){{.*}}transpose_b = false{{.*}}-> tensor<2x16x8xf32>
// CHECK-NEXT: %5 = "ttir.reshape"(%4){{.*}}shape = [2 : i32, 2 : i32, 8 : i32, 8 : i32]{{.*}}-> tensor<2x2x8x8xf32>
// CHECK-NEXT: %6 = "ttir.permute"(%5){{.*}}permutation = array<i64: 1, 0, 2, 3>{{.*}}-> tensor<2x2x8x8xf32>
// CHECK-NEXT: %7 = "ttir.full"(){{.*}}shape = array<i32: 1, 1, 1, 1>{{.*}}-> tensor<1x1x1x1xf32>
// CHECK-NEXT: %8 = "ttir.multiply"(%6, %7){{.*}}-> tensor<2x2x8x8xf32>
// CHECK-NEXT: %9 = "ttir.softmax"(%8){{.*}}-> tensor<2x2x8x8xf32>
// CHECK-NEXT: %10 = "ttir.matmul"(%9, %arg2){{.*}}-> tensor<2x2x8x32xf32>
// CHECK-NEXT: return %10
func.func @forward(%arg0: tensor<2x2x8x32xf32> {ttcore.argument_type = #ttcore.argument_type<input>}, %arg1: tensor<1x2x8x32xf32> {ttcore.argument_type = #ttcore.argument_type<input>}, %arg2: tensor<2x2x8x32xf32> {ttcore.argument_type = #ttcore.argument_type<input>}) -> tensor<2x2x8x32xf32> {
  %0 = "ttir.permute"(%arg1) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<1x2x8x32xf32>) -> tensor<1x2x32x8xf32>
  %1 = "ttir.matmul"(%arg0, %0) : (tensor<2x2x8x32xf32>, tensor<1x2x32x8xf32>) -> tensor<2x2x8x8xf32>
  %2 = "ttir.full"() <{shape = array<i32: 1, 1, 1, 1>, fill_value = 0.17677669 : f32}> : () -> tensor<1x1x1x1xf32>
  %3 = "ttir.multiply"(%1, %2) : (tensor<2x2x8x8xf32>, tensor<1x1x1x1xf32>) -> tensor<2x2x8x8xf32>
  %4 = "ttir.softmax"(%3) <{dimension = 3 : si32, numericStable = true}> : (tensor<2x2x8x8xf32>) -> tensor<2x2x8x8xf32>
  %5 = "ttir.matmul"(%4, %arg2) : (tensor<2x2x8x8xf32>, tensor<2x2x8x32xf32>) -> tensor<2x2x8x32xf32>
  return %5 : tensor<2x2x8x32xf32>
}
