// RUN: alchemist opt %s --drop-unit-dims | filecheck %s

// A row times a column is a product by elements and a sum.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %0 = "ttir.reshape"(%arg0){{.*}}shape = [6 : i32, 8 : i32]{{.*}}-> tensor<6x8xf32>
// CHECK-NEXT: %1 = "ttir.reshape"(%arg1){{.*}}shape = [6 : i32, 8 : i32]{{.*}}-> tensor<6x8xf32>
// CHECK-NEXT: %2 = "ttir.multiply"(%0, %1){{.*}}-> tensor<6x8xf32>
// CHECK-NEXT: %3 = "ttir.sum"(%2){{.*}}dim_arg = [1 : i32]{{.*}}-> tensor<6x1xf32>
// CHECK-NEXT: %4 = "ttir.reshape"(%3){{.*}}shape = [6 : i32, 1 : i32, 1 : i32]{{.*}}-> tensor<6x1x1xf32>
// CHECK-NEXT: return %4
func.func @forward(%arg0: tensor<6x1x8xf32> {ttcore.argument_type = #ttcore.argument_type<input>}, %arg1: tensor<6x8x1xf32> {ttcore.argument_type = #ttcore.argument_type<input>}) -> tensor<6x1x1xf32> {
  %0 = "ttir.matmul"(%arg0, %arg1) : (tensor<6x1x8xf32>, tensor<6x8x1xf32>) -> tensor<6x1x1xf32>
  return %0 : tensor<6x1x1xf32>
}
