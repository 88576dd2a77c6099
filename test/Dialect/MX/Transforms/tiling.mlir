// RUN: %expand_cases %s %t.mlir
// RUN: mx-test-opt %t.mlir --transform-interpreter --canonicalize --cse --split-input-file -verify-diagnostics | FileCheck %s

// TEMPLATE tile
// SET op = matmul
// SET how = tile_using_for
// SET sizes = 128
// SET loops = 1
// SET types = !transform.any_op
// BLOCK function
// END
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.${op}"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:${loops} = transform.structured.${how} %op tile_sizes [${sizes}] : (!transform.any_op) -> (!transform.any_op, ${types})
    transform.yield
  }
}

// -----

// USE tile function
// SET sizes = 64, 48, 0
// SET loops = 2
// SET types = !transform.any_op, !transform.any_op
// Elements, linear scales and destination are sliced together.
// CHECK-LABEL: func @matmul_linear(
// CHECK-SAME:      %[[A:[^:]*]]: tensor<256x512xf8E4M3FN>, %[[SA:[^:]*]]: tensor<256x16xf8E8M0FNU>,
// CHECK-SAME:      %[[B:[^:]*]]: tensor<96x512xf8E4M3FN>, %[[SB:[^:]*]]: tensor<96x16xf8E8M0FNU>,
// CHECK-SAME:      %[[INIT:[^:]*]]: tensor<256x96xbf16>
// CHECK:         scf.for %[[I:[^ ]+]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[C:[^ ]+]] = %[[INIT]])
// CHECK:           scf.for %[[J:[^ ]+]] = %{{.*}} iter_args(%[[D:[^ ]+]] = %[[C]])
// CHECK-DAG:         %[[TA:.*]] = tensor.extract_slice %[[A]][%[[I]], 0] [64, 512] [1, 1]
// CHECK-DAG:         %[[TSA:.*]] = tensor.extract_slice %[[SA]][%[[I]], 0] [64, 16] [1, 1]
// CHECK-DAG:         %[[TB:.*]] = tensor.extract_slice %[[B]][%[[J]], 0] [48, 512] [1, 1]
// CHECK-DAG:         %[[TSB:.*]] = tensor.extract_slice %[[SB]][%[[J]], 0] [48, 16] [1, 1]
// CHECK-DAG:         %[[TC:.*]] = tensor.extract_slice %[[D]][%[[I]], %[[J]]] [64, 48] [1, 1]
// CHECK:             %[[R:.*]] = mx.matmul ins(%[[TA]], %[[TSA]], %[[TB]], %[[TSB]] :
// CHECK-SAME:          outs(%[[TC]] : tensor<64x48xbf16>)
// CHECK:             tensor.insert_slice %[[R]] into %[[D]][%[[I]], %[[J]]] [64, 48] [1, 1]
func.func @matmul_linear(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>,
                         %b: tensor<96x512xf8E4M3FN>, %sb: tensor<96x16xf8E8M0FNU>,
                         %init: tensor<256x96xbf16>) -> tensor<256x96xbf16> {
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>,
                     tensor<96x512xf8E4M3FN>, tensor<96x16xf8E8M0FNU>)
      outs(%init : tensor<256x96xbf16>) -> tensor<256x96xbf16>
  return %c : tensor<256x96xbf16>
}

// Tiles a matmul with unscaled activations.
// CHECK-LABEL: func @matmul_weights(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<256x512xbf16>, %[[W:[^:]*]]: tensor<96x512xf8E4M3FN>, %[[WS:[^:]*]]: tensor<96x16xf8E8M0FNU>
// CHECK-DAG:         %[[TX:.*]] = tensor.extract_slice %[[X]][%[[I:[^ ,]+]], 0] [64, 512] [1, 1]
// CHECK-DAG:         %[[TW:.*]] = tensor.extract_slice %[[W]][%[[J:[^ ,]+]], 0] [48, 512] [1, 1]
// CHECK-DAG:         %[[TWS:.*]] = tensor.extract_slice %[[WS]][%[[J]], 0] [48, 16] [1, 1]
// CHECK:             mx.matmul ins(%[[TX]], %[[TW]], %[[TWS]] :
func.func @matmul_weights(%x: tensor<256x512xbf16>, %w: tensor<96x512xf8E4M3FN>, %ws: tensor<96x16xf8E8M0FNU>,
                          %init: tensor<256x96xbf16>) -> tensor<256x96xbf16> {
  %c = mx.matmul ins(%x, %w, %ws : tensor<256x512xbf16>, tensor<96x512xf8E4M3FN>, tensor<96x16xf8E8M0FNU>)
      outs(%init : tensor<256x96xbf16>) -> tensor<256x96xbf16>
  return %c : tensor<256x96xbf16>
}

