// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Invalid loads and stores of tiles in shared memory, and invalid column quantization.

// -----

// TEMPLATE role
// SET arguments = %i: index, %v: bf16, %c: i1, %map: !mxgpu.tensor_map<32x128xi8, sw128>
// SET x = 2x128x64xbf16, sw128
// SET q = 32x128xi8, sw128
// SET consumer = bulk_store
!in = !mxgpu.ring<1 x (x: smem<${x}>), producer = bulk_copy, consumer = threads(32)>
!x = !mxgpu.buffer<smem<${x}>>
!out = !mxgpu.ring<1 x (q: smem<${q}>), producer = threads(32), consumer = ${consumer}>
!q = !mxgpu.buffer<smem<${q}>>
gpu.module @kernels {
  mxgpu.kernel @kernel(${arguments}) {
    %in = mxgpu.ring "in" : !in
    %out = mxgpu.ring "out" : !out
    mxgpu.role @role warps(1) {
      // BLOCK body
      // END
    }
  }
}

// -----

// CASES role body
%s, %s_x = mxgpu.consumer_wait %in : !in
// shared C19
// expected-error @below {{'mxgpu.load_shared' op expected a fragment with 1 or 2 dimensions, found 'vector<1x1x32xbf16>'}}
%x = mxgpu.load_shared %s_x at [%i, %i] : !x -> vector<1x1x32xbf16>

%s, %s_x = mxgpu.consumer_wait %in : !in
// shared C21
// expected-error @below {{'mxgpu.load_shared' op expected fragment elements of type 'bf16', found 'f16'}}
%x = mxgpu.load_shared %s_x at [%i, %i] : !x -> vector<32xf16>

%s, %s_x = mxgpu.consumer_wait %in : !in
// load_shared C1
// expected-error @below {{'mxgpu.load_shared' op expected 1, 2, 4, 8 or 16 lanes, found 32}}
%x = mxgpu.load_shared %s_x at [%i, %i] lanes(32) : !x -> vector<32xbf16>

// SET x = 512xbf16
%s, %s_x = mxgpu.consumer_wait %in : !in
// shared C20
// expected-error @below {{'mxgpu.load_shared' op expected a matrix, or the panels of a matrix, in shared memory, found '!mxgpu.buffer<smem<512xbf16>>'}}
%x = mxgpu.load_shared %s_x at [%i, %i] : !x -> vector<32xbf16>

// SET x = 128x32xbf16, sw128
%s, %s_x = mxgpu.consumer_wait %in : !in
// shared C22
// expected-error @below {{'mxgpu.load_shared' op expected rows to be as long as the swizzle, found '!mxgpu.buffer<smem<128x32xbf16, sw128>>'}}
%x = mxgpu.load_shared %s_x at [%i, %i] : !x -> vector<32xbf16>

%s, %s_x = mxgpu.consumer_wait %in : !in
// shared C23
// expected-error @below {{'mxgpu.load_shared' op expected a row size of 4, 8 or a multiple of 16 bytes, found 'vector<32x6xbf16>'}}
%x = mxgpu.load_shared %s_x at [%i, %i] : !x -> vector<32x6xbf16>

%s, %s_x = mxgpu.consumer_wait %in : !in
// shared C24
// expected-error @below {{'mxgpu.load_shared' op expected a fragment that divides '!mxgpu.buffer<smem<2x128x64xbf16, sw128>>', found 'vector<24x2xbf16>'}}
%x = mxgpu.load_shared %s_x at [%i, %i] : !x -> vector<24x2xbf16>

// SET x = 64x64xbf16
%s, %s_x = mxgpu.consumer_wait %in : !in
// shared C10
// expected-error @below {{'mxgpu.load_shared' op expected vectors of at most 1024 elements, found 'vector<64x64xbf16>'}}
%x = mxgpu.load_shared %s_x at [%i, %i] : !x -> vector<64x64xbf16>

// SET arguments = %i: index, %v: i8
// SET q = 128x128xi8, sw128
%q = vector.broadcast %v : i8 to vector<32xi8>
%s, %s_q = mxgpu.producer_acquire %out : !out
// store_shared C1
// expected-error @below {{'mxgpu.store_shared' op expected a row and a column for a vector, found 1}}
mxgpu.store_shared %q, %s_q at [%i] : vector<32xi8>, !q

