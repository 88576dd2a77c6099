// RUN: mx-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: mx-opt %s -split-input-file -verify-diagnostics -mlir-print-op-generic | mx-opt -split-input-file | FileCheck %s

// Blocks of 1 x 128 and 128 x 128 elements with f32 scales.

// CHECK-LABEL: func.func @matmul(
// CHECK:       mx.matmul {{.*}} block_size = 128 b_block_size = 128x128 promote = 128
// CHECK:       mx.matmul {{.*}} block_size = 128 promote = 128
// CHECK:       mx.matmul {{.*}} block_size = 128 b_block_size = 128x128 promote = 128
!a = tensor<?x512xf8E4M3FN>
!sa = tensor<?x4xf32, #mx.scale_layout<mn_major>>
!b = tensor<200x512xf8E4M3FN>
!c = tensor<?x200xbf16>
func.func @matmul(%a: !a, %sa: !sa, %b: !b, %sb: tensor<2x4xf32>, %sr: tensor<200x4xf32>, %c: !c,
                  %e: tensor<?x4xf8E8M0FNU>, %f: tensor<2x4xf8E8M0FNU>) -> (!c, !c, !c) {
  %0 = mx.matmul ins(%a, %sa, %b, %sb : !a, !sa, !b, tensor<2x4xf32>) outs(%c : !c)
      block_size = 128 b_block_size = 128x128 promote = 128 -> !c
  %1 = mx.matmul ins(%a, %sa, %b, %sr : !a, !sa, !b, tensor<200x4xf32>) outs(%c : !c)
      block_size = 128 promote = 128 -> !c
  %2 = mx.matmul ins(%a, %e, %b, %f : !a, tensor<?x4xf8E8M0FNU>, !b, tensor<2x4xf8E8M0FNU>) outs(%c : !c)
      block_size = 128 b_block_size = 128x128 promote = 128 -> !c
  return %0, %1, %2 : !c, !c, !c
}

// CHECK-LABEL: func.func @materialized(
// CHECK:       memref<4x?x4xf32>
func.func @materialized(%a: memref<?x512xf8E4M3FN>, %sa: memref<4x?x4xf32>, %b: memref<200x512xf8E4M3FN>,
                        %sb: memref<2x4xf32>, %c: memref<?x200xbf16>) {
  mx.matmul ins(%a, %sa, %b, %sb : memref<?x512xf8E4M3FN>, memref<4x?x4xf32>, memref<200x512xf8E4M3FN>, memref<2x4xf32>)
      outs(%c : memref<?x200xbf16>) block_size = 128 b_block_size = 128x128 promote = 128
  return
}

