// RUN: mx-opt %s -split-input-file -verify-diagnostics

// One fault per function, named after the constraint of docs/reference/Spec.md that it
// breaks; functions without a number break the declared type of an operand.

// expected-error @below {{expected no groups in a layout that is not ragged, found 3}}
func.func private @scale_layout_c1(tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = none, groups = 3>>)

// -----
// expected-error @below {{expected 1 to 2147483648 groups in a ragged layout, found 0}}
func.func private @scale_layout_c2(tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 0>>)

// -----
// expected-error @below {{expected 1 to 2147483648 groups in a ragged layout, found 2147483649}}
func.func private @scale_layout_c2_large(tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 2147483649>>)

// -----
// expected-error @below {{expected a scale tensor of rank 2 or more, found rank 1}}
func.func private @scale_layout_c3(tensor<128xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)

// -----
// expected-error @below {{expected a ragged scale tensor of rank 2, found rank 3}}
func.func private @scale_layout_c4(tensor<2x128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 2>>)

// -----
// expected-error @below {{expected scales of type f8E8M0FNU or f8E4M3FN, found 'f32'}}
func.func private @scale_layout_c5(tensor<128x4xf32, #mx.scale_layout<sf_128x4>>)

// -----
// expected-error @below {{expected one of [linear, sf_128x4] for physical layout of the scales of a tensor, got: swizzled}}
func.func private @scale_layout_syntax(tensor<128x4xf8E8M0FNU, #mx.scale_layout<swizzled>>)

// -----
// expected-error @below {{expected a tensor of weights of rank 2 or more, found rank 1}}
func.func private @weight_layout_c1(tensor<128xf8E4M3FN, #mx.weight_layout<fragment_64x64>>)

// -----
// expected-error @below {{expected weights of type f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN, found 'i8'}}
func.func private @weight_layout_c2(tensor<128x64xi8, #mx.weight_layout<fragment_64x64>>)

// -----
// expected-error @below {{expected one of [fragment_64x64] for physical layout of a matrix of weights, got: rows}}
func.func private @weight_layout_syntax(tensor<128x64xf8E4M3FN, #mx.weight_layout<rows>>)

// -----
// expected-error @below {{expected 1 to 2147483648 groups, found 0}}
func.func private @ragged_c1(tensor<64x128xf8E4M3FN, #mx.ragged<groups = 0, align = 128>>)

// -----
// expected-error @below {{expected groups aligned to 128, found 64}}
func.func private @ragged_c2(tensor<64x128xf8E4M3FN, #mx.ragged<groups = 2, align = 64>>)

// -----
// expected-error @below {{expected a tensor of rank 2, found rank 1}}
func.func private @ragged_c3(tensor<128xf8E4M3FN, #mx.ragged<groups = 2, align = 128>>)

// -----
func.func @quantize_input_type(%x: tensor<256x512xf64>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op operand #0 must be variadic of ranked tensor or memref of f32, bf16 or f16, or f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8 elements, but got 'tensor<256x512xf64>'}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xf64>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_offsets_type(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %g: tensor<4xi8>) {
  // expected-error @below {{'mx.quantize' op operand #1 must be tensor or memref of rank 1 of i32 or i64, but got 'tensor<4xi8>'}}
  %r:2 = mx.quantize ragged = rows ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi8>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_result_type(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected type of operand #1 ('tensor<256x512xf8E4M3FN>') to match type of corresponding result ('tensor<256x512xf8E5M2>')}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E5M2>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c1(%x: memref<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected all tensors or all memrefs, found 'memref<256x512xbf16>' and 'tensor<256x512xf8E4M3FN>'}}
  %r:2 = mx.quantize ins(%x : memref<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c1_size(%x: tensor<1099511627808x512xbf16>, %o0: tensor<1099511627808x512xf8E4M3FN>, %o1: tensor<1099511627808x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimensions of at most 2^40, found 1099511627808}}
  %r:2 = mx.quantize ins(%x : tensor<1099511627808x512xbf16>) outs(%o0, %o1 : tensor<1099511627808x512xf8E4M3FN>, tensor<1099511627808x16xf8E8M0FNU>) -> tensor<1099511627808x512xf8E4M3FN>, tensor<1099511627808x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @quantize_c2(%x: tensor<512xbf16>, %o0: tensor<512xf8E4M3FN>, %o1: tensor<16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected input of rank 2 or more, found rank 1}}
  %r:2 = mx.quantize ins(%x : tensor<512xbf16>) outs(%o0, %o1 : tensor<512xf8E4M3FN>, tensor<16xf8E8M0FNU>) -> tensor<512xf8E4M3FN>, tensor<16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c3(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected axes to be 0, 1 or both, found [2]}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) axes = [2] -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c3_negative(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected axes to be 0, 1 or both, found [-1]}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) axes = [-1] -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c3_twice(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected axes to be 0, 1 or both, found [1, 1]}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) axes = [1, 1] -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c3_empty(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected axes to be 0, 1 or both, found []}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) axes = [] -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c4(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>) {
  // expected-error @below {{'mx.quantize' op expected elements and scales in outs for each of 1 axes, found 1 outs}}
  %r:1 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0 : tensor<256x512xf8E4M3FN>) -> tensor<256x512xf8E4M3FN>
  return
}

// -----
func.func @quantize_c4_axes(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected elements and scales in outs for each of 2 axes, found 2 outs}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) axes = [1, 0] -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{elements is defined here}}
func.func @quantize_c5(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected elements of type f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8, found 'f8E4M3'}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{elements is defined here}}
func.func @quantize_c5_unsigned(%x: tensor<256x512xbf16>, %o0: tensor<256x512xui8>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected elements of type f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8, found 'ui8'}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xui8>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xui8>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @quantize_c6(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf32>) {
  // expected-error @below {{'mx.quantize' op expected scales of type f8E8M0FNU or f8E4M3FN, found 'f32'}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf32>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf32>
  return
}

// -----
func.func @quantize_c7(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x32xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected block_size 32 with scales of type 'f8E8M0FNU', found 16}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x32xf8E8M0FNU>) block_size = 16 -> tensor<256x512xf8E4M3FN>, tensor<256x32xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c7_negative(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected block_size 32 with scales of type 'f8E8M0FNU', found -32}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) block_size = -32 -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c7_zero(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected block_size 32 with scales of type 'f8E8M0FNU', found 0}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) block_size = 0 -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c7_nvfp4(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf4E2M1FN>, %o1: tensor<256x16xf8E4M3FN>, %s: f32) {
  // expected-error @below {{'mx.quantize' op expected block_size 16 with scales of type 'f8E4M3FN', found 32}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) global_scale(%s) outs(%o0, %o1 : tensor<256x512xf4E2M1FN>, tensor<256x16xf8E4M3FN>) -> tensor<256x512xf4E2M1FN>, tensor<256x16xf8E4M3FN>
  return
}

// -----
// expected-note @below {{elements is defined here}}
func.func @quantize_c7_elements(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x32xf8E4M3FN>, %s: f32) {
  // expected-error @below {{'mx.quantize' op expected elements of type f4E2M1FN with scales of type f8E4M3FN, found 'f8E4M3FN'}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) global_scale(%s) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x32xf8E4M3FN>) block_size = 16 -> tensor<256x512xf8E4M3FN>, tensor<256x32xf8E4M3FN>
  return
}

// -----
func.func @quantize_c8(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf4E2M1FN>, %o1: tensor<256x32xf8E4M3FN>) {
  // expected-error @below {{'mx.quantize' op expected global_scale with f8E4M3FN scales only, found none with scales of type 'f8E4M3FN'}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>) block_size = 16 -> tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>
  return
}

// -----
func.func @quantize_c8_superfluous(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %s: f32) {
  // expected-error @below {{'mx.quantize' op expected global_scale with f8E4M3FN scales only, found it with scales of type 'f8E8M0FNU'}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) global_scale(%s) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c9(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf4E2M1FN>, %o1: tensor<256x32xf8E4M3FN>, %s: f32) {
  // expected-error @below {{'mx.quantize' op expected scale_rounding = ceil with f8E4M3FN scales, found floor}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) global_scale(%s) outs(%o0, %o1 : tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>) block_size = 16 scale_rounding = floor -> tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>
  return
}

// -----
func.func @quantize_c10(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected 'ragged' and 'offsets' together, found only ragged}}
  %r:2 = mx.quantize ragged = rows ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c10_offsets(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.quantize' op expected 'ragged' and 'offsets' together, found only offsets}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c10_none(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.quantize' op expected ragged = rows or reduction, found none}}
  %r:2 = mx.quantize ragged = none ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c10_groups(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %g: tensor<0xi32>) {
  // expected-error @below {{'mx.quantize' op expected at least 1 group, found 0}}
  %r:2 = mx.quantize ragged = rows ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<0xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @quantize_c11(%x: tensor<2x256x512xbf16>, %o0: tensor<2x256x512xf8E4M3FN>, %o1: tensor<2x256x16xf8E8M0FNU>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.quantize' op expected input of rank 2, found rank 3}}
  %r:2 = mx.quantize ragged = rows ins(%x : tensor<2x256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<2x256x512xf8E4M3FN>, tensor<2x256x16xf8E8M0FNU>) -> tensor<2x256x512xf8E4M3FN>, tensor<2x256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @quantize_c12(%x: tensor<256x500xbf16>, %o0: tensor<256x500xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 1 of input to be a multiple of 32, found 500}}
  %r:2 = mx.quantize ins(%x : tensor<256x500xbf16>) outs(%o0, %o1 : tensor<256x500xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x500xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @quantize_c12_axis0(%x: tensor<100x64xbf16>, %o0: tensor<64x100xf8E4M3FN>, %o1: tensor<64x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 0 of input to be a multiple of 32, found 100}}
  %r:2 = mx.quantize ins(%x : tensor<100x64xbf16>) outs(%o0, %o1 : tensor<64x100xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) axes = [0] -> tensor<64x100xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{elements is defined here}}
