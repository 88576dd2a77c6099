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
// SET function = @dequantize_input_type(%i: tensor<256x512xf16>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>)
// expected-error @below {{'mx.dequantize' op operand #0 must be ranked tensor or memref of f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8 elements, but got 'tensor<256x512xf16>'}}
%r = mx.dequantize ins(%i, %s : tensor<256x512xf16>, tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @dequantize_c1(%i: tensor<256x512xf8E4M3FN>, %s: memref<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>)
// expected-error @below {{'mx.dequantize' op expected all tensors or all memrefs, found 'tensor<256x512xf8E4M3FN>' and 'memref<256x16xf8E8M0FNU>'}}
%r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, memref<256x16xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @dequantize_c2(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>, %o1: tensor<256x512xbf16>)
// expected-error @below {{'mx.dequantize' op expected 1 operand in outs, found 2}}
%r:2 = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x512xbf16>, tensor<256x512xbf16>) -> tensor<256x512xbf16>, tensor<256x512xbf16>

// SET function = @dequantize_c3(%i: tensor<512xf8E4M3FN>, %s: tensor<16xf8E8M0FNU>, %o0: tensor<512xbf16>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.dequantize' op expected input of rank 2 or more, found rank 1}}
%r = mx.dequantize ins(%i, %s : tensor<512xf8E4M3FN>, tensor<16xf8E8M0FNU>) outs(%o0 : tensor<512xbf16>) -> tensor<512xbf16>

// SET function = @dequantize_c4(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x8xf8E8M0FNU>, %o0: tensor<256x512xbf16>)
// expected-error @below {{'mx.dequantize' op expected block_size 32 with scales of type 'f8E8M0FNU', found 64}}
%r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x8xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16>) block_size = 64 -> tensor<256x512xbf16>

// SET function = @dequantize_c5(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>, %g: f32)
// expected-error @below {{'mx.dequantize' op expected scales of type f8E4M3FN with a global_scale, found scales of type 'f8E8M0FNU'}}
%r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) global_scale(%g) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @dequantize_c6(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>)
// expected-error @below {{'mx.dequantize' op expected 'ragged' and 'offsets' together, found only ragged}}
%r = mx.dequantize ragged = rows ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @dequantize_c7(%i: tensor<2x256x512xi8>, %s: tensor<2x256x16xf8E8M0FNU>, %o0: tensor<2x256x512xf32>, %g: tensor<4xi32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.dequantize' op expected input of rank 2, found rank 3}}
%r = mx.dequantize ragged = rows ins(%i, %s : tensor<2x256x512xi8>, tensor<2x256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<2x256x512xf32>) -> tensor<2x256x512xf32>

// SET function = @dequantize_c8(%i: tensor<256x500xf8E4M3FN>, %s: tensor<256x15xf8E8M0FNU>, %o0: tensor<256x500xf16>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.dequantize' op expected dimension 1 of input to be a multiple of 32, found 500}}
%r = mx.dequantize ins(%i, %s : tensor<256x500xf8E4M3FN>, tensor<256x15xf8E8M0FNU>) outs(%o0 : tensor<256x500xf16>) -> tensor<256x500xf16>

// SET function = @dequantize_c8_ragged(%i: tensor<256x544xf8E4M3FN>, %s: tensor<256x17xf8E8M0FNU>, %o0: tensor<256x32xf16>, %g: tensor<4xi32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.dequantize' op expected dimension 1 of input to be a multiple of 128, found 544}}
%r = mx.dequantize ragged = reduction ins(%i, %s : tensor<256x544xf8E4M3FN>, tensor<256x17xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x32xf16>) -> tensor<256x32xf16>

// SET function = @dequantize_c9(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<512x256xbf16>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.dequantize' op expected dimension 0 of input to be 512, found 256}}
%r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<512x256xbf16>) -> tensor<512x256xbf16>

