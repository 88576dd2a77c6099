// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_90a"

// Schedules that wgmma_fp8 rejects, and matmuls that no strategy supports.

// -----

// TEMPLATE plain
// SET schedule = tile = [128, 128, 128], stages = 4
// SET form = block_size = 128 b_block_size = row promote = 128
// SET as = memref<4x1x32x4x4xf8E8M0FNU>
// SET bs = memref<4x1x32x4x4xf8E8M0FNU>
!a = memref<512x512xf8E4M3FN>
!as = ${as}
!bs = ${bs}
!c = memref<512x512xbf16>
func.func @main(%a: !a, %as: !as, %bs: !bs, %c: !c) {
  // BLOCK error
  // END
  mx.matmul ins(%a, %as, %a, %bs : !a, !as, !a, !bs) outs(%c : !c) ${form} {mxgpu.schedule = #mxgpu.schedule<${schedule}>}
  return
}

// -----

// CASES plain error
// SET schedule = tile = [64, 128, 128], stages = 4
// expected-error @below {{expected a tile of 128 or 192 rows, found 64}}

// SET schedule = tile = [128, 96, 128], stages = 4
// expected-error @below {{expected a tile of 64, 128, 192, 256 columns, at most 256 with 128 rows and promote = 128, found 96}}

// SET schedule = tile = [192, 256, 128], stages = 2
// expected-error @below {{expected a tile of 64, 128, 192, 256 columns, at most 128 with 192 rows and promote = 128, found 256}}

// SET schedule = tile = [128, 128, 128], stages = 4, strategy = #mxgpu.wgmma_fp8<ctas = 2>
// expected-error @below {{expected a tile of 128 or 192 rows in each of two CTAs, found 64}}

// SET schedule = tile = [128, 128, 64], stages = 4
// expected-error @below {{expected a tile of 128 reduction elements, found 64}}

// SET schedule = tile = [128, 128, 128], stages = 4, split_k = 2
// expected-error @below {{expected split_k = 1 with promotion, which determines the order of sums, found 2}}

// SET schedule = tile = [192, 128, 128], stages = 2, registers = [168, 32]
// expected-error @below {{expected at least 160 registers per MMA thread with a tile of 192 x 128}}

// Rejects a partial sum of several steps in two slices.
// SET form = block_size = 512 b_block_size = row promote = 256
// SET schedule = tile = [128, 256, 128], stages = 2
// expected-error @below {{expected a tile of 64, 128, 192, 256 columns, at most 192 with 128 rows and promote = 256, found 256}}

// Rejects blocks of B alone.
// SET form = block_size = row b_block_size = 128 promote = 128
// expected-error @below {{'mx.matmul' op expected b_block_size = row with block_size = row on sm_90a, found blocks of 128 elements: exchange the operands, or fold 'a' to blocks}}

// Rejects folded operands without promotion.
// SET form = block_size = 128 b_block_size = row
// expected-error @below {{'mx.matmul' op expected promote with folded operands on sm_90a, found none}}

// Rejects blocks of several rows of A.
// SET form = block_size = 128x128 b_block_size = 128 promote = 128
// SET as = memref<4x4xf8E8M0FNU>
// expected-error @below {{'mx.matmul' op expected 'a' in blocks of single rows with promote on sm_90a, found blocks of 128x128: quantize 'a' with block_size = 128}}

// Rejects f32 scales of single rows in layout linear with promotion, and in layout mn_major without.
// SET form = block_size = 128 b_block_size = 128x128 promote = 128
// SET as = memref<512x4xf32>
// SET bs = memref<4x4xf32>
// expected-error @below {{'mx.matmul' op expected scales of a in layout mn_major on the GPU, found 'memref<512x4xf32>': quantize to #mx.scale_layout<mn_major>, or use mx.relayout}}

// SET form = block_size = 128
// SET as = memref<512x4xf32>
// SET bs = memref<4x128x4xf32>
// expected-error @below {{'mx.matmul' op expected scales of b in layout linear on the GPU, found 'memref<4x128x4xf32>': quantize to #mx.scale_layout<linear>, or use mx.relayout}}

// -----

// A tile of two matrices of B would have 256 columns.
!a = memref<256x512xf8E4M3FN>
!as = memref<4x1x32x4x4xf8E8M0FNU>
!b = memref<2x256x512xf8E4M3FN>
!bs = memref<2x2x1x32x4x4xf8E8M0FNU>
!c = memref<256x128xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %ends: memref<2xi32>, %c: !c) {
  // expected-error @below {{'mx.grouped_matmul' op expected promote = 128 with 2 B matrices on sm_90a, found promote = 512}}
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%ends : memref<2xi32>)
    outs(%c : !c) block_size = 512 b_block_size = row promote = 512 num_b = 2 epilogue {
  ^bb0(%x: f32, %z: f32, %row: index, %column: index):
    %product = arith.mulf %x, %z : f32
    mx.yield %product : f32
  }
  return
}