func.func @quantize_c13(%x: tensor<256x512xbf16>, %o0: tensor<512x256xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 0 of elements to be 256, found 512}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<512x256xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<512x256xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{elements is defined here}}
func.func @quantize_c13_rank(%x: tensor<256x512xbf16>, %o0: tensor<131072xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected elements of rank 2, found rank 1}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<131072xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<131072xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{elements is defined here}}
func.func @quantize_c13_axis0(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 0 of elements to be 512, found 256}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) axes = [0] -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{elements is defined here}}
func.func @quantize_c13_capacity(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.quantize' op expected dimension 1 of elements to be 1024, found 512}}
  %r:2 = mx.quantize ragged = reduction ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @quantize_c14(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x15xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 1 of scales to be 16, found 15}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x15xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x15xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @quantize_c14_rank(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<2x4x32x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected scales of rank 2, found rank 4}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<2x4x32x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<2x4x32x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @quantize_c14_tiles(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<2x4x32x16x1xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 3 of scales to be 4, found 16}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<2x4x32x16x1xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<2x4x32x16x1xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @quantize_c14_ragged(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<2x4x32x4x4xf8E8M0FNU>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.quantize' op expected dimension 0 of scales to be 6, found 2}}
  %r:2 = mx.quantize ragged = rows ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<2x4x32x4x4xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @quantize_c15(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>) {
  // expected-error @below {{'mx.quantize' op expected scales with ragged = none, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @quantize_c15_missing(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.quantize' op expected scales with ragged = rows, found #mx.scale_layout<sf_128x4>}}
  %r:2 = mx.quantize ragged = rows ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @quantize_c15_groups(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.quantize' op expected scales in 4 groups, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>}}
  %r:2 = mx.quantize ragged = rows ins(%x : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @quantize_c15_materialized(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<2x4x32x4x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) {
  // expected-error @below {{'mx.quantize' op expected scales without encoding, found #mx.scale_layout<sf_128x4>}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<2x4x32x4x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<256x512xf8E4M3FN>, tensor<2x4x32x4x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @quantize_c15_other(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU, "row major">) {
  // expected-error @below {{'mx.quantize' op expected scales with a #mx.scale_layout encoding, found "row major"}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, "row major">) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, "row major">
  return
}

// -----
// expected-note @below {{elements is defined here}}
func.func @quantize_c16(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected elements without encoding, found #mx.ragged<groups = 4, align = 128>}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{elements is defined here}}
func.func @quantize_c16_groups(%x: tensor<256x4xbf16>, %o0: tensor<256x512xf8E4M3FN, #mx.ragged<groups = 3, align = 128>>, %o1: tensor<256x16xf8E8M0FNU>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.quantize' op expected elements in 4 groups, found #mx.ragged<groups = 3, align = 128>}}
  %r:2 = mx.quantize ragged = reduction ins(%x : tensor<256x4xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN, #mx.ragged<groups = 3, align = 128>>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN, #mx.ragged<groups = 3, align = 128>>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @quantize_c17(%x: tensor<256x512xbf16, "sparse">, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected input without encoding, found "sparse"}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16, "sparse">) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @amax_input_type(%x: tensor<256xf64>, %o: tensor<f32>) {
  // expected-error @below {{'mx.amax' op operand #0 must be ranked tensor or memref of f32, bf16 or f16, but got 'tensor<256xf64>'}}
  %r = mx.amax ins(%x : tensor<256xf64>) outs(%o : tensor<f32>) -> tensor<f32>
  return
}

// -----
func.func @amax_outs_type(%x: tensor<256xf32>, %o: tensor<1xf32>) {
  // expected-error @below {{'mx.amax' op operand #1 must be variadic of tensor or memref of rank 0 of f32, but got 'tensor<1xf32>'}}
  %r = mx.amax ins(%x : tensor<256xf32>) outs(%o : tensor<1xf32>) -> tensor<1xf32>
  return
}

// -----
func.func @amax_c1(%x: tensor<256xf32>, %o: memref<f32>) {
  // expected-error @below {{'mx.amax' op expected all tensors or all memrefs, found 'tensor<256xf32>' and 'memref<f32>'}}
  mx.amax ins(%x : tensor<256xf32>) outs(%o : memref<f32>)
  return
}

// -----
func.func @amax_c2(%x: tensor<256xf32>, %o: tensor<f32>) {
  // expected-error @below {{'mx.amax' op expected 1 outs, found 2}}
  %r:2 = mx.amax ins(%x : tensor<256xf32>) outs(%o, %o : tensor<f32>, tensor<f32>) -> tensor<f32>, tensor<f32>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @amax_c3(%x: tensor<256xf32, "sparse">, %o: tensor<f32>) {
  // expected-error @below {{'mx.amax' op expected input without encoding, found "sparse"}}
  %r = mx.amax ins(%x : tensor<256xf32, "sparse">) outs(%o : tensor<f32>) -> tensor<f32>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @quantize_c22(%x: tensor<2x64x64xbf16>, %i: tensor<96xi32>, %o0: tensor<2x64x64xf8E4M3FN>, %o1: tensor<2x64x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected input of rank 2, found rank 3}}
  %r:2 = mx.quantize ins(%x : tensor<2x64x64xbf16>) gather(%i : tensor<96xi32>) outs(%o0, %o1 : tensor<2x64x64xf8E4M3FN>, tensor<2x64x2xf8E8M0FNU>) -> tensor<2x64x64xf8E4M3FN>, tensor<2x64x2xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c23(%x: tensor<300x64xbf16>, %g: tensor<4xi32>, %o0: tensor<300x64xf8E4M3FN>, %o1: tensor<6x1x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected no groups with square, found ragged = rows}}
  %r:2 = mx.quantize ragged = rows ins(%x : tensor<300x64xbf16>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>) square -> tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{amax is defined here}}
func.func @quantize_c24(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %o2: tensor<1xf32>) {
  // expected-error @below {{'mx.quantize' op expected amax of rank 0 and type f32, found 'tensor<1xf32>'}}
  %r:3 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1, %o2 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<1xf32>) amax -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<1xf32>
  return
}

// -----
// expected-note @below {{amax is defined here}}
func.func @quantize_c24_type(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %o2: tensor<bf16>) {
  // expected-error @below {{'mx.quantize' op expected amax of rank 0 and type f32, found 'tensor<bf16>'}}
  %r:3 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1, %o2 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<bf16>) amax -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<bf16>
  return
}

// -----
func.func @quantize_c4_amax(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected elements and scales in outs for each of 1 axes, and an amax for each value, found 2 outs}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) amax -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c4_no_amax(%x: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>, %o2: tensor<f32>) {
  // expected-error @below {{'mx.quantize' op expected elements and scales in outs for each of 1 axes, found 3 outs}}
  %r:3 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1, %o2 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<f32>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<f32>
  return
}

// -----
// expected-note @below {{elements is defined here}}
func.func @quantize_c13_gather(%x: tensor<64x64xbf16>, %i: tensor<96xi32>, %o0: tensor<64x64xf8E4M3FN>, %o1: tensor<96x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 0 of elements to be 96, found 64}}
  %r:2 = mx.quantize ins(%x : tensor<64x64xbf16>) gather(%i : tensor<96xi32>) outs(%o0, %o1 : tensor<64x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>) -> tensor<64x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{gather is defined here}}
func.func @quantize_c12_gather(%x: tensor<64x64xbf16>, %i: tensor<100xi32>, %o0: tensor<64x100xf8E4M3FN>, %o1: tensor<64x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 0 of gather to be a multiple of 32, found 100; the nearest are 96 and 128}}
  %r:2 = mx.quantize ins(%x : tensor<64x64xbf16>) gather(%i : tensor<100xi32>) outs(%o0, %o1 : tensor<64x100xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) axes = [0] -> tensor<64x100xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c18(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected 1 input without a prologue, found 2}}
  %r:2 = mx.quantize ins(%x, %y : tensor<256x512xbf16>, tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c19(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected prologue arguments ('bf16', 'index', 'index'), found ('f32', 'index', 'index')}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: f32, %i: index, %j: index):
    mx.yield %a : f32
  }
  return
}

// -----
func.func @quantize_c19_count(%x: tensor<256x512xbf16>, %y: tensor<256x512xf32>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected prologue arguments ('bf16', 'f32', 'index', 'index'), found ('bf16', 'f32', 'index')}}
  %r:2 = mx.quantize ins(%x, %y : tensor<256x512xbf16>, tensor<256x512xf32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %b: f32, %i: index):
    mx.yield %a : bf16
  }
  return
}

// -----
func.func @quantize_c20(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected the prologue to yield f32, bf16 or f16, found ('f64')}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %b = arith.extf %a : bf16 to f64
    mx.yield %b : f64
  }
  return
}

// -----
func.func @quantize_c20_none(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected the prologue to yield f32, bf16 or f16, found ()}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    mx.yield
  }
  return
}

// -----
func.func @quantize_c20_terminator(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected the prologue to end with 'mx.yield'}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %b = arith.negf %a : bf16
  }
  return
}

// -----
func.func @quantize_c4_values(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected elements and scales in outs for each of 2 values and 1 axes, found 2 outs}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    mx.yield %a, %a : bf16, bf16
  }
  return
}

// -----
func.func @quantize_c21(%x: tensor<8x32xbf16>, %o0: tensor<8x32xf4E2M1FN>, %o1: tensor<8x2xf8E4M3FN>, %g: f32) {
  // expected-error @below {{'mx.quantize' op expected the prologue to yield 1 value with global_scale, found 2}}
  %r:4 = mx.quantize ins(%x : tensor<8x32xbf16>) global_scale(%g) outs(%o0, %o1, %o0, %o1 : tensor<8x32xf4E2M1FN>, tensor<8x2xf8E4M3FN>, tensor<8x32xf4E2M1FN>, tensor<8x2xf8E4M3FN>) block_size = 16 -> tensor<8x32xf4E2M1FN>, tensor<8x2xf8E4M3FN>, tensor<8x32xf4E2M1FN>, tensor<8x2xf8E4M3FN> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    mx.yield %a, %a : bf16, bf16
  }
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @quantize_c18_shape(%x: tensor<256x512xbf16>, %y: tensor<128x512xbf16>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 0 of input to be 256, found 128}}
  %r:2 = mx.quantize ins(%x, %y : tensor<256x512xbf16>, tensor<128x512xbf16>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %b: bf16, %i: index, %j: index):
    mx.yield %a : bf16
  }
  return
}

// -----
func.func @quantize_c25(%x: tensor<256x512xf8E4M3FN>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected input_scales for each input of elements, which are 1, found 0}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xf8E4M3FN>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

// -----
func.func @quantize_c25_numbers(%x: tensor<256x512xbf16>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected input_scales for each input of elements, which are 0, found 1}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xbf16>) input_scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

