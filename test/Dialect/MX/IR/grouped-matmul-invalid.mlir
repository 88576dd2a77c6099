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
// SET function = @grouped_matmul_offsets_rank(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<2x2xi32>)
// expected-error @below {{'mx.grouped_matmul' op operand #4 must be rank-1 tensor or memref of i32 or i64, but got 'tensor<2x2xi32>'}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<2x2xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>

// SET function = @grouped_matmul_c1(%a: memref<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>)
// expected-error @below {{'mx.grouped_matmul' op expected all tensors or all memrefs, found 'memref<300x64xf8E4M3FN>' and 'tensor<300x2xf8E8M0FNU>'}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : memref<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>

// SET function = @grouped_matmul_c2(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %o1: tensor<300x48xbf16>, %o2: tensor<300x48xbf16>, %g: tensor<4xi32>)
// expected-error @below {{'mx.grouped_matmul' op expected 1 operand in outs, found 3}}
%r:3 = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0, %o1, %o2 : tensor<300x48xbf16>, tensor<300x48xbf16>, tensor<300x48xbf16>) -> tensor<300x48xbf16>, tensor<300x48xbf16>, tensor<300x48xbf16>

// SET function = @grouped_matmul_c3(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>)
// expected-error @below {{'mx.grouped_matmul' op expected ragged = rows or reduction, found none}}
%r = mx.grouped_matmul ragged = none ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>

// SET function = @grouped_matmul_c4(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected b of rank 3, found rank 2}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>

// SET function = @grouped_matmul_c4_reduction(%a: tensor<64x896xf8E4M3FN>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<64x48xf32>, %g: tensor<4xi32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected outs of rank 3, found rank 2}}
%r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN>, tensor<64x28xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @grouped_matmul_c5(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>)
// expected-error @below {{'mx.grouped_matmul' op expected block_size 32 with scales of type 'f8E8M0FNU', found 48}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) block_size = 48 -> tensor<300x48xbf16>

// SET function = @grouped_matmul_c6(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<5x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 0 of b to be 4, found 5}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<5x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>

// SET function = @grouped_matmul_c6_reduction(%a: tensor<64x896xf8E4M3FN>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<3x64x48xf32>, %g: tensor<4xi32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 0 of outs to be 4, found 3}}
%r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN>, tensor<64x28xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<3x64x48xf32>) -> tensor<3x64x48xf32>

// SET function = @grouped_matmul_c10_reduction_blocks(%a: tensor<64x896xf8E4M3FN>, %sa: tensor<64x3xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x3xf8E8M0FNU>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>)
// expected-note @above {{a_scales is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected blocks of at most 128 elements with ragged = reduction, because the segments of expert groups start at multiples of 128, found 256}}
%r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN>, tensor<64x3xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x3xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) block_size = 256 promote = 256 -> tensor<4x64x48xf32>

// SET function = @grouped_matmul_c7(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x32xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 2 of b to be 64, found 32}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x32xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>

// SET function = @grouped_matmul_c8(%a: tensor<300x60xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x60xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of a to be a multiple of 32, found 60}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x60xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x60xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>

// SET function = @grouped_matmul_c8_reduction(%a: tensor<64x800xf8E4M3FN>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x800xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of a to be a multiple of 128, found 800}}
%r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x800xf8E4M3FN>, tensor<64x28xf8E8M0FNU>, tensor<48x800xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>

// SET function = @grouped_matmul_c9(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x64xbf16>, %g: tensor<4xi32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of outs to be 48, found 64}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x64xbf16>) -> tensor<300x64xbf16>

// SET function = @grouped_matmul_c10(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<3x1x32x4x4xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>)
// expected-note @above {{a_scales is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 0 of a_scales to be 6, found 3}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<3x1x32x4x4xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>

// SET function = @grouped_matmul_c11(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>)
// expected-note @above {{a_scales is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected a_scales with ragged = rows, found #mx.scale_layout<sf_128x4>}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16>

