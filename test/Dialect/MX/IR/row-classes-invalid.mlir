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