// SET function = @dequantize_c9_capacity(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>, %g: tensor<4xi32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.dequantize' op expected dimension 1 of input to be 1024, found 512}}
%r = mx.dequantize ragged = reduction ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @dequantize_c9_padded(%i: tensor<256x1024xf8E4M3FN>, %s: tensor<256x32xf8E8M0FNU>, %o0: tensor<256x512xbf16>, %g: tensor<4xi32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.dequantize' op expected dimension 1 of input to be 512, found 1024}}
%r = mx.dequantize ragged = reduction padded ins(%i, %s : tensor<256x1024xf8E4M3FN>, tensor<256x32xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @dequantize_c9_rank(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<1x256x512xbf16>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.dequantize' op expected outs of rank 2, found rank 3}}
%r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<1x256x512xbf16>) -> tensor<1x256x512xbf16>

// SET function = @dequantize_c10(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x8xf8E8M0FNU>, %o0: tensor<256x512xbf16>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.dequantize' op expected dimension 1 of scales to be 16, found 8}}
%r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x8xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @dequantize_c11(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear, ragged = rows, groups = 2>>, %o0: tensor<256x512xbf16>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.dequantize' op expected scales with ragged = none, found #mx.scale_layout<linear, ragged = rows, groups = 2>}}
%r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear, ragged = rows, groups = 2>>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @dequantize_c12(%i: tensor<256x512xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.dequantize' op expected input without encoding, found #mx.ragged<groups = 4, align = 128>}}
%r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @dequantize_c13(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16, "sparse">)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.dequantize' op expected outs without encoding, found "sparse"}}
%r = mx.dequantize ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<256x512xbf16, "sparse">) -> tensor<256x512xbf16, "sparse">

// SET function = @dequantize_c14(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x512xbf16>, %g: tensor<4xi32>)
// expected-error @below {{'mx.dequantize' op expected ragged = reduction with 'padded', found ragged = rows}}
%r = mx.dequantize ragged = rows padded ins(%i, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @dequantize_c4_rows(%i: tensor<200x512xf8E4M3FN>, %s: tensor<2x4xf32>, %o0: tensor<200x512xf32>)
// expected-error @below {{'mx.dequantize' op expected block_size 128 with scales of type 'f32', found 64x128}}
%r = mx.dequantize ins(%i, %s : tensor<200x512xf8E4M3FN>, tensor<2x4xf32>) outs(%o0 : tensor<200x512xf32>) block_size = 64x128 -> tensor<200x512xf32>

// SET function = @dequantize_c6_squares(%i: tensor<200x512xf8E4M3FN>, %s: tensor<2x4xf32>, %o0: tensor<200x512xf32>, %g: tensor<3xi32>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.dequantize' op expected no expert groups with blocks of 128 x 128 elements, found ragged = rows: use a separate matrix for each group}}
%r = mx.dequantize ragged = rows ins(%i, %s : tensor<200x512xf8E4M3FN>, tensor<2x4xf32>) offsets(%g : tensor<3xi32>) outs(%o0 : tensor<200x512xf32>) block_size = 128x128 -> tensor<200x512xf32>

// SET function = @dequantize_c10_rows(%i: tensor<200x512xf8E4M3FN>, %s: tensor<2x4xf32>, %o0: tensor<200x512xf32>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.dequantize' op expected dimension 0 of scales to be 200, found 2}}
%r = mx.dequantize ins(%i, %s : tensor<200x512xf8E4M3FN>, tensor<2x4xf32>) outs(%o0 : tensor<200x512xf32>) block_size = 128 -> tensor<200x512xf32>

// SET function = @dequantize_c10_squares(%i: tensor<200x512xf8E4M3FN>, %s: tensor<200x4xf32>, %o0: tensor<200x512xf32>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.dequantize' op expected dimension 0 of scales to be 2, found 200}}
%r = mx.dequantize ins(%i, %s : tensor<200x512xf8E4M3FN>, tensor<200x4xf32>) outs(%o0 : tensor<200x512xf32>) block_size = 128x128 -> tensor<200x512xf32>

// SET function = @dequantize_c10_tiles(%i: tensor<200x512xf8E4M3FN>, %s: tensor<1x1x32x4x4xf32>, %o0: tensor<200x512xf32>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.dequantize' op expected scales of type 'f32' in the linear layout, found the tiled type 'tensor<1x1x32x4x4xf32>'}}
%r = mx.dequantize ins(%i, %s : tensor<200x512xf8E4M3FN>, tensor<1x1x32x4x4xf32>) outs(%o0 : tensor<200x512xf32>) block_size = 128x128 -> tensor<200x512xf32>

// SET function = @dequantize_c10_mn_major(%i: tensor<200x512xf8E4M3FN>, %s: tensor<2x4xf32, #mx.scale_layout<mn_major>>, %o0: tensor<200x512xf32>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.dequantize' op expected scales of blocks of 128 x 128 elements in the linear layout, found mn_major}}
%r = mx.dequantize ins(%i, %s : tensor<200x512xf8E4M3FN>, tensor<2x4xf32, #mx.scale_layout<mn_major>>) outs(%o0 : tensor<200x512xf32>) block_size = 128x128 -> tensor<200x512xf32>
