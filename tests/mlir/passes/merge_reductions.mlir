// RUN: alchemist opt %s --merge-reductions | filecheck %s

// A mean of a mean is one mean over both dimensions.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %0 = "ttir.mean"(%arg0){{.*}}dim_arg = [1 : i32, 2 : i32]{{.*}}-> tensor<2xf32>
// CHECK-NEXT: return %0
func.func @forward(%arg0: tensor<2x4x64xf32> {ttcore.argument_type = #ttcore.argument_type<input>}) -> tensor<2xf32> {
  %0 = "ttir.mean"(%arg0) <{dim_arg = [-1 : i32], keep_dim = false}> : (tensor<2x4x64xf32>) -> tensor<2x4xf32>
  %1 = "ttir.mean"(%0) <{dim_arg = [-1 : i32], keep_dim = false}> : (tensor<2x4xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
