// RUN: alchemist opt %s --fuse-concat-heads | filecheck %s

// Heads beside each other: permute and reshape are one op.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: %0 = "ttir.concatenate_heads"(%arg0){{.*}}-> tensor<2x32x64xf32>
// CHECK-NEXT: return %0
func.func @forward(%arg0: tensor<2x2x32x32xf32> {ttcore.argument_type = #ttcore.argument_type<input>}) -> tensor<2x32x64xf32> {
  %0 = "ttir.permute"(%arg0) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x2x32x32xf32>) -> tensor<2x32x2x32xf32>
  %1 = "ttir.reshape"(%0) <{shape = [2 : i32, 32 : i32, 64 : i32]}> : (tensor<2x32x2x32xf32>) -> tensor<2x32x64xf32>
  return %1 : tensor<2x32x64xf32>
}
