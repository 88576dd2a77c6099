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
// SET function = @fold_elements(%x: tensor<64x256xf4E2M1FN>, %s: tensor<64x8xf8E8M0FNU>, %f: tensor<64x2xf8E8M0FNU>)
// expected-error @below {{'mx.fold' op operand #0 must be ranked tensor of f8E4M3FN type or f8E5M2 type values, but got 'tensor<64x256xf4E2M1FN>'}}
%r:2 = mx.fold ins(%x, %s : tensor<64x256xf4E2M1FN>, tensor<64x8xf8E8M0FNU>) outs(%x, %f : tensor<64x256xf4E2M1FN>, tensor<64x2xf8E8M0FNU>) block_size = 128 -> tensor<64x256xf4E2M1FN>, tensor<64x2xf8E8M0FNU>

// SET function = @fold_c1(%x: tensor<?x1099511627904xf8E4M3FN>, %s: tensor<?x?xf8E8M0FNU>)
// expected-error @below {{'mx.fold' op expected dimensions of at most 2^40, found 1099511627904}}
%r:2 = mx.fold ins(%x, %s : tensor<?x1099511627904xf8E4M3FN>, tensor<?x?xf8E8M0FNU>) outs(%x, %s : tensor<?x1099511627904xf8E4M3FN>, tensor<?x?xf8E8M0FNU>) block_size = 128 -> tensor<?x1099511627904xf8E4M3FN>, tensor<?x?xf8E8M0FNU>

// SET function = @fold_c2(%x: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>)
// expected-error @below {{'mx.fold' op expected elements and scales in outs, found 1 outs}}
%r = mx.fold ins(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) outs(%x : tensor<64x256xf8E4M3FN>) block_size = 128 -> tensor<64x256xf8E4M3FN>

// SET function = @fold_c2_spreads(%x: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>, %f: tensor<64x2xf8E8M0FNU>)
// expected-error @below {{'mx.fold' op expected elements, scales and spreads in outs, found 2 outs}}
%r:2 = mx.fold ins(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) outs(%x, %f : tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) block_size = 128 spreads -> tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>

// SET function = @fold_c9(%x: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>, %f: tensor<64x2xf8E8M0FNU>, %g: tensor<64x8xi8>)
// expected-note @above {{spreads is defined here}}
// expected-error @below {{'mx.fold' op expected dimension 1 of spreads to be 2, found 8}}
%r:3 = mx.fold ins(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) outs(%x, %f, %g : tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x8xi8>) block_size = 128 spreads -> tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x8xi8>

// SET function = @fold_c3(%x: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>)
// expected-error @below {{'mx.fold' op expected block_size 128, 256, 512 or row, found 32}}
%r:2 = mx.fold ins(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) outs(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) block_size = 32 -> tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>

// SET function = @fold_c4(%x: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>, %f: tensor<64x2xf8E8M0FNU>)
// expected-error @below {{'mx.fold' op expected 'ragged' and 'offsets' together, found only ragged}}
%r:2 = mx.fold ragged = rows ins(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) outs(%x, %f : tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) block_size = 128 -> tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>

// SET function = @fold_c4_reduction(%x: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>, %f: tensor<64x2xf8E8M0FNU>, %g: tensor<4xi32>)
// expected-error @below {{'mx.fold' op expected ragged = rows, found reduction}}
%r:2 = mx.fold ragged = reduction ins(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%x, %f : tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) block_size = 128 -> tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>

// SET function = @fold_c5(%x: tensor<256xf8E4M3FN>, %s: tensor<8xf8E8M0FNU>, %f: tensor<2xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.fold' op expected input of rank 2 or more, found rank 1}}
%r:2 = mx.fold ins(%x, %s : tensor<256xf8E4M3FN>, tensor<8xf8E8M0FNU>) outs(%x, %f : tensor<256xf8E4M3FN>, tensor<2xf8E8M0FNU>) block_size = 128 -> tensor<256xf8E4M3FN>, tensor<2xf8E8M0FNU>

