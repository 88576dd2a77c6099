// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Each function violates one constraint of docs/reference/Spec.md and is named after this constraint.

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
// SET function = @quantize_input_type(%x: tensor<256x512xf64>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.quantize' op operand #0 must be ranked tensor or memref of f32, bf16 or f16, but got 'tensor<256x512xf64>'}}
%r:2 = mx.quantize ins(%x : tensor<256x512xf64>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_offsets_type(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %g: tensor<4xi8>)
// expected-error @below {{'mx.quantize' op operand #1 must be rank-1 tensor or memref of i32 or i64, but got 'tensor<4xi8>'}}
%r:2 = mx.quantize ragged = rows ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi8>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_result_type(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.quantize' op expected type of operand #1 ('tensor<256x512xf8E4M3FN>') to match type of corresponding result ('tensor<256x512xf8E5M2>')}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E5M2>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c1(%x: memref<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.quantize' op expected all tensors or all memrefs, found 'memref<256x512xbf16>' and 'tensor<256x512xf8E4M3FN>'}}
%r:2 = mx.quantize ins(%x : memref<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c1_size(%x: tensor<1099511627808x512xbf16>, %o0: tensor<1099511627808x512xf8E4M3FN>, %o1: tensor<1099511627808x16xf8E8M0FNU>)
// expected-error @below {{'mx.quantize' op expected dimensions of at most 2^40, found 1099511627808}}
%r:2 = mx.quantize ins(%x : tensor<1099511627808x512xbf16>) outs(%o0, %o1 : tensor<1099511627808x512xf8E4M3FN>, tensor<1099511627808x16xf8E8M0FNU>) -> tensor<1099511627808x512xf8E4M3FN>, tensor<1099511627808x16xf8E8M0FNU>

// SET function = @quantize_c2(%x: tensor<512xbf16>, %o0: tensor<512xf8E4M3FN>, %o1: tensor<16xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.quantize' op expected input of rank 2 or more, found rank 1}}
%r:2 = mx.quantize ins(%x : tensor<512xbf16>) outs(%o0, %o1 : tensor<512xf8E4M3FN>, tensor<16xf8E8M0FNU>) -> tensor<512xf8E4M3FN>, tensor<16xf8E8M0FNU>

// SET function = @quantize_c3(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.quantize' op expected axes to be 0, 1 or both, found [2]}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) axes = [2] -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c3_negative(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.quantize' op expected axes to be 0, 1 or both, found [-1]}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) axes = [-1] -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c3_twice(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.quantize' op expected axes to be 0, 1 or both, found [1, 1]}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) axes = [1, 1] -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c3_empty(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.quantize' op expected axes to be 0, 1 or both, found []}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) axes = [] -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c4(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>)
// expected-error @below {{'mx.quantize' op expected elements and scales in outs for each of 1 axes, found 1 outs}}
%r:1 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0 : tensor<256x512xf8E4M3FN>) -> tensor<256x512xf8E4M3FN>

// SET function = @quantize_c4_axes(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.quantize' op expected elements and scales in outs for each of 2 axes, found 2 outs}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) axes = [1, 0] -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c5(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-note @above {{elements is defined here}}
// expected-error @below {{'mx.quantize' op expected elements of type f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8, found 'f8E4M3'}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c5_unsigned(%x: tensor<256x512xbf16>, %o0: tensor<256x512xui8>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-note @above {{elements is defined here}}
// expected-error @below {{'mx.quantize' op expected elements of type f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8, found 'ui8'}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xui8>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xui8>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c6(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf16>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.quantize' op expected scales of type f8E8M0FNU, f8E4M3FN or f32, found 'f16'}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf16>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf16>

// SET function = @fused_quantize_c2(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x32xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected block_size 32 with scales of type 'f8E8M0FNU', found 16}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x32xf8E8M0FNU>) block_size = 16 -> tensor<256x512xf8E4M3FN>, tensor<256x32xf8E8M0FNU>

// SET function = @fused_quantize_c2_negative(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{expected a block size such as 128, row or 128x128}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) block_size = -32 -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @fused_quantize_c2_zero(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected block_size 32 with scales of type 'f8E8M0FNU', found 0}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) block_size = 0 -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @fused_quantize_c2_nvfp4(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf4E2M1FN>, %o1: tensor<256x16xf8E4M3FN>, %s: f32)
// expected-error @below {{'mx.fused_quantize' op expected block_size 16 with scales of type 'f8E4M3FN', found 32}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) global_scale(%s) outs(%o0, %o1 : tensor<256x512xf4E2M1FN>, tensor<256x16xf8E4M3FN>) -> tensor<256x512xf4E2M1FN>, tensor<256x16xf8E4M3FN>

