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
// SET function = @pack_operand_input_type(%i: tensor<100x200xi32>, %o0: tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>)
// expected-error @below {{'mx.pack_operand' op operand #0 must be ranked tensor or memref of f32, bf16 or f16, or f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8 elements, but got 'tensor<100x200xi32>'}}
%r = mx.pack_operand ins(%i : tensor<100x200xi32>) outs(%o0 : tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>) -> tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>

// SET function = @pack_operand_c1(%i: memref<100x200xf4E2M1FN>, %o0: tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>)
// expected-error @below {{'mx.pack_operand' op expected all tensors or all memrefs, found 'memref<100x200xf4E2M1FN>' and 'tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>'}}
%r = mx.pack_operand ins(%i : memref<100x200xf4E2M1FN>) outs(%o0 : tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>) -> tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>

// SET function = @pack_operand_c2(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>, %o1: tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>)
// expected-error @below {{'mx.pack_operand' op expected 1 operand in outs, found 2}}
%r:2 = mx.pack_operand ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0, %o1 : tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>, tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>) -> tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>, tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>

// SET function = @pack_operand_c3(%i: tensor<200xf4E2M1FN>, %o0: tensor<2x4x128x32xf4E2M1FN>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.pack_operand' op expected input of rank 2 or more, found rank 1}}
%r = mx.pack_operand order = #mxgpu.fragment_64x64 ins(%i : tensor<200xf4E2M1FN>) outs(%o0 : tensor<2x4x128x32xf4E2M1FN>) -> tensor<2x4x128x32xf4E2M1FN>

// SET function = @pack_operand_c4(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<2x4x128x32xf4E2M1FN>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_operand' op expected an order in the encoding of outs or in the attribute 'order', found outs of type 'tensor<2x4x128x32xf4E2M1FN>'}}
%r = mx.pack_operand ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<2x4x128x32xf4E2M1FN>) -> tensor<2x4x128x32xf4E2M1FN>

// SET function = @pack_operand_c5(%i: memref<256x512xbf16>)
// expected-error @below {{'mx.pack_operand' op expected different memrefs for the input and outs, found the same memref}}
mx.pack_operand order = #mxgpu.k_order<64> ins(%i : memref<256x512xbf16>) outs(%i : memref<256x512xbf16>)

// SET function = @pack_operand_c6(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<100x200xf8E4M3FN, #mxgpu.fragment_64x64>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_operand' op expected outs of type 'f4E2M1FN' like the input, found 'f8E4M3FN'}}
%r = mx.pack_operand ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<100x200xf8E4M3FN, #mxgpu.fragment_64x64>) -> tensor<100x200xf8E4M3FN, #mxgpu.fragment_64x64>

// SET function = @pack_operand_c6_scales(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o: tensor<256x512xf8E4M3FN>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_operand' op expected outs of type f32, bf16 or f16 if the input has scales, found 'f8E4M3FN'}}
%r = mx.pack_operand order = #mxgpu.k_order<64> ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o : tensor<256x512xf8E4M3FN>) -> tensor<256x512xf8E4M3FN>

// SET function = @pack_operand_c7(%i: tensor<256x512xbf16>, %o: tensor<256x512xbf16>, %g: tensor<4xi32>)
// expected-error @below {{'mx.pack_operand' op expected offsets only with scales and ragged = rows: leave out the offsets}}
%r = mx.pack_operand order = #mxgpu.k_order<64> ragged = rows ins(%i : tensor<256x512xbf16>) offsets(%g : tensor<4xi32>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @pack_operand_c8(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o: tensor<256x512xbf16>)
// expected-error @below {{'mx.pack_operand' op expected 'ragged' and 'offsets' together, found only ragged}}
%r = mx.pack_operand order = #mxgpu.k_order<64> ragged = rows ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @pack_operand_c8_rank(%i: tensor<2x256x512xf8E4M3FN>, %s: tensor<2x256x16xf8E8M0FNU>, %o: tensor<2x256x512xbf16>, %g: tensor<4xi32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.pack_operand' op expected input of rank 2, found rank 3}}
%r = mx.pack_operand order = #mxgpu.k_order<64> ragged = rows ins(%i : tensor<2x256x512xf8E4M3FN>) scales(%s : tensor<2x256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o : tensor<2x256x512xbf16>) -> tensor<2x256x512xbf16>

