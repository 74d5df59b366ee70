// RUN: alchemist opt %s --fuse-attention | filecheck %s

// softmax(q k^T * scale) v is one op.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %0 = "ttir.scaled_dot_product_attention"(%arg0, %arg1, %arg2){{.*}}is_causal = false{{.*}}scale = 0.17677669 : f32{{.*}}-> tensor<2x2x8x32xf32>
// CHECK-NEXT: return %0
func.func @forward(%arg0: tensor<2x2x8x32xf32> {ttcore.argument_type = #ttcore.argument_type<input>}, %arg1: tensor<2x2x8x32xf32> {ttcore.argument_type = #ttcore.argument_type<input>}, %arg2: tensor<2x2x8x32xf32> {ttcore.argument_type = #ttcore.argument_type<input>}) -> tensor<2x2x8x32xf32> {
  %0 = "ttir.permute"(%arg1) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<2x2x8x32xf32>) -> tensor<2x2x32x8xf32>
  %1 = "ttir.matmul"(%arg0, %0) : (tensor<2x2x8x32xf32>, tensor<2x2x32x8xf32>) -> tensor<2x2x8x8xf32>
  %2 = "ttir.full"() <{shape = array<i32: 1, 1, 1, 1>, fill_value = 0.17677669 : f32}> : () -> tensor<1x1x1x1xf32>
  %3 = "ttir.multiply"(%1, %2) : (tensor<2x2x8x8xf32>, tensor<1x1x1x1xf32>) -> tensor<2x2x8x8xf32>
  %4 = "ttir.softmax"(%3) <{dimension = 3 : si32, numericStable = true}> : (tensor<2x2x8x8xf32>) -> tensor<2x2x8x8xf32>
  %5 = "ttir.matmul"(%4, %arg2) : (tensor<2x2x8x8xf32>, tensor<2x2x8x32xf32>) -> tensor<2x2x8x32xf32>
  return %5 : tensor<2x2x8x32xf32>
}
