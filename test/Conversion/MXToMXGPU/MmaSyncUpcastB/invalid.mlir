// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_120a"

// Rejects schedules unsupported by mma_sync_upcast_b.

// -----

// TEMPLATE converted
// SET schedule = none
!x = memref<256x256xbf16>
!w = memref<256x256xf4E2M1FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf32>
func.func @main(%x: !x, %w: !w, %s: !s, %y: !y) {
  // BLOCK error
  // END
  mx.matmul ins(%x, %w, %s : !x, !w, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<${schedule}>}
  return
}

// -----

// CASES converted error
// SET schedule = tile = [48, 64, 64], stages = 2, strategy = #mxgpu.mma_sync_upcast_b
// expected-error @below {{expected a tile of 16, 32, 64 or 128 rows, found 48}}

// SET schedule = tile = [64, 96, 64], stages = 2, strategy = #mxgpu.mma_sync_upcast_b
// expected-error @below {{expected a tile of 32, 64 or 128 columns, or of 256 with at most 64 rows or two matrices of b, found 64 x 96}}

// SET schedule = tile = [128, 256, 64], stages = 2, strategy = #mxgpu.mma_sync_upcast_b
// expected-error @below {{expected a tile of 32, 64 or 128 columns, or of 256 with at most 64 rows or two matrices of b, found 128 x 256}}

// SET schedule = tile = [64, 64, 128], stages = 2, strategy = #mxgpu.mma_sync_upcast_b
// expected-error @below {{expected a tile of 64 reduction elements, found 128}}

// SET schedule = tile = [64, 64, 64], stages = 2, strategy = #mxgpu.mma_sync_upcast_b<ctas_per_sm = 2>
// expected-error @below {{expected ctas_per_sm = 1, or 2 with a tile of 16 or 32 rows, found 2 with 64}}

// SET schedule = tile = [64, 64, 64], epilogue = tma_store, stages = 2, strategy = #mxgpu.mma_sync_upcast_b
// expected-error @below {{expected epilogue = direct, because warps share rows of the result, found epilogue = tma_store}}

// SET schedule = tile = [64, 64, 64], registers = [128, 40], stages = 2, strategy = #mxgpu.mma_sync_upcast_b
// expected-error @below {{expected a schedule with registers to use 8 MMA warps, found 2: ptxas assigns the registers of other schedules}}

// SET schedule = tile = [64, 64, 64], stages = 2, strategy = #mxgpu.mma_sync_block_scaled
// expected-error @below {{expected strategy = #mxgpu.mma_sync_upcast_b to multiply bf16 by f4E2M1FN on sm_120a, found #mxgpu.mma_sync_block_scaled}}

// -----

// CASES
!x = memref<16x256xbf16>
!w = memref<1x256x256xf4E2M1FN>
!s = memref<1x2x2x32x4x4xf8E8M0FNU>
!y = memref<16x128xf32>
func.func @parts(%x: !x, %w: !w, %s: !s, %o: memref<1xi32>, %y: !y) {
  // expected-error @below {{expected at least 216 registers per MMA thread with a tile of 128 x 256 and 24 per load thread, at most 504 in total over 2 MMA and 1 load warpgroups, found registers = [208, 40]}}
  mx.grouped_matmul ragged = rows ins(%x, %w, %s : !x, !w, !s) offsets(%o : memref<1xi32>) outs(%y : !y) num_b = 2
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 64], registers = [208, 40], stages = 2, strategy = #mxgpu.mma_sync_upcast_b>} epilogue {
    ^bb0(%a: f32, %b: f32, %row: index, %column: index):
      %v = arith.mulf %a, %b : f32
      mx.yield %v : f32
    }
  return
}

!x = memref<16x256xbf16>
!w = memref<1x256x256xf4E2M1FN>
!s = memref<1x2x2x32x4x4xf8E8M0FNU>
!q = memref<16x256xf8E4M3FN>
!qs = memref<1x2x32x4x4xf8E8M0FNU>
func.func @quantized(%x: !x, %w: !w, %s: !s, %o: memref<1xi32>, %q: !q, %qs: !qs) {
  // expected-error @below {{expected a tile of 128 rows with a quantized result, found 64}}
  mx.grouped_matmul ragged = rows ins(%x, %w, %s : !x, !w, !s) offsets(%o : memref<1xi32>) outs(%q, %qs : !q, !qs)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 128, 64], stages = 2, strategy = #mxgpu.mma_sync_upcast_b>}
  return
}
