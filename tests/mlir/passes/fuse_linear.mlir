// RUN: alchemist opt %s --split-input-file --fuse-linear | filecheck %s

// A product and an addition of a row become one op.
// CHECK-LABEL: func.func @positive
// CHECK-NOT: ttir.matmul
// CHECK: "ttir.linear"(%arg0, %arg1, %arg2)
// CHECK-NOT: ttir.add
// CHECK: return
func.func @positive(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32> {
  %0 = "ttir.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = "ttir.add"(%0, %b) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

// The product is returned too: it must stay.
// CHECK-LABEL: func.func @second_use
// CHECK: "ttir.matmul"
// CHECK: "ttir.add"
func.func @second_use(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %b: tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = "ttir.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = "ttir.add"(%0, %b) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// CHECK-LABEL: func.func @nothing
// CHECK-NEXT: "ttir.add"
// CHECK-NEXT: return
func.func @nothing(%x: tensor<4x6xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32> {
  %1 = "ttir.add"(%x, %b) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
