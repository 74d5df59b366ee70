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

// -----

// The negation of a negation is the value; a truth value is its own double negation, a number is not.
// CHECK-LABEL: func.func @negated_twice
// CHECK-NEXT: %0 = "ttir.logical_not"(%arg0)
// CHECK-NEXT: %1 = "ttir.logical_not"(%0)
// CHECK-NEXT: return %arg0, %arg1, %1
func.func @negated_twice(%arg0: tensor<4xf32>, %arg1: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>) {
  %0 = "ttir.neg"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "ttir.neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "ttir.logical_not"(%arg1) : (tensor<4xi1>) -> tensor<4xi1>
  %3 = "ttir.logical_not"(%2) : (tensor<4xi1>) -> tensor<4xi1>
  %4 = "ttir.logical_not"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = "ttir.logical_not"(%4) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %3, %5 : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>
}
