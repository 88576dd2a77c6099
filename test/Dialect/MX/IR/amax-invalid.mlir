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
// SET function = @amax_input_type(%x: tensor<256xf64>, %o: tensor<f32>)
// expected-error @below {{'mx.amax' op operand #0 must be ranked tensor or memref of f32, bf16 or f16, but got 'tensor<256xf64>'}}
%r = mx.amax ins(%x : tensor<256xf64>) outs(%o : tensor<f32>) -> tensor<f32>

// SET function = @amax_outs_type(%x: tensor<256xf32>, %o: tensor<1xf32>)
// expected-error @below {{'mx.amax' op operand #1 must be variadic of rank-0 tensor or memref of f32, but got 'tensor<1xf32>'}}
%r = mx.amax ins(%x : tensor<256xf32>) outs(%o : tensor<1xf32>) -> tensor<1xf32>

// SET function = @amax_c1(%x: tensor<256xf32>, %o: memref<f32>)
// expected-error @below {{'mx.amax' op expected all tensors or all memrefs, found 'tensor<256xf32>' and 'memref<f32>'}}
mx.amax ins(%x : tensor<256xf32>) outs(%o : memref<f32>)

// SET function = @amax_c2(%x: tensor<256xf32>, %o: tensor<f32>)
// expected-error @below {{'mx.amax' op expected 1 operand in outs, found 2}}
%r:2 = mx.amax ins(%x : tensor<256xf32>) outs(%o, %o : tensor<f32>, tensor<f32>) -> tensor<f32>, tensor<f32>

// SET function = @amax_c3(%x: tensor<256xf32, "sparse">, %o: tensor<f32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.amax' op expected input without encoding, found "sparse"}}
%r = mx.amax ins(%x : tensor<256xf32, "sparse">) outs(%o : tensor<f32>) -> tensor<f32>
