// RUN: mx-opt %s -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_90a"
// RUN: mx-opt %s -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_100a"

// The tensor core multiplies f16 only by f16, and f16 cannot represent
// all weights.

!x = memref<128x64xf16>
!w = memref<128x64xf8E4M3FN>
!ws = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected operand 'a' to be bf16 on the GPU, found 'f16': operand 'b' is dequantized to bf16, and the tensor core cannot multiply f16 by bf16. Convert 'a' to bf16, which rounds the values, or quantize 'a' with mx.quantize}}
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y)
  return
}

// -----

// The copy engine requires row strides that are multiples of 16 bytes.

!x = memref<128x64xbf16, strided<[68, 1]>>
!w = memref<128x64xf8E4M3FN>
!ws = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected the row stride of a to be a multiple of 8 elements and at least 64 on the GPU, found 68}}
  // expected-note @below {{the nearest are 64 and 72}}
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y)
  return
}
