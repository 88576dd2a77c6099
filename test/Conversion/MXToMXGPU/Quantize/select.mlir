// RUN: mx-opt %s --mx-select-quantize-schedule="chip=sm_100a" | FileCheck %s
// RUN: mx-opt %s --mx-select-quantize-schedule="chip=sm_100a" | mx-opt --mx-select-quantize-schedule="chip=sm_103a" | FileCheck %s
// RUN: not mx-opt %s --mx-select-quantize-schedule="chip=sm_1" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: unknown chip 'sm_1': expected one of 'sm_100a', 'sm_100f', 'sm_103a', 'sm_90a'
// UNKNOWN-NOT: error:

// For quantizers along rows, narrower elements get smaller CTAs. An existing schedule is kept.
// CHECK-LABEL: func.func @quantize
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 512, ctas = 2>}
func.func @quantize(%x: tensor<128x64xbf16>, %q: tensor<128x64xf8E4M3FN>, %s: tensor<128x2xf8E8M0FNU>) -> tensor<128x64xf8E4M3FN> {
  %r:2 = mx.fused_quantize ins(%x : tensor<128x64xbf16>) outs(%q, %s : tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>) -> tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>
  return %r#0 : tensor<128x64xf8E4M3FN>
}

// Quantizers along columns get different schedules for a large tensor with both axes, for tensors
// of other sizes, and for ragged tensors.
// CHECK-LABEL: func.func @quantize_large
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, stage_rows = 32, stages = 2, ctas = 2, raster = columns>}
func.func @quantize_large(%x: tensor<32768x16384xbf16>, %q: tensor<32768x16384xf8E4M3FN>, %s: tensor<32768x512xf8E8M0FNU>, %qt: tensor<16384x32768xf8E4M3FN>, %st: tensor<16384x1024xf8E8M0FNU>) -> tensor<32768x16384xf8E4M3FN> {
  %r:4 = mx.fused_quantize ins(%x : tensor<32768x16384xbf16>) outs(%q, %s, %qt, %st : tensor<32768x16384xf8E4M3FN>, tensor<32768x512xf8E8M0FNU>, tensor<16384x32768xf8E4M3FN>, tensor<16384x1024xf8E8M0FNU>) axes = [1, 0] -> tensor<32768x16384xf8E4M3FN>, tensor<32768x512xf8E8M0FNU>, tensor<16384x32768xf8E4M3FN>, tensor<16384x1024xf8E8M0FNU>
  return %r#0 : tensor<32768x16384xf8E4M3FN>
}

// CHECK-LABEL: func.func @quantize_columns
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 256, vector = 32, ctas = 4, raster = columns>}
func.func @quantize_columns(%x: tensor<?x?xbf16>, %q: tensor<?x?xf8E4M3FN>, %s: tensor<?x?xf8E8M0FNU>) -> tensor<?x?xf8E4M3FN> {
  %r:2 = mx.fused_quantize ins(%x : tensor<?x?xbf16>) outs(%q, %s : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>) axes = [0] -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  return %r#0 : tensor<?x?xf8E4M3FN>
}

// CHECK-LABEL: func.func @quantize_ragged
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 256, vector = 32, ctas = 2, raster = columns>}
func.func @quantize_ragged(%x: tensor<300x64xf32>, %o: tensor<4xi32>, %q: tensor<300x64xf8E4M3FN>, %s: tensor<6x1x32x4x4xf8E8M0FNU>) -> tensor<300x64xf8E4M3FN> {
  %r:2 = mx.fused_quantize ragged = rows ins(%x : tensor<300x64xf32>) offsets(%o : tensor<4xi32>) outs(%q, %s : tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>) -> tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>
  return %r#0 : tensor<300x64xf8E4M3FN>
}

// A dequantized 16-bit result leaves room for one fewer CTA. Ragged rows are scheduled like other
// rows if no scales are stored.
// CHECK-LABEL: func.func @dequantized_columns
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 256, vector = 32, ctas = 3, raster = columns>}
func.func @dequantized_columns(%x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
  %r = mx.fused_quantize ins(%x : tensor<?x?xbf16>) outs(%y : tensor<?x?xbf16>) axes = [0] dequantized = [f8E4M3FN] -> tensor<?x?xbf16>
  return %r : tensor<?x?xbf16>
}