// SET function = @quantize_c7_elements(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x32xf8E4M3FN>, %s: f32)
// expected-note @above {{elements is defined here}}
// expected-error @below {{'mx.quantize' op expected elements of type f4E2M1FN with scales of type 'f8E4M3FN', found 'f8E4M3FN'}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) global_scale(%s) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x32xf8E4M3FN>) -> tensor<256x512xf8E4M3FN>, tensor<256x32xf8E4M3FN>

// SET function = @quantize_c7_scales(%x: tensor<64x64xbf16>, %o0: tensor<64x64xf4E2M1FN>, %o1: tensor<64x2xf8E8M0FNU>, %o2: tensor<64x64xf4E2M1FN>, %o3: tensor<64x4xf8E4M3FN>)
// expected-error @below {{'mx.quantize' op expected scales of one type for both axes, found 'f8E8M0FNU' and 'f8E4M3FN'}}
%r:4 = mx.quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1, %o2, %o3 : tensor<64x64xf4E2M1FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>) axes = [1, 0] -> tensor<64x64xf4E2M1FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>

// SET function = @quantize_c7_square(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<2x4xf32>)
// expected-error @below {{'mx.quantize' op expected no attribute 'square' with scales of type 'f32', which apply to 128 x 128 elements}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<2x4xf32>) block_size = 128x128 square -> tensor<256x512xf8E4M3FN>, tensor<2x4xf32>

// SET function = @quantize_c8(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf4E2M1FN>, %o1: tensor<256x32xf8E4M3FN>)
// expected-error @below {{'mx.quantize' op expected a global_scale with scales of type 'f8E4M3FN', found none}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>) -> tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>

// SET function = @quantize_c8_superfluous(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %s: f32)
// expected-error @below {{'mx.quantize' op expected no global_scale with scales of type 'f8E8M0FNU', found a global_scale}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) global_scale(%s) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c9(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf4E2M1FN>, %o1: tensor<256x32xf8E4M3FN>, %s: f32)
// expected-error @below {{'mx.quantize' op expected scale_rounding = ceil with 'f8E4M3FN' scales, found floor}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) global_scale(%s) outs(%o0, %o1 : tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>) scale_rounding = floor -> tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>

// SET function = @quantize_c9_f32(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<2x4xf32>)
// expected-error @below {{'mx.quantize' op expected scale_rounding = ceil or exact with 'f32' scales, found floor}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<2x4xf32>) block_size = 128x128 scale_rounding = floor -> tensor<256x512xf8E4M3FN>, tensor<2x4xf32>

