// RUN: alchemist opt %s --split-input-file --fuse-patterns | filecheck %s

// x * sigmoid(x)
// CHECK-LABEL: func.func @silu
// CHECK: "ttir.silu"(%arg0)
// CHECK-NOT: "ttir.multiply"
// CHECK: return
func.func @silu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "ttir.sigmoid"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "ttir.multiply"(%x, %0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// The factor is another value.
// CHECK-LABEL: func.func @gate
// CHECK-NOT: ttir.silu
// CHECK: "ttir.multiply"
func.func @gate(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "ttir.sigmoid"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "ttir.multiply"(%y, %0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
