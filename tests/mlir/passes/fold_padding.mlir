// RUN: alchemist opt %s --fold-padding | filecheck %s

// Zeros around an image are padding of the convolution, added side by side to its own.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %0 = "ttir.conv2d"(%arg0, %arg1){{.*}}channel_dim = 1 : i64{{.*}}padding = array<i32: 2, 1, 2, 2>{{.*}}-> tensor<1x16x8x7xf32>
// CHECK-NEXT: return %0
func.func @forward(%arg0: tensor<1x8x6x6xf32> {ttcore.argument_type = #ttcore.argument_type<input>}, %arg1: tensor<16x8x3x3xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x16x8x7xf32> {
  %0 = "ttir.pad"(%arg0) <{padding = array<i32: 0, 0, 0, 0, 1, 1, 0, 1>, value = 0.0 : f32}> : (tensor<1x8x6x6xf32>) -> tensor<1x8x8x7xf32>
  %1 = "ttir.conv2d"(%0, %arg1) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1>, dilation = array<i32: 1, 1>, groups = 1 : i32, channel_dim = 1 : i64, height_dim = 2 : i64, width_dim = 3 : i64}> : (tensor<1x8x8x7xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x8x7xf32>
  return %1 : tensor<1x16x8x7xf32>
}