// SET function = @quantize_c9_exact(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.quantize' op expected scale_rounding = ceil, floor, even or fit with 'f8E8M0FNU' scales, found exact}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) scale_rounding = exact -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c10(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.quantize' op expected 'ragged' and 'offsets' together, found only ragged}}
%r:2 = mx.quantize ragged = rows ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c10_offsets(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %g: tensor<4xi32>)
// expected-error @below {{'mx.quantize' op expected 'ragged' and 'offsets' together, found only offsets}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c10_none(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %g: tensor<4xi32>)
// expected-error @below {{'mx.quantize' op expected ragged = rows or reduction, found none}}
%r:2 = mx.quantize ragged = none ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c10_groups(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %g: tensor<0xi32>)
// expected-error @below {{'mx.quantize' op expected at least 1 expert group, found 0}}
%r:2 = mx.quantize ragged = rows ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<0xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c11(%x: tensor<2x256x512xbf16>, %o0: tensor<2x256x512xf8E4M3FN>, %o1: tensor<2x256x16xf8E8M0FNU>, %g: tensor<4xi32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.quantize' op expected input of rank 2, found rank 3}}
%r:2 = mx.quantize ragged = rows ins(%x : tensor<2x256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<2x256x512xf8E4M3FN>, tensor<2x256x16xf8E8M0FNU>) -> tensor<2x256x512xf8E4M3FN>, tensor<2x256x16xf8E8M0FNU>

// SET function = @quantize_c12(%x: tensor<256x500xbf16>, %o0: tensor<256x500xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.quantize' op expected dimension 1 of input to be a multiple of 32, found 500}}
%r:2 = mx.quantize ins(%x : tensor<256x500xbf16>) outs(%o0, %o1 : tensor<256x500xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x500xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c12_axis0(%x: tensor<100x64xbf16>, %o0: tensor<64x100xf8E4M3FN>, %o1: tensor<64x4xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.quantize' op expected dimension 0 of input to be a multiple of 32, found 100}}
%r:2 = mx.quantize ins(%x : tensor<100x64xbf16>) outs(%o0, %o1 : tensor<64x100xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) axes = [0] -> tensor<64x100xf8E4M3FN>, tensor<64x4xf8E8M0FNU>

// SET function = @quantize_c13(%x: tensor<256x512xbf16>, %o0: tensor<512x256xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-note @above {{elements is defined here}}
// expected-error @below {{'mx.quantize' op expected dimension 0 of elements to be 256, found 512}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<512x256xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<512x256xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c13_rank(%x: tensor<256x512xbf16>, %o0: tensor<131072xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-note @above {{elements is defined here}}
// expected-error @below {{'mx.quantize' op expected elements of rank 2, found rank 1}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<131072xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<131072xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c13_axis0(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-note @above {{elements is defined here}}
// expected-error @below {{'mx.quantize' op expected dimension 0 of elements to be 512, found 256}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) axes = [0] -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c13_capacity(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %g: tensor<4xi32>)
// expected-note @above {{elements is defined here}}
// expected-error @below {{'mx.quantize' op expected dimension 1 of elements to be 1024, found 512}}
%r:2 = mx.quantize ragged = reduction ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c14(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x15xf8E8M0FNU>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.quantize' op expected dimension 1 of scales to be 16, found 15}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x15xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x15xf8E8M0FNU>

// SET function = @quantize_c14_rank(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<2x4x32x16xf8E8M0FNU>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.quantize' op expected scales of rank 2, found rank 4}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<2x4x32x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<2x4x32x16xf8E8M0FNU>

// SET function = @quantize_c14_tiles(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<2x4x32x16x1xf8E8M0FNU>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.quantize' op expected dimension 3 of scales to be 4, found 16}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<2x4x32x16x1xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<2x4x32x16x1xf8E8M0FNU>

// SET function = @quantize_c14_ragged(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<2x4x32x4x4xf8E8M0FNU>, %g: tensor<4xi32>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.quantize' op expected dimension 0 of scales to be 6, found 2}}
%r:2 = mx.quantize ragged = rows ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<2x4x32x4x4xf8E8M0FNU>

// SET function = @quantize_c15(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.quantize' op expected scales with ragged = none, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>

// SET function = @quantize_c15_missing(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %g: tensor<4xi32>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.quantize' op expected scales with ragged = rows, found #mx.scale_layout<sf_128x4>}}
%r:2 = mx.quantize ragged = rows ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

// SET function = @quantize_c15_groups(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>, %g: tensor<4xi32>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.quantize' op expected scales in 4 expert groups, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>}}
%r:2 = mx.quantize ragged = rows ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>

// SET function = @quantize_c15_materialized(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<2x4x32x4x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.quantize' op expected scales without encoding, found #mx.scale_layout<sf_128x4>}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<2x4x32x4x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<256x512xf8E4M3FN>, tensor<2x4x32x4x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

// SET function = @quantize_c15_other(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU, "row major">)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.quantize' op expected scales with a #mx.scale_layout encoding, found "row major"}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, "row major">) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, "row major">

// SET function = @quantize_c16(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-note @above {{elements is defined here}}
// expected-error @below {{'mx.quantize' op expected elements without encoding, found #mx.ragged<groups = 4, align = 128>}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c16_groups(%x: tensor<256x4xbf16>, %o0: tensor<256x512xf8E4M3FN, #mx.ragged<groups = 3, align = 128>>, %o1: tensor<256x16xf8E8M0FNU>, %g: tensor<4xi32>)
// expected-note @above {{elements is defined here}}
// expected-error @below {{'mx.quantize' op expected elements in 4 expert groups, found #mx.ragged<groups = 3, align = 128>}}
%r:2 = mx.quantize ragged = reduction ins(%x : tensor<256x4xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN, #mx.ragged<groups = 3, align = 128>>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN, #mx.ragged<groups = 3, align = 128>>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c17(%x: tensor<256x512xbf16, "sparse">, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.quantize' op expected input without encoding, found "sparse"}}
%r:2 = mx.quantize ins(%x : tensor<256x512xbf16, "sparse">) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @fused_quantize_c7(%x: tensor<2x64x64xbf16>, %i: tensor<96xi32>, %o0: tensor<2x64x64xf8E4M3FN>, %o1: tensor<2x64x2xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.fused_quantize' op expected input of rank 2, found rank 3}}
%r:2 = mx.fused_quantize ins(%x : tensor<2x64x64xbf16>) gather(%i : tensor<96xi32>) outs(%o0, %o1 : tensor<2x64x64xf8E4M3FN>, tensor<2x64x2xf8E8M0FNU>) -> tensor<2x64x64xf8E4M3FN>, tensor<2x64x2xf8E8M0FNU>

// SET function = @quantize_c18(%x: tensor<300x64xbf16>, %g: tensor<4xi32>, %o0: tensor<300x64xf8E4M3FN>, %o1: tensor<6x1x32x4x4xf8E8M0FNU>)
// expected-error @below {{'mx.quantize' op expected no expert groups with 'square', found ragged = rows}}
%r:2 = mx.quantize ragged = rows ins(%x : tensor<300x64xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>) square -> tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>

// SET function = @fused_quantize_c8(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %o2: tensor<1xf32>)
// expected-note @above {{amax is defined here}}
// expected-error @below {{'mx.fused_quantize' op expected amax of rank 0 and type f32, found 'tensor<1xf32>'}}
%r:3 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1, %o2 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<1xf32>) amax -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<1xf32>

// SET function = @fused_quantize_c8_type(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %o2: tensor<bf16>)
// expected-note @above {{amax is defined here}}
// expected-error @below {{'mx.fused_quantize' op expected amax of rank 0 and type f32, found 'tensor<bf16>'}}
%r:3 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1, %o2 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<bf16>) amax -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<bf16>

// SET function = @fused_quantize_c1_amax(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected elements and scales in outs for each of 1 axes, and an amax for each value, found 2 outs}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) amax -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @quantize_c4_no_amax(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %o2: tensor<f32>)
// expected-error @below {{'mx.quantize' op expected elements and scales in outs for each of 1 axes, found 3 outs}}
%r:3 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1, %o2 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<f32>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<f32>

// SET function = @quantize_c13_gather(%x: tensor<64x64xbf16>, %i: tensor<96xi32>, %o0: tensor<64x64xf8E4M3FN>, %o1: tensor<96x2xf8E8M0FNU>)
// expected-note @above {{elements is defined here}}
// expected-error @below {{'mx.fused_quantize' op expected dimension 0 of elements to be 96, found 64}}
%r:2 = mx.fused_quantize ins(%x : tensor<64x64xbf16>) gather(%i : tensor<96xi32>) outs(%o0, %o1 : tensor<64x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>) -> tensor<64x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>

// SET function = @quantize_c12_gather(%x: tensor<64x64xbf16>, %i: tensor<100xi32>, %o0: tensor<64x100xf8E4M3FN>, %o1: tensor<64x4xf8E8M0FNU>)
// expected-note @above {{gather is defined here}}
// expected-error @below {{'mx.fused_quantize' op expected dimension 0 of gather to be a multiple of 32, found 100; the nearest are 96 and 128}}
%r:2 = mx.fused_quantize ins(%x : tensor<64x64xbf16>) gather(%i : tensor<100xi32>) outs(%o0, %o1 : tensor<64x100xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) axes = [0] -> tensor<64x100xf8E4M3FN>, tensor<64x4xf8E8M0FNU>

// SET function = @fused_quantize_c3(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected 1 input without a prologue, found 2}}
%r:2 = mx.fused_quantize ins(%x, %y : tensor<256x512xbf16>, tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @fused_quantize_c4(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected prologue arguments ('bf16', 'index', 'index'), found ('f32', 'index', 'index')}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
^bb0(%a: f32, %i: index, %j: index):
  mx.yield %a : f32
}

// SET function = @fused_quantize_c4_count(%x: tensor<256x512xbf16>, %y: tensor<256x512xf32>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected prologue arguments ('bf16', 'f32', 'index', 'index'), found ('bf16', 'f32', 'index')}}
%r:2 = mx.fused_quantize ins(%x, %y : tensor<256x512xbf16>, tensor<256x512xf32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
^bb0(%a: bf16, %b: f32, %i: index):
  mx.yield %a : bf16
}

// SET function = @fused_quantize_c5(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected the prologue to yield f32, bf16 or f16, found ('f64')}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
^bb0(%a: bf16, %i: index, %j: index):
  %b = arith.extf %a : bf16 to f64
  mx.yield %b : f64
}

// SET function = @fused_quantize_c5_none(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected the prologue to yield f32, bf16 or f16, found ()}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
^bb0(%a: bf16, %i: index, %j: index):
  mx.yield
}

// SET function = @fused_quantize_c5_terminator(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected the prologue to end with 'mx.yield'}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
^bb0(%a: bf16, %i: index, %j: index):
  %b = arith.negf %a : bf16
}

// SET function = @fused_quantize_c1_values(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected elements and scales in outs for each of 2 values and 1 axes, found 2 outs}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
^bb0(%a: bf16, %i: index, %j: index):
  mx.yield %a, %a : bf16, bf16
}

