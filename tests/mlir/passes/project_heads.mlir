// RUN: alchemist opt %s --project-heads | filecheck %s

// Three products of one operand whose results are split into heads are one product and one split.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %0 = "ttir.concat"(%arg1, %arg2, %arg3){{.*}}dim = 0 : si32{{.*}}-> tensor<192x64xf32>
// CHECK-NEXT: %1 = "ttir.matmul"(%arg0, %0){{.*}}transpose_b = true{{.*}}-> tensor<2x32x192xf32>
// CHECK-NEXT: %2:3 = "ttir.split_query_key_value_and_split_heads"(%1){{.*}}num_heads = 2 : ui32{{.*}}-> (tensor<2x2x32x32xf32>
// CHECK-NEXT: %3 = "ttir.scaled_dot_product_attention"(%2#0, %2#1, %2#2){{.*}}is_causal = false{{.*}}-> tensor<2x2x32x32xf32>
// CHECK-NEXT: return %3
func.func @forward(%arg0: tensor<2x32x64xf32> {ttcore.argument_type = #ttcore.argument_type<input>}, %arg1: tensor<64x64xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %arg2: tensor<64x64xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %arg3: tensor<64x64xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x2x32x32xf32> {
  %0 = "ttir.linear"(%arg0, %arg1) <{transpose_b = true}> : (tensor<2x32x64xf32>, tensor<64x64xf32>) -> tensor<2x32x64xf32>
  %1 = "ttir.reshape"(%0) <{shape = [2 : i32, 32 : i32, 2 : i32, 32 : i32]}> : (tensor<2x32x64xf32>) -> tensor<2x32x2x32xf32>
  %2 = "ttir.permute"(%1) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x32x2x32xf32>) -> tensor<2x2x32x32xf32>
  %3 = "ttir.linear"(%arg0, %arg2) <{transpose_b = true}> : (tensor<2x32x64xf32>, tensor<64x64xf32>) -> tensor<2x32x64xf32>
  %4 = "ttir.reshape"(%3) <{shape = [2 : i32, 32 : i32, 2 : i32, 32 : i32]}> : (tensor<2x32x64xf32>) -> tensor<2x32x2x32xf32>
  %5 = "ttir.permute"(%4) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x32x2x32xf32>) -> tensor<2x2x32x32xf32>
  %6 = "ttir.linear"(%arg0, %arg3) <{transpose_b = true}> : (tensor<2x32x64xf32>, tensor<64x64xf32>) -> tensor<2x32x64xf32>
  %7 = "ttir.reshape"(%6) <{shape = [2 : i32, 32 : i32, 2 : i32, 32 : i32]}> : (tensor<2x32x64xf32>) -> tensor<2x32x2x32xf32>
  %8 = "ttir.permute"(%7) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x32x2x32xf32>) -> tensor<2x2x32x32xf32>
  %9 = "ttir.scaled_dot_product_attention"(%2, %5, %8) <{is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<2x2x32x32xf32>, tensor<2x2x32x32xf32>, tensor<2x2x32x32xf32>) -> tensor<2x2x32x32xf32>
  return %9 : tensor<2x2x32x32xf32>
}