// -----
func.func @quantize_c26(%x: tensor<256x512xf4E2M1FN>, %s: tensor<256x32xf8E4M3FN>, %o0: tensor<512x256xf8E4M3FN>, %o1: tensor<512x8xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a prologue with input_scales of f8E4M3FN, found none}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xf4E2M1FN>) input_scales(%s : tensor<256x32xf8E4M3FN>) outs(%o0, %o1 : tensor<512x256xf8E4M3FN>, tensor<512x8xf8E8M0FNU>) axes = [0] -> tensor<512x256xf8E4M3FN>, tensor<512x8xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c41(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xf8E5M2>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected elements of 'f8E4M3FN' and block_size 32, those of the input, along axis 1 without a prologue, found 'f8E5M2' and 32: a prologue that yields its argument quantizes them again}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E5M2>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E5M2>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c41_dequantized(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %y: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.quantize' op expected elements of 'f8E4M3FN' and block_size 32, those of the input, along axis 1 without a prologue, found 'f6E2M3FN' and 32: a prologue that yields its argument quantizes them again}}
  %r = mx.quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) outs(%y : tensor<256x512xbf16>) dequantized = [f6E2M3FN] -> tensor<256x512xbf16>
  return
}

// -----
func.func @quantize_c41_block(%x: tensor<256x512xf4E2M1FN>, %s: tensor<256x16xf8E8M0FNU>, %g: f32, %o0: tensor<256x512xf4E2M1FN>, %o1: tensor<256x32xf8E4M3FN>) {
  // expected-error @below {{'mx.quantize' op expected elements of 'f4E2M1FN' and block_size 32, those of the input, along axis 1 without a prologue, found 'f4E2M1FN' and 16: a prologue that yields its argument quantizes them again}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xf4E2M1FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) global_scale(%g) outs(%o0, %o1 : tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>) block_size = 16 -> tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>
  return
}

// -----
func.func @quantize_c42(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected no square along axis 1 with input_scales and without a prologue, found one}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) square -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c27(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o: tensor<2xi32>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected groups of rows, or none, with input_scales, found ragged = reduction}}
  %r:2 = mx.quantize ragged = reduction ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) offsets(%o : tensor<2xi32>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

// -----
func.func @quantize_c28(%s: tensor<256x32xf8E4M3FN>,
// expected-note @below {{input is defined here}}
    %x: tensor<256x512xf8E4M3FN>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected input of type f4E2M1FN with scales of type f8E4M3FN, found 'f8E4M3FN'}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x32xf8E4M3FN>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

// -----
func.func @quantize_c29(%x: tensor<256x512xf8E4M3FN>,
// expected-note @below {{input_scales is defined here}}
    %s: tensor<256x32xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 1 of input_scales to be 16, found 32}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x32xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

// -----
func.func @quantize_c29_tiles(%x: tensor<256x512xf8E4M3FN>,
// expected-note @below {{input_scales is defined here}}
    %s: tensor<2x16x32x4x4xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 1 of input_scales to be 4, found 16}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<2x16x32x4x4xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

// -----
func.func @quantize_c30(%x: tensor<256x512xf8E4M3FN>,
// expected-note @below {{input_scales is defined here}}
    %s: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 2>>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected input_scales with ragged = none, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 2>}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 2>>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

// -----
func.func @quantize_c31(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected the prologue's argument of a quantized input to be f32, bf16 or f16, found 'f8E4M3FN'}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
  ^bb0(%a: f8E4M3FN, %i: index, %j: index):
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

// -----
func.func @quantize_c31_missing(%x: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xf8E4M3FN>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected prologue arguments ('f32', 'index', 'index'), found ()}}
  %r:2 = mx.quantize ins(%x : tensor<256x512xf8E4M3FN>) input_scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU> prologue {
    %z = arith.constant 0.0 : f32
    mx.yield %z : f32
  }
  return
}

// -----
func.func @quantize_c29_multiple(%s: tensor<64x3xf8E8M0FNU>,
// expected-note @below {{input is defined here}}
    %x: tensor<64x112xi8>, %o0: tensor<112x64xf8E4M3FN>, %o1: tensor<112x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 1 of input to be a multiple of 32, found 112; the nearest are 96 and 128}}
  %r:2 = mx.quantize ins(%x : tensor<64x112xi8>) input_scales(%s : tensor<64x3xf8E8M0FNU>) outs(%o0, %o1 : tensor<112x64xf8E4M3FN>, tensor<112x2xf8E8M0FNU>) axes = [0] -> tensor<112x64xf8E4M3FN>, tensor<112x2xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    mx.yield %a : bf16
  }
  return
}

// -----
func.func @quantize_c32(%x: tensor<64x64xbf16>, %o0: tensor<64x64xf8E4M3FN>, %o1: tensor<64x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a prologue that yields 2 values or more with concat, found none}}
  %r:2 = mx.quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) concat -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c32_one(%x: tensor<64x64xbf16>, %o0: tensor<64x64xf8E4M3FN>, %o1: tensor<64x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a prologue that yields 2 values or more with concat, found 1}}
  %r:2 = mx.quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) concat -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    mx.yield %a : bf16
  }
  return
}

// -----
func.func @quantize_c33(%x: tensor<64x64xbf16>, %o0: tensor<64x128xf8E4M3FN>, %o1: tensor<64x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected the prologue to yield values of one type with concat, found ('bf16', 'f32')}}
  %r:2 = mx.quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1 : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) concat -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %b = arith.extf %a : bf16 to f32
    mx.yield %a, %b : bf16, f32
  }
  return
}

// -----
func.func @quantize_c34(%x: tensor<64x300xbf16>, %o: tensor<4xi32>, %o0: tensor<64x1152xf8E4M3FN>, %o1: tensor<64x36xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected groups of rows, or none, with concat, found ragged = reduction}}
  %r:2 = mx.quantize ragged = reduction ins(%x : tensor<64x300xbf16>) offsets(%o : tensor<4xi32>) outs(%o0, %o1 : tensor<64x1152xf8E4M3FN>, tensor<64x36xf8E8M0FNU>) concat -> tensor<64x1152xf8E4M3FN>, tensor<64x36xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    mx.yield %a, %a : bf16, bf16
  }
  return
}

// -----
func.func @quantize_c35(%x: tensor<64x64xbf16>, %o0: tensor<64x64xbf16>, %o1: tensor<64x64xbf16>) {
  // expected-error @below {{'mx.quantize' op expected dequantized to have an entry for each of 2 destinations, found 1}}
  %r:2 = mx.quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1 : tensor<64x64xbf16>, tensor<64x64xbf16>) axes = [1, 0] dequantized = [f8E4M3FN] -> tensor<64x64xbf16>, tensor<64x64xbf16>
  return
}

// -----
func.func @quantize_c36(%x: tensor<64x64xbf16>, %o0: tensor<64x64xbf16>) {
  // expected-error @below {{'mx.quantize' op expected entries of dequantized to be none, f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8, found 'bf16'}}
  %r = mx.quantize ins(%x : tensor<64x64xbf16>) outs(%o0 : tensor<64x64xbf16>) dequantized = [bf16] -> tensor<64x64xbf16>
  return
}

// -----
// Elements and scales, where there is one tensor only.
func.func @quantize_c4_dequantized(%x: tensor<64x64xbf16>, %o0: tensor<64x64xf8E4M3FN>, %o1: tensor<64x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected elements and scales in outs for each of 1 axes, or one tensor where they are dequantized, found 2 outs}}
  %r:2 = mx.quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) dequantized = [f8E4M3FN] -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return
}

// -----
func.func @quantize_c37(%x: tensor<64x64xbf16>, %o0: tensor<64x64xbf16>, %o1: tensor<64x64xbf16>, %e: f32) {
  // expected-error @below {{'mx.quantize' op expected decode_factors for each of 2 dequantized destinations, or none, found 1}}
  %r:2 = mx.quantize ins(%x : tensor<64x64xbf16>) global_scale(%e) decode_factors(%e) outs(%o0, %o1 : tensor<64x64xbf16>, tensor<64x64xbf16>) axes = [1, 0] block_size = 16 dequantized = [f4E2M1FN, f4E2M1FN] -> tensor<64x64xbf16>, tensor<64x64xbf16>
  return
}

// -----
func.func @quantize_c38(%x: tensor<64x64xbf16>, %o0: tensor<64x64xbf16>, %e: f32) {
  // expected-error @below {{'mx.quantize' op expected decode_factors with global_scale only, found them without}}
  %r = mx.quantize ins(%x : tensor<64x64xbf16>) decode_factors(%e) outs(%o0 : tensor<64x64xbf16>) dequantized = [f8E4M3FN] -> tensor<64x64xbf16>
  return
}

// -----
func.func @quantize_c39(%x: tensor<64x64xbf16>, %o0: tensor<64x64xbf16>, %e: f32) {
  // expected-error @below {{'mx.quantize' op expected block_size 32, or 16 with f4E2M1FN, to dequantize 'f8E4M3FN', found 16}}
  %r = mx.quantize ins(%x : tensor<64x64xbf16>) global_scale(%e) outs(%o0 : tensor<64x64xbf16>) block_size = 16 dequantized = [f8E4M3FN] -> tensor<64x64xbf16>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @quantize_c40(%x: tensor<64x64xbf16>, %o0: tensor<64x64xf8E4M3FN>) {
  // expected-error @below {{'mx.quantize' op expected f32, bf16 or f16 where elements are dequantized, found 'f8E4M3FN'}}
  %r = mx.quantize ins(%x : tensor<64x64xbf16>) outs(%o0 : tensor<64x64xf8E4M3FN>) dequantized = [f8E4M3FN] -> tensor<64x64xf8E4M3FN>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @quantize_c40_encoding(%x: tensor<300x64xbf16>, %o: tensor<4xi32>, %o0: tensor<64x896xbf16, #mx.ragged<groups = 4, align = 128>>) {
  // expected-error @below {{'mx.quantize' op expected outs without encoding, found #mx.ragged<groups = 4, align = 128>}}
  %r = mx.quantize ragged = rows ins(%x : tensor<300x64xbf16>) offsets(%o : tensor<4xi32>) outs(%o0 : tensor<64x896xbf16, #mx.ragged<groups = 4, align = 128>>) axes = [0] dequantized = [f8E4M3FN] -> tensor<64x896xbf16, #mx.ragged<groups = 4, align = 128>>
  return
}

// -----
// Without scales NVFP4 is known by its blocks.
func.func @quantize_c8_dequantized(%x: tensor<64x64xbf16>, %o0: tensor<64x64xbf16>) {
  // expected-error @below {{'mx.quantize' op expected global_scale with f8E4M3FN scales only, found none with scales of type 'f8E4M3FN'}}
  %r = mx.quantize ins(%x : tensor<64x64xbf16>) outs(%o0 : tensor<64x64xbf16>) block_size = 16 dequantized = [f4E2M1FN] -> tensor<64x64xbf16>
  return
}

// -----
// A destination of one value is too narrow.
// expected-note @below {{elements is defined here}}
func.func @quantize_c13_concat(%x: tensor<64x64xbf16>, %o0: tensor<64x64xf8E4M3FN>, %o1: tensor<64x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 1 of elements to be 128, found 64}}
  %r:2 = mx.quantize ins(%x : tensor<64x64xbf16>) outs(%o0, %o1 : tensor<64x64xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) concat -> tensor<64x64xf8E4M3FN>, tensor<64x4xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    mx.yield %a, %a : bf16, bf16
  }
  return
}