// -----

// USE tile function
// SET sizes = 128, 0, 256
// SET loops = 2
// SET types = !transform.any_op, !transform.any_op
// Materialized scales are sliced in tiles of 128 rows and 4 blocks, and the last
// row tile may be partial. A matmul with `accumulate` can be tiled along K.
// CHECK-LABEL: func @matmul_materialized(
// CHECK-SAME:      %{{[^:]*}}: tensor<300x512xf8E4M3FN>, %[[SA:[^:]*]]: tensor<3x4x32x4x4xf8E8M0FNU>
// CHECK:         scf.for %[[I:[^ ]+]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK:           scf.for %[[K:[^ ]+]] = %{{.*}} iter_args
// CHECK:             %[[M:.*]] = affine.min #{{.*}}(%[[I]])
// CHECK-DAG:         %[[ROW:.*]] = affine.apply #{{.*}}(%[[I]])
// CHECK-DAG:         %[[ROWS:.*]] = affine.apply #{{.*}}(%[[M]])
// CHECK-DAG:         %[[COLUMN:.*]] = affine.apply #{{.*}}(%[[K]])
// CHECK:             tensor.extract_slice %[[SA]][%[[ROW]], %[[COLUMN]], 0, 0, 0] [%[[ROWS]], 2, 32, 4, 4] [1, 1, 1, 1, 1]
// CHECK:             mx.matmul ins({{.*}} : tensor<?x256xf8E4M3FN>, tensor<?x2x32x4x4xf8E8M0FNU>, tensor<128x256xf8E4M3FN>, tensor<1x2x32x4x4xf8E8M0FNU>)
// CHECK-SAME:          accumulate
func.func @matmul_materialized(%a: tensor<300x512xf8E4M3FN>, %sa: tensor<3x4x32x4x4xf8E8M0FNU>,
                               %b: tensor<128x512xf8E4M3FN>, %sb: tensor<1x4x32x4x4xf8E8M0FNU>,
                               %init: tensor<300x128xf32>) -> tensor<300x128xf32> {
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<300x512xf8E4M3FN>, tensor<3x4x32x4x4xf8E8M0FNU>,
                     tensor<128x512xf8E4M3FN>, tensor<1x4x32x4x4xf8E8M0FNU>)
      outs(%init : tensor<300x128xf32>) accumulate -> tensor<300x128xf32>
  return %c : tensor<300x128xf32>
}

// -----

// USE tile function
// SET how = tile_using_forall
// SET sizes = 64
// The epilogue adds the tile's offset to its indices.
// CHECK-LABEL: func @epilogue
// CHECK:         scf.forall (%[[T:[^)]+]]) in (4)
// CHECK:           %[[I:.*]] = affine.apply #{{.*}}(%[[T]])
// CHECK:           mx.matmul
// CHECK:           ^bb0(%[[ACC:.*]]: f32, %[[ROW:.*]]: index, %{{.*}}: index):
// CHECK:             %[[R:.*]] = arith.addi %[[ROW]], %[[I]] : index
// CHECK:             tensor.extract %{{.*}}[%[[R]]]
func.func @epilogue(%a: tensor<256x64xf8E4M3FN>, %s: tensor<256x2xf8E8M0FNU>, %bias: tensor<256xf32>,
                    %init: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %c = mx.matmul ins(%a, %s, %a, %s : tensor<256x64xf8E4M3FN>, tensor<256x2xf8E8M0FNU>,
                     tensor<256x64xf8E4M3FN>, tensor<256x2xf8E8M0FNU>)
      outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
      epilogue {
      ^bb0(%acc: f32, %row: index, %col: index):
        %b = tensor.extract %bias[%row] : tensor<256xf32>
        %y = arith.addf %acc, %b : f32
        mx.yield %y : f32
      }
  return %c : tensor<256x256xf32>
}

// -----

