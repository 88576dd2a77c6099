// RUN: mx-opt %s -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_100a"

// Chips whose tensor core takes scales multiply no elements by bf16.

!a = memref<256x256xf8E4M3FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!b = memref<256x256xbf16>
!y = memref<256x256xf32>
func.func @main(%a: !a, %s: !s, %b: !b, %y: !y) {
  // expected-error @below {{expected operands that the tensor core multiplies, found 'memref<256x256xf8E4M3FN>' and 'memref<256x256xbf16>': quantize b, or make a bf16 by mx.dequantize}}
  mx.matmul ins(%a, %s, %b : !a, !s, !b) outs(%y : !y)
  return
}