// SET function = @fold_c5_ragged(%x: tensor<2x64x256xf8E4M3FN>, %s: tensor<2x64x8xf8E8M0FNU>, %f: tensor<2x64x2xf8E8M0FNU>, %g: tensor<4xi32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.fold' op expected input of rank 2, found rank 3}}
%r:2 = mx.fold ragged = rows ins(%x, %s : tensor<2x64x256xf8E4M3FN>, tensor<2x64x8xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%x, %f : tensor<2x64x256xf8E4M3FN>, tensor<2x64x2xf8E8M0FNU>) block_size = 128 -> tensor<2x64x256xf8E4M3FN>, tensor<2x64x2xf8E8M0FNU>

// SET function = @fold_c6(%x: tensor<64x192xf8E4M3FN>, %s: tensor<64x6xf8E8M0FNU>, %f: tensor<64x1xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.fold' op expected dimension 1 of input to be a multiple of 128, found 192; the nearest are 128 and 256}}
%r:2 = mx.fold ins(%x, %s : tensor<64x192xf8E4M3FN>, tensor<64x6xf8E8M0FNU>) outs(%x, %f : tensor<64x192xf8E4M3FN>, tensor<64x1xf8E8M0FNU>) block_size = 128 -> tensor<64x192xf8E4M3FN>, tensor<64x1xf8E8M0FNU>

// SET function = @fold_c6_row(%x: tensor<64x48xf8E4M3FN>, %s: tensor<64x1xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.fold' op expected dimension 1 of input to be a multiple of 32, found 48; the nearest are 32 and 64}}
%r:2 = mx.fold ins(%x, %s : tensor<64x48xf8E4M3FN>, tensor<64x1xf8E8M0FNU>) outs(%x, %s : tensor<64x48xf8E4M3FN>, tensor<64x1xf8E8M0FNU>) block_size = row -> tensor<64x48xf8E4M3FN>, tensor<64x1xf8E8M0FNU>

// SET function = @fold_c7(%x: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>, %e: tensor<64x256xf8E5M2>, %f: tensor<64x2xf8E8M0FNU>)
// expected-note @above {{elements is defined here}}
// expected-error @below {{'mx.fold' op expected elements of type 'tensor<64x256xf8E4M3FN>' like the input, found 'tensor<64x256xf8E5M2>'}}
%r:2 = mx.fold ins(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) outs(%e, %f : tensor<64x256xf8E5M2>, tensor<64x2xf8E8M0FNU>) block_size = 128 -> tensor<64x256xf8E5M2>, tensor<64x2xf8E8M0FNU>

// SET function = @fold_c7_encoding(%x: tensor<64x256xf8E4M3FN, "tiled">, %s: tensor<64x8xf8E8M0FNU>, %f: tensor<64x2xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.fold' op expected input without encoding, found "tiled"}}
%r:2 = mx.fold ins(%x, %s : tensor<64x256xf8E4M3FN, "tiled">, tensor<64x8xf8E8M0FNU>) outs(%x, %f : tensor<64x256xf8E4M3FN, "tiled">, tensor<64x2xf8E8M0FNU>) block_size = 128 -> tensor<64x256xf8E4M3FN, "tiled">, tensor<64x2xf8E8M0FNU>

// SET function = @fold_c8(%x: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>)
// expected-note @above {{wider scales is defined here}}
// expected-error @below {{'mx.fold' op expected dimension 1 of wider scales to be 2, found 8}}
%r:2 = mx.fold ins(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) outs(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) block_size = 128 -> tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>

// SET function = @fold_c8_type(%x: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>)
// expected-note @above {{wider scales is defined here}}
// expected-error @below {{'mx.fold' op expected wider scales of type 'f8E8M0FNU', found 'f8E4M3FN'}}
%r:2 = mx.fold ins(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) outs(%x, %x : tensor<64x256xf8E4M3FN>, tensor<64x256xf8E4M3FN>) block_size = 128 -> tensor<64x256xf8E4M3FN>, tensor<64x256xf8E4M3FN>

