// RUN: alchemist opt %s --split-input-file --ttir-implicit-broadcast-fold | filecheck %s

// CHECK-LABEL: func.func @positive
// CHECK-NEXT: "ttir.add"(%arg0, %arg1)
// CHECK-NEXT: return
func.func @positive(%x: tensor<4x8xf32>, %y: tensor<1x8xf32>) -> tensor<4x8xf32> {
  %0 = "ttir.broadcast"(%y) <{broadcast_dimensions = array<i64: 4, 1>}> : (tensor<1x8xf32>) -> tensor<4x8xf32>
  %1 = "ttir.add"(%x, %0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Without the broadcast the result would be smaller.
// CHECK-LABEL: func.func @both
// CHECK: "ttir.broadcast"
// CHECK: "ttir.add"
func.func @both(%x: tensor<1x8xf32>, %y: tensor<1x8xf32>) -> tensor<4x8xf32> {
  %0 = "ttir.broadcast"(%y) <{broadcast_dimensions = array<i64: 4, 1>}> : (tensor<1x8xf32>) -> tensor<4x8xf32>
  %1 = "ttir.add"(%0, %0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
