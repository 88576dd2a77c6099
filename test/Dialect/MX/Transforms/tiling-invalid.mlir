// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --transform-interpreter --split-input-file -verify-diagnostics

// TEMPLATE matmul
// SET scales = tensor<256x16xf8E8M0FNU>
// SET out = tensor<256x96xf32>
// SET options = ) -> tensor<256x96xf32>
// SET sizes = 0, 0, 128
func.func @f(%a: tensor<256x512xf8E4M3FN>, %sa: ${scales}, %b: tensor<96x512xf8E4M3FN>,
    %sb: tensor<96x16xf8E8M0FNU>, %init: ${out}) -> ${out} {
  // BLOCK error
  // END
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, ${scales},
                     tensor<96x512xf8E4M3FN>, tensor<96x16xf8E8M0FNU>)
      outs(%init : ${out}${options}
      // BLOCK epilogue
      // END
  return %c : ${out}
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [${sizes}]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// CASES matmul error
// With materialized scales, a tile of M must not cut a scale tile.
// SET scales = tensor<2x4x32x4x4xf8E8M0FNU>
// SET sizes = 64, 0, 0
// expected-error @below {{expected tiles of M in multiples of 128, found 64}}

// With materialized scales, a tile of K must not cut a scale tile.
// SET scales = tensor<2x4x32x4x4xf8E8M0FNU>
// SET options = ) accumulate -> tensor<256x96xf32>
// SET sizes = 0, 0, 64
// expected-error @below {{expected tiles of K in multiples of 128, found 64}}

// With linear scales, a tile of K must not cut a block.
// SET options = ) accumulate -> tensor<256x96xf32>
// SET sizes = 0, 0, 16
// expected-error @below {{expected tiles of K in multiples of 32, found 16}}

// Each tile would overwrite the result of the previous tile.
// expected-error @below {{expected no tiling of K: only a matmul with accumulate adds to its result}}

// Each tile would round its partial sum.
// SET out = tensor<256x96xbf16>
// SET options = ) accumulate -> tensor<256x96xbf16>
// expected-error @below {{expected no tiling of K: partial sums need outs of type f32}}

// The epilogue would be applied to a partial sum.
// SET options = ) accumulate -> tensor<256x96xf32> epilogue {
// expected-error @below {{expected no tiling of K: the epilogue requires the complete sum}}
// BLOCK epilogue
^bb0(%acc: f32, %row: index, %col: index):
  mx.yield %acc : f32
}

// Slices of an encoded tensor are not defined.
// SET scales = tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// SET sizes = 128, 0, 0
// expected-error @below {{expected linear or materialized layouts to tile, found 'tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>'}}

// -----

// TEMPLATE tile
// SET name = quantize
// SET sizes = 128, 0
// BLOCK function
// END
  // BLOCK error
  // END
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  // BLOCK op
  // END
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["mx.${name}"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [${sizes}]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// CASES tile function
// Tiles of packed weights must contain whole 64-row blocks.
// SET name = pack_operand
// SET sizes = 32
func.func @f(%w: tensor<192x96xf8E4M3FN>, %init: tensor<3x2x128x32xf8E4M3FN>) -> tensor<3x2x128x32xf8E4M3FN> {
// BLOCK error
// expected-error @below {{'mx.pack_operand' op expected tiles of rows in multiples of 64, found 32}}
// BLOCK op
%0 = mx.pack_operand order = #mxgpu.fragment_64x64 ins(%w : tensor<192x96xf8E4M3FN>) outs(%init : tensor<3x2x128x32xf8E4M3FN>)
    -> tensor<3x2x128x32xf8E4M3FN>
return %0 : tensor<3x2x128x32xf8E4M3FN>

// The offsets of expert groups would be wrong for a tile.
// SET name = grouped_matmul
// SET sizes = 128, 0, 0
func.func @f(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>,
// BLOCK error
  %sb: tensor<4x48x2xf8E8M0FNU>, %o: tensor<4xi32>, %init: tensor<300x48xbf16>) -> tensor<300x48xbf16> {
// expected-error @below {{expected no tiling of M: the expert groups of a ragged operation divide it}}
// BLOCK op
%c = mx.grouped_matmul ragged = rows
    ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>,
        tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
    outs(%init : tensor<300x48xbf16>) -> tensor<300x48xbf16>
return %c : tensor<300x48xbf16>

// Random numbers depend on the position in the whole tensor.
func.func @f(%x: tensor<256x64xbf16>, %seed: i64, %e: tensor<256x64xf8E4M3FN>, %f: tensor<256x2xf8E8M0FNU>)
// BLOCK error
  -> tensor<256x64xf8E4M3FN> {
// expected-error @below {{expected no tiling of rows: the random numbers of a seed depend on positions in the whole input}}
// BLOCK op
%q:2 = mx.quantize ins(%x : tensor<256x64xbf16>) seed(%seed)
    outs(%e, %f : tensor<256x64xf8E4M3FN>, tensor<256x2xf8E8M0FNU>) -> tensor<256x64xf8E4M3FN>, tensor<256x2xf8E8M0FNU>
return %q#0 : tensor<256x64xf8E4M3FN>

// A tile would have its own maximum.
// SET name = amax
func.func @f(%x: tensor<256x64xbf16>, %m: tensor<f32>)
// BLOCK error
  -> tensor<f32> {
// expected-error @below {{expected no tiling of batch: the maximum covers the whole input}}
// BLOCK op
%q = mx.amax ins(%x : tensor<256x64xbf16>) outs(%m : tensor<f32>) -> tensor<f32>
return %q : tensor<f32>

// The quantizer must write whole scale tiles.
// SET sizes = 100
func.func @f(%x: tensor<300x64xbf16>, %e: tensor<300x64xf8E4M3FN>, %f: tensor<3x1x32x4x4xf8E8M0FNU>)
// BLOCK error
  -> tensor<300x64xf8E4M3FN> {
// expected-error @below {{expected tiles of rows in multiples of 128, found 100}}
// BLOCK op
%q, %s = mx.quantize ins(%x : tensor<300x64xbf16>)
    outs(%e, %f : tensor<300x64xf8E4M3FN>, tensor<3x1x32x4x4xf8E8M0FNU>)
    -> tensor<300x64xf8E4M3FN>, tensor<3x1x32x4x4xf8E8M0FNU>
return %q : tensor<300x64xf8E4M3FN>

// A tile must not cut a square block.
// SET sizes = 16
func.func @f(%x: tensor<64x64xbf16>, %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>)
// BLOCK error
  -> tensor<64x64xf8E4M3FN> {
// expected-error @below {{expected tiles of rows in multiples of 32, found 16}}
// BLOCK op
%r:2 = mx.quantize ins(%x : tensor<64x64xbf16>) outs(%e, %f : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) square
    -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
return %r#0 : tensor<64x64xf8E4M3FN>