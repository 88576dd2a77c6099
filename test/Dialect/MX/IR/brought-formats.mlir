// RUN: mx-test-opt %s -split-input-file -verify-diagnostics | FileCheck %s --check-prefix=ROUND
// RUN: not mx-opt %s -split-input-file 2>&1 | FileCheck %s --check-prefix=PLAIN

// Scale formats may be defined by a dialect outside of mx. mx-opt does not load this dialect
// (test/lib/Formats) and rejects the file.

// PLAIN: error: {{.*}}mx_formats
// ROUND: mx.dequantize ins({{.*}} : tensor<8x256xf8E4M3FN>, tensor<8x4x!mx_formats.ue5m3, #mx.scale_layout<sf_128x4>>)
!s = tensor<8x4x!mx_formats.ue5m3, #mx.scale_layout<sf_128x4>>
func.func @blocks(%q: tensor<8x256xf8E4M3FN>, %s: !s, %d: tensor<8x256xf32>) -> tensor<8x256xf32> {
  %0 = mx.dequantize ins(%q, %s : tensor<8x256xf8E4M3FN>, !s) outs(%d : tensor<8x256xf32>) block_size = 64
      -> tensor<8x256xf32>
  return %0 : tensor<8x256xf32>
}

// -----

// expected-error@+1 {{expected the linear layout or mn_major with scales of type 'f32', found #mx.scale_layout<sf_128x4>}}
func.func private @tiles(tensor<8x4xf32, #mx.scale_layout<sf_128x4>>)

// -----

func.func @block_size(%q: tensor<8x256xf8E4M3FN>, %s: tensor<8x8x!mx_formats.ue5m3>, %d: tensor<8x256xf32>) {
  // expected-error@+1 {{expected block_size 64 with scales of type '!mx_formats.ue5m3', found 32}}
  mx.dequantize ins(%q, %s : tensor<8x256xf8E4M3FN>, tensor<8x8x!mx_formats.ue5m3>) outs(%d : tensor<8x256xf32>)
      -> tensor<8x256xf32>
  return
}

// -----

// expected-note@+1 {{input is defined here}}
func.func @elements(%q: tensor<8x256xf8E5M2>, %s: tensor<8x4x!mx_formats.ue5m3>, %d: tensor<8x256xf32>) {
  // expected-error@+1 {{expected input of type f8E4M3FN or f4E2M1FN with scales of type '!mx_formats.ue5m3', found 'f8E5M2'}}
  mx.dequantize ins(%q, %s : tensor<8x256xf8E5M2>, tensor<8x4x!mx_formats.ue5m3>) outs(%d : tensor<8x256xf32>)
      block_size = 64 -> tensor<8x256xf32>
  return
}

// -----

// ROUND-LABEL: func.func @squares(
// ROUND:       mx.quantize ins({{.*}}) outs({{.*}} : tensor<2x200x256xf8E4M3FN>, tensor<2x2x2xf32>)
func.func @squares(%x: tensor<2x200x256xf32>, %q: tensor<2x200x256xf8E4M3FN>, %s: tensor<2x2x2xf32>) {
  mx.quantize ins(%x : tensor<2x200x256xf32>) outs(%q, %s : tensor<2x200x256xf8E4M3FN>, tensor<2x2x2xf32>)
      block_size = 128x128
      -> tensor<2x200x256xf8E4M3FN>, tensor<2x2x2xf32>
  return
}

// -----

func.func @square(%x: tensor<8x256xf32>, %q: tensor<8x256xf8E4M3FN>, %s: tensor<1x2xf32>) {
  // expected-error@+1 {{expected no attribute 'square' with scales of type 'f32', which apply to 128 x 128 elements}}
  mx.quantize ins(%x : tensor<8x256xf32>) outs(%q, %s : tensor<8x256xf8E4M3FN>, tensor<1x2xf32>) block_size = 128x128 square
      -> tensor<8x256xf8E4M3FN>, tensor<1x2xf32>
  return
}

// -----

// expected-note@+1 {{scales is defined here}}
func.func @scale_rows(%q: tensor<200x256xf8E4M3FN>, %s: tensor<200x2xf32>, %d: tensor<200x256xf32>) {
  // expected-error@+1 {{expected dimension 0 of scales to be 2, found 200}}
  mx.dequantize ins(%q, %s : tensor<200x256xf8E4M3FN>, tensor<200x2xf32>) outs(%d : tensor<200x256xf32>)
      block_size = 128x128 -> tensor<200x256xf32>
  return
}

// -----

// expected-note@+1 {{scales is defined here}}
func.func @experts(%q: tensor<200x256xf8E4M3FN>, %s: tensor<2x2xf32>, %e: tensor<3xi32>, %d: tensor<200x256xf32>) {
  // expected-error@+1 {{expected no expert groups with blocks of 128 x 128 elements, found ragged = rows: use a separate matrix for each group}}
  mx.dequantize ragged = rows ins(%q, %s : tensor<200x256xf8E4M3FN>, tensor<2x2xf32>) offsets(%e : tensor<3xi32>)
      outs(%d : tensor<200x256xf32>) block_size = 128x128 -> tensor<200x256xf32>
  return
}

// -----

// expected-note@+1 {{scales is defined here}}
func.func @materialized(%q: tensor<200x256xf8E4M3FN>, %s: tensor<1x1x32x4x4xf32>, %d: tensor<200x256xf32>) {
  // expected-error@+1 {{expected scales of type 'f32' in the linear layout, found the tiled type 'tensor<1x1x32x4x4xf32>'}}
  mx.dequantize ins(%q, %s : tensor<200x256xf8E4M3FN>, tensor<1x1x32x4x4xf32>) outs(%d : tensor<200x256xf32>)
      block_size = 128x128 -> tensor<200x256xf32>
  return
}

// -----

func.func @rounding(%x: tensor<8x64xf32>, %q: tensor<8x64xf8E4M3FN>, %s: tensor<8x1x!mx_formats.ue5m3>) {
  // expected-error@+1 {{expected scale_rounding = ceil with '!mx_formats.ue5m3' scales, found even}}
  mx.quantize ins(%x : tensor<8x64xf32>) outs(%q, %s : tensor<8x64xf8E4M3FN>, tensor<8x1x!mx_formats.ue5m3>)
      scale_rounding = even -> tensor<8x64xf8E4M3FN>, tensor<8x1x!mx_formats.ue5m3>
  return
}
