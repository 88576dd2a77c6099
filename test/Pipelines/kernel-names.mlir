// Kernels get valid names even if the function's name is not valid in PTX.
//
// RUN: mx-opt %s --mx-to-nvvm 2>/dev/null | mx-translate --mx-to-ptx | FileCheck %s
// CHECK-DAG: .entry a_b_linalg_add(
// CHECK-DAG: .entry a_b_linalg_add_0(
// CHECK-DAG: .entry _1____linalg_add(
func.func @a.b(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @"a b"(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.add ins(%x, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @"1\C3\A9/"(%x: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %y = linalg.add ins(%x, %x : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}