// SET function = @fused_quantize_c6(%x: tensor<8x32xbf16>, %o0: tensor<8x32xf4E2M1FN>, %o1: tensor<8x2xf8E4M3FN>, %g: f32)
// expected-error @below {{'mx.fused_quantize' op expected the prologue to yield 1 value with global_scale, found 2}}
%r:4 = mx.fused_quantize ins(%x : tensor<8x32xbf16>) global_scale(%g) outs(%o0, %o1, %o0, %o1 : tensor<8x32xf4E2M1FN>, tensor<8x2xf8E4M3FN>, tensor<8x32xf4E2M1FN>, tensor<8x2xf8E4M3FN>) block_size = 16 -> tensor<8x32xf4E2M1FN>, tensor<8x2xf8E4M3FN>, tensor<8x32xf4E2M1FN>, tensor<8x2xf8E4M3FN> prologue {
^bb0(%a: bf16, %i: index, %j: index):
  mx.yield %a, %a : bf16, bf16
}

// SET function = @fused_quantize_c3_shape(%x: tensor<256x512xbf16>, %y: tensor<128x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.fused_quantize' op expected dimension 0 of input to be 256, found 128}}
%r:2 = mx.fused_quantize ins(%x, %y : tensor<256x512xbf16>, tensor<128x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
^bb0(%a: bf16, %b: bf16, %i: index, %j: index):
  mx.yield %a : bf16
}

