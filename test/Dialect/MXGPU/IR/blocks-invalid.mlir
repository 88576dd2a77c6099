// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// TEMPLATE function
// SET arguments = %x: memref<128x64xf32>, %n: index
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// load_block C2
// expected-error @below {{'mxgpu.load_block' op expected a matrix with element type 'bf16', found 'f32'}}
%v = mxgpu.load_block %x[%n, %n] : memref<128x64xf32> -> vector<32xbf16>

// shared C12
// expected-error @below {{'mxgpu.load_block' op expected a 1-D vector of whole 32-bit words, found 'vector<4x8xf32>'}}
%v = mxgpu.load_block %x[%n, %n] : memref<128x64xf32> -> vector<4x8xf32>

// shared C12
// expected-error @below {{'mxgpu.load_block' op expected a 1-D vector of whole 32-bit words, found 'vector<[32]xf32>'}}
%v = mxgpu.load_block %x[%n, %n] : memref<128x64xf32> -> vector<[32]xf32>

// SET arguments = %x: memref<128x64xbf16>, %n: index
// shared C12
// expected-error @below {{'mxgpu.load_block' op expected a 1-D vector of whole 32-bit words, found 'vector<3xbf16>'}}
%v = mxgpu.load_block %x[%n, %n] : memref<128x64xbf16> -> vector<3xbf16>

// SET arguments = %x: memref<128x64xbf16>, %n: index
// shared C10
// expected-error @below {{'mxgpu.load_block' op expected vectors of at most 1024 elements, found 'vector<1099511627776xbf16>'}}
%v = mxgpu.load_block %x[%n, %n] : memref<128x64xbf16> -> vector<1099511627776xbf16>

// SET arguments = %x: memref<64xbf16>, %n: index
// load_block C1
// expected-error @below {{'mxgpu.load_block' op expected a matrix whose rows are contiguous, found 'memref<64xbf16>'}}
%v = mxgpu.load_block %x[%n, %n] : memref<64xbf16> -> vector<32xbf16>

// SET arguments = %x: memref<128x64xf4E2M1FN>, %v: vector<32xf4E2M1FN>, %n: index
// shared C14
// expected-error @below {{'mxgpu.store_block' op expected a matrix with element type 'i8', found 'f4E2M1FN'}}
mxgpu.store_block %v, %x[%n, %n] : vector<32xf4E2M1FN>, memref<128x64xf4E2M1FN>

// SET arguments = %x: memref<128x64xi8>, %v: vector<4xf4E2M1FN>, %n: index
// shared C12
// expected-error @below {{'mxgpu.store_block' op expected a 1-D vector of whole 32-bit words, found 'vector<4xf4E2M1FN>'}}
mxgpu.store_block %v, %x[%n, %n] : vector<4xf4E2M1FN>, memref<128x64xi8>

// SET arguments = %x: memref<64xf8E4M3FN>, %v: vector<32xf8E4M3FN>, %n: index
// shared C13
// expected-error @below {{'mxgpu.store_block' op expected a matrix with identity layout, found 'memref<64xf8E4M3FN>'}}
mxgpu.store_block %v, %x[%n, %n] : vector<32xf8E4M3FN>, memref<64xf8E4M3FN>

// SET arguments = %x: memref<128x64xbf16>, %n: index, %v: vector<2048xbf16>
// shared C10
// expected-error @below {{'mxgpu.store_block' op expected vectors of at most 1024 elements, found 'vector<2048xbf16>'}}
mxgpu.store_block %v, %x[%n, %n] : vector<2048xbf16>, memref<128x64xbf16>

// SET arguments = %c: memref<4x4x4xf32>, %n: index, %p: i1
%f = ub.poison : vector<32xf32>
// shared C13
// expected-error @below {{'mxgpu.store_fragment' op expected a matrix with contiguous rows, found 'memref<4x4x4xf32>'}}
mxgpu.store_fragment %f, %c[%n, %n] when(%p) : vector<32xf32>, memref<4x4x4xf32>

// SET arguments = %c: memref<4x4xf32, strided<[8, 2]>>, %n: index, %p: i1
%f = ub.poison : vector<32xf32>
// shared C13
// expected-error @below {{'mxgpu.store_fragment' op expected a matrix with contiguous rows, found 'memref<4x4xf32, strided<[8, 2]>>'}}
mxgpu.store_fragment %f, %c[%n, %n] when(%p) : vector<32xf32>, memref<4x4xf32, strided<[8, 2]>>