// SET arguments = %i: index, %v: i8
// SET consumer = bulk_store, scope = warp
%q = vector.broadcast %v : i8 to vector<32xi8>
%s, %s_q = mxgpu.producer_acquire %out : !out
// store_shared C2
// expected-error @below {{'mxgpu.store_shared' op expected a ring with scope = cta}}
mxgpu.store_shared %q, %s_q at [%i, %i] : vector<32xi8>, !q

// SET arguments = %i: index, %v: i8
%q = vector.broadcast %v : i8 to vector<128xi8>
%s, %s_q = mxgpu.producer_acquire %out : !out
%rows = mxgpu.from_rows %q : vector<128xi8> -> !mxgpu.fragment<128x128xi8, #mxgpu.fragment_layout<threads = [128: 1 row], values = [128: 1 column]>>
// shared C26
// expected-error @below {{'mxgpu.store_shared' op expected a role with 128 threads, as in the layout of the fragment, found 32}}
mxgpu.store_shared %rows, %s_q : !mxgpu.fragment<128x128xi8, #mxgpu.fragment_layout<threads = [128: 1 row], values = [128: 1 column]>>, !q

// SET q = 256xf8E8M0FNU
%f = arith.constant 1.0 : f8E8M0FNU
%s, %s_q = mxgpu.producer_acquire %out : !out
// store_scale C1
// expected-error @below {{'mxgpu.store_scale' op expected a tile of 512 one-byte scales of type 'f8E8M0FNU', or a matrix of tiles, found '!mxgpu.buffer<smem<256xf8E8M0FNU>>'}}
mxgpu.store_scale %f, %s_q at [%i, %i] : f8E8M0FNU, !q

// Rejects stores of results to a ring with threads as its consumer.
// SET q = 512xf8E8M0FNU
// SET consumer = threads(32)
%f = arith.constant 1.0 : f8E8M0FNU
%s, %s_q = mxgpu.producer_acquire %out : !out
// shared C3
// expected-error @below {{'mxgpu.store_scale' op expected a ring with consumer bulk_store, found threads}}
mxgpu.store_scale %f, %s_q at [%i, %i] : f8E8M0FNU, !q

// SET arguments = %i: index, %c: i1, %q: memref<?x?xi8>
// SET consumer = threads(32)
%s, %s_q = mxgpu.producer_acquire %out : !out
// shared C3
// expected-error @below {{'mxgpu.store_rows' op expected a ring with consumer bulk_store, found threads}}
mxgpu.store_rows %s_q to %q[%i, %i] rows(%i) when(%c) : !q, memref<?x?xi8>

// SET arguments = %i: index, %c: i1, %q: memref<?x?xi8>
// SET consumer = bulk_store, scope = warp
%s, %s_q = mxgpu.producer_acquire %out : !out
// store_rows C1
// expected-error @below {{'mxgpu.store_rows' op expected a ring with scope = cta, found '!mxgpu.ring<1 x (q: smem<32x128xi8, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>'}}
mxgpu.store_rows %s_q to %q[%i, %i] rows(%i) when(%c) : !q, memref<?x?xi8>

// SET arguments = %i: index, %c: i1, %q: memref<?x?xf8E4M3FN>
%s, %s_q = mxgpu.producer_acquire %out : !out
// store_rows C2
// expected-error @below {{'mxgpu.store_rows' op expected a matrix with element type 'i8' and identity layout, found 'memref<?x?xf8E4M3FN>'}}
mxgpu.store_rows %s_q to %q[%i, %i] rows(%i) when(%c) : !q, memref<?x?xf8E4M3FN>

// SET arguments = %f: memref<512xf8E8M0FNU, strided<[2]>>
// SET q = 512xf8E8M0FNU
%s, %s_q = mxgpu.producer_acquire %out : !out
// bulk_store C1
// expected-error @below {{'mxgpu.bulk_store' op expected an array with identity layout whose elements fill whole bytes, found 'memref<512xf8E8M0FNU, strided<[2]>>'}}
mxgpu.bulk_store %s_q to %f[] : !q, memref<512xf8E8M0FNU, strided<[2]>>

// SET arguments = %i: index, %f: memref<512xf8E8M0FNU>
// SET q = 512xf8E8M0FNU
%s, %s_q = mxgpu.producer_acquire %out : !out
// bulk_store C2
// expected-error @below {{'mxgpu.bulk_store' op expected at most 1 coordinates, found 2}}
mxgpu.bulk_store %s_q to %f[%i, %i] : !q, memref<512xf8E8M0FNU>