// -----
// Blocks are those of one value.
func.func @quantize_c12_concat(
// expected-note @below {{input is defined here}}
    %x: tensor<64x48xbf16>, %o0: tensor<64x96xf8E4M3FN>, %o1: tensor<64x3xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 1 of input to be a multiple of 32, found 48; the nearest are 32 and 64}}
  %r:2 = mx.quantize ins(%x : tensor<64x48xbf16>) outs(%o0, %o1 : tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>) concat -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    mx.yield %a, %a : bf16, bf16
  }
  return
}

// -----
func.func @dequantize_input_type(%i: tensor<256x512xf16>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.dequantize' op operand #0 must be ranked tensor or memref of f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8 elements, but got 'tensor<256x512xf16>'}}
  %r = mx.dequantize ins(%i, %s : tensor<256x512xf16>, tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
func.func @dequantize_c1(%i: tensor<256x512xf8E4M3FN>, %s: memref<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected all tensors or all memrefs, found 'tensor<256x512xf8E4M3FN>' and 'memref<256x16xf8E8M0FNU>'}}
  %r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, memref<256x16xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
func.func @dequantize_c2(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>, %o1: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected 1 outs, found 2}}
  %r:2 = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xbf16>, tensor<256x512xbf16>) -> tensor<256x512xbf16>, tensor<256x512xbf16>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @dequantize_c3(%i: tensor<512xf8E4M3FN>, %s: tensor<16xf8E8M0FNU>, %o0: tensor<512xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected input of rank 2 or more, found rank 1}}
  %r = mx.dequantize ins(%i, %s : tensor<512xf8E4M3FN>, tensor<16xf8E8M0FNU>) outs(%o0 : tensor<512xbf16>) -> tensor<512xbf16>
  return
}

// -----
func.func @dequantize_c4(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x8xf8E8M0FNU>, %o0: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected block_size 32 with scales of type 'f8E8M0FNU', found 64}}
  %r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x8xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16>) block_size = 64 -> tensor<256x512xbf16>
  return
}

// -----
func.func @dequantize_c5(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>, %g: f32) {
  // expected-error @below {{'mx.dequantize' op expected global_scale with f8E4M3FN scales only, found it with scales of type 'f8E8M0FNU'}}
  %r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) global_scale(%g) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