// SET function = @grouped_matmul_c11_reduction(%a: tensor<64x896xf8E4M3FN>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>)
// expected-note @above {{b_scales is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected b_scales with ragged = reduction, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>}}
%r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN>, tensor<64x28xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>

// SET function = @grouped_matmul_c12(%a: tensor<64x896xf8E4M3FN, #mx.ragged<groups = 3, align = 128>>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected a in 4 expert groups, found #mx.ragged<groups = 3, align = 128>}}
%r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN, #mx.ragged<groups = 3, align = 128>>, tensor<64x28xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>

// SET function = @grouped_matmul_c13(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>)
// expected-error @below {{'mx.grouped_matmul' op expected epilogue arguments ('f32', 'index', 'index'), found ('f32', 'i32', 'i32')}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16> epilogue {
^bb0(%acc: f32, %row: i32, %col: i32):
  %y = arith.truncf %acc : f32 to bf16
  mx.yield %y : bf16
}

// SET function = @grouped_matmul_c14(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xbf16>, %g: tensor<4xi32>)
// expected-error @below {{'mx.grouped_matmul' op expected the epilogue to yield 'bf16', found 'f16'}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xbf16>) -> tensor<300x48xbf16> epilogue {
^bb0(%acc: f32, %row: index, %col: index):
  %y = arith.truncf %acc : f32 to f16
  mx.yield %y : f16
}

// SET function = @grouped_matmul_c15(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x24xf32>)
// expected-error @below {{'mx.grouped_matmul' op expected num_b of at least 1, found 0}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x24xf32>) num_b = 0 -> tensor<300x24xf32>

// SET function = @grouped_matmul_c15_negative(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x24xf32>)
// expected-error @below {{'mx.grouped_matmul' op expected num_b of at least 1, found -2}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x24xf32>) num_b = -2 -> tensor<300x24xf32>

// SET function = @grouped_matmul_c15_epilogue(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x24xf32>)
// expected-error @below {{'mx.grouped_matmul' op expected an epilogue that combines the accumulators of num_b = 2, found none}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x24xf32>) num_b = 2 -> tensor<300x24xf32>

// SET function = @grouped_matmul_c15_accumulate(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x24xf32>)
// expected-error @below {{'mx.grouped_matmul' op expected no 'accumulate' with num_b, scatter or quantized outs, found 'accumulate'}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x24xf32>) num_b = 2 accumulate -> tensor<300x24xf32> epilogue {
^bb0(%x: f32, %y: f32, %row: index, %col: index):
  mx.yield %x : f32
}

// SET function = @grouped_matmul_c15_reduction(%a: tensor<64x896xf8E4M3FN>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>, %to: tensor<64xi32>)
// expected-error @below {{'mx.grouped_matmul' op expected ragged = rows with num_b, scatter or quantized outs, found reduction}}
%r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN>, tensor<64x28xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) scatter(%to : tensor<64xi32>) outs(%o0 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>

// SET function = @grouped_matmul_c16(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf8E4M3FN>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected outs of type f32, bf16 or f16, or quantized elements and their scales, found 'tensor<300x48xf8E4M3FN>'}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf8E4M3FN>) -> tensor<300x48xf8E4M3FN>

// SET function = @grouped_matmul_c16_rounding(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf32>)
// expected-error @below {{'mx.grouped_matmul' op expected quantized outs with scale_rounding, found other outs}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf32>) scale_rounding = even -> tensor<300x48xf32>

// SET function = @grouped_matmul_c17(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<100x48xbf16>, %to: tensor<300xi32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected outs of type f32 with scatter, found 'bf16'}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) scatter(%to : tensor<300xi32>) outs(%o0 : tensor<100x48xbf16>) -> tensor<100x48xbf16>

// SET function = @grouped_matmul_c17_rows(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<100x48xf32>, %to: tensor<100xi32>)
// expected-note @above {{scatter is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 0 of scatter to be 300, found 100}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) scatter(%to : tensor<100xi32>) outs(%o0 : tensor<100x48xf32>) -> tensor<100x48xf32>

// SET function = @grouped_matmul_c17_parts(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x24xf32>, %to: tensor<300xi32>)
// expected-error @below {{'mx.grouped_matmul' op expected 1 operand in outs and num_b = 1 with scatter, found 1 and num_b = 2}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) scatter(%to : tensor<300xi32>) outs(%o0 : tensor<300x24xf32>) num_b = 2 -> tensor<300x24xf32> epilogue {
^bb0(%x: f32, %y: f32, %row: index, %col: index):
  mx.yield %x : f32
}