// SET arguments = %i: index, %f: memref<?x?x32x4x4xf8E8M0FNU>
// SET q = 2x1x512xf8E8M0FNU
%s, %s_q = mxgpu.producer_acquire %out : !out
// bulk_store C3
// expected-error @below {{'mxgpu.bulk_store' op expected a tile index below 2, found 2}}
mxgpu.bulk_store %s_q tile(2) to %f[%i, %i] : !q, memref<?x?x32x4x4xf8E8M0FNU>

// SET arguments = %i: index, %f: memref<?x?xf8E8M0FNU>
// SET q = 512xf8E8M0FNU
%s, %s_q = mxgpu.producer_acquire %out : !out
// bulk_store C4
// expected-error @below {{'mxgpu.bulk_store' op expected coordinates that select as many bytes as '!mxgpu.buffer<smem<512xf8E8M0FNU>>' contains, which must be a multiple of 16, found 0 in 'memref<?x?xf8E8M0FNU>'}}
mxgpu.bulk_store %s_q to %f[%i] : !q, memref<?x?xf8E8M0FNU>

%s, %s_q = mxgpu.producer_acquire %out : !out
// tma_store C1
// expected-error @below {{'mxgpu.tma_store' op expected 2 coordinates, found 1}}
mxgpu.tma_store %s_q to %map[%i] : !q, !mxgpu.tensor_map<32x128xi8, sw128>

// SET arguments = %i: index, %c: i1, %map: !mxgpu.tensor_map<32x128xf8E4M3FN, sw128>
%s, %s_q = mxgpu.producer_acquire %out : !out
// tma_store C2
// expected-error @below {{'mxgpu.tma_store' op expected a map with the type and swizzle of '!mxgpu.buffer<smem<32x128xi8, sw128>>', found '!mxgpu.tensor_map<32x128xf8E4M3FN, sw128>'}}
mxgpu.tma_store %s_q to %map[%i, %i] : !q, !mxgpu.tensor_map<32x128xf8E4M3FN, sw128>

%s, %s_q = mxgpu.producer_acquire %out : !out
// tma_store C5
// expected-error @below {{'mxgpu.tma_store' op 'add' requires f32 elements, found 'i8'}}
mxgpu.tma_store %s_q to %map[%i, %i] add : !q, !mxgpu.tensor_map<32x128xi8, sw128>

// Rejects a box too small to start at a swizzle boundary.
// SET arguments = %i: index, %map: !mxgpu.tensor_map<4x128xi8, sw128>
// SET q = 2x128x128xi8, sw128
%s, %s_q = mxgpu.producer_acquire %out : !out
// tma_store C3
// expected-error @below {{'mxgpu.tma_store' op expected a box of 128, 128 or a slice of this shape, found '!mxgpu.tensor_map<4x128xi8, sw128>'}}
mxgpu.tma_store %s_q box(2) to %map[%i, %i] : !q, !mxgpu.tensor_map<4x128xi8, sw128>

// SET arguments = %i: index, %map: !mxgpu.tensor_map<128x128xi8, sw128>
// SET q = 2x128x128xi8, sw128
%s, %s_q = mxgpu.producer_acquire %out : !out
// tma_store C4
// expected-error @below {{'mxgpu.tma_store' op expected a box index from 0 to 1, found 2}}
mxgpu.tma_store %s_q box(2) to %map[%i, %i] : !q, !mxgpu.tensor_map<128x128xi8, sw128>

// SET q = 128x128xi8, sw128
%s, %s_q = mxgpu.producer_acquire %out : !out
// tma_store C4
// expected-error @below {{'mxgpu.tma_store' op expected a box index from 0 to 3, found 4}}
mxgpu.tma_store %s_q box(4) to %map[%i, %i] : !q, !mxgpu.tensor_map<32x128xi8, sw128>

// Rejects 8 lanes, because a square block spans 16 lanes.
%x = vector.broadcast %v : bf16 to vector<32x2xbf16>
// quantize_columns C7
// expected-error @below {{'mxgpu.quantize_columns' op expected 1 lane or, for a square, 16 lanes, found 8}}
%q, %f = mxgpu.quantize_columns %x scale_rounding = ceil lanes(8) : vector<32x2xbf16> -> vector<2x32xf8E4M3FN>, vector<2xf8E8M0FNU>

