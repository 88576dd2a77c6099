// RUN: mx-opt %s --split-input-file --mx-normalize-views | FileCheck %s
// RUN: mx-opt %s --split-input-file --mx-to-cpu -o /dev/null
// RUN: mx-opt %s --split-input-file --mx-to-plan -o /dev/null
// RUN: mx-opt %s --split-input-file --mx-to-nvvm -o /dev/null

// CHECK-LABEL: func.func @strided(
// CHECK:         %[[S:.*]] = tensor.extract_slice %arg0[0, 0, 0, 1] [2, 1, 1, 4] [1, 1, 1, 3] : tensor<8x5x1x16xf32> to tensor<2x4xf32>
// CHECK:         tensor.expand_shape %[[S]] {{\[\[}}0, 1], [2]] output_shape [2, 1, 4] : tensor<2x4xf32> into tensor<2x1x4xf32>
func.func @strided(%x: tensor<8x5x1x16xf32>) -> tensor<2x1x4xf32> {
  %s = tensor.extract_slice %x[0, 0, 0, 1] [2, 1, 1, 4] [1, 1, 1, 3] : tensor<8x5x1x16xf32> to tensor<2x1x4xf32>
  return %s : tensor<2x1x4xf32>
}

// -----

// If the source strides are dynamic, a dropped dimension and a kept dimension
// may have equal strides, so the slice drops both.
// CHECK-LABEL: func.func @dynamic(
// CHECK:         %[[S:.*]] = tensor.extract_slice %arg0[0, 0, 0, 0] [1, %arg1, 1, 4] [1, 1, 1, 1] : tensor<?x?x?x?xf32> to tensor<?x4xf32>
// CHECK:         tensor.expand_shape %[[S]] {{\[\[}}0, 1], [2]] output_shape [1, %arg1, 4] : tensor<?x4xf32> into tensor<1x?x4xf32>
func.func @dynamic(%x: tensor<?x?x?x?xf32>, %n: index) -> tensor<1x?x4xf32> {
  %s = tensor.extract_slice %x[0, 0, 0, 0] [1, %n, 1, 4] [1, 1, 1, 1] : tensor<?x?x?x?xf32> to tensor<1x?x4xf32>
  return %s : tensor<1x?x4xf32>
}

// -----

// These slices are kept because they drop all, none or the leading unit dimensions.
// CHECK-LABEL: func.func @clear(
// CHECK:         tensor.extract_slice {{.*}} to tensor<2x4xf32>
// CHECK:         tensor.extract_slice {{.*}} to tensor<2x1x1x4xf32>
// CHECK:         tensor.extract_slice {{.*}} to tensor<1x16xf32>
// CHECK-NOT:     shape
func.func @clear(%x: tensor<8x5x1x16xf32>) -> (tensor<2x4xf32>, tensor<2x1x1x4xf32>, tensor<1x16xf32>) {
  %a = tensor.extract_slice %x[0, 0, 0, 1] [2, 1, 1, 4] [3, 1, 1, 3] : tensor<8x5x1x16xf32> to tensor<2x4xf32>
  %b = tensor.extract_slice %x[0, 0, 0, 1] [2, 1, 1, 4] [3, 1, 1, 3] : tensor<8x5x1x16xf32> to tensor<2x1x1x4xf32>
  %c = tensor.extract_slice %x[0, 0, 0, 0] [1, 1, 1, 16] [1, 1, 1, 1] : tensor<8x5x1x16xf32> to tensor<1x16xf32>
  return %a, %b, %c : tensor<2x4xf32>, tensor<2x1x1x4xf32>, tensor<1x16xf32>
}

// -----

// CHECK-LABEL: func.func @inserted(
// CHECK:         %[[S:.*]] = tensor.collapse_shape %arg1 {{\[\[}}0, 1], [2]] : tensor<2x1x4xf32> into tensor<2x4xf32>
// CHECK:         tensor.insert_slice %[[S]] into %arg0[0, 0, 0, 1] [2, 1, 1, 4] [1, 1, 1, 3] : tensor<2x4xf32> into tensor<8x5x1x16xf32>
func.func @inserted(%x: tensor<8x5x1x16xf32>, %s: tensor<2x1x4xf32>) -> tensor<8x5x1x16xf32> {
  %y = tensor.insert_slice %s into %x[0, 0, 0, 1] [2, 1, 1, 4] [1, 1, 1, 3] : tensor<2x1x4xf32> into tensor<8x5x1x16xf32>
  return %y : tensor<8x5x1x16xf32>
}

// -----

// CHECK-LABEL: func.func @in_parallel(
// CHECK:         %[[S:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0, 1]] : tensor<1x4xf32> into tensor<4xf32>
// CHECK:         scf.forall.in_parallel
// CHECK:           tensor.parallel_insert_slice %[[S]] into
func.func @in_parallel(%x: tensor<8x1x16xf32>, %s: tensor<1x4xf32>) -> tensor<8x1x16xf32> {
  %y = scf.forall (%i) in (8) shared_outs(%o = %x) -> (tensor<8x1x16xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i, 0, 0] [1, 1, 4] [1, 1, 3] : tensor<1x4xf32> into tensor<8x1x16xf32>
    }
  }
  return %y : tensor<8x1x16xf32>
}

// -----

// In a memref type, the strides identify the dropped dimension.
// CHECK-LABEL: func.func @memref(
// CHECK:         %[[S:.*]] = memref.subview %arg0[0, 0, 0, 1] [2, 1, 1, 4] [3, 1, 1, 3] : memref<8x5x1x16xf32> to memref<2x1x1x4xf32, strided<[240, 16, 16, 3], offset: 1>>
// CHECK:         memref.subview %[[S]][0, 0, 0, 0] [2, 1, 1, 4] [1, 1, 1, 1] : {{.*}} to memref<2x1x4xf32, strided<[240, 16, 3], offset: 1>>
func.func @memref(%x: memref<8x5x1x16xf32>, %y: memref<2x1x4xf32>) {
  %s = memref.subview %x[0, 0, 0, 1] [2, 1, 1, 4] [3, 1, 1, 3] : memref<8x5x1x16xf32> to memref<2x1x4xf32, strided<[240, 16, 3], offset: 1>>
  memref.copy %s, %y : memref<2x1x4xf32, strided<[240, 16, 3], offset: 1>> to memref<2x1x4xf32>
  return
}

// -----

// CHECK-LABEL: func.func @nothing(
// CHECK-NOT:     collapse_shape
// CHECK:         tensor.empty(%{{.*}}) : tensor<?xf32>
func.func @nothing(%x: tensor<0x?xf32>) -> tensor<?xf32> {
  %y = tensor.collapse_shape %x [[0, 1]] : tensor<0x?xf32> into tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// Lowers a dimension expanded to several dynamic dimensions or next to a dimension of size 0.
func.func @several(%x: tensor<?x8xf32>, %n: index, %m: index) -> tensor<?x?x8xf32> {
  %y = tensor.expand_shape %x [[0, 1], [2]] output_shape [%n, %m, 8] : tensor<?x8xf32> into tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

func.func @beside_zero(%x: tensor<?xf32>, %n: index) -> tensor<0x?xf32> {
  %y = tensor.expand_shape %x [[0, 1]] output_shape [0, %n] : tensor<?xf32> into tensor<0x?xf32>
  return %y : tensor<0x?xf32>
}