// SET function = @grouped_matmul_c18(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x128x64xf8E4M3FN>, %sb: tensor<4x128x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x128xf8E4M3FN>, %o1: tensor<300x8xf8E4M3FN>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected outs with quantized elements and 'f8E8M0FNU' scales, found 'tensor<300x128xf8E4M3FN>' and 'tensor<300x8xf8E4M3FN>'}}
%r:2 = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x128x64xf8E4M3FN>, tensor<4x128x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<300x128xf8E4M3FN>, tensor<300x8xf8E4M3FN>) -> tensor<300x128xf8E4M3FN>, tensor<300x8xf8E4M3FN>

// SET function = @grouped_matmul_c18_block(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf8E4M3FN>, %o1: tensor<300x4xf8E8M0FNU>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of outs to be a multiple of 32, found 48}}
%r:2 = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<300x48xf8E4M3FN>, tensor<300x4xf8E8M0FNU>) -> tensor<300x48xf8E4M3FN>, tensor<300x4xf8E8M0FNU>

// SET function = @grouped_matmul_c18_shape(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x128x64xf8E4M3FN>, %sb: tensor<4x128x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x128xf8E4M3FN>, %o1: tensor<300x5xf8E8M0FNU>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of scales to be 4, found 5}}
%r:2 = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x128x64xf8E4M3FN>, tensor<4x128x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0, %o1 : tensor<300x128xf8E4M3FN>, tensor<300x5xf8E8M0FNU>) -> tensor<300x128xf8E4M3FN>, tensor<300x5xf8E8M0FNU>

// SET function = @grouped_matmul_c9_parts(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of outs to be 24, found 48}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf32>) num_b = 2 -> tensor<300x48xf32> epilogue {
^bb0(%x: f32, %y: f32, %row: index, %col: index):
  mx.yield %x : f32
}

// SET function = @grouped_matmul_c19_scatter(%a: tensor<4x75x64xf8E4M3FN>, %sa: tensor<4x75x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<4x75x48xf32>, %to: tensor<300xi32>)
// expected-error @below {{'mx.grouped_matmul' op expected no 'scatter' with 'masked', found both}}
%r = mx.grouped_matmul ragged = rows masked ins(%a, %sa, %b, %sb : tensor<4x75x64xf8E4M3FN>, tensor<4x75x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) scatter(%to : tensor<300xi32>) outs(%o0 : tensor<4x75x48xf32>) -> tensor<4x75x48xf32>

// SET function = @grouped_matmul_c19(%a: tensor<64x896xf8E4M3FN>, %sa: tensor<64x28xf8E8M0FNU>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>)
// expected-error @below {{'mx.grouped_matmul' op expected ragged = rows with 'masked', found reduction}}
%r = mx.grouped_matmul ragged = reduction masked ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN>, tensor<64x28xf8E8M0FNU>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>

// SET function = @grouped_matmul_c19_matrices(%a: tensor<4x75x64xf8E4M3FN>, %sa: tensor<4x75x2xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<4x80x48xbf16>, %g: tensor<4xi32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 1 of outs to be 75, found 80}}
%r = mx.grouped_matmul ragged = rows masked ins(%a, %sa, %b, %sb : tensor<4x75x64xf8E4M3FN>, tensor<4x75x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x80x48xbf16>) -> tensor<4x80x48xbf16>

