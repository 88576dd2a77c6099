// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --transform-interpreter --split-input-file -verify-diagnostics

// CASES
// Packed scales: a tile of rows would be cut.
func.func @rows_cut_a_tile(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<2x4x32x4x4xf8E8M0FNU>, %b: tensor<96x512xf8E4M3FN>,
    %sb: tensor<96x16xf8E8M0FNU>, %init: tensor<256x96xf32>) -> tensor<256x96xf32> {
  // expected-error @below {{expected tiles of M in multiples of 128, found 64}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<2x4x32x4x4xf8E8M0FNU>,
                     tensor<96x512xf8E4M3FN>, tensor<96x16xf8E8M0FNU>)
      outs(%init : tensor<256x96xf32>) -> tensor<256x96xf32>
  return %c : tensor<256x96xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [64, 0, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// And so a tile of blocks.
func.func @reduction_cuts_a_tile(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<2x4x32x4x4xf8E8M0FNU>, %b: tensor<96x512xf8E4M3FN>,
    %sb: tensor<96x16xf8E8M0FNU>, %init: tensor<256x96xf32>) -> tensor<256x96xf32> {
  // expected-error @below {{expected tiles of K in multiples of 128, found 64}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<2x4x32x4x4xf8E8M0FNU>,
                     tensor<96x512xf8E4M3FN>, tensor<96x16xf8E8M0FNU>)
      outs(%init : tensor<256x96xf32>) accumulate -> tensor<256x96xf32>
  return %c : tensor<256x96xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 0, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// Linear scales: a block would be cut.
func.func @reduction_cuts_a_block(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<96x512xf8E4M3FN>,
    %sb: tensor<96x16xf8E8M0FNU>, %init: tensor<256x96xf32>) -> tensor<256x96xf32> {
  // expected-error @below {{expected tiles of K in multiples of 32, found 16}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>,
                     tensor<96x512xf8E4M3FN>, tensor<96x16xf8E8M0FNU>)
      outs(%init : tensor<256x96xf32>) accumulate -> tensor<256x96xf32>
  return %c : tensor<256x96xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 0, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// Each tile would overwrite the one before.
func.func @no_partial_sums(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<96x512xf8E4M3FN>,
    %sb: tensor<96x16xf8E8M0FNU>, %init: tensor<256x96xf32>) -> tensor<256x96xf32> {
  // expected-error @below {{expected no tiling of K: only a matmul with accumulate has partial sums}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>,
                     tensor<96x512xf8E4M3FN>, tensor<96x16xf8E8M0FNU>)
      outs(%init : tensor<256x96xf32>) -> tensor<256x96xf32>
  return %c : tensor<256x96xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 0, 128]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// Each tile would round.
func.func @rounded_partial_sums(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<96x512xf8E4M3FN>,
    %sb: tensor<96x16xf8E8M0FNU>, %init: tensor<256x96xbf16>) -> tensor<256x96xbf16> {
  // expected-error @below {{expected no tiling of K: partial sums need outs of type f32}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>,
                     tensor<96x512xf8E4M3FN>, tensor<96x16xf8E8M0FNU>)
      outs(%init : tensor<256x96xbf16>) accumulate -> tensor<256x96xbf16>
  return %c : tensor<256x96xbf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 0, 128]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// The epilogue would see a part of the sum.
func.func @epilogue_of_partial_sums(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<96x512xf8E4M3FN>,
    %sb: tensor<96x16xf8E8M0FNU>, %init: tensor<256x96xf32>) -> tensor<256x96xf32> {
  // expected-error @below {{expected no tiling of K: the epilogue takes the whole sum}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>,
                     tensor<96x512xf8E4M3FN>, tensor<96x16xf8E8M0FNU>)
      outs(%init : tensor<256x96xf32>) accumulate -> tensor<256x96xf32> epilogue {
      ^bb0(%acc: f32, %row: index, %col: index):
        mx.yield %acc : f32
      }
  return %c : tensor<256x96xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 0, 128]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// A tile of packed weights has 64 rows.
