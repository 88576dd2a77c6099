// RUN: mx-opt %s --mx-decompose-tensors --canonicalize | FileCheck %s
// RUN: mx-opt %s --mx-decompose-tensors=on-device --canonicalize | FileCheck %s --check-prefix=DEVICE
// RUN: mx-opt %s --mx-decompose-tensors --mlir-print-op-generic --mlir-print-local-scope --mlir-print-debuginfo | FileCheck %s --check-prefix=PLACE

// The result is written to a new tensor instead of %x.
// CHECK-LABEL: @elementwise
// CHECK-SAME:    (%[[X:.*]]: tensor<?x4xf32>, %[[Y:.*]]: tensor<?x4xf32>)
// CHECK:         %[[EMPTY:.*]] = tensor.empty(%{{.*}}) : tensor<?x4xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %[[Y]] : {{.*}}) outs(%[[EMPTY]] : tensor<?x4xf32>)
// CHECK:           arith.addf
func.func @elementwise(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %z = arith.addf %x, %y : tensor<?x4xf32>
  return %z : tensor<?x4xf32>
}

// CHECK-LABEL: @splat
// CHECK:         %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : tensor<4xf32>) outs(
// CHECK:           arith.mulf %{{.*}}, %[[TWO]] : f32
func.func @splat(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %z = arith.mulf %x, %two : tensor<4xf32>
  return %z : tensor<4xf32>
}

// CHECK-LABEL: @returned
// CHECK:         arith.constant dense<3>
// CHECK-NOT:     linalg.fill
// DEVICE-LABEL: @returned
// DEVICE:        %[[THREE:.*]] = arith.constant 3 : i32
// DEVICE:        linalg.fill ins(%[[THREE]] : i32)
func.func @returned() -> tensor<4xi32> {
  %three = arith.constant dense<3> : tensor<4xi32>
  return %three : tensor<4xi32>
}

// CHECK-LABEL: @softmax
// CHECK-NOT:     linalg.softmax
// CHECK:         arith.maxnumf
// CHECK:         math.exp
// CHECK:         arith.addf
// CHECK:         arith.divf
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = tensor.empty() : tensor<2x3xf32>
  %z = linalg.softmax dimension(1) ins(%x : tensor<2x3xf32>) outs(%0 : tensor<2x3xf32>) -> tensor<2x3xf32>
  return %z : tensor<2x3xf32>
}

// CHECK-LABEL: @pack
// CHECK-NOT:     linalg.pack
// CHECK:         tensor.pad
// CHECK:         tensor.expand_shape
// CHECK:         linalg.transpose
// CHECK-NOT:     linalg.unpack
func.func @pack(%x: tensor<10x7xf32>) -> (tensor<3x2x4x4xf32>, tensor<10x7xf32>) {
  %c = arith.constant 0.0 : f32
  %p0 = tensor.empty() : tensor<3x2x4x4xf32>
  %p = linalg.pack %x padding_value(%c : f32) inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %p0
      : tensor<10x7xf32> -> tensor<3x2x4x4xf32>
  %u0 = tensor.empty() : tensor<10x7xf32>
  %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %u0
      : tensor<3x2x4x4xf32> -> tensor<10x7xf32>
  return %p, %u : tensor<3x2x4x4xf32>, tensor<10x7xf32>
}

// The body is created by upstream code and gets the location of the decomposed operation.
// PLACE-LABEL: sym_name = "places"
// PLACE:       "linalg.matmul"
// PLACE:       "arith.mulf"{{.*}} loc({{.*}}decompose-tensors.mlir":[[# @LINE + 3]]:8)
// PLACE:       "func.return"
func.func @places(%a: tensor<4x32xf32>, %b: tensor<32x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = linalg.matmul ins(%a, %b : tensor<4x32xf32>, tensor<32x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