// CHECK-LABEL: func.func @dequantized_groups
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 512, vector = 8, ctas = 2>}
func.func @dequantized_groups(%x: tensor<300x64xf32>, %o: tensor<4xi32>, %y: tensor<300x64xbf16>) -> tensor<300x64xbf16> {
  %r = mx.fused_quantize ragged = rows ins(%x : tensor<300x64xf32>) offsets(%o : tensor<4xi32>) outs(%y : tensor<300x64xbf16>) dequantized = [f8E4M3FN] -> tensor<300x64xbf16>
  return %r : tensor<300x64xbf16>
}

// CHECK-LABEL: func.func @kept
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 256], threads = 256>}
func.func @kept(%x: tensor<128x64xbf16>, %q: tensor<128x64xf8E4M3FN>, %s: tensor<128x2xf8E8M0FNU>) -> tensor<128x64xf8E4M3FN> {
  %r:2 = mx.fused_quantize ins(%x : tensor<128x64xbf16>) outs(%q, %s : tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>)
      {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 256], threads = 256>} -> tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>
  return %r#0 : tensor<128x64xf8E4M3FN>
}

// CHECK-LABEL: func.func @back
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 512, vector = 8, ctas = 2>}
func.func @back(%q: tensor<128x64xf8E4M3FN>, %s: tensor<128x2xf8E8M0FNU>, %x: tensor<128x64xbf16>) -> tensor<128x64xbf16> {
  %r = mx.dequantize ins(%q, %s : tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>) outs(%x : tensor<128x64xbf16>) -> tensor<128x64xbf16>
  return %r : tensor<128x64xbf16>
}

// Bulk copies load the inputs of a large prologue.
// CHECK-LABEL: func.func @quantize_copied
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 128], threads = 256, vector = 32, stage_rows = 64, stages = 2, atomic_counter = true, input_stages = 3>}
func.func @quantize_copied(%x: tensor<16384x4096xbf16>, %q: tensor<16384x4096xf8E4M3FN>, %s: tensor<16384x128xf8E8M0FNU>, %qt: tensor<4096x16384xf8E4M3FN>, %st: tensor<4096x512xf8E8M0FNU>) -> tensor<16384x4096xf8E4M3FN> {
  %r:4 = mx.fused_quantize ins(%x : tensor<16384x4096xbf16>) outs(%q, %s, %qt, %st : tensor<16384x4096xf8E4M3FN>, tensor<16384x128xf8E8M0FNU>, tensor<4096x16384xf8E4M3FN>, tensor<4096x512xf8E8M0FNU>) axes = [1, 0] -> tensor<16384x4096xf8E4M3FN>, tensor<16384x128xf8E8M0FNU>, tensor<4096x16384xf8E4M3FN>, tensor<4096x512xf8E8M0FNU> prologue {
  ^bb0(%v: bf16, %row: index, %column: index):
    mx.yield %v : bf16
  }
  return %r#0 : tensor<16384x4096xf8E4M3FN>
}

// Gathered rows, and inputs that do not fit, get wide tiles, unless most of the last tile in a row
// would be padding.
// CHECK-LABEL: func.func @quantize_gathered_wide
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, stage_rows = 64, stages = 2, atomic_counter = true>}
func.func @quantize_gathered_wide(%x: tensor<16384x4096xbf16>, %n: tensor<16384xi32>, %q: tensor<16384x4096xf8E4M3FN>, %s: tensor<16384x128xf8E8M0FNU>, %qt: tensor<4096x16384xf8E4M3FN>, %st: tensor<4096x512xf8E8M0FNU>) -> tensor<16384x4096xf8E4M3FN> {
  %r:4 = mx.fused_quantize ins(%x : tensor<16384x4096xbf16>) gather(%n : tensor<16384xi32>) outs(%q, %s, %qt, %st : tensor<16384x4096xf8E4M3FN>, tensor<16384x128xf8E8M0FNU>, tensor<4096x16384xf8E4M3FN>, tensor<4096x512xf8E8M0FNU>) axes = [1, 0] -> tensor<16384x4096xf8E4M3FN>, tensor<16384x128xf8E8M0FNU>, tensor<4096x16384xf8E4M3FN>, tensor<4096x512xf8E8M0FNU> prologue {
  ^bb0(%v: bf16, %row: index, %column: index):
    mx.yield %v : bf16
  }
  return %r#0 : tensor<16384x4096xf8E4M3FN>
}