// SET function = @pack_operand_c9(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>, %o: tensor<256x512xbf16>)
// expected-error @below {{'mx.pack_operand' op expected block_size 32 with scales of type 'f8E8M0FNU', found 64}}
%r = mx.pack_operand order = #mxgpu.k_order<64> ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x16xf8E8M0FNU>) outs(%o : tensor<256x512xbf16>) block_size = 64 -> tensor<256x512xbf16>

// SET function = @pack_operand_c9_shape(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x8xf8E8M0FNU>, %o: tensor<256x512xbf16>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.pack_operand' op expected dimension 1 of scales to be 16, found 8}}
%r = mx.pack_operand order = #mxgpu.k_order<64> ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x8xf8E8M0FNU>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @pack_operand_c9_layout(%i: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear, ragged = rows, groups = 2>>, %o: tensor<256x512xbf16>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.pack_operand' op expected scales with ragged = none, found #mx.scale_layout<linear, ragged = rows, groups = 2>}}
%r = mx.pack_operand order = #mxgpu.k_order<64> ins(%i : tensor<256x512xf8E4M3FN>) scales(%s : tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear, ragged = rows, groups = 2>>) outs(%o : tensor<256x512xbf16>) -> tensor<256x512xbf16>

// SET function = @pack_operand_c10(%i: tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>, %o0: tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.pack_operand' op expected input without encoding, found #mxgpu.fragment_64x64}}
%r = mx.pack_operand ins(%i : tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>) outs(%o0 : tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>) -> tensor<100x200xf4E2M1FN, #mxgpu.fragment_64x64>

// SET function = @pack_operand_c11(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<100x192xf4E2M1FN, #mxgpu.fragment_64x64>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_operand' op expected dimension 1 of outs to be 200, found 192}}
%r = mx.pack_operand ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<100x192xf4E2M1FN, #mxgpu.fragment_64x64>) -> tensor<100x192xf4E2M1FN, #mxgpu.fragment_64x64>

// SET function = @pack_operand_c11_tiles(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<2x3x128x32xf4E2M1FN>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_operand' op expected dimension 1 of outs to be 4, found 3}}
%r = mx.pack_operand order = #mxgpu.fragment_64x64 ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<2x3x128x32xf4E2M1FN>) -> tensor<2x3x128x32xf4E2M1FN>

// SET function = @pack_operand_c11_rank(%i: tensor<100x200xf4E2M1FN>, %o0: tensor<2x4x4096xf4E2M1FN>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_operand' op expected outs of rank 4, found rank 3}}
%r = mx.pack_operand order = #mxgpu.fragment_64x64 ins(%i : tensor<100x200xf4E2M1FN>) outs(%o0 : tensor<2x4x4096xf4E2M1FN>) -> tensor<2x4x4096xf4E2M1FN>

// SET function = @pack_operand_c11_order(%i: tensor<256x512xbf16>, %o0: tensor<256x512xbf16, #mxgpu.k_order<32>>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_operand' op expected outs in order #mxgpu.k_order<64>, found #mxgpu.k_order<32>}}
%r = mx.pack_operand order = #mxgpu.k_order<64> ins(%i : tensor<256x512xbf16>) outs(%o0 : tensor<256x512xbf16, #mxgpu.k_order<32>>) -> tensor<256x512xbf16, #mxgpu.k_order<32>>

// SET function = @pack_operand_c11_encoding(%i: tensor<256x512xbf16>, %o0: tensor<256x512xbf16, "sparse">)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_operand' op expected outs without encoding, found "sparse"}}
%r = mx.pack_operand order = #mxgpu.k_order<64> ins(%i : tensor<256x512xbf16>) outs(%o0 : tensor<256x512xbf16, "sparse">) -> tensor<256x512xbf16, "sparse">

// SET function = @pack_operand_c11_whole(%i: tensor<256x48xbf16>, %o: tensor<256x48xbf16>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.pack_operand' op expected an operand of whole tiles of 1 x 64 elements in order #mxgpu.k_order<64>, found a size of 48}}
%r = mx.pack_operand order = #mxgpu.k_order<64> ins(%i : tensor<256x48xbf16>) outs(%o : tensor<256x48xbf16>) -> tensor<256x48xbf16>