func.func @dequantize_c6(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected 'ragged' and 'offsets' together, found only ragged}}
  %r = mx.dequantize ragged = rows ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @dequantize_c7(%i: tensor<2x256x512xi8>, %s: tensor<2x256x16xf8E8M0FNU>, %o0: tensor<2x256x512xf32>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.dequantize' op expected input of rank 2, found rank 3}}
  %r = mx.dequantize ragged = rows ins(%i, %s : tensor<2x256x512xi8>, tensor<2x256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<2x256x512xf32>) -> tensor<2x256x512xf32>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @dequantize_c8(%i: tensor<256x500xf8E4M3FN>, %s: tensor<256x15xf8E8M0FNU>, %o0: tensor<256x500xf16>) {
  // expected-error @below {{'mx.dequantize' op expected dimension 1 of input to be a multiple of 32, found 500}}
  %r = mx.dequantize ins(%i, %s : tensor<256x500xf8E4M3FN>, tensor<256x15xf8E8M0FNU>) outs(%o0 : tensor<256x500xf16>) -> tensor<256x500xf16>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @dequantize_c8_ragged(%i: tensor<256x544xf8E4M3FN>, %s: tensor<256x17xf8E8M0FNU>, %o0: tensor<256x32xf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.dequantize' op expected dimension 1 of input to be a multiple of 128, found 544}}
  %r = mx.dequantize ragged = reduction ins(%i, %s : tensor<256x544xf8E4M3FN>, tensor<256x17xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x32xf16>) -> tensor<256x32xf16>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @dequantize_c9(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<512x256xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected dimension 0 of input to be 512, found 256}}
  %r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<512x256xbf16>) -> tensor<512x256xbf16>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @dequantize_c9_capacity(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.dequantize' op expected dimension 1 of input to be 1024, found 512}}
  %r = mx.dequantize ragged = reduction ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @dequantize_c9_padded(%i: tensor<256x1024xf8E4M3FN>, %s: tensor<256x32xf8E8M0FNU>, %o0: tensor<256x512xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.dequantize' op expected dimension 1 of input to be 512, found 1024}}
  %r = mx.dequantize ragged = reduction padded ins(%i, %s : tensor<256x1024xf8E4M3FN>, tensor<256x32xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @dequantize_c9_rank(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<1x256x512xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected outs of rank 2, found rank 3}}
  %r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<1x256x512xbf16>) -> tensor<1x256x512xbf16>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @dequantize_c10(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x8xf8E8M0FNU>, %o0: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected dimension 1 of scales to be 16, found 8}}
  %r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x8xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @dequantize_c11(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear, ragged = rows, groups = 2>>, %o0: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected scales with ragged = none, found #mx.scale_layout<linear, ragged = rows, groups = 2>}}
  %r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear, ragged = rows, groups = 2>>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @dequantize_c12(%i: tensor<256x512xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected input without encoding, found #mx.ragged<groups = 4, align = 128>}}
  %r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @dequantize_c13(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16, "sparse">) {
  // expected-error @below {{'mx.dequantize' op expected outs without encoding, found "sparse"}}
  %r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16, "sparse">) -> tensor<256x512xbf16, "sparse">
  return
}

// -----
func.func @dequantize_c14(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.dequantize' op expected padded with ragged = reduction only, whose segments have padding, found it with ragged = rows}}
  %r = mx.dequantize ragged = rows padded ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
func.func @permute_reduction_c1(%i: tensor<256x512xf8E4M3FN>, %s: memref<256x16xf8E8M0FNU>, %o: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.permute_reduction' op expected all tensors or all memrefs, found 'tensor<256x512xf8E4M3FN>' and 'memref<256x16xf8E8M0FNU>'}}
  %r = mx.permute_reduction ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : memref<256x16xf8E8M0FNU>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
func.func @permute_reduction_c2(%i: tensor<256x512xbf16>, %o: tensor<256x512xbf16>, %p: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.permute_reduction' op expected 1 outs, found 2}}
  %r:2 = mx.permute_reduction ins(%i : tensor<256x512xbf16>) outs(%o, %p : tensor<256x512xbf16>, tensor<256x512xbf16>) -> tensor<256x512xbf16>, tensor<256x512xbf16>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @permute_reduction_c3(%i: tensor<512xbf16>, %o: tensor<512xbf16>) {
  // expected-error @below {{'mx.permute_reduction' op expected input of rank 2 or more, found rank 1}}
  %r = mx.permute_reduction ins(%i : tensor<512xbf16>) outs(%o : tensor<512xbf16>) -> tensor<512xbf16>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @permute_reduction_c4(%i: tensor<256x512xbf16>, %o: tensor<256x512xf32>) {
  // expected-error @below {{'mx.permute_reduction' op expected outs of bf16, found 'f32'}}
  %r = mx.permute_reduction ins(%i : tensor<256x512xbf16>) outs(%o : tensor<256x512xf32>) -> tensor<256x512xf32>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @permute_reduction_c5(%i: tensor<256x512xf8E4M3FN>, %o: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.permute_reduction' op expected an input of bf16, or scales, found an input of 'f8E4M3FN' without}}
  %r = mx.permute_reduction ins(%i : tensor<256x512xf8E4M3FN>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
func.func @permute_reduction_c6(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.permute_reduction' op expected block_size 32 with scales of type 'f8E8M0FNU', found 64}}
  %r = mx.permute_reduction ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o : tensor<256x512xbf16>) block_size = 64 -> tensor<256x512xbf16>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @permute_reduction_c7(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x8xf8E8M0FNU>, %o: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.permute_reduction' op expected dimension 1 of scales to be 16, found 8}}
  %r = mx.permute_reduction ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x8xf8E8M0FNU>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @permute_reduction_c8(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear, ragged = rows, groups = 2>>, %o: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.permute_reduction' op expected scales with ragged = none, found #mx.scale_layout<linear, ragged = rows, groups = 2>}}
  %r = mx.permute_reduction ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear, ragged = rows, groups = 2>>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
func.func @permute_reduction_c9(%i: tensor<256x512xbf16>, %o: tensor<256x512xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.permute_reduction' op expected offsets of groups with scales and ragged = rows, found them without}}
  %r = mx.permute_reduction ragged = rows ins(%i : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
func.func @permute_reduction_c10(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.permute_reduction' op expected 'ragged' and 'offsets' together, found only ragged}}
  %r = mx.permute_reduction ragged = rows ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @permute_reduction_c12(%i: tensor<256x?xbf16>, %o: tensor<256x?xbf16>) {
  // expected-error @below {{'mx.permute_reduction' op expected the last dimension of the input to be known, found 'tensor<256x?xbf16>'}}
  %r = mx.permute_reduction ins(%i : tensor<256x?xbf16>) outs(%o : tensor<256x?xbf16>) -> tensor<256x?xbf16>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @permute_reduction_c13(%i: tensor<256x48xbf16>, %o: tensor<256x48xbf16>) {
  // expected-error @below {{'mx.permute_reduction' op expected dimension 1 of input to be a multiple of 32, found 48}}
  %r = mx.permute_reduction ins(%i : tensor<256x48xbf16>) outs(%o : tensor<256x48xbf16>) -> tensor<256x48xbf16>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @permute_reduction_c14(%i: tensor<128x512xbf16>, %o: tensor<256x512xbf16>) {
  // expected-error @below {{'mx.permute_reduction' op expected dimension 0 of input to be 256, found 128}}
  %r = mx.permute_reduction ins(%i : tensor<128x512xbf16>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @permute_reduction_c11(%i: tensor<2x256x512xf8E4M3FN>, %s: tensor<2x256x16xf8E8M0FNU>, %o: tensor<2x256x512xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.permute_reduction' op expected input of rank 2, found rank 3}}
  %r = mx.permute_reduction ragged = rows ins(%i : tensor<2x256x512xf8E4M3FN>) scales(%s : tensor<2x256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o : tensor<2x256x512xbf16>) -> tensor<2x256x512xbf16>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @permute_reduction_c15(%i: tensor<256x512xbf16>, %o: tensor<256x512xbf16, "sparse">) {
  // expected-error @below {{'mx.permute_reduction' op expected outs without encoding, found "sparse"}}
  %r = mx.permute_reduction ins(%i : tensor<256x512xbf16>) outs(%o : tensor<256x512xbf16, "sparse">) -> tensor<256x512xbf16, "sparse">
  return
}

// -----
func.func @permute_reduction_c16(%i: memref<256x512xbf16>) {
  // expected-error @below {{'mx.permute_reduction' op expected another memref as outs than the input, whose elements change places, found the same one}}
  mx.permute_reduction ins(%i : memref<256x512xbf16>) outs(%i : memref<256x512xbf16>)
  return
}

// -----
func.func @relayout_input_type(%i: tensor<256x16xi8>, %o0: tensor<2x4x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.relayout' op operand #0 must be ranked tensor or memref of f8E8M0FNU or f8E4M3FN scales, but got 'tensor<256x16xi8>'}}
  %r = mx.relayout ins(%i : tensor<256x16xi8>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>
  return
}

// -----
func.func @relayout_c1(%i: memref<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.relayout' op expected all tensors or all memrefs, found 'memref<256x16xf8E8M0FNU>' and 'tensor<2x4x32x4x4xf8E8M0FNU>'}}
  %r = mx.relayout ins(%i : memref<256x16xf8E8M0FNU>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>
  return
}

// -----
func.func @relayout_c2(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x16xf8E8M0FNU>, %o1: tensor<256x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.relayout' op expected 1 outs, found 2}}
  %r:2 = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x16xf8E8M0FNU>, tensor<256x16xf8E8M0FNU>) -> tensor<256x16xf8E8M0FNU>, tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @relayout_c3(%i: tensor<16xf8E8M0FNU>, %o0: tensor<16xf8E8M0FNU>) {
  // expected-error @below {{'mx.relayout' op expected input of rank 2 or more, found rank 1}}
  %r = mx.relayout ins(%i : tensor<16xf8E8M0FNU>) outs(%o0 : tensor<16xf8E8M0FNU>) -> tensor<16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @relayout_c4(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x4x4xf8E4M3FN>) {
  // expected-error @below {{'mx.relayout' op expected outs of type 'f8E8M0FNU' like the input, found 'f8E4M3FN'}}
  %r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<2x4x32x4x4xf8E4M3FN>) -> tensor<2x4x32x4x4xf8E4M3FN>
  return
}

// -----
func.func @relayout_c5(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.relayout' op expected 'ragged' and 'offsets' together, found only ragged}}
  %r = mx.relayout ragged = rows ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>
  return
}

// -----
func.func @relayout_c5_reduction(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x4x4xf8E8M0FNU>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.relayout' op expected ragged = rows, found reduction}}
  %r = mx.relayout ragged = reduction ins(%i : tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @relayout_c6(%i: tensor<256x16xf8E8M0FNU, "row major">, %o0: tensor<2x4x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.relayout' op expected input with a #mx.scale_layout encoding, found "row major"}}
  %r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU, "row major">) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @relayout_c7(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<1x4x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.relayout' op expected dimension 0 of outs to be 2, found 1}}
  %r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<1x4x32x4x4xf8E8M0FNU>) -> tensor<1x4x32x4x4xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @relayout_c7_logical(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<128x32xf8E8M0FNU>) {
  // expected-error @below {{'mx.relayout' op expected dimension 0 of outs to be 256, found 128}}
  %r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<128x32xf8E8M0FNU>) -> tensor<128x32xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @relayout_c7_rank(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x16xf8E8M0FNU>) {
  // expected-error @below {{'mx.relayout' op expected outs of rank 2 or, materialized, 5, found rank 4}}
  %r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<2x4x32x16xf8E8M0FNU>) -> tensor<2x4x32x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @relayout_c7_ragged(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x4x4xf8E8M0FNU>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.relayout' op expected dimension 0 of outs to be 6, found 2}}
  %r = mx.relayout ragged = rows ins(%i : tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @relayout_c8(%i: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %o0: tensor<2x4x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.relayout' op expected input in layout linear beside a materialized tensor, found #mx.scale_layout<sf_128x4>}}
  %r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @relayout_c8_materialized(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x4x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) {
  // expected-error @below {{'mx.relayout' op expected outs without encoding, found #mx.scale_layout<sf_128x4>}}
  %r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<2x4x32x4x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  return
}

// -----
func.func @relayout_c9(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x16xf8E8M0FNU>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.relayout' op expected one linear and one sf_128x4 layout with ragged = rows, found #mx.scale_layout<linear> and #mx.scale_layout<linear>}}
  %r = mx.relayout ragged = rows ins(%i : tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x16xf8E8M0FNU>) -> tensor<256x16xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @relayout_c9_kind(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.relayout' op expected outs with ragged = rows, found #mx.scale_layout<sf_128x4>}}
  %r = mx.relayout ragged = rows ins(%i : tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @relayout_c9_groups(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.relayout' op expected outs in 4 groups, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>}}
  %r = mx.relayout ragged = rows ins(%i : tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>) -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>
  return
}

// -----
func.func @relayout_c10(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>) {
  // expected-error @below {{'mx.relayout' op expected ragged = rows and offsets between #mx.scale_layout<linear> and #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>, found none}}
  %r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>) -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @relayout_c10_groups(%i: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>>, %o0: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 3>>) {
  // expected-error @below {{'mx.relayout' op expected outs with the groups of #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>, found #mx.scale_layout<sf_128x4, ragged = reduction, groups = 3>}}
  %r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>>) outs(%o0 : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 3>>) -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 3>>
  return
}

// -----
func.func @pack_weights_input_type(%i: tensor<100x200xi8>, %o0: tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) {
  // expected-error @below {{'mx.pack_weights' op operand #0 must be ranked tensor or memref of f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN elements, but got 'tensor<100x200xi8>'}}
  %r = mx.pack_weights ins(%i : tensor<100x200xi8>) outs(%o0 : tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) -> tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>
  return
}

// -----
func.func @pack_weights_c1(%i: memref<100x200xf4E2M1FN>, %o0: tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) {
  // expected-error @below {{'mx.pack_weights' op expected all tensors or all memrefs, found 'memref<100x200xf4E2M1FN>' and 'tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>'}}
  %r = mx.pack_weights ins(%i : memref<100x200xf4E2M1FN>) outs(%o0 : tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) -> tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>
  return
}

// -----
func.func @pack_weights_c2(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>, %o1: tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) {
  // expected-error @below {{'mx.pack_weights' op expected 1 outs, found 2}}
  %r:2 = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0, %o1 : tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>, tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) -> tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>, tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @pack_weights_c3(%i: tensor<200xf4E2M1FN>, %o0: tensor<2x4x128x32xf4E2M1FN>) {
  // expected-error @below {{'mx.pack_weights' op expected input of rank 2 or more, found rank 1}}
  %r = mx.pack_weights ins(%i : tensor<200xf4E2M1FN>) outs(%o0 : tensor<2x4x128x32xf4E2M1FN>) -> tensor<2x4x128x32xf4E2M1FN>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @pack_weights_c4(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<100x200xf8E4M3FN, #mx.weight_layout<fragment_64x64>>) {
  // expected-error @below {{'mx.pack_weights' op expected outs of type 'f4E2M1FN' like the input, found 'f8E4M3FN'}}
  %r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<100x200xf8E4M3FN, #mx.weight_layout<fragment_64x64>>) -> tensor<100x200xf8E4M3FN, #mx.weight_layout<fragment_64x64>>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @pack_weights_c5(%i: tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>, %o0: tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) {
  // expected-error @below {{'mx.pack_weights' op expected input without encoding, found #mx.weight_layout<fragment_64x64>}}
  %r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) outs(%o0 : tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) -> tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @pack_weights_c6(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<100x200xf4E2M1FN>) {
  // expected-error @below {{'mx.pack_weights' op expected outs of rank 2 with a #mx.weight_layout encoding or, materialized, of rank 4, found 'tensor<100x200xf4E2M1FN>'}}
  %r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<100x200xf4E2M1FN>) -> tensor<100x200xf4E2M1FN>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @pack_weights_c6_rank(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<2x4x4096xf4E2M1FN>) {
  // expected-error @below {{'mx.pack_weights' op expected outs of rank 2 with a #mx.weight_layout encoding or, materialized, of rank 4, found 'tensor<2x4x4096xf4E2M1FN>'}}
  %r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<2x4x4096xf4E2M1FN>) -> tensor<2x4x4096xf4E2M1FN>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @pack_weights_c6_logical(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<100x192xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) {
  // expected-error @below {{'mx.pack_weights' op expected dimension 1 of outs to be 200, found 192}}
  %r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<100x192xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) -> tensor<100x192xf4E2M1FN, #mx.weight_layout<fragment_64x64>>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @pack_weights_c6_tiles(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<2x3x128x32xf4E2M1FN>) {
  // expected-error @below {{'mx.pack_weights' op expected dimension 1 of outs to be 4, found 3}}
  %r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<2x3x128x32xf4E2M1FN>) -> tensor<2x3x128x32xf4E2M1FN>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @pack_weights_c6_encoding(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<2x4x128x32xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) {
  // expected-error @below {{'mx.pack_weights' op expected outs without encoding, found #mx.weight_layout<fragment_64x64>}}
  %r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<2x4x128x32xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) -> tensor<2x4x128x32xf4E2M1FN, #mx.weight_layout<fragment_64x64>>
  return
}

// -----
func.func @matmul_input_type(%a: tensor<256x512xi8>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op operand #0 must be ranked tensor or memref of f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN elements, or bf16 or f16, but got 'tensor<256x512xi8>'}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xi8>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return
}

// -----
func.func @matmul_c1(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: memref<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected all tensors or all memrefs, found 'tensor<256x512xf8E4M3FN>' and 'memref<128x16xf8E8M0FNU>'}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, memref<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return
}

// -----
func.func @matmul_c2(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>, %o1: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected 1 outs, found 2}}
  %r:2 = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x128xbf16>, tensor<256x128xbf16>) -> tensor<256x128xbf16>, tensor<256x128xbf16>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c3(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<1x128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected b of rank 2, found rank 3}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<1x128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return
}

// -----
// expected-note @below {{a is defined here}}
func.func @matmul_c3_vector(%a: tensor<512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected a of rank 2 or more, found rank 1}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return
}

// -----
// expected-note @below {{b_scales is defined here}}
func.func @matmul_c4(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x32xf8E4M3FN>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected b_scales of type 'f8E8M0FNU' like a_scales, found 'f8E4M3FN'}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x32xf8E4M3FN>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return
}

// -----
func.func @matmul_c4_block(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected block_size 32 with scales of type 'f8E8M0FNU', found 16}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) block_size = 16 -> tensor<256x128xbf16>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c4_elements(%a: tensor<256x512xf4E2M1FN>, %sa: tensor<256x32xf8E4M3FN>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x32xf8E4M3FN>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected b of type f4E2M1FN with scales of type f8E4M3FN, found 'f8E4M3FN'}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>, tensor<128x512xf8E4M3FN>, tensor<128x32xf8E4M3FN>) outs(%o0 : tensor<256x128xbf16>) block_size = 16 -> tensor<256x128xbf16>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c5(%a: tensor<2x256x512xf8E4M3FN>, %sa: tensor<2x256x16xf8E8M0FNU>, %b: tensor<3x128x512xf8E4M3FN>, %sb: tensor<3x128x16xf8E8M0FNU>, %o0: tensor<2x256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected dimension 0 of b to be 2, found 3}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<2x256x512xf8E4M3FN>, tensor<2x256x16xf8E8M0FNU>, tensor<3x128x512xf8E4M3FN>, tensor<3x128x16xf8E8M0FNU>) outs(%o0 : tensor<2x256x128xbf16>) -> tensor<2x256x128xbf16>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c6(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x256xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected dimension 1 of b to be 512, found 256}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x256xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return
}

// -----
// expected-note @below {{a is defined here}}
func.func @matmul_c7(%a: tensor<256x500xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x500xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected dimension 1 of a to be a multiple of 32, found 500; the nearest are 480 and 512}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x500xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x500xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c7_dynamic(%a: tensor<256x?xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x500xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected dimension 1 of b to be a multiple of 32, found 500}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x?xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x500xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @matmul_c8(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<128x256xbf16>) {
  // expected-error @below {{'mx.matmul' op expected dimension 0 of outs to be 256, found 128}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<128x256xbf16>) -> tensor<128x256xbf16>
  return
}

// -----
// expected-note @below {{a_scales is defined here}}
func.func @matmul_c9(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x15xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected dimension 1 of a_scales to be 16, found 15}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x15xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return
}

// -----
// expected-note @below {{b_scales is defined here}}
func.func @matmul_c9_tiles(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<2x4x32x4x4xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected dimension 0 of b_scales to be 1, found 2}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<2x4x32x4x4xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return
}

// -----
// expected-note @below {{a_scales is defined here}}
func.func @matmul_c10(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected a_scales with ragged = none, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return
}

// -----
// expected-note @below {{a is defined here}}
func.func @matmul_c11(%a: tensor<256x512xf8E4M3FN, #mx.ragged<groups = 1, align = 128>>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected a without encoding, found #mx.ragged<groups = 1, align = 128>}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN, #mx.ragged<groups = 1, align = 128>>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return
}

// -----
func.func @matmul_c12(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected epilogue arguments ('f32', 'index', 'index'), found ('f32', 'index')}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16> epilogue {
  ^bb0(%acc: f32, %row: index):
    %y = arith.truncf %acc : f32 to bf16
    mx.yield %y : bf16
  }
  return
}

// -----
func.func @matmul_c13(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected the epilogue to yield 'bf16', found 'f32'}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16> epilogue {
  ^bb0(%acc: f32, %row: index, %col: index):
    mx.yield %acc : f32
  }
  return
}

// -----
func.func @matmul_c13_values(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xf32>) {
  // expected-error @below {{'mx.matmul' op expected the epilogue to yield 'f32', found 'f32', 'f32'}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xf32>) -> tensor<256x128xf32> epilogue {
  ^bb0(%acc: f32, %row: index, %col: index):
    mx.yield %acc, %acc : f32, f32
  }
  return
}

// -----
func.func @matmul_c13_terminator(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>) {
  // expected-error @below {{'mx.matmul' op expected the epilogue to end with 'mx.yield'}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16> epilogue {
  ^bb0(%acc: f32, %row: index, %col: index):
    %y = arith.truncf %acc : f32 to bf16
  }
  return
}

// -----
func.func @grouped_matmul_offsets_rank(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<2x2xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op operand #4 must be tensor or memref of rank 1 of i32 or i64, but got 'tensor<2x2xi32>'}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<2x2xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return
}

// -----
func.func @grouped_matmul_c1(%a: memref<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected all tensors or all memrefs, found 'memref<300x64xf8E4M3FN>' and 'tensor<300x2xf8E8M0FNU>'}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : memref<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return
}

// -----
func.func @grouped_matmul_c2(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %o1: tensor<300x48xbf16>, %o2: tensor<300x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected 1 outs, found 3}}
  %r:3 = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0, %o1, %o2 : tensor<300x48xbf16>, tensor<300x48xbf16>, tensor<300x48xbf16>) -> tensor<300x48xbf16>, tensor<300x48xbf16>, tensor<300x48xbf16>
  return
}

// -----
func.func @grouped_matmul_c3(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected ragged = rows or reduction, found none}}
  %r = mx.grouped_matmul ragged = none ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @grouped_matmul_c4(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected b of rank 3, found rank 2}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @grouped_matmul_c4_reduction(%a: tensor<64x896xf8E4M3FN>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<64x48xf32>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected outs of rank 3, found rank 2}}
  %r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN>, tensor<64x28xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
func.func @grouped_matmul_c5(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected block_size 32 with scales of type 'f8E8M0FNU', found 48}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) block_size = 48 -> tensor<300x48xbf16>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @grouped_matmul_c6(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<5x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 0 of b to be 4, found 5}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<5x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @grouped_matmul_c6_reduction(%a: tensor<64x896xf8E4M3FN>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<3x64x48xf32>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 0 of outs to be 4, found 3}}
  %r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN>, tensor<64x28xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<3x64x48xf32>) -> tensor<3x64x48xf32>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @grouped_matmul_c7(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x32xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 2 of b to be 64, found 32}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x32xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return
}

// -----
// expected-note @below {{a is defined here}}
func.func @grouped_matmul_c8(%a: tensor<300x60xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x60xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of a to be a multiple of 32, found 60}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x60xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x60xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return
}