// SET function = @fold_c8_nvfp4(%x: tensor<64x256xf8E4M3FN>, %s: tensor<64x16xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.fold' op expected scales of type 'f8E8M0FNU', found 'f8E4M3FN'}}
%r:2 = mx.fold ins(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x16xf8E4M3FN>) outs(%x, %f : tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) block_size = 128 -> tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>

// SET function = @fold_c8_input(%x: tensor<64x256xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>)
// expected-note @above {{scales is defined here}}
// expected-error @below {{'mx.fold' op expected dimension 1 of scales to be 8, found 2}}
%r:2 = mx.fold ins(%x, %f : tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) outs(%x, %f : tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) block_size = 128 -> tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>

// SET function = @fold_c8_groups(%x: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>, %f: tensor<64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>, %g: tensor<4xi32>)
// expected-note @above {{wider scales is defined here}}
// expected-error @below {{'mx.fold' op expected wider scales in 4 expert groups, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>}}
%r:2 = mx.fold ragged = rows ins(%x, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%x, %f : tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>) block_size = 128 -> tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>

// SET function = @row_classes_spreads_type(%p: tensor<64x4xi16>, %o: tensor<2xi32>)
// expected-error @below {{'mx.row_classes' op operand #0 must be variadic of ranked tensor or memref of i8, but got 'tensor<64x4xi16>'}}
%r = mx.row_classes ins(%p : tensor<64x4xi16>) outs(%o : tensor<2xi32>) axes = [1] limit = 8 -> tensor<2xi32>

// SET function = @row_classes_c1(%p: tensor<64x4xi8>, %o: memref<2xi32>)
// expected-error @below {{'mx.row_classes' op expected all tensors or all memrefs, found 'tensor<64x4xi8>' and 'memref<2xi32>'}}
mx.row_classes ins(%p : tensor<64x4xi8>) outs(%o : memref<2xi32>) axes = [1] limit = 8

// SET function = @row_classes_c2(%p: tensor<64x4xi8>, %o: tensor<2xi32>)
// expected-error @below {{'mx.row_classes' op expected an operand or more, with an axis and a destination each, found 1 operands, 2 axes and 1 destinations}}
%r = mx.row_classes ins(%p : tensor<64x4xi8>) outs(%o : tensor<2xi32>) axes = [1, 0] limit = 8 -> tensor<2xi32>

// SET function = @row_classes_c3(%p: tensor<64x4xi8>, %o: tensor<2xi32>)
// expected-error @below {{'mx.row_classes' op expected a limit of 0 to 254, found -1}}
%r = mx.row_classes ins(%p : tensor<64x4xi8>) outs(%o : tensor<2xi32>) axes = [1] limit = -1 -> tensor<2xi32>

// SET function = @row_classes_c4(%p: tensor<64xi8>, %o: tensor<2xi32>)
// expected-note @above {{spreads is defined here}}
// expected-error @below {{'mx.row_classes' op expected spreads of rank 2 or more, found rank 1}}
%r = mx.row_classes ins(%p : tensor<64xi8>) outs(%o : tensor<2xi32>) axes = [1] limit = 8 -> tensor<2xi32>

// SET function = @row_classes_c5(%p: tensor<64x4xi8>, %o: tensor<2xi32>)
// expected-error @below {{'mx.row_classes' op expected axes of 0 or 1, found 2}}
%r = mx.row_classes ins(%p : tensor<64x4xi8>) outs(%o : tensor<2xi32>) axes = [2] limit = 8 -> tensor<2xi32>

// SET function = @row_classes_c6(%p: tensor<4x65xi8>, %o: tensor<2xi32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.row_classes' op expected dimension 0 of outs to be 3, found 2}}
%r = mx.row_classes ins(%p : tensor<4x65xi8>) outs(%o : tensor<2xi32>) axes = [0] limit = 8 -> tensor<2xi32>

// SET function = @row_classes_c6_batch(%p: tensor<7x64x4xi8>, %o: tensor<8x2xi32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.row_classes' op expected dimension 0 of outs to be 7, found 8}}
%r = mx.row_classes ins(%p : tensor<7x64x4xi8>) outs(%o : tensor<8x2xi32>) axes = [1] limit = 8 -> tensor<8x2xi32>
