// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu="chip=sm_90a"

// Rejects schedules unsupported by wgmma_bf16.

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
// expected-error @below {{expected a tile of at most 32768 elements, so that the accumulator fits in registers, found 256 x 256}}

// SET schedule = tile = [128, 128, 128], stages = 2
// expected-error @below {{expected a tile of 64 reduction elements, found 128}}

// SET schedule = tile = [64, 128, 64], stages = 2, strategy = #mxgpu.wgmma_swap_ab
// expected-error @below {{expected strategy = #mxgpu.wgmma_bf16 to multiply bf16 by bf16 on sm_90a, found #mxgpu.wgmma_swap_ab}}

// SET schedule = tile = [64, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b<operand_stages = 3>
// expected-error @below {{expected strategy = #mxgpu.wgmma_bf16 to multiply bf16 by bf16 on sm_90a, found #mxgpu.wgmma_upcast_b<operand_stages = 3>}}

// SET schedule = tile = [128, 128, 64], stages = 2, registers = [240, 40]
// expected-error @below {{expected at least 168 registers per MMA thread with a tile of 128 x 128 and 24 per load thread, at most 504 in total over 2 MMA and 1 load warpgroups, found registers = [240, 40]}}
