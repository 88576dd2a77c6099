// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --split-input-file --verify-diagnostics --convert-mx-to-mxgpu

// TEMPLATE function
// SET arguments = %x: memref<8x8xf32>, %y: memref<8xf32>
#matrix = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
#transposed = affine_map<(r, c) -> (c, r)>
#column = affine_map<(r, c) -> (c)>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// SET arguments = %x: memref<?xf32>, %v: f32
// expected-error @below {{'linalg.fill' op expected a constant whose bits are all 0 on the GPU, which fills memory with zeros; found another value: make the tensor an argument of the function, or add the value where it is used}}
linalg.fill ins(%v : f32) outs(%x : memref<?xf32>)

// SET arguments = %x: memref<?x4xf32, strided<[8, 1]>>
%zero = arith.constant 0.0 : f32
// expected-error @below {{'linalg.fill' op expected a contiguous tensor of elements of at least 8 bits, or a contiguous matrix of narrower floats, on the GPU, found 'memref<?x4xf32, strided<[8, 1]>>'}}
linalg.fill ins(%zero : f32) outs(%x : memref<?x4xf32, strided<[8, 1]>>)

// SET arguments = %x: memref<8xi1>
%zero = arith.constant 0 : i1
// expected-error @below {{'linalg.fill' op expected a contiguous tensor of elements of at least 8 bits, or a contiguous matrix of narrower floats, on the GPU, found 'memref<8xi1>'}}
linalg.fill ins(%zero : i1) outs(%x : memref<8xi1>)

// SET arguments = %x: memref<8x8xf32>
// expected-error @below {{'linalg.matmul' op expected linalg.fill, linalg.generic or linalg.reduce on the GPU, where linalg operations fill memory with zeros or reduce rows of matrices}}
linalg.matmul ins(%x, %x : memref<8x8xf32>, memref<8x8xf32>) outs(%x : memref<8x8xf32>)

// SET arguments = %x: memref<8x8xf32>
// expected-error @below {{'linalg.generic' op expected iterator types parallel, reduction and one result on the GPU, where linalg operations other than fills reduce rows of matrices, found parallel, parallel and 1; elementwise operations become part of matmuls and quantizations by mx-fuse-epilogues and mx-fuse-prologues}}
linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<8x8xf32>) outs(%x : memref<8x8xf32>) {
^bb0(%a: f32, %b: f32):
  linalg.yield %a : f32
}

// SET arguments = %x: memref<8x8xbf16>, %y: memref<8xbf16>
// expected-error @below {{'linalg.generic' op expected an f32 result with identity layout and one number per row on the GPU, found 'memref<8xbf16>' indexed by affine_map<(d0, d1) -> (d0)>}}
linalg.generic {indexing_maps = [#matrix, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<8x8xbf16>) outs(%y : memref<8xbf16>) {
^bb0(%a: bf16, %acc: bf16):
  %0 = arith.addf %a, %acc : bf16
  linalg.yield %0 : bf16
}

// expected-error @below {{'linalg.generic' op expected a reduction on the GPU to end in arith.addf, arith.maximumf or arith.minimumf, which must be the only use of the accumulator}}
linalg.generic {indexing_maps = [#matrix, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<8x8xf32>) outs(%y : memref<8xf32>) {
^bb0(%a: f32, %acc: f32):
  %0 = arith.mulf %a, %acc : f32
  linalg.yield %0 : f32
}

// expected-error @below {{'linalg.generic' op expected a reduction on the GPU to read bf16, f16 or f32 matrices with contiguous rows, values indexed by row or column, or scalars; found 'memref<8x8xf32>' indexed by affine_map<(d0, d1) -> (d1, d0)> as input 0}}
linalg.generic {indexing_maps = [#transposed, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<8x8xf32>) outs(%y : memref<8xf32>) {
^bb0(%a: f32, %acc: f32):
  %0 = arith.addf %a, %acc : f32
  linalg.yield %0 : f32
}

// SET arguments = %x: memref<8x8xi32>, %y: memref<8xf32>
// expected-error @below {{'linalg.generic' op expected a reduction on the GPU to read bf16, f16 or f32 matrices with contiguous rows, values indexed by row or column, or scalars; found 'memref<8x8xi32>' indexed by affine_map<(d0, d1) -> (d0, d1)> as input 0}}
linalg.generic {indexing_maps = [#matrix, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<8x8xi32>) outs(%y : memref<8xf32>) {
^bb0(%a: i32, %acc: f32):
  %0 = arith.sitofp %a : i32 to f32
  %1 = arith.addf %0, %acc : f32
  linalg.yield %1 : f32
}

// SET arguments = %x: memref<8xf32>, %y: memref<8xf32>
// expected-error @below {{'linalg.generic' op expected a matrix as input of a reduction on the GPU, found none}}
linalg.generic {indexing_maps = [#column, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {
^bb0(%a: f32, %acc: f32):
  %0 = arith.addf %a, %acc : f32
  linalg.yield %0 : f32
}

// SET arguments = %x: memref<8x8xf32, strided<[16, 2]>>, %y: memref<8xf32>
// expected-error @below {{'linalg.generic' op expected a reduction on the GPU to read bf16, f16 or f32 matrices with contiguous rows, values indexed by row or column, or scalars; found 'memref<8x8xf32, strided<[16, 2]>>' indexed by affine_map<(d0, d1) -> (d0, d1)> as input 0}}
linalg.generic {indexing_maps = [#matrix, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<8x8xf32, strided<[16, 2]>>) outs(%y : memref<8xf32>) {
^bb0(%a: f32, %acc: f32):
  %0 = arith.addf %a, %acc : f32
  linalg.yield %0 : f32
}

linalg.generic {indexing_maps = [#matrix, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<8x8xf32>) outs(%y : memref<8xf32>) {
^bb0(%a: f32, %acc: f32):
  // expected-error @below {{'math.exp' op in a reduction on the GPU: expected elementwise arith and math operations, or memref.load indexed by row and column, found an operation that cannot be inlined}}
  %0 = math.exp %a : f32
  %1 = arith.addf %0, %acc : f32
  linalg.yield %1 : f32
}
