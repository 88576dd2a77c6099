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
// SET function = @matmul_input_type(%a: tensor<256x512xi8>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-error @below {{'mx.matmul' op operand #0 must be ranked tensor or memref of f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN elements, or bf16 or f16, but got 'tensor<256x512xi8>'}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xi8>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>

// SET function = @matmul_c1(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: memref<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-error @below {{'mx.matmul' op expected all tensors or all memrefs, found 'tensor<256x512xf8E4M3FN>' and 'memref<128x16xf8E8M0FNU>'}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, memref<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>

// SET function = @matmul_c2(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>, %o1: tensor<256x128xbf16>)
// expected-error @below {{expected ':'}}
%r:2 = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x128xbf16>, tensor<256x128xbf16>) -> tensor<256x128xbf16>, tensor<256x128xbf16>

// SET function = @matmul_c3(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<1x128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.matmul' op expected b of rank 2, found rank 3}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<1x128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>

// SET function = @matmul_c3_vector(%a: tensor<512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.matmul' op expected a of rank 2 or more, found rank 1}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>

// SET function = @matmul_c4(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x32xf8E4M3FN>, %o0: tensor<256x128xbf16>)
// expected-note @above {{b_scales is defined here}}
// expected-error @below {{'mx.matmul' op expected b_scales of type 'f8E8M0FNU' like a_scales, found 'f8E4M3FN'}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x32xf8E4M3FN>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>

// SET function = @matmul_c4_block(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-error @below {{'mx.matmul' op expected block_size 32 with scales of type 'f8E8M0FNU', found 16}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) block_size = 16 -> tensor<256x128xbf16>

// SET function = @matmul_c4_elements(%a: tensor<256x512xf4E2M1FN>, %sa: tensor<256x32xf8E4M3FN>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x32xf8E4M3FN>, %o0: tensor<256x128xbf16>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.matmul' op expected b of type f4E2M1FN with scales of type 'f8E4M3FN', found 'f8E4M3FN'}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>, tensor<128x512xf8E4M3FN>, tensor<128x32xf8E4M3FN>) outs(%o0 : tensor<256x128xbf16>) block_size = 16 -> tensor<256x128xbf16>

// SET function = @matmul_c5(%a: tensor<2x256x512xf8E4M3FN>, %sa: tensor<2x256x16xf8E8M0FNU>, %b: tensor<3x128x512xf8E4M3FN>, %sb: tensor<3x128x16xf8E8M0FNU>, %o0: tensor<2x256x128xbf16>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.matmul' op expected dimension 0 of b to be 2, found 3}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<2x256x512xf8E4M3FN>, tensor<2x256x16xf8E8M0FNU>, tensor<3x128x512xf8E4M3FN>, tensor<3x128x16xf8E8M0FNU>) outs(%o0 : tensor<2x256x128xbf16>) -> tensor<2x256x128xbf16>

// SET function = @matmul_c6(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x256xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.matmul' op expected dimension 1 of b to be 512, found 256}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x256xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>

// SET function = @matmul_c7(%a: tensor<256x500xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x500xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.matmul' op expected dimension 1 of a to be a multiple of 32, found 500; the nearest are 480 and 512}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x500xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x500xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>

// SET function = @matmul_c7_dynamic(%a: tensor<256x?xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x500xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.matmul' op expected dimension 1 of b to be a multiple of 32, found 500}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x?xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x500xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>

// SET function = @matmul_c8(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<128x256xbf16>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.matmul' op expected dimension 0 of outs to be 256, found 128}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<128x256xbf16>) -> tensor<128x256xbf16>

// SET function = @matmul_c9(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x15xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-note @above {{a_scales is defined here}}
// expected-error @below {{'mx.matmul' op expected dimension 1 of a_scales to be 16, found 15}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x15xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>

// SET function = @matmul_c9_tiles(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<2x4x32x4x4xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-note @above {{b_scales is defined here}}
// expected-error @below {{'mx.matmul' op expected dimension 0 of b_scales to be 1, found 2}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<2x4x32x4x4xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>

// SET function = @matmul_c10(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-note @above {{a_scales is defined here}}
// expected-error @below {{'mx.matmul' op expected a_scales with ragged = none, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>