// CHECK-LABEL: func.func @quantize_gathered_narrow
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 128], threads = 256, vector = 32, stage_rows = 128, stages = 2, atomic_counter = true>}
func.func @quantize_gathered_narrow(%x: tensor<16384x2880xbf16>, %n: tensor<16384xi32>, %q: tensor<16384x2880xf8E4M3FN>, %s: tensor<16384x90xf8E8M0FNU>, %qt: tensor<2880x16384xf8E4M3FN>, %st: tensor<2880x512xf8E8M0FNU>) -> tensor<16384x2880xf8E4M3FN> {
  %r:4 = mx.fused_quantize ins(%x : tensor<16384x2880xbf16>) gather(%n : tensor<16384xi32>) outs(%q, %s, %qt, %st : tensor<16384x2880xf8E4M3FN>, tensor<16384x90xf8E8M0FNU>, tensor<2880x16384xf8E4M3FN>, tensor<2880x512xf8E8M0FNU>) axes = [1, 0] -> tensor<16384x2880xf8E4M3FN>, tensor<16384x90xf8E8M0FNU>, tensor<2880x16384xf8E4M3FN>, tensor<2880x512xf8E8M0FNU> prologue {
  ^bb0(%v: bf16, %row: index, %column: index):
    mx.yield %v : bf16
  }
  return %r#0 : tensor<16384x2880xf8E4M3FN>
}

// CHECK-LABEL: func.func @quantize_four_inputs
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, stage_rows = 64, stages = 2, atomic_counter = true>}
func.func @quantize_four_inputs(%x: tensor<16384x4096xbf16>, %f: tensor<16384x4096xf32>, %q: tensor<16384x4096xf8E4M3FN>, %s: tensor<16384x128xf8E8M0FNU>, %qt: tensor<4096x16384xf8E4M3FN>, %st: tensor<4096x512xf8E8M0FNU>) -> tensor<16384x4096xf8E4M3FN> {
  %r:4 = mx.fused_quantize ins(%x, %f, %f, %f : tensor<16384x4096xbf16>, tensor<16384x4096xf32>, tensor<16384x4096xf32>, tensor<16384x4096xf32>) outs(%q, %s, %qt, %st : tensor<16384x4096xf8E4M3FN>, tensor<16384x128xf8E8M0FNU>, tensor<4096x16384xf8E4M3FN>, tensor<4096x512xf8E8M0FNU>) axes = [1, 0] -> tensor<16384x4096xf8E4M3FN>, tensor<16384x128xf8E8M0FNU>, tensor<4096x16384xf8E4M3FN>, tensor<4096x512xf8E8M0FNU> prologue {
  ^bb0(%v: bf16, %f0: f32, %f1: f32, %f2: f32, %row: index, %column: index):
    mx.yield %v : bf16
  }
  return %r#0 : tensor<16384x4096xf8E4M3FN>
}

// A prologue that runs in threads gets small CTAs and two slots for the tiles.
// CHECK-LABEL: func.func @quantize_produced
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 256, vector = 32, stages = 2, atomic_counter = true>}
func.func @quantize_produced(%x: tensor<?x?xbf16>, %q: tensor<?x?xf8E4M3FN>, %s: tensor<?x?xf8E8M0FNU>, %qt: tensor<?x?xf8E4M3FN>, %st: tensor<?x?xf8E8M0FNU>) -> tensor<?x?xf8E4M3FN> {
  %r:4 = mx.fused_quantize ins(%x : tensor<?x?xbf16>) outs(%q, %s, %qt, %st : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>, tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>) axes = [1, 0] -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>, tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    %b = arith.negf %a : bf16
    mx.yield %b : bf16
  }
  return %r#0 : tensor<?x?xf8E4M3FN>
}

// 32-bit values leave room for one CTA, and several values leave room for one slot.
// CHECK-LABEL: func.func @quantize_wide
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32, stages = 2, raster = columns, atomic_counter = true>}
func.func @quantize_wide(%x: tensor<?x?xbf16>, %q: tensor<?x?xf8E4M3FN>, %s: tensor<?x?xf8E8M0FNU>) -> tensor<?x?xf8E4M3FN> {
  %r:2 = mx.fused_quantize ins(%x : tensor<?x?xbf16>) outs(%q, %s : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>) axes = [0] -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    %b = arith.extf %a : bf16 to f32
    mx.yield %b : f32
  }
  return %r#0 : tensor<?x?xf8E4M3FN>
}

