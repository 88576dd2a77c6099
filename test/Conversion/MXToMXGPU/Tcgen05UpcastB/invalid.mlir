// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu

// Rejects schedules unsupported by tcgen05_upcast_b.

// -----

// TEMPLATE converted
// SET schedule = none
!x = memref<256x256xbf16>
!w = memref<256x256xf8E4M3FN>
!ws = memref<2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  // BLOCK error
  // END
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<${schedule}>}
  return
}

// -----

// CASES converted error
// SET schedule = tile = [256, 128, 64], stages = 4
// expected-error @below {{expected a tile of 128 rows if 'a' is bf16, found 256}}

// SET schedule = tile = [128, 192, 64], stages = 4
// expected-error @below {{expected a tile of 64, 128 or 256 columns if 'a' is bf16, found 192}}

// SET schedule = tile = [128, 128, 128], stages = 4
// expected-error @below {{expected a tile of 64 reduction elements if 'a' is bf16, found 128}}

// SET schedule = tile = [128, 128, 64], stages = 4, strategy = #mxgpu.tcgen05_upcast_b<ctas = 2>
// expected-error @below {{expected a tile of 256 rows for two CTAs if 'a' is bf16, found 128}}

// SET schedule = tile = [256, 64, 64], stages = 4, strategy = #mxgpu.tcgen05_upcast_b<ctas = 2>
// expected-error @below {{expected a tile of 128 or 256 columns for two CTAs if 'a' is bf16, found 64}}

// Rejects unsuitable register counts for the epilogue and the other roles.
// SET schedule = tile = [128, 128, 64], registers = [232, 64], stages = 4
// expected-error @below {{expected at least 152 registers for the epilogue, 128 for converters of 'b' and 80 for the other roles, at most 512 in total over 1 epilogue, 2 converter and 1 other warpgroups, found registers = [232, 64]}}

// SET schedule = tile = [128, 128, 64], registers = [152, 120, 80], stages = 4
// expected-error @below {{found registers = [152, 120, 80]}}

// SET schedule = tile = [128, 128, 64], registers = [184, 128, 80], stages = 4
// expected-error @below {{at most 512 in total over 1 epilogue, 2 converter and 1 other warpgroups, found registers = [184, 128, 80]}}

// For narrow tiles a single warpgroup converts B.
// SET schedule = tile = [128, 64, 64], registers = [256, 176, 80], stages = 4
// expected-error @below {{at most 504 in total over 1 epilogue, 1 converter and 1 other warpgroups, found registers = [256, 176, 80]}}

// -----

// Rejects a static reduction with a partial block, and rows whose size is not a multiple of 16 bytes.
!x = memref<256x48xbf16>
!w = memref<256x48xf4E2M1FN>
!ws = memref<2x1x32x4x4xf8E4M3FN>
!y = memref<256x256xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected a reduction of a multiple of 32 elements for kind::f16 of bf16 and e2m1 on the GPU, found 48}}
  // expected-note @below {{the nearest are 32 and 64}}
  // expected-note @below {{the copy engine loads rows of e2m1 in multiples of 32 elements}}
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) block_size = 16
  return
}