// SET function = @matmul_c11(%a: tensor<256x512xf8E4M3FN, #mx.ragged<groups = 1, align = 128>>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.matmul' op expected a without encoding, found #mx.ragged<groups = 1, align = 128>}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN, #mx.ragged<groups = 1, align = 128>>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16>

// SET function = @matmul_c12(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-error @below {{'mx.matmul' op expected epilogue arguments ('f32', 'index', 'index'), found ('f32', 'index')}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16> epilogue {
^bb0(%acc: f32, %row: index):
  %y = arith.truncf %acc : f32 to bf16
  mx.yield %y : bf16
}

// SET function = @matmul_c13(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-error @below {{'mx.matmul' op expected the epilogue to yield 'bf16', found 'f32'}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16> epilogue {
^bb0(%acc: f32, %row: index, %col: index):
  mx.yield %acc : f32
}

// SET function = @matmul_c13_values(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xf32>)
// expected-error @below {{'mx.matmul' op expected the epilogue to yield 'f32', found 'f32', 'f32'}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xf32>) -> tensor<256x128xf32> epilogue {
^bb0(%acc: f32, %row: index, %col: index):
  mx.yield %acc, %acc : f32, f32
}

// SET function = @matmul_c13_terminator(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>, %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>, %o0: tensor<256x128xbf16>)
// expected-error @below {{'mx.matmul' op expected the epilogue to end with 'mx.yield'}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>) outs(%o0 : tensor<256x128xbf16>) -> tensor<256x128xbf16> epilogue {
^bb0(%acc: f32, %row: index, %col: index):
  %y = arith.truncf %acc : f32 to bf16
}