// SET function = @grouped_matmul_c20(%a: tensor<300x64xf8E4M3FN>, %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf32>)
// expected-note @above {{a is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected operand 'a' of type bf16 or f16 without a_scales, found 'f8E4M3FN': add the block scales}}
%r = mx.grouped_matmul ragged = rows ins(%a, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf32>) -> tensor<300x48xf32>

// SET function = @grouped_matmul_c20_reduction(%a: tensor<64x896xbf16>, %b: tensor<48x896xf8E4M3FN>, %sb: tensor<48x28xf8E8M0FNU>, %o0: tensor<4x64x48xf32>, %g: tensor<4xi32>)
// expected-error @below {{'mx.grouped_matmul' op expected ragged = rows with unquantized operand 'a', found reduction: quantize both operands, or neither}}
%r = mx.grouped_matmul ragged = reduction ins(%a, %b, %sb : tensor<64x896xbf16>, tensor<48x896xf8E4M3FN>, tensor<48x28xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>

// SET function = @grouped_matmul_c20_right(%a: tensor<64x384xf8E4M3FN, #mx.ragged<groups = 2, align = 128>>, %sa: tensor<64x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>>, %b: tensor<48x384xbf16, #mx.ragged<groups = 2, align = 128>>, %offsets: tensor<2xi32>, %o0: tensor<2x64x48xf32>)
// expected-error @below {{'mx.grouped_matmul' op expected ragged = rows with unquantized operand 'b', found reduction: quantize both operands, or neither}}
%r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b : tensor<64x384xf8E4M3FN, #mx.ragged<groups = 2, align = 128>>, tensor<64x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>>, tensor<48x384xbf16, #mx.ragged<groups = 2, align = 128>>) offsets(%offsets : tensor<2xi32>) outs(%o0 : tensor<2x64x48xf32>) -> tensor<2x64x48xf32>

// SET function = @grouped_matmul_c21(%a: tensor<300x64xbf16>, %b: tensor<4x1x2x128x32xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>, %o0: tensor<300x48xf32>, %g: tensor<4xi32>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected dimension 2 of b to be 1, found 2}}
%r = mx.grouped_matmul ragged = rows ins(%a, %b, %sb : tensor<300x64xbf16>, tensor<4x1x2x128x32xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf32>) b_order = #mxgpu.fragment_64x64 -> tensor<300x48xf32>

// SET function = @grouped_matmul_c23(%a: tensor<300x128xf8E4M3FN>, %sa: tensor<300x4xf8E8M0FNU>, %b: tensor<4x48x128xf8E4M3FN>, %sb: tensor<4x48x1xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf32>)
// expected-error @below {{'mx.grouped_matmul' op expected 'a' in blocks of at least 128 elements with promote = 128, found blocks of 32: fold the operand}}
%r = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : tensor<300x128xf8E4M3FN>, tensor<300x4xf8E8M0FNU>, tensor<4x48x128xf8E4M3FN>, tensor<4x48x1xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf32>) b_block_size = row promote = 128 -> tensor<300x48xf32>

// SET function = @grouped_matmul_c23_expanded(%a: tensor<64x512xf8E4M3FN>, %sa: tensor<64x4xf8E8M0FNU, #mx.scale_layout<linear, ragged = reduction, groups = 4>>, %b: tensor<48x512xf4E2M1FN>, %sb: tensor<48x16xf8E8M0FNU, #mx.scale_layout<linear, ragged = reduction, groups = 4>>, %g: tensor<4xi32>, %o0: tensor<4x64x48xf32>)
// expected-error @below {{'mx.grouped_matmul' op expected ragged = rows with promote and 'b' of type f4E2M1FN, found reduction: quantize 'b' to f8E4M3FN and fold it}}
%r = mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb : tensor<64x512xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #mx.scale_layout<linear, ragged = reduction, groups = 4>>, tensor<48x512xf4E2M1FN>, tensor<48x16xf8E8M0FNU, #mx.scale_layout<linear, ragged = reduction, groups = 4>>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) block_size = 128 b_block_size = 32 promote = 128 -> tensor<4x64x48xf32>

