// RUN: mx-opt %s -verify-diagnostics --convert-mx-to-mxgpu

// Kernels for sm_100a do not dequantize.

!x = memref<128x64xbf16>
!w = memref<128x64xf8E4M3FN>
!ws = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected a with scales on sm_100a, found 'bf16': quantize it by mx.quantize, or compile for sm_90a}}
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y)
  return
}