// SET arguments = %c: memref<4x4xbf16>, %n: index, %p: i1
%f = ub.poison : vector<32xf32>
// shared C14
// expected-error @below {{'mxgpu.store_fragment' op expected a matrix with element type 'f32', found 'bf16'}}
mxgpu.store_fragment %f, %c[%n, %n] when(%p) : vector<32xf32>, memref<4x4xbf16>

// SET arguments = %c: memref<4x64xf32>, %n: index, %p: i1
%f = ub.poison : vector<32xf32>
// store_fragment C2
// expected-error @below {{'mxgpu.store_fragment' op expected an alignment of 4, 8, 16 or 32 bytes, found 2}}
mxgpu.store_fragment %f, %c[%n, %n] when(%p) aligned(2) : vector<32xf32>, memref<4x64xf32>

// SET arguments = %c: memref<4x64xf32>, %n: index, %p: i1
%f = ub.poison : vector<4xf32>
// store_fragment C3
// expected-error @below {{'mxgpu.store_fragment' op expected a vector size that is a multiple of 32 bytes, found 16}}
mxgpu.store_fragment %f, %c[%n, %n] when(%p) aligned(32) : vector<4xf32>, memref<4x64xf32>

// SET arguments = %c: memref<4x64xbf16>, %n: index, %p: i1
%f = ub.poison : vector<4xbf16>
// store_fragment C1
// expected-error @below {{'mxgpu.store_fragment' op 'add' requires f32 elements, found 'vector<4xbf16>'}}
mxgpu.store_fragment %f, %c[%n, %n] when(%p) add : vector<4xbf16>, memref<4x64xbf16>

// SET arguments = %x: memref<128x64xbf16>, %n: index, %p: i1, %v: vector<4611686018427387904xbf16>
// shared C10
// expected-error @below {{'mxgpu.store_fragment' op expected vectors of at most 1024 elements, found 'vector<4611686018427387904xbf16>'}}
mxgpu.store_fragment %v, %x[%n, %n] when(%p) : vector<4611686018427387904xbf16>, memref<128x64xbf16>

// SET arguments = %x: memref<4x64xf32>, %n: index, %p: i1, %v: vector<2x4xf32>
// shared C11
// expected-error @below {{'mxgpu.store_fragment' op expected a 1-D vector whose elements fill whole bytes, found 'vector<2x4xf32>'}}
mxgpu.store_fragment %v, %x[%n, %n] when(%p) : vector<2x4xf32>, memref<4x64xf32>

// SET arguments = 
// thread_amax C1
// expected-error @below {{'mxgpu.thread_amax' op expected at least one vector, found none}}
%m = "mxgpu.thread_amax"() : () -> f32

// SET arguments = %v: vector<32xbf16>, %w: vector<32xf32>
// thread_amax C2
// expected-error @below {{'mxgpu.thread_amax' op expected vectors with bf16, f16 or f32 elements, found 'vector<32xf32>'}}
%m = mxgpu.thread_amax %v, %w : vector<32xbf16>, vector<32xf32>

// SET arguments = %v: vector<31xbf16>
// thread_amax C3
// expected-error @below {{'mxgpu.thread_amax' op expected vectors of whole 32-bit words, found 'vector<31xbf16>'}}
%m = mxgpu.thread_amax %v : vector<31xbf16>

// The number of elements, 2^64, overflows to 0.
// SET arguments = %v: vector<4294967296x4294967296xbf16>
// shared C10
// expected-error @below {{'mxgpu.thread_amax' op expected vectors of at most 1024 elements, found 'vector<4294967296x4294967296xbf16>'}}
%m = mxgpu.thread_amax %v : vector<4294967296x4294967296xbf16>

// SET arguments = %v: vector<32x2xbf16>
// thread_amax C4
// expected-error @below {{'mxgpu.thread_amax' op expected a column of rows of 32 bits, found column 2 of 'vector<32x2xbf16>'}}
%m = mxgpu.thread_amax %v column(2) : vector<32x2xbf16>

// SET arguments = %x: f32
// reduce_lanes C1
// expected-error @below {{'mxgpu.reduce_lanes' op expected a power of two of at most 32 lanes, found 12}}
%m = mxgpu.reduce_lanes maximum %x lanes(12) : f32

// SET arguments = %x: vector<16xbf16>
// permute_block C1
// expected-error @below {{'mxgpu.permute_block' op expected 'vector<8xbf16>' or 'vector<8xf32>', found 'vector<16xbf16>'}}
%y = mxgpu.permute_block %x run = 16 : vector<16xbf16>

// SET arguments = %x: vector<8xbf16>
// permute_block C2
// expected-error @below {{'mxgpu.permute_block' op expected run = 8 or run = 16, found 4}}
%y = mxgpu.permute_block %x run = 4 : vector<8xbf16>