// SET function = @fused_quantize_c9(%x: tensor<256x512xf8E4M3FN>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected 1 input_scales, one for each quantized input, found 0}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xf8E4M3FN>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
^bb0(%a: bf16, %i: index, %j: index):
  %z = arith.constant 0.0 : f32
  mx.yield %z : f32
}

// SET function = @fused_quantize_c9_numbers(%x: tensor<256x512xbf16>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected 0 input_scales, one for each quantized input, found 1}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) input_scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
^bb0(%a: bf16, %i: index, %j: index):
  %z = arith.constant 0.0 : f32
  mx.yield %z : f32
}

// SET function = @fused_quantize_c10(%x: tensor<256x512xf4E2M1FN>, %s: tensor<256x32xf8E4M3FN>, %o0: tensor<512x256xf8E4M3FN>, %o1: tensor<512x8xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected a prologue with input_scales of type f8E4M3FN, found none}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xf4E2M1FN>) input_scales(%s : tensor<256x32xf8E4M3FN>) outs(%o0, %o1 : tensor<512x256xf8E4M3FN>, tensor<512x8xf8E8M0FNU>) axes = [0] -> tensor<512x256xf8E4M3FN>, tensor<512x8xf8E8M0FNU>

// SET function = @fused_quantize_c25(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xf8E5M2>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected the input's element type 'f8E4M3FN' and block_size 32 along axis 1 without a prologue, found 'f8E5M2' and 32: add a prologue that yields its argument to requantize}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E5M2>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E5M2>, tensor<256x16xf8E8M0FNU>

// SET function = @fused_quantize_c25_wide(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x4xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected the input's element type 'f8E4M3FN' and block_size 128 along axis 1 without a prologue, found 'f8E4M3FN' and 32: add a prologue that yields its argument to requantize}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x4xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @fused_quantize_c25_scales(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x4xf32>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x4xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected the input's scale type 'f32' along axis 1 without a prologue, found 'f8E8M0FNU': add a prologue that yields its argument to requantize}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x4xf32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x4xf8E8M0FNU>) block_size = 128 -> tensor<256x512xf8E4M3FN>, tensor<256x4xf8E8M0FNU>

// SET function = @fused_quantize_c25_dequantized(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %y: tensor<256x512xbf16>)
// expected-error @below {{'mx.fused_quantize' op expected the input's element type 'f8E4M3FN' and block_size 32 along axis 1 without a prologue, found 'f6E2M3FN' and 32: add a prologue that yields its argument to requantize}}
%r = mx.fused_quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) outs(%y : tensor<256x512xbf16>) dequantized = [f6E2M3FN] -> tensor<256x512xbf16>

// SET function = @fused_quantize_c25_block(%x: tensor<256x512xf4E2M1FN>, %s: tensor<256x16xf8E8M0FNU>, %g: f32, %o0: tensor<256x512xf4E2M1FN>, %o1: tensor<256x32xf8E4M3FN>)
// expected-error @below {{'mx.fused_quantize' op expected the input's element type 'f4E2M1FN' and block_size 32 along axis 1 without a prologue, found 'f4E2M1FN' and 16: add a prologue that yields its argument to requantize}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xf4E2M1FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) global_scale(%g) outs(%o0, %o1 : tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>) block_size = 16 -> tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>

// SET function = @fused_quantize_c26(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected no attribute 'square' along axis 1 with input_scales and without a prologue}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) square -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>

// SET function = @fused_quantize_c27(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %o2: tensor<256x16xi8>)
// expected-error @below {{'mx.fused_quantize' op expected block_size 128, 256, 512 or row with 'spreads', found 32}}
%r:3 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1, %o2 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<256x16xi8>) spreads -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<256x16xi8>

// SET function = @fused_quantize_c28(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x4xf8E8M0FNU>, %o2: tensor<256x4xi8>)
// expected-error @below {{'mx.fused_quantize' op expected no attribute 'square' with 'spreads'}}
%r:3 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1, %o2 : tensor<256x512xf8E4M3FN>, tensor<256x4xf8E8M0FNU>, tensor<256x4xi8>) block_size = 128 spreads square -> tensor<256x512xf8E4M3FN>, tensor<256x4xf8E8M0FNU>, tensor<256x4xi8>

