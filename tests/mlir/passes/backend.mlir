// RUN: alchemist opt %s --ttir-to-ttnn-backend-pipeline | filecheck %s
// RUN: alchemist opt %s --ttir-to-ttnn-backend-pipeline="enable-const-eval=false" | filecheck %s --check-prefix=PLAIN

// CHECK: #ttnn_layout = #ttnn.ttnn_layout<
// CHECK: func.func private @forward_const_eval_0
// CHECK: "ttnn.exp"
// CHECK: func.func @forward
// CHECK: ttcore.load_cached(@forward_const_eval_0
// CHECK: "ttnn.add"{{.*}}activations = ["relu"]
// CHECK-NOT: ttir.
// PLAIN-NOT: load_cached
// PLAIN: "ttnn.exp"
func.func @forward(%x: tensor<32x32xf32> {ttcore.argument_type = #ttcore.argument_type<input>},
                   %w: tensor<32x32xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<32x32xf32> {
  %0 = "ttir.exp"(%w) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = "ttir.add"(%x, %0) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = "ttir.relu"(%1) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %2 : tensor<32x32xf32>
}
