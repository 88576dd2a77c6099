// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --mx-dequantize-operands=chip=sm_90a --convert-mx-to-mxgpu="chip=sm_90a"

// Rejects schedules unsupported by wgmma_upcast_a.

// -----

// TEMPLATE function
// SET arguments = %a: !a, %s: !s, %b: !b, %y: !y
!a = memref<256x256xf8E4M3FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!b = memref<256x256xbf16>
!y = memref<256x256xf32>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// expected-error @below {{expected strategy = #mxgpu.wgmma_upcast_a to multiply f8E4M3FN by bf16 on sm_90a, found #mxgpu.wgmma_swap_ab}}
mx.matmul ins(%a, %s, %b : !a, !s, !b) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab>}

// expected-error @below {{expected a tile of 64, 128, 192 or 256 rows with wgmma_upcast_a, found 32}}
mx.matmul ins(%a, %s, %b : !a, !s, !b) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [32, 64, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_a>}

// expected-error @below {{expected a tile with a multiple of 16 columns with wgmma_upcast_a, found 40}}
mx.matmul ins(%a, %s, %b : !a, !s, !b) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [64, 40, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_a>}

// expected-error @below {{expected a tile of at most 96 columns with 256 rows and wgmma_upcast_a, so that the accumulator fits in registers, found 128}}
mx.matmul ins(%a, %s, %b : !a, !s, !b) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [256, 128, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_a>}

// -----

// CASES
!a = memref<256x256xf8E4M3FN>
!s = memref<6x2x32x4x4xf8E8M0FNU>
!b = memref<4x256x256xbf16>
!y = memref<256x256xf32>
func.func @groups(%a: !a, %s: !s, %b: !b, %o: memref<4xi32>, %y: !y) {
  // expected-error @below {{expected a tile of 128 or 256 rows with expert groups, found 192}}
  mx.grouped_matmul ragged = rows ins(%a, %s, %b : !a, !s, !b) offsets(%o : memref<4xi32>) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [192, 64, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_a>}
  return
}

!a = memref<256x256xf8E4M3FN>
!s = memref<6x2x32x4x4xf8E8M0FNU>
!b = memref<4x256x256xbf16>
!q = memref<256x256xf8E4M3FN>
!qs = memref<6x2x32x4x4xf8E8M0FNU>
func.func @quantized(%a: !a, %s: !s, %b: !b, %o: memref<4xi32>, %q: !q, %qs: !qs) {
  // expected-error @below {{wgmma_upcast_a does not support quantized results, because their blocks span four threads: use another strategy}}
  mx.grouped_matmul ragged = rows ins(%a, %s, %b : !a, !s, !b) offsets(%o : memref<4xi32>) outs(%q, %qs : !q, !qs)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_a>}
  return
}

!a = tensor<256x256xf8E4M3FN>
!s = tensor<2x2x32x4x4xf8E8M0FNU>
!y = tensor<256x256xf32>
func.func @no_workspace(%a: !a, %s: !s, %y: !y) -> !y {
  // expected-error @below {{expected workspace = b with permuted_b, found a}}
  %0 = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], workspace = a, strategy = #mxgpu.wgmma_upcast_a<permuted_b = true>>} -> !y
  return %0 : !y
}

!a = tensor<256x48xf4E2M1FN>
!s = tensor<2x1x32x4x4xf8E4M3FN>
!y = tensor<256x256xf32>
func.func @multiple(%a: !a, %s: !s, %y: !y) -> !y {
  // expected-error @below {{expected a reduction of a multiple of 32 elements with permuted_b, found 48: leave out permuted_b}}
  %0 = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) block_size = 16
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], workspace = b, strategy = #mxgpu.wgmma_upcast_a<permuted_b = true>>} -> !y
  return %0 : !y
}

!a = tensor<256x256xbf16>
!b = tensor<256x256xf8E4M3FN>
!s = tensor<2x2x32x4x4xf8E8M0FNU>
!y = tensor<256x256xf32>
func.func @numbers(%a: !a, %b: !b, %s: !s, %y: !y) -> !y {
  // expected-error @below {{expected scales of a with permuted_b, found none: leave out permuted_b}}
  %0 = mx.matmul ins(%a, %b, %s : !a, !b, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], workspace = b, strategy = #mxgpu.wgmma_upcast_a<permuted_b = true>>} -> !y
  return %0 : !y
}
