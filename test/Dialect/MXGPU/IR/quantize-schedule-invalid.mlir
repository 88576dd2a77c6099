// RUN: mx-opt %s -split-input-file -verify-diagnostics --allow-unregistered-dialect

// expected-error @below {{expected 2 tile sizes (rows, columns), found 1}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128], threads = 128>} : () -> ()

// -----

// expected-error @below {{expected a tile of multiples of 128, found 64}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128, 64], threads = 128>} : () -> ()

// -----

// expected-error @below {{expected 32 to 1024 threads in whole warps, found 48}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128, 128], threads = 48>} : () -> ()

// -----

// expected-error @below {{expected vectors of 8, 16 or 32 elements, found 4}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 4>} : () -> ()

// -----

// expected-error @below {{expected units of a multiple of 32 rows that divide 256, found 96}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [256, 128], threads = 128, stage_rows = 96>} : () -> ()

// -----

// expected-error @below {{expected 1 to 32 CTAs an SM, found 0}}
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, ctas = 0>} : () -> ()