// A CTA holds a long row in registers, of which few CTAs fit on an SM.
// CHECK-LABEL: func.func @quantize_long_rows
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 4096], threads = 256, ctas = 2>}
func.func @quantize_long_rows(%x: tensor<64x28672xbf16>, %q: tensor<64x28672xf8E4M3FN>, %s: tensor<64x1xf8E8M0FNU>) -> tensor<64x28672xf8E4M3FN> {
  %r:2 = mx.fused_quantize ins(%x : tensor<64x28672xbf16>) outs(%q, %s : tensor<64x28672xf8E4M3FN>, tensor<64x1xf8E8M0FNU>) block_size = row -> tensor<64x28672xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
  return %r#0 : tensor<64x28672xf8E4M3FN>
}

// Blocks of 128 along columns need whole tiles.
// CHECK-LABEL: func.func @quantize_folded
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 256, vector = 32, atomic_counter = true, input_stages = 2>}
func.func @quantize_folded(%x: tensor<8192x8192xbf16>, %q: tensor<8192x8192xf8E4M3FN>, %s: tensor<8192x64xf8E8M0FNU>) -> tensor<8192x8192xf8E4M3FN> {
  %r:4 = mx.fused_quantize ins(%x : tensor<8192x8192xbf16>) outs(%q, %s, %q, %s : tensor<8192x8192xf8E4M3FN>, tensor<8192x64xf8E8M0FNU>, tensor<8192x8192xf8E4M3FN>, tensor<8192x64xf8E8M0FNU>) axes = [1, 0] block_size = 128 -> tensor<8192x8192xf8E4M3FN>, tensor<8192x64xf8E8M0FNU>, tensor<8192x8192xf8E4M3FN>, tensor<8192x64xf8E8M0FNU> prologue {
  ^bb0(%v: bf16, %row: index, %column: index):
    %n = arith.negf %v : bf16
    mx.yield %n : bf16
  }
  return %r#0 : tensor<8192x8192xf8E4M3FN>
}

// CHECK-LABEL: func.func @quantize_wider
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32, raster = columns>}
func.func @quantize_wider(%x: tensor<?x?xbf16>, %q: tensor<?x?xf8E4M3FN>, %s: tensor<?x?xf8E8M0FNU>) -> tensor<?x?xf8E4M3FN> {
  %r:4 = mx.fused_quantize ins(%x : tensor<?x?xbf16>) outs(%q, %s, %q, %s : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>, tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>) axes = [0] -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>, tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    %b = arith.extf %a : bf16 to f32
    mx.yield %b, %a : f32, bf16
  }
  return %r#0 : tensor<?x?xf8E4M3FN>
}

// Gathered blocks of expert groups are stored while other CTAs of the SM gather.
// CHECK-LABEL: func.func @quantize_gathered_blocks
// CHECK: {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32, ctas = 2, raster = columns>}
func.func @quantize_gathered_blocks(%x: tensor<64x256xf8E4M3FN>, %xs: tensor<64x2xf8E8M0FNU>, %n: tensor<?xi32>, %o: tensor<2xi32>, %q: tensor<?x256xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU>, %qt: tensor<256x?xf8E4M3FN, #mx.ragged<groups = 2, align = 128>>, %st: tensor<256x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>>) -> tensor<?x256xf8E4M3FN> {
  %r:4 = mx.fused_quantize ragged = rows ins(%x : tensor<64x256xf8E4M3FN>) input_scales(%xs : tensor<64x2xf8E8M0FNU>) gather(%n : tensor<?xi32>) offsets(%o : tensor<2xi32>) outs(%q, %s, %qt, %st : tensor<?x256xf8E4M3FN>, tensor<?x2xf8E8M0FNU>, tensor<256x?xf8E4M3FN, #mx.ragged<groups = 2, align = 128>>, tensor<256x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>>) axes = [1, 0] block_size = 128 -> tensor<?x256xf8E4M3FN>, tensor<?x2xf8E8M0FNU>, tensor<256x?xf8E4M3FN, #mx.ragged<groups = 2, align = 128>>, tensor<256x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>>
  return %r#0 : tensor<?x256xf8E4M3FN>
}
