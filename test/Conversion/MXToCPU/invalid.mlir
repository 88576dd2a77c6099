// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-cpu

// -----

// CASES
func.func @tensors(%q: tensor<2x32xf8E4M3FN>, %s: tensor<2x1xf8E8M0FNU>,
                   %x: tensor<2x32xf32>) -> tensor<2x32xf32> {
  // expected-error @below {{'mx.dequantize' op expected operands on memrefs, found tensors; bufferize before lowering to the CPU}}
  %y = mx.dequantize ins(%q, %s : tensor<2x32xf8E4M3FN>, tensor<2x1xf8E8M0FNU>)
      outs(%x : tensor<2x32xf32>) -> tensor<2x32xf32>
  return %y : tensor<2x32xf32>
}

// Elements that share a byte cannot be loaded one by one.
func.func @load_packed(%q: memref<2x32xf4E2M1FN>, %i: index) -> f4E2M1FN {
  // expected-error @below {{expected loads and stores of elements of at least 8 bits on the CPU path, found 'f4E2M1FN'; mx.dequantize widens narrower floats}}
  %v = memref.load %q[%i, %i] : memref<2x32xf4E2M1FN>
  return %v : f4E2M1FN
}

// expected-error @below {{expected an even number of f4E2M1FN elements, which are stored two per byte, in the last dimension, found 'memref<2x33xf4E2M1FN>'}}
func.func @half_a_byte(%q: memref<2x33xf4E2M1FN>) {
  return
}

// expected-error @below {{expected packed f4E2M1FN elements in contiguous rows of whole bytes, found 'memref<2x32xf4E2M1FN, strided<[64, 2]>>'}}
func.func @strided(%q: memref<2x32xf4E2M1FN, strided<[64, 2]>>) {
  return
}

func.func @store_of_6_bits(%q: memref<2x32xf6E3M2FN>, %v: f6E3M2FN, %i: index) {
  // expected-error @below {{expected loads and stores of elements of at least 8 bits on the CPU path, found 'f6E3M2FN'}}
  memref.store %v, %q[%i, %i] : memref<2x32xf6E3M2FN>
  return
}

func.func @parts_of_rows(%q: memref<2x32xf4E2M1FN>) -> memref<2x16xf4E2M1FN, strided<[32, 1], offset: 16>> {
  // expected-error @below {{expected slices of whole rows of f4E2M1FN elements, which are stored two per byte, found a slice of partial rows}}
  %s = memref.subview %q[0, 16] [2, 16] [1, 1] : memref<2x32xf4E2M1FN> to memref<2x16xf4E2M1FN, strided<[32, 1], offset: 16>>
  return %s : memref<2x16xf4E2M1FN, strided<[32, 1], offset: 16>>
}

func.func @joined_rows(%q: memref<2x?xf4E2M1FN>) -> memref<?xf4E2M1FN> {
  // expected-error @below {{expected rows with a static even length in a reshape that joins or splits rows of f4E2M1FN elements, which are stored two per byte, found 'memref<2x?xf4E2M1FN>'}}
  %s = memref.collapse_shape %q [[0, 1]] : memref<2x?xf4E2M1FN> into memref<?xf4E2M1FN>
  return %s : memref<?xf4E2M1FN>
}

func.func @divided_row(%q: memref<?xf4E2M1FN>, %n: index) -> memref<2x?xf4E2M1FN> {
  // expected-error @below {{expected rows with a static even length in a reshape that joins or splits rows of f4E2M1FN elements, which are stored two per byte, found 'memref<2x?xf4E2M1FN>'}}
  %s = memref.expand_shape %q [[0, 1]] output_shape [2, %n] : memref<?xf4E2M1FN> into memref<2x?xf4E2M1FN>
  return %s : memref<2x?xf4E2M1FN>
}

func.func @arithmetic(%x: f8E4M3FN) -> f8E4M3FN {
  // expected-error @below {{expected operands and results of f16, bf16, f32, f64, integers or index in arithmetic on the CPU path, found 'f8E4M3FN'; mx.dequantize widens narrower floats}}
  %y = arith.addf %x, %x : f8E4M3FN
  return %y : f8E4M3FN
}

func.func @narrow(%x: i32) -> f8E4M3FN {
  // expected-error @below {{in arithmetic on the CPU path, found 'f8E4M3FN'; mx.quantize computes narrower floats and their scales}}
  %y = arith.sitofp %x : i32 to f8E4M3FN
  return %y : f8E4M3FN
}

func.func @scaled(%x: f8E5M2, %s: f8E8M0FNU) -> f32 {
  // expected-error @below {{in arithmetic on the CPU path, found 'f8E5M2'; mx-opt --mx-import-scaled converts the operation to mx (docs/guide/Import.md)}}
  %y = arith.scaling_extf %x, %s : f8E5M2, f8E8M0FNU to f32
  return %y : f32
}

func.func @conversion(%x: f8E5M2) -> f32 {
  // expected-error @below {{in arithmetic on the CPU path, found 'f8E5M2'}}
  %y = arith.extf %x : f8E5M2 to f32
  return %y : f32
}
