// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_90a"

// Schedules that wgmma_bf16 rejects.

// -----

// TEMPLATE plain
// SET schedule = none
!x = memref<512x512xbf16>
!y = memref<512x512xbf16>
func.func @main(%x: !x, %y: !y) {
  // BLOCK error
  // END
  mx.matmul ins(%x, %x : !x, !x) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<${schedule}>}
  return
}

// -----

// CASES plain error
// SET schedule = tile = [192, 128, 64], stages = 4
// expected-error @below {{expected a tile of 64, 128 or 256 rows, found 192}}

// SET schedule = tile = [128, 80, 64], stages = 4
// expected-error @below {{expected a tile of 64, 96, 128, 160, 192, 224 or 256 columns, found 80}}

// SET schedule = tile = [64, 128, 64], stages = 4, strategy = #mxgpu.wgmma_bf16<ctas = 2>
// expected-error @below {{expected a tile of 64, 128 or 256 rows in each of two CTAs, found 32}}

// SET schedule = tile = [256, 256, 64], stages = 2
// expected-error @below {{expected a tile of at most 32768 elements, the accumulator that registers hold, found 256 x 256}}

// SET schedule = tile = [128, 128, 128], stages = 2
// expected-error @below {{expected a tile of 64 reduction elements, found 128}}

// SET schedule = tile = [64, 128, 64], stages = 2, strategy = #mxgpu.wgmma_swap_ab
// expected-error @below {{expected strategy = #mxgpu.wgmma_bf16, by which sm_90a multiplies bf16 by bf16, found #mxgpu.wgmma_swap_ab}}

// SET schedule = tile = [64, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b<operand_stages = 3>
// expected-error @below {{expected strategy = #mxgpu.wgmma_bf16, by which sm_90a multiplies bf16 by bf16, found #mxgpu.wgmma_upcast_b<operand_stages = 3>}}

// SET schedule = tile = [128, 128, 64], stages = 2, registers = [240, 40]
// expected-error @below {{expected at least 168 registers where a tile of 128 x 128 is multiplied and 24 where tiles are loaded, in 2 and 1 warpgroups that have at most 504 together, found registers = [240, 40]}}
