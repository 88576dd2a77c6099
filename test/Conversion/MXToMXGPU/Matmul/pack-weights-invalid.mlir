// RUN: mx-opt %s -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_90a"

// A thread reads 4 bytes of a row at a time.

func.func @main(%w: memref<64x68xf4E2M1FN>, %p: memref<1x2x128x32xf4E2M1FN>) {
  // expected-error @below {{'mx.pack_operand' op expected the row length to be a multiple of 8 weights of 'f4E2M1FN' on the GPU, found 68; the nearest are 64 and 72}}
  mx.pack_operand order = #mxgpu.fragment_64x64 ins(%w : memref<64x68xf4E2M1FN>) outs(%p : memref<1x2x128x32xf4E2M1FN>)
  return
}

// -----

!w = memref<64x64xf8E4M3FN, strided<[128, 1]>>
func.func @main(%w: !w, %p: memref<1x1x128x32xf8E4M3FN>) {
  // expected-error @below {{'mx.pack_operand' op expected operands with identity layout on the GPU, found 'memref<64x64xf8E4M3FN, strided<[128, 1]>>'}}
  mx.pack_operand order = #mxgpu.fragment_64x64 ins(%w : !w) outs(%p : memref<1x1x128x32xf8E4M3FN>)
  return
}

// -----

// Kernels read packed weights only if A is unscaled. They support k_order only with a schedule that
// specifies it.

!a = memref<128x64xf8E4M3FN>
!w = memref<2x1x128x32xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%a: !a, %w: !w, %s: !s, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected operand orders that kernels for sm_90a support, found #mxgpu.fragment_64x64: remove mx.pack_operand}}
  mx.matmul ins(%a, %s, %w, %s : !a, !s, !w, !s) outs(%y : !y) b_order = #mxgpu.fragment_64x64
  return
}

// -----

!a = memref<128x64xf8E4M3FN>
!x = memref<128x64xbf16>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @order(%x: !x, %b: !a, %s: !s, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected a not in #mxgpu.k_order with #mxgpu.schedule<tile = [64, 64, 64], stages = 2}}
  mx.matmul ins(%x, %b, %s : !x, !a, !s) outs(%y : !y) a_order = #mxgpu.k_order<64>
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], stages = 2, strategy = #mxgpu.wgmma_swap_ab>}
  return
}

// -----

!a = memref<128x64xf8E4M3FN>
!x = memref<128x64xbf16>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @block(%x: !x, %b: !a, %s: !s, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected a in #mxgpu.k_order<64> on the GPU, found #mxgpu.k_order<32>}}
  mx.matmul ins(%x, %b, %s : !x, !a, !s) outs(%y : !y) a_order = #mxgpu.k_order<32>
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], stages = 2, strategy = #mxgpu.wgmma_swap_ab<permuted_a = true>>}
  return
}

// -----

// Matmuls read whole packed matrices.

!x = memref<128x64xbf16>
!w = memref<2x1x128x32xf8E4M3FN, strided<[8192, 4096, 32, 1]>>
!ws = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected b to be a matrix with identity layout on the GPU, found 'memref<2x1x128x32xf8E4M3FN, strided<[8192, 4096, 32, 1]>>'}}
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) b_order = #mxgpu.fragment_64x64
  return
}