// -----
// expected-note @below {{a is defined here}}
func.func @grouped_matmul_c8_reduction(%a: tensor<64x800xf8E4M3FN>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x800xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of a to be a multiple of 128, found 800}}
  %r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x800xf8E4M3FN>, tensor<64x28xf8E8M0FNU>, tensor<48x800xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @grouped_matmul_c9(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x64xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of outs to be 48, found 64}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x64xbf16>) -> tensor<300x64xbf16>
  return
}

// -----
// expected-note @below {{a_scales is defined here}}
func.func @grouped_matmul_c10(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<3x1x32x4x4xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 0 of a_scales to be 6, found 3}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<3x1x32x4x4xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return
}

// -----
// expected-note @below {{a_scales is defined here}}
func.func @grouped_matmul_c11(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected a_scales with ragged = rows, found #mx.scale_layout<sf_128x4>}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return
}

// -----
// expected-note @below {{b_scales is defined here}}
func.func @grouped_matmul_c11_reduction(%a: tensor<64x896xf8E4M3FN>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected b_scales with ragged = reduction, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>}}
  %r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN>, tensor<64x28xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>
  return
}

// -----
// expected-note @below {{a is defined here}}
func.func @grouped_matmul_c12(%a: tensor<64x896xf8E4M3FN, #mx.ragged<groups = 3, align = 128>>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected a in 4 groups, found #mx.ragged<groups = 3, align = 128>}}
  %r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN, #mx.ragged<groups = 3, align = 128>>, tensor<64x28xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>
  return
}

// -----
func.func @grouped_matmul_c13(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected epilogue arguments ('f32', 'index', 'index'), found ('f32', 'i32', 'i32')}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16> epilogue {
  ^bb0(%acc: f32, %row: i32, %col: i32):
    %y = arith.truncf %acc : f32 to bf16
    mx.yield %y : bf16
  }
  return
}

// -----
func.func @grouped_matmul_c14(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected the epilogue to yield 'bf16', found 'f16'}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16> epilogue {
  ^bb0(%acc: f32, %row: index, %col: index):
    %y = arith.truncf %acc : f32 to f16
    mx.yield %y : f16
  }
  return
}

// -----
func.func @grouped_matmul_c15(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x24xf32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected num_b of at least 1, found 0}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x24xf32>) num_b = 0 -> tensor<300x24xf32>
  return
}

// -----
func.func @grouped_matmul_c15_negative(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x24xf32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected num_b of at least 1, found -2}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x24xf32>) num_b = -2 -> tensor<300x24xf32>
  return
}

// -----
func.func @grouped_matmul_c15_epilogue(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x24xf32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected an epilogue that combines the accumulators of num_b = 2, found none}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x24xf32>) num_b = 2 -> tensor<300x24xf32>
  return
}

// -----
func.func @grouped_matmul_c15_accumulate(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x24xf32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected no accumulate with num_b, scatter or quantized outs, found it}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x24xf32>) num_b = 2 accumulate -> tensor<300x24xf32> epilogue {
  ^bb0(%x: f32, %y: f32, %row: index, %col: index):
    mx.yield %x : f32
  }
  return
}