// SET function = @fused_quantize_c29(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x4xf8E8M0FNU>)
// expected-note @above {{spreads is defined here}}
// expected-error @below {{'mx.fused_quantize' op expected spreads of type i8, found 'f8E8M0FNU'}}
%r:3 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x4xf8E8M0FNU>, tensor<256x4xf8E8M0FNU>) block_size = 128 spreads -> tensor<256x512xf8E4M3FN>, tensor<256x4xf8E8M0FNU>, tensor<256x4xf8E8M0FNU>

// SET function = @fused_quantize_c29_shape(%x: tensor<256x512xbf16>, %o0: tensor<512x256xf8E4M3FN>, %o1: tensor<512x2xf8E8M0FNU>, %o2: tensor<256x2xi8>)
// expected-note @above {{spreads is defined here}}
// expected-error @below {{'mx.fused_quantize' op expected dimension 0 of spreads to be 2, found 256}}
%r:3 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1, %o2 : tensor<512x256xf8E4M3FN>, tensor<512x2xf8E8M0FNU>, tensor<256x2xi8>) axes = [0] block_size = 128 spreads -> tensor<512x256xf8E4M3FN>, tensor<512x2xf8E8M0FNU>, tensor<256x2xi8>

// SET function = @fused_quantize_c1_spreads(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x1xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected elements, scales and spreads in outs for each of 1 axes, found 2 outs}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x1xf8E8M0FNU>) block_size = row spreads -> tensor<256x512xf8E4M3FN>, tensor<256x1xf8E8M0FNU>

// SET function = @fused_quantize_c28_dequantized(%x: tensor<256x512xbf16>, %o0: tensor<256x512xbf16>, %o1: tensor<512x256xf8E4M3FN>, %o2: tensor<512x2xf8E8M0FNU>, %o3: tensor<2x512xi8>)
// expected-error @below {{'mx.fused_quantize' op expected no attribute 'dequantized' with 'spreads'}}
%r:4 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1, %o2, %o3 : tensor<256x512xbf16>, tensor<512x256xf8E4M3FN>, tensor<512x2xf8E8M0FNU>, tensor<2x512xi8>) axes = [1, 0] block_size = 128 spreads dequantized = [f8E4M3FN, none] -> tensor<256x512xbf16>, tensor<512x256xf8E4M3FN>, tensor<512x2xf8E8M0FNU>, tensor<2x512xi8>

// SET function = @fused_quantize_c11(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o: tensor<2xi32>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected ragged = rows or no expert groups with input_scales, found ragged = reduction}}
%r:2 = mx.fused_quantize ragged = reduction ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) offsets(%o : tensor<2xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
^bb0(%a: bf16, %i: index, %j: index):
  %z = arith.constant 0.0 : f32
  mx.yield %z : f32
}

// -----

// CASES
func.func @fused_quantize_c12(%s: tensor<256x32xf8E4M3FN>,
// expected-note @below {{input is defined here}}
    %x: tensor<256x512xf8E4M3FN>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.fused_quantize' op expected input of type f4E2M1FN with scales of type 'f8E4M3FN', found 'f8E4M3FN'}}
  %r:2 = mx.fused_quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x32xf8E4M3FN>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

func.func @fused_quantize_c13(%x: tensor<256x512xf8E4M3FN>,
// expected-note @below {{input_scales is defined here}}
    %s: tensor<256x32xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.fused_quantize' op expected dimension 1 of input_scales to be 16, found 32}}
  %r:2 = mx.fused_quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x32xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

func.func @fused_quantize_c13_tiles(%x: tensor<256x512xf8E4M3FN>,
// expected-note @below {{input_scales is defined here}}
    %s: tensor<2x16x32x4x4xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.fused_quantize' op expected dimension 1 of input_scales to be 4, found 16}}
  %r:2 = mx.fused_quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<2x16x32x4x4xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

func.func @fused_quantize_c14(%x: tensor<256x512xf8E4M3FN>,
// expected-note @below {{input_scales is defined here}}
    %s: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 2>>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.fused_quantize' op expected input_scales with ragged = none, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 2>}}
  %r:2 = mx.fused_quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 2>>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

// -----

// CASES function body
// SET function = @fused_quantize_c15(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected the prologue argument for a quantized input to be f32, bf16 or f16, found 'f8E4M3FN'}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
^bb0(%a: f8E4M3FN, %i: index, %j: index):
  %z = arith.constant 0.0 : f32
  mx.yield %z : f32
}

// SET function = @fused_quantize_c15_missing(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected prologue arguments ('f32', 'index', 'index'), found ()}}
%r:2 = mx.fused_quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  %z = arith.constant 0.0 : f32
  mx.yield %z : f32
}

// -----

func.func @fused_quantize_c13_multiple(%s: tensor<64x3xf8E8M0FNU>,
// expected-note @below {{input is defined here}}
    %x: tensor<64x112xi8>, %o0: tensor<112x64xf8E4M3FN>, %o1: tensor<112x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.fused_quantize' op expected dimension 1 of input to be a multiple of 32, found 112; the nearest are 96 and 128}}
  %r:2 = mx.fused_quantize ins(%x : tensor<64x112xi8>) input_scales(%s : tensor<64x3xf8E8M0FNU>) outs(%o0, %o1 : tensor<112x64xf8E4M3FN>, tensor<112x2xf8E8M0FNU>) axes = [0] -> tensor<112x64xf8E4M3FN>, tensor<112x2xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    mx.yield %a : bf16
  }
  return
}

// -----

// CASES function body
// SET function = @fused_quantize_c16(%x: tensor<64x64xbf16>, %o0: tensor<64x64xf8E4M3FN>, %o1: tensor<64x2xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected a prologue that yields at least 2 values with 'concat', found none}}
%r:2 = mx.fused_quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) concat -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>

