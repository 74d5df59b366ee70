// RUN: alchemist opt %s --split-input-file --inline | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: "ttir.exp"(%arg0)
// CHECK-NEXT: return
// CHECK-NOT: @helper
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = func.call @helper(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func private @helper(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "ttir.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
