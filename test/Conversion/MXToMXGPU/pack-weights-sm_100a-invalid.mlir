// RUN: mx-opt %s -verify-diagnostics --convert-mx-to-mxgpu

// Threads of kernels for sm_100a read weights in rows.

!x = memref<128x64xbf16>
!w = memref<2x1x128x32xf8E4M3FN>
!ws = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected b that is not packed on sm_100a, found 'memref<2x1x128x32xf8E4M3FN>': leave out mx.pack_weights, or compile for sm_90a}}
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y)
  return
}
