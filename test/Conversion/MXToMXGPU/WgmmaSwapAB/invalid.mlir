// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_90a"

// Rejects schedules unsupported by wgmma_swap_ab.

// -----

!a = memref<256x256xf8E4M3FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf32>
func.func @main(%a: !a, %s: !s, %y: !y) {
  // expected-error @below {{expected strategy = #mxgpu.wgmma_upcast_b to multiply f8E4M3FN by f8E4M3FN on sm_90a, found #mxgpu.wgmma_swap_ab}}
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab>}
  return
}

// -----

// TEMPLATE swapped
// SET schedule = none
!x = memref<16x256xbf16>
!w = memref<256x256xf4E2M1FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!y = memref<16x256xf32>
func.func @main(%x: !x, %w: !w, %s: !s, %y: !y) {
  // BLOCK error
  // END
  mx.matmul ins(%x, %w, %s : !x, !w, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<${schedule}>}
  return
}

// -----

// CASES swapped error
// SET schedule = tile = [24, 64, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab
// expected-error @below {{expected a tile with a multiple of 16 rows with wgmma_swap_ab, found 24}}

// SET schedule = tile = [16, 32, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab
// expected-error @below {{expected a tile of 64, 128, 192 or 256 columns with wgmma_swap_ab, found 32}}

// SET schedule = tile = [16, 64, 256], stages = 4, strategy = #mxgpu.wgmma_swap_ab
// expected-error @below {{expected a tile of 64 or 128 reduction elements with wgmma_swap_ab, found 256}}

// SET schedule = tile = [128, 256, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab
// expected-error @below {{expected a tile of at most 96 rows with 256 columns and wgmma_swap_ab, so that the accumulator fits in registers, found 128}}

// SET schedule = tile = [16, 64, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab, epilogue = tma_store
// expected-error @below {{expected epilogue = direct with wgmma_swap_ab, because its warps own columns of all rows, found tma_store}}

// SET schedule = tile = [16, 256, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab, registers = [96, 40]
// expected-error @below {{expected at least 104 registers per MMA thread with a tile of 16 x 256 and 40 per load thread, at most 480 in total over 4 MMA and 1 load warpgroups, found registers = [96, 40]}}

// SET schedule = tile = [16, 64, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab, registers = [216, 128, 40]
// expected-error @below {{expected at least 200 registers per MMA thread with a tile of 16 x 64 and 40 per load thread, at most 512 in total over 1 MMA and 1 load warpgroups, found registers = [216, 128, 40]}}

// -----

// CASES
!x = memref<16x256xbf16>
!w = memref<1x256x256xf4E2M1FN>
!s = memref<1x2x2x32x4x4xf8E8M0FNU>
!y = memref<16x128xf32>
func.func @parts(%x: !x, %w: !w, %s: !s, %o: memref<1xi32>, %y: !y) {
  // expected-error @below {{expected a tile with a multiple of 128 columns for each of 2 B matrices, found 64 columns}}
  mx.grouped_matmul ragged = rows ins(%x, %w, %s : !x, !w, !s) offsets(%o : memref<1xi32>) outs(%y : !y) num_b = 2
      {mxgpu.schedule = #mxgpu.schedule<tile = [16, 64, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab>} epilogue {
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
  // expected-error @below {{wgmma_swap_ab does not support quantized results, because their blocks span many threads: use another strategy}}
  mx.grouped_matmul ragged = rows ins(%x, %w, %s : !x, !w, !s) offsets(%o : memref<1xi32>) outs(%q, %qs : !q, !qs)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab>}
  return
}

!x = memref<16x256xbf16>
!w = memref<1x512x256xf4E2M1FN>
!s = memref<1x4x2x32x4x4xf8E8M0FNU>
!y = memref<16x128xf32>
func.func @parts(%x: !x, %w: !w, %s: !s, %o: memref<1xi32>, %y: !y) {
  // expected-error @below {{expected at most 2 B matrices with wgmma_swap_ab, one per row of a thread, found 4}}
  mx.grouped_matmul ragged = rows ins(%x, %w, %s : !x, !w, !s) offsets(%o : memref<1xi32>) outs(%y : !y) num_b = 4
      {mxgpu.schedule = #mxgpu.schedule<tile = [16, 256, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab>} epilogue {
    ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %row: index, %column: index):
      %v = arith.mulf %a, %b : f32
      mx.yield %v : f32
    }
  return
}

!x = memref<16x256xbf16>
!w = memref<1x4x4x128x32xf4E2M1FN>
!s = memref<1x2x2x32x4x4xf8E8M0FNU>
!y = memref<16x128xf32>
func.func @packed_parts(%x: !x, %w: !w, %s: !s, %o: memref<1xi32>, %y: !y) {
  // expected-error @below {{wgmma_swap_ab does not support packed weights with num_b: use another strategy, or do not pack the weights}}
  mx.grouped_matmul ragged = rows ins(%x, %w, %s : !x, !w, !s) offsets(%o : memref<1xi32>) outs(%y : !y) num_b = 2
      b_order = #mxgpu.fragment_64x64
      {mxgpu.schedule = #mxgpu.schedule<tile = [16, 256, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab>} epilogue {
    ^bb0(%a: f32, %b: f32, %row: index, %column: index):
      %v = arith.mulf %a, %b : f32
      mx.yield %v : f32
    }
  return
}

// -----

// CASES swapped error
// SET schedule = tile = [64, 64, 128], stages = 1, strategy = #mxgpu.wgmma_swap_ab<ctas_per_sm = 4>
// expected-error @below {{expected 112 registers per thread for a tile of 64 x 64 x 128, found 96 with ctas_per_sm = 4}}

// SET schedule = tile = [16, 64, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab<ctas_per_sm = 2>, registers = [200, 40]
// expected-error @below {{expected no 'registers' with 'ctas_per_sm', which determines the registers per thread}}

// SET schedule = tile = [16, 64, 128], stages = 8, strategy = #mxgpu.wgmma_swap_ab<ctas_per_sm = 4>
// expected-error @below {{expected at most 57344 bytes of shared memory on sm_90a, found 74240}}
// expected-note @below {{in.a: 4096}}
// expected-note @below {{7 more stages of in: 28672}}
// expected-note @below {{8 stages of barriers of in: 128}}
// expected-note @below {{in_b.b: 4096}}
// expected-note @below {{in_b.sfb: 512}}
// expected-note @below {{barriers of in_b: 16}}
// expected-note @below {{7 more stages of in_b: 35840}}
