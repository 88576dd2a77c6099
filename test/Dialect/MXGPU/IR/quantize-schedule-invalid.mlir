// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --allow-unregistered-dialect

// CASES
// quantize_schedule C1
// expected-error @below {{expected 2 tile sizes (rows, columns), found 1}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128], threads = 128>} : () -> ()

// quantize_schedule C2
// expected-error @below {{expected a tile of a multiple of 128 rows and of 64 columns, found [128, 96]}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128, 96], threads = 128>} : () -> ()

// expected-error @below {{expected a tile of a multiple of 128 rows and of 64 columns, found [64, 128]}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [64, 128], threads = 128>} : () -> ()

// quantize_schedule C3
// expected-error @below {{expected 32 to 1024 threads in whole warps, found 48}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128, 128], threads = 48>} : () -> ()

// quantize_schedule C4
// expected-error @below {{expected vectors of 8, 16 or 32 elements, found 4}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 4>} : () -> ()

// quantize_schedule C5
// expected-error @below {{expected 'stage_rows' to be a multiple of 32 that divides 256, found 96}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [256, 128], threads = 128, stage_rows = 96>} : () -> ()

// quantize_schedule C7
// expected-error @below {{expected 1 to 32 CTAs per SM, found 0}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, ctas = 0>} : () -> ()

// quantize_schedule C6
// expected-error @below {{expected 1 to 1024 stages, found 0}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, stages = 0>} : () -> ()

// quantize_schedule C8
// expected-error @below {{expected 0 to 1024 input stages, found -1}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, input_stages = -1>} : () -> ()