// USE tile function
// SET op = quantize
// The results for both axes are computed from one slice of the input.
// CHECK-LABEL: func @quantize(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<?x512xbf16>
// CHECK:         scf.for %[[I:[^ ]+]] = {{.*}} iter_args(%[[E:[^ ]*]] = %{{[^,]*}}, %[[F:[^ ]*]] = %{{[^,]*}}, %[[G:[^ ]*]] = %{{[^,]*}}, %[[H:[^ ]*]] =
// CHECK-COUNT-1:   tensor.extract_slice %[[X]][%[[I]], 0] [%{{.*}}, 512] [1, 1]
// CHECK:           tensor.extract_slice %[[E]][%[[I]], 0] [%{{.*}}, 512] [1, 1]
// CHECK:           tensor.extract_slice %[[F]][%{{.*}}, 0, 0, 0, 0] [%{{.*}}, 4, 32, 4, 4] [1, 1, 1, 1, 1]
// CHECK:           tensor.extract_slice %[[G]][0, %[[I]]] [512, %{{.*}}] [1, 1]
// CHECK:           tensor.extract_slice %[[H]][0, %{{.*}}] [512, %{{.*}}] [1, 1]
// CHECK:           mx.quantize {{.*}} axes = [1, 0]
func.func @quantize(%x: tensor<?x512xbf16>, %e: tensor<?x512xf8E4M3FN>, %f: tensor<?x4x32x4x4xf8E8M0FNU>,
                    %g: tensor<512x?xf8E4M3FN>, %h: tensor<512x?xf8E8M0FNU>)
    -> (tensor<?x512xf8E4M3FN>, tensor<?x4x32x4x4xf8E8M0FNU>, tensor<512x?xf8E4M3FN>, tensor<512x?xf8E8M0FNU>) {
  %r:4 = mx.quantize ins(%x : tensor<?x512xbf16>)
      outs(%e, %f, %g, %h : tensor<?x512xf8E4M3FN>, tensor<?x4x32x4x4xf8E8M0FNU>,
           tensor<512x?xf8E4M3FN>, tensor<512x?xf8E8M0FNU>)
      axes = [1, 0]
      -> tensor<?x512xf8E4M3FN>, tensor<?x4x32x4x4xf8E8M0FNU>, tensor<512x?xf8E4M3FN>, tensor<512x?xf8E8M0FNU>
  return %r#0, %r#1, %r#2, %r#3
      : tensor<?x512xf8E4M3FN>, tensor<?x4x32x4x4xf8E8M0FNU>, tensor<512x?xf8E4M3FN>, tensor<512x?xf8E8M0FNU>
}

// -----