// SET function = @matmul_c14(%a: tensor<64x64xf8E4M3FN>, %b: tensor<48x64xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.matmul' op expected operand 'a' of type bf16 or f16 without a_scales, found 'f8E4M3FN': add the block scales}}
%r = mx.matmul ins(%a, %b, %sb : tensor<64x64xf8E4M3FN>, tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @matmul_c14_scales(%a: tensor<64x64xbf16>, %sa: tensor<64x2xf8E8M0FNU>, %b: tensor<48x64xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.matmul' op expected no a_scales with unquantized operand 'a' of type 'bf16': leave out the scales}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<64x64xbf16>, tensor<64x2xf8E8M0FNU>, tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @matmul_c9_weights(%a: tensor<64x64xbf16>, %b: tensor<48x64xf8E4M3FN>, %sb: tensor<48x3xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-note @above {{b_scales is defined here}}
// expected-error @below {{'mx.matmul' op expected dimension 1 of b_scales to be 2, found 3}}
%r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<48x64xf8E4M3FN>, tensor<48x3xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @matmul_operands(%a: tensor<64x64xbf16>, %o0: tensor<64x48xf32>)
// expected-error @below {{expected operands 'a' and 'b', each followed by its scales if quantized, found 1 operands}}
%r = mx.matmul ins(%a : tensor<64x64xbf16>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @matmul_operand_types(%a: tensor<64x64xbf16>, %b: tensor<48x64xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-error @below {{expected 3 types, found 2}}
%r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<48x64xf8E4M3FN>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @matmul_c15(%a: tensor<64x64xbf16>, %b: tensor<48x64xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.matmul' op expected operand 'a' in an order that keeps the shape, found #mxgpu.fragment_64x64}}
%r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) a_order = #mxgpu.fragment_64x64 -> tensor<64x48xf32>

// SET function = @matmul_c15_element(%a: tensor<64x64xbf16>, %b: tensor<1x1x128x32xbf16>, %o0: tensor<64x48xf32>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.matmul' op expected elements of type f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN in order #mxgpu.fragment_64x64, found 'bf16'}}
%r = mx.matmul ins(%a, %b : tensor<64x64xbf16>, tensor<1x1x128x32xbf16>) outs(%o0 : tensor<64x48xf32>) b_order = #mxgpu.fragment_64x64 -> tensor<64x48xf32>

// SET function = @matmul_c15_tiles(%a: tensor<64x64xbf16>, %b: tensor<1x2x128x32xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.matmul' op expected dimension 1 of b to be 1, found 2}}
%r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<1x2x128x32xf8E4M3FN>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) b_order = #mxgpu.fragment_64x64 -> tensor<64x48xf32>

// SET function = @matmul_c15_stored(%a: tensor<64x64xbf16>, %b: tensor<1x1x32x128xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.matmul' op expected dimension 2 of b to be 128, found 32}}
%r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<1x1x32x128xf8E4M3FN>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) b_order = #mxgpu.fragment_64x64 -> tensor<64x48xf32>

// SET function = @matmul_c15_order(%a: tensor<64x64xbf16, #mxgpu.k_order<64>>, %b: tensor<48x64xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.matmul' op expected a in order #mxgpu.k_order<32>, found #mxgpu.k_order<64>}}
%r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16, #mxgpu.k_order<64>>, tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) a_order = #mxgpu.k_order<32> -> tensor<64x48xf32>

// SET function = @matmul_c15_none(%a: tensor<64x64xbf16>, %b: tensor<1x1x64x64xf8E4M3FN>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.matmul' op expected b of rank 2, found rank 4}}
%r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<1x1x64x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @matmul_c8_packed(%a: tensor<64x64xbf16>, %b: tensor<40x64xf8E4M3FN, #mxgpu.fragment_64x64>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.matmul' op expected dimension 1 of outs to be 40, found 48}}
%r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<40x64xf8E4M3FN, #mxgpu.fragment_64x64>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @matmul_c16(%a: tensor<64x64xbf16>, %b: tensor<48x64xf8E4M3FN>, %o0: tensor<64x48xf32>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.matmul' op expected operand 'b' of type bf16 without b_scales, found 'f8E4M3FN': add the block scales}}
%r = mx.matmul ins(%a, %b : tensor<64x64xbf16>, tensor<48x64xf8E4M3FN>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @matmul_c16_scales(%a: tensor<64x64xbf16>, %b: tensor<48x64xbf16>, %sb: tensor<48x2xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.matmul' op expected no b_scales with unquantized operand 'b' of type 'bf16': leave out the scales}}
%r = mx.matmul ins(%a, %b, %sb : tensor<64x64xbf16>, tensor<48x64xbf16>, tensor<48x2xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @matmul_c16_left(%a: tensor<64x64xf16>, %b: tensor<48x64xbf16>, %o0: tensor<64x48xf32>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.matmul' op expected operand 'a' of type bf16, or quantized, with operand 'b' of type bf16, found 'f16': quantize 'b', or pass both as bf16}}
%r = mx.matmul ins(%a, %b : tensor<64x64xf16>, tensor<48x64xbf16>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @matmul_c4_left(%a: tensor<64x64xf8E4M3FN>, %sa: tensor<64x4xf8E4M3FN>, %b: tensor<48x64xbf16>, %o0: tensor<64x48xf32>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.matmul' op expected a of type f4E2M1FN with scales of type 'f8E4M3FN', found 'f8E4M3FN'}}
%r = mx.matmul ins(%a, %sa, %b : tensor<64x64xf8E4M3FN>, tensor<64x4xf8E4M3FN>, tensor<48x64xbf16>) outs(%o0 : tensor<64x48xf32>) block_size = 16 -> tensor<64x48xf32>

// SET function = @matmul_c17(%a: tensor<64x512xf8E4M3FN>, %sa: tensor<64x4xf8E8M0FNU>, %b: tensor<48x512xf8E4M3FN>, %sb: tensor<48x1xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-error @below {{'mx.matmul' op expected promote = 128, 256 or 512, found 64}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<64x512xf8E4M3FN>, tensor<64x4xf8E8M0FNU>, tensor<48x512xf8E4M3FN>, tensor<48x1xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) block_size = 128 b_block_size = row promote = 64 -> tensor<64x48xf32>

// SET function = @matmul_c17_block(%a: tensor<64x512xf8E4M3FN>, %sa: tensor<64x4xf8E8M0FNU>, %b: tensor<48x512xf8E4M3FN>, %sb: tensor<48x1xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-error @below {{'mx.matmul' op expected 'a' in blocks of at least 256 elements with promote = 256, found blocks of 128: fold the operand}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<64x512xf8E4M3FN>, tensor<64x4xf8E8M0FNU>, tensor<48x512xf8E4M3FN>, tensor<48x1xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) block_size = 128 b_block_size = row promote = 256 -> tensor<64x48xf32>

// SET function = @matmul_c17_unscaled(%a: tensor<64x512xbf16>, %b: tensor<48x512xf8E4M3FN>, %sb: tensor<48x1xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-error @below {{'mx.matmul' op expected 'a' in blocks of at least 128 elements with promote = 128, found no scales: fold the operand}}
%r = mx.matmul ins(%a, %b, %sb : tensor<64x512xbf16>, tensor<48x512xf8E4M3FN>, tensor<48x1xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) block_size = row promote = 128 -> tensor<64x48xf32>

// SET function = @matmul_c17_f32(%a: tensor<200x512xf8E4M3FN>, %s: tensor<200x4xf32>, %o0: tensor<200x200xf32>)
// expected-error @below {{'mx.matmul' op expected 'a' in blocks of at least 256 elements with promote = 256, found blocks of 128: fold the operand}}
%r = mx.matmul ins(%a, %s, %a, %s : tensor<200x512xf8E4M3FN>, tensor<200x4xf32>, tensor<200x512xf8E4M3FN>, tensor<200x4xf32>) outs(%o0 : tensor<200x200xf32>) block_size = 128 promote = 256 -> tensor<200x200xf32>

// Only f4E2M1FN is expanded.
// SET function = @matmul_c17_expanded(%a: tensor<64x512xf8E4M3FN>, %sa: tensor<64x4xf8E8M0FNU>, %b: tensor<48x512xf6E2M3FN>, %sb: tensor<48x16xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-error @below {{'mx.matmul' op expected 'b' in blocks of at least 128 elements with promote = 128, found blocks of 32: fold the operand}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<64x512xf8E4M3FN>, tensor<64x4xf8E8M0FNU>, tensor<48x512xf6E2M3FN>, tensor<48x16xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) block_size = 128 b_block_size = 32 promote = 128 -> tensor<64x48xf32>

// SET function = @matmul_c4_folded_elements(%a: tensor<64x512xf6E2M3FN>, %sa: tensor<64x4xf8E8M0FNU>, %b: tensor<48x512xf8E4M3FN>, %sb: tensor<48x4xf8E8M0FNU>, %o0: tensor<64x48xf32>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.matmul' op expected a of type f8E4M3FN or f8E5M2 with scales of type 'f8E8M0FNU', found 'f6E2M3FN'}}
%r = mx.matmul ins(%a, %sa, %b, %sb : tensor<64x512xf6E2M3FN>, tensor<64x4xf8E8M0FNU>, tensor<48x512xf8E4M3FN>, tensor<48x4xf8E8M0FNU>) outs(%o0 : tensor<64x48xf32>) block_size = 128 -> tensor<64x48xf32>

// SET function = @matmul_c16_block(%a: tensor<64x64xbf16>, %b: tensor<48x64xbf16>, %o0: tensor<64x48xf32>)
// expected-error @below {{'mx.matmul' op expected no block_size without scales, found 16}}
%r = mx.matmul ins(%a, %b : tensor<64x64xbf16>, tensor<48x64xbf16>) outs(%o0 : tensor<64x48xf32>) block_size = 16 -> tensor<64x48xf32>

// SET function = @matmul_c16_block_of_b(%a: tensor<64x64xbf16>, %b: tensor<48x64xbf16>, %o0: tensor<64x48xf32>)
// expected-error @below {{'mx.matmul' op expected no b_block_size without scales of 'b', found row}}
%r = mx.matmul ins(%a, %b : tensor<64x64xbf16>, tensor<48x64xbf16>) outs(%o0 : tensor<64x48xf32>) b_block_size = row -> tensor<64x48xf32>

// SET function = @matmul_c18(%a: tensor<64x64xbf16>, %b: tensor<48x64xbf16>, %r: tensor<2xi32>, %o0: tensor<64x48xf32>)
// expected-error @below {{'mx.matmul' op expected 2 row classes with 'where', found 1}}
%r0 = mx.matmul ins(%a, %b : tensor<64x64xbf16>, tensor<48x64xbf16>) where wide(%r : tensor<2xi32>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @matmul_c18_shape(%a: tensor<64x64xbf16>, %b: tensor<48x64xbf16>, %r: tensor<2xi32>, %s: tensor<3xi32>, %o0: tensor<64x48xf32>)
// expected-note @above {{classes of b is defined here}}
// expected-error @below {{'mx.matmul' op expected dimension 0 of classes of b to be 2, found 3}}
%r0 = mx.matmul ins(%a, %b : tensor<64x64xbf16>, tensor<48x64xbf16>) where narrow(%r, %s : tensor<2xi32>, tensor<3xi32>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>
