// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu

// Rejects schedules unsupported by tcgen05_block_scaled.

// -----

// TEMPLATE scaled
// SET schedule = none
!a = memref<256x256xf8E4M3FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf32>
func.func @main(%a: !a, %s: !s, %y: !y) {
  // BLOCK error
  // END
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<${schedule}>}
  return
}

// -----

// CASES scaled error
// SET schedule = tile = [256, 128, 128], stages = 4
// expected-error @below {{'mx.matmul' op expected a tile of 128 rows for one CTA, found 256}}

// SET schedule = tile = [128, 128, 128], stages = 4, strategy = #mxgpu.tcgen05_block_scaled<ctas = 2>
// expected-error @below {{expected a tile of 256 rows for two CTAs, found 128}}

// SET schedule = tile = [128, 72, 128], stages = 4
// expected-error @below {{expected a tile of 64, 128, 192 or 256 columns, or a smaller multiple of 16, found 72}}

// SET schedule = tile = [256, 48, 128], stages = 4, strategy = #mxgpu.tcgen05_block_scaled<ctas = 2>
// expected-error @below {{expected a tile of 64, 128, 192 or 256 columns, or a smaller multiple of 32, found 48}}

// SET schedule = tile = [128, 256, 128], stages = 3, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 3, overlap = 64>
// expected-error @below {{expected 2 accumulators with an overlap, found 3}}

// SET schedule = tile = [128, 128, 128], stages = 3, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2, overlap = 64>
// expected-error @below {{expected accumulators of 256 columns with an overlap, found 128}}

// SET schedule = tile = [128, 128, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<scale_stages = 3>
// expected-error @below {{expected at most as many scale stages as stages (2), found 3}}

// SET schedule = tile = [128, 128, 64], stages = 4
// expected-error @below {{expected a tile of 128 or 256 reduction elements, found 64}}

// SET schedule = tile = [128, 128, 128], stages = 4, strategy = #mxgpu.wgmma_swap_ab
// expected-error @below {{expected strategy = #mxgpu.tcgen05_block_scaled to multiply f8E4M3FN by f8E4M3FN on sm_100a, found #mxgpu.wgmma_swap_ab}}

// Rejects unsuitable register counts for the epilogue and the other roles.
// SET schedule = tile = [128, 128, 128], stages = 4, registers = [200, 72, 40]
// expected-error @below {{expected at least 152 registers for the epilogue and 40 for the other roles, at most 496 together, found registers = [200, 72, 40]}}

// SET schedule = tile = [128, 128, 128], stages = 2, registers = [208, 32]
// expected-error @below {{'mx.matmul' op expected at least 152 registers for the epilogue and 40 for the other roles, at most 496 together, found registers = [208, 32]}}

// SET schedule = tile = [128, 128, 128], stages = 2, registers = [256, 248]
// expected-error @below {{'mx.matmul' op expected at least 152 registers for the epilogue and 40 for the other roles, at most 496 together, found registers = [256, 248]}}
