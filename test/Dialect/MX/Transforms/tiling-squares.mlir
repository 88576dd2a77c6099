// RUN: mx-test-opt %s --transform-interpreter --canonicalize --cse --split-input-file -verify-diagnostics | FileCheck %s

// Each scale covers a square block (formats in test/lib/Formats). Tiles contain whole squares, except at the last rows.
// CHECK-LABEL: func @matmul(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<70x512xbf16>, %[[W:[^:]*]]: tensor<200x512xf8E4M3FN>, %[[S:[^:]*]]: tensor<2x4xf32>
// CHECK:         scf.for %[[J:[^ ]+]] =
// CHECK:           %[[N:.*]] = affine.min {{.*}}(%[[J]])
// CHECK:           %[[TW:.*]] = tensor.extract_slice %[[W]][%[[J]], 0] [%[[N]], 512] [1, 1]
// CHECK:           %[[TS:.*]] = tensor.extract_slice %[[S]][%{{.*}}, 0] [%{{.*}}, 4] [1, 1]
// CHECK:           mx.matmul ins(%[[X]], %[[TW]], %[[TS]] :
func.func @matmul(%x: tensor<70x512xbf16>, %w: tensor<200x512xf8E4M3FN>, %s: tensor<2x4xf32>,
                  %init: tensor<70x200xf32>) -> tensor<70x200xf32> {
  %c = mx.matmul ins(%x, %w, %s : tensor<70x512xbf16>, tensor<200x512xf8E4M3FN>, tensor<2x4xf32>)
      outs(%init : tensor<70x200xf32>) block_size = 128x128 -> tensor<70x200xf32>
  return %c : tensor<70x200xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 128, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @half(%q: tensor<256x512xf8E4M3FN>, %s: tensor<2x4xf32>, %init: tensor<256x512xf32>) -> tensor<256x512xf32> {
  // expected-error @below {{expected tiles of rows in multiples of 128, found 64}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %c = mx.dequantize ins(%q, %s : tensor<256x512xf8E4M3FN>, tensor<2x4xf32>) outs(%init : tensor<256x512xf32>)
      block_size = 128x128 -> tensor<256x512xf32>
  return %c : tensor<256x512xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.dequantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [64, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
