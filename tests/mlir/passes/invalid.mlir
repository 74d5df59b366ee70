// RUN: alchemist opt %s --split-input-file --verify-diagnostics

func.func @depth(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) -> tensor<2x5xf32> {
  // expected-error@+1 {{inner dimensions differ: [2, 3] times [4, 5]}}
  %0 = "ttir.matmul"(%a, %b) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

func.func @name(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{operation ttir.abss is not known}}
  %0 = "ttir.abss"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %a : tensor<2x3xf32>
}

// -----

func.func @value() -> tensor<2x3xf32> {
  // expected-error@+1 {{%x is used but not defined}}
  return %x : tensor<2x3xf32>
}

// -----

// expected-error@+1 {{alias #a refers to itself}}
#a = [#a]
module attributes {x = #a} {}
