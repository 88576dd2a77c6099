// RUN: %expand_cases %s %t.mlir
// RUN: mx-test-opt %t.mlir -split-input-file -verify-diagnostics | mx-test-opt -split-input-file | FileCheck %s
// RUN: not mx-opt %t.mlir -split-input-file 2>&1 | FileCheck %s --check-prefix=PLAIN

// Formats of scales may be defined by a dialect outside of mx: of blocks, whole rows and whole matrices. mx-opt does not
// load this dialect (test/lib/Formats) and rejects the file.

// PLAIN: error: {{.*}}mx_formats
// CHECK: mx.dequantize ins({{.*}} : tensor<8x256xf8E4M3FN>, tensor<8x4x!mx_formats.ue5m3, #mx.scale_layout<sf_128x4>>)
!s = tensor<8x4x!mx_formats.ue5m3, #mx.scale_layout<sf_128x4>>
func.func @blocks(%q: tensor<8x256xf8E4M3FN>, %s: !s, %d: tensor<8x256xf32>) -> tensor<8x256xf32> {
  %0 = mx.dequantize ins(%q, %s : tensor<8x256xf8E4M3FN>, !s) outs(%d : tensor<8x256xf32>) block_size = 64
      -> tensor<8x256xf32>
  return %0 : tensor<8x256xf32>
}

// -----

// CHECK-LABEL: func.func @rows(
// CHECK:       mx.quantize ins({{.*}}) outs({{.*}} : tensor<8x77xf8E4M3FN>, tensor<8x1x!mx_formats.row_scale>)
// CHECK:       mx.dequantize ins({{.*}} : tensor<8x77xf8E4M3FN>, tensor<8x1x!mx_formats.row_scale>)
// CHECK-SAME:      block_size = row
!q = tensor<8x77xf8E4M3FN>
!s = tensor<8x1x!mx_formats.row_scale>
func.func @rows(%x: tensor<8x77xf32>, %e: !q, %f: !s) -> tensor<8x77xf32> {
  %q, %s = mx.quantize ins(%x : tensor<8x77xf32>) outs(%e, %f : !q, !s) -> !q, !s
  %y = mx.dequantize ins(%q, %s : !q, !s) outs(%x : tensor<8x77xf32>) block_size = row -> tensor<8x77xf32>
  return %y : tensor<8x77xf32>
}

// -----

// CHECK-LABEL: func.func @matmuls(
// CHECK:       mx.matmul {{.*}} block_size = row accumulate ->
// CHECK:       mx.grouped_matmul {{.*}} block_size = row ->
!q = tensor<8x64xf8E4M3FN>
!s = tensor<8x1x!mx_formats.row_scale>
!b = tensor<2x16x64xf8E4M3FN>
!sb = tensor<2x16x1x!mx_formats.row_scale>
func.func @matmuls(%q: !q, %s: !s, %b: !b, %sb: !sb, %o: tensor<2xi32>, %c: tensor<8x8xf32>, %d: tensor<8x16xf32>) {
  mx.matmul ins(%q, %s, %q, %s : !q, !s, !q, !s) outs(%c : tensor<8x8xf32>) block_size = row accumulate
      -> tensor<8x8xf32>
  mx.grouped_matmul ragged = rows ins(%q, %s, %b, %sb : !q, !s, !b, !sb) offsets(%o : tensor<2xi32>)
      outs(%d : tensor<8x16xf32>) block_size = row -> tensor<8x16xf32>
  return
}

// -----

// CHECK-LABEL: func.func @matrices(
// CHECK:       block_size = row
!q = tensor<2x8x64xf8E4M3FN>
!s = tensor<2x1x1x!mx_formats.matrix_scale>
func.func @matrices(%q: !q, %s: !s, %d: tensor<2x8x64xbf16>) {
  mx.dequantize ins(%q, %s : !q, !s) outs(%d : tensor<2x8x64xbf16>) block_size = row -> tensor<2x8x64xbf16>
  return
}

// -----

