// RUN: mx-opt %s -split-input-file -verify-diagnostics --convert-mx-to-cpu

func.func @tensors(%q: tensor<2x32xf8E4M3FN>, %s: tensor<2x1xf8E8M0FNU>,
                   %x: tensor<2x32xf32>) -> tensor<2x32xf32> {
  // expected-error @below {{'mx.dequantize' op expected operands on memrefs, found tensors; bufferize before lowering to the CPU}}
  %y = mx.dequantize ins(%q, %s : tensor<2x32xf8E4M3FN>, tensor<2x1xf8E8M0FNU>)
      outs(%x : tensor<2x32xf32>) -> tensor<2x32xf32>
  return %y : tensor<2x32xf32>
}

// -----

// An element that shares its byte has no address.
func.func @load_packed(%q: memref<2x32xf4E2M1FN>, %i: index) -> f4E2M1FN {
  // expected-error @below {{failed to legalize operation 'memref.load'}}
  %v = memref.load %q[%i, %i] : memref<2x32xf4E2M1FN>
  return %v : f4E2M1FN
}

// -----

// expected-error @below {{expected an even number of f4E2M1FN elements in the last dimension, which share bytes, found 'memref<2x33xf4E2M1FN>'}}
func.func @half_a_byte(%q: memref<2x33xf4E2M1FN>) {
  return
}

// -----

// expected-error @below {{expected packed f4E2M1FN elements in rows of their own, without gaps, found 'memref<2x32xf4E2M1FN, strided<[64, 2]>>'}}
func.func @strided(%q: memref<2x32xf4E2M1FN, strided<[64, 2]>>) {
  return
}
