// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu

// Each unsupported epilogue causes a single error at the operation.

// -----

// TEMPLATE function
// SET arguments = %a: !a, %s: !s, %y: !y
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// Rejects an operation that GPUs do not compute exactly.
// USE function body
// SET arguments = %a: !a, %s: !s, %y: !y, %f: f32
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) epilogue {
^bb0(%acc: f32, %row: index, %column: index):
  // expected-error @below {{'arith.remf' op in an epilogue on the GPU: expected an operation that GPUs compute exactly, found arith.remf; subtract a multiple instead}}
  %v = arith.remf %acc, %f : f32
  mx.yield %v : f32
}

// -----

// Rejects a call.
func.func private @f(f32) -> f32
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%a: !a, %s: !s, %y: !y, %f: f32) {
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) epilogue {
  ^bb0(%acc: f32, %row: index, %column: index):
    // expected-error @below {{'func.call' op in an epilogue on the GPU: expected elementwise arith and math operations, or memref.load indexed by row and column, found an operation that cannot be inlined}}
    %v = func.call @f(%acc) : (f32) -> f32
    mx.yield %v : f32
  }
  return
}

// -----

// CASES function body
// Rejects a loop.
// SET arguments = %a: !a, %s: !s, %y: !y, %n: index
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) epilogue {
^bb0(%acc: f32, %row: index, %column: index):
  // expected-error @below {{'scf.for' op in an epilogue on the GPU: expected elementwise arith and math operations}}
  %v = scf.for %i = %row to %n step %n iter_args(%x = %acc) -> f32 {
    scf.yield %x : f32
  }
  mx.yield %v : f32
}

// Rejects a store.
// SET arguments = %a: !a, %s: !s, %y: !y, %m: memref<128xf32>
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) epilogue {
^bb0(%acc: f32, %row: index, %column: index):
  // expected-error @below {{'memref.store' op in an epilogue on the GPU: expected elementwise arith and math operations}}
  memref.store %acc, %m[%row] : memref<128xf32>
  mx.yield %acc : f32
}

// Rejects a math function without an expansion.
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) epilogue {
^bb0(%acc: f32, %row: index, %column: index):
  // expected-error @below {{'math.exp' op in an epilogue on the GPU: expected elementwise arith and math operations}}
  %v = math.exp %acc : f32
  mx.yield %v : f32
}

// Rejects a transposed matrix, because its elements are not consecutive.
// SET arguments = %a: !a, %s: !s, %y: !y, %m: memref<128x128xf32>
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) epilogue {
^bb0(%acc: f32, %row: index, %column: index):
  // expected-error @below {{'memref.load' op in an epilogue on the GPU: expected indices that do not depend on the column, except that the last index may be the column plus an offset; found another index at position 0}}
  %v = memref.load %m[%column, %row] : memref<128x128xf32>
  mx.yield %v : f32
}

// Rejects a stride of two along the columns.
// SET arguments = %a: !a, %s: !s, %y: !y, %m: memref<256xf32>
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) epilogue {
^bb0(%acc: f32, %row: index, %column: index):
  %two = arith.addi %column, %column : index
  // expected-error @below {{'memref.load' op in an epilogue on the GPU: expected indices that do not depend on the column, except that the last index may be the column plus an offset; found another index at position 0}}
  %v = memref.load %m[%two] : memref<256xf32>
  mx.yield %v : f32
}

// Rejects an index computed from the sum.
// SET arguments = %a: !a, %s: !s, %y: !y, %m: memref<256xf32>
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) epilogue {
^bb0(%acc: f32, %row: index, %column: index):
  %i = arith.fptosi %acc : f32 to i32
  %j = arith.index_cast %i : i32 to index
  // expected-error @below {{'memref.load' op in an epilogue on the GPU: expected indices that do not depend on the column}}
  %v = memref.load %m[%j] : memref<256xf32>
  mx.yield %v : f32
}

// Rejects an unsupported layout.
// SET arguments = %a: !a, %s: !s, %y: !y, %m: memref<128xf32, affine_map<(d0) -> (d0 floordiv 2, d0 mod 2)>>
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) epilogue {
^bb0(%acc: f32, %row: index, %column: index):
  // expected-error @below {{'memref.load' op in an epilogue on the GPU: expected captured values to be numbers or strided memrefs of numbers, found 'memref<128xf32, affine_map<(d0) -> (d0 floordiv 2, d0 mod 2)>>'}}
  %v = memref.load %m[%column] : memref<128xf32, affine_map<(d0) -> (d0 floordiv 2, d0 mod 2)>>
  mx.yield %v : f32
}

// Rejects a captured value whose type no register can hold.
// SET arguments = %a: !a, %s: !s, %y: !y, %q: f8E4M3FN
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) epilogue {
^bb0(%acc: f32, %row: index, %column: index):
  // expected-error @below {{'arith.extf' op in an epilogue on the GPU: expected captured values to be numbers or strided memrefs of numbers, found 'f8E4M3FN'}}
  %v = arith.extf %q : f8E4M3FN to f32
  mx.yield %v : f32
}

// Rejects a value of the same type that the region creates.
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) epilogue {
^bb0(%acc: f32, %row: index, %column: index):
  // expected-error @below {{'arith.truncf' op in an epilogue on the GPU: expected operands and results of f16, bf16, f32, f64, i1, i8, i16, i32, i64 or index, found 'f8E5M2'}}
  %q = arith.truncf %acc : f32 to f8E5M2
  %v = arith.extf %q : f8E5M2 to f32
  mx.yield %v : f32
}

// Rejects packed elements.
// SET arguments = %a: !a, %s: !s, %y: !y, %m: memref<128xi1>
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y) epilogue {
^bb0(%acc: f32, %row: index, %column: index):
  // expected-error @below {{'memref.load' op in an epilogue on the GPU: expected elements of whole bytes, found 'memref<128xi1>'}}
  %c = memref.load %m[%column] : memref<128xi1>
  %z = arith.constant 0.0 : f32
  %v = arith.select %c, %acc, %z : f32
  mx.yield %v : f32
}
