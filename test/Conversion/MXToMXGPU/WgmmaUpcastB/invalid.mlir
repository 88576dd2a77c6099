// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_90a"

// Schedules that wgmma_upcast_b rejects.

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

// Two warpgroups hold 128 accumulators in each thread.
// SET schedule = tile = [256, 256, 64], stages = 4
// expected-error @below {{expected a tile of at most 32768 elements, the accumulator that registers hold, found 256 x 256}}

// SET schedule = tile = [128, 128, 128], stages = 4
// expected-error @below {{expected a tile of 64 reduction elements, found 128}}

// SET schedule = tile = [256, 128, 64], stages = 4, strategy = #mxgpu.wgmma_bf16<ctas = 2>
// expected-error @below {{expected strategy = #mxgpu.wgmma_upcast_b, by which sm_90a multiplies f8E4M3FN by f8E4M3FN, found #mxgpu.wgmma_bf16<ctas = 2>}}

// Registers of the epilogue and the other roles, as on sm_100a.
// SET schedule = tile = [128, 128, 64], stages = 4, registers = [232, 64]
// expected-error @below {{expected at least 200 registers where a tile of 128 x 128 is multiplied, 72 where B is dequantized and 40 where tiles are loaded, in 2, 1 and 1 warpgroups that have at most 512 together, found registers = [232, 64]}}

// Two rows of B per thread.
// SET schedule = tile = [128, 256, 64], stages = 4, registers = [200, 72, 40]
// expected-error @below {{104 where B is dequantized and 40 where tiles are loaded, in 2, 1 and 1 warpgroups that have at most 512 together, found registers = [200, 72, 40]}}

// Exceeds the registers of an SM.
// SET schedule = tile = [64, 256, 64], stages = 4, registers = [240, 152, 120]
// expected-error @below {{in 1, 2 and 1 warpgroups that have at most 512 together, found registers = [240, 152, 120]}}

// -----

// CASES
// Expert groups start at any row, and their scales at tiles of 128 rows.
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

// A work tile must write whole scale tiles.
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

// Stores of blocks and scales accept no cache hint.
!x = memref<256x256xbf16>
!b = memref<2x256x256xf8E4M3FN>
!bs = memref<2x2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf8E4M3FN>
!ys = memref<4x2x32x4x4xf8E8M0FNU>
func.func @main(%x: !x, %b: !b, %bs: !bs, %o: memref<2xi32>, %y: !y, %ys: !ys) {
  // expected-error @below {{expected l2 = [a, b] with a quantized result, whose blocks and scales are stored without a hint, found one for the result}}
  mx.grouped_matmul ragged = rows ins(%x, %b, %bs : !x, !b, !bs)
      offsets(%o : memref<2xi32>) outs(%y, %ys : !y, !ys) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 4, l2 = [none, none, evict_last]>}
  return
}

!a = memref<256x256xf8E5M2>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!y = memref<256x256xf32>
func.func @main(%a: !a, %s: !s, %y: !y) {
  // expected-error @below {{expected operands of f8E4M3FN and power-of-two scales with f16_scale_range, found another: leave f16_scale_range out}}
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>>}
  return
}

// -----

// CASES dequantized error
// SET schedule = tile = [64, 128, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>
// expected-error @below {{expected a tile of 128 or 256 rows and 64 or 128 columns with f16_scale_range, found another}}

// SET schedule = tile = [128, 128, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>, split_k = 2
// expected-error @below {{expected a reduction that is not split with f16_scale_range, found another}}