// -----
func.func @grouped_matmul_c15_reduction(%a: tensor<64x896xf8E4M3FN>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>, %to: tensor<64xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected num_b, scatter and quantized outs only with ragged = rows, found reduction}}
  %r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN>, tensor<64x28xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) scatter(%to : tensor<64xi32>) outs(%o0 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @grouped_matmul_c16(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf8E4M3FN>) {
  // expected-error @below {{'mx.grouped_matmul' op expected outs of f32, bf16 or f16, or elements and their scales, found 'tensor<300x48xf8E4M3FN>'}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf8E4M3FN>) -> tensor<300x48xf8E4M3FN>
  return
}

// -----
func.func @grouped_matmul_c16_rounding(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected scale_rounding with quantized outs only, found it without}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf32>) scale_rounding = even -> tensor<300x48xf32>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @grouped_matmul_c17(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<100x48xbf16>, %to: tensor<300xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected outs of f32 with scatter, found 'bf16'}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) scatter(%to : tensor<300xi32>) outs(%o0 : tensor<100x48xbf16>) -> tensor<100x48xbf16>
  return
}

// -----
// expected-note @below {{scatter is defined here}}
func.func @grouped_matmul_c17_rows(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<100x48xf32>, %to: tensor<100xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 0 of scatter to be 300, found 100}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) scatter(%to : tensor<100xi32>) outs(%o0 : tensor<100x48xf32>) -> tensor<100x48xf32>
  return
}

// -----
func.func @grouped_matmul_c17_parts(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x24xf32>, %to: tensor<300xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected scatter with one out and num_b = 1, found 1 outs and num_b = 2}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) scatter(%to : tensor<300xi32>) outs(%o0 : tensor<300x24xf32>) num_b = 2 -> tensor<300x24xf32> epilogue {
  ^bb0(%x: f32, %y: f32, %row: index, %col: index):
    mx.yield %x : f32
  }
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @grouped_matmul_c18(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x128x64xf8E4M3FN>, %sb: tensor<4x128x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x128xf8E4M3FN>, %o1: tensor<300x8xf8E4M3FN>) {
  // expected-error @below {{'mx.grouped_matmul' op expected two outs of elements and f8E8M0FNU scales, found 'tensor<300x128xf8E4M3FN>' and 'tensor<300x8xf8E4M3FN>'}}
  %r:2 = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x128x64xf8E4M3FN>, tensor<4x128x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<300x128xf8E4M3FN>, tensor<300x8xf8E4M3FN>) -> tensor<300x128xf8E4M3FN>, tensor<300x8xf8E4M3FN>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @grouped_matmul_c18_block(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf8E4M3FN>, %o1: tensor<300x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of outs to be a multiple of 32, found 48}}
  %r:2 = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<300x48xf8E4M3FN>, tensor<300x4xf8E8M0FNU>) -> tensor<300x48xf8E4M3FN>, tensor<300x4xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{scales is defined here}}
func.func @grouped_matmul_c18_shape(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x128x64xf8E4M3FN>, %sb: tensor<4x128x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x128xf8E4M3FN>, %o1: tensor<300x5xf8E8M0FNU>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of scales to be 4, found 5}}
  %r:2 = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x128x64xf8E4M3FN>, tensor<4x128x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<300x128xf8E4M3FN>, tensor<300x5xf8E8M0FNU>) -> tensor<300x128xf8E4M3FN>, tensor<300x5xf8E8M0FNU>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @grouped_matmul_c9_parts(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of outs to be 24, found 48}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf32>) num_b = 2 -> tensor<300x48xf32> epilogue {
  ^bb0(%x: f32, %y: f32, %row: index, %col: index):
    mx.yield %x : f32
  }
  return
}

// -----
func.func @grouped_matmul_c19_scatter(%a: tensor<4x75x64xf8E4M3FN>, %sa: tensor<4x75x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<4x75x48xf32>, %to: tensor<300xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected masked without scatter, found both}}
  %r = mx.grouped_matmul ragged = rows masked ins(%a, %sa, %b, %sb : tensor<4x75x64xf8E4M3FN>, tensor<4x75x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) scatter(%to : tensor<300xi32>) outs(%o0 : tensor<4x75x48xf32>) -> tensor<4x75x48xf32>
  return
}

// -----
func.func @grouped_matmul_c19(%a: tensor<64x896xf8E4M3FN>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected masked with ragged = rows only, found it with reduction}}
  %r = mx.grouped_matmul ragged = reduction masked ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN>, tensor<64x28xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @grouped_matmul_c19_matrices(%a: tensor<4x75x64xf8E4M3FN>, %sa: tensor<4x75x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<4x80x48xbf16>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of outs to be 75, found 80}}
  %r = mx.grouped_matmul ragged = rows masked ins(%a, %sa, %b, %sb : tensor<4x75x64xf8E4M3FN>, tensor<4x75x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x80x48xbf16>) -> tensor<4x80x48xbf16>
  return
}

// -----
// expected-note @below {{a is defined here}}
func.func @matmul_c14(%a: tensor<64x64xf8E4M3FN>, %b: tensor<48x64xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected a of bf16 or f16 without a_scales, found 'f8E4M3FN': give the scales of its blocks}}
  %r = mx.matmul ins(%a, %b, %sb : tensor<64x64xf8E4M3FN>, tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{a is defined here}}
func.func @matmul_c14_scales(%a: tensor<64x64xbf16>, %sa: tensor<64x2xf8E8M0FNU>, %b: tensor<48x64xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected no a_scales with a of 'bf16', which is multiplied as it is, found them}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<64x64xbf16>, tensor<64x2xf8E8M0FNU>, tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{b_scales is defined here}}
func.func @matmul_c9_weights(%a: tensor<64x64xbf16>, %b: tensor<48x64xf8E4M3FN>, %sb: tensor<48x3xf8E8M0FNU>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected dimension 1 of b_scales to be 2, found 3}}
  %r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<48x64xf8E4M3FN>, tensor<48x3xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
func.func @matmul_operands(%a: tensor<64x64xbf16>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{expected a, its scales unless it is bf16 or f16, b, and its scales unless it is bf16, found 1 operands}}
  %r = mx.matmul ins(%a : tensor<64x64xbf16>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
func.func @matmul_operand_types(%a: tensor<64x64xbf16>, %b: tensor<48x64xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{expected 3 types, found 2}}
  %r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<48x64xf8E4M3FN>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{a is defined here}}
func.func @grouped_matmul_c20(%a: tensor<300x64xf8E4M3FN>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected a of bf16 or f16 without a_scales, found 'f8E4M3FN': give the scales of its blocks}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf32>) -> tensor<300x48xf32>
  return
}

// -----
func.func @grouped_matmul_c20_reduction(%a: tensor<64x896xbf16>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected ragged = rows with a of bf16 or f16, found reduction: quantize both operands, or neither}}
  %r = mx.grouped_matmul ragged = reduction ins(%a, %b, %sb : tensor<64x896xbf16>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>
  return
}

// -----
func.func @grouped_matmul_c20_right(%a: tensor<64x384xf8E4M3FN, #mx.ragged<groups = 2, align = 128>>, %sa: tensor<64x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>>, %b: tensor<48x384xbf16, #mx.ragged<groups = 2, align = 128>>, %offsets: tensor<2xi32>, %o0: tensor<2x64x48xf32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected ragged = rows with b of bf16 alone, found reduction: quantize both operands, or neither}}
  %r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b : tensor<64x384xf8E4M3FN, #mx.ragged<groups = 2, align = 128>>, tensor<64x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>>, tensor<48x384xbf16, #mx.ragged<groups = 2, align = 128>>) offsets(%offsets : tensor<2xi32>) outs(%o0 : tensor<2x64x48xf32>) -> tensor<2x64x48xf32>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c15(%a: tensor<64x64xf8E4M3FN>, %sa: tensor<64x2xf8E8M0FNU>, %b: tensor<48x64xf8E4M3FN, #mx.weight_layout<fragment_64x64>>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected b that is not packed with a_scales, found 'tensor<48x64xf8E4M3FN, #mx.weight_layout<fragment_64x64>>': leave out mx.pack_weights, or give a as bf16 or f16}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<48x64xf8E4M3FN, #mx.weight_layout<fragment_64x64>>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c15_materialized(%a: tensor<64x64xf8E4M3FN>, %sa: tensor<64x2xf8E8M0FNU>, %b: tensor<1x1x128x32xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected b that is not packed with a_scales, found 'tensor<1x1x128x32xf8E4M3FN>': leave out mx.pack_weights, or give a as bf16 or f16}}
  %r = mx.matmul ins(%a, %sa, %b, %sb : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<1x1x128x32xf8E4M3FN>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c15_tiles(%a: tensor<64x64xbf16>, %b: tensor<1x2x128x32xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected dimension 1 of b to be 1, found 2}}
  %r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<1x2x128x32xf8E4M3FN>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c15_order(%a: tensor<64x64xbf16>, %b: tensor<1x1x32x128xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected dimension 2 of b to be 128, found 32}}
  %r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<1x1x32x128xf8E4M3FN>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c15_encoding(%a: tensor<64x64xbf16>, %b: tensor<1x1x128x32xf8E4M3FN, #mx.weight_layout<fragment_64x64>>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected b without encoding, found #mx.weight_layout<fragment_64x64>}}
  %r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<1x1x128x32xf8E4M3FN, #mx.weight_layout<fragment_64x64>>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @matmul_c8_packed(%a: tensor<64x64xbf16>, %b: tensor<40x64xf8E4M3FN, #mx.weight_layout<fragment_64x64>>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected dimension 1 of outs to be 40, found 48}}
  %r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<40x64xf8E4M3FN, #mx.weight_layout<fragment_64x64>>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @grouped_matmul_c21(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN, #mx.weight_layout<fragment_64x64>>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xf32>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected b that is not packed with a_scales, found 'tensor<4x48x64xf8E4M3FN, #mx.weight_layout<fragment_64x64>>': leave out mx.pack_weights, or give a as bf16 or f16}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN, #mx.weight_layout<fragment_64x64>>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf32>) -> tensor<300x48xf32>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @grouped_matmul_c21_tiles(%a: tensor<300x64xbf16>, %b: tensor<4x1x2x128x32xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xf32>, %g: tensor<4xi32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected dimension 2 of b to be 1, found 2}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %b, %sb : tensor<300x64xbf16>, tensor<4x1x2x128x32xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf32>) -> tensor<300x48xf32>
  return
}

// -----
func.func @combine_c1(%z: memref<300x48xbf16>, %rows: tensor<300xi32>, %o0: tensor<100x48xf32>) {
  // expected-error @below {{'mx.combine' op expected all tensors or all memrefs, found 'memref<300x48xbf16>' and 'tensor<300xi32>'}}
  %r = mx.combine ins(%z : memref<300x48xbf16>) rows(%rows : tensor<300xi32>) outs(%o0 : tensor<100x48xf32>) -> tensor<100x48xf32>
  return
}

