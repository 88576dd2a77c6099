// RUN: mx-opt %s -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_90a"
// RUN: mx-opt %s -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_100a"

// The tensor core multiplies f16 only by f16, which cannot represent all
// weights.

!x = memref<128x64xf16>
!w = memref<128x64xf8E4M3FN>
!ws = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected a of bf16 on the GPU, found 'f16': the tensor core multiplies f16 by f16 only, and b is dequantized to bf16; convert a to bf16, which rounds it, or to elements by mx.quantize}}
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y)
  return
}

// -----

// The copy engine requires rows at multiples of 16 bytes.

!x = memref<128x64xbf16, strided<[68, 1]>>
!w = memref<128x64xf8E4M3FN>
!ws = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected rows of a at a stride of a multiple of 8 elements, at least 64, on the GPU, found 68}}
  // expected-note @below {{the nearest are 64 and 72}}
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y)
  return
}
