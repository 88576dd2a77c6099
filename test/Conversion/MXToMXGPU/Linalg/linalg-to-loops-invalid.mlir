// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --split-input-file --verify-diagnostics --mx-linalg-to-loops

// TEMPLATE function
// SET arguments = %x: memref<8xf32>
#id = affine_map<(i) -> (i)>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// SET arguments = %x: memref<8xf8E4M3FN>, %y: memref<8xf32>
linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<8xf8E4M3FN>) outs(%y : memref<8xf32>) {
^bb0(%a: f8E4M3FN, %old: f32):
  // expected-error @below {{'arith.extf' op expected operands and results of f16, bf16, f32, f64, i1, i8, i16, i32, i64 or index in a simple kernel on the GPU, found 'f8E4M3FN'; mx.dequantize widens narrower floats}}
  %0 = arith.extf %a : f8E4M3FN to f32
  linalg.yield %0 : f32
}

// SET arguments = %x: memref<8xf8E4M3FN>, %s: memref<8xf8E8M0FNU>, %y: memref<8xf32>
linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %s : memref<8xf8E4M3FN>, memref<8xf8E8M0FNU>) outs(%y : memref<8xf32>) {
^bb0(%a: f8E4M3FN, %b: f8E8M0FNU, %old: f32):
  // expected-error @below {{found 'f8E4M3FN'; mx-opt --mx-import-scaled converts the operation to mx (docs/guide/Import.md)}}
  %0 = arith.scaling_extf %a, %b : f8E4M3FN, f8E8M0FNU to f32
  linalg.yield %0 : f32
}

linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
^bb0(%old: f32):
  // expected-error @below {{'math.exp' op expected arith, math and scf operations and memref.load in a simple kernel on the GPU, found an operation that a thread cannot compute}}
  %0 = math.exp %old : f32
  linalg.yield %0 : f32
}

// SET arguments = %x: memref<8x8xf4E2M1FN>, %y: memref<8x8xf4E2M1FN>
// expected-error @below {{'linalg.generic' op expected numbers, or strided memrefs of f16, bf16, f32, f64, 8-bit floats, i1, i8, i16, i32, i64 or index, in a simple kernel on the GPU, found operand 0 of type 'memref<8x8xf4E2M1FN>'}}
linalg.transpose ins(%x : memref<8x8xf4E2M1FN>) outs(%y : memref<8x8xf4E2M1FN>) permutation = [1, 0]

// SET arguments = %x: memref<8x8xf4E2M1FN>, %y: memref<8x8xf4E2M1FN, strided<[16, 1]>>
// expected-error @below {{'memref.copy' op expected whole tensors of f4E2M1FN to be copied on the GPU, because elements share bytes, found a copy of a slice}}
memref.copy %x, %y : memref<8x8xf4E2M1FN> to memref<8x8xf4E2M1FN, strided<[16, 1]>>

// SET arguments = %x: memref<8xf8E4M3FN>, %n: f8E4M3FN, %i: index
// expected-error @below {{'memref.store' op expected a kernel to store an element of f16, bf16, f32, f64, i1, i8, i16, i32, i64 or index on the GPU, found 'f8E4M3FN'}}
memref.store %n, %x[%i] : memref<8xf8E4M3FN>

linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
^bb0(%old: f32):
  // expected-error @below {{'arith.remf' op expected an operation that GPUs compute exactly, found arith.remf; subtract a multiple instead}}
  %0 = arith.remf %old, %old : f32
  linalg.yield %0 : f32
}

// SET arguments = %x: memref<8xf32>, %y: memref<8xf8E4M3FN>
linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<8xf32>) outs(%y : memref<8xf8E4M3FN>) {
^bb0(%a: f32, %old: f8E4M3FN):
  // expected-error @below {{found 'f8E4M3FN'; mx.quantize computes narrower floats and their scales}}
  %0 = arith.truncf %a : f32 to f8E4M3FN
  linalg.yield %0 : f8E4M3FN
}

// SET arguments = %x: memref<8xf32>, %s: memref<8xf8E8M0FNU>, %y: memref<8xf8E4M3FN>
linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %s : memref<8xf32>, memref<8xf8E8M0FNU>) outs(%y : memref<8xf8E4M3FN>) {
^bb0(%a: f32, %b: f8E8M0FNU, %old: f8E4M3FN):
  // expected-error @below {{found 'f8E8M0FNU'; mx.quantize computes narrower floats and their scales}}
  %0 = arith.scaling_truncf %a, %b : f32, f8E8M0FNU to f8E4M3FN
  linalg.yield %0 : f8E4M3FN
}

// The body built by upstream has the location of the operation.
// SET arguments = %a: memref<4x32xf8E4M3FN>, %b: memref<32x8xf8E4M3FN>, %c: memref<4x8xf32>
// expected-error @below {{'arith.extf' op expected operands and results of}}
linalg.matmul ins(%a, %b : memref<4x32xf8E4M3FN>, memref<32x8xf8E4M3FN>) outs(%c : memref<4x8xf32>)
