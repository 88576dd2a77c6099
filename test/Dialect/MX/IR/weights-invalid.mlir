// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// One fault a case, in a function named after the constraint of docs/reference/Spec.md.

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
// SET function = @pack_weights_input_type(%i: tensor<100x200xi8>, %o0: tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>)
// expected-error @below {{'mx.pack_weights' op operand #0 must be ranked tensor or memref of f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN elements, but got 'tensor<100x200xi8>'}}
%r = mx.pack_weights ins(%i : tensor<100x200xi8>) outs(%o0 : tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) -> tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>

// SET function = @pack_weights_c1(%i: memref<100x200xf4E2M1FN>, %o0: tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>)
// expected-error @below {{'mx.pack_weights' op expected all tensors or all memrefs, found 'memref<100x200xf4E2M1FN>' and 'tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>'}}
%r = mx.pack_weights ins(%i : memref<100x200xf4E2M1FN>) outs(%o0 : tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) -> tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>

// SET function = @pack_weights_c2(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>, %o1: tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>)
// expected-error @below {{'mx.pack_weights' op expected 1 outs, found 2}}
%r:2 = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0, %o1 : tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>, tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) -> tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>, tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>

// SET function = @pack_weights_c3(%i: tensor<200xf4E2M1FN>, %o0: tensor<2x4x128x32xf4E2M1FN>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.pack_weights' op expected input of rank 2 or more, found rank 1}}
%r = mx.pack_weights ins(%i : tensor<200xf4E2M1FN>) outs(%o0 : tensor<2x4x128x32xf4E2M1FN>) -> tensor<2x4x128x32xf4E2M1FN>

// SET function = @pack_weights_c4(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<100x200xf8E4M3FN, #mx.weight_layout<fragment_64x64>>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_weights' op expected outs of type 'f4E2M1FN' like the input, found 'f8E4M3FN'}}
%r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<100x200xf8E4M3FN, #mx.weight_layout<fragment_64x64>>) -> tensor<100x200xf8E4M3FN, #mx.weight_layout<fragment_64x64>>

// SET function = @pack_weights_c5(%i: tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>, %o0: tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.pack_weights' op expected input without encoding, found #mx.weight_layout<fragment_64x64>}}
%r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) outs(%o0 : tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) -> tensor<100x200xf4E2M1FN, #mx.weight_layout<fragment_64x64>>

// SET function = @pack_weights_c6(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<100x200xf4E2M1FN>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_weights' op expected outs of rank 2 with a #mx.weight_layout encoding or, materialized, of rank 4, found 'tensor<100x200xf4E2M1FN>'}}
%r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<100x200xf4E2M1FN>) -> tensor<100x200xf4E2M1FN>

// SET function = @pack_weights_c6_rank(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<2x4x4096xf4E2M1FN>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_weights' op expected outs of rank 2 with a #mx.weight_layout encoding or, materialized, of rank 4, found 'tensor<2x4x4096xf4E2M1FN>'}}
%r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<2x4x4096xf4E2M1FN>) -> tensor<2x4x4096xf4E2M1FN>

// SET function = @pack_weights_c6_logical(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<100x192xf4E2M1FN, #mx.weight_layout<fragment_64x64>>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_weights' op expected dimension 1 of outs to be 200, found 192}}
%r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<100x192xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) -> tensor<100x192xf4E2M1FN, #mx.weight_layout<fragment_64x64>>

// SET function = @pack_weights_c6_tiles(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<2x3x128x32xf4E2M1FN>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_weights' op expected dimension 1 of outs to be 4, found 3}}
%r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<2x3x128x32xf4E2M1FN>) -> tensor<2x3x128x32xf4E2M1FN>

// SET function = @pack_weights_c6_encoding(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<2x4x128x32xf4E2M1FN, #mx.weight_layout<fragment_64x64>>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_weights' op expected outs without encoding, found #mx.weight_layout<fragment_64x64>}}
%r = mx.pack_weights ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<2x4x128x32xf4E2M1FN, #mx.weight_layout<fragment_64x64>>) -> tensor<2x4x128x32xf4E2M1FN, #mx.weight_layout<fragment_64x64>>

// SET function = @permute_reduction_c1(%i: tensor<256x512xf8E4M3FN>, %s: memref<256x16xf8E8M0FNU>, %o: tensor<256x512xbf16>)
// expected-error @below {{'mx.permute_reduction' op expected all tensors or all memrefs, found 'tensor<256x512xf8E4M3FN>' and 'memref<256x16xf8E8M0FNU>'}}
%r = mx.permute_reduction ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : memref<256x16xf8E8M0FNU>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @permute_reduction_c2(%i: tensor<256x512xbf16>, %o: tensor<256x512xbf16>, %p: tensor<256x512xbf16>)
// expected-error @below {{'mx.permute_reduction' op expected 1 outs, found 2}}
%r:2 = mx.permute_reduction ins(%i : tensor<256x512xbf16>) outs(%o, %p : tensor<256x512xbf16>, tensor<256x512xbf16>) -> tensor<256x512xbf16>, tensor<256x512xbf16>

