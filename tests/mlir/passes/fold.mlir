// RUN: alchemist opt %s --split-input-file --canonicalize | filecheck %s

// Two transpositions cancel.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT: return %arg0
func.func @twice(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = "ttir.permute"(%0) <{permutation = array<i64: 1, 0>}> : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Equal ops are merged.
// CHECK-LABEL: func.func @equal
// CHECK: "ttir.exp"
// CHECK-NOT: "ttir.exp"
// CHECK: "ttir.add"(%0, %0)
func.func @equal(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "ttir.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "ttir.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "ttir.add"(%0, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// One transposition stays.
// CHECK-LABEL: func.func @once
// CHECK-NEXT: "ttir.permute"
func.func @once(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = "ttir.permute"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
