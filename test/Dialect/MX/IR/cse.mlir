// RUN: mx-opt %s --cse | FileCheck %s

// Equal matmuls are merged.
// CHECK-LABEL: func @equal
// CHECK:         %[[C:.*]] = mx.matmul
// CHECK-NOT:     mx.matmul
// CHECK:         return %[[C]], %[[C]]
func.func @equal(%a: tensor<8x32xf8E4M3FN>, %s: tensor<8x1xf8E8M0FNU>, %init: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %c = mx.matmul ins(%a, %s, %a, %s : tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>,
                     tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>)
      outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = mx.matmul ins(%a, %s, %a, %s : tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>,
                     tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>)
      outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %c, %d : tensor<8x8xf32>, tensor<8x8xf32>
}

// Matmuls with different attributes are kept.
// CHECK-LABEL: func @different
// CHECK-COUNT-2: mx.matmul
func.func @different(%a: tensor<8x32xf8E4M3FN>, %s: tensor<8x1xf8E8M0FNU>, %init: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %c = mx.matmul ins(%a, %s, %a, %s : tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>,
                     tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>)
      outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = mx.matmul ins(%a, %s, %a, %s : tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>,
                     tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>)
      outs(%init : tensor<8x8xf32>) accumulate -> tensor<8x8xf32>
  return %c, %d : tensor<8x8xf32>, tensor<8x8xf32>
}

// Equal operations on memrefs are kept, because they write memory.
// CHECK-LABEL: func @memrefs
// CHECK-COUNT-2: mx.relayout
func.func @memrefs(%l: memref<256x16xf8E8M0FNU>, %t: memref<2x4x32x4x4xf8E8M0FNU>) {
  mx.relayout ins(%l : memref<256x16xf8E8M0FNU>) outs(%t : memref<2x4x32x4x4xf8E8M0FNU>)
  mx.relayout ins(%l : memref<256x16xf8E8M0FNU>) outs(%t : memref<2x4x32x4x4xf8E8M0FNU>)
  return
}