// CHECK-LABEL: func.func @quantize(
// CHECK:       mx.quantize {{.*}} : tensor<200x512xf8E4M3FN>, tensor<200x4xf32, #mx.scale_layout<mn_major>>) ->
// CHECK:       mx.quantize {{.*}} block_size = 128x128 scale_rounding = ceil
// CHECK:       mx.fused_quantize {{.*}} block_size = 128x128 scale_rounding = exact ->
func.func @quantize(%x: tensor<200x512xbf16>, %q: tensor<200x512xf8E4M3FN>,
                    %s: tensor<200x4xf32, #mx.scale_layout<mn_major>>, %t: tensor<2x4xf32>) {
  mx.quantize ins(%x : tensor<200x512xbf16>)
      outs(%q, %s : tensor<200x512xf8E4M3FN>, tensor<200x4xf32, #mx.scale_layout<mn_major>>)
      -> tensor<200x512xf8E4M3FN>, tensor<200x4xf32, #mx.scale_layout<mn_major>>
  mx.quantize ins(%x : tensor<200x512xbf16>) outs(%q, %t : tensor<200x512xf8E4M3FN>, tensor<2x4xf32>)
      block_size = 128x128 scale_rounding = ceil -> tensor<200x512xf8E4M3FN>, tensor<2x4xf32>
  mx.fused_quantize ins(%x : tensor<200x512xbf16>) outs(%q, %t : tensor<200x512xf8E4M3FN>, tensor<2x4xf32>)
      block_size = 128x128 scale_rounding = exact -> tensor<200x512xf8E4M3FN>, tensor<2x4xf32>
  return
}

// -----

func.func @size(%q: tensor<200x512xf8E4M3FN>, %s: tensor<2x4xf32>, %d: tensor<200x512xf32>) {
  // expected-error@+1 {{expected block_size 128 with scales of type 'f32', found 64x128}}
  mx.dequantize ins(%q, %s : tensor<200x512xf8E4M3FN>, tensor<2x4xf32>) outs(%d : tensor<200x512xf32>)
      block_size = 64x128 -> tensor<200x512xf32>
  return
}

// -----

func.func @parse(%q: tensor<200x512xf8E4M3FN>, %s: tensor<2x4xf32>, %d: tensor<200x512xf32>) {
  mx.dequantize ins(%q, %s : tensor<200x512xf8E4M3FN>, tensor<2x4xf32>) outs(%d : tensor<200x512xf32>)
      // expected-error@+1 {{expected a block size such as 128, row or 128x128}}
      block_size = 2x2x2 -> tensor<200x512xf32>
  return
}

// -----

// expected-note@+1 {{scales is defined here}}
func.func @rows(%q: tensor<200x512xf8E4M3FN>, %s: tensor<2x4xf32>, %d: tensor<200x512xf32>) {
  // expected-error@+1 {{expected dimension 0 of scales to be 200, found 2}}
  mx.dequantize ins(%q, %s : tensor<200x512xf8E4M3FN>, tensor<2x4xf32>) outs(%d : tensor<200x512xf32>)
      block_size = 128 -> tensor<200x512xf32>
  return
}

// -----

// expected-error@+1 {{expected the linear layout or sf_128x4 with scales of type 'f8E8M0FNU', found #mx.scale_layout<mn_major>}}
func.func private @layout(tensor<200x4xf8E8M0FNU, #mx.scale_layout<mn_major>>)

// -----

// expected-error@+1 {{expected the linear layout or mn_major with scales of type 'f32', found #mx.scale_layout<sf_128x4>}}
func.func private @tiles(tensor<200x4xf32, #mx.scale_layout<sf_128x4>>)

// -----

!s = tensor<2x4xf32, #mx.scale_layout<mn_major>>
// expected-note@+1 {{scales is defined here}}
func.func @squares(%q: tensor<200x512xf8E4M3FN>, %s: !s, %d: tensor<200x512xf32>) {
  // expected-error@+1 {{expected scales of blocks of 128 x 128 elements in the linear layout, found mn_major}}
  mx.dequantize ins(%q, %s : tensor<200x512xf8E4M3FN>, !s) outs(%d : tensor<200x512xf32>)
      block_size = 128x128 -> tensor<200x512xf32>
  return
}

// -----

// expected-note@+1 {{a_scales is defined here}}
func.func @experts(%a: tensor<200x512xf8E4M3FN>, %sa: tensor<2x4xf32>, %b: tensor<3x200x512xf8E4M3FN>,
                   %sb: tensor<3x2x4xf32>, %e: tensor<3xi32>, %c: tensor<200x200xf32>) {
  // expected-error@+1 {{expected no expert groups with blocks of 128 x 128 elements, found ragged = rows: use a separate matrix for each group}}
  mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<200x512xf8E4M3FN>, tensor<2x4xf32>,
        tensor<3x200x512xf8E4M3FN>, tensor<3x2x4xf32>) offsets(%e : tensor<3xi32>) outs(%c : tensor<200x200xf32>)
      block_size = 128x128 promote = 128 -> tensor<200x200xf32>
  return
}

// -----

func.func @promote(%a: tensor<200x512xf8E4M3FN>, %sa: tensor<200x4xf32>, %c: tensor<200x200xf32>) {
  // expected-error@+1 {{expected 'a' in blocks of at least 256 elements with promote = 256, found blocks of 128: fold the operand}}
  mx.matmul ins(%a, %sa, %a, %sa : tensor<200x512xf8E4M3FN>, tensor<200x4xf32>, tensor<200x512xf8E4M3FN>,
        tensor<200x4xf32>) outs(%c : tensor<200x200xf32>) block_size = 128 promote = 256 -> tensor<200x200xf32>
  return
}

// -----

func.func @copied(%x: tensor<200x512xf8E4M3FN>, %t: tensor<200x4xf32>, %q: tensor<200x512xf8E4M3FN>,
                  %s: tensor<200x4xf8E8M0FNU>) {
  // expected-error@+1 {{expected the input's scale type 'f32' along axis 1 without a prologue, found 'f8E8M0FNU': add a prologue that yields its argument to requantize}}
  mx.fused_quantize ins(%x : tensor<200x512xf8E4M3FN>) input_scales(%t : tensor<200x4xf32>)
      outs(%q, %s : tensor<200x512xf8E4M3FN>, tensor<200x4xf8E8M0FNU>) block_size = 128
      -> tensor<200x512xf8E4M3FN>, tensor<200x4xf8E8M0FNU>
  return
}

// -----

func.func @rounding(%x: tensor<200x512xbf16>, %q: tensor<200x512xf8E4M3FN>, %t: tensor<2x4xf32>) {
  // expected-error@+1 {{expected scale_rounding = ceil or exact with 'f32' scales, found floor}}
  mx.quantize ins(%x : tensor<200x512xbf16>) outs(%q, %t : tensor<200x512xf8E4M3FN>, tensor<2x4xf32>)
      block_size = 128x128 scale_rounding = floor -> tensor<200x512xf8E4M3FN>, tensor<2x4xf32>
  return
}

// -----

func.func @exact(%x: tensor<200x512xbf16>, %q: tensor<200x512xf8E4M3FN>, %t: tensor<200x16xf8E8M0FNU>) {
  // expected-error@+1 {{expected scale_rounding = ceil, floor, even or fit with 'f8E8M0FNU' scales, found exact}}
  mx.quantize ins(%x : tensor<200x512xbf16>) outs(%q, %t : tensor<200x512xf8E4M3FN>, tensor<200x16xf8E8M0FNU>)
      scale_rounding = exact -> tensor<200x512xf8E4M3FN>, tensor<200x16xf8E8M0FNU>
  return
}