// SET function = @grouped_matmul_c22(%a: tensor<300x64xbf16>, %b: tensor<4x48x64xbf16>, %sb: tensor<4x48x2xf8E8M0FNU>, %g: tensor<4xi32>, %o0: tensor<300x48xf32>)
// expected-note @above {{b is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected no b_scales with unquantized operand 'b' of type 'bf16': leave out the scales}}
%r = mx.grouped_matmul ragged = rows ins(%a, %b, %sb : tensor<300x64xbf16>, tensor<4x48x64xbf16>, tensor<4x48x2xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<300x48xf32>) -> tensor<300x48xf32>

// SET function = @grouped_matmul_c24(%a: tensor<64x64xbf16>, %b: tensor<4x48x64xbf16>, %o: tensor<4xi32>, %r: tensor<2xi32>, %s: tensor<2xi32>, %o0: tensor<64x48xf32>)
// expected-note @above {{classes of b is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected classes of b of rank 2, found}}
%r0 = mx.grouped_matmul ragged = rows ins(%a, %b : tensor<64x64xbf16>, tensor<4x48x64xbf16>) offsets(%o : tensor<4xi32>) where wide(%r, %s : tensor<2xi32>, tensor<2xi32>) outs(%o0 : tensor<64x48xf32>) -> tensor<64x48xf32>

// SET function = @grouped_matmul_c24_quantized(%a: tensor<64x64xbf16>, %b: tensor<4x128x64xbf16>, %o: tensor<4xi32>, %r: tensor<2xi32>, %s: tensor<4x4xi32>, %e: tensor<64x128xf8E4M3FN>, %f: tensor<64x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>)
// expected-error @below {{'mx.grouped_matmul' op expected a single outs with 'where', found scales: quantize the result by mx.quantize}}
%r0:2 = mx.grouped_matmul ragged = rows ins(%a, %b : tensor<64x64xbf16>, tensor<4x128x64xbf16>) offsets(%o : tensor<4xi32>) where wide(%r, %s : tensor<2xi32>, tensor<4x4xi32>) outs(%e, %f : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>) -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>

// SET function = @grouped_matmul_c25(%a: tensor<64x64xbf16>, %b: tensor<4x48x64xbf16>, %o: tensor<4xi32>, %o0: tensor<64x48xf32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.grouped_matmul' op expected 'columns' to be [begin, end] with 0 <= begin < end <= N, a static number of columns of outs, found [32, 49] and 'tensor<64x48xf32>'}}
%r0 = mx.grouped_matmul ragged = rows ins(%a, %b : tensor<64x64xbf16>, tensor<4x48x64xbf16>) offsets(%o : tensor<4xi32>) outs(%o0 : tensor<64x48xf32>) columns = [32, 49] -> tensor<64x48xf32>

// SET function = @grouped_matmul_c25_masked(%a: tensor<4x64x64xbf16>, %b: tensor<4x48x64xbf16>, %o: tensor<4xi32>, %o0: tensor<4x64x48xf32>)
// expected-error @below {{'mx.grouped_matmul' op expected ragged = rows, num_b = 1 and a single outs without 'masked', 'scatter' and 'where' with 'columns'}}
%r0 = mx.grouped_matmul ragged = rows masked ins(%a, %b : tensor<4x64x64xbf16>, tensor<4x48x64xbf16>) offsets(%o : tensor<4xi32>) outs(%o0 : tensor<4x64x48xf32>) columns = [0, 32] -> tensor<4x64x48xf32>