// SET function = @fused_quantize_c16_one(%x: tensor<64x64xbf16>, %o0: tensor<64x64xf8E4M3FN>, %o1: tensor<64x2xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected a prologue that yields at least 2 values with 'concat', found 1}}
%r:2 = mx.fused_quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) concat -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU> prologue {
^bb0(%a: bf16, %i: index, %j: index):
  mx.yield %a : bf16
}

// SET function = @fused_quantize_c17(%x: tensor<64x64xbf16>, %o0: tensor<64x128xf8E4M3FN>, %o1: tensor<64x4xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected the prologue to yield values of one type with 'concat', found ('bf16', 'f32')}}
%r:2 = mx.fused_quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1 : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) concat -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU> prologue {
^bb0(%a: bf16, %i: index, %j: index):
  %b = arith.extf %a : bf16 to f32
  mx.yield %a, %b : bf16, f32
}

// SET function = @fused_quantize_c18(%x: tensor<64x300xbf16>, %o: tensor<4xi32>, %o0: tensor<64x1152xf8E4M3FN>, %o1: tensor<64x36xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected ragged = rows or no expert groups with 'concat', found ragged = reduction}}
%r:2 = mx.fused_quantize ragged = reduction ins(%x : tensor<64x300xbf16>) offsets(%o : tensor<4xi32>) outs(%o0, %o1 : tensor<64x1152xf8E4M3FN>, tensor<64x36xf8E8M0FNU>) concat -> tensor<64x1152xf8E4M3FN>, tensor<64x36xf8E8M0FNU> prologue {
^bb0(%a: bf16, %i: index, %j: index):
  mx.yield %a, %a : bf16, bf16
}

// SET function = @fused_quantize_c19(%x: tensor<64x64xbf16>, %o0: tensor<64x64xbf16>, %o1: tensor<64x64xbf16>)
// expected-error @below {{'mx.fused_quantize' op expected 'dequantized' to have an entry for each of 2 destinations, found 1}}
%r:2 = mx.fused_quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1 : tensor<64x64xbf16>, tensor<64x64xbf16>) axes = [1, 0] dequantized = [f8E4M3FN] -> tensor<64x64xbf16>, tensor<64x64xbf16>

// SET function = @fused_quantize_c20(%x: tensor<64x64xbf16>, %o0: tensor<64x64xbf16>)
// expected-error @below {{'mx.fused_quantize' op expected entries of 'dequantized' to be none, f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8, found 'bf16'}}
%r = mx.fused_quantize ins(%x : tensor<64x64xbf16>) outs(%o0 : tensor<64x64xbf16>) dequantized = [bf16] -> tensor<64x64xbf16>

// Rejects elements and scales for a dequantized destination, which is a single tensor.
// SET function = @fused_quantize_c1_dequantized(%x: tensor<64x64xbf16>, %o0: tensor<64x64xf8E4M3FN>, %o1: tensor<64x2xf8E8M0FNU>)
// expected-error @below {{'mx.fused_quantize' op expected elements and scales in outs for each of 1 axes, or one tensor for each dequantized destination, found 2 outs}}
%r:2 = mx.fused_quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) dequantized = [f8E4M3FN] -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>

