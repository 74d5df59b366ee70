// RUN: alchemist opt %s --conv1d-channels-last | filecheck %s

// The convolution reads and writes channels last; what was transposed behind it cancels later.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %0 = "ttir.permute"(%arg0){{.*}}permutation = array<i64: 0, 2, 1>{{.*}}-> tensor<2x12x8xf32>
// CHECK-NEXT: %1 = "ttir.conv1d"(%0, %arg1){{.*}}channel_dim = 2 : i64{{.*}}padding = 1 : i32{{.*}}-> tensor<2x12x16xf32>
// CHECK-NEXT: %2 = "ttir.permute"(%1){{.*}}permutation = array<i64: 0, 2, 1>{{.*}}-> tensor<2x16x12xf32>
// CHECK-NEXT: %3 = "ttir.permute"(%2){{.*}}permutation = array<i64: 0, 2, 1>{{.*}}-> tensor<2x12x16xf32>
// CHECK-NEXT: return %3
func.func @forward(%arg0: tensor<2x8x12xf32> {ttcore.argument_type = #ttcore.argument_type<input>}, %arg1: tensor<16x8x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x12x16xf32> {
  %0 = "ttir.conv1d"(%arg0, %arg1) <{stride = 1 : i32, padding = 1 : i32, groups = 1 : i32, batch_dim = 0 : i64, channel_dim = 1 : i64, length_dim = 2 : i64, dilation = 1 : i32}> : (tensor<2x8x12xf32>, tensor<16x8x3xf32>) -> tensor<2x16x12xf32>
  %1 = "ttir.permute"(%0) <{permutation = array<i64: 0, 2, 1>}> : (tensor<2x16x12xf32>) -> tensor<2x12x16xf32>
  return %1 : tensor<2x12x16xf32>
}
