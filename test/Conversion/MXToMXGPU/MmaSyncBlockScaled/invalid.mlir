// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_120a"

// Rejects schedules unsupported by mma_sync_block_scaled.

// -----

// TEMPLATE scaled
// SET schedule = none
!e = memref<256x256xf8E4M3FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf32>
func.func @main(%a: !e, %s: !s, %y: !y) {
  // BLOCK error
  // END
  mx.matmul ins(%a, %s, %a, %s : !e, !s, !e, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<${schedule}>}
  return
}

// -----

// CASES scaled error
// SET schedule = tile = [48, 64, 128], stages = 2, strategy = #mxgpu.mma_sync_block_scaled
// expected-error @below {{expected a tile of 16, 32, 64, 128 or 256 rows, found 48}}

// SET schedule = tile = [64, 96, 128], stages = 2, strategy = #mxgpu.mma_sync_block_scaled
// expected-error @below {{expected a tile of 32, 64, 128 or 256 columns, found 96}}

// SET schedule = tile = [256, 256, 128], stages = 2, strategy = #mxgpu.mma_sync_block_scaled
// expected-error @below {{expected a tile of at most 32768 elements, so that the accumulator fits in registers, found 256 x 256}}

// SET schedule = tile = [64, 64, 64], stages = 2, strategy = #mxgpu.mma_sync_block_scaled
// expected-error @below {{expected a tile of 128 reduction elements, found 64}}

// SET schedule = tile = [64, 64, 256], stages = 2, strategy = #mxgpu.mma_sync_block_scaled
// expected-error @below {{expected a tile of 128 reduction elements, found 256}}

// SET schedule = tile = [64, 32, 128], stages = 2, strategy = #mxgpu.mma_sync_block_scaled<column_warps = 4>
// expected-error @below {{expected at least 32 columns per warp, found a tile of 32 columns and 4 column warps}}

// SET schedule = tile = [256, 128, 128], stages = 2, strategy = #mxgpu.mma_sync_block_scaled<column_warps = 4>
// expected-error @below {{expected at most 8 MMA warps, found 32 with 4 column warps and a tile of 256 x 128}}

// SET schedule = tile = [128, 64, 128], epilogue = tma_store, stages = 2, strategy = #mxgpu.mma_sync_block_scaled<column_warps = 2>
// expected-error @below {{expected column_warps = 1 with epilogue = tma_store, found 2}}

// SET schedule = tile = [64, 64, 128], registers = [128, 40], stages = 2, strategy = #mxgpu.mma_sync_block_scaled
// expected-error @below {{expected a schedule with registers to use 8 MMA warps, found 2: ptxas assigns the registers of other schedules}}

// -----

// CASES
!a = memref<300x256xf8E4M3FN>
!as = memref<3x2x32x4x4xf8E8M0FNU>
!b = memref<1x256x256xf8E4M3FN>
!bs = memref<1x2x2x32x4x4xf8E8M0FNU>
!q = memref<300x256xf8E4M3FN>
!qs = memref<3x2x32x4x4xf8E8M0FNU>
func.func @blocks(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: memref<1xi32>, %q: !q, %qs: !qs) {
  // expected-error @below {{expected column_warps = 1, or 4 with a tile of 128 columns, for a quantized result, found 2 with 128 columns}}
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%o : memref<1xi32>) outs(%q, %qs : !q, !qs)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2, strategy = #mxgpu.mma_sync_block_scaled<column_warps = 2>>}
  return
}

!a = memref<300x256xf8E4M3FN>
!as = memref<3x2x32x4x4xf8E8M0FNU>
!b = memref<1x256x256xf8E4M3FN>
!bs = memref<1x2x2x32x4x4xf8E8M0FNU>
!y = memref<300x128xf32>
func.func @columnsOfParts(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: memref<1xi32>, %y: !y) {
  // expected-error @below {{expected at least 64 columns per warp, found a tile of 256 columns and 8 column warps}}
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%o : memref<1xi32>) outs(%y : !y) num_b = 2
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 1, strategy = #mxgpu.mma_sync_block_scaled<column_warps = 8>>} epilogue {
    ^bb0(%x: f32, %z: f32, %row: index, %column: index):
      %v = arith.mulf %x, %z : f32
      mx.yield %v : f32
    }
  return
}
