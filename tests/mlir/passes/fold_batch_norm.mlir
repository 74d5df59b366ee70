// RUN: alchemist opt %s --fold-batch-norm | filecheck %s

// A factor and a summand per channel go into the weights and the bias of the convolution.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %0 = "ttir.reshape"(%arg1){{.*}}shape = [16 : i32, 72 : i32]{{.*}}-> tensor<16x72xf32>
// CHECK-NEXT: %1 = "ttir.reshape"(%arg2){{.*}}shape = [16 : i32, 1 : i32]{{.*}}-> tensor<16x1xf32>
// CHECK-NEXT: %2 = "ttir.multiply"(%0, %1){{.*}}-> tensor<16x72xf32>
// CHECK-NEXT: %3 = "ttir.reshape"(%2){{.*}}shape = [16 : i32, 8 : i32, 3 : i32, 3 : i32]{{.*}}-> tensor<16x8x3x3xf32>
// CHECK-NEXT: %4 = "ttir.reshape"(%arg3){{.*}}shape = [16 : i32]{{.*}}-> tensor<16xf32>
// CHECK-NEXT: %5 = "ttir.conv2d"(%arg0, %3, %4){{.*}}channel_dim = 1 : i64{{.*}}padding = array<i32: 1, 1>{{.*}}-> tensor<1x16x6x6xf32>
// CHECK-NEXT: return %5
func.func @forward(%arg0: tensor<1x8x6x6xf32> {ttcore.argument_type = #ttcore.argument_type<input>}, %arg1: tensor<16x8x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %arg2: tensor<1x16x1x1xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %arg3: tensor<1x16x1x1xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x16x6x6xf32> {
  %0 = "ttir.conv2d"(%arg0, %arg1) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, channel_dim = 1 : i64, height_dim = 2 : i64, width_dim = 3 : i64}> : (tensor<1x8x6x6xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x6x6xf32>
  %1 = "ttir.multiply"(%0, %arg2) : (tensor<1x16x6x6xf32>, tensor<1x16x1x1xf32>) -> tensor<1x16x6x6xf32>
  %2 = "ttir.add"(%arg3, %1) : (tensor<1x16x1x1xf32>, tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  return %2 : tensor<1x16x6x6xf32>
}
