// RUN: mx-opt %s -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_90a"

// Kernels with promotion read f32 scales of single rows in layout mn_major, other kernels in the linear layout.

!a = memref<512x512xf8E4M3FN>
func.func @linear(%a: !a, %as: memref<512x4xf32>, %bs: memref<4x4xf32>, %c: memref<512x512xbf16>) {
  // expected-error @below {{'mx.matmul' op expected scales of a in layout mn_major on the GPU, found 'memref<512x4xf32>': quantize to #mx.scale_layout<mn_major>, or use mx.relayout}}
  mx.matmul ins(%a, %as, %a, %bs : !a, memref<512x4xf32>, !a, memref<4x4xf32>) outs(%c : memref<512x512xbf16>)
    block_size = 128 b_block_size = 128x128 promote = 128
  return
}

// -----

!a = memref<512x512xf8E4M3FN>
!as = memref<4x128x4xf32>
func.func @dequantized(%x: memref<512x512xbf16>, %a: !a, %as: !as, %c: memref<512x512xbf16>) {
  // expected-error @below {{'mx.matmul' op expected scales of b in layout linear on the GPU, found 'memref<4x128x4xf32>': quantize to #mx.scale_layout<linear>, or use mx.relayout}}
  mx.matmul ins(%x, %a, %as : memref<512x512xbf16>, !a, !as) outs(%c : memref<512x512xbf16>) block_size = 128
  return
}
