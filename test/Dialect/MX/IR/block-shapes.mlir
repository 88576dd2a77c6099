// RUN: mx-opt %s | FileCheck %s
// RUN: mx-opt %s -mlir-print-op-generic | mx-opt | FileCheck %s

// Blocks of 1 x 128 and 128 x 128 elements with f32 scales.

// CHECK-LABEL: func.func @matmul(
// CHECK:       mx.matmul {{.*}} block_size = 128 b_block_size = 128x128 promote = 128
// CHECK:       mx.matmul {{.*}} block_size = 128 promote = 128
// CHECK:       mx.matmul {{.*}} block_size = 128 b_block_size = 128x128 promote = 128
!a = tensor<?x512xf8E4M3FN>
!sa = tensor<?x4xf32, #mx.scale_layout<mn_major>>
!b = tensor<200x512xf8E4M3FN>
!c = tensor<?x200xbf16>
func.func @matmul(%a: !a, %sa: !sa, %b: !b, %sb: tensor<2x4xf32>, %sr: tensor<200x4xf32>, %c: !c,
                  %e: tensor<?x4xf8E8M0FNU>, %f: tensor<2x4xf8E8M0FNU>) -> (!c, !c, !c) {
  %0 = mx.matmul ins(%a, %sa, %b, %sb : !a, !sa, !b, tensor<2x4xf32>) outs(%c : !c)
      block_size = 128 b_block_size = 128x128 promote = 128 -> !c
  %1 = mx.matmul ins(%a, %sa, %b, %sr : !a, !sa, !b, tensor<200x4xf32>) outs(%c : !c)
      block_size = 128 promote = 128 -> !c
  %2 = mx.matmul ins(%a, %e, %b, %f : !a, tensor<?x4xf8E8M0FNU>, !b, tensor<2x4xf8E8M0FNU>) outs(%c : !c)
      block_size = 128 b_block_size = 128x128 promote = 128 -> !c
  return %0, %1, %2 : !c, !c, !c
}

// CHECK-LABEL: func.func @materialized(
// CHECK:       memref<4x?x4xf32>
func.func @materialized(%a: memref<?x512xf8E4M3FN>, %sa: memref<4x?x4xf32>, %b: memref<200x512xf8E4M3FN>,
                        %sb: memref<2x4xf32>, %c: memref<?x200xbf16>) {
  mx.matmul ins(%a, %sa, %b, %sb : memref<?x512xf8E4M3FN>, memref<4x?x4xf32>, memref<200x512xf8E4M3FN>, memref<2x4xf32>)
      outs(%c : memref<?x200xbf16>) block_size = 128 b_block_size = 128x128 promote = 128
  return
}

// CHECK-LABEL: func.func @quantize(
// CHECK:       mx.quantize {{.*}} : tensor<200x512xf8E4M3FN>, tensor<200x4xf32, #mx.scale_layout<mn_major>>) ->
// CHECK:       mx.quantize {{.*}} block_size = 128x128 scale_rounding = ceil
// CHECK:       mx.fused_quantize {{.*}} block_size = 128x128 scale_rounding = exact ->
func.func @quantize(%x: tensor<200x512xbf16>, %q: tensor<200x512xf8E4M3FN>,
                    %s: tensor<200x4xf32, #mx.scale_layout<mn_major>>, %t: tensor<2x4xf32>) {
  mx.quantize ins(%x : tensor<200x512xbf16>)
      outs(%q, %s : tensor<200x512xf8E4M3FN>, tensor<200x4xf32, #mx.scale_layout<mn_major>>)
      -> tensor<200x512xf8E4M3FN>, tensor<200x4xf32, #mx.scale_layout<mn_major>>
  mx.quantize ins(%x : tensor<200x512xbf16>) outs(%q, %t : tensor<200x512xf8E4M3FN>, tensor<2x4xf32>)
      block_size = 128x128 scale_rounding = ceil -> tensor<200x512xf8E4M3FN>, tensor<2x4xf32>
  mx.fused_quantize ins(%x : tensor<200x512xbf16>) outs(%q, %t : tensor<200x512xf8E4M3FN>, tensor<2x4xf32>)
      block_size = 128x128 scale_rounding = exact -> tensor<200x512xf8E4M3FN>, tensor<2x4xf32>
  return
}