// TEMPLATE function
// SET function = none
func.func ${function} {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// SET function = @block_size(%q: tensor<8x256xf8E4M3FN>, %s: tensor<8x8x!mx_formats.ue5m3>, %d: tensor<8x256xf32>)
// expected-error @below {{expected block_size 64 with scales of type '!mx_formats.ue5m3', found 32}}
mx.dequantize ins(%q, %s : tensor<8x256xf8E4M3FN>, tensor<8x8x!mx_formats.ue5m3>) outs(%d : tensor<8x256xf32>) -> tensor<8x256xf32>

// SET function = @elements(%q: tensor<8x256xf8E5M2>, %s: tensor<8x4x!mx_formats.ue5m3>, %d: tensor<8x256xf32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{expected input of type f8E4M3FN or f4E2M1FN with scales of type '!mx_formats.ue5m3', found 'f8E5M2'}}
mx.dequantize ins(%q, %s : tensor<8x256xf8E5M2>, tensor<8x4x!mx_formats.ue5m3>) outs(%d : tensor<8x256xf32>) block_size = 64 -> tensor<8x256xf32>

// SET function = @rounding(%x: tensor<8x256xf32>, %q: tensor<8x256xf8E4M3FN>, %s: tensor<8x4x!mx_formats.ue5m3>)
// expected-error @below {{expected scale_rounding = ceil with '!mx_formats.ue5m3' scales, found even}}
mx.quantize ins(%x : tensor<8x256xf32>) outs(%q, %s : tensor<8x256xf8E4M3FN>, tensor<8x4x!mx_formats.ue5m3>) scale_rounding = even -> tensor<8x256xf8E4M3FN>, tensor<8x4x!mx_formats.ue5m3>

// SET function = @block_size_of_rows(%q: tensor<8x256xf8E4M3FN>, %s: tensor<8x2x!mx_formats.row_scale>, %d: tensor<8x256xf32>)
// expected-error @below {{expected block_size row with scales of type '!mx_formats.row_scale', found 32}}
mx.dequantize ins(%q, %s : tensor<8x256xf8E4M3FN>, tensor<8x2x!mx_formats.row_scale>) outs(%d : tensor<8x256xf32>) -> tensor<8x256xf32>

// SET function = @scales(%q: tensor<8x256xf8E4M3FN>, %s: tensor<8x2x!mx_formats.row_scale>, %d: tensor<8x256xf32>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{expected dimension 1 of scales to be 1, found 2}}
mx.dequantize ins(%q, %s : tensor<8x256xf8E4M3FN>, tensor<8x2x!mx_formats.row_scale>) outs(%d : tensor<8x256xf32>) block_size = row -> tensor<8x256xf32>

// SET function = @matrix_scales(%q: tensor<8x256xf8E4M3FN>, %s: tensor<8x1x!mx_formats.matrix_scale>, %d: tensor<8x256xf32>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{expected dimension 0 of scales to be 1, found 8}}
mx.dequantize ins(%q, %s : tensor<8x256xf8E4M3FN>, tensor<8x1x!mx_formats.matrix_scale>) outs(%d : tensor<8x256xf32>) block_size = row -> tensor<8x256xf32>

// SET function = @square(%x: tensor<8x256xf32>, %q: tensor<8x256xf8E4M3FN>, %s: tensor<8x1x!mx_formats.row_scale>)
// expected-error @below {{expected no attribute 'square' with scales of type '!mx_formats.row_scale', which apply to a whole row}}
mx.quantize ins(%x : tensor<8x256xf32>) outs(%q, %s : tensor<8x256xf8E4M3FN>, tensor<8x1x!mx_formats.row_scale>) square -> tensor<8x256xf8E4M3FN>, tensor<8x1x!mx_formats.row_scale>

// SET function = @reduction(%q: tensor<8x256xf8E4M3FN>, %s: tensor<8x1x!mx_formats.row_scale>, %o: tensor<1xi32>, %d: tensor<8x100xf32>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{expected no expert groups with blocks of a whole row, found ragged = reduction: use a separate matrix for each group}}
mx.dequantize ragged = reduction ins(%q, %s : tensor<8x256xf8E4M3FN>, tensor<8x1x!mx_formats.row_scale>) offsets(%o : tensor<1xi32>) outs(%d : tensor<8x100xf32>) block_size = row -> tensor<8x100xf32>

// SET function = @rows_of_matrix(%q: tensor<8x256xf8E4M3FN>, %s: tensor<1x1x!mx_formats.matrix_scale>, %o: tensor<1xi32>, %d: tensor<8x256xf32>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{expected no expert groups with blocks of a whole matrix, found ragged = rows: use a separate matrix for each group}}
mx.dequantize ragged = rows ins(%q, %s : tensor<8x256xf8E4M3FN>, tensor<1x1x!mx_formats.matrix_scale>) offsets(%o : tensor<1xi32>) outs(%d : tensor<8x256xf32>) block_size = row -> tensor<8x256xf32>
