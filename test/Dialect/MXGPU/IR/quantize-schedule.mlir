// RUN: mx-opt %s --allow-unregistered-dialect | mx-opt --allow-unregistered-dialect | FileCheck %s

// Parses the fields of a quantize schedule in any order, and omits default values when printing.

// CHECK: #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, stage_rows = 64, stages = 4, atomic_counter = true>
"test.f"() {s = #mxgpu.quantize_schedule<threads = 256, tile = [256, 256], stages = 4, stage_rows = 64, atomic_counter = true, vector = 32>} : () -> ()

// CHECK: #mxgpu.quantize_schedule<tile = [256, 128], threads = 128, ctas = 2, raster = columns>
"test.f"() {s = #mxgpu.quantize_schedule<raster = columns, tile = [256, 128], threads = 128, ctas = 2, stages = 1>} : () -> ()

// CHECK: #mxgpu.quantize_schedule<tile = [128, 128], threads = 64, raster = group_m(8)>
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128, 128], threads = 64, raster = group_m(8)>} : () -> ()

// CHECK: #mxgpu.quantize_schedule<tile = [128, 128], threads = 64, input_stages = 3>
"test.f"() {s = #mxgpu.quantize_schedule<tile = [128, 128], threads = 64, input_stages = 3>} : () -> ()