func.func @packed(%w: tensor<192x96xf8E4M3FN>, %init: tensor<3x2x128x32xf8E4M3FN>) -> tensor<3x2x128x32xf8E4M3FN> {
  // expected-error @below {{'mx.pack_weights' op expected tiles of rows in multiples of 64, found 32}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %0 = mx.pack_weights ins(%w : tensor<192x96xf8E4M3FN>) outs(%init : tensor<3x2x128x32xf8E4M3FN>)
      -> tensor<3x2x128x32xf8E4M3FN>
  return %0 : tensor<3x2x128x32xf8E4M3FN>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.pack_weights"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// A slice of an encoded tensor has no meaning.
func.func @encoded(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %b: tensor<96x512xf8E4M3FN>,
    %sb: tensor<96x16xf8E8M0FNU>, %init: tensor<256x96xf32>) -> tensor<256x96xf32> {
  // expected-error @below {{expected linear or materialized layouts to tile, found 'tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>'}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
                     tensor<96x512xf8E4M3FN>, tensor<96x16xf8E8M0FNU>)
      outs(%init : tensor<256x96xf32>) -> tensor<256x96xf32>
  return %c : tensor<256x96xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [128, 0, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// Offsets of a tile are not those of the whole.
func.func @ragged_rows(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>,
    %sb: tensor<4x48x2xf8E8M0FNU>, %o: tensor<4xi32>, %init: tensor<300x48xbf16>) -> tensor<300x48xbf16> {
  // expected-error @below {{expected no tiling of M: the groups of a ragged operation divide it}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %c = mx.grouped_matmul ragged = rows
      ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>,
          tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
      outs(%init : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return %c : tensor<300x48xbf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.grouped_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [128, 0, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// Elements of a tile have other numbers than in the whole.
func.func @stochastic(%x: tensor<256x64xbf16>, %seed: i64, %e: tensor<256x64xf8E4M3FN>, %f: tensor<256x2xf8E8M0FNU>)
    -> tensor<256x64xf8E4M3FN> {
  // expected-error @below {{expected no tiling of rows: the random numbers of a seed belong to places in the whole input}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %q:2 = mx.quantize ins(%x : tensor<256x64xbf16>) seed(%seed)
      outs(%e, %f : tensor<256x64xf8E4M3FN>, tensor<256x2xf8E8M0FNU>) -> tensor<256x64xf8E4M3FN>, tensor<256x2xf8E8M0FNU>
  return %q#0 : tensor<256x64xf8E4M3FN>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [128, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// Columns of a tile would lie in several places.
func.func @concat(%x: tensor<256x64xbf16>, %e: tensor<256x128xf8E4M3FN>, %f: tensor<256x4xf8E8M0FNU>)
    -> tensor<256x128xf8E4M3FN> {
  // expected-error @below {{expected no tiling of columns: values lie side by side}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %q:2 = mx.quantize ins(%x : tensor<256x64xbf16>)
      outs(%e, %f : tensor<256x128xf8E4M3FN>, tensor<256x4xf8E8M0FNU>) concat
      -> tensor<256x128xf8E4M3FN>, tensor<256x4xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %row: index, %column: index):
    mx.yield %a, %a : bf16, bf16
  }
  return %q#0 : tensor<256x128xf8E4M3FN>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// A tile has a maximum of its own.
func.func @amax(%x: tensor<256x64xbf16>, %e: tensor<256x64xf8E4M3FN>, %f: tensor<256x2xf8E8M0FNU>, %m: tensor<f32>)
    -> tensor<256x64xf8E4M3FN> {
  // expected-error @below {{expected no tiling of rows: the maximum is that of the whole input}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %q:3 = mx.quantize ins(%x : tensor<256x64xbf16>)
      outs(%e, %f, %m : tensor<256x64xf8E4M3FN>, tensor<256x2xf8E8M0FNU>, tensor<f32>) amax
      -> tensor<256x64xf8E4M3FN>, tensor<256x2xf8E8M0FNU>, tensor<f32>
  return %q#0 : tensor<256x64xf8E4M3FN>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [128, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// The quantizer writes whole tiles of scales.
func.func @quantize_rows(%x: tensor<300x64xbf16>, %e: tensor<300x64xf8E4M3FN>, %f: tensor<3x1x32x4x4xf8E8M0FNU>)
    -> tensor<300x64xf8E4M3FN> {
  // expected-error @below {{expected tiles of rows in multiples of 128, found 100}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %q, %s = mx.quantize ins(%x : tensor<300x64xbf16>)
      outs(%e, %f : tensor<300x64xf8E4M3FN>, tensor<3x1x32x4x4xf8E8M0FNU>)
      -> tensor<300x64xf8E4M3FN>, tensor<3x1x32x4x4xf8E8M0FNU>
  return %q : tensor<300x64xf8E4M3FN>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [100]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// Squares are not cut.
func.func @squares(%x: tensor<64x64xbf16>, %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>)
    -> tensor<64x64xf8E4M3FN> {
  // expected-error @below {{expected tiles of rows in multiples of 32, found 16}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %r:2 = mx.quantize ins(%x : tensor<64x64xbf16>) outs(%e, %f : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) square
      -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %r#0 : tensor<64x64xf8E4M3FN>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// A tile of an input's scales has 128 rows.
func.func @input_scales(%x: tensor<256x64xf8E4M3FN>, %s: tensor<2x1x32x4x4xf8E8M0FNU>, %e: tensor<256x64xi8>,
                        %f: tensor<256x2xf8E8M0FNU>) -> (tensor<256x64xi8>, tensor<256x2xf8E8M0FNU>) {
  // expected-error @below {{expected tiles of rows in multiples of 128, found 64}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %r:2 = mx.quantize ins(%x : tensor<256x64xf8E4M3FN>) input_scales(%s : tensor<2x1x32x4x4xf8E8M0FNU>)
      outs(%e, %f : tensor<256x64xi8>, tensor<256x2xf8E8M0FNU>) -> tensor<256x64xi8>, tensor<256x2xf8E8M0FNU> prologue {
      ^bb0(%a: f32, %row: index, %col: index):
        mx.yield %a : f32
      }
  return %r#0, %r#1 : tensor<256x64xi8>, tensor<256x2xf8E8M0FNU>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