// CHECK-LABEL: func @dequantize_and_relayout
// CHECK:         scf.for
// CHECK:           tensor.extract_slice %{{.*}} [128, 8] [1, 1]
// CHECK:           mx.relayout {{.*}} -> tensor<1x2x32x4x4xf8E8M0FNU>
// CHECK:         scf.for
// CHECK:           mx.dequantize {{.*}} -> tensor<256x96xf32>
func.func @dequantize_and_relayout(%q: tensor<256x192xi8>, %l: tensor<256x64xf8E8M0FNU>,
                                   %t: tensor<2x2x32x4x4xf8E8M0FNU>, %s: tensor<256x6xf8E8M0FNU>,
                                   %r: tensor<2x16x32x4x4xf8E8M0FNU>, %init: tensor<256x192xf32>)
    -> (tensor<2x16x32x4x4xf8E8M0FNU>, tensor<256x192xf32>) {
  %0 = mx.relayout ins(%l : tensor<256x64xf8E8M0FNU>) outs(%r : tensor<2x16x32x4x4xf8E8M0FNU>)
      -> tensor<2x16x32x4x4xf8E8M0FNU>
  %1 = mx.dequantize ins(%q, %s : tensor<256x192xi8>, tensor<256x6xf8E8M0FNU>)
      outs(%init : tensor<256x192xf32>) -> tensor<256x192xf32>
  return %0, %1 : tensor<2x16x32x4x4xf8E8M0FNU>, tensor<256x192xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.relayout"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %op tile_sizes [128, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %op2 = transform.structured.match ops{["mx.dequantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled2, %loop2 = transform.structured.tile_using_for %op2 tile_sizes [0, 96]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Tiles the packing of weights and a matmul with packed weights.
// CHECK-LABEL: func @packed_weights
// CHECK:         scf.for
// CHECK:           tensor.extract_slice %{{.*}}[%{{.*}}, 0] [64, 96] [1, 1] : tensor<192x96xf8E4M3FN>
// CHECK:           tensor.extract_slice %{{.*}}[%{{.*}}, 0, 0, 0] [1, 2, 128, 32] [1, 1, 1, 1] : tensor<3x2x128x32xf8E4M3FN>
// CHECK:           mx.pack_operand {{.*}} -> tensor<1x2x128x32xf8E4M3FN>
// CHECK:         scf.for
// CHECK:           mx.matmul ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<32x96xbf16>, tensor<1x2x128x32xf8E4M3FN>, tensor<64x3xf8E8M0FNU>) outs(%{{.*}} : tensor<32x64xf32>) b_order = #mxgpu.fragment_64x64
func.func @packed_weights(%x: tensor<32x96xbf16>, %w: tensor<192x96xf8E4M3FN>, %s: tensor<192x3xf8E8M0FNU>,
                          %init: tensor<3x2x128x32xf8E4M3FN>, %out: tensor<32x192xf32>) -> tensor<32x192xf32> {
  %0 = mx.pack_operand order = #mxgpu.fragment_64x64 ins(%w : tensor<192x96xf8E4M3FN>) outs(%init : tensor<3x2x128x32xf8E4M3FN>)
      -> tensor<3x2x128x32xf8E4M3FN>
  %1 = mx.matmul ins(%x, %0, %s : tensor<32x96xbf16>, tensor<3x2x128x32xf8E4M3FN>, tensor<192x3xf8E8M0FNU>)
      outs(%out : tensor<32x192xf32>) b_order = #mxgpu.fragment_64x64 -> tensor<32x192xf32>
  return %1 : tensor<32x192xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.pack_operand"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %op2 = transform.structured.match ops{["mx.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled2, %loop2 = transform.structured.tile_using_for %op2 tile_sizes [0, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// USE tile function
// SET how = fuse
// SET sizes = 128, 0, 0
// The quantizer is fused into the loop of its matmul.
// CHECK-LABEL: func @fuse_quantize
// CHECK:         scf.for %[[I:[^ ]+]] =
// CHECK:           %[[X:.*]] = tensor.extract_slice %{{.*}}[%[[I]], 0] [128, 64] [1, 1] : tensor<256x64xbf16>
// CHECK:           %[[Q:.*]]:2 = mx.quantize ins(%[[X]] : tensor<128x64xbf16>)
// CHECK:           mx.matmul ins(%[[Q]]#0, %[[Q]]#1,
func.func @fuse_quantize(%x: tensor<256x64xbf16>, %b: tensor<96x64xf8E4M3FN>, %sb: tensor<96x2xf8E8M0FNU>,
                         %init: tensor<256x96xf32>) -> tensor<256x96xf32> {
  %e = tensor.empty() : tensor<256x64xf8E4M3FN>
  %f = tensor.empty() : tensor<2x1x32x4x4xf8E8M0FNU>
  %q, %s = mx.quantize ins(%x : tensor<256x64xbf16>)
      outs(%e, %f : tensor<256x64xf8E4M3FN>, tensor<2x1x32x4x4xf8E8M0FNU>)
      -> tensor<256x64xf8E4M3FN>, tensor<2x1x32x4x4xf8E8M0FNU>
  %c = mx.matmul ins(%q, %s, %b, %sb : tensor<256x64xf8E4M3FN>, tensor<2x1x32x4x4xf8E8M0FNU>,
                     tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>)
      outs(%init : tensor<256x96xf32>) -> tensor<256x96xf32>
  return %c : tensor<256x96xf32>
}

// -----

// USE tile function
// SET op = grouped_matmul
// SET sizes = 0, 16, 0
// A grouped matmul can be tiled along columns but not along ragged rows.
// CHECK-LABEL: func @grouped(
// CHECK-SAME:      %[[A:[^:]*]]: tensor<300x64xf8E4M3FN>, %[[SA:[^:]*]]: tensor<6x1x32x4x4xf8E8M0FNU>,
// CHECK-SAME:      %[[B:[^:]*]]: tensor<4x48x64xf8E4M3FN>
// CHECK:         scf.for %[[J:[^ ]+]] =
// CHECK:           tensor.extract_slice %[[B]][0, %[[J]], 0] [4, 16, 64] [1, 1, 1]
// CHECK:           mx.grouped_matmul ragged = rows ins(%[[A]], %[[SA]],
func.func @grouped(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<6x1x32x4x4xf8E8M0FNU>,
                   %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o: tensor<4xi32>,
                   %init: tensor<300x48xbf16>) -> tensor<300x48xbf16> {
  %c = mx.grouped_matmul ragged = rows
      ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>,
          tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
      outs(%init : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return %c : tensor<300x48xbf16>
}

// -----

// USE tile function
// SET sizes = 0, 128, 0
// Each scale covers a square block (formats in test/lib/Formats). Tiles contain whole squares, except at the last rows.
// CHECK-LABEL: func @squares(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<70x512xbf16>, %[[W:[^:]*]]: tensor<200x512xf8E4M3FN>, %[[S:[^:]*]]: tensor<2x4xf32>
// CHECK:         scf.for %[[J:[^ ]+]] =
// CHECK:           %[[N:.*]] = affine.min {{.*}}(%[[J]])
// CHECK:           %[[TW:.*]] = tensor.extract_slice %[[W]][%[[J]], 0] [%[[N]], 512] [1, 1]
// CHECK:           %[[TS:.*]] = tensor.extract_slice %[[S]][%{{.*}}, 0] [%{{.*}}, 4] [1, 1]
// CHECK:           mx.matmul ins(%[[X]], %[[TW]], %[[TS]] :
func.func @squares(%x: tensor<70x512xbf16>, %w: tensor<200x512xf8E4M3FN>, %s: tensor<2x4xf32>,
                   %init: tensor<70x200xf32>) -> tensor<70x200xf32> {
  %c = mx.matmul ins(%x, %w, %s : tensor<70x512xbf16>, tensor<200x512xf8E4M3FN>, tensor<2x4xf32>)
      outs(%init : tensor<70x200xf32>) block_size = 128x128 -> tensor<70x200xf32>
  return %c : tensor<70x200xf32>
}

// -----

// USE tile function
// SET op = dequantize
// SET sizes = 64, 0
func.func @half_squares(%q: tensor<256x512xf8E4M3FN>, %s: tensor<2x4xf32>, %init: tensor<256x512xf32>) -> tensor<256x512xf32> {
  // expected-error @below {{expected tiles of rows in multiples of 128, found 64}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %c = mx.dequantize ins(%q, %s : tensor<256x512xf8E4M3FN>, tensor<2x4xf32>) outs(%init : tensor<256x512xf32>)
      block_size = 128x128 -> tensor<256x512xf32>
  return %c : tensor<256x512xf32>
}

// -----

// USE tile function
// SET op = dequantize
// SET sizes = 4, 16
// SET loops = 2
// SET types = !transform.any_op, !transform.any_op
// Each scale covers a row. Every tile of a dequantization uses the scales of its rows.
// CHECK-LABEL: func @whole_rows(
// CHECK:       tensor.extract_slice %{{.*}}[%[[ROW:.*]], %[[COLUMN:.*]]] [4, 16] [1, 1] : tensor<8x64xf8E4M3FN>
// CHECK:       tensor.extract_slice %{{.*}}[%[[ROW]], 0] [4, 1] [1, 1] : tensor<8x1x!mx_formats.row_scale>
func.func @whole_rows(%q: tensor<8x64xf8E4M3FN>, %s: tensor<8x1x!mx_formats.row_scale>, %d: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = mx.dequantize ins(%q, %s : tensor<8x64xf8E4M3FN>, tensor<8x1x!mx_formats.row_scale>)
      outs(%d : tensor<8x64xf32>) block_size = row -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// USE tile function
// SET op = quantize
// SET sizes = 0, 32
// A quantization cannot be tiled along columns.
func.func @part_of_rows(%x: tensor<8x64xf32>, %q: tensor<8x64xf8E4M3FN>, %s: tensor<8x1x!mx_formats.row_scale>) -> tensor<8x64xf8E4M3FN> {
  // expected-error @below {{expected no tiling of columns: one scale covers this dimension}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %0:2 = mx.quantize ins(%x : tensor<8x64xf32>) outs(%q, %s : tensor<8x64xf8E4M3FN>, tensor<8x1x!mx_formats.row_scale>)
      -> tensor<8x64xf8E4M3FN>, tensor<8x1x!mx_formats.row_scale>
  return %0#0 : tensor<8x64xf8E4M3FN>
}
