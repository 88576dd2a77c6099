// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --split-input-file --verify-diagnostics --convert-mxgpu-host-to-plan

// Rejects operations that a launch plan cannot express, before anything is
// changed.

// -----

// expected-error @below {{'func.func' op expected one block in a launch plan, found 2}}
func.func @blocks() {
  llvm.br ^a
^a:
  return
}

// -----

// TEMPLATE function
// SET arguments = %x: memref<4xi16>
!map = !mxgpu.tensor_map<64x128xi32>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// USE function body
// SET arguments = %x: memref<4x4xi16>, %y: memref<4x2xi16>
%0 = memref.subview %x[0, 0] [4, 2] [1, 1] : memref<4x4xi16> to memref<4x2xi16, strided<[4, 1]>>
// expected-error @below {{'memref.copy' op expected whole arrays in a launch plan, found a slice}}
memref.copy %0, %y : memref<4x2xi16, strided<[4, 1]>> to memref<4x2xi16>

// -----

// CASES
func.func @unknown(%x: memref<4xf32>) {
  // expected-error @below {{'memref.get_global' op expected a constant global with an initial value in a launch plan, found another global}}
  %0 = memref.get_global @g : memref<4xf32>
  return
}
memref.global "private" @g : memref<4xf32>

memref.global "private" constant @c : memref<4xf32> = dense<1.0>
func.func @written(%x: memref<4xf32>) {
  %0 = memref.get_global @c : memref<4xf32>
  // expected-error @below {{'memref.copy' op expected an array that may be written, found a constant: copy it to a new array}}
  memref.copy %x, %0 : memref<4xf32> to memref<4xf32>
  return
}

// -----

// CASES function body
// SET arguments = %x: memref<4xi32>, %i: index, %n: i32
// expected-error @below {{'memref.store' op expected arithmetic on sizes, allocations, copies and launches in a launch plan, found another operation}}
memref.store %n, %x[%i] : memref<4xi32>

// SET arguments = %x: memref<4xi12>, %i: index
// expected-error @below {{'memref.load' op expected integers and floats of 8, 16, 32 or 64 bits, i1 or index where the host reads a number, found 'i12'}}
%0 = memref.load %x[%i] : memref<4xi12>

%one = arith.constant 1 : i16
// expected-error @below {{'gpu.memset' op expected a constant with equal bytes and no async tokens in a launch plan}}
gpu.memset %x, %one : memref<4xi16>, i16

// -----

func.func @dim(%x: memref<?x4xi16>, %i: index) -> index {
  // expected-error @below {{'memref.dim' op expected a constant dimension of the memref in a launch plan}}
  %0 = memref.dim %x, %i : memref<?x4xi16>
  return %0 : index
}

// -----

// CASES function body
// SET arguments = %n: index
// expected-error @below {{'memref.alloc' op expected an array of whole bytes with identity layout and an alignment of at most 256 in a launch plan, found 'memref<?xi4>'}}
%0 = memref.alloc(%n) : memref<?xi4>

// expected-error @below {{'memref.cast' op expected a cast that keeps the rank in a launch plan, found a cast to 'memref<*xi16>'}}
%0 = memref.cast %x : memref<4xi16> to memref<*xi16>

// SET arguments = %x: memref<64x128xi32>
// expected-error @below {{expected elements of one byte, f16, bf16 or f32, found 'i32'}}
%0 = mxgpu.encode_tensor_map %x : memref<64x128xi32> -> !map