// SET function = @permute_reduction_c3(%i: tensor<512xbf16>, %o: tensor<512xbf16>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.permute_reduction' op expected input of rank 2 or more, found rank 1}}
%r = mx.permute_reduction ins(%i : tensor<512xbf16>) outs(%o : tensor<512xbf16>) -> tensor<512xbf16>

// SET function = @permute_reduction_c4(%i: tensor<256x512xbf16>, %o: tensor<256x512xf32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.permute_reduction' op expected outs of bf16, found 'f32'}}
%r = mx.permute_reduction ins(%i : tensor<256x512xbf16>) outs(%o : tensor<256x512xf32>) -> tensor<256x512xf32>

// SET function = @permute_reduction_c5(%i: tensor<256x512xf8E4M3FN>, %o: tensor<256x512xbf16>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.permute_reduction' op expected an input of bf16, or scales, found an input of 'f8E4M3FN' without}}
%r = mx.permute_reduction ins(%i : tensor<256x512xf8E4M3FN>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @permute_reduction_c6(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o: tensor<256x512xbf16>)
// expected-error @below {{'mx.permute_reduction' op expected block_size 32 with scales of type 'f8E8M0FNU', found 64}}
%r = mx.permute_reduction ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o : tensor<256x512xbf16>) block_size = 64 -> tensor<256x512xbf16>

// SET function = @permute_reduction_c7(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x8xf8E8M0FNU>, %o: tensor<256x512xbf16>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.permute_reduction' op expected dimension 1 of scales to be 16, found 8}}
%r = mx.permute_reduction ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x8xf8E8M0FNU>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @permute_reduction_c8(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear, ragged = rows, groups = 2>>, %o: tensor<256x512xbf16>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.permute_reduction' op expected scales with ragged = none, found #mx.scale_layout<linear, ragged = rows, groups = 2>}}
%r = mx.permute_reduction ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear, ragged = rows, groups = 2>>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @permute_reduction_c9(%i: tensor<256x512xbf16>, %o: tensor<256x512xbf16>, %g: tensor<4xi32>)
// expected-error @below {{'mx.permute_reduction' op expected offsets of expert groups with scales and ragged = rows, found them without}}
%r = mx.permute_reduction ragged = rows ins(%i : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @permute_reduction_c10(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o: tensor<256x512xbf16>)
// expected-error @below {{'mx.permute_reduction' op expected 'ragged' and 'offsets' together, found only ragged}}
%r = mx.permute_reduction ragged = rows ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @permute_reduction_c12(%i: tensor<256x?xbf16>, %o: tensor<256x?xbf16>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.permute_reduction' op expected the last dimension of the input to be known, found 'tensor<256x?xbf16>'}}
%r = mx.permute_reduction ins(%i : tensor<256x?xbf16>) outs(%o : tensor<256x?xbf16>) -> tensor<256x?xbf16>

// SET function = @permute_reduction_c13(%i: tensor<256x48xbf16>, %o: tensor<256x48xbf16>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.permute_reduction' op expected dimension 1 of input to be a multiple of 32, found 48}}
%r = mx.permute_reduction ins(%i : tensor<256x48xbf16>) outs(%o : tensor<256x48xbf16>) -> tensor<256x48xbf16>

// SET function = @permute_reduction_c14(%i: tensor<128x512xbf16>, %o: tensor<256x512xbf16>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.permute_reduction' op expected dimension 0 of input to be 256, found 128}}
%r = mx.permute_reduction ins(%i : tensor<128x512xbf16>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @permute_reduction_c11(%i: tensor<2x256x512xf8E4M3FN>, %s: tensor<2x256x16xf8E8M0FNU>, %o: tensor<2x256x512xbf16>, %g: tensor<4xi32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.permute_reduction' op expected input of rank 2, found rank 3}}
%r = mx.permute_reduction ragged = rows ins(%i : tensor<2x256x512xf8E4M3FN>) scales(%s : tensor<2x256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o : tensor<2x256x512xbf16>) -> tensor<2x256x512xbf16>

// SET function = @permute_reduction_c15(%i: tensor<256x512xbf16>, %o: tensor<256x512xbf16, "sparse">)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.permute_reduction' op expected outs without encoding, found "sparse"}}
%r = mx.permute_reduction ins(%i : tensor<256x512xbf16>) outs(%o : tensor<256x512xbf16, "sparse">) -> tensor<256x512xbf16, "sparse">

// SET function = @permute_reduction_c16(%i: memref<256x512xbf16>)
// expected-error @below {{'mx.permute_reduction' op expected another memref as outs than the input, whose elements change places, found the same one}}
mx.permute_reduction ins(%i : memref<256x512xbf16>) outs(%i : memref<256x512xbf16>)