// SET function = @fused_quantize_c21(%x: tensor<64x64xbf16>, %o0: tensor<64x64xbf16>, %o1: tensor<64x64xbf16>, %e: f32)
// expected-error @below {{'mx.fused_quantize' op expected decode_factors for each of 2 dequantized destinations, or none, found 1}}
%r:2 = mx.fused_quantize ins(%x : tensor<64x64xbf16>) global_scale(%e) decode_factors(%e) outs(%o0, %o1 : tensor<64x64xbf16>, tensor<64x64xbf16>) axes = [1, 0] block_size = 16 dequantized = [f4E2M1FN, f4E2M1FN] -> tensor<64x64xbf16>, tensor<64x64xbf16>

// SET function = @fused_quantize_c22(%x: tensor<64x64xbf16>, %o0: tensor<64x64xbf16>, %e: f32)
// expected-error @below {{'mx.fused_quantize' op expected a global_scale with decode_factors, found none}}
%r = mx.fused_quantize ins(%x : tensor<64x64xbf16>) decode_factors(%e) outs(%o0 : tensor<64x64xbf16>) dequantized = [f8E4M3FN] -> tensor<64x64xbf16>

// SET function = @fused_quantize_c23(%x: tensor<64x64xbf16>, %o0: tensor<64x64xbf16>, %e: f32)
// expected-error @below {{'mx.fused_quantize' op expected block_size 32, or 16 with f4E2M1FN, to dequantize 'f8E4M3FN', found 16}}
%r = mx.fused_quantize ins(%x : tensor<64x64xbf16>) global_scale(%e) outs(%o0 : tensor<64x64xbf16>) block_size = 16 dequantized = [f8E4M3FN] -> tensor<64x64xbf16>

// SET function = @fused_quantize_c24(%x: tensor<64x64xbf16>, %o0: tensor<64x64xf8E4M3FN>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.fused_quantize' op expected dequantized outs of type f32, bf16 or f16, found 'f8E4M3FN'}}
%r = mx.fused_quantize ins(%x : tensor<64x64xbf16>) outs(%o0 : tensor<64x64xf8E4M3FN>) dequantized = [f8E4M3FN] -> tensor<64x64xf8E4M3FN>

// SET function = @fused_quantize_c24_encoding(%x: tensor<300x64xbf16>, %o: tensor<4xi32>, %o0: tensor<64x896xbf16, #mx.ragged<groups = 4, align = 128>>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.fused_quantize' op expected outs without encoding, found #mx.ragged<groups = 4, align = 128>}}
%r = mx.fused_quantize ragged = rows ins(%x : tensor<300x64xbf16>) offsets(%o : tensor<4xi32>) outs(%o0 : tensor<64x896xbf16, #mx.ragged<groups = 4, align = 128>>) axes = [0] dequantized = [f8E4M3FN] -> tensor<64x896xbf16, #mx.ragged<groups = 4, align = 128>>

// A dequantized destination has no scales, so block size 16 selects NVFP4.
// SET function = @quantize_c8_dequantized(%x: tensor<64x64xbf16>, %o0: tensor<64x64xbf16>)
// expected-error @below {{'mx.fused_quantize' op expected a global_scale with scales of type 'f8E4M3FN', found none}}
%r = mx.fused_quantize ins(%x : tensor<64x64xbf16>) outs(%o0 : tensor<64x64xbf16>) block_size = 16 dequantized = [f4E2M1FN] -> tensor<64x64xbf16>

// SET function = @quantize_c13_concat(%x: tensor<64x64xbf16>, %o0: tensor<64x64xf8E4M3FN>, %o1: tensor<64x4xf8E8M0FNU>)
// expected-note @above {{elements is defined here}}
// Rejects a destination only as wide as one of the two concatenated values.
// expected-error @below {{'mx.fused_quantize' op expected dimension 1 of elements to be 128, found 64}}
%r:2 = mx.fused_quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1 : tensor<64x64xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) concat -> tensor<64x64xf8E4M3FN>, tensor<64x4xf8E8M0FNU> prologue {
^bb0(%a: bf16, %i: index, %j: index):
  mx.yield %a, %a : bf16, bf16
}

// -----

// CASES
// Rejects narrow inputs, because a block would span two inputs.
func.func @quantize_c12_concat(
// expected-note @below {{input is defined here}}
    %x: tensor<64x48xbf16>, %o0: tensor<64x96xf8E4M3FN>, %o1: tensor<64x3xf8E8M0FNU>) {
  // expected-error @below {{'mx.fused_quantize' op expected dimension 1 of input to be a multiple of 32, found 48; the nearest are 32 and 64}}
  %r:2 = mx.fused_quantize ins(%x : tensor<64x48xbf16>) outs(%o0, %o1 : tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>) concat -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    mx.yield %a, %a : bf16, bf16
  }
  return
}

func.func @yield_parent(%x: f32) {
  // expected-error @below {{'mx.yield' op expects parent op to be one of 'mx.matmul, mx.grouped_matmul, mx.fused_quantize'}}
  mx.yield %x : f32
}
