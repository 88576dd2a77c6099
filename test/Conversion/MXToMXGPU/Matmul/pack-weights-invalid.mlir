// RUN: mx-opt %s -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_90a"

// A thread reads 4 bytes of a row at a time.

func.func @main(%w: memref<64x68xf4E2M1FN>, %p: memref<1x2x128x32xf4E2M1FN>) {
  // expected-error @below {{'mx.pack_weights' op expected rows of a multiple of 8 weights of 'f4E2M1FN' on the GPU, found 68; the nearest are 64 and 72}}
  mx.pack_weights ins(%w : memref<64x68xf4E2M1FN>) outs(%p : memref<1x2x128x32xf4E2M1FN>)
  return
}

// -----

!w = memref<64x64xf8E4M3FN, strided<[128, 1]>>
func.func @main(%w: !w, %p: memref<1x1x128x32xf8E4M3FN>) {
  // expected-error @below {{'mx.pack_weights' op expected weights with identity layout on the GPU, found 'memref<64x64xf8E4M3FN, strided<[128, 1]>>'}}
  mx.pack_weights ins(%w : !w) outs(%p : memref<1x1x128x32xf8E4M3FN>)
  return
}

// -----

// Matmuls take whole packed matrices.

!x = memref<128x64xbf16>
!w = memref<2x1x128x32xf8E4M3FN, strided<[8192, 4096, 32, 1]>>
!ws = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected b to be a matrix with identity layout on the GPU, found 'memref<2x1x128x32xf8E4M3FN, strided<[8192, 4096, 32, 1]>>'}}
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y)
  return
}
