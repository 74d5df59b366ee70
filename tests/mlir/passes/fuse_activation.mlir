// RUN: alchemist opt %s --fuse-activation | filecheck %s

// An activation behind a product is an attribute of the product.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %0 = "ttir.linear"(%arg0, %arg1, %arg2){{.*}}{alchemist.activation = "relu"}
// CHECK-NEXT: return %0
func.func @forward(%arg0: tensor<2x4x64xf32> {ttcore.argument_type = #ttcore.argument_type<input>}, %arg1: tensor<32x64xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %arg2: tensor<32xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x4x32xf32> {
  %0 = "ttir.linear"(%arg0, %arg1, %arg2) <{transpose_b = true}> : (tensor<2x4x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<2x4x32xf32>
  %1 = "ttir.relu"(%0) : (tensor<2x4x32xf32>) -> tensor<2x4x32xf32>
  return %1 : tensor<2x4x32xf32>
}