// -----
func.func @combine_c2(%z: tensor<300x48xbf16>, %rows: tensor<300xi32>, %o0: tensor<100x48xf32>, %o1: tensor<100x48xf32>) {
  // expected-error @below {{'mx.combine' op expected 1 outs, found 2}}
  %r:2 = mx.combine ins(%z : tensor<300x48xbf16>) rows(%rows : tensor<300xi32>) outs(%o0, %o1 : tensor<100x48xf32>, tensor<100x48xf32>) -> tensor<100x48xf32>, tensor<100x48xf32>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @combine_c3(%z: tensor<2x300x48xbf16>, %rows: tensor<300xi32>, %o0: tensor<100x48xf32>) {
  // expected-error @below {{'mx.combine' op expected input of rank 2, found rank 3}}
  %r = mx.combine ins(%z : tensor<2x300x48xbf16>) rows(%rows : tensor<300xi32>) outs(%o0 : tensor<100x48xf32>) -> tensor<100x48xf32>
  return
}

// -----
// expected-note @below {{rows is defined here}}
func.func @combine_c4(%z: tensor<300x48xbf16>, %rows: tensor<299xi32>, %o0: tensor<100x48xf32>) {
  // expected-error @below {{'mx.combine' op expected dimension 0 of rows to be 300, found 299}}
  %r = mx.combine ins(%z : tensor<300x48xbf16>) rows(%rows : tensor<299xi32>) outs(%o0 : tensor<100x48xf32>) -> tensor<100x48xf32>
  return
}

// -----
// expected-note @below {{outs is defined here}}
func.func @combine_c4_columns(%z: tensor<300x48xbf16>, %rows: tensor<300xi32>, %o0: tensor<100x50xf32>) {
  // expected-error @below {{'mx.combine' op expected dimension 1 of outs to be 48, found 50}}
  %r = mx.combine ins(%z : tensor<300x48xbf16>) rows(%rows : tensor<300xi32>) outs(%o0 : tensor<100x50xf32>) -> tensor<100x50xf32>
  return
}

// -----
func.func @combine_c5(%z: tensor<300x48xbf16>, %rows: tensor<300xi32>, %g: tensor<0xi32>, %o0: tensor<100x48xf32>) {
  // expected-error @below {{'mx.combine' op expected at least 1 group, found 0}}
  %r = mx.combine ins(%z : tensor<300x48xbf16>) rows(%rows : tensor<300xi32>) offsets(%g : tensor<0xi32>) outs(%o0 : tensor<100x48xf32>) -> tensor<100x48xf32>
  return
}

// -----
// expected-note @below {{input is defined here}}
func.func @combine_c6(%z: tensor<300x48xbf16, #mx.ragged<groups = 4, align = 128>>, %rows: tensor<300xi32>, %o0: tensor<100x48xf32>) {
  // expected-error @below {{'mx.combine' op expected input without encoding, found #mx.ragged<groups = 4, align = 128>}}
  %r = mx.combine ins(%z : tensor<300x48xbf16, #mx.ragged<groups = 4, align = 128>>) rows(%rows : tensor<300xi32>) outs(%o0 : tensor<100x48xf32>) -> tensor<100x48xf32>
  return
}

// -----
func.func @group_rows_c1(%ids: memref<30x8xi32>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<i32>) {
  // expected-error @below {{'mx.group_rows' op expected all tensors or all memrefs, found 'memref<30x8xi32>' and 'tensor<240xi32>'}}
  %g:4 = mx.group_rows ins(%ids : memref<30x8xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>) -> tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>
  return
}

// -----
func.func @group_rows_c2(%ids: tensor<30x8xi32>, %r: tensor<240xi32>, %e: tensor<4xi32>) {
  // expected-error @below {{'mx.group_rows' op expected 4 outs, rows, slots, ends and count, found 2}}
  %g:2 = mx.group_rows ins(%ids : tensor<30x8xi32>) outs(%r, %e : tensor<240xi32>, tensor<4xi32>) -> tensor<240xi32>, tensor<4xi32>
  return
}

// -----
// expected-note @below {{ids is defined here}}
func.func @group_rows_c3(%ids: tensor<240xi32>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<i32>) {
  // expected-error @below {{'mx.group_rows' op expected ids of rank 2, found rank 1}}
  %g:4 = mx.group_rows ins(%ids : tensor<240xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>) -> tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>
  return
}

// -----
// expected-note @below {{ids is defined here}}
func.func @group_rows_c3_choices(%ids: tensor<30x?xi32>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<i32>) {
  // expected-error @below {{'mx.group_rows' op expected a known number of choices, at least 1, as dimension 1 of ids, found 'tensor<30x?xi32>'}}
  %g:4 = mx.group_rows ins(%ids : tensor<30x?xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>) -> tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>
  return
}

// -----
// expected-note @below {{ids is defined here}}
func.func @group_rows_c3_none(%ids: tensor<30x0xi32>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<i32>) {
  // expected-error @below {{'mx.group_rows' op expected a known number of choices, at least 1, as dimension 1 of ids, found 'tensor<30x0xi32>'}}
  %g:4 = mx.group_rows ins(%ids : tensor<30x0xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>) -> tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>
  return
}

// -----
// expected-note @below {{rows is defined here}}
func.func @group_rows_c4(%ids: tensor<30x8xi32>, %r: tensor<30x8xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<i32>) {
  // expected-error @below {{'mx.group_rows' op expected rows of rank 1, found rank 2}}
  %g:4 = mx.group_rows ins(%ids : tensor<30x8xi32>) outs(%r, %s, %e, %c : tensor<30x8xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>) -> tensor<30x8xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>
  return
}

// -----
// expected-note @below {{count is defined here}}
func.func @group_rows_c4_count(%ids: tensor<30x8xi32>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<1xi32>) {
  // expected-error @below {{'mx.group_rows' op expected count of rank 0, found rank 1}}
  %g:4 = mx.group_rows ins(%ids : tensor<30x8xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<1xi32>) -> tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<1xi32>
  return
}

// -----
// expected-note @below {{slots is defined here}}
func.func @group_rows_c5(%ids: tensor<30x8xi32>, %r: tensor<240xi32>, %s: tensor<239xi32>, %e: tensor<4xi32>, %c: tensor<i32>) {
  // expected-error @below {{'mx.group_rows' op expected dimension 0 of slots to be 240, found 239}}
  %g:4 = mx.group_rows ins(%ids : tensor<30x8xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<239xi32>, tensor<4xi32>, tensor<i32>) -> tensor<240xi32>, tensor<239xi32>, tensor<4xi32>, tensor<i32>
  return
}

// -----
// expected-note @below {{ends is defined here}}
func.func @group_rows_c6(%ids: tensor<30x8xi32>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<0xi32>, %c: tensor<i32>) {
  // expected-error @below {{'mx.group_rows' op expected at least 1 expert, found 0}}
  %g:4 = mx.group_rows ins(%ids : tensor<30x8xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<0xi32>, tensor<i32>) -> tensor<240xi32>, tensor<240xi32>, tensor<0xi32>, tensor<i32>
  return
}

// -----
// expected-note @below {{ids is defined here}}
func.func @group_rows_c7(%ids: tensor<30x8xi32, #mx.ragged<groups = 4, align = 128>>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<i32>) {
  // expected-error @below {{'mx.group_rows' op expected ids without encoding, found #mx.ragged<groups = 4, align = 128>}}
  %g:4 = mx.group_rows ins(%ids : tensor<30x8xi32, #mx.ragged<groups = 4, align = 128>>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>) -> tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>
  return
}

// -----
func.func @yield_parent(%x: f32) {
  // expected-error @below {{'mx.yield' op expects parent op to be one of 'mx.matmul, mx.grouped_matmul, mx.quantize'}}
  mx.yield %x : f32
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c16(%a: tensor<64x64xbf16>, %b: tensor<48x64xf8E4M3FN>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected b of bf16 without b_scales, found 'f8E4M3FN': give the scales of its blocks}}
  %r = mx.matmul ins(%a, %b : tensor<64x64xbf16>, tensor<48x64xf8E4M3FN>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c16_scales(%a: tensor<64x64xbf16>, %b: tensor<48x64xbf16>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected no b_scales with b of 'bf16', which is multiplied as it is, found them}}
  %r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<48x64xbf16>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{a is defined here}}
func.func @matmul_c16_left(%a: tensor<64x64xf16>, %b: tensor<48x64xbf16>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected a of bf16, or elements, with b of bf16, found 'f16': quantize b, or give both as bf16}}
  %r = mx.matmul ins(%a, %b : tensor<64x64xf16>, tensor<48x64xbf16>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{a is defined here}}
func.func @matmul_c4_left(%a: tensor<64x64xf8E4M3FN>, %sa: tensor<64x4xf8E4M3FN>, %b: tensor<48x64xbf16>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected a of type f4E2M1FN with scales of type f8E4M3FN, found 'f8E4M3FN'}}
  %r = mx.matmul ins(%a, %sa, %b : tensor<64x64xf8E4M3FN>, tensor<64x4xf8E4M3FN>, tensor<48x64xbf16>) outs(%o0 : tensor<64x48xf32>) block_size = 16 -> tensor<64x48xf32>
  return
}

// -----
func.func @matmul_c16_block(%a: tensor<64x64xbf16>, %b: tensor<48x64xbf16>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected no block_size without scales, found 16}}
  %r = mx.matmul ins(%a, %b : tensor<64x64xbf16>, tensor<48x64xbf16>) outs(%o0 : tensor<64x48xf32>) block_size = 16 -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @matmul_c15_numbers(%a: tensor<64x64xbf16>, %b: tensor<1x1x4x2xbf16>, %o0: tensor<64x48xf32>) {
  // expected-error @below {{'mx.matmul' op expected b that is not packed without b_scales, found 'tensor<1x1x4x2xbf16>': rows of bf16 are multiplied as they are}}
  %r = mx.matmul ins(%a, %b : tensor<64x64xbf16>, tensor<1x1x4x2xbf16>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  return
}

// -----
// expected-note @below {{b is defined here}}
func.func @grouped_matmul_c22(%a: tensor<300x64xbf16>, %b: tensor<4x48x64xbf16>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf32>) {
  // expected-error @below {{'mx.grouped_matmul' op expected no b_scales with b of 'bf16', which is multiplied as it is, found them}}
  %r = mx.grouped_matmul ragged = rows ins(%a, %b, %sb : tensor<300x64xbf16>, tensor<4x48x64xbf16>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf32>) -> tensor<300x48xf32>
  return
}
