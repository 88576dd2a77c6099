// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_90a"

// Rejects schedules unsupported by wgmma_upcast_b.

// -----

// TEMPLATE dequantized
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

// CASES dequantized error
// SET schedule = tile = [192, 128, 64], stages = 4
// expected-error @below {{'mx.matmul' op expected a tile of 64, 128 or 256 rows, found 192}}

// SET schedule = tile = [128, 192, 64], stages = 4
// expected-error @below {{expected a tile of 64, 128 or 256 columns, found 192}}

// Each thread of two warpgroups holds at most 128 elements of the accumulator.
// SET schedule = tile = [256, 256, 64], stages = 4
// expected-error @below {{expected a tile of at most 32768 elements, so that the accumulator fits in registers, found 256 x 256}}

// SET schedule = tile = [128, 128, 128], stages = 4
// expected-error @below {{expected a tile of 64 reduction elements, found 128}}

// SET schedule = tile = [256, 128, 64], stages = 4, strategy = #mxgpu.wgmma_bf16<ctas = 2>
// expected-error @below {{expected strategy = #mxgpu.wgmma_upcast_b to multiply f8E4M3FN by f8E4M3FN on sm_90a, found #mxgpu.wgmma_bf16<ctas = 2>}}

// Rejects unsuitable register counts for the epilogue and the other roles.
// SET schedule = tile = [128, 128, 64], stages = 4, registers = [232, 64]
// expected-error @below {{expected at least 200 registers per MMA thread with a tile of 128 x 128, 72 per dequantizing thread and 40 per load thread, at most 512 in total over 2 MMA, 1 dequantizing and 1 load warpgroups, found registers = [232, 64]}}

// Each thread dequantizes two rows of B and needs more registers.
// SET schedule = tile = [128, 256, 64], stages = 4, registers = [200, 72, 40]
// expected-error @below {{104 per dequantizing thread and 40 per load thread, at most 512 in total over 2 MMA, 1 dequantizing and 1 load warpgroups, found registers = [200, 72, 40]}}

// Rejects register counts beyond the registers of an SM.
// SET schedule = tile = [64, 256, 64], stages = 4, registers = [240, 152, 120]
// expected-error @below {{at most 512 in total over 1 MMA, 2 dequantizing and 1 load warpgroups, found registers = [240, 152, 120]}}

// -----

// CASES
// Expert groups start at any row, but their scales start at 128-row tiles.
!a = memref<256x256xf8E4M3FN>
!as = memref<4x2x32x4x4xf8E8M0FNU>
!b = memref<2x256x256xf8E4M3FN>
!bs = memref<2x2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: memref<2xi32>, %y: !y) {
  // expected-error @below {{expected a tile of 128 or 256 rows with expert groups, found 64}}
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : memref<2xi32>) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [64, 128, 64], stages = 4>}
  return
}

// Rejects a work tile that would not write whole scale tiles.
!x = memref<256x256xbf16>
!b = memref<2x256x256xf8E4M3FN>
!bs = memref<2x2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf8E4M3FN>
!ys = memref<4x2x32x4x4xf8E8M0FNU>
func.func @main(%x: !x, %b: !b, %bs: !bs, %o: memref<2xi32>, %y: !y, %ys: !ys) {
  // expected-error @below {{expected a tile of 128 or 256 rows with a quantized result, found 64}}
  mx.grouped_matmul ragged = rows ins(%x, %b, %bs : !x, !b, !bs)
      offsets(%o : memref<2xi32>) outs(%y, %ys : !y, !ys) {mxgpu.schedule = #mxgpu.schedule<tile = [64, 128, 64], stages = 4>}
  return
}

// Rejects a cache hint for stores of blocks and scales.
!x = memref<256x256xbf16>
!b = memref<2x256x256xf8E4M3FN>
!bs = memref<2x2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf8E4M3FN>
!ys = memref<4x2x32x4x4xf8E8M0FNU>
func.func @main(%x: !x, %b: !b, %bs: !bs, %o: memref<2xi32>, %y: !y, %ys: !ys) {
  // expected-error @below {{expected l2 = [a, b] with a quantized result, whose blocks and scales are stored without a hint, found a hint for the result}}
  mx.grouped_matmul ragged = rows ins(%x, %b, %bs : !x, !b, !bs)
      offsets(%o : memref<2xi32>) outs(%y, %ys : !y, !ys) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 4, l2 = [none, none, evict_last]>}
  return
}

!a = memref<256x256xf8E5M2>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf32>
func.func @main(%a: !a, %s: !s, %y: !y) {
  // expected-error @below {{f16_scale_range requires operands of f8E4M3FN and power-of-two scales: remove f16_scale_range from the schedule}}
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>>}
  return
}

// -----

// CASES dequantized error
// SET schedule = tile = [64, 128, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>
// expected-error @below {{f16_scale_range requires a tile of 128 or 256 rows and 64 or 128 columns}}

// SET schedule = tile = [128, 128, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>, split_k = 2
// expected-error @below {{f16_scale_range requires a reduction that is not split}}

// -----

// TEMPLATE where
// SET schedule = none
!a = memref<256x256xf8E4M3FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!r = memref<8xi32>
!y = memref<256x256xf32>
func.func @main(%a: !a, %s: !s, %r: !r, %y: !y) {
  // BLOCK error
  // END
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) where wide(%r, %r : !r, !r) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<${schedule}>}
  return
}

// -----

// CASES where error
// SET schedule = tile = [128, 128, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>
// expected-error @below {{expected #mxgpu.wgmma_fp8, #mxgpu.wgmma_upcast_a or #mxgpu.wgmma_upcast_b without f16_scale_range with 'where', found}}

// SET schedule = tile = [128, 128, 64], stages = 4, split_k = 2
// expected-error @below {{expected no split_k with 'where', found 2}}

// -----

// TEMPLATE order
// SET schedule = none
!a = memref<256x256xf8E4M3FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!x = memref<256x256xbf16>
!y = memref<256x256xf32>
func.func @main(%a: !a, %s: !s, %x: !x, %y: !y) {
  // BLOCK error
  // END
  mx.matmul ins(%x, %a, %s : !x, !a, !s) outs(%y : !y) in_order {mxgpu.schedule = #mxgpu.schedule<${schedule}>}
  return
}

// -----

// CASES order error
// SET schedule = tile = [128, 128, 64], stages = 4, split_k = 2
// expected-error @below {{expected no split_k with in_order, found 2}}

// -----

!a = memref<256x256xf8E4M3FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf32>
func.func @main(%a: !a, %s: !s, %y: !y) {
  // expected-error @below {{expected workspace = ab with in_order, found #mxgpu.wgmma_upcast_b without}}
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) in_order {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 4>}
  return
}