// Rejects blocks of 96 rows.
%x = vector.broadcast %v : bf16 to vector<32x2xbf16>
// quantize_columns C9
// expected-error @below {{'mxgpu.quantize_columns' op expected lanes that together contain a longer block, found 3 lanes with 32 rows each}}
%q, %f = mxgpu.quantize_columns %x scale_rounding = ceil lanes(3) folded : vector<32x2xbf16> -> vector<2x32xf8E4M3FN>, vector<2xf8E8M0FNU>

// SET arguments = %v: bf16, %seed: i64
%x = vector.broadcast %v : bf16 to vector<32x2xbf16>
// quantize_columns C8
// expected-error @below {{'mxgpu.quantize_columns' op expected all of 'seed', 'first' and 'stride', or none}}
%q, %f = "mxgpu.quantize_columns"(%x, %seed) <{operandSegmentSizes = array<i32: 1, 0, 0, 1, 0, 0>, scale_rounding = #mxgpu<scale_rounding ceil>}> : (vector<32x2xbf16>, i64) -> (vector<2x32xf8E4M3FN>, vector<2xf8E8M0FNU>)

// -----

// TEMPLATE function
// SET arguments = %x: vector<32x2xbf16>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// SET arguments = %x: vector<16x2xbf16>
// quantize_columns C2
// expected-error @below {{'mxgpu.quantize_columns' op expected 32 rows of bf16, f16 or f32 elements, found 'vector<16x2xbf16>'}}
%q, %f = mxgpu.quantize_columns %x scale_rounding = ceil
    : vector<16x2xbf16> -> vector<2x32xf8E4M3FN>, vector<2xf8E8M0FNU>

// quantize_columns C4
// expected-error @below {{'mxgpu.quantize_columns' op expected 2 rows of 32 elements, found 'vector<32x2xf8E4M3FN>'}}
%q, %f = mxgpu.quantize_columns %x scale_rounding = ceil
    : vector<32x2xbf16> -> vector<32x2xf8E4M3FN>, vector<2xf8E8M0FNU>

// quantize_columns C5
// expected-error @below {{'mxgpu.quantize_columns' op expected 2 scales, found 'vector<1xf8E8M0FNU>'}}
%q, %f = mxgpu.quantize_columns %x scale_rounding = ceil
    : vector<32x2xbf16> -> vector<2x32xf8E4M3FN>, vector<1xf8E8M0FNU>

// SET arguments = %x: vector<16x2xbf16>
// quantize_columns C6
// expected-error @below {{'mxgpu.quantize_columns' op expected 'encode' if and only if the scales are f8E4M3FN, found 'vector<2xf8E4M3FN>'}}
%q, %f = mxgpu.quantize_columns %x scale_rounding = ceil
    : vector<16x2xbf16> -> vector<2x16xf4E2M1FN>, vector<2xf8E4M3FN>

// quantize_columns C1
// expected-error @below {{'mxgpu.quantize_columns' op expected scales of type f8E8M0FNU, f8E4M3FN or f32, found 'vector<2xf8E5M2>'}}
%q, %f = mxgpu.quantize_columns %x scale_rounding = ceil
    : vector<32x2xbf16> -> vector<2x32xf8E4M3FN>, vector<2xf8E5M2>

// The size of 2^60 + 2 columns with 16 bits each overflows to 32 bits.
// SET arguments = %x: vector<32x1152921504606846978xbf16>
// shared C10
// expected-error @below {{'mxgpu.quantize_columns' op expected vectors of at most 1024 elements, found 'vector<32x1152921504606846978xbf16>'}}
%q, %f = mxgpu.quantize_columns %x scale_rounding = ceil
    : vector<32x1152921504606846978xbf16>
    -> vector<1152921504606846978x32xf8E4M3FN>, vector<1152921504606846978xf8E8M0FNU>

// SET arguments = %x: vector<32x1xbf16>
// quantize_columns C3
// expected-error @below {{'mxgpu.quantize_columns' op expected 32-bit rows, found 'vector<32x1xbf16>'}}
%q, %f = mxgpu.quantize_columns %x scale_rounding = ceil
    : vector<32x1xbf16> -> vector<1x32xf8E4M3FN>, vector<1xf8E8M0FNU>
