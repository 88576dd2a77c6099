// RUN: mx-test-opt %s --transform-interpreter -split-input-file -verify-diagnostics | FileCheck %s

// Each scale covers a row. Every tile of a dequantization uses the scales of
// its rows, and a quantization cannot be tiled along columns.

// CHECK-LABEL: func.func @dequantize(
// CHECK:       tensor.extract_slice %{{.*}}[%[[ROW:.*]], %[[COLUMN:.*]]] [4, 16] [1, 1] : tensor<8x64xf8E4M3FN>
// CHECK:       tensor.extract_slice %{{.*}}[%[[ROW]], 0] [4, 1] [1, 1] : tensor<8x1x!mx_formats.row_scale>
!q = tensor<8x64xf8E4M3FN>
!s = tensor<8x1x!mx_formats.row_scale>
func.func @dequantize(%q: !q, %s: !s, %d: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = mx.dequantize ins(%q, %s : !q, !s) outs(%d : tensor<8x64xf32>) block_size = row -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.dequantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %op tile_sizes [4, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

!q = tensor<8x64xf8E4M3FN>
!s = tensor<8x1x!mx_formats.row_scale>
func.func @quantize(%x: tensor<8x64xf32>, %q: !q, %s: !s) -> (!q, !s) {
  // expected-error @below {{expected no tiling of columns: one scale covers this dimension}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %0:2 = mx.quantize ins(%x : tensor<8x64xf32>) outs(%q, %s : !q, !s) -> !q, !s
  return %0#0, %0#1 : !q, !s
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
